//! The page of a fleet: an observer of real processes, and a record played back. Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;
#[path = "common/yard.rs"]
mod yard;

use common::{equimarl, folder, refuses};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use yard::{Members, model, start, yard};

/// A page that ends with its test.
struct Page(Child, String);

impl Page {
    fn open(args: &[&str]) -> Page {
        let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
            .args(["view", "--port", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let host = first.trim().strip_prefix("http://").unwrap().strip_suffix('/').unwrap().to_string();
        Page(child, host)
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.1).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_string()
    }

    /// What the page is told, once it is so.
    fn wait_for(&self, what: &str, so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let told: Value = serde_json::from_str(&self.get("/api/fleet")).unwrap();
            if so(&told) {
                return told;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{what}: {told}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_observer_sees_who_is_there_and_what_they_decide() {
    let model = model("page-model", "wildlife");
    let yard = yard("page-yard", &model, 3);
    let file = yard.join("fleet.toml");
    let path = file.to_str().unwrap();
    let mut members = Members(vec![start(&yard, &["world", "--episodes", "100000", "--period", "20"])]);
    members.0.extend(["0", "1", "2"].map(|n| start(&yard, &["agent", "--stay", "--quiet", "--agent", n])));
    // Its machine has the fleet file, the authority's certificate and its own, and nobody's secrets.
    let watcher = folder("page-watcher");
    std::fs::create_dir_all(watcher.join("secrets/observer")).unwrap();
    for file in ["fleet.toml", "authority.pem", "secrets/observer/tls.pem", "secrets/observer/tls.key.pem"] {
        std::fs::copy(yard.join(file), watcher.join(file)).unwrap();
    }
    let page = Page::open(&["--fleet", watcher.join("fleet.toml").to_str().unwrap()]);
    assert!(page.get("/").contains("fleet.js") && page.get("/fleet.js").contains("/api/fleet"));
    let all = |told: &Value| told["members"].as_array().unwrap().iter().all(|m| m["up"] == true);
    let told = page.wait_for("everybody is there", |told| {
        all(told) && told["members"][0]["status"]["steps"].as_u64() > Some(50)
    });
    let world = &told["members"][0]["status"];
    assert_eq!(world["actions"].as_array().unwrap().len(), 3, "{told}");
    assert!(world["expected"].as_u64().is_some() && world["dropped_by_agents"].is_object(), "{told}");
    assert!(world["round_p50_us"].as_u64().is_some(), "{told}");
    // Every agent's own share of it, which adds up.
    let sum =
        |what: &str| world["each"].as_array().unwrap().iter().map(|e| e[what].as_u64().unwrap()).sum::<u64>();
    assert_eq!(
        (sum("expected"), sum("missed")),
        (world["expected"].as_u64().unwrap(), world["missed"].as_u64().unwrap())
    );
    assert!(world["each"][2]["dropped"].is_object(), "{told}");
    assert_eq!((&told["forged"], &told["number"]), (&Value::from(0), &Value::from(0)));

    // One is killed, and one is revoked.
    members.0[1].kill().unwrap();
    members.0[1].wait().unwrap();
    page.wait_for("agent 0 is away", |told| told["members"][1]["up"] == false);
    assert!(equimarl(&["fleet", "keys", "--revoke", "agent-2", "--fleet", path]).status.success());
    std::fs::copy(&file, watcher.join("fleet.toml")).unwrap();
    let told = page.wait_for("agent 2 is revoked", |told| told["members"][3]["revoked"] == true);
    assert_eq!(told["number"], 1);
    page.wait_for("the world goes on", |later| {
        later["members"][0]["status"]["steps"].as_u64() > told["members"][0]["status"]["steps"].as_u64()
    });

    // Bad input. The watcher has nobody's keys, so it is nobody else.
    let own = watcher.join("fleet.toml");
    refuses(&["fleet", "agent", "--agent", "0", "--fleet", own.to_str().unwrap()], "model.safetensors");
    refuses(&["view", "--fleet", "no-such-file"], "no-such-file");
    std::fs::copy(yard.join("secrets/agent-0/tls.pem"), watcher.join("secrets/observer/tls.pem")).unwrap();
    refuses(
        &["view", "--fleet", own.to_str().unwrap()],
        "it is the certificate of agent-0, and this is observer",
    );
    std::fs::remove_file(watcher.join("secrets/observer/tls.pem")).unwrap();
    refuses(&["view", "--fleet", own.to_str().unwrap()], "copy it from where the fleet was made");
}

#[test]
fn a_record_is_played_back() {
    let model = model("page-record-model", "wildlife");
    let log = folder("page-record");
    std::fs::remove_dir_all(&log).unwrap();
    let path = log.to_str().unwrap();
    let done = equimarl(&[
        "fleet",
        "run",
        "--model",
        &model,
        "--episodes",
        "2",
        "--transport",
        "zenoh",
        "--deadline",
        "5000",
        "--record",
        path,
        "--json",
    ]);
    assert!(done.status.success(), "{done:?}");
    let ran: Value = serde_json::from_slice(&done.stdout).unwrap();
    let page = Page::open(&["--fleet-record", path]);
    let told = page.wait_for("a record", |told| told["live"] == false);
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(ran["fleet"]["steps"], steps.len());
    assert_eq!((steps[0]["actions"].as_array().unwrap().len(), &told["sent"]), (3, &told["received"]));
    assert!(steps.iter().all(|step| step["missed"] == serde_json::json!([0, 0, 0])), "{told}");
    refuses(&["view", "--fleet-record", folder("page-no-record").to_str().unwrap()], "no record of a run");
    refuses(&["view", "--fleet-record", "no-such-folder"], "no-such-folder");
}
