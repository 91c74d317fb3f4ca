//! Lights that know every arrival in advance: the best waiting time that is known for an episode.
//!
//! A beam search over the joint phases of all junctions, step by step from a state whose whole schedule is open:
//!
//! ```text
//! cost of a plan after t steps  =  sum of the mean waiting times of these steps
//! it is kept if it is among the `width` smallest of  cost + to come,
//! to come = (1/n) sum over vehicles inside of (waiting so far) x (steps that it still needs at least),  n: vehicles inside
//! ```
//!
//! What is to come is counted for certain: a vehicle keeps its waiting time until it has left. States that differ in
//! nothing but the lights are one, because lights are set anew in every step. No team could know this much, and a beam
//! may miss the best plan: the value is neither reachable nor a bound, it is the *best known*.

use super::Traffic;
use crate::error::{Error, Result};
use crate::world::End;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

/// Plans that are kept at every step.
pub(super) const USUAL_WIDTH: usize = 100;
/// All joint phases are tried, so this many junctions are too many.
const MOST_JUNCTIONS: usize = 6;
/// Steps for which the search goes on after the first plan has brought everybody out.
const LONGER: usize = 20;

/// Joint phases by state, for the states of all plans made so far. Shared by all copies of a world.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans(Arc<Mutex<HashMap<u64, u32>>>);

/// A state of the search.
struct Node {
    world: Traffic,
    /// The mean waiting times of all steps, summed.
    cost: f64,
    /// Cost and what is certainly to come.
    bound: f64,
    /// Where it came from, in `Search::past`.
    last: usize,
}

/// Acts by a plan for the rest of the episode, making one if this state is in none.
///
/// # Errors
/// If there are too many junctions.
pub(super) fn act(world: &Traffic, width: usize, actions: &mut [usize]) -> Result<()> {
    if actions.len() > MOST_JUNCTIONS {
        return Err(Error::BadWorld(format!(
            "the planner tries all joint phases, and {} junctions have too many; it plans for at most {MOST_JUNCTIONS}",
            actions.len()
        )));
    }
    let mut plans = world.plans.0.lock().unwrap_or_else(|broken| broken.into_inner());
    let key = fingerprint(world, width);
    if !plans.contains_key(&key) {
        if plans.len() > 1_000_000 {
            plans.clear();
        }
        plan(world, width, &mut plans);
    }
    let phases = plans.get(&key).copied().unwrap_or_default();
    set(phases, actions);
    Ok(())
}

fn set(phases: u32, actions: &mut [usize]) {
    for (junction, action) in actions.iter_mut().enumerate() {
        *action = (phases >> junction & 1) as usize;
    }
}

/// Searches, and writes down what to do in every state of the best plan.
fn plan(from: &Traffic, width: usize, plans: &mut HashMap<u64, u32>) {
    let joint = 1u32 << from.red.len();
    let mut actions = vec![0; from.red.len()];
    // (where from, joint phases) of every node that was kept, in order.
    let mut past: Vec<(usize, u32)> = vec![(usize::MAX, 0)];
    let mut beam = vec![Node { world: from.clone(), cost: 0.0, bound: 0.0, last: 0 }];
    let mut best: Option<(f64, usize)> = None;
    let mut longer = LONGER;
    let before = from.now;
    while !beam.is_empty() && longer > 0 {
        let mut seen: HashMap<u64, usize> = HashMap::new();
        let mut next: Vec<Node> = vec![];
        for node in &beam {
            for phases in 0..joint {
                set(phases, &mut actions);
                let mut world = node.world.clone();
                let outcome = world.advance(&actions);
                let cost = node.cost + world.mean_waiting();
                if outcome.end == End::Running {
                    // Equal futures may have different pasts; the cheaper one counts.
                    let future = movements(&world);
                    let twin = seen.get(&future).copied();
                    if twin.is_some_and(|twin| next[twin].cost <= cost) {
                        continue;
                    }
                    past.push((node.last, phases));
                    let node = Node { bound: cost + to_come(&world), world, cost, last: past.len() - 1 };
                    match twin {
                        Some(twin) => next[twin] = node,
                        None => {
                            seen.insert(future, next.len());
                            next.push(node);
                        }
                    }
                } else {
                    past.push((node.last, phases));
                    // Episodes are compared by their means.
                    let mean = cost / (world.now - before) as f64;
                    if best.is_none_or(|(least, _)| mean < least) {
                        best = Some((mean, past.len() - 1));
                    }
                }
            }
        }
        if next.len() > width {
            // Stable, so equal bounds keep the order in which they were found.
            next.sort_by(|a, b| a.bound.total_cmp(&b.bound));
            next.truncate(width);
        }
        beam = next;
        longer -= usize::from(best.is_some());
    }
    // Without an end within the search's patience there is at least one plan to begin with.
    let mut at = best.map(|(_, last)| last).or(beam.first().map(|node| node.last)).unwrap_or_default();
    let mut order = vec![];
    while past[at].0 != usize::MAX {
        order.push(past[at].1);
        at = past[at].0;
    }
    let mut world = from.clone();
    for phases in order.into_iter().rev() {
        plans.insert(fingerprint(&world, width), phases);
        set(phases, &mut actions);
        world.advance(&actions);
    }
}

/// Waiting that will be counted whatever happens: every vehicle keeps its waiting time for as long as it needs to leave.
fn to_come(world: &Traffic) -> f64 {
    let mut sum = 0;
    for (index, road) in world.roads.iter().enumerate() {
        let lane = world.map.lane(index);
        let mut entered = world.log[road.front..road.next].iter();
        for s in (0..road.length).rev() {
            let (junction, bit) = world.map.bit(lane, s as usize);
            if world.own[junction] & bit != 0
                && let Some(entered) = entered.next()
            {
                sum += (world.now - entered - s) * (road.length - 1 - s);
            }
        }
    }
    sum as f64 / world.inside.max(1) as f64
}

/// What the future depends on, lights aside.
fn movements(world: &Traffic) -> u64 {
    let mut hasher = DefaultHasher::new();
    (world.now, &world.own, &world.marked).hash(&mut hasher);
    for road in &world.roads {
        world.log[road.front..road.end].hash(&mut hasher);
        (road.next - road.front).hash(&mut hasher);
    }
    hasher.finish()
}

/// The same for a planner of this width; lights do not matter here either.
fn fingerprint(world: &Traffic, width: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (movements(world), width).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Named;
    use crate::traffic::TrafficOptions;
    use crate::{Purpose, Stream, World, play};

    fn small() -> Traffic {
        Traffic::new(TrafficOptions {
            rows: 1,
            cols: 1,
            arrival_steps: 5,
            arrival_probability: 0.4,
            step_limit: 60,
            ..TrafficOptions::default()
        })
        .unwrap()
    }

    /// The least mean waiting of all plans of at most `steps` steps, by trying every one of them.
    fn exhaustive(world: &Traffic, cost: f64, taken: usize, steps: usize) -> f64 {
        let mut best = f64::INFINITY;
        for phase in [0, 1] {
            let mut next = world.clone();
            let outcome = next.advance(&[phase]);
            let cost = cost + next.mean_waiting();
            best = best.min(match outcome.end {
                End::Running if taken + 1 < steps => exhaustive(&next, cost, taken + 1, steps),
                End::Running => f64::INFINITY,
                _ => cost / (taken + 1) as f64,
            });
        }
        best
    }

    #[test]
    fn with_room_for_all_plans_the_best_of_all_is_found() {
        let mut waited = 0;
        for seed in 0..12 {
            let mut world = small();
            world.reset(&mut Stream::new(seed, Purpose::World, 0)).unwrap();
            let exact = exhaustive(&world, 0.0, 0, 15);
            let (mut cost, mut steps, mut actions) = (0.0, 0, [0]);
            loop {
                act(&world, 100_000, &mut actions).unwrap();
                let end = world.advance(&actions).end;
                cost += world.mean_waiting();
                steps += 1;
                if end != End::Running {
                    break;
                }
            }
            let found = cost / f64::from(steps);
            assert!(found <= exact + 1e-12, "seed {seed}: {found}, and {exact} can be had");
            waited += i32::from(found > 0.0);
        }
        assert!(waited > 3, "nobody had to wait: {waited}");
    }

    #[test]
    fn plans_beat_controllers_that_do_not_know_the_future() {
        let group = "C4".parse().unwrap();
        let registry = crate::builtin();
        let mut envs = registry.make(&registry.usual("traffic").unwrap(), &group, 1).unwrap();
        let mut waiting = |name: &str| {
            let mut controller = Named::new(name, envs.world(0)).unwrap();
            play(&mut *envs, &mut controller, 3, 5).unwrap().measures["waiting"].mean
        };
        let (planned, queue) = (waiting("planner:4"), waiting("longest-queue"));
        assert!(planned < queue / 2.0, "{planned} {queue}");
    }

    #[test]
    fn large_cities_are_refused() {
        let world = Traffic::new(TrafficOptions { rows: 3, cols: 3, ..TrafficOptions::default() }).unwrap();
        let error = act(&world, 1, &mut [0; 9]).unwrap_err().to_string();
        assert!(error.contains("at most 6"), "{error}");
    }
}
