//! A network may know less symmetry than its world has: a world under D4 trains a network under C4.

use equimarl_learn::{
    Choice, Inference, Learned, Method, TrainConfig, Trainer, WorldConfig, equivariance, observe,
};
use equimarl_nn::{Network, Policy, Sharing};
use equimarl_worlds::{Purpose, Stream, Traffic, TrafficOptions, Wildlife};

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

fn policy(method: Method, world: WorldConfig) -> Policy {
    let config = TrainConfig::preset("paper", world, method).unwrap();
    Network::init(&config.network().unwrap(), &mut || 0.1).unwrap().policy().unwrap()
}

/// Worlds that a network was not made for are refused in words, also where sizes agree by accident.
#[test]
fn worlds_of_another_shape_are_refused() {
    let city = |rows, cols| Traffic::new(TrafficOptions { rows, cols, ..TrafficOptions::default() }).unwrap();
    let WorldConfig::Traffic { arrival_steps, arrival_probability, step_limit, .. } = WorldConfig::traffic()
    else {
        panic!("traffic is traffic")
    };
    let wide = WorldConfig::Traffic { rows: 2, cols: 3, arrival_steps, arrival_probability, step_limit };
    let central = policy(Method::CentralPlain, wide);
    assert!(Inference::new(&central, &Sharing::Distinct, &city(2, 3)).is_ok());
    let error =
        Learned::new(central, &Sharing::Distinct, Choice::Greedy, &city(3, 2)).err().unwrap().to_string();
    assert!(error.contains("made for one size"), "{error}");

    let drones = policy(Method::Plain, WorldConfig::wildlife());
    let error = Inference::new(&drones, &Sharing::Distinct, &Wildlife::new(3, 9).unwrap()).err().unwrap();
    assert!(
        error.to_string().contains("pictures of [1, 21, 21], the world has 3 and [1, 27, 27]"),
        "{error}"
    );
    let teams = [Wildlife::new(4, 7).unwrap(), Wildlife::new(3, 7).unwrap()];
    let error = observe(&teams, drones.config(), &Sharing::Distinct).unwrap_err().to_string();
    assert!(error.contains("a state has 3 agents, and those before it have 4"), "{error}");
}
