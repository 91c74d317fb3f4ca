//! Agents of a fleet are told what the whole network is told, and play what it plays: they know their tokens by themselves, and
//! what breaks the symmetry comes with their observations.

mod common;

use common::{agents, folder};
use equimarl_fleet::audit::Recording;
use equimarl_fleet::{Faults, Host, MessageLog, RunPlan, Signer, pool};
use equimarl_learn::{Learned, interface};
use equimarl_nn::{Choice, Interface, Network, NetworkConfig, NetworkKind};
use equimarl_worlds::{Envs, Purpose, Stream, Summary, WorldConfig, builtin, play};
use serde_json::json;
use std::sync::Arc;

fn network(envs: &dyn Envs, change: impl FnOnce(Interface) -> Interface) -> Network {
    let kind = NetworkKind::Equivariant;
    let interface = change(interface(envs.spec(), kind).unwrap());
    let config = NetworkConfig::usual(interface, kind, &envs.spec().group.parse().unwrap());
    let mut stream = Stream::new(4, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || stream.normal()).unwrap();
    for (name, range) in network.named() {
        if name.starts_with("policy") {
            network.values_mut()[range].iter_mut().for_each(|w| *w *= 200.0);
        }
    }
    network
}

fn make(world: &WorldConfig, group: &str) -> Box<dyn Envs> {
    builtin().make(world, &group.parse().unwrap(), 1).unwrap()
}

/// Plays episodes with the whole network and with a fleet, and compares them; and replays the fleet's record.
fn plays_the_same(
    name: &str,
    (world, group): (&WorldConfig, &str),
    choice: Choice,
    change: impl FnOnce(Interface) -> Interface,
) {
    let mut envs = make(world, group);
    let network = network(&*envs, change);
    let policy = Arc::new(network.policy().unwrap());
    assert!(policy.told_len() > 0);
    let mut learned = Learned::new((*policy).clone(), &network.sharing(), choice, &*envs).unwrap();
    let expected = play(&mut *envs, &mut learned, 5, 3).unwrap();
    let plan = RunPlan { episodes: 5, seed: 3, choice, ..RunPlan::default() };
    let mut host = Host::new(make(world, group), plan, (&policy, 5), Signer::Open).unwrap();
    let folder = folder(&format!("told-{name}-{choice:?}"));
    let log = MessageLog::new(&folder.join("fleet.jsonl")).unwrap();
    log.about(&json!({ "seed": 3, "greedy": choice == Choice::Greedy }));
    let team = agents(&policy, envs.spec().agents);
    pool::run(&mut host, team, &Faults::default(), Some(log.clone()), 2, &mut |_, _| Ok(true)).unwrap();
    log.flush().unwrap();
    assert_eq!(Summary::of(host.episodes(), host.spec()), expected, "{name} {choice:?}");
    // Its record is replayed with the same tokens and causes.
    let found = Recording::load(&folder).unwrap().audit(&policy, &mut *envs).unwrap();
    assert!(found.compared > 0 && found.holds(1e-5), "{name} {choice:?}: {found:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

fn tokens(interface: Interface) -> Interface {
    Interface { tokens: "trivial + regular".into(), ..interface }
}

#[test]
fn agents_with_tokens_play_the_very_episodes_that_the_whole_network_plays() {
    for (name, choice) in
        [("wildlife", Choice::Sampled), ("spread", Choice::Greedy), ("spread", Choice::Sampled)]
    {
        plays_the_same(name, (&builtin().usual(name).unwrap(), "D4"), choice, tokens);
    }
}

#[test]
fn agents_that_know_the_wind_play_the_very_episodes_that_the_whole_network_plays() {
    let usual = |name| builtin().usual(name).unwrap();
    let wind = usual("wildlife").with("wind", 0.3);
    let told = |interface| Interface { cause: "rotation".into(), ..interface };
    plays_the_same("wind", (&wind, "C4"), Choice::Sampled, told);
    plays_the_same("wind", (&wind, "C4"), Choice::Greedy, told);
    plays_the_same("wind-tokens", (&wind, "C4"), Choice::Sampled, |interface| tokens(told(interface)));
    // Where the side is drawn in every episode, every network is told.
    plays_the_same("drawn", (&wind.clone().with("wind_from", "any"), "C4"), Choice::Sampled, |i| i);
    let tilt = usual("traffic").with("tilt", 0.3).with("step_limit", 40);
    let envs = make(&tilt, "C2");
    let cause = envs.spec().cause.clone();
    plays_the_same("tilt", (&tilt, "C2"), Choice::Sampled, |i| Interface { cause, ..i });
}

#[test]
fn agents_that_know_the_wind_play_where_there_is_none() {
    let told = |interface| Interface { cause: "rotation".into(), ..interface };
    plays_the_same("calm", (&builtin().usual("wildlife").unwrap(), "C4"), Choice::Sampled, told);
}

#[test]
fn a_world_that_is_broken_by_something_else_is_refused_in_a_line() {
    let usual = builtin().usual("wildlife").unwrap();
    let windy = || make(&usual.clone().with("wind", 0.3), "C4");
    let host = |cause: &str| {
        let told = |interface| Interface { cause: cause.into(), ..interface };
        let policy = network(&*windy(), told).policy().unwrap();
        Host::new(windy(), RunPlan::default(), (&policy, 5), Signer::Open).map(|_| ())
    };
    let error = host("trivial").unwrap_err().to_string();
    assert!(
        error.contains("must be told what breaks the symmetry, in 1 numbers") && !error.contains('\n'),
        "{error}"
    );
    host("rotation").unwrap();
}
