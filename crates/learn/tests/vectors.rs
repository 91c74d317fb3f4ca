//! Agents that act by vectors: training is a function of its config, and whole distributions turn with the world.

use equimarl_group::Symmetry;
use equimarl_learn::{
    Choice, EquivarianceReport, Games, Inference, Method, TrainConfig, Trainer, equivariance,
    equivariance_turns, evaluate,
};
use equimarl_nn::{Network, Sharing};
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
    // As large as it takes for means to be seen.
    for size in (0..8).map(|k| 0.5 * f64::from(1 << k)) {
        network.enliven(size, &mut || weights.normal());
        if compared(&network, "C1").mean_action.unwrap() > 0.35 {
            break;
        }
    }
    network
}

/// Under all elements of a group, or under a hundred random angles (and mirrors).
fn compared(network: &Network, under: &str) -> EquivarianceReport {
    let (symmetry, policy): (Symmetry, _) = (under.parse().unwrap(), network.policy().unwrap());
    let envs = builtin().make(&disc(), &symmetry.finite().unwrap(), 1).unwrap();
    if symmetry.is_finite() {
        return equivariance(&policy, &*envs, 20, 1).unwrap();
    }
    let mut stream = Stream::new(7, Purpose::Audit, 0);
    let turns: Vec<_> = (0..100).map(|_| symmetry.any_turn(&mut || stream.unit())).collect();
    equivariance_turns(&policy, &*envs, (&symmetry, &turns), 20, 1, |_| ()).unwrap()
}

#[test]
fn training_has_the_same_bits_on_any_number_of_threads() {
    for (method, group) in [
        (Method::Equivariant, "D4"),
        (Method::Equivariant, "C8"),
        (Method::Plain, "D4"),
        (Method::AugmentRandom, "C8"),
        (Method::AugmentFull, "C4"),
        (Method::Equivariant, "O2"),
        (Method::AugmentRandom, "O2"),
    ] {
        let config = config(method, group, 512);
        let (one, two) = (trained(&config, 1), trained(&config, 2));
        assert!(one.values() == two.values(), "{method}");
        assert!(one.values().iter().all(|w| w.is_finite()));
    }
}

#[test]
fn whole_distributions_turn_with_the_world_whatever_the_weights() {
    for (method, group, asked, turns) in [
        (Method::Equivariant, "D4", "D4", true),
        (Method::Equivariant, "C8", "C8", true),
        (Method::Equivariant, "D8", "D8", true),
        (Method::Equivariant, "SO2", "SO2", true),
        (Method::Equivariant, "O2", "O2", true),
        (Method::Equivariant, "O2", "D4", true),
        // Mirrors are not built in, and neither is an eighth of a turn, nor any other.
        (Method::Equivariant, "SO2", "O2", false),
        (Method::Equivariant, "D4", "C8", false),
        (Method::Equivariant, "D4", "O2", false),
        (Method::Plain, "D4", "D4", false),
    ] {
        let config = config(method, group, 512);
        let fresh = lively(&config);
        for network in [&fresh, &trained(&config, 1)] {
            let report = compared(network, asked);
            let EquivarianceReport { policy_error, value_error, .. } = report;
            // Maps of SO2 have two numbers for one of O2, and round more.
            let limit = if group == "SO2" { 5e-5 } else { 1e-5 };
            let found = policy_error < limit && value_error < limit;
            assert_eq!(found, turns, "{method} {group} under {asked}: {policy_error} {value_error}");
        }
        // The policy with random weights does something, and what breaks can be seen.
        let report = compared(&fresh, asked);
        assert!(report.mean_action.unwrap() > 0.3, "{method}: {report:?}");
        assert!(
            turns || report.policy_error > 0.02,
            "{method} {group} under {asked}: {}",
            report.policy_error
        );
    }
}

/// Episodes that start on the right are those that start on the left, turned by half a turn or mirrored: whoever has that symmetry
/// plays them alike, and a plain team does not.
#[test]
fn what_was_learned_on_the_left_is_known_on_the_right() {
    for (method, group, alike) in
        [(Method::Equivariant, "D4", true), (Method::Equivariant, "O2", true), (Method::Plain, "D4", false)]
    {
        let network = lively(&config(method, group, 512));
        let policy = network.policy().unwrap();
        let played = |start: &str| {
            let envs = builtin().make(&disc().with("start", start), &"C1".parse().unwrap(), 8);
            let mut envs = envs.unwrap();
            let mut inference = Inference::new(&policy, &Sharing::Distinct, &*envs).unwrap();
            let what = Games { episodes: 8, seed: 2, choice: Choice::Greedy };
            evaluate(&policy, &mut inference, &mut *envs, what, &|| false).unwrap().unwrap().total.mean
        };
        let (left, right) = (played("left"), played("right"));
        // Rounding grows along an episode where agents touch.
        assert_eq!((left - right).abs() < 1e-3, alike, "{method} {group}: {left} and {right}");
    }
}

/// The head says nothing at first, and the deviation is 1.
#[test]
fn teams_begin_with_a_mean_of_zero() {
    for (method, group) in [(Method::Equivariant, "O2"), (Method::Equivariant, "D4"), (Method::Plain, "D4")] {
        let network = Trainer::new(&builtin(), &config(method, group, 512)).unwrap().network().clone();
        let envs = builtin().make(&disc(), &"D4".parse().unwrap(), 1).unwrap();
        let report = equivariance(&network.policy().unwrap(), &*envs, 20, 1).unwrap();
        assert_eq!(report.mean_action, Some(0.0), "{method}");
    }
}

/// O2 on choices, full augmentation by O2, and O2 where pixels are seen.
#[test]
fn what_cannot_turn_is_refused_in_one_line() {
    let registry = builtin();
    for (world, method, part) in [
        (registry.usual("spread").unwrap(), Method::Equivariant, "no permutation of choices does"),
        (registry.usual("spread").unwrap(), Method::AugmentRandom, "no permutation of them is a turn"),
        (registry.usual("wildlife").unwrap(), Method::Equivariant, "pixels do not"),
        (disc(), Method::AugmentFull, "no end of turned copies"),
    ] {
        let base = TrainConfig::preset(&registry, "default", world, method).unwrap();
        let config = TrainConfig::overlay(&registry, &base, "group = 'O2'");
        let error = config.and_then(|config| Trainer::new(&registry, &config)).err().unwrap().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_team_learns_to_spread() {
    for group in ["D4", "O2"] {
        learns(&config(Method::Equivariant, group, 30_000));
    }
}

fn learns(config: &TrainConfig) {
    let score = |network: &Network| {
        let policy = network.policy().unwrap();
        let mut envs = config.make(&builtin(), 50).unwrap();
        let mut inference = Inference::new(&policy, &Sharing::Distinct, &*envs).unwrap();
        let what = Games { episodes: 100, seed: 1, choice: Choice::Greedy };
        evaluate(&policy, &mut inference, &mut *envs, what, &|| false).unwrap().unwrap().total.mean
    };
    let before = score(Trainer::new(&builtin(), config).unwrap().network());
    let after = score(&trained(config, 2));
    assert!(after > before + 1.5, "{before} before, {after} after");
}
