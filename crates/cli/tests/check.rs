//! The `check` verb as a user or a script sees it.

use serde_json::Value;
use std::process::{Command, Output};

fn equimarl(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_equimarl")).args(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = equimarl(args);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn check_basis_prints_the_keys_that_scripts_rely_on() {
    let found = json(&[
        "check",
        "basis",
        "--group",
        "C4",
        "--in",
        "8*regular + rotation",
        "--out",
        "32*regular",
        "--json",
    ]);
    assert_eq!(found["rank"], 8 * 32 * 4 + 32 * 2);
    assert_eq!(found["rank_by_characters"], found["rank"]);
    assert!(found["residual"].as_f64().unwrap() < 1e-12);
    assert!(found["max_angle"].as_f64().unwrap() < 1e-6);
    let filters = json(&[
        "check", "basis", "--group", "C4", "--in", "regular", "--out", "regular", "--kernel", "5", "--json",
    ]);
    assert_eq!(filters["rank"], 100);
}

#[test]
fn an_empty_basis_is_an_answer_with_a_reason() {
    let found = json(&["check", "basis", "--group", "C2", "--in", "trivial", "--out", "sign", "--json"]);
    assert_eq!(found["rank"], 0);
    assert!(found["note"].as_str().unwrap().contains("are orthogonal"));
}

#[test]
fn check_group_prints_table_classes_and_orders() {
    let found = json(&["check", "group", "S3", "--json"]);
    assert_eq!(found["order"], 6);
    assert_eq!(found["classes"].as_array().unwrap().len(), 3);
    assert_eq!(found["table"][0], serde_json::json!([0, 1, 2, 3, 4, 5]));
    let text = String::from_utf8(equimarl(&["check", "group", "C4 x C2"]).stdout).unwrap();
    assert!(text.contains("8 elements, abelian"), "{text}");
}

#[test]
fn bad_input_is_one_clear_line_and_exit_code_2() {
    let basis = |group: &str, input: &str| {
        equimarl(&["check", "basis", "--group", group, "--in", input, "--out", "trivial"])
    };
    for (output, part) in [
        (basis("Q7", "trivial"), "no family of groups is called `Q`"),
        (basis("C4", "3*banana"), "no representation is called `banana`"),
        (basis("perm[1 2 3 4 5 6 7 0; 1 0 2 3 4 5 6 7]", "trivial"), "more than 2048 elements"),
        (equimarl(&["check", "group", "S9"]), "limit is 6"),
        (
            equimarl(&[
                "check", "basis", "--group", "C6", "--in", "regular", "--out", "regular", "--kernel", "3",
            ]),
            "C6 does not map the square pixel grid to itself",
        ),
    ] {
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.starts_with("error: ") && error.contains(part), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
