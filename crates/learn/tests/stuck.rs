//! Greedy teams that cannot decide, and what is said of them.

use equimarl_learn::{Choice, Learned, Pair, StuckReport, Why, interface};
use equimarl_nn::{Network, NetworkConfig, NetworkKind};
use equimarl_worlds::{Controller, End, Envs, Joint, Purpose, Stream, builtin};
use serde_json::json;

/// Two agents and two landmarks.
fn spread(group: &str) -> Box<dyn Envs> {
    let world = builtin().usual("spread").unwrap().with("agents", 2usize);
    builtin().make(&world, &group.parse().unwrap(), 1).unwrap()
}

/// Random weights, with a policy that is far from uniform.
fn network(envs: &dyn Envs, kind: NetworkKind, seed: u64) -> Network {
    let group = if kind.is_plain() { "C1" } else { "D4" };
    let made = spread(group);
    let config = NetworkConfig::usual(interface(made.spec(), kind).unwrap(), kind, &group.parse().unwrap());
    let mut stream = Stream::new(seed, Purpose::Weights, 0);
    let mut network = Network::init(&config, &mut || stream.normal()).unwrap();
    for (name, range) in network.named() {
        if name.starts_with("policy") {
            network.values_mut()[range].iter_mut().for_each(|w| *w *= 100.0);
        }
    }
    assert_eq!(envs.spec().agents, 2);
    network
}

/// Plays an episode from a state; what was said of it, and where it ended.
fn play(
    network: &Network,
    envs: &mut dyn Envs,
    state: &serde_json::Value,
) -> (StuckReport, serde_json::Value) {
    let sharing = network.sharing();
    let mut team = Learned::new(network.policy().unwrap(), &sharing, Choice::Greedy, envs).unwrap();
    let mut choice = Stream::new(0, Purpose::EvaluationAction, 0);
    envs.start(0, Stream::new(0, Purpose::Evaluation, 0)).unwrap();
    envs.exact_mut().unwrap().set_state(0, state).unwrap();
    team.begin(0, 0);
    let mut joint = Joint::of(envs.spec());
    loop {
        joint.take(&mut team, envs.world(0), &mut choice).unwrap();
        let outcome = joint.step(envs, 0).unwrap();
        if outcome.end != End::Running {
            team.end(outcome.end);
            return (team.take_stuck(), envs.exact().unwrap().state(0));
        }
    }
}

/// Agents left and right of the middle, landmarks above and below it.
fn cross() -> serde_json::Value {
    json!({
        "agents": [[-0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0]],
        "landmarks": [[0.0, 0.6], [0.0, -0.6]],
        "steps": 0,
    })
}

#[test]
fn a_team_that_no_equivariant_policy_gets_away_is_named_symmetric() {
    let mut envs = spread("D4");
    let mut stuck = 0;
    for seed in 0..40 {
        let network = network(&*envs, NetworkKind::Equivariant, seed);
        let (report, end) = play(&network, &mut *envs, &cross());
        if report.examples.is_empty() {
            continue;
        }
        stuck += 1;
        let found = &report.examples[0];
        assert_eq!((found.why, report.symmetric), (Why::Symmetric, 1), "seed {seed}: {report}");
        let Pair { element, agents } = found.pair.clone().unwrap();
        // The mirror or turn that exchanges left and right exchanges the agents, and the mirror that does not leaves them.
        assert!(element != "e" && (agents == [0, 1] || agents == [1, 0]), "seed {seed}: {report}");
        assert!(report.to_string().contains("so an equivariant team cannot break this symmetry"), "{report}");
        // Left and right are still the same. Up and down need not be: which of two equal actions is taken, rounding decides.
        let at = |agent: usize, k: usize| end["agents"][agent][k].as_f64().unwrap();
        let apart = [at(0, 0) + at(1, 0), at(0, 1).abs() - at(1, 1).abs()];
        assert!(apart.iter().all(|gap| gap.abs() < 1e-9), "seed {seed}: {end}");
    }
    assert!(stuck >= 5, "{stuck} of 40");
}

#[test]
fn the_same_place_without_the_symmetry_is_not() {
    let mut envs = spread("D4");
    let mut state = cross();
    state["landmarks"] = json!([[0.1, 0.6], [-0.3, -0.5]]);
    state["agents"][1] = json!([0.6, 0.2, 0.0, 0.0]);
    let mut settled = 0;
    for seed in 0..40 {
        let network = network(&*envs, NetworkKind::Equivariant, seed);
        let (report, _) = play(&network, &mut *envs, &state);
        assert_eq!(report.symmetric, 0, "seed {seed}: {report}");
        settled += report.settled + report.indifferent;
    }
    assert!(settled >= 5, "{settled} of 40");
}

#[test]
fn fresh_heads_are_indifferent_and_show_their_margin() {
    let mut envs = spread("D4");
    let mut state = cross();
    state["landmarks"] = json!([[0.1, 0.6], [-0.3, -0.5]]);
    let found: Vec<StuckReport> = (0..40)
        .map(|seed| {
            let mut network = network(&*envs, NetworkKind::Equivariant, seed);
            network.values_mut().iter_mut().for_each(|w| *w *= 0.1);
            play(&network, &mut *envs, &state).0
        })
        .filter(|report| report.indifferent > 0)
        .collect();
    assert!(!found.is_empty());
    for report in found {
        let margin = report.examples[0].margin;
        assert!((0.0..0.02).contains(&margin) && report.to_string().contains("differ by"), "{report}");
    }
}

#[test]
fn a_plain_team_is_not_held_by_turns() {
    let mut envs = spread("C1");
    for seed in 0..20 {
        let network = network(&*envs, NetworkKind::Plain, seed);
        let (report, _) = play(&network, &mut *envs, &cross());
        assert_eq!(report.symmetric, 0, "seed {seed}: {report}");
    }
}
