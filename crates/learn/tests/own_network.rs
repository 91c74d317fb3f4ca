//! A network may know less symmetry than its world has: a world under D4 trains a network under C4.

use equimarl_learn::{
    Choice, Inference, Learned, Method, Observer, States, TrainConfig, Trainer, equivariance,
};
use equimarl_nn::{Network, Policy, Sharing};
use equimarl_worlds::{Envs, Purpose, Stream, WorldConfig, builtin};

#[test]
fn a_world_with_more_symmetry_than_the_network_trains() {
    let registry = builtin();
    let usual = registry.usual("wildlife").unwrap();
    let preset = TrainConfig::preset(&registry, "paper", usual.clone(), Method::Equivariant).unwrap();
    let config = TrainConfig { steps: 1600, learning_rate: 3e-3, ..preset };
    let mut weights = Stream::new(1, Purpose::Weights, 0);
    let network = Network::init(&config.network(&registry).unwrap(), &mut || weights.normal()).unwrap();
    let envs = registry.make(&usual, &"D4".parse().unwrap(), config.environments).unwrap();
    let mut trainer = Trainer::with(&config, envs, network).unwrap();
    while !trainer.is_finished() {
        trainer.iterate().unwrap();
    }
    let policy = trainer.network().policy().unwrap();
    let report = equivariance(&policy, trainer.environments(), 20, 0).unwrap();
    let error = |name: &str| report.elements.iter().find(|e| e.element == name).unwrap().policy_error;
    assert!(["e", "r", "r2", "r3"].iter().all(|g| error(g) < 1e-5), "{report:?}");
    assert!(error("m") > 1e-4, "nobody taught it the mirror: {report:?}");
}

fn policy(method: Method, world: &WorldConfig) -> Policy {
    let registry = builtin();
    let config = TrainConfig::preset(&registry, "paper", world.clone(), method).unwrap();
    Network::init(&config.network(&registry).unwrap(), &mut || 0.1).unwrap().policy().unwrap()
}

fn envs(world: &WorldConfig) -> Box<dyn Envs> {
    builtin().make(world, &"C1".parse().unwrap(), 1).unwrap()
}

/// Worlds that a network was not made for are refused in words, also where sizes agree by accident.
#[test]
fn worlds_of_another_shape_are_refused() {
    let city =
        |rows: usize, cols: usize| builtin().usual("traffic").unwrap().with("rows", rows).with("cols", cols);
    let central = policy(Method::CentralPlain, &city(2, 3));
    assert!(Inference::new(&central, &Sharing::Distinct, &*envs(&city(2, 3))).is_ok());
    let learned = Learned::new(central, &Sharing::Distinct, Choice::Greedy, &*envs(&city(3, 2)));
    let error = learned.err().unwrap().to_string();
    assert!(error.contains("made for one size"), "{error}");

    let usual = builtin().usual("wildlife").unwrap();
    let drones = policy(Method::Plain, &usual);
    let large = envs(&usual.clone().with("grid", 9usize));
    let error = Inference::new(&drones, &Sharing::Distinct, &*large).err().unwrap().to_string();
    assert!(
        error.contains("images of [1, 21, 21]") && error.contains("the world has [1, 27, 27]"),
        "{error}"
    );
    let error = Inference::new(&drones, &Sharing::Distinct, &*envs(&city(2, 2))).err().unwrap().to_string();
    assert!(error.contains("was made for the world `wildlife`, and this is `traffic`"), "{error}");

    let [three, four] = [3usize, 4].map(|n| envs(&usual.clone().with("drones", n)));
    let mut observer = Observer::new(&*three, drones.config(), &Sharing::Distinct).unwrap();
    let mut seen = States::default();
    observer.see(four.world(0), &mut seen).unwrap();
    let error = observer.see(three.world(0), &mut seen).unwrap_err().to_string();
    assert!(error.contains("a state has 3 agents, and those before it have 4"), "{error}");
}
