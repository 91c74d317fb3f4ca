//! Scripted episodes: every action and every draw is given, so a rule can be checked by hand.

use crate::error::{Error, Result};
use crate::traffic::{Arrival, Traffic, TrafficOptions};
use crate::wildlife::{MOVES, Wildlife};
use crate::world::{End, Outcome, World};
use serde::Deserialize;
use serde_json::{Value, json};

/// A scripted episode as a file holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "world", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Script {
    /// Junctions, arrivals `[step, entry row, entry column]`, and one phase per junction and step.
    Traffic {
        /// Rows of junctions.
        rows: usize,
        /// Columns of junctions.
        cols: usize,
        /// All vehicles.
        schedule: Vec<Arrival>,
        /// One action per junction, row-major, for each step.
        actions: Vec<Vec<usize>>,
    },
    /// A grid, a start, one action per drone and step, and where the poacher goes.
    Wildlife {
        /// Cells per side.
        grid: usize,
        /// Where the drones start.
        drones: Vec<[usize; 2]>,
        /// Where the poacher starts.
        poacher: [usize; 2],
        /// One action per drone for each step.
        actions: Vec<Vec<usize>>,
        /// The poacher's move after each step, numbered like actions.
        poacher_moves: Vec<usize>,
    },
}

/// Reads a script and plays it: `{"world": ..., "steps": [...], "ignored_actions": n}`. Steps after the end of the
/// episode are not played, only counted.
///
/// # Errors
/// If the text is not a script, or asks for something that the world does not have.
pub fn replay(text: &str) -> Result<Value> {
    let script = serde_json::from_str(text).map_err(|error| Error::BadScript(not_a_script(text, &error)))?;
    play_script(script).map_err(|error| match error {
        Error::BadState(why) => Error::BadScript(why),
        other => other,
    })
}

/// Why the text is not a script, for people.
fn not_a_script(text: &str, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return format!("it ends too early, at line {} column {}", error.line(), error.column());
    }
    let content: Option<Value> = serde_json::from_str(text).ok();
    if content.is_some_and(|content| content.get("state").is_some()) {
        return "it holds a saved state; a script holds a start, all actions and all chance".into();
    }
    format!("it is not a script: {error}")
}

fn play_script(script: Script) -> Result<Value> {
    match script {
        Script::Traffic { rows, cols, schedule, actions } => {
            let options = TrafficOptions { rows, cols, ..TrafficOptions::default() };
            let mut world = Traffic::new(options)?.with_schedule(&schedule)?;
            play(
                "traffic",
                &mut world,
                &actions,
                |_, _| Ok(()),
                |world| {
                    let mut vehicles = world.vehicles();
                    vehicles.sort_unstable();
                    json!({ "vehicles": vehicles })
                },
            )
        }
        Script::Wildlife { grid, drones, poacher, actions, poacher_moves } => {
            let mut world = Wildlife::new(drones.len(), grid)?;
            world.place(&drones, poacher, 0)?;
            if let Some(step) = poacher_moves.iter().position(|&m| m >= MOVES) {
                return Err(Error::BadScript(format!(
                    "poacher move {step} is {}; moves are 0 to {}",
                    poacher_moves[step],
                    MOVES - 1
                )));
            }
            let given = |step: usize, ended: bool| match poacher_moves.get(step) {
                Some(&chosen) => Ok(chosen),
                // Whoever is captured does not move any more, so the last move may be left out.
                None if ended => Ok(0),
                None => Err(Error::BadScript(format!(
                    "there are {} poacher moves, but step {step} needs one too",
                    poacher_moves.len()
                ))),
            };
            play(
                "wildlife",
                &mut world,
                &actions,
                given,
                |world| json!({ "drones": world.drones().collect::<Vec<_>>(), "poacher": world.poacher() }),
            )
        }
    }
}

fn play<W: World>(
    name: &str,
    world: &mut W,
    actions: &[Vec<usize>],
    chance: impl Fn(usize, bool) -> Result<W::Chance>,
    state: impl Fn(&W) -> Value,
) -> Result<Value> {
    let mut steps = Vec::new();
    for (step, actions) in actions.iter().enumerate() {
        if actions.len() != world.agents() {
            return Err(Error::BadScript(format!(
                "step {step} has {} actions, this world has {} agents",
                actions.len(),
                world.agents()
            )));
        }
        if let Some(agent) = actions.iter().position(|&a| a >= world.actions()) {
            return Err(Error::BadScript(format!(
                "step {step} gives agent {agent} the action {}; actions are 0 to {}",
                actions[agent],
                world.actions() - 1
            )));
        }
        // A missing draw is an error only if the episode went on to need it.
        let Outcome { reward, end } = world.step(actions, &chance(step, true)?);
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
    Ok(json!({ "world": name, "steps": steps, "ignored_actions": ignored }))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("{\"world\":\"chess\"}", "unknown variant `chess`"),
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
