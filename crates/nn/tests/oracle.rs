//! Whole networks against slow f64 loops: what they say, and how that changes with every parameter.

mod common;

use burn::tensor::Device;
use common::reference::Reference;
use common::{Random, Screen, State, batch, group, loss, network, numbers};
use equimarl_group::Plane;
use equimarl_nn::{Kind, NetworkConfig, Setting, Sharing};

/// Kind, group, world, pixels per cell.
const CASES: [(Kind, &str, &str, usize); 9] = [
    (Kind::Plain, "C1", "wildlife", 3),
    (Kind::Equivariant, "C4", "wildlife", 3),
    (Kind::Equivariant, "D4", "wildlife", 3),
    (Kind::Equivariant, "C2", "wildlife", 3),
    (Kind::Equivariant, "C4", "traffic", 5),
    (Kind::CentralPlain, "C1", "wildlife", 3),
    (Kind::CentralEquivariant, "C4", "wildlife", 3),
    (Kind::CentralEquivariant, "D4", "wildlife", 3),
    (Kind::CentralEquivariant, "C4", "traffic", 5),
];

struct Case {
    what: String,
    network: equimarl_nn::Network,
    screen: Screen,
    states: Vec<State>,
    batch: equimarl_nn::Batch,
}

fn case((kind, name, world, scale): (Kind, &str, &str, usize), seed: u64) -> Case {
    let group = group(name);
    let setting = match world {
        "wildlife" => Setting::wildlife(3, 7, &group).unwrap(),
        _ => Setting::traffic(2, 2, &group).unwrap(),
    };
    let agents = setting.agents;
    let config = NetworkConfig::paper(setting, kind, &group);
    let network = network(&config, seed, &Device::flex().autodiff());
    let (screen, mut random) = (Screen::of(&network, scale), Random::new(seed + 100));
    let states: Vec<State> = (0..2)
        .map(|s| match kind.is_central() {
            true => State::central(screen, agents, 0.4, &mut random),
            false => State::random(screen, agents - s, 0.4, &mut random),
        })
        .collect();
    let batch = batch(&states, screen, &Sharing::None, &Plane::new(&group).unwrap());
    Case { what: format!("{kind} {world} under {name}"), network, screen, states, batch }
}

/// Five layers of f32 sums, each off by about 1e-7 of its size: 1e-5 of the largest output is generous but not blind.
#[test]
fn outputs_are_those_of_the_equations() {
    for (i, which) in CASES.into_iter().enumerate() {
        let case = case(which, i as u64);
        let reference = Reference::new(&case.network);
        let output = case.network.forward(&case.batch);
        let (logits, values) = (numbers(output.logits), numbers(output.values));
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
        check(&logits, &expected);
        check(&values, &team);
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
        let gradients = case.network.gradients(&loss(&case.network, &case.batch, 7).backward());
        let reference = Reference::new(&case.network);
        // The same weights as in `loss`: logits of all agents first, then values.
        let actions: usize = case.batch.agents() * case.network.actions();
        let mut pull = Random::new(7);
        let (of_logits, of_values) = (pull.normals(actions), pull.normals(case.states.len()));
        let total = |reference: &Reference| {
            let (mut logits, mut sum) = (of_logits.iter(), 0.0);
            for (state, weight) in case.states.iter().zip(&of_values) {
                let (l, v) = reference.forward(case.screen, state);
                sum += l.iter().map(|l| l * f64::from(*logits.next().unwrap())).sum::<f64>();
                sum += v * f64::from(*weight);
            }
            sum
        };
        let mut random = Random::new(60 + i as u64);
        let names: Vec<String> = case.network.parameters().into_iter().map(|p| p.0).collect();
        for (p, name) in names.iter().enumerate() {
            let mut direction: Vec<Vec<f32>> = gradients.iter().map(|g| vec![0.0; g.len()]).collect();
            direction[p] = random.normals(gradients[p].len());
            let at = |amount| total(&reference.moved(&case.network, &direction, amount));
            let slope = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            let pairs = gradients[p].iter().zip(&direction[p]);
            let found: f64 = pairs.map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            // A random direction's slope is about the gradient's length.
            let scale = gradients[p].iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            assert!(scale > 0.0, "{}, {name} matters", case.what);
            assert!((found - slope).abs() < 1e-4 * scale, "{}, {name}: {found}, {slope}", case.what);
        }
    }
}
