//! Scripted episodes: every action and every draw is given, so a rule can be checked by hand.

use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::world::{End, Exact, Outcome};
use serde_json::{Value, json};

/// Reads a script and plays it: `{"world": ..., "steps": [...], "ignored_actions": n}`. Steps after the end of the
/// episode are not played, only counted. What a script holds besides `world` and `actions` is the world's own.
///
/// # Errors
/// If the text is not a script, or asks for something that the world does not have.
pub fn replay(registry: &Registry, text: &str) -> Result<Value> {
    let bad = |why: String| Error::BadScript(why);
    let script: Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => bad(format!("it ends too early, at line {} column {}", error.line(), error.column())),
        false => bad(format!("it is not a script: {error}")),
    })?;
    if script.get("state").is_some() {
        return Err(bad("it holds a saved state; a script holds a start, all actions and all chance".into()));
    }
    let Some(name) = script.get("world").and_then(Value::as_str) else {
        return Err(bad("it is not a script: missing field `world`".into()));
    };
    let world = registry.get(name).map_err(|error| bad(format!("it is not a script: {error}")))?;
    world.replay(&script).map_err(|error| match error {
        Error::BadState(why) => bad(why),
        other => other,
    })
}

/// Plays a script in a world at its start; `chance(step, ended)` gives a step's draw, and `state` what a step leads to.
///
/// # Errors
/// If an action is missing or does not exist, or there is no draw.
pub fn play_script<W: Exact>(
    world: &mut W,
    actions: &[Vec<usize>],
    chance: impl Fn(usize, bool) -> Result<W::Chance>,
    state: impl Fn(&W) -> Value,
) -> Result<Value> {
    let spec = world.spec().clone();
    let mut steps = Vec::new();
    for (step, actions) in actions.iter().enumerate() {
        if actions.len() != spec.agents {
            return Err(Error::BadScript(format!(
                "step {step} has {} actions, this world has {} agents",
                actions.len(),
                spec.agents
            )));
        }
        if let Some(agent) = actions.iter().position(|&a| a >= spec.actions.count()) {
            return Err(Error::BadScript(format!(
                "step {step} gives agent {agent} the action {}; actions are 0 to {}",
                actions[agent],
                spec.actions.count() - 1
            )));
        }
        // A missing draw is an error only if the episode went on to need it.
        let Outcome { reward, end } = world.apply(actions, &chance(step, true)?);
        if end == End::Running {
            chance(step, false)?;
        }
        let mut entry = json!({
            "reward": reward,
            "terminated": end == End::Terminated,
            "truncated": end == End::Truncated,
        });
        if let (Value::Object(entry), Value::Object(state)) = (&mut entry, state(world)) {
            entry.extend(state);
        }
        steps.push(entry);
        if end != End::Running {
            break;
        }
    }
    let ignored = actions.len() - steps.len();
    Ok(json!({ "world": spec.world, "steps": steps, "ignored_actions": ignored }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    fn replay(text: &str) -> Result<Value> {
        super::replay(&builtin(), text)
    }

    #[test]
    fn a_capture_by_two_drones() {
        let found = replay(
            r#"{"world":"wildlife","grid":7,"drones":[[3,1],[3,4]],"poacher":[3,3],
                "actions":[[2,0],[2,0],[0,0]],"poacher_moves":[0]}"#,
        )
        .unwrap();
        assert_eq!(found["steps"].as_array().unwrap().len(), 2);
        assert_eq!(found["ignored_actions"], 1);
        assert_eq!(found["steps"][0]["drones"], json!([[3, 2], [3, 4]]));
        assert_eq!(found["steps"][0]["reward"], -0.05);
        assert_eq!(found["steps"][1]["terminated"], true);
        assert_eq!(found["steps"][1]["reward"], 1.95);
    }

    #[test]
    fn one_vehicle_in_free_flow_takes_fifteen_steps() {
        let actions = vec![vec![1, 1, 1, 1]; 20];
        let script =
            json!({"world": "traffic", "rows": 2, "cols": 2, "schedule": [[0, 2, 0]], "actions": actions});
        let found = replay(&script.to_string()).unwrap();
        let steps = found["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 15);
        assert_eq!(steps[0]["vehicles"], json!([[2, 1, 0, 1, 0, false]]));
        assert_eq!(steps[14]["terminated"], true);
    }

    #[test]
    fn bad_scripts_say_what_is_wrong() {
        let wildlife = |tail: &str| {
            format!(r#"{{"world":"wildlife","grid":7,"drones":[[0,0],[1,1]],"poacher":[3,3],{tail}}}"#)
        };
        for (text, part) in [
            ("", "ends too early, at line 1 column 0"),
            (r#"{"world":"traffic","rows":2,"cols":2,"schedule":[[0,"#, "ends too early"),
            ("[]", "not a script: missing field `world`"),
            (r#"{"world":"traffic","state":{},"actions":[0]}"#, "holds a saved state"),
            (
                r#"{"world":"wildlife","grid":7,"drones":[[1,1],[1,1]],"poacher":[3,3],"actions":[],"poacher_moves":[]}"#,
                "drones 0 and 1 share the cell [1, 1]",
            ),
            ("{\"world\":\"chess\"}", "no world is called `chess`"),
            ("{\"world\":\"traffic\",\"rows\":2}", "missing field"),
            (
                &wildlife(r#""actions":[[0]],"poacher_moves":[0]"#),
                "step 0 has 1 actions, this world has 2 agents",
            ),
            (
                &wildlife(r#""actions":[[0,7]],"poacher_moves":[0]"#),
                "agent 1 the action 7; actions are 0 to 4",
            ),
            (&wildlife(r#""actions":[[0,0]],"poacher_moves":[9]"#), "moves are 0 to 4"),
            (&wildlife(r#""actions":[[0,0]],"poacher_moves":[]"#), "step 0 needs one too"),
            (&wildlife(r#""actions":[],"poacher_moves":[],"speed":1"#), "unknown field `speed`"),
            (
                r#"{"world":"traffic","rows":2,"cols":2,"schedule":[[0,0,0]],"actions":[]}"#,
                "no lane begins at",
            ),
            (r#"{"world":"traffic","rows":0,"cols":2,"schedule":[],"actions":[]}"#, "junction"),
        ] {
            let error = replay(text).unwrap_err().to_string();
            assert!(!error.contains("state: "), "{error}");
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
