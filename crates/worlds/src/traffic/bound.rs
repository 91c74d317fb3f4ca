//! How little vehicles could wait at best, whatever the lights do: a lower bound that is proved, not found by search.
//!
//! The relaxation: every junction looks only at the lanes that *begin* in its block, and everything after the stop line is free.
//! What remains of the rules is that vehicles arrive when they arrive, that a lane has two cells before its stop line, and that row lanes
//! and column lanes do not have green in the same step. Besides, the relaxed lights may hold any single vehicle back when they like.
//! Whatever other vehicles, claims and later junctions do to these vehicles in the world, is then a choice of the relaxed lights:
//! every course of the world is one of the relaxed problem, where its vehicles wait no longer. So
//!
//! ```text
//! total waiting of an episode  >=  sum over junctions of the least waiting in its relaxed problem
//! ```
//!
//! The least is found exactly, forward in time over all reachable states: per lane, who is on its two cells, marked or not, and how
//! many have entered. It bounds the waiting *per vehicle*. The mean over those inside, which changes from step to step with how
//! many they are, has no such bound here.

use super::Traffic;
use std::collections::HashMap;

/// A cell before the stop line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Cell {
    #[default]
    Empty,
    Rolling,
    /// It stands, and needs a step to restart.
    Marked,
}

/// A lane's first block, up to its stop line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Approach {
    first: Cell,
    second: Cell,
    /// How many vehicles have entered.
    entered: usize,
}

impl Approach {
    /// What may become of it in a step in which this lane has green or not: the next state, and how many vehicles waited.
    fn next(self, due: usize, green: bool) -> Vec<(Approach, u32)> {
        let mut now = self;
        if now.first == Cell::Empty && now.entered < due {
            now = Approach { first: Cell::Rolling, entered: now.entered + 1, ..now };
        }
        let mut all = vec![];
        // Whoever could move may be held back, too.
        for hold_second in [false, true] {
            let passes = now.second == Cell::Rolling && green && !hold_second;
            let stays = now.second != Cell::Empty && !passes;
            let second = stands(now.second, !green || hold_second);
            for hold_first in [false, true] {
                let held = stays || hold_first;
                let moves = now.first == Cell::Rolling && !held;
                let waited = u32::from(stays) + u32::from(now.first != Cell::Empty && !moves);
                let next = Approach {
                    first: if moves { Cell::Empty } else { stands(now.first, held) },
                    second: match (stays, moves) {
                        (true, _) => second,
                        (false, true) => Cell::Rolling,
                        (false, false) => Cell::Empty,
                    },
                    ..now
                };
                if !all.contains(&(next, waited)) {
                    all.push((next, waited));
                }
            }
        }
        all
    }

    fn is_empty(self) -> bool {
        self.first == Cell::Empty && self.second == Cell::Empty
    }
}

/// A vehicle that does not move in this step: held, it is marked; not held and marked, it restarts.
fn stands(cell: Cell, held: bool) -> Cell {
    match cell {
        Cell::Empty => Cell::Empty,
        _ if held => Cell::Marked,
        _ => Cell::Rolling,
    }
}

/// Steps in which all vehicles of this world wait together at least, from the start of an episode on until all have left.
pub(super) fn least_waiting(world: &Traffic) -> u64 {
    let mut lanes: HashMap<usize, Vec<(bool, &[i64])>> = HashMap::new();
    for (index, road) in world.roads.iter().enumerate() {
        let lane = world.map.lane(index);
        let entries = lanes.entry(world.map.junction(lane, 0)).or_default();
        entries.push((lane.is_row(), &world.log[road.next..road.end]));
    }
    lanes.values().map(|lanes| of_junction(lanes)).sum()
}

/// Of one junction: (whether it is a row lane, when its vehicles arrive) of every lane that begins there.
fn of_junction(lanes: &[(bool, &[i64])]) -> u64 {
    let vehicles: usize = lanes.iter().map(|(_, arrivals)| arrivals.len()).sum();
    let mut states: HashMap<Vec<Approach>, u64> =
        HashMap::from([(vec![Approach::default(); lanes.len()], 0)]);
    let mut best = if vehicles == 0 { 0 } else { u64::MAX };
    for now in 0.. {
        let mut next: HashMap<Vec<Approach>, u64> = HashMap::new();
        for (state, cost) in states {
            let done = |(a, (_, arrivals)): (&Approach, &(bool, &[i64]))| {
                a.is_empty() && a.entered == arrivals.len()
            };
            if state.iter().zip(lanes).all(done) {
                best = best.min(cost);
            }
            // Waiting only grows.
            if cost >= best {
                continue;
            }
            for rows_have_green in [false, true] {
                let each = state.iter().zip(lanes).map(|(approach, (is_row, arrivals))| {
                    let due = arrivals.partition_point(|&t| t <= now);
                    approach.next(due, *is_row == rows_have_green)
                });
                let mut joint: Vec<(Vec<Approach>, u64)> = vec![(vec![], cost)];
                for options in each {
                    let with = |(before, cost): &(Vec<Approach>, u64)| {
                        let (before, cost) = (before.clone(), *cost);
                        options
                            .iter()
                            .map(move |(approach, waited)| {
                                ([before.as_slice(), &[*approach]].concat(), cost + u64::from(*waited))
                            })
                            .collect::<Vec<_>>()
                    };
                    joint = joint.iter().flat_map(with).collect();
                }
                for (state, cost) in joint {
                    let least = next.entry(state).or_insert(cost);
                    *least = cost.min(*least);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        states = next;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::TrafficOptions;
    use crate::world::End;
    use crate::{Purpose, Stream, World};

    fn city(rows: usize, cols: usize, steps: usize, p: f64) -> Traffic {
        let options = TrafficOptions {
            rows,
            cols,
            arrival_steps: steps,
            arrival_probability: p,
            ..TrafficOptions::default()
        };
        Traffic::new(options).unwrap()
    }

    /// Two vehicles that meet: one is held and marked, then restarts, then goes. Two steps, as worked out by hand.
    #[test]
    fn of_two_that_meet_one_waits_two_steps() {
        let world = city(1, 1, 1, 0.0);
        let entries = world.entries();
        // A lane to the right and a lane upwards.
        let at = |t: u32, lane: usize| (t, entries[lane].0, entries[lane].1);
        let least =
            |schedule: &[(u32, usize, usize)]| least_waiting(&world.clone().with_schedule(schedule).unwrap());
        assert_eq!(least(&[at(0, 0)]), 0);
        assert_eq!(least(&[at(0, 0), at(0, 1)]), 2);
        // Lanes that run beside each other do not meet, and neither do vehicles that come one after the other.
        assert_eq!(least(&[at(0, 0), at(0, 2)]), 0);
        assert_eq!(least(&[at(0, 0), at(1, 1)]), 0);
    }

    /// No lights do better than the bound: all plans of a small world, tried one after the other.
    #[test]
    fn nothing_waits_less_than_the_bound() {
        fn least(world: &Traffic, depth: usize) -> u64 {
            let mut best = u64::MAX;
            for phase in [0, 1] {
                let mut next = world.clone();
                best = best.min(match next.advance(&[phase]).end {
                    End::Running if depth > 0 => least(&next, depth - 1),
                    End::Terminated => next.finished().waiting,
                    _ => u64::MAX,
                });
            }
            best
        }
        let (mut tight, mut any) = (0, 0);
        for seed in 0..12 {
            let mut world = city(1, 1, 4, 0.4);
            world.reset(&mut Stream::new(seed, Purpose::World, 0)).unwrap();
            let (bound, exact) = (least_waiting(&world), least(&world, 13));
            assert!(bound <= exact, "seed {seed}: {bound} above {exact}");
            any += u32::from(bound > 0);
            tight += u32::from(bound == exact);
        }
        assert!(any > 3, "the bound is always 0");
        assert!(tight > 0, "the bound is never reached");
    }
}
