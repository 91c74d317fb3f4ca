//! Can a network for feature vectors represent what it should? It learns by imitation to go to the nearest free berth, among
//! several that do not act: with messages that are linear, all that it would ever know of them is the mean of their places.

#[path = "../../../examples/own-world/src/harbour.rs"]
#[allow(dead_code)]
mod harbour;

use equimarl_learn::{Choice, Games, Inference, Observer, Optimiser, States, evaluate, interface};
use equimarl_nn::{Cache, Network, NetworkConfig, NetworkKind, Sharing};
use equimarl_worlds::{Controller, End, EnvBatch, Envs, Named, Purpose, Stream, World, play, uniform};
use harbour::State;

const EPISODES: usize = 300;
const STATES: usize = 64;

/// States from episodes in which boats sometimes go astray, and what the controller would do in each.
fn lessons(count: usize) -> (Vec<State>, Vec<f32>) {
    let mut batch = EnvBatch::of(&State::new(3, 7, &"C1".parse().unwrap()).unwrap(), 1);
    let mut stream = Stream::new(1, Purpose::Audit, 0);
    let mut nearest = Named::new("nearest", &batch.worlds()[0]).unwrap();
    let (mut states, mut targets, mut actions) = (vec![], vec![], vec![0; 3]);
    Envs::start(&mut batch, 0, Stream::new(1, Purpose::World, 0)).unwrap();
    while states.len() < count {
        let state = batch.worlds()[0].clone();
        for &boat in state.boats() {
            targets.extend(state.nearest(boat).map(|p| p as f32));
        }
        nearest.act(&state, &mut stream, &mut actions).unwrap();
        if stream.unit() < 0.2 {
            uniform(&state, &mut stream, &mut actions);
        }
        // There is little to learn from a harbour in which everybody has a berth.
        let over = state.free() == 0 && stream.unit() < 0.3;
        states.push(state);
        if batch.step_one(0, &actions).unwrap().end != End::Running || over {
            batch.restart(0).unwrap();
        }
    }
    (states, targets)
}

/// Teaches a fresh network, and gives its mean return.
fn taught(kind: NetworkKind, group: &str, updates: usize) -> f64 {
    let group = group.parse().unwrap();
    let mut envs = EnvBatch::of(&State::new(3, 7, &group).unwrap(), EPISODES);
    let config = NetworkConfig::usual(interface(envs.worlds()[0].spec(), kind).unwrap(), kind, &group);
    let mut numbers = Stream::new(2, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || numbers.normal()).unwrap();
    let mut observer = Observer::new(&envs, &config, &Sharing::Distinct).unwrap();
    let (states, targets) = lessons(12_000);
    let mut seen = States::default();
    states.iter().for_each(|state| observer.see(state, &mut seen).unwrap());
    let (mut batch, mut cache) = (observer.batch(), Cache::default());
    let (mut optimiser, mut gradients) =
        (Optimiser::new(&network, 2e-3, 10.0), vec![0.0; network.values().len()]);
    let actions = network.actions();
    for update in 0..updates {
        optimiser.rate = 2e-3 * (1.0 - update as f64 / updates as f64);
        let chosen: Vec<usize> = (0..STATES).map(|_| numbers.below(states.len() as u32) as usize).collect();
        batch.clear();
        observer.collate(&seen, chosen.iter().map(|&s| (s, 0)), &mut batch).unwrap();
        network.forward(&batch, &mut cache).unwrap();
        let (said, back) = cache.output_gradient();
        back.values.clear();
        back.values.resize(said.values.len(), 0.0);
        back.logits.clear();
        // Of the cross entropy: softmax minus target, the mean over agents.
        for (row, logits) in said.logits.chunks(actions).enumerate() {
            let target = &targets[(chosen[row / 3] * 3 + row % 3) * actions..][..actions];
            let most = logits.iter().fold(f32::MIN, |m, x| m.max(*x));
            let sum: f32 = logits.iter().map(|x| (x - most).exp()).sum();
            let each =
                logits.iter().zip(target).map(|(x, t)| ((x - most).exp() / sum - t) / (3 * STATES) as f32);
            back.logits.extend(each);
        }
        network.backward(&batch, &mut cache, &mut gradients).unwrap();
        optimiser.update(&mut network, &mut gradients).unwrap();
    }
    let policy = network.policy().unwrap();
    let mut inference = Inference::new(&policy, &Sharing::Distinct, &envs).unwrap();
    let games = Games { episodes: EPISODES, seed: 0, choice: Choice::Sampled };
    evaluate(&policy, &mut inference, &mut envs, games, &|| false).unwrap().unwrap().total.mean
}

#[test]
fn networks_of_feature_vectors_go_to_the_nearest_free_berth() {
    let controlled = |name: &str| {
        let mut envs = EnvBatch::of(&State::new(3, 7, &"C1".parse().unwrap()).unwrap(), 1);
        let mut controller = Named::new(name, &envs.worlds()[0]).unwrap();
        play(&mut envs, &mut controller, EPISODES, 0).unwrap().total.mean
    };
    let (random, best) = (controlled("random"), controlled("nearest"));
    // Whoever knows nothing of turns has more to learn, and smaller layers to learn it with.
    for (kind, group, updates) in [(NetworkKind::Equivariant, "C4", 3000), (NetworkKind::Plain, "C1", 7000)] {
        let found = taught(kind, group, updates);
        println!("{kind}: {found:.3}, the controller {best:.3}, random actions {random:.3}");
        assert!(
            found >= 0.95 * best,
            "{kind}: {found:.3}, the controller {best:.3}, random actions {random:.3}"
        );
    }
}
