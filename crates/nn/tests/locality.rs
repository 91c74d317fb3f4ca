//! Local execution: what an agent says depends on those it can hear, on nobody else, exactly.

mod common;

use common::{Random, Screen, State, batch, distance, group, network, outputs, worlds};
use equimarl_group::Plane;
use equimarl_kernels::softmax::log_softmax;
use equimarl_nn::{Network, NetworkConfig, NetworkKind, Scratch, Sharing};

const AGENTS: usize = 7;

fn made(kind: NetworkKind, name: &str, rounds: usize) -> (Network, Screen, Plane) {
    let group = group(name);
    let interface = worlds::wildlife(AGENTS, 7, &group);
    let mut config = NetworkConfig::usual(interface, kind, &group);
    config.widths.rounds = vec![64; rounds];
    let network = network(&config, 90);
    let screen = Screen::of(&network, 3);
    (network, screen, Plane::new(&group).unwrap())
}

/// A sparse directed graph, so that some agents are far from each other and some hear nobody.
fn state(screen: Screen, random: &mut Random) -> State {
    let mut state = State::random(screen, AGENTS, 0.3, random);
    state.edges.retain(|_| random.uniform() < 0.3);
    state
}

/// Whom each agent hears within so many rounds, itself included.
fn heard(state: &State, rounds: usize) -> Vec<Vec<bool>> {
    let mut heard: Vec<Vec<bool>> = (0..AGENTS).map(|i| (0..AGENTS).map(|j| i == j).collect()).collect();
    for _ in 0..rounds {
        let before = heard.clone();
        for &(i, j, _) in &state.edges {
            (0..AGENTS).for_each(|k| heard[i][k] |= before[j][k]);
        }
    }
    heard
}

fn logits(network: &Network, state: &State, screen: Screen, plane: &Plane) -> Vec<f32> {
    // Images are not shared: no agent's result may come by way of another's.
    outputs(network, &batch(std::slice::from_ref(state), screen, &Sharing::None, plane)).logits
}

#[test]
fn only_those_within_reach_matter() {
    for (kind, name) in
        [(NetworkKind::Plain, "C1"), (NetworkKind::Equivariant, "C4"), (NetworkKind::Equivariant, "D4")]
    {
        for rounds in 1..=3 {
            let (network, screen, plane) = made(kind, name, rounds);
            let mut random = Random::new(91);
            let (mut near, mut far) = (0, 0);
            for _ in 0..4 {
                let state = state(screen, &mut random);
                let (before, reach) = (logits(&network, &state, screen, &plane), heard(&state, rounds));
                for changed in 0..AGENTS {
                    let mut other = state.clone();
                    other.keys[changed] = screen.random(0.5, &mut random);
                    let after = logits(&network, &other, screen, &plane);
                    for (agent, reach) in reach.iter().enumerate() {
                        let same = before[agent * 5..][..5] == after[agent * 5..][..5];
                        match reach[changed] {
                            true => near += usize::from(!same),
                            false => {
                                assert!(same, "{kind}, {rounds} rounds: {agent} cannot hear {changed}");
                                far += 1;
                            }
                        }
                    }
                }
            }
            assert!(near > 20 && far > 20, "the graphs have both: {near} within reach changed, {far} beyond");
        }
    }
}

/// An edge vector belongs to the agent that hears: after one round nobody else notices.
#[test]
fn edge_vectors_are_local_too() {
    let (network, screen, plane) = made(NetworkKind::Equivariant, "C4", 1);
    let mut random = Random::new(92);
    let state = state(screen, &mut random);
    let before = logits(&network, &state, screen, &plane);
    for e in 0..state.edges.len() {
        let mut other = state.clone();
        other.edges[e].2 = [3.0, -1.0];
        let after = logits(&network, &other, screen, &plane);
        for agent in 0..AGENTS {
            let same = before[agent * 5..][..5] == after[agent * 5..][..5];
            assert_eq!(same, agent != state.edges[e].0, "edge {e}, agent {agent}");
        }
    }
}

/// The local view does what the batched path does, to the bit: both use the same kernels in the same order. Where images
/// are shared by orbits, a turned image is not encoded and its features are permuted: 1e-5 is the promise.
#[test]
fn the_local_view_agrees_with_the_batched_path() {
    for (kind, name) in
        [(NetworkKind::Plain, "C1"), (NetworkKind::Equivariant, "C4"), (NetworkKind::Equivariant, "D4")]
    {
        let (network, screen, plane) = made(kind, name, 2);
        let policy = network.policy().unwrap();
        let mut random = Random::new(93);
        for _ in 0..4 {
            let state = state(screen, &mut random);
            let made = |sharing| batch(std::slice::from_ref(&state), screen, &sharing, &plane);
            let [apart, shared] = [Sharing::None, network.sharing()].map(made);
            let (output, judgement) = (outputs(&network, &apart), policy.forward(&apart).unwrap());
            let mut log = vec![0.0; output.logits.len()];
            log_softmax(&output.logits, 5, &mut log).unwrap();
            assert_eq!((&judgement.log_probabilities, &judgement.values), (&log, &output.values));

            let mut scratch = Scratch::default();
            let mut features: Vec<Vec<f32>> = vec![];
            for key in &state.keys {
                let (mut image, mut own) = (vec![0.0; screen.pixels()], vec![]);
                screen.render(key, &mut image);
                policy.encode(&image, &mut scratch, &mut own).unwrap();
                features.push(own);
            }
            for l in 0..policy.rounds() {
                let sent = features.clone();
                for (i, out) in features.iter_mut().enumerate() {
                    let heard: Vec<_> = state.edges.iter().filter(|e| e.0 == i).collect();
                    let edges: Vec<f32> = heard.iter().flat_map(|e| e.2).collect();
                    let received: Vec<f32> = heard.iter().flat_map(|e| sent[e.1].clone()).collect();
                    policy.round(l, &sent[i], &edges, &received, &mut scratch, out).unwrap();
                }
            }
            let decisions: Vec<_> = features.iter().map(|f| policy.decide(f).unwrap()).collect();
            let local: Vec<f32> = decisions.iter().flat_map(|d| d.log_probabilities.clone()).collect();
            let value = decisions.iter().map(|d| d.value).sum::<f32>() / AGENTS as f32;
            assert_eq!((&local, value), (&judgement.log_probabilities, judgement.values[0]));
            let judgement = policy.forward(&shared).unwrap();
            assert!(distance(&local, &judgement.log_probabilities) < 1e-5);
            assert!((value - judgement.values[0]).abs() < 1e-5);
        }
    }
}
