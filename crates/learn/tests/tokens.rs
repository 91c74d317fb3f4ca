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

/// Random weights.
fn network(registry: &Registry, config: &TrainConfig) -> Network {
    let mut stream = Stream::new(config.seed, Purpose::Weights, 0);
    Network::init(&config.network(registry).unwrap(), &mut || stream.normal()).unwrap()
}

/// The mean over agents of the largest probability.
fn decided(probabilities: &[f32], actions: usize) -> f32 {
    let rows = probabilities.chunks(actions);
    let count = rows.len() as f32;
    rows.map(|row| row.iter().copied().fold(0.0, f32::max)).sum::<f32>() / count
}

#[test]
fn states_and_tokens_together_leave_the_distribution_as_it_is() {
    let registry = builtin();
    for (world, group) in [("spread", "D4"), ("wildlife", "D4"), ("traffic", "C4")] {
        for seed in 0..3 {
            let changes = format!("seed = {seed}\ngroup = '{group}'");
            let config = config(&registry, world, Method::Equivariant, &changes);
            let mut network = network(&registry, &config);
            let envs = config.make(&registry, 1).unwrap();
            let states = random_states(&*envs, 20, seed).unwrap();
            let (agents, order) = (envs.spec().agents, network.config().token_order().unwrap());
            assert_eq!(order, group.parse::<equimarl_group::Group>().unwrap().order());
            let tokens: Vec<Vec<Token>> = (0..20).map(|e| Token::team(seed, e, agents, order)).collect();
            let say = |network: &Network, tokens: &[Vec<Token>]| {
                let policy = network.policy().unwrap();
                let batch =
                    observe_with(&*states, &tokens.concat(), policy.config(), &Sharing::Distinct).unwrap();
                let said = policy.forward(&batch).unwrap().log_probabilities;
                said.iter().map(|p| p.exp()).collect::<Vec<f32>>()
            };

            // Fresh heads are nearly zero, and would pass anything; so would probabilities that are all 0 or 1.
            let even = 1.0 / network.actions() as f32;
            while decided(&say(&network, &tokens), network.actions()) < even + 0.5 * (1.0 - even) {
                for (_, range) in network.named().into_iter().filter(|(name, _)| name.starts_with("policy")) {
                    network.values_mut()[range].iter_mut().for_each(|w| *w *= 1.2);
                }
            }
            let here = say(&network, &tokens);
            let sure = decided(&here, network.actions());
            assert!(sure < 0.9, "{world}, seed {seed}: {sure}");

            let report = equivariance(&network.policy().unwrap(), &*envs, 20, seed).unwrap();
            assert!(report.policy_error < 1e-5, "{world}, seed {seed}: {report:?}");
            // Tokens that turn while the state stays are seen.
            let acts = GroupAction::new(envs.spec()).unwrap();
            let moved: Vec<Vec<Token>> = tokens.iter().map(|t| Token::transformed(t, &acts, 1)).collect();
            let there = say(&network, &moved);
            let gap = here.iter().zip(&there).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(gap > 1e-2, "{world}, seed {seed}: {gap}");
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
    let config = TrainConfig { tokens: false, ..config(&registry, "wildlife", Method::Equivariant, "") };
    let interface = config.network(&registry).unwrap().interface;
    assert_eq!(interface.tokens, "");
    assert!(!serde_json::to_string(&interface).unwrap().contains("tokens"));
    assert_eq!(config.network(&registry).unwrap().kind, NetworkKind::Equivariant);
}
