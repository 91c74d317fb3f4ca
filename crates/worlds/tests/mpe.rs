//! Parity with mpe2: what it made of random episodes, step by step, against `replay`.
//!
//! The traces in `tests/mpe/golden.jsonl` are of mpe2 1.1.1 and always checked. `EQUIMARL_MPE_TRACES` names a file with more,
//! which `.ci/mpe` makes with mpe2 itself.

use equimarl_worlds::{builtin, replay};
use serde_json::{Value, json};

/// From mpe2's own state, a step agrees to this.
const STEP: f64 = 1e-12;
/// A whole episode from mpe2's start agrees to this: contacts amplify rounding.
const EPISODE: f64 = 1e-6;

/// The largest difference of a number in `expected` from the one in its place in `found`.
fn gap(expected: &Value, found: &Value) -> f64 {
    match (expected, found) {
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) if a.is_finite() && b.is_finite() => (a - b).abs(),
            _ => f64::INFINITY,
        },
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| gap(a, b)).fold(0.0, f64::max)
        }
        (Value::Object(a), Value::Object(b)) => {
            a.iter().map(|(key, a)| b.get(key).map_or(f64::INFINITY, |b| gap(a, b))).fold(0.0, f64::max)
        }
        _ => f64::INFINITY,
    }
}

/// Plays one trace both ways: the largest difference of a step, and of the whole episode.
fn compare(trace: &Value) -> (f64, f64) {
    let registry = builtin();
    let mut script = trace.clone();
    let map = script.as_object_mut().unwrap();
    map.remove("mpe2");
    let states = map.remove("states").unwrap();
    let states = states.as_array().unwrap();
    let found = replay(&registry, &script.to_string()).unwrap();
    let steps = found["steps"].as_array().unwrap();
    assert_eq!((steps.len(), states.len()), (25, 25));
    assert_eq!(steps[24]["truncated"], true);
    let whole = states.iter().zip(steps).map(|(a, b)| gap(a, b)).fold(0.0, f64::max);
    let mut each: f64 = 0.0;
    let mut before = script.clone();
    for (t, state) in states.iter().enumerate() {
        before["actions"] = json!([script["actions"][t]]);
        if !script["prey_actions"].is_null() {
            before["prey_actions"] = json!([script["prey_actions"][t]]);
        }
        let found = replay(&registry, &before.to_string()).unwrap();
        each = each.max(gap(state, &found["steps"][0]));
        for key in ["agents", "chasers", "prey"] {
            if !state[key].is_null() {
                before[key] = state[key].clone();
            }
        }
    }
    (each, whole)
}

fn check(text: &str) {
    let (mut count, mut worst) = (0, (0.0f64, 0.0f64));
    for (number, line) in text.lines().enumerate() {
        let trace: Value = serde_json::from_str(line).unwrap();
        let (each, whole) = compare(&trace);
        let name = format!("line {}: {} continuous {}", number + 1, trace["world"], trace["continuous"]);
        assert!(each <= STEP, "{name}: a step differs by {each}");
        assert!(whole <= EPISODE, "{name}: the episode differs by {whole}");
        worst = (worst.0.max(each), worst.1.max(whole));
        count += 1;
    }
    assert!(count > 0, "there are no traces");
    println!("{count} episodes: a step differs by at most {:.1e}, an episode by {:.1e}", worst.0, worst.1);
}

#[test]
fn committed_traces_agree() {
    let text = include_str!("../../../tests/mpe/golden.jsonl");
    check(text);
    let of = |world: &str, continuous: bool| {
        let is = |trace: &Value| trace["world"] == world && trace["continuous"] == continuous;
        text.lines().filter(|line| is(&serde_json::from_str(line).unwrap())).count()
    };
    for (world, continuous) in [("spread", false), ("spread", true), ("tag", false), ("tag", true)] {
        assert_eq!(of(world, continuous), 4);
    }
    assert!(text.lines().all(|line| line.ends_with(r#""mpe2":"1.1.1"}"#)));
}

#[test]
fn traces_that_were_just_made_agree() {
    match std::env::var_os("EQUIMARL_MPE_TRACES") {
        Some(path) => check(&std::fs::read_to_string(path).unwrap()),
        None => println!("SKIPPED: EQUIMARL_MPE_TRACES is not set; .ci/mpe sets it"),
    }
}

#[test]
fn a_step_that_is_not_mpe2s_is_noticed() {
    let text = include_str!("../../../tests/mpe/golden.jsonl");
    let mut trace: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(compare(&trace).0 <= STEP);
    let x = trace["states"][3]["agents"][1][0].as_f64().unwrap();
    trace["states"][3]["agents"][1][0] = json!(x + 1e-9);
    assert!(compare(&trace).0 > STEP);
    // The original integrator is another one.
    trace["integrator"] = json!("velocity-first");
    assert!(compare(&trace).1 > 1e-3);
}

#[test]
fn bad_particle_scripts_say_what_is_wrong() {
    let spread = |tail: &str| {
        format!(r#"{{"world":"spread","agents":[[0,0,0,0],[1,0,0,0]],"landmarks":[[0.5,0.5]],{tail}}}"#)
    };
    for (text, part) in [
        (spread(r#""actions":[[0]]"#), "step 0 has 1 actions, this world needs 2"),
        (spread(r#""actions":[[0,5]]"#), "actions are 0 to 4"),
        (spread(r#""actions":[[0,-1]]"#), "actions are 0 to 4"),
        (spread(r#""actions":[[0,[0,0,0,0,0]]]"#), "actions are 0 to 4"),
        (spread(r#""actions":[[0,0]],"continuous":true"#), "five numbers from 0 to 1"),
        (spread(r#""actions":[[[0,0,0,0,2],[0,0,0,0,0]]],"continuous":true"#), "five numbers from 0 to 1"),
        (spread(r#""actions":[],"speed":1"#), "unknown field `speed`"),
        (spread(r#""actions":[],"step_limit":0"#), "`step_limit` must be 1"),
        (spread(r#""actions":[],"integrator":"euler""#), "position-first"),
        (spread(r#""actions":[],"continuous":1"#), "true or false"),
        (r#"{"world":"spread","agents":[],"landmarks":[],"actions":[]}"#.into(), "`agents` is 0"),
        (r#"{"world":"spread","landmarks":[],"actions":[]}"#.into(), "`agents` must be a list"),
        (
            r#"{"world":"spread","agents":[[0,0,0]],"landmarks":[],"actions":[]}"#.into(),
            "must be a list with [x, y, vx, vy]",
        ),
        (
            r#"{"world":"spread","agents":[[1e300,0,0,0]],"landmarks":[],"actions":[]}"#.into(),
            "places and velocities are within",
        ),
        (
            r#"{"world":"tag","chasers":[[0,0,0,0]],"prey":[[1,0,0,0]],"obstacles":[],"actions":[[0]],"prey_actions":[]}"#
                .into(),
            "0 steps of prey_actions and 1 of actions",
        ),
    ] {
        let error = replay(&builtin(), &text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn two_agents_on_one_point_are_finite() {
    let text = r#"{"world":"spread","agents":[[0.1,0.1,0,0],[0.1,0.1,0,0]],"landmarks":[[0.1,0.1]],"actions":[[0,0],[1,2],[1,2]]}"#;
    let found = replay(&builtin(), text).unwrap();
    assert_eq!(found["steps"][0]["agents"], json!([[0.1, 0.1, 0.0, 0.0], [0.1, 0.1, 0.0, 0.0]]));
    assert_eq!(found["steps"][0]["rewards"], json!([-0.5, -0.5]));
    assert!(found["steps"][2]["agents"][0][0].as_f64().unwrap() < 0.1);
}
