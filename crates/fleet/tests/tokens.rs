//! Agents of a fleet know their tokens by themselves, and play what the whole network plays.

mod common;

use common::{agents, folder};
use equimarl_fleet::audit::Recording;
use equimarl_fleet::{Agent, Faults, Host, MessageLog, RunPlan, Signer, pool};
use equimarl_learn::{Learned, interface};
use equimarl_nn::{Choice, Interface, Network, NetworkConfig, NetworkKind};
use equimarl_worlds::{Envs, Purpose, Stream, Summary, builtin, play};
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

#[test]
fn a_fleet_plays_the_very_episodes_that_the_whole_network_plays() {
    for (world, choice) in
        [("wildlife", Choice::Sampled), ("spread", Choice::Greedy), ("spread", Choice::Sampled)]
    {
        let make = || builtin().make(&builtin().usual(world).unwrap(), &"D4".parse().unwrap(), 1).unwrap();
        let mut envs = make();
        let network =
            network(&*envs, |interface| Interface { tokens: "trivial + regular".into(), ..interface });
        let policy = Arc::new(network.policy().unwrap());
        let mut learned = Learned::new((*policy).clone(), &network.sharing(), choice, &*envs).unwrap();
        let expected = play(&mut *envs, &mut learned, 5, 3).unwrap();
        let plan = RunPlan { episodes: 5, seed: 3, choice, ..RunPlan::default() };
        let mut host = Host::new(make(), plan, (&policy, 5), Signer::Open).unwrap();
        let folder = folder(&format!("tokens-{world}-{choice:?}"));
        let log = MessageLog::new(&folder.join("fleet.jsonl")).unwrap();
        log.about(&json!({ "seed": 3, "greedy": choice == Choice::Greedy }));
        let team = agents(&policy, envs.spec().agents);
        pool::run(&mut host, team, &Faults::default(), Some(log.clone()), 2, &mut |_, _| Ok(true)).unwrap();
        log.flush().unwrap();
        assert_eq!(Summary::of(host.episodes(), host.spec()), expected, "{world} {choice:?}");
        // Its record is replayed with the same tokens.
        let found = Recording::load(&folder).unwrap().audit(&policy, &mut *envs).unwrap();
        assert!(found.compared > 0 && found.holds(1e-5), "{world} {choice:?}: {found:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn what_a_fleet_cannot_tell_its_agents_is_refused_in_a_line() {
    let wind = builtin().usual("wildlife").unwrap().with("wind", 0.3);
    let envs = builtin().make(&wind, &"C4".parse().unwrap(), 1).unwrap();
    let network = network(&*envs, |interface| Interface { cause: "rotation".into(), ..interface });
    let policy = Arc::new(network.policy().unwrap());
    let error = Agent::new(0, policy.clone(), 5, Signer::Open).unwrap_err().to_string();
    assert!(error.contains("must be told what breaks the symmetry") && !error.contains('\n'), "{error}");
    assert!(Host::new(envs, RunPlan::default(), (&policy, 5), Signer::Open).is_err());
}
