//! Requests that nobody should send: refused, and the next one is answered as if nothing had happened.

mod common;

use common::{Page, copy, folder, runs, serve};
use serde_json::{Value, json};

const JSON: &str = "Content-Type: application/json\r\n";

fn still_there(page: &Page) {
    assert_eq!(page.get("/").status, 200);
    assert_eq!(page.post("/api/episode", &json!({ "model": "fresh:wildlife:plain" })).status, 200);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let outside = folder("view-outside");
    copy(&runs().join("sweep/plain"), &outside.join("secret"));
    let inside = folder("view-inside");
    copy(&runs().join("sweep/plain"), &inside.join("own"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.join("secret"), inside.join("link")).unwrap();
    let page = serve(Some(&inside));
    let list = page.list();
    assert_eq!(list["runs"].as_array().unwrap().len(), 1, "{list}");
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/style.css/../../x",
        "/api",
        "/own/config.toml",
    ] {
        assert_eq!(page.get(path).status, 404, "{path}");
    }
    let secret = outside.join("secret");
    for id in [
        "../view-outside/secret",
        "own/../../view-outside/secret",
        "link",
        secret.to_str().unwrap(),
        "",
        ".",
        "own/",
    ] {
        let reply = page.post("/api/episode", &json!({ "model": format!("run:{id}") }));
        assert_eq!(reply.status, 404, "{id}: {reply:?}");
        let reply = page.post("/api/curves", &json!({ "runs": [id] }));
        assert_eq!(reply.json()["figures"], json!([]), "{id}");
        let reply = page.get(&format!("/api/difference?a=own&b={}", id.replace('/', "%2F")));
        assert_eq!(reply.status, 404, "{id}: {reply:?}");
    }
    still_there(&page);
}

#[test]
fn foreign_hosts_and_pages_are_refused() {
    let page = serve(None);
    let ask = |head: &str| {
        page.raw(format!("GET /api/events HTTP/1.1\r\n{head}Connection: close\r\n\r\n").as_bytes()).status
    };
    assert_eq!(ask("Host: evil.example\r\n"), 403);
    assert_eq!(ask(""), 400);
    assert_eq!(ask(&format!("Host: {0}\r\nHost: {0}\r\n", page.host)), 400);
    assert_eq!(page.raw(b"GET / HTTP/1.0\r\n\r\n").status, 400);
    let port = page.host.rsplit(':').next().unwrap();
    assert_eq!(ask(&format!("Host: evil.example:{port}\r\n")), 403);
    let local = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(page.raw(local.as_bytes()).status, 200);

    let body = json!({ "model": "fresh:wildlife:plain" }).to_string();
    let post = |headers: &str| page.post_text("/api/episode", headers, &body).status;
    assert_eq!(post(&format!("{JSON}Origin: http://evil.example\r\n")), 403);
    assert_eq!(post(&format!("{JSON}Origin: null\r\n")), 403);
    assert_eq!(post(&format!("{JSON}Sec-Fetch-Site: cross-site\r\n")), 403);
    assert_eq!(post("Content-Type: text/plain\r\n"), 415);
    assert_eq!(post(&format!("{JSON}Origin: http://{}\r\n", page.host)), 200);
    let delete = format!("DELETE /api/episode HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", page.host);
    assert_eq!(page.raw(delete.as_bytes()).status, 405);
    still_there(&page);
}

#[test]
fn nonsense_is_refused() {
    let page = serve(None);
    for body in [
        "",
        "{",
        "[]",
        "null",
        "{\"model\":7}",
        "{\"model\":\"fresh:wildlife:plain\",\"no\":1}",
        "\u{0}",
        "{\"model\":",
    ] {
        assert_eq!(page.post_text("/api/episode", JSON, body).status, 400, "{body:?}");
    }
    let deep =
        format!("{{\"model\":\"fresh:wildlife:plain\",\"state\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(page.post_text("/api/episode", JSON, &deep).status, 400);
    let long = format!("{{\"model\":\"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(page.post_text("/api/episode", JSON, &long).status, 413);
    assert_eq!(page.post("/api/episode", &json!({ "model": "x".repeat(100_000) })).status, 404);
    for query in ["", "?a=1", "?a=1&b=2&c=3", "?a=%ff&b=%00", "?a=1&a=2&b=3"] {
        assert!([400, 404].contains(&page.get(&format!("/api/difference{query}")).status), "{query}");
    }
    let reply = page.get(&format!("/api/difference?a={}&b=1", "x".repeat(40_000)));
    assert_eq!(reply.status, 404);
    // Too long for a request at all: the connection ends, or an error is sent.
    let reply = page.get(&format!("/?{}", "x".repeat(1 << 20)));
    assert!(reply.status == 0 || reply.status >= 400, "{reply:?}");
    still_there(&page);
}

#[test]
fn huge_and_impossible_values_are_refused() {
    let page = serve(None);
    let status = |ask: Value| page.post("/api/episode", &ask).status;
    let model = "fresh:traffic:plain";
    for (key, value) in [
        ("rows", json!(1_000_000_000u64)),
        ("rows", json!(0)),
        ("rows", json!(-1)),
        ("rows", json!(1.5)),
        ("rows", json!("two")),
        ("rows", json!(true)),
        ("cols", json!(u64::MAX)),
        ("cols", json!(1e300)),
        ("rows", json!(400)),
        ("arrival_steps", json!(u64::MAX)),
        ("step_limit", json!(100_001)),
        ("arrival_probability", json!(1e300)),
        ("arrival_probability", json!("x")),
        ("drones", json!(3)),
        ("", json!(3)),
        ("name", json!("wildlife")),
    ] {
        let ask = json!({ "model": model, "settings": { key: value } });
        assert_eq!(status(ask), 422, "{key}: {value}");
    }
    for value in [json!(null), json!([1]), json!({ "a": 1 }), json!("x".repeat(1000))] {
        assert_eq!(status(json!({ "model": model, "settings": { "rows": value } })), 422, "{value}");
    }
    for settings in [json!([]), json!("rows"), json!(null), json!(7)] {
        assert_eq!(status(json!({ "model": model, "settings": settings })), 400, "{settings}");
    }
    assert_eq!(status(json!({ "model": model, "seed": u64::MAX })), 400);
    assert_eq!(status(json!({ "model": model, "seed": 1e300 })), 400);
    assert_eq!(status(json!({ "model": model, "streams": ["x", "0"], "step": true })), 400);
    assert_eq!(status(json!({ "model": model, "streams": ["99999999999999999999999", "0"] })), 400);
    assert_eq!(status(json!({ "model": model, "element": "q" })), 404);
    assert_eq!(
        status(
            json!({ "model": model, "streams": [u64::MAX.to_string(), u64::MAX.to_string()], "step": true })
        ),
        200
    );
    assert_eq!(status(json!({ "model": model, "pictures": vec![usize::MAX; 5000] })), 200);

    let state = page.episode(json!({ "model": model }))["state"].clone();
    for (key, value) in [
        ("step", json!(u64::MAX)),
        ("step_limit", json!(0)),
        ("rows", json!(3)),
        ("arrival_steps", json!(u64::MAX)),
        ("phases", json!([2, 2, 2, 2])),
        ("vehicles", json!([[usize::MAX, 1, 0, 1, 0, false]])),
        ("vehicles", json!([[2, 1, i32::MIN, 1, u32::MAX, false]])),
        ("schedule", json!([[u64::MAX, 2, 0]])),
        ("finished", json!({ "vehicles": u64::MAX, "waiting": 0, "travel": 0 })),
        ("world", json!("wildlife")),
    ] {
        let mut bad = state.clone();
        bad[key] = value;
        let reply = page.post("/api/episode", &json!({ "model": model, "state": bad, "step": true }));
        assert_eq!(reply.status, 422, "{key}: {reply:?}");
    }
    let wild = json!({ "world": "wildlife", "grid": 1023, "drones": [[0, 0], [1, 1], [2, 2]], "poacher": [3, 3], "steps": 0 });
    assert_eq!(status(json!({ "model": "fresh:wildlife:plain", "state": wild })), 422);
    assert_eq!(page.post("/api/curves", &json!({ "runs": vec!["x"; 1000] })).status, 400);
    let ask = json!({ "runs": [], "width": 1e308, "smooth": u32::MAX });
    assert_eq!(page.post("/api/curves", &ask).status, 200);
    still_there(&page);
}

#[test]
fn what_is_wrong_is_said_by_name_and_not_in_the_words_of_a_parser() {
    let page = serve(None);
    let (model, other) = ("fresh:wildlife:plain", "fresh:traffic:plain");
    let episode = |key: &str, value: Value| {
        let mut ask = json!({ "model": model });
        ask[key] = value;
        page.post("/api/episode", &ask)
    };
    let option = |model: &str, key: &str, value: Value| {
        let mut ask = json!({ "model": model, "settings": {} });
        ask["settings"][key] = value;
        page.post("/api/episode", &ask)
    };
    let curves = |key: &str, value: Value| {
        let mut ask = json!({ "runs": [] });
        ask[key] = value;
        page.post("/api/curves", &ask)
    };
    let seeds = "`seed` must be a whole number from 0 to 9007199254740992, not ";
    let sizes = "must be a whole number from 0 to 100000, not ";
    for (reply, part) in [
        (episode("seed", json!(-4)), format!("{seeds}-4")),
        (episode("seed", json!(1.5)), format!("{seeds}1.5")),
        (episode("seed", json!("")), format!("{seeds}\"\"")),
        (episode("seed", json!("seven")), format!("{seeds}\"seven\"")),
        (episode("seed", json!(u64::MAX)), seeds.into()),
        (episode("seed", json!([1])), seeds.into()),
        (episode("episode", json!(-1)), "`episode` must be a whole number from 0 to".into()),
        (episode("model", json!(7)), "`model` must be a text, not 7".into()),
        (episode("model", json!(null)), "`model` is missing".into()),
        (episode("step", json!(1)), "`step` must be true or false, not 1".into()),
        (episode("greedy", json!("yes")), "`greedy` must be true or false".into()),
        (episode("element", json!(3)), "`element` must be a text".into()),
        (episode("streams", json!(["1"])), "`streams` are two positions".into()),
        (episode("streams", json!("12")), "`streams` must be a list of two positions".into()),
        (episode("pictures", json!([-1])), "`pictures` must be a list of agents".into()),
        (episode("edit", json!({ "to": [1, 2] })), "`edit` must be {\"id\": a thing}".into()),
        (episode("settings", json!([])), "`settings` must be an object with options".into()),
        (episode("speed", json!(1)), "there is no field \"speed\"; there are".into()),
        (option(model, "drones", json!(-4)), format!("`drones` {sizes}-4")),
        (option(model, "drones", json!(2.5)), format!("`drones` {sizes}2.5")),
        (option(model, "drones", json!(1e300)), format!("`drones` {sizes}1e+300")),
        (option(model, "drones", json!("three")), format!("`drones` {sizes}\"three\"")),
        (option(model, "drones", json!("")), format!("`drones` {sizes}\"\"")),
        (option(model, "drones", json!(null)), format!("`drones` {sizes}null")),
        (option(model, "drones", json!(1)), "at least 2; got 1".into()),
        (option(model, "grid", json!(0)), "grid".into()),
        (option(other, "arrival_probability", json!(-0.5)), "between 0 and 1, got -0.5".into()),
        (
            option(other, "arrival_probability", json!("x")),
            "`arrival_probability` must be a number, not \"x\"".into(),
        ),
        (option(other, "sails", json!(1)), "traffic has no option `sails`; it has rows".into()),
        (curves("runs", json!("a")), "`runs` must be a list of runs".into()),
        (curves("smooth", json!(-1)), "`smooth` must be a whole number".into()),
        (curves("width", json!("wide")), "`width` must be a number, not \"wide\"".into()),
        (curves("group", json!(1)), "`group` must be true or false".into()),
        (page.post_text("/api/episode", JSON, "{\"model\": 1"), "the request is not a JSON object".into()),
        (page.post_text("/api/curves", JSON, "[1]"), "the request is not a JSON object".into()),
        (page.get("/api/difference?a=1"), "give two runs".into()),
    ] {
        assert!([400, 422].contains(&reply.status), "{reply:?}");
        let why = reply.json()["error"].as_str().unwrap().to_string();
        assert!(why.contains(&part), "{why}");
        for word in ["invalid", "expected", "line 1", "column", "u64", "f64", "usize"] {
            assert!(!why.contains(word), "{why}");
        }
        assert!(why.len() < 250, "{why}");
    }
    still_there(&page);
}

#[test]
fn hostile_edits_are_refused_and_change_nothing() {
    let page = serve(None);
    let model = "fresh:traffic:plain";
    let start = page.episode(json!({ "model": model }));
    let mut state = start["state"].clone();
    state["vehicles"] = json!([[2, 1, 0, 1, 0, false]]);
    let status = |edit: &Value| {
        let reply = page.post("/api/episode", &json!({ "model": model, "state": state, "edit": edit }));
        assert!(
            reply.status == 200 || reply.json()["error"].as_str().is_some_and(|e| e.len() < 400),
            "{reply:?}"
        );
        reply.status
    };
    for edit in [
        json!({ "id": "light 4" }),
        json!({ "id": "light -1" }),
        json!({ "id": "light 00" }),
        json!({ "id": "light 18446744073709551616" }),
        json!({ "id": "light 0", "to": [1.0, 1.0] }),
        json!({ "id": "vehicle 0" }),
        json!({ "id": "vehicle 1", "to": [1.0, 1.0] }),
        json!({ "id": "vehicle 0", "to": [1e38, 1.0] }),
        json!({ "id": "vehicle 0", "to": [-5.0, 3.0] }),
        json!({ "id": "drone 0", "to": [1.0, 1.0] }),
        json!({ "id": "" }),
        json!({ "id": "\u{0}<script>" }),
        json!({ "id": "x".repeat(100_000) }),
    ] {
        assert_eq!(status(&edit), 422, "{}", &edit.to_string()[..edit.to_string().len().min(80)]);
    }
    for edit in [
        json!("light 0"),
        json!([]),
        json!({}),
        json!({ "id": 3 }),
        json!({ "id": "light 0", "to": [1.0] }),
        json!({ "id": "light 0", "to": [1.0, 2.0, 3.0] }),
        json!({ "id": "light 0", "to": "there" }),
        json!({ "id": "light 0", "and": 1 }),
    ] {
        assert_eq!(status(&edit), 400, "{edit}");
    }
    // Numbers that only a double has are no places.
    assert!([400, 422].contains(&status(&json!({ "id": "vehicle 0", "to": [1e300, 1.0] }))));
    let alone = json!({ "model": model, "edit": { "id": "light 0" } });
    assert_eq!(page.post("/api/episode", &alone).status, 400, "an edit needs a state");
    assert_eq!(status(&json!({ "id": "light 0" })), 200);
    still_there(&page);
}

#[test]
fn every_answer_says_what_the_page_may_do() {
    let page = serve(None);
    for (path, kind) in [
        ("/", "text/html"),
        ("/app.js", "text/javascript"),
        ("/style.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/nothing", "application/json"),
    ] {
        let reply = page.get(path);
        assert!(reply.head.contains("content-security-policy: default-src 'self';"), "{reply:?}");
        assert!(reply.head.contains("x-content-type-options: nosniff"), "{path}");
        assert!(reply.head.contains(&format!("content-type: {kind}")), "{reply:?}");
        // No script and no style stands in the page itself, and nothing comes from elsewhere.
        assert!(
            !reply.body.contains("<script>")
                && !reply.body.contains("style=")
                && !reply.body.contains("https://"),
            "{path}"
        );
    }
}
