//! Agents that act by vectors: training is a function of its config, and whole distributions turn with the world.

use equimarl_learn::{Choice, Games, Inference, Method, TrainConfig, Trainer, equivariance, evaluate};
use equimarl_nn::{Gaussian, Network, Sharing, squash};
use equimarl_worlds::{Purpose, Stream, WorldConfig, builtin};

fn disc() -> WorldConfig {
    builtin().usual("spread").unwrap().with("actions", "continuous").with("arena", "disc")
}

fn config(method: Method, group: &str, steps: u64) -> TrainConfig {
    let registry = builtin();
    let base = TrainConfig::preset(&registry, "default", disc(), method).unwrap();
    let changes = format!("group = '{group}'\nsteps = {steps}\nseed = 3\nenvironments = 8");
    TrainConfig::overlay(&registry, &base, &changes).unwrap()
}

fn trained(config: &TrainConfig, threads: usize) -> Network {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut trainer = Trainer::new(&builtin(), config).unwrap();
        while !trainer.is_finished() {
            trainer.iterate().unwrap();
        }
        trainer.network().clone()
    })
}

/// A network whose agents do something: a fresh head says next to nothing, and nothing turns with everything.
fn lively(config: &TrainConfig) -> Network {
    let mut weights = Stream::new(5, Purpose::Weights, 0);
    let mut network = Network::init(&config.network(&builtin()).unwrap(), &mut || weights.normal()).unwrap();
    let named = network.named();
    let (_, head) = named.iter().find(|(name, _)| name == "policy.weight").unwrap();
    network.values_mut()[head.clone()].iter_mut().for_each(|w| *w *= 100.0);
    network
}

#[test]
fn training_has_the_same_bits_on_any_number_of_threads() {
    for (method, group) in [
        (Method::Equivariant, "D4"),
        (Method::Equivariant, "C8"),
        (Method::Plain, "D4"),
        (Method::AugmentRandom, "C8"),
        (Method::AugmentFull, "C4"),
    ] {
        let config = config(method, group, 512);
        let (one, two) = (trained(&config, 1), trained(&config, 2));
        assert!(one.values() == two.values(), "{method}");
        assert!(one.values().iter().all(|w| w.is_finite()));
    }
}

#[test]
fn whole_distributions_turn_with_the_world_whatever_the_weights() {
    let registry = builtin();
    for (method, group, asked, turns) in [
        (Method::Equivariant, "D4", "D4", true),
        (Method::Equivariant, "C8", "C8", true),
        (Method::Equivariant, "D8", "D8", true),
        // An eighth of a turn is not built in.
        (Method::Equivariant, "D4", "C8", false),
        (Method::Plain, "D4", "D4", false),
    ] {
        let config = config(method, group, 512);
        for network in [lively(&config), trained(&config, 1)] {
            let policy = network.policy().unwrap();
            let envs = registry.make(&disc(), &asked.parse().unwrap(), 1).unwrap();
            let report = equivariance(&policy, &*envs, 50, 1).unwrap();
            assert_eq!(report.equivariant, turns, "{method} {group} under {asked}: {report:?}");
        }
        // The policy with random weights does something.
        let policy = lively(&config).policy().unwrap();
        let states = equimarl_learn::random_states(
            &*registry.make(&disc(), &"C1".parse().unwrap(), 1).unwrap(),
            20,
            1,
        );
        let batch = equimarl_learn::observe(&*states.unwrap(), policy.config(), &Sharing::Distinct).unwrap();
        let said = policy.forward(&batch).unwrap();
        let mut a = [0.0; 2];
        let long = |row: &[f32]| {
            squash(Gaussian::of(row).mean, &mut a);
            a[0].hypot(a[1])
        };
        let lengths: Vec<f64> = said.log_probabilities.chunks(3).map(long).collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        assert!(mean > 0.3, "{method}: {mean}");
    }
}

#[test]
fn a_team_learns_to_spread() {
    let config = config(Method::Equivariant, "D4", 30_000);
    let score = |network: &Network| {
        let policy = network.policy().unwrap();
        let mut envs = config.make(&builtin(), 50).unwrap();
        let mut inference = Inference::new(&policy, &Sharing::Distinct, &*envs).unwrap();
        let what = Games { episodes: 100, seed: 1, choice: Choice::Greedy };
        evaluate(&policy, &mut inference, &mut *envs, what, &|| false).unwrap().unwrap().total.mean
    };
    let before = score(Trainer::new(&builtin(), &config).unwrap().network());
    let after = score(&trained(&config, 2));
    assert!(after > before + 1.5, "{before} before, {after} after");
}
