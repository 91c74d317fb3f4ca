//! An update of a network for feature vectors allocates nothing once its buffers have grown: collating, new weights,
//! forward and backward passes on one thread.

mod common;

use common::allocations;
use equimarl_nn::{Batch, Cache, Interface, Network, NetworkConfig, NetworkKind, SenderKind};

/// States of five agents in a row, each of which hears the next one, two lamps and a wall.
fn fill(batch: &mut Batch, states: usize) {
    batch.clear();
    for state in 0..states {
        for agent in 0..5u32 {
            let [x, y] = [state as f32, agent as f32];
            batch.see(&[x, y, 1.0]).unwrap();
            if agent < 4 {
                batch.hear(agent + 1, &[0.0, 1.0]);
            }
            for lamp in 0..2 {
                let id = batch.senders[0].vectors.id(&[x, lamp as f32]).unwrap();
                batch.senders[0].hear(id, &[1.0, y]);
            }
            batch.senders[1].hear(0, &[y, 2.0]);
            batch.end_agent();
        }
        batch.end_state();
    }
}

#[test]
fn nothing_is_allocated_once_the_buffers_have_grown() {
    let kind = |name: &str, features: &str| SenderKind { name: name.into(), features: features.into() };
    let interface = Interface {
        world: "made-up".into(),
        agents: 5,
        actions: "perm[0 4 1 2 3]".into(),
        features: "trivial + rotation".into(),
        senders: vec![kind("lamp", "2*trivial"), kind("wall", "")],
        ..Interface::default()
    };
    let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &"C4".parse().unwrap());
    let mut network = Network::init(&config, &mut || 0.05).unwrap();
    let (mut batch, mut cache) = (Batch::with_senders(2), Cache::default());
    let mut gradients = vec![0.0; network.values().len()];
    let mut step = |states: usize| {
        network.values_mut()[0] += 0.01;
        fill(&mut batch, states);
        network.forward(&batch, &mut cache).unwrap();
        let (output, into) = cache.output_gradient();
        into.logits.clear();
        into.logits.extend_from_slice(&output.logits);
        into.values.clear();
        into.values.extend_from_slice(&output.values);
        network.backward(&batch, &mut cache, &mut gradients).unwrap();
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let allocated = pool.install(|| {
        step(40);
        let before = allocations();
        for _ in 0..3 {
            step(40);
            step(7);
        }
        allocations() - before
    });
    assert_eq!(allocated, 0);
}
