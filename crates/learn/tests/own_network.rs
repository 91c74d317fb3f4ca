//! A network may know less symmetry than its world has: a world under D4 trains a network under C4.

use equimarl_learn::{Method, TrainConfig, Trainer, WorldConfig, equivariance};
use equimarl_nn::Network;
use equimarl_worlds::{Purpose, Stream, Wildlife};

#[test]
fn a_world_with_more_symmetry_than_the_network_trains() {
    let preset = TrainConfig::preset("paper", WorldConfig::wildlife(), Method::Equivariant).unwrap();
    let config = TrainConfig { steps: 1600, learning_rate: 3e-3, ..preset };
    let world = Wildlife::new(3, 7).unwrap();
    let mut weights = Stream::new(1, Purpose::Weights, 0);
    let network = Network::init(&config.network().unwrap(), &mut || weights.normal()).unwrap();
    let mut trainer = Trainer::with_network(&config, &world, |_| 0.0, network).unwrap();
    while !trainer.is_finished() {
        trainer.iterate().unwrap();
    }
    let policy = trainer.network().policy().unwrap();
    let report = equivariance(&policy, &world, 20, 0).unwrap();
    let error = |name: &str| report.elements.iter().find(|e| e.element == name).unwrap().policy_error;
    assert!(["e", "r", "r2", "r3"].iter().all(|g| error(g) < 1e-5), "{report:?}");
    assert!(error("m") > 1e-4, "nobody taught it the mirror: {report:?}");
}
