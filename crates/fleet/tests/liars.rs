//! Neighbours that lie under their own name: what they say is brought into range, and moves decisions no further than the
//! computed bound.

mod common;

use common::{Team, drones, junctions};
use equimarl_fleet::liar::{LiarPlan, Lie, liar_study};
use equimarl_fleet::{
    Agent, Defence, Faults, Header, Member, MessageKind, Moment, Observation, Reason, RunPlan, Signer,
    StepId, Welcome, Workspace, pool,
};
use equimarl_learn::{Inference, message_ranges};
use equimarl_nn::{Clip, MessageRanges};
use equimarl_worlds::{Edges, Purpose, Stream};
use std::sync::Arc;
use std::time::Duration;

fn ranges(team: &Team) -> MessageRanges {
    let mut envs = team.envs();
    let mut inference = Inference::new(&team.policy, &team.sharing, &*envs).unwrap();
    message_ranges(&team.policy, &mut inference, &mut *envs, 3).unwrap().unwrap()
}

/// The same ranges, so narrow that honest messages are clipped.
fn narrow(mut ranges: MessageRanges, share: f32) -> MessageRanges {
    // Features that are always above zero have ranges that begin there, so the width shrinks and not the end.
    ranges.rounds.iter_mut().flatten().for_each(|[lo, hi]| *hi = *lo + share * (*hi - *lo));
    ranges
}

#[test]
fn ranges_hold_what_honest_agents_say_and_change_no_bit() {
    for team in [drones(4), junctions(3, 3)] {
        let clip = Arc::new(Clip::new(&team.policy, &ranges(&team)).unwrap());
        let plan = RunPlan { episodes: 2, seed: 3, ..RunPlan::default() };
        let play = |defence: &Defence| {
            let (mut host, mut moments) = (team.host(plan), vec![]);
            let agents = team.agents().into_iter().map(|a| a.with_defence(defence.clone())).collect();
            pool::run(&mut host, agents, &Faults::default(), None, 1, &mut |_, moment| {
                moments.extend(moment);
                Ok(true)
            })
            .unwrap();
            (host.report().dropped.of(Reason::Clipped), moments)
        };
        let (_, open) = play(&Defence::default());
        let (clipped, guarded) = play(&Defence { clip: Some(clip), trimmed: false });
        assert_eq!(clipped, 0, "these episodes were looked at");
        for (a, b) in open.iter().zip(&guarded) {
            let said = |m: &Moment| -> Vec<Vec<f32>> {
                m.said.iter().map(|s| s.as_ref().unwrap().log_probabilities.clone()).collect()
            };
            assert_eq!((a.place, &a.actions, said(a)), (b.place, &b.actions, said(b)));
        }
        // Where clipping bites it is counted, and decisions change.
        let tight = Clip::new(&team.policy, &narrow(ranges(&team), 0.1)).unwrap();
        let (clipped, other) = play(&Defence { clip: Some(Arc::new(tight)), trimmed: false });
        assert!(clipped > 100, "{clipped}");
        assert_ne!(
            open.iter().map(|m| &m.said).collect::<Vec<_>>(),
            other.iter().map(|m| &m.said).collect::<Vec<_>>()
        );
    }
}

/// What junction 4 of 3 x 3 decides when its four neighbours say this in every round: (round, sender) -> numbers.
fn hears(team: &Team, defence: Defence, said: &dyn Fn(usize, usize) -> Vec<f32>) -> equimarl_fleet::Action {
    let deadline = Duration::from_secs(1);
    let terms = Welcome { nonce: [0; 16], seed: 3, agents: 9, greedy: true, deadline };
    let (run, place, me) = ([1; 16], StepId::counted(7), Member::agent(4));
    let agent = Agent::new(4, team.policy.clone(), 5, Signer::Open).unwrap().with_defence(defence);
    let mut agent = agent.in_field(run, terms);
    let (mut work, mut out) = (Workspace::default(), vec![]);
    let mut envs = team.envs();
    envs.start(0, Stream::new(3, Purpose::Evaluation, 0)).unwrap();
    let (mut own, mut heard) = (vec![0.0; envs.spec().image.unwrap().iter().product()], Edges::default());
    envs.world(0).observe(4, &mut own);
    envs.world(0).neighbours(4, &mut heard);
    let neighbours = heard.from.iter().map(|&j| Member::from_code(j)).collect();
    let edges = heard.vectors.clone();
    let seen = Observation { own, neighbours, edges, ..Observation::default() };
    agent.wait_for(7);
    agent.see(7, seen, (Duration::ZERO, Duration::ZERO), &mut work, &mut out).unwrap();
    for l in 0..team.policy.rounds() {
        for &j in &heard.from {
            let sender = Member::from_code(j);
            let payload: Vec<u8> = said(l, j as usize).iter().flat_map(|x| x.to_le_bytes()).collect();
            let kind = MessageKind::Features;
            let header = Header { kind, run, place, round: l as u8, sender, receiver: me };
            let bytes = Signer::Open.signer(header.message(&payload));
            agent.receive(&bytes, Duration::ZERO, &mut work, &mut out).unwrap();
        }
        agent.poll(Duration::ZERO, &|_| true, &mut work, &mut out).unwrap();
    }
    agent.take_decision().unwrap_or_else(|| panic!("{:?}", agent.drops()))
}

#[test]
fn what_an_agent_receives_stays_in_range_whatever_is_sent() {
    let team = junctions(3, 3);
    let clip = Arc::new(Clip::new(&team.policy, &ranges(&team)).unwrap());
    let width = |l| team.policy.message_len(l);
    for size in [-1e30, 1e30, 3.0, -1.0, f32::MAX] {
        let wild = |l: usize, j: usize| -> Vec<f32> {
            (0..width(l)).map(|k| size * (((k * 7 + j * 5) % 11) as f32 / 11.0)).collect()
        };
        // The same, brought into the ranges number by number.
        let tame = |l: usize, j: usize| -> Vec<f32> {
            let bounds = clip.bounds(l, width(l));
            wild(l, j).iter().zip(bounds).map(|(x, [lo, hi])| x.clamp(lo, hi)).collect()
        };
        for trimmed in [false, true] {
            let guarded = hears(&team, Defence { clip: Some(clip.clone()), trimmed }, &wild);
            let open = hears(&team, Defence { clip: None, trimmed }, &tame);
            assert_eq!(guarded.log_probabilities, open.log_probabilities, "{size}");
            // Two rounds of four neighbours, every one of whom is out of range.
            let counts = (guarded.drops.of(Reason::Clipped), open.drops.of(Reason::Clipped));
            assert_eq!((counts, guarded.drops.total()), ((8, 0), 8), "{size}");
            let believed = hears(&team, Defence { clip: None, trimmed }, &wild);
            assert_ne!(guarded.log_probabilities, believed.log_probabilities, "{size}");
        }
    }
}

/// The same team with decisions that are less sure, so that the bound on what moves them is one that can fail.
fn calm(mut team: Team, share: f32) -> Team {
    let parameters = team.network.parameters().into_iter();
    let scaled = parameters.map(|(name, values)| match name.starts_with("policy") {
        true => values.iter().map(|v| share * v).collect(),
        false => values,
    });
    team.network.set_parameters(scaled.collect::<Vec<Vec<f32>>>()).unwrap();
    team.policy = Arc::new(team.network.policy().unwrap());
    team
}

#[test]
fn one_liar_moves_decisions_no_further_than_the_computed_bound() {
    // Junction 4 of 3 x 3 has four neighbours, three of which have three; the drone talks to three others.
    for (team, liar) in [(calm(junctions(3, 3), 0.07), 4), (calm(drones(4), 0.07), 1)] {
        let clip = Clip::new(&team.policy, &ranges(&team)).unwrap();
        let shared = Arc::new(clip.clone());
        for trimmed in [false, true] {
            let defence = Defence { clip: Some(shared.clone()), trimmed };
            for lie in [Lie::Zeros, Lie::Noise, Lie::Another, Lie::Worst] {
                let plan = LiarPlan { liar, lie, episodes: 1, seed: 11 };
                let found = liar_study(&team.network, &clip, &mut *team.envs(), &defence, plan).unwrap();
                assert!(found.slack >= -1e-9, "{lie:?}: {found:?}");
                assert!(found.moved <= found.bound && found.most <= 1.0, "{lie:?}: {found:?}");
                // A bound of 1 holds for anything, and so does any bound for a lie that moves nothing.
                assert!(found.bound < 0.95, "{lie:?}: {found:?}");
                assert!(lie != Lie::Worst || found.moved > 0.2 * found.bound, "{lie:?}: {found:?}");
                assert_eq!(found.returns.len(), 1);
            }
        }
    }
}

#[test]
fn the_worst_case_is_worse_than_noise_and_an_honest_liar_plays_as_everybody() {
    let team = junctions(3, 3);
    let clip = Clip::new(&team.policy, &ranges(&team)).unwrap();
    let study = |lie, defence: &Defence| {
        let plan = LiarPlan { liar: 4, lie, episodes: 1, seed: 5 };
        liar_study(&team.network, &clip, &mut *team.envs(), defence, plan)
    };
    for trimmed in [false, true] {
        let defence = Defence { clip: Some(Arc::new(clip.clone())), trimmed };
        let worst = study(Lie::Worst, &defence).unwrap();
        for simple in [Lie::Zeros, Lie::Noise, Lie::Another] {
            let simple = study(simple, &defence).unwrap();
            assert!(worst.moved > 1.2 * simple.moved, "{trimmed}: {worst:?} {simple:?}");
        }
    }
    let none = LiarPlan { liar: 4, lie: Lie::Zeros, episodes: 0, seed: 5 };
    let error = liar_study(&team.network, &clip, &mut *team.envs(), &Defence::default(), none).unwrap_err();
    assert!(error.to_string().contains("0 episodes"), "{error}");
    // The study's own network in f64 plays the episodes that the fleet plays.
    let plan = RunPlan { episodes: 1, seed: 5, ..RunPlan::default() };
    let (host, _) = team.moments(plan, &Faults::default(), 1);
    let honest = study(Lie::None, &Defence::default()).unwrap();
    assert!((honest.returns[0] - host.episodes()[0].total).abs() < 1e-9, "{honest:?}");
}

#[test]
fn the_study_plays_what_a_fleet_that_trims_plays() {
    for team in [junctions(3, 3), drones(4)] {
        let clip = Clip::new(&team.policy, &ranges(&team)).unwrap();
        let plan = RunPlan { episodes: 2, seed: 5, ..RunPlan::default() };
        let (_, plain) = team.moments(plan, &Faults::default(), 1);
        let defence = Defence { clip: Some(Arc::new(clip.clone())), trimmed: true };
        let (mut host, mut moments) = (team.host(plan), vec![]);
        let agents = team.agents().into_iter().map(|a| a.with_defence(defence.clone())).collect();
        pool::run(&mut host, agents, &Faults::default(), None, 1, &mut |_, moment| {
            moments.extend(moment);
            Ok(true)
        })
        .unwrap();
        let plan = LiarPlan { liar: 1, lie: Lie::None, episodes: 2, seed: 5 };
        let found = liar_study(&team.network, &clip, &mut *team.envs(), &defence, plan).unwrap();
        for (studied, flown) in found.returns.iter().zip(host.episodes()) {
            assert!((studied - flown.total).abs() < 1e-9, "{studied} {flown:?}");
        }
        let actions = |moments: &[Moment]| moments.iter().map(|m| m.actions.clone()).collect::<Vec<_>>();
        assert_ne!(actions(&plain), actions(&moments), "trimming changes what is done");
    }
}
