//! What is left of a world's symmetry, found by looking: the elements that an audit does not refute.

use crate::config::Method;
use crate::error::{Error, Result};
use equimarl_group::{Group, Plane};
use equimarl_worlds::{Registry, WorldConfig};

/// Steps of an audit. A wind shows in the first one that does not capture.
const STEPS: usize = 200;
/// Audits where what breaks the symmetry is drawn for every episode: each begins with another draw. That 16 fair draws are all
/// along one axis has a probability of 2^-15.
const DRAWS: u64 = 16;

/// The symmetry that networks get where nobody gives one: what the world says is usual; for [`Method::Subgroup`] what is left of it
/// there.
///
/// # Errors
/// If there is no such world, or it does not say how its states transform and the method needs that.
pub fn usual_group(registry: &Registry, world: &WorldConfig, method: Method) -> Result<String> {
    match method {
        Method::Subgroup => left(registry, world),
        _ => Ok(registry.get(&world.name)?.symmetries(&world.settings).usual),
    }
}

/// The usual symmetry of a world if the world really has it, and else the largest group of plane symmetries that it has with
/// everything that breaks it, by its name: C1 if nothing is left.
///
/// # Errors
/// If there is no such world, or it does not say how its states transform.
pub fn left(registry: &Registry, world: &WorldConfig) -> Result<String> {
    let world = registry.complete(world)?;
    let symmetries = registry.get(&world.name)?.symmetries(&world.settings);
    let largest: Group = symmetries.largest.parse()?;
    let envs = registry.make(&world, &largest, 1)?;
    let Some(exact) = envs.exact() else {
        return Err(Error::BadConfig(format!(
            "the method `subgroup` needs a world that says how its states transform, and {} does not; give --group instead",
            world.name
        )));
    };
    let audits = if envs.spec().cause_varies { DRAWS } else { 1 };
    let mut holds = vec![true; largest.order()];
    for seed in 0..audits {
        let found = exact.audit(STEPS, seed).elements;
        // A world that refuses the group names no elements.
        let of = |g: usize| found.get(g).is_some_and(|element| element.holds);
        holds.iter_mut().enumerate().for_each(|(g, held)| *held &= g == 0 || of(g));
    }
    let plane = Plane::new(&largest)?;
    let held = largest.elements().zip(holds).filter(|(_, held)| *held);
    let matrices: Vec<[[i32; 2]; 2]> = held.map(|(g, _)| plane.matrix(g)).collect();
    let usual: Group = symmetries.usual.parse()?;
    let its_plane = Plane::new(&usual)?;
    match usual.elements().all(|g| matrices.contains(&its_plane.matrix(g))) {
        true => Ok(symmetries.usual),
        false => name(&matrices),
    }
}

/// What a group that may be left is called by people, after its name.
pub fn in_words(group: &str) -> &'static str {
    match group {
        "C2" => ", half turns",
        "C4" => ", quarter turns",
        "D1" => ", the mirror that exchanges left and right",
        "matrix[-1 0, 0 1]" => ", the mirror that exchanges up and down",
        "matrix[0 1, 1 0]" | "matrix[0 -1, -1 0]" => ", a mirror along a diagonal",
        _ => "",
    }
}

/// A group of these elements: a usual name if it has one, and generators otherwise.
fn name(matrices: &[[[i32; 2]; 2]]) -> Result<String> {
    let same = |group: &Group| {
        let plane = Plane::new(group).ok();
        group.order() == matrices.len()
            && plane.is_some_and(|plane| group.elements().all(|g| matrices.contains(&plane.matrix(g))))
    };
    for usual in ["C1", "C2", "C4", "D1", "D2", "D4"] {
        if same(&usual.parse()?) {
            return Ok(usual.into());
        }
    }
    // Generators, taken as long as they add something.
    let text = |all: &[[[i32; 2]; 2]]| {
        let one = |[[a, b], [c, d]]: &[[i32; 2]; 2]| format!("{a} {b}, {c} {d}");
        format!("matrix[{}]", all.iter().map(one).collect::<Vec<_>>().join("; "))
    };
    let mut chosen: Vec<[[i32; 2]; 2]> = vec![];
    for matrix in matrices.iter().filter(|m| **m != [[1, 0], [0, 1]]) {
        let covered = match chosen.is_empty() {
            true => false,
            false => {
                let group: Group = text(&chosen).parse()?;
                let plane = Plane::new(&group)?;
                group.elements().any(|g| plane.matrix(g) == *matrix)
            }
        };
        if !covered {
            chosen.push(*matrix);
        }
    }
    Ok(text(&chosen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_worlds::builtin;

    #[test]
    fn wind_and_tilt_leave_what_they_leave() {
        let registry = builtin();
        let of = |world: &str, changes: &[(&str, equimarl_worlds::Value)]| {
            let mut config = registry.usual(world).unwrap();
            changes.iter().for_each(|(key, value)| config.settings.set(key, value.clone()));
            left(&registry, &config).unwrap()
        };
        // Nothing is broken, so it is what every network has.
        assert_eq!(of("wildlife", &[]), "C4");
        assert_eq!(of("wildlife", &[("wind", 0.3.into()), ("wind_from", "north".into())]), "D1");
        // The mirror along the rows: it negates rows and not columns.
        assert_eq!(of("wildlife", &[("wind", 0.3.into())]), "matrix[-1 0, 0 1]");
        // Of a wind that is drawn, nothing is left that holds for every draw, whatever the first ones were.
        for drones in 2..6usize {
            let drawn: &[(&str, equimarl_worlds::Value)] =
                &[("wind", 0.3.into()), ("wind_from", "any".into()), ("drones", drones.into())];
            assert_eq!(of("wildlife", drawn), "C1");
        }
        // A start on one side leaves the mirror along it, of choices and of vectors.
        assert_eq!(of("spread", &[("start", "left".into()), ("arena", "disc".into())]), "matrix[-1 0, 0 1]");
        assert_eq!(of("traffic", &[]), "C4");
        assert_eq!(of("traffic", &[("tilt", 0.4.into())]), "C2");
        assert_eq!(of("traffic", &[("main_road", 3.0.into())]), "C1");
    }
}
