//! All bases of the paper's eight networks, and two larger ones. `cargo bench -p equimarl-group`

use equimarl_group::{Basis, Group, Rep};
use std::hint::black_box;
use std::time::Instant;

/// (input, output, kernel) of every layer; biases are added by `solve`.
type Layers = Vec<(String, String, Option<usize>)>;

/// n plain channels are floor(n / sqrt|G|) group channels.
fn channels(group: &Group, n: usize) -> usize {
    (n as f64 / (group.order() as f64).sqrt()).floor() as usize
}

fn encoder(group: &Group, pictures: usize) -> Layers {
    let regular = |n| format!("{}*regular", channels(group, n));
    vec![(format!("{pictures}*trivial"), regular(16), Some(7)), (regular(16), regular(32), Some(5))]
}

fn distributed(group: &Group, pictures: usize, actions: &str) -> Layers {
    let regular = |n| format!("{}*regular", channels(group, n));
    let message = |n| format!("{0} + rotation + {0}", regular(n));
    let mut layers = encoder(group, pictures);
    layers.extend([(message(32), regular(64), None), (message(64), regular(64), None)]);
    layers.extend([(regular(64), actions.into(), None), (regular(64), "trivial".into(), None)]);
    layers
}

fn central(group: &Group, pictures: usize, actions: &str) -> Layers {
    let regular = |n| format!("{}*regular", channels(group, n));
    let mut layers = encoder(group, pictures);
    let last = if group.order() == 1 {
        layers.push((regular(32), regular(256), None));
        regular(256)
    } else {
        layers.extend([(regular(32), regular(128), None), (regular(128), regular(64), None)]);
        regular(64)
    };
    layers.extend([(last.clone(), actions.into(), None), (last, "trivial".into(), None)]);
    layers
}

/// Builds every basis of a network from its text, as a program does at its start.
fn solve(group: &Group, layers: &Layers) -> usize {
    layers
        .iter()
        .map(|(input, output, kernel)| {
            let (input, output) = (Rep::parse(group, input).unwrap(), Rep::parse(group, output).unwrap());
            let weights = match kernel {
                Some(k) => Basis::filter(&input, &output, *k),
                None => Basis::linear(&input, &output),
            };
            weights.unwrap().rank() + Basis::invariant(&output).unwrap().rank()
        })
        .sum()
}

/// Prints the median time of a call, of 101 calls.
fn time(name: &str, mut call: impl FnMut()) {
    let mut seconds: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!("{name:<34} {:.3} ms", seconds[50] * 1e3);
}

fn main() {
    let wildlife = ["perm[0 4 1 2 3]", "5*trivial"];
    let traffic = ["perm[1 0]", "2*trivial"];
    // The agents of 2 x 2 junctions move too: old index k goes to [5, 4, 1, 0, 7, 6, 3, 2][k].
    let team = ["perm[3 2 7 6 1 0 5 4]", "8*trivial"];
    time("all bases of the eight networks", || {
        for (kind, name) in ["C4", "C1"].iter().enumerate() {
            let group: Group = name.parse().unwrap();
            black_box(solve(&group, &distributed(&group, 1, wildlife[kind])));
            black_box(solve(&group, &distributed(&group, 3, traffic[kind])));
            black_box(solve(&group, &central(&group, 3, wildlife[kind])));
            black_box(solve(&group, &central(&group, 3, team[kind])));
        }
    });
    for (group, rep) in [("S5", "natural"), ("D12", "regular")] {
        time(&format!("{rep} -> {rep} of {group}"), || {
            let rep = Rep::parse(&group.parse().unwrap(), rep).unwrap();
            black_box(Basis::linear(&rep, &rep).unwrap().rank());
        });
    }
}
