//! States as JSON: `[x, y, vx, vy]` for what moves, `[x, y]` for what does not.

use super::Vector;
use super::world::{Particles, Rules};
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Numbers beyond this say that something went wrong, and would end as infinities.
pub(super) const FARTHEST: f64 = 1e6;

/// The bodies, by what they are called.
pub(super) fn bodies<R: Rules>(world: &Particles<R>) -> Map<String, Value> {
    let parts = world.rules.parts();
    let all: Vec<[f64; 4]> = (world.bodies.places().iter().zip(world.bodies.velocities()))
        .map(|([x, y], [vx, vy])| [*x, *y, *vx, *vy])
        .collect();
    let (team, others) = all.split_at(world.team());
    let mut map = Map::new();
    map.insert(parts.team.1.into(), json!(team));
    if let Some(other) = parts.others {
        map.insert(other.1.into(), json!(others));
    }
    map
}

pub(super) fn save<R: Rules>(world: &Particles<R>) -> Value {
    let mut map = bodies(world);
    map.insert(world.rules.parts().fixed.1.into(), json!(world.bodies.fixed()));
    map.insert("steps".into(), json!(world.steps));
    Value::Object(map)
}

pub(super) fn load<R: Rules>(world: &mut Particles<R>, state: &Value) -> Result<()> {
    let bad = |why: String| Error::BadState(why);
    let steps = state["steps"].as_u64().and_then(|n| usize::try_from(n).ok());
    let Some(steps) = steps.filter(|&n| n <= world.common.step_limit) else {
        return Err(bad(format!("`steps` must be 0 to {}", world.common.step_limit)));
    };
    place(world, state).map_err(bad)?;
    world.steps = steps;
    Ok(())
}

/// Puts all bodies where a state or a script says. Nothing changes if it does not say so well.
pub(super) fn place<R: Rules>(world: &mut Particles<R>, state: &Value) -> std::result::Result<(), String> {
    let parts = world.rules.parts();
    let mut moving: Vec<[f64; 4]> = list(state, parts.team.1, parts.team.2, "[x, y, vx, vy]")?;
    if let Some((_, name, count, _)) = parts.others {
        moving.extend(list::<[f64; 4]>(state, name, count, "[x, y, vx, vy]")?);
    }
    let fixed: Vec<Vector> = list(state, parts.fixed.1, parts.fixed.2, "[x, y]")?;
    let all = moving.as_flattened().iter().chain(fixed.as_flattened());
    if let Some(far) = all.into_iter().find(|v| !v.is_finite() || v.abs() > FARTHEST) {
        return Err(format!("it has the number {far}; places and velocities are within {FARTHEST}"));
    }
    for (body, [x, y, vx, vy]) in moving.into_iter().enumerate() {
        world.bodies.movers.points[body] = [x, y];
        world.bodies.velocities[body] = [vx, vy];
    }
    world.bodies.fixed.points = fixed;
    world.rewards.fill(0.0);
    world.settle();
    Ok(())
}

fn list<T: DeserializeOwned>(
    state: &Value,
    name: &str,
    count: usize,
    each: &str,
) -> std::result::Result<Vec<T>, String> {
    let found: Vec<T> = serde_json::from_value(state[name].clone())
        .map_err(|_| format!("`{name}` must be a list with {each} for each"))?;
    match found.len() == count {
        true => Ok(found),
        false => Err(format!("it has {} {name}, this world {count}", found.len())),
    }
}
