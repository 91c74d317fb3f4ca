//! States as JSON: the same future, or a reason.

use super::*;
use serde_json::{Value, json};

fn midway() -> Traffic {
    let mut w = world(2, 3);
    let mut stream = stream(12);
    w.reset(&mut stream).unwrap();
    let mut actions = [0; 6];
    for _ in 0..45 {
        act(&mut actions, 0.2, &mut stream);
        w.apply(&actions, &());
    }
    w
}

#[test]
fn a_saved_state_has_the_same_future() {
    let mut a = midway();
    let text = a.save().to_string();
    let saved: Value = serde_json::from_str(&text).unwrap();
    let mut b = world(2, 3);
    b.reset(&mut stream(13)).unwrap();
    b.load(&saved).unwrap();
    let mut c = Traffic::restore(&saved).unwrap();
    assert!(a == b && a == c);
    assert_eq!(b.save(), saved);
    let mut stream = stream(14);
    let mut actions = [0; 6];
    for _ in 0..200 {
        act(&mut actions, 0.2, &mut stream);
        let outcome = a.apply(&actions, &());
        assert_eq!(outcome, b.apply(&actions, &()));
        assert_eq!(outcome, c.apply(&actions, &()));
        assert!(a == b && a == c);
    }
    assert_eq!(a.finished(), b.finished());
}

#[test]
fn a_transformed_state_saves_as_its_transformed_self() {
    let w = midway();
    let transformed = w.transformed(1).unwrap();
    let back = Traffic::restore(&transformed.save()).unwrap().transformed(1).unwrap();
    assert_eq!(back.save(), w.save());
}

#[test]
fn nonsense_is_refused_with_a_reason_and_changes_nothing() {
    let good = midway();
    let state = good.save();
    let with = |key: &str, value: Value| {
        let mut state = state.clone();
        state[key] = value;
        state
    };
    let mut missing = state.clone();
    missing.as_object_mut().unwrap().remove("schedule");
    let car = json!([2, 0, 0, 1, 0, false]);
    let cases = [
        (with("world", json!("wildlife")), "wildlife"),
        (json!({"grid": 7}), "world"),
        (json!([1, 2]), "world"),
        (missing, "schedule"),
        (with("surprise", json!(1)), "surprise"),
        (with("rows", json!(3)), "3 x 3"),
        (with("finished", json!({"vehicles": u64::MAX, "waiting": 0, "travel": 0})), "finished"),
        (with("phases", json!([0, 1])), "2 phases given for 6"),
        (with("phases", json!([0, 1, 0, 1, 0, 7])), "7"),
        (with("phases", json!([0, 1, 0, 1, 0, -1])), "-1"),
        (with("vehicles", json!([car, car])), "(2, 0)"),
        (with("vehicles", json!([[3, 0, 0, 1, 0, false]])), "(3, 0)"),
        (with("vehicles", json!([[2, 0, 0, -1, 0, false]])), "(0, -1)"),
        (with("vehicles", json!([[2, 0, 0, 1, 0]])), "length"),
        (with("vehicles", json!([[2, 0, 0, 1, -4, false]])), "-4"),
        (with("schedule", json!([[0, 5, 5]])), "(5, 5)"),
        (with("step", json!(1.5)), "1.5"),
        (with("arrival_probability", json!(2.0)), "probability"),
    ];
    for (bad, reason) in cases {
        let mut w = good.clone();
        let error = w.load(&bad).unwrap_err().to_string();
        assert!(error.contains(reason), "`{error}` lacks `{reason}`");
        assert!(w == good);
    }
    let mut other = world(2, 2);
    let error = other.load(&state).unwrap_err().to_string();
    assert!(error.contains("2 x 3"), "{error}");
    for (rows, reason) in [(0, "at least 1 x 1"), (3, "phases"), (usize::MAX, "too many")] {
        let error = Traffic::restore(&with("rows", json!(rows))).unwrap_err().to_string();
        assert!(error.contains(reason), "`{error}` lacks `{reason}`");
    }
}
