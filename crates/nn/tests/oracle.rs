//! Whole networks against slow f64 loops: what they say, and how that changes with every parameter.

mod common;

use common::reference::Reference;
use common::{Random, Screen, State, batch, everything, group, network, outputs, pulls, world};
use equimarl_group::Plane;
use equimarl_nn::{Batch, Network, NetworkConfig, NetworkKind, Sharing};

/// The eight networks, wildlife's under more groups, and those for worlds that are not quite symmetric.
const CASES: [(NetworkKind, &str, &str); 23] = [
    (NetworkKind::Plain, "C1", "wildlife"),
    (NetworkKind::Plain, "C1", "traffic"),
    (NetworkKind::Equivariant, "C1", "wildlife"),
    (NetworkKind::Equivariant, "C2", "wildlife"),
    (NetworkKind::Equivariant, "C4", "wildlife"),
    (NetworkKind::Equivariant, "D4", "wildlife"),
    (NetworkKind::Equivariant, "C4", "traffic"),
    (NetworkKind::CentralPlain, "C1", "wildlife"),
    (NetworkKind::CentralPlain, "C1", "traffic"),
    (NetworkKind::CentralEquivariant, "C1", "wildlife"),
    (NetworkKind::CentralEquivariant, "C2", "wildlife"),
    (NetworkKind::CentralEquivariant, "C4", "wildlife"),
    (NetworkKind::CentralEquivariant, "D4", "wildlife"),
    (NetworkKind::CentralEquivariant, "C4", "traffic"),
    (NetworkKind::CentralEquivariant, "D4", "traffic"),
    (NetworkKind::Relaxed, "C4", "wildlife"),
    (NetworkKind::Relaxed, "C4", "traffic"),
    (NetworkKind::Relaxed, "C4", "wind"),
    (NetworkKind::Equivariant, "C4", "wind"),
    (NetworkKind::Equivariant, "D4", "wind"),
    (NetworkKind::Plain, "C1", "wind"),
    (NetworkKind::Equivariant, "C4", "tilt"),
    (NetworkKind::Relaxed, "C4", "tilt"),
];

struct Case {
    what: String,
    network: Network,
    screen: Screen,
    states: Vec<State>,
    batch: Batch,
}

/// Two states: one of full images, and one of nearly empty ones as in the worlds, where many windows are alike and the
/// maximum is in several places at once.
fn case((kind, name, place): (NetworkKind, &str, &str), seed: u64) -> Case {
    let group = group(name);
    let (interface, scale) = world(place, &group);
    let agents = interface.agents;
    let cause: &[f32] = match place {
        "wind" => &[0.3, -0.7],
        "tilt" => &[0.4],
        _ => &[],
    };
    let network = network(&NetworkConfig::usual(interface, kind, &group), seed);
    let (screen, mut random) = (Screen::of(&network, scale), Random::new(seed + 100));
    let states: Vec<State> = [(agents, 0.4), (agents - 1, 0.05)]
        .into_iter()
        .map(|(seen, density)| match kind.is_central() {
            true => State::central(screen, agents, density, &mut random),
            false => State::random(screen, seen, density, &mut random),
        })
        .map(|state| State { cause: cause.to_vec(), ..state })
        .collect();
    let batch = batch(&states, screen, &Sharing::None, &Plane::new(&group).unwrap());
    Case { what: format!("{kind} {place} under {name}"), network, screen, states, batch }
}

/// Five layers of f32 sums, each off by about 1e-7 of its size: 1e-5 of the largest output is generous but not blind.
#[test]
fn outputs_are_those_of_the_equations() {
    for (i, which) in CASES.into_iter().enumerate() {
        let case = case(which, i as u64);
        let reference = Reference::new(&case.network);
        let output = outputs(&case.network, &case.batch);
        let (mut expected, mut team) = (vec![], vec![]);
        for state in &case.states {
            let (l, v) = reference.forward(case.screen, state);
            expected.extend(l);
            team.push(v);
        }
        let check = |found: &[f32], expected: &[f64]| {
            assert_eq!(found.len(), expected.len());
            let scale = expected.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
            for (f, e) in found.iter().zip(expected) {
                assert!((f64::from(*f) - e).abs() < 1e-5 * scale, "{}: {f} is not {e}", case.what);
            }
        };
        check(&output.logits, &expected);
        check(&output.values, &team);
    }
}

/// The slope of the loss along a random direction of each parameter in turn, by central differences in f64. A network is
/// piecewise linear in the parameters of one layer, so the step may be as small as rounding allows, and must be: a
/// direction moves 100,000 hidden pixels, and at a step of 1e-6 some of them already cross the kink of their ReLU (seen
/// as errors of 1e-3 that vanish with smaller steps). At 1e-8 rounding is 1e-16 x 100 / 1e-8 = 1e-6.
#[test]
fn gradients_are_slopes() {
    const STEP: f64 = 1e-8;
    for (i, which) in CASES.into_iter().enumerate() {
        let case = case(which, 50 + i as u64);
        let (_, _, gradients) = everything(&case.network, &case.batch, 7);
        let (reference, pull) = (Reference::new(&case.network), pulls(&case.network, &case.batch, 7));
        let total = |reference: &Reference| {
            let (mut logits, mut sum) = (pull.logits.iter(), 0.0);
            for (state, weight) in case.states.iter().zip(&pull.values) {
                let (l, v) = reference.forward(case.screen, state);
                sum += l.iter().map(|l| l * f64::from(*logits.next().unwrap())).sum::<f64>();
                sum += v * f64::from(*weight);
            }
            sum
        };
        let mut random = Random::new(60 + i as u64);
        for ((name, range), gradient) in case.network.named().into_iter().zip(&gradients) {
            let mut direction = vec![0.0; case.network.values().len()];
            direction[range.clone()].copy_from_slice(&random.normals(range.len()));
            let at = |amount| total(&reference.moved(&case.network, &direction, amount));
            let slope = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            let pairs = gradient.iter().zip(&direction[range]);
            let found: f64 = pairs.map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            // A random direction's slope is about the gradient's length.
            let scale = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            assert!(scale > 0.0, "{}, {name} matters", case.what);
            assert!((found - slope).abs() < 1e-4 * scale, "{}, {name}: {found}, {slope}", case.what);
        }
    }
}
