//! A gradient step of training allocates nothing once its buffers have grown. Here, because a counting allocator is
//! `unsafe`, and this crate is the room for that.

mod common;

use common::allocations;
use equimarl_learn::{Method, TrainConfig, Trainer, WorldConfig};
use equimarl_worlds::{Symmetric, Traffic, TrafficOptions, Wildlife};

/// Allocations of the last of some iterations with so many passes over each rollout. The learning rate is so small that no
/// weight ever changes: rollouts are the same whatever the number of passes, and so are their own allocations.
fn counted<W: Symmetric>(config: &TrainConfig, world: &W, epochs: usize) -> Vec<usize> {
    let config = TrainConfig { epochs, learning_rate: 1e-30, decay: false, ..config.clone() };
    let mut trainer = Trainer::new(&config, world, |_| 0.0).unwrap();
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

fn compare<W: Symmetric>(config: &TrainConfig, world: &W) {
    let (one, six) = (counted(config, world, 1), counted(config, world, 6));
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
    pool.install(|| {
        for method in [Method::Equivariant, Method::Plain] {
            let config = TrainConfig::preset("paper", WorldConfig::wildlife(), method).unwrap();
            compare(&config, &Wildlife::new(3, 7).unwrap().under(&config.group().unwrap()).unwrap());
            let config = TrainConfig::preset("paper", WorldConfig::traffic(), method).unwrap();
            let city = Traffic::new(TrafficOptions::default()).unwrap();
            compare(&config, &city.under(&config.group().unwrap()).unwrap());
        }
    });
}
