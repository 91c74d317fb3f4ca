//! Batches: states of any size side by side, and mistakes that are refused.

mod common;

use common::{Random, Screen, State, batch, everything, group, named, network, relative, worlds};
use equimarl_group::Plane;
use equimarl_nn::{Batch, BatchBuilder, Cache, Network, NetworkConfig, NetworkKind, Output, Sharing};

fn wildlife(kind: NetworkKind, name: &str) -> (Network, Screen, Plane) {
    let group = group(name);
    let config = NetworkConfig::usual(worlds::wildlife(3, 7, &group), kind, &group);
    let network = network(&config, 120);
    let screen = Screen::of(&network, 3);
    (network, screen, Plane::new(&group).unwrap())
}

/// Outputs, and the gradients of their sum.
fn summed(network: &Network, batch: &Batch) -> (Output, Vec<f32>) {
    let (mut network, mut cache) = (network.clone(), Cache::default());
    network.forward(batch, &mut cache).unwrap();
    let (output, back) = cache.output_gradient();
    let output = output.clone();
    *back = Output { logits: vec![1.0; output.logits.len()], values: vec![1.0; output.values.len()] };
    let mut gradients = vec![0.0; network.values().len()];
    network.backward(batch, &mut cache, &mut gradients).unwrap();
    (output, gradients)
}

/// One to nine agents, any graphs, the empty team among them: results to the bit as if each state were alone, and
/// gradients that are the sums of theirs.
#[test]
fn states_of_any_size_stand_side_by_side() {
    for (kind, name) in [(NetworkKind::Plain, "C1"), (NetworkKind::Equivariant, "C4")] {
        let (network, screen, plane) = wildlife(kind, name);
        let mut random = Random::new(121);
        let sizes = [1, 9, 0, 3, 2, 5];
        let states: Vec<State> = sizes.iter().map(|&n| State::random(screen, n, 0.3, &mut random)).collect();
        let together = batch(&states, screen, &network.sharing(), &plane);
        assert_eq!((together.states(), together.agents()), (6, 20));
        let (output, sum) = summed(&network, &together);
        assert_eq!(output.values[2], 0.0, "a team of nobody is worth nothing");
        let (mut at, mut apart) = (0, vec![0.0; sum.len()]);
        for ((state, n), value) in states.iter().zip(sizes).zip(&output.values) {
            let alone = batch(std::slice::from_ref(state), screen, &network.sharing(), &plane);
            let (alone, gradients) = summed(&network, &alone);
            assert_eq!(alone.logits, output.logits[at * 5..][..n * 5]);
            assert_eq!(alone.values, [*value]);
            at += n;
            apart.iter_mut().zip(gradients).for_each(|(total, part)| *total += part);
        }
        let (sum, apart) = (named(&network, &sum), named(&network, &apart));
        for ((name, _), (a, b)) in network.parameters().iter().zip(sum.iter().zip(&apart)) {
            assert!(relative(a, b) < 1e-5, "{name}: {:e}", relative(a, b));
        }
    }
}

#[test]
fn an_empty_batch_is_fine() {
    let (network, screen, plane) = wildlife(NetworkKind::Equivariant, "C4");
    let nothing = batch(&[], screen, &network.sharing(), &plane);
    assert_eq!((nothing.states(), nothing.agents()), (0, 0));
    let (logits, values, gradients) = everything(&network, &nothing, 122);
    assert!(logits.is_empty() && values.is_empty() && gradients.iter().flatten().all(|g| *g == 0.0));
}

/// Agents of one state; edges as given.
fn with_edges(sizes: &[usize], edges: &[(usize, usize, usize)]) -> equimarl_nn::Result<Batch> {
    let mut builder = BatchBuilder::new(Sharing::None);
    for (s, &size) in sizes.iter().enumerate() {
        (0..size).for_each(|i| builder.agent(i, |_, key| *key));
        for &(_, i, j) in edges.iter().filter(|e| e.0 == s) {
            builder.edge(i, j, [0.0, 1.0]);
        }
        builder.end_state();
    }
    builder.finish(4, |_, image| image.fill(0.0))
}

#[test]
fn edges_to_nobody_are_refused() {
    assert!(with_edges(&[2, 3], &[(0, 0, 1), (1, 2, 0)]).is_ok());
    for wrong in [(1, 0, 3), (1, 3, 0), (1, 3, 3)] {
        assert!(with_edges(&[2, 3], &[wrong]).is_err(), "{wrong:?}");
    }
}

/// An index beyond its own state would otherwise hear an agent of the next one.
#[test]
fn edges_into_another_state_are_refused() {
    for wrong in [(0, 0, 2), (0, 2, 0), (0, 2, 3)] {
        let error = with_edges(&[2, 3], &[wrong]).unwrap_err().to_string();
        assert!(error.contains("agent 2") || error.contains("agent 3"), "{wrong:?}: {error}");
    }
}

#[test]
fn an_unfinished_state_is_refused() {
    let mut builder = BatchBuilder::new(Sharing::None);
    builder.agent(0, |_, key| *key);
    assert!(builder.finish(4, |_, _| {}).is_err());
}

/// Networks and policies give an error, not a panic, for batches of other networks.
#[test]
fn batches_of_others_are_refused() {
    let mut random = Random::new(123);
    let (plain, screen, _) = wildlife(NetworkKind::Plain, "C1");
    let (c4, _, c4_plane) = wildlife(NetworkKind::Equivariant, "C4");
    let (d4, _, d4_plane) = wildlife(NetworkKind::Equivariant, "D4");
    let (central, central_screen, _) = wildlife(NetworkKind::CentralEquivariant, "C4");
    let states: Vec<State> = (0..6).map(|_| State::random(screen, 3, 0.3, &mut random)).collect();
    let whole: Vec<State> = (0..6).map(|_| State::central(central_screen, 3, 0.3, &mut random)).collect();
    let of_c4 = batch(&states, screen, &c4.sharing(), &c4_plane);
    let of_d4 = batch(&states, screen, &d4.sharing(), &d4_plane);
    let of_central = batch(&whole, central_screen, &central.sharing(), &c4_plane);
    for (network, batch, fits) in [
        (&c4, &of_c4, true),
        (&central, &of_central, true),
        (&plain, &of_c4, false),
        (&c4, &of_d4, false),
        (&c4, &of_central, false),
        (&central, &of_c4, false),
        (&plain, &of_central, false),
    ] {
        assert_eq!(network.policy().unwrap().forward(batch).is_ok(), fits);
        assert_eq!(network.clone().forward(batch, &mut Cache::default()).is_ok(), fits);
    }
}

/// Element 1 is the half turn in C2 and the quarter turn in C4: a batch says whose elements it means.
#[test]
fn a_batch_shared_by_another_group_is_refused() {
    let (two, screen, plane) = wildlife(NetworkKind::Equivariant, "C2");
    let (four, ..) = wildlife(NetworkKind::Equivariant, "C4");
    let states = [State::random(screen, 3, 0.3, &mut Random::new(123))];
    let shared = batch(&states, screen, &two.sharing(), &plane);
    assert!(two.policy().unwrap().forward(&shared).is_ok());
    let error = four.policy().unwrap().forward(&shared).unwrap_err().to_string();
    assert!(error.contains("not made for this equivariant network under C4"), "{error}");
}
