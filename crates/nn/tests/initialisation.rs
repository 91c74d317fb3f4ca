//! Fresh networks keep the scale of what passes through them, both kinds alike.

mod common;

use common::{Random, group, worlds};
use equimarl_group::{Group, Rep};
use equimarl_kernels::messages::Graph;
use equimarl_nn::{
    Initial, Linear, MessageRound, Network, NetworkConfig, NetworkKind, Packed, RoundWork, Space,
};

/// The plain network, and the two most symmetric ones.
const GROUPS: [&str; 4] = ["C1", "C4", "D4", "C2"];

fn channels(group: &Group, plain: usize) -> Rep {
    let count = (plain as f64 / (group.order() as f64).sqrt()) as usize;
    Rep::regular(group).unwrap().copies(count).unwrap()
}

fn mean_square(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / values.len() as f64
}

/// The mean of E[out^2] / E[in^2] over draws of weights and standard normal inputs. With weights of variance 2 / inputs
/// it is exactly 1 after a ReLU. One draw scatters by 0.4 at most (conv1: 16 channels, 4 windows),
/// so the mean of 40 by less than 0.07.
fn ratio(mut draw: impl FnMut(&mut Random) -> f64, seed: u64) -> f64 {
    const DRAWS: usize = 40;
    let mut random = Random::new(seed);
    (0..DRAWS).map(|_| draw(&mut random)).sum::<f64>() / DRAWS as f64
}

/// A filter at one place is a matrix from the pixels of its window, so that is what is tried: as a whole window is new
/// each time, draws scatter less than those of an image.
#[test]
fn convolutions_keep_the_scale() {
    for name in GROUPS {
        let group = group(name);
        let trivial = |n| Rep::trivial(&group).copies(n).unwrap();
        let layers = [
            ("conv1 of wildlife", trivial(1), channels(&group, 16), 7),
            ("conv1 of traffic", trivial(3), channels(&group, 16), 7),
            ("conv1 of central wildlife", trivial(4), channels(&group, 16), 7),
            ("conv2", channels(&group, 16), channels(&group, 32), 5),
        ];
        for (what, input, output, kernel) in layers {
            let space = Space::new(&input, &output, Some(kernel)).unwrap();
            let window = input.dim() * kernel * kernel;
            let draw = |random: &mut Random| {
                let drawn = space.init(Initial::BeforeRelu, &mut || random.normal());
                let [w, _] = space.realise(&drawn).unwrap();
                let x = random.normals(4 * window);
                let apply =
                    |x: &[f32], row: &[f32]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f32>().max(0.0);
                let windows = x.chunks_exact(window);
                let y = windows.flat_map(|x| w.chunks_exact(window).map(move |row| apply(x, row)));
                mean_square(&y.collect::<Vec<f32>>()) / mean_square(&x)
            };
            let found = ratio(draw, 100);
            assert!((found - 1.0).abs() < 0.3, "{what} under {name}: {found}");
        }
    }
}

/// A fresh layer on normal rows: E[out^2] / E[in^2].
fn linear(layer: &Linear, rows: usize, random: &mut Random) -> f64 {
    let (mut packed, mut y) = (Packed::default(), vec![0.0; rows * layer.outputs()]);
    layer.realise(&layer.init(&mut || random.normal()), &mut packed).unwrap();
    let x = random.normals(rows * layer.parts()[0].input().dim());
    layer.forward(&packed, &x, &mut y).unwrap();
    mean_square(&y) / mean_square(&x)
}

#[test]
fn hidden_layers_and_values_keep_the_scale() {
    for name in GROUPS {
        let group = group(name);
        for (from, to) in [(32, 128), (128, 64), (32, 256)] {
            let (input, output) = (channels(&group, from), channels(&group, to));
            let layer = Linear::new(&input, &[output], true).unwrap();
            let found = ratio(|random| linear(&layer, 4, random), 101);
            assert!((found - 1.0).abs() < 0.2, "hidden {from} -> {to} under {name}: {found}");
        }
        // No ReLU after the value: there variance 1 / inputs keeps the scale. One output scatters by sqrt(2) a draw.
        let layer = Linear::new(&channels(&group, 64), &[Rep::trivial(&group)], false).unwrap();
        let found = ratio(|random| linear(&layer, 8, random), 102);
        assert!((0.5..2.0).contains(&found), "value under {name}: {found}");
    }
}

/// What a round's weight multiplies is own features, edge vector and message; averaging n messages with weight
/// 1 / (1 + n) leaves them a variance of n / (1 + n)^2. So for normal features and n neighbours E[out^2] is
/// (F + (F + 2) n / (1 + n)^2) / (2F + 2): about 0.6 for 1 to 3 neighbours, within the factor 2 of the promise.
#[test]
fn rounds_keep_the_scale() {
    for name in GROUPS {
        let group = group(name);
        for (from, to) in [(32, 64), (64, 64)] {
            let (features, output) = (channels(&group, from), channels(&group, to));
            let edge = Rep::rotation(&group, 1).unwrap();
            let round = MessageRound::new(&features, &edge, &output).unwrap();
            for neighbours in 1..=3usize {
                // A ring: everyone hears the next few.
                let agents = 6;
                let offsets = (0..=agents).map(|i| (i * neighbours) as u32).collect();
                let next = (0..agents).flat_map(|i| (1..=neighbours).map(move |k| ((i + k) % agents) as u32));
                let graph = Graph::new(offsets, next.collect()).unwrap();
                let draw = |random: &mut Random| {
                    let (mut packed, mut y) = (Packed::default(), vec![0.0; agents * round.outputs()]);
                    round.realise(&round.init(&mut || random.normal()), &mut packed).unwrap();
                    let x = random.normals(agents * features.dim());
                    let edges = random.normals(2 * graph.edges());
                    round.forward(&packed, (&graph, &edges), &x, &mut RoundWork::default(), &mut y).unwrap();
                    mean_square(&y) / mean_square(&x)
                };
                let (found, n) = (ratio(draw, 103), neighbours as f64);
                let width = features.dim() as f64;
                let expected = (width + (width + 2.0) * n / (1.0 + n).powi(2)) / (2.0 * width + 2.0);
                assert!((0.5..2.0).contains(&found), "{from} -> {to} under {name}: {found}");
                assert!((found / expected - 1.0).abs() < 0.2, "{name}, {n}: {found}, not {expected}");
            }
        }
    }
}

/// The standard deviation of realised weights over all entries of a network's layers, from many draws.
#[test]
fn policies_start_small_and_biases_at_zero() {
    for (kind, name) in [
        (NetworkKind::Plain, "C1"),
        (NetworkKind::Equivariant, "C4"),
        (NetworkKind::Equivariant, "D4"),
        (NetworkKind::CentralEquivariant, "C4"),
    ] {
        let group = group(name);
        let interface = worlds::wildlife(3, 7, &group);
        let config = NetworkConfig::usual(interface, kind, &group);
        let mut random = Random::new(104);
        let mut squares = vec![];
        for _ in 0..20 {
            let network = Network::init(&config, &mut || random.normal()).unwrap();
            for (tensor, found) in network.dense().unwrap().tensors {
                if tensor.ends_with("bias") {
                    assert!(found.values.iter().all(|b| *b == 0.0), "{tensor}");
                } else if tensor.starts_with("policy") {
                    squares.push(mean_square(&found.values));
                }
            }
        }
        // At least 20 x 50 independent numbers: their spread is known to 1 / sqrt(2 x 1000), about 2 percent.
        let deviation = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
        assert!((deviation / 0.01 - 1.0).abs() < 0.1, "{kind} under {name}: {deviation}");
    }
}

/// A chosen deviation is that of the realised weights for dense bases as well, where several coefficients meet in one
/// entry.
#[test]
fn a_chosen_deviation_is_that_of_the_weights() {
    for (name, input, output) in [
        ("C1", "8*trivial", "5*trivial"),
        ("D4", "2*regular", "perm[0 4 1 2 3; 0 1 4 3 2]"),
        ("C8", "2*rotation + regular", "2*rotation(3) + regular"),
        ("S3", "3*natural", "2*natural"),
        ("C5", "3*rotation", "4*rotation"),
    ] {
        let group = group(name);
        let rep = |text: &str| Rep::parse(&group, text).unwrap();
        let space = Space::new(&rep(input), &rep(output), None).unwrap();
        let mut random = Random::new(105);
        let mut squares = 0.0;
        for _ in 0..400 {
            let drawn = space.init(Initial::Deviation(0.01), &mut || random.normal());
            let [w, _] = space.realise(&drawn).unwrap();
            // Entries that the symmetry holds at zero do not count.
            let free: Vec<f32> = w.into_iter().filter(|v| *v != 0.0).collect();
            squares += mean_square(&free) / 400.0;
        }
        assert!((squares.sqrt() / 0.01 - 1.0).abs() < 0.1, "{name}, {input} -> {output}: {}", squares.sqrt());
    }
}
