//! Teams that are told apart by random tokens: their law keeps the symmetry, and a greedy one is not held by it.

use equimarl_learn::{Method, TrainConfig, Trainer, equivariance, observe_with, random_states};
use equimarl_nn::{Network, NetworkKind, Sharing};
use equimarl_worlds::{GroupAction, Purpose, Registry, Stream, Token, builtin};
use serde_json::json;

fn config(registry: &Registry, world: &str, method: Method, changes: &str) -> TrainConfig {
    let world = registry.usual(world).unwrap();
    let usual = TrainConfig::preset(registry, "default", world, method).unwrap();
    TrainConfig::overlay(registry, &usual, &format!("tokens = true\n{changes}")).unwrap()
}

/// Random weights, with a policy that is far from uniform.
fn network(registry: &Registry, config: &TrainConfig) -> Network {
    let mut stream = Stream::new(config.seed, Purpose::Weights, 0);
    let mut network = Network::init(&config.network(registry).unwrap(), &mut || stream.normal()).unwrap();
    for (name, range) in network.named() {
        if name.starts_with("policy") {
            network.values_mut()[range].iter_mut().for_each(|w| *w *= 100.0);
        }
    }
    network
}

#[test]
fn states_and_tokens_together_leave_the_distribution_as_it_is() {
    let registry = builtin();
    for (world, group) in [("spread", "D4"), ("wildlife", "D4"), ("traffic", "C4")] {
        for seed in 0..3 {
            let changes = format!("seed = {seed}\ngroup = '{group}'");
            let config = config(&registry, world, Method::Equivariant, &changes);
            let network = network(&registry, &config);
            let policy = network.policy().unwrap();
            let envs = config.make(&registry, 1).unwrap();
            let report = equivariance(&policy, &*envs, 20, seed).unwrap();
            assert!(report.policy_error < 1e-5, "{world}, seed {seed}: {report:?}");

            // Tokens that stay while the state turns, or the other way round, are seen; and the policy is not uniform.
            let states = random_states(&*envs, 20, seed).unwrap();
            let (agents, order) = (envs.spec().agents, policy.token_order());
            assert_eq!(order, group.parse::<equimarl_group::Group>().unwrap().order());
            let acts = GroupAction::new(envs.spec()).unwrap();
            let tokens: Vec<Vec<Token>> = (0..20).map(|e| Token::team(seed, e, agents, order)).collect();
            let moved: Vec<Vec<Token>> = tokens.iter().map(|t| Token::transformed(t, &acts, 1)).collect();
            let say = |tokens: &[Vec<Token>]| {
                let batch =
                    observe_with(&*states, &tokens.concat(), policy.config(), &Sharing::Distinct).unwrap();
                let said = policy.forward(&batch).unwrap().log_probabilities;
                said.iter().map(|p| p.exp()).collect::<Vec<f32>>()
            };
            let (one, two) = (say(&tokens), say(&moved));
            let gap = one.iter().zip(&two).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(gap > 1e-2, "{world}, seed {seed}: {gap}");
            let most = one.iter().copied().fold(0.0, f32::max);
            assert!(most > 0.6, "{world}, seed {seed}: no probability is above {most}");
        }
    }
}

#[test]
fn plain_networks_get_the_same_numbers() {
    let registry = builtin();
    let told = |method| {
        let config = config(&registry, "spread", method, "group = 'D4'");
        network(&registry, &config).policy().unwrap().told_len()
    };
    for method in
        [Method::Equivariant, Method::Plain, Method::PlainWide, Method::Relaxed, Method::AugmentFull]
    {
        assert_eq!(told(method), 9, "{method}");
    }
}

#[test]
fn a_run_with_tokens_goes_on_with_the_same_bits() {
    let registry = builtin();
    for (world, method) in [
        ("spread", Method::Equivariant),
        ("spread", Method::Plain),
        ("wildlife", Method::AugmentRandom),
        ("wildlife", Method::Relaxed),
    ] {
        let config = config(&registry, world, method, "environments = 4\nrollout = 30\nminibatches = 2");
        let mut whole = Trainer::new(&registry, &config).unwrap();
        whole.iterate().unwrap();
        let saved = whole.checkpoint(&json!({})).unwrap();
        whole.iterate().unwrap();
        let mut again = Trainer::new(&registry, &config).unwrap();
        again.restore(&registry, &saved).unwrap();
        again.iterate().unwrap();
        assert_eq!(whole.network().values(), again.network().values(), "{world} {method}");
    }
}

#[test]
fn what_has_no_use_for_tokens_is_refused_in_a_line() {
    let registry = builtin();
    for (world, method, changes, part) in [
        (
            "wildlife",
            Method::CentralEquivariant,
            "",
            "a central-equivariant network tells them apart by itself",
        ),
        ("spread", Method::Equivariant, "group = 'SO2'", "of a finite group"),
    ] {
        let usual =
            TrainConfig::preset(&registry, "default", registry.usual(world).unwrap(), method).unwrap();
        let changed = TrainConfig::overlay(&registry, &usual, &format!("tokens = true\n{changes}"));
        let error = changed.and_then(|config| config.network(&registry)).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
    // A network without tokens is the one that it was.
    let config = config(&registry, "wildlife", Method::Equivariant, "tokens = false");
    let interface = config.network(&registry).unwrap().interface;
    assert_eq!(interface.tokens, "");
    assert!(!serde_json::to_string(&interface).unwrap().contains("tokens"));
    assert_eq!(config.network(&registry).unwrap().kind, NetworkKind::Equivariant);
}
