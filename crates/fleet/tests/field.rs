//! Agents with sensors of their own: without clock error they play the episodes that a world's clock would give them.

mod common;

use common::{drones, junctions};
use equimarl_fleet::field::{Clocks, clock_study};
use equimarl_fleet::{Faults, RunPlan};
use std::time::Duration;

fn clocks(error: u64) -> Clocks {
    let ms = Duration::from_millis;
    Clocks {
        error: ms(error),
        period: ms(100),
        deadline: ms(40),
        delay: ms(2),
        episodes: 3,
        seed: 4,
        greedy: false,
    }
}

#[test]
fn right_clocks_play_the_episodes_of_the_fleet() {
    for team in [drones(3), junctions(2, 3)] {
        let found = clock_study(&team.policy, &mut *team.envs(), &clocks(0)).unwrap();
        let plan = RunPlan { episodes: 3, seed: 4, ..RunPlan::default() };
        let (host, _) = team.moments(plan, &Faults::default(), 1);
        let returns: Vec<f64> = host.episodes().iter().map(|e| e.total).collect();
        assert_eq!((found.returns, found.missed, found.held), (returns, 0, 0));
        assert!(found.expected > 0);
    }
}

#[test]
fn wrong_clocks_cost_messages_once_they_differ_by_more_than_a_deadline() {
    // Junctions have the same neighbours at all times. Drones that look at different moments also disagree about who is near.
    let team = junctions(2, 3);
    let cost = |error| clock_study(&team.policy, &mut *team.envs(), &clocks(error)).unwrap();
    // Two clocks differ by at most 30 ms, and a message takes 2.
    assert_eq!(cost(15).missed, 0);
    let (some, many) = (cost(40), cost(80));
    assert!(some.missed > 0 && many.missed > some.missed, "{some:?} {many:?}");
    assert_eq!(cost(40), cost(40));
    assert!(clock_study(&team.policy, &mut *team.envs(), &clocks(100)).is_err());
}
