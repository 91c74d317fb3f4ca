//! Scripted episodes of particle worlds, in mpe2's terms: a discrete action is a number, a continuous one is five numbers
//! from 0 to 1, of which u = (a2 - a1, a4 - a3) is the control.

use super::Vector;
use super::options::{integrator, shape};
use super::save::{bodies, place};
use super::world::{CHOICES, Particles, Rules};
use crate::error::{Error, Result};
use crate::world::End;
use serde_json::{Value, json};

fn bad(why: impl Into<String>) -> Error {
    Error::BadScript(why.into())
}

/// A list of a script, whatever is in it.
pub(crate) fn list<'a>(script: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    script[name].as_array().ok_or_else(|| bad(format!("it is not a script: `{name}` must be a list")))
}

/// Refuses fields that no script of this world has.
pub(crate) fn check_fields(script: &Value, known: &[&str]) -> Result<()> {
    let all = ["world", "continuous", "actions", "step_limit", "integrator", "arena"];
    let fields = script.as_object().into_iter().flat_map(|map| map.keys());
    for field in fields {
        if !all.contains(&field.as_str()) && !known.contains(&field.as_str()) {
            let known = [&all[..], known].concat().join(", ");
            return Err(bad(format!("it is not a script: unknown field `{field}`; there are {known}")));
        }
    }
    Ok(())
}

/// What a script may change about the usual world.
pub(crate) fn common(script: &Value) -> Result<super::Common> {
    let mut common = super::Common::default();
    let text = |name: &str| match &script[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.as_str())),
        _ => Err(bad(format!("it is not a script: `{name}` must be a name"))),
    };
    if let Some(name) = text("integrator")? {
        common.integrator = integrator(name)?;
    }
    if let Some(name) = text("arena")? {
        common.arena.shape = shape(name)?;
    }
    match &script["step_limit"] {
        Value::Null => {}
        limit => {
            let limit = limit.as_u64().filter(|n| (1..=1_000_000).contains(n));
            common.step_limit =
                limit.ok_or_else(|| bad("it is not a script: `step_limit` must be 1 to 1000000"))? as usize;
        }
    }
    Ok(common)
}

/// Plays a script in a world that fits it.
pub(crate) fn play<R: Rules>(world: &mut Particles<R>, script: &Value) -> Result<Value> {
    let continuous = match &script["continuous"] {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        _ => return Err(bad("it is not a script: `continuous` must be true or false")),
    };
    place(world, script).map_err(bad)?;
    let parts = world.rules.parts().clone();
    let actions = list(script, "actions")?;
    let others = match parts.others {
        None => None,
        Some((name, _, count, _)) => Some((list(script, &format!("{name}_actions"))?, name, count)),
    };
    if let Some((others, name, _)) = others
        && others.len() < actions.len()
    {
        return Err(bad(format!(
            "there are {} steps of {name}_actions and {} of actions",
            others.len(),
            actions.len()
        )));
    }
    let mut steps = vec![];
    for (step, own) in actions.iter().enumerate() {
        let mut controls = read(own, step, "actions", parts.team.2, continuous)?;
        if let Some((others, name, count)) = others {
            controls.extend(read(&others[step], step, &format!("{name}_actions"), count, continuous)?);
        }
        world.controls = controls;
        let outcome = world.advance();
        let mut entry = json!({
            "reward": outcome.reward,
            "rewards": world.rewards,
            "terminated": outcome.end == End::Terminated,
            "truncated": outcome.end == End::Truncated,
        });
        if let Value::Object(entry) = &mut entry {
            entry.extend(bodies(world));
        }
        steps.push(entry);
        if outcome.end != End::Running {
            break;
        }
    }
    let ignored = actions.len() - steps.len();
    Ok(json!({ "world": parts.world, "steps": steps, "ignored_actions": ignored }))
}

/// The controls of a step.
fn read(list: &Value, step: usize, name: &str, count: usize, continuous: bool) -> Result<Vec<Vector>> {
    let list = list.as_array().ok_or_else(|| bad(format!("step {step} of `{name}` must be a list")))?;
    if list.len() != count {
        return Err(bad(format!("step {step} has {} {name}, this world needs {count}", list.len())));
    }
    let control = |(agent, action): (usize, &Value)| match continuous {
        false => {
            action.as_u64().and_then(|a| CHOICES.get(usize::try_from(a).ok()?)).copied().ok_or_else(|| {
                bad(format!(
                    "step {step} of `{name}` gives number {agent} the action {action}; actions are 0 to 4"
                ))
            })
        }
        true => {
            let five: Option<[f64; 5]> = serde_json::from_value(action.clone()).ok();
            let inside = |five: &[f64; 5]| five.iter().all(|a| (0.0..=1.0).contains(a));
            let five = five.filter(inside).ok_or_else(|| {
                bad(format!(
                    "step {step} of `{name}` gives number {agent} the action {action}; a continuous action is five numbers \
                     from 0 to 1"
                ))
            })?;
            Ok([five[2] - five[1], five[4] - five[3]])
        }
    };
    list.iter().enumerate().map(control).collect()
}
