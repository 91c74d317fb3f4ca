//! Neighbours that lie under their own name: what they say is brought into range, and moves decisions no further than the
//! computed bound.

mod common;

use common::{Team, drones, junctions};
use equimarl_fleet::liar::{LiarPlan, Lie, liar_study};
use equimarl_fleet::{Defence, Faults, Reason, RunPlan, pool};
use equimarl_learn::{Inference, message_ranges};
use equimarl_nn::{Clip, MessageRanges};
use std::sync::Arc;

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
            let said = |m: &equimarl_fleet::Moment| -> Vec<Vec<f32>> {
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

#[test]
fn what_is_received_stays_in_range_whatever_is_sent() {
    let team = junctions(3, 3);
    let clip = Clip::new(&team.policy, &ranges(&team)).unwrap();
    for l in 0..team.policy.rounds() {
        let width = team.policy.message_len(l);
        let bounds = clip.bounds(l, width);
        for size in [0.0, -1e30, 1e30, 1.0, -1.0, f32::MAX] {
            let mut message: Vec<f32> = (0..width).map(|k| size * (k as f32 + 1.0) / width as f32).collect();
            clip.clip(l, &mut message);
            for (x, [lo, hi]) in message.iter().zip(&bounds) {
                assert!((*lo..=*hi).contains(x), "{x} is not in {lo} to {hi}");
            }
        }
    }
}

#[test]
fn one_liar_moves_decisions_no_further_than_the_computed_bound() {
    // Junction 4 of 3 x 3 has four neighbours, three of which have three; the drone talks to three others.
    for (team, liar) in [(junctions(3, 3), 4), (drones(4), 1)] {
        let clip = Clip::new(&team.policy, &ranges(&team)).unwrap();
        let shared = Arc::new(clip.clone());
        for trimmed in [false, true] {
            let defence = Defence { clip: Some(shared.clone()), trimmed };
            for lie in [Lie::Zeros, Lie::Noise, Lie::Another, Lie::Worst] {
                let plan = LiarPlan { liar, lie, episodes: 1, seed: 11 };
                let found = liar_study(&team.network, &clip, &mut *team.envs(), &defence, plan).unwrap();
                assert!(found.slack >= -1e-9, "{lie:?}: {found:?}");
                assert!(found.moved <= found.bound && found.most <= 1.0, "{lie:?}: {found:?}");
                assert_eq!(found.returns.len(), 1);
            }
        }
    }
}

#[test]
fn the_worst_case_is_worse_than_noise_and_an_honest_liar_plays_as_everybody() {
    let team = junctions(3, 3);
    let clip = Clip::new(&team.policy, &ranges(&team)).unwrap();
    let defence = Defence { clip: Some(Arc::new(clip.clone())), trimmed: false };
    let study = |lie, defence: &Defence| {
        let plan = LiarPlan { liar: 4, lie, episodes: 1, seed: 5 };
        liar_study(&team.network, &clip, &mut *team.envs(), defence, plan).unwrap()
    };
    let (noise, worst) = (study(Lie::Noise, &defence), study(Lie::Worst, &defence));
    assert!(worst.moved > noise.moved, "{worst:?} {noise:?}");
    // The study's own network in f64 plays the episodes that the fleet plays.
    let plan = RunPlan { episodes: 1, seed: 5, ..RunPlan::default() };
    let (host, _) = team.moments(plan, &Faults::default(), 1);
    let honest = study(Lie::None, &Defence::default());
    assert!((honest.returns[0] - host.episodes()[0].total).abs() < 1e-9, "{honest:?}");
}
