//! Networks as a user or a script sees them: check network, bench network.

mod common;

use common::{answer, equimarl, json, refuses};

/// The paper's networks: world, method, more options, group, parameters.
const NETWORKS: [(&str, &str, &[&str], &str, u64); 14] = [
    ("wildlife", "equivariant", &[], "C4", 25_891),
    ("wildlife", "plain", &[], "C4", 26_694),
    ("wildlife", "central-equivariant", &[], "C4", 26_903),
    ("wildlife", "central-plain", &[], "C4", 27_760),
    ("traffic", "equivariant", &[], "C4", 26_578),
    ("traffic", "plain", &[], "C4", 28_067),
    ("traffic", "central-equivariant", &[], "C4", 26_675),
    ("traffic", "central-plain", &[], "C4", 25_961),
    ("wildlife", "equivariant", &["--group", "D4"], "D4", 23_144),
    ("wildlife", "equivariant", &["--group", "C2"], "C2", 25_276),
    ("traffic", "equivariant", &["--group", "C2"], "C2", 26_218),
    ("traffic", "equivariant", &["--junctions", "1x2"], "C2", 26_218),
    ("wildlife", "central-equivariant", &["--drones", "4"], "C4", 27_457),
    ("wildlife", "central-plain", &["--drones", "4"], "C4", 29_829),
];

/// Policies over vectors with random weights, under random angles: what is built in holds, and the rest can be seen to break.
#[test]
fn policies_over_vectors_are_compared_as_distributions() {
    for (method, group, asked, holds) in
        [("equivariant", "O2", "O2", true), ("equivariant", "D4", "D4", true), ("plain", "D4", "O2", false)]
    {
        let mut ask =
            vec!["check", "network", "--world", "spread", "--actions", "continuous", "--arena", "disc"];
        ask.extend(["--method", method, "--states", "8", "--group", if holds { group } else { asked }]);
        let (code, found) = answer(&ask);
        assert_eq!((code == 0, &found["equivariant"]), (holds, &serde_json::json!(holds)), "{found}");
        assert!(found["mean_action"].as_f64().unwrap() > 0.3, "{found}");
        assert!(holds || found["policy_error"].as_f64().unwrap() > 0.02, "{found}");
    }
    refuses(
        &["check", "network", "--world", "spread", "--method", "equivariant", "--group", "O2"],
        "no permutation of choices does",
    );
}

#[test]
fn equivariant_networks_turn_with_their_world_and_plain_ones_do_not() {
    for (world, method, more, group, parameters) in NETWORKS {
        let asked = ["check", "network", "--world", world, "--method", method, "--states", "8"];
        let found = json(&[&asked, more].concat());
        assert_eq!(found["parameters"], parameters, "{world} {method} {group}");
        assert_eq!(found["group"], group);
        assert_eq!(found["method"], method);
        let [policy, value] = ["policy_error", "value_error"].map(|key| found[key].as_f64().unwrap());
        let claims = !method.contains("plain");
        assert_eq!(found["equivariant"], claims, "{world} {method} {group}");
        if claims {
            assert!(policy < 1e-5 && value < 1e-5, "{world} {method} {group}: {policy} {value}");
        } else {
            assert!(policy > 1e-3 && value > 1e-3, "{world} {method} {group}: {policy} {value}");
        }
    }
}

#[test]
fn the_augmentation_methods_train_the_plain_network() {
    for method in ["augment-random", "augment-full"] {
        let found = json(&["check", "network", "--world", "wildlife", "--method", method, "--states", "2"]);
        assert_eq!((&found["method"], &found["network"]), (&method.into(), &"plain".into()));
        assert_eq!(found["parameters"], 26_694);
    }
}

#[test]
fn other_sizes_and_seeds_are_other_checks() {
    let check = |more: &[&str]| {
        let asked = ["check", "network", "--world", "wildlife", "--method", "equivariant", "--states", "4"];
        let (code, found) = answer(&[&asked, more].concat());
        assert_eq!((code, &found["equivariant"]), (0, &true.into()), "{found}");
        found
    };
    // A distributed network has the same parameters for every team and every grid.
    assert_eq!(check(&["--drones", "6", "--grid", "9"])["parameters"], 25_891);
    assert_eq!(check(&["--grid", "5"])["parameters"], 25_891);
    let plain = |seed: &str| {
        let method = ["--method", "plain", "--states", "2", "--seed", seed];
        json(&[&["check", "network", "--world", "wildlife"], &method[..]].concat())
    };
    assert_eq!(plain("1"), plain("1"));
    assert_ne!(plain("1")["policy_error"], plain("2")["policy_error"]);
}

#[test]
fn the_text_says_what_was_found() {
    let text = |method: &str| {
        let asked = ["check", "network", "--world", "wildlife", "--states", "2", "--method", method];
        String::from_utf8(equimarl(&asked).stdout).unwrap()
    };
    assert!(text("equivariant").contains("equivariant: every difference is below 1e-5"));
    assert!(text("plain").contains("this network claims no symmetry, and has none of C4"));
    // Of a wind that is drawn everybody is told.
    let told =
        ["--world", "wildlife", "--wind", "0.5", "--wind-from", "any", "--method", "plain", "--states", "2"];
    let told = equimarl(&[&["check", "network"], &told[..]].concat()).stdout;
    assert!(
        String::from_utf8(told).unwrap().contains("it is told of it, and --transform-cause turns it along")
    );
}

#[test]
fn wrong_networks_are_refused_in_one_line() {
    let check = |world: &str, method: &str, more: &[&str], part: &str| {
        refuses(&[&["check", "network", "--world", world, "--method", method], more].concat(), part);
    };
    check("wildlife", "equivariant", &["--grid", "3"], "images of 9 x 9 pixels are too small");
    check("wildlife", "equivariant", &["--grid", "6"], "odd");
    check("wildlife", "plain", &["--drones", "0"], "at least 2; got 0");
    check("wildlife", "equivariant", &["--group", "S3"], "C1, C2, C4, D1, D2 and D4 only");
    check("wildlife", "equivariant", &["--states", "0"], "at least 1");
    check("traffic", "equivariant", &["--group", "D4"], "traffic has none: its lanes are one-way");
    check(
        "traffic",
        "central-equivariant",
        &["--junctions", "2x3", "--group", "C4"],
        "cannot decide for 6 agents",
    );
    check("traffic", "plain", &["--drones", "3"], "--drones belongs to the wildlife world");
    // Words that do not exist are explained with those that do.
    let output = equimarl(&["check", "network", "--world", "wildlife", "--method", "magic"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("'magic'") && error.contains("central-equivariant"), "{error}");
}

#[test]
fn bench_network_names_its_numbers_machine_and_commit() {
    let found = json(&["bench", "network", "--seconds", "0.001"]);
    let results = found["results"].as_array().unwrap();
    for world in ["wildlife", "traffic"] {
        for kind in ["equivariant", "plain"] {
            for threads in ["1-thread", "2-threads"] {
                for tail in ["", "-every-image"] {
                    let name = format!("{world}-{kind}-{threads}{tail}");
                    let line = results.iter().find(|r| r["name"] == name.as_str());
                    let line = line.unwrap_or_else(|| panic!("no {name} in {found}"));
                    assert_eq!(line["unit"], "ms");
                    assert!(line["value"].as_f64().unwrap() > 0.0);
                }
            }
        }
    }
    assert!(found["machine"]["cpu"].is_string());
    assert!(found["commit"].is_string());
}

#[test]
fn variables_that_say_nothing_known_are_refused() {
    for (name, value, part) in [
        ("EQUIMARL_SIMD", "sse9", "EQUIMARL_SIMD is `sse9`, and this CPU has portable"),
        ("EQUIMARL_ENCODER", "Dense", "EQUIMARL_ENCODER is `Dense`; it can be dense or dictionary"),
    ] {
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_equimarl"))
            .args(["solve", "wildlife", "--drones", "2"])
            .env(name, value)
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2));
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
    }
}
