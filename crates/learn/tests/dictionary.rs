//! The dictionary against the dense encoder on states that training meets: outputs, loss and all gradients.

use equimarl_learn::{LossConfig, Method, Observer, Samples, States, TrainConfig, Trainer, random_states};
use equimarl_nn::{Batch, Cache, Network, NetworkKind, Output};
use equimarl_worlds::{Envs, Purpose, Stream, builtin};

/// Outputs and gradients of the PPO loss for these states, with a dictionary or pixel by pixel.
fn everything(network: &Network, states: &dyn Envs, parts: bool) -> (Output, Vec<f32>) {
    let mut network = network.clone();
    let mut observer = Observer::new(states, network.config(), &network.sharing()).unwrap();
    if parts {
        observer = observer.with_dictionary(states, network.dictionary());
    }
    let (mut seen, mut batch) = (States::default(), Batch::default());
    batch.clear();
    (0..states.len()).for_each(|e| observer.see(states.world(e), &mut seen).unwrap());
    observer.collate(&seen, (0..states.len()).map(|s| (s, 0)), &mut batch).unwrap();
    // Three drones' images side by side hardly repeat: there the dense encoder is chosen, and both ways are the same.
    let config = network.config();
    let repeats = (config.kind, config.interface.world.as_str()) != (NetworkKind::CentralPlain, "wildlife");
    assert_eq!(batch.images.pixels().is_none(), parts && repeats);
    let mut numbers = Stream::new(3, Purpose::Shuffle, 0);
    let mut normals = |n: usize| (0..n).map(|_| numbers.normal() as f32).collect::<Vec<f32>>();
    let samples = Samples {
        vectors: vec![],
        actions: (0..batch.agents()).map(|i| i % network.actions()).collect(),
        log_probabilities: vec![
            -(states.spec().agents as f32) * (network.actions() as f32).ln();
            states.len()
        ],
        advantages: normals(states.len()),
        returns: normals(states.len()),
    };
    let (mut cache, mut gradients) = (Cache::default(), vec![0.0; network.values().len()]);
    network.forward(&batch, &mut cache).unwrap();
    let (said, gradient) = cache.output_gradient();
    let said = said.clone();
    LossConfig::default().loss(&said, &batch.starts, &samples, gradient).unwrap();
    network.backward(&batch, &mut cache, &mut gradients).unwrap();
    (said, gradients)
}

/// |a - b| / |b|
fn relative(a: &[f32], b: &[f32]) -> f64 {
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|v| v * v).sum::<f64>().sqrt();
    let apart = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    apart / norm(&mut b.iter().map(|b| f64::from(*b))).max(1e-12)
}

fn compare(config: &TrainConfig) {
    let mut trainer = Trainer::new(&builtin(), config).unwrap();
    for iterations in [0, 6] {
        (0..iterations).for_each(|_| drop(trainer.iterate().unwrap()));
        let network = trainer.network();
        let states = random_states(trainer.environments(), 24, 8 + iterations).unwrap();
        let (said, gradients) = everything(network, &*states, true);
        let (dense, dense_gradients) = everything(network, &*states, false);
        let what = format!("{:?} {} after {iterations}", config.world, config.method);
        assert!(relative(&said.logits, &dense.logits) < 1e-5, "{what}");
        assert!(relative(&said.values, &dense.values) < 1e-5, "{what}");
        for (name, range) in network.named() {
            let (a, b) = (&gradients[range.clone()], &dense_gradients[range]);
            // A gradient that cancels to nothing holds only rounding.
            let largest = b.iter().fold(0.0f32, |m, g| m.max(g.abs()));
            assert!(largest < 1e-7 || relative(a, b) < 1e-5, "{what}, {name}: {}", relative(a, b));
        }
    }
}

#[test]
fn outputs_and_gradients_are_those_of_the_dense_encoder() {
    let registry = builtin();
    let images = |name: &&str| {
        let usual = registry.usual(name).unwrap();
        registry.make(&usual, &"C4".parse().unwrap(), 1).unwrap().spec().image.is_some()
    };
    for world in registry.names().into_iter().filter(images) {
        for method in [Method::Equivariant, Method::Plain, Method::CentralEquivariant, Method::CentralPlain] {
            let usual = registry.usual(world).unwrap();
            compare(&TrainConfig::preset(&registry, "paper", usual, method).unwrap());
        }
    }
}
