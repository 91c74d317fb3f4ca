//! A gradient step of training allocates nothing once its buffers have grown. Here, because a counting allocator is
//! `unsafe`, and this crate is the room for that.

mod common;

use common::allocations;
use equimarl_learn::{Method, TrainConfig, Trainer};
use equimarl_worlds::builtin;

/// Allocations of the last of some iterations with so many passes over each rollout. The learning rate is so small that no
/// weight ever changes: rollouts are the same whatever the number of passes, and so are their own allocations.
fn counted(config: &TrainConfig, epochs: usize) -> Vec<usize> {
    let config = TrainConfig { epochs, learning_rate: 1e-30, decay: false, ..config.clone() };
    let mut trainer = Trainer::new(&builtin(), &config).unwrap();
    let mut count = || {
        let before = allocations();
        trainer.iterate().unwrap();
        allocations() - before
    };
    for _ in 0..30 {
        count();
    }
    (0..10).map(|_| count()).collect()
}

fn compare(config: &TrainConfig) {
    let (one, six) = (counted(config, 1), counted(config, 6));
    // A buffer that meets a larger minibatch than ever before grows; most iterations have none.
    let same = one.iter().zip(&six).filter(|(a, b)| a == b).count();
    assert!(
        same >= 7,
        "{} {:?}: {one:?} allocations with 1 pass, {six:?} with 6",
        config.method,
        config.world
    );
}

#[test]
fn updates_allocate_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let registry = builtin();
    pool.install(|| {
        for method in [Method::Equivariant, Method::Plain] {
            for world in registry.names() {
                let usual = registry.usual(world).unwrap();
                compare(&TrainConfig::preset(&registry, "paper", usual, method).unwrap());
            }
        }
    });
}
