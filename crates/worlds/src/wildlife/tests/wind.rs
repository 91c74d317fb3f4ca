//! Wind breaks the symmetry by as much as it is strong, and nothing else changes.

use crate::audit::{Auditing, audit_by};
use crate::registry::Definition as _;
use crate::settings::Settings;
use crate::stream::{Purpose, Stream};
use crate::wildlife::{Definition, MOVES, STEPS, Wildlife, Wind, solve, solve_in};
use crate::world::{Exact, World};

fn windy(strength: f64, from: &str) -> Wildlife {
    Wildlife::new(3, 7).unwrap().in_wind(Wind::new(strength, from).unwrap()).unwrap()
}

fn how(cause: bool) -> Auditing {
    Auditing { steps: 400, seed: 3, cause, controller: None }
}

/// By hand: the poacher moves with the wind with probability w + (1 - w) / 5, and any other way with (1 - w) / 5. An element that
/// moves the wind exchanges two of them, so the laws differ by 1/2 (w + w) = w; nothing differs where a capture ends it all.
#[test]
fn elements_that_move_the_wind_fail_by_its_strength() {
    for (strength, from, kept) in [(0.3, "west", [0, 1]), (0.8, "north", [1, 0]), (1.0, "south", [-1, 0])] {
        let world = windy(strength, from);
        let report = audit_by(&world, &how(false));
        let group: equimarl_group::Group = "D4".parse().unwrap();
        let plane = equimarl_group::Plane::new(&group).unwrap();
        let mut held = 0;
        for (g, element) in group.elements().zip(&report.elements) {
            let size = element.variation.unwrap();
            // The wind's axis, whichever way: `kept` up to sign.
            let stays = plane.vector(g, kept) == kept;
            assert_eq!(element.holds, stays, "{from} {}", element.element);
            assert!((size.most - if stays { 0.0 } else { strength }).abs() < 1e-12, "{size:?}");
            assert!(size.mean <= size.most && (stays || size.mean > 0.8 * strength), "{size:?}");
            held += usize::from(stays);
        }
        assert_eq!(held, 2, "the identity, and the mirror along the wind");
        assert!(audit_by(&world, &how(true)).holds, "everything holds if the wind turns, too");
    }
}

#[test]
fn a_wind_that_is_drawn_is_a_cause_as_well() {
    let world = windy(0.5, "any");
    assert!(world.spec().cause_varies);
    assert!(!audit_by(&world, &how(false)).holds);
    assert!(audit_by(&world, &how(true)).holds);
    let mut sides = [0; MOVES];
    let (mut world, mut stream) = (world, Stream::new(1, Purpose::World, 0));
    for _ in 0..400 {
        world.reset(&mut stream).unwrap();
        let mut cause = [0.0; 2];
        world.cause(&mut cause);
        sides[STEPS.iter().position(|s| s.map(|v| 0.5 * v as f32) == cause).unwrap()] += 1;
        let mut other = world.clone();
        other.reset(&mut stream).unwrap();
        other.load(&world.save()).unwrap();
        assert!(other.same_state(&world));
    }
    assert!(sides[0] == 0 && sides[1..].iter().all(|&n| n > 60), "{sides:?}");
}

#[test]
fn the_poacher_drifts_as_often_as_it_should() {
    let (world, mut stream) = (windy(0.4, "east"), Stream::new(5, Purpose::World, 0));
    let mut counts = [0.0; MOVES];
    (0..40_000).for_each(|_| counts[world.draw(&mut stream)] += 1.0 / 40_000.0);
    for ((chance, p), found) in world.chances().unwrap().into_iter().zip(counts) {
        assert!((p - if chance == 4 { 0.52 } else { 0.12 }).abs() < 1e-12);
        assert!((p - found).abs() < 0.01, "{chance}: {found}");
    }
}

#[test]
fn without_wind_nothing_changes() {
    let (calm, old) = (windy(0.0, "any"), Wildlife::new(3, 7).unwrap());
    let run = |mut world: Wildlife| {
        let mut stream = Stream::new(9, Purpose::World, 0);
        let mut all = vec![];
        for episode in 0..20 {
            world.reset(&mut stream).unwrap();
            for step in 0..10 {
                let outcome = world.step(&[episode % 5, step % 5, 2], &mut stream).unwrap();
                all.push((outcome.reward.to_bits(), world.save().to_string()));
            }
        }
        all
    };
    assert_eq!(run(calm.clone()), run(old.clone()));
    assert_eq!(calm.spec(), old.spec());
    assert!(!serde_json::to_string(&**calm.spec()).unwrap().contains("cause"));
    assert_eq!(solve_in(2, 5, 0.0).unwrap().mean_return(), solve(2, 5).unwrap().mean_return());
}

#[test]
fn bad_winds_are_refused() {
    for (strength, from) in [(2.0, "west"), (-0.1, "west"), (f64::NAN, "west"), (0.5, "up"), (0.5, "")] {
        let error = Wind::new(strength, from).unwrap_err().to_string();
        assert!(error.lines().count() == 1 && error.len() > 30, "{error}");
    }
    let settings = Settings::usual(&Definition.options()).with("wind", 0.3).with("wind_from", "north");
    let world = Wildlife::of(&settings).unwrap();
    assert_eq!(world.wind(), Some(("north", 0.3)));
    assert_eq!(Definition.label(&settings), "wildlife-3-wind-0.3-north");
    let calm = Wildlife::new(3, 7).unwrap();
    assert!(calm.clone().load(&world.save()).is_err() && world.clone().load(&calm.save()).is_err());
}
