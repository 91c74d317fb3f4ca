//! A fleet of agents that act by vectors: particles, under all turns and under none.

mod common;

use common::{agents, folder};
use equimarl_fleet::audit::Recording;
use equimarl_fleet::{Faults, Host, MessageLog, Moment, RunPlan, Signer, pool};
use equimarl_learn::{Choice, Learned, interface_under};
use equimarl_nn::{Network, NetworkConfig, NetworkKind, Policy, Sharing};
use equimarl_worlds::{Envs, Purpose, Stream, Summary, WorldConfig, builtin, play};
use serde_json::json;
use std::sync::Arc;

fn world(arena: &str) -> WorldConfig {
    builtin().usual("spread").unwrap().with("actions", "continuous").with("arena", arena)
}

fn envs(arena: &str) -> Box<dyn Envs> {
    builtin().make(&world(arena), &"D4".parse().unwrap(), 1).unwrap()
}

/// A team whose head says something.
fn team(arena: &str, symmetry: &str) -> Arc<Policy> {
    let (symmetry, kind) = (symmetry.parse().unwrap(), NetworkKind::Equivariant);
    let interface = interface_under(envs(arena).spec(), kind, &symmetry).unwrap();
    let mut stream = Stream::new(6, Purpose::Weights, 0);
    let config = NetworkConfig::under(interface, kind, &symmetry);
    let mut network = Network::init(&config, &mut || stream.normal()).unwrap();
    network.enliven(2.0, &mut || stream.normal());
    Arc::new(network.policy().unwrap())
}

fn run(policy: &Arc<Policy>, arena: &str, plan: RunPlan, log: Option<MessageLog>) -> (Host, Vec<Moment>) {
    let mut host = Host::new(envs(arena), plan, (policy, 5), Signer::Open).unwrap();
    let mut moments = vec![];
    pool::run(&mut host, agents(policy, 3), &Faults::default(), log, 1, &mut |_, moment| {
        moments.extend(moment);
        Ok(true)
    })
    .unwrap();
    (host, moments)
}

#[test]
fn it_plays_the_very_episodes_that_the_whole_network_plays() {
    for (arena, symmetry) in [("disc", "O2"), ("square", "D4")] {
        let (policy, mut envs) = (team(arena, symmetry), envs(arena));
        for choice in [Choice::Sampled, Choice::Greedy] {
            let mut learned = Learned::new((*policy).clone(), &Sharing::None, choice, &*envs).unwrap();
            let expected = play(&mut *envs, &mut learned, 4, 4).unwrap();
            let plan = RunPlan { episodes: 4, seed: 4, choice, ..RunPlan::default() };
            let (host, moments) = run(&policy, arena, plan, None);
            assert_eq!(Summary::of(host.episodes(), host.spec()), expected);
            assert_eq!((host.report().missed, host.report().refused.total()), (0, 0));
            let long = |m: &Moment| m.actions.vectors.iter().map(|x| x * x).sum::<f64>();
            assert!(moments.iter().all(|m| m.actions.vectors.len() == 6 && m.actions.choices.is_empty()));
            assert!(moments.iter().map(long).sum::<f64>() > 0.1 * moments.len() as f64);
        }
    }
}

#[test]
fn a_record_shows_that_decisions_are_those_of_the_whole_network() {
    let policy = team("disc", "O2");
    let folder = folder("vectors");
    let log = MessageLog::new(&folder.join("fleet.jsonl")).unwrap();
    log.about(&json!({ "seed": 4, "greedy": false }));
    let plan = RunPlan { episodes: 3, seed: 4, ..RunPlan::default() };
    let (host, _) = run(&policy, "disc", plan, Some(log.clone()));
    log.flush().unwrap();
    let audit = |policy| Recording::load(&folder).unwrap().audit(policy, &mut *envs("disc")).unwrap();
    let found = audit(&policy);
    assert!(found.steps == host.report().steps && found.compared == found.steps, "{found:?}");
    assert!(found.holds(1e-6), "{found:?}");
    // Another team does not fit the record.
    let found = audit(&team("disc", "D4"));
    assert!(!found.holds(1e-3) && found.other_actions > 0, "{found:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_team_that_chooses_is_refused() {
    let choosing = builtin().make(&builtin().usual("spread").unwrap(), &"D4".parse().unwrap(), 1).unwrap();
    let policy = team("disc", "O2");
    let error =
        Host::new(choosing, RunPlan::default(), (&policy, 5), Signer::Open).err().unwrap().to_string();
    assert!(!error.contains('\n'), "{error}");
}
