//! Collisions, captures, ends, draws and neighbours on hand-worked examples and random rollouts.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const STAY: usize = 0;
const DOWN: usize = 1;
const RIGHT: usize = 2;
const UP: usize = 3;
const LEFT: usize = 4;

/// Where the drones end, with the poacher out of the way.
fn after(drones: &[[usize; 2]], actions: &[usize]) -> Vec<[usize; 2]> {
    let mut world = placed(7, drones, [6, 6], 0);
    world.apply(actions, &STAY);
    world.drones().collect()
}

#[test]
fn collisions_by_hand() {
    // Moves wrap around.
    assert_eq!(after(&[[0, 0], [6, 5]], &[UP, DOWN]), [[6, 0], [0, 5]]);
    assert_eq!(after(&[[3, 0], [3, 6]], &[LEFT, RIGHT]), [[3, 6], [3, 0]], "a swap is allowed");
    assert_eq!(after(&[[2, 2], [2, 4]], &[RIGHT, LEFT]), [[2, 2], [2, 4]], "both fall back");
    assert_eq!(after(&[[2, 2], [2, 3]], &[RIGHT, STAY]), [[2, 2], [2, 3]], "a drone that stays blocks");
    assert_eq!(after(&[[2, 2], [2, 3]], &[RIGHT, RIGHT]), [[2, 3], [2, 4]], "one follows the other");
    assert_eq!(
        after(&[[2, 2], [2, 4], [3, 2]], &[RIGHT, LEFT, UP]),
        [[2, 2], [2, 4], [3, 2]],
        "the drone that falls back blocks the one that wanted its cell"
    );
    assert_eq!(
        after(&[[2, 2], [2, 4], [1, 3], [3, 3]], &[RIGHT, LEFT, DOWN, UP]),
        [[2, 2], [2, 4], [1, 3], [3, 3]],
        "four ways into one cell"
    );
    assert_eq!(
        after(&[[1, 1], [1, 2], [1, 3], [1, 5]], &[RIGHT, RIGHT, RIGHT, LEFT]),
        [[1, 1], [1, 2], [1, 3], [1, 5]],
        "a clash at the head stops the whole column"
    );
    assert_eq!(
        after(&[[1, 1], [1, 2], [2, 2], [2, 1]], &[RIGHT, DOWN, LEFT, UP]),
        [[1, 2], [2, 2], [2, 1], [1, 1]],
        "a ring turns"
    );
}

#[test]
fn captures_by_hand() {
    let try_it = |grid, drones: &[[usize; 2]], poacher, actions: &[usize]| {
        placed(grid, drones, poacher, 0).apply(actions, &DOWN)
    };
    let captured = |captors: f64| Outcome { reward: 1.0 + captors - 0.05, end: End::Terminated };
    let missed = Outcome { reward: -0.05, end: End::Running };
    assert_eq!(try_it(7, &[[3, 3], [3, 4]], [3, 3], &[STAY, STAY]), captured(1.0));
    assert_eq!(try_it(7, &[[0, 3], [6, 3]], [0, 3], &[STAY, STAY]), captured(1.0), "around the border");
    assert_eq!(try_it(7, &[[3, 3], [2, 2]], [3, 3], &[STAY, STAY]), missed, "a diagonal is not adjacent");
    assert_eq!(try_it(7, &[[3, 4], [3, 2]], [3, 3], &[STAY, STAY]), missed, "nobody above");
    assert_eq!(try_it(7, &[[3, 4], [3, 2]], [3, 3], &[LEFT, RIGHT]), missed, "both fall back");
    let five = [[3, 3], [2, 3], [4, 3], [3, 2], [3, 4]];
    assert_eq!(try_it(7, &five, [3, 3], &[STAY; 5]), captured(4.0));
    let all = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1]];
    assert_eq!(try_it(3, &all, [2, 2], &[STAY; 8]), missed, "the poacher has the only free cell");
    assert_eq!(try_it(3, &all, [0, 0], &[STAY; 8]), captured(4.0));

    // The test comes before the poacher's move, and a captured poacher does not move.
    let mut world = placed(7, &[[3, 2], [2, 3]], [3, 3], 0);
    assert_eq!(world.apply(&[RIGHT, STAY], &LEFT), captured(1.0));
    assert_eq!(world.poacher(), [3, 3]);
    let mut world = placed(7, &[[3, 3], [5, 3]], [4, 4], 0);
    assert_eq!(world.apply(&[STAY, STAY], &LEFT), missed, "it walks between the two only after the test");
    assert_eq!(world.poacher(), [4, 3]);
}

#[test]
fn the_last_step_truncates_unless_it_captures() {
    let mut world = placed(7, &[[0, 0], [0, 2]], [4, 4], 98);
    assert_eq!(world.apply(&[STAY, STAY], &STAY).end, End::Running);
    let outcome = world.apply(&[STAY, STAY], &DOWN);
    assert_eq!((outcome.end, outcome.reward), (End::Truncated, -0.05));
    assert_eq!((world.steps(), world.poacher()), (100, [5, 4]), "the poacher moves on a truncated step");
    let mut world = placed(7, &[[4, 4], [4, 2]], [4, 4], 99);
    assert_eq!(world.apply(&[STAY, RIGHT], &DOWN).end, End::Terminated);
}

#[test]
fn neighbours_by_hand() {
    let world = placed(7, &[[0, 0], [3, 2], [3, 3], [6, 0], [0, 4]], [6, 6], 0);
    let edge = |from: usize, row: f32, col: f32| (from, vec![row / 3.0, col / 3.0]);
    // (3, 3) away is out of reach, 4 straight is not; (6, 0) would be adjacent on the torus and is not heard.
    assert_eq!(neighbours(&world, 0), [edge(1, -3.0, -2.0), edge(4, 0.0, -4.0)]);
    assert_eq!(neighbours(&world, 2), [edge(1, 0.0, 1.0), edge(4, 3.0, -1.0)]);
    let far = placed(101, &[[0, 0], [4, 1], [4, 2]], [9, 9], 0);
    assert_eq!(neighbours(&far, 0), [edge(1, -4.0, -1.0)], "the reach does not grow with the grid");
}

#[test]
fn sizes_that_make_no_world_are_refused() {
    for (drones, grid, word) in [
        (0, 7, "at least 2"),
        (1, 7, "at least 2"),
        (3, 6, "odd"),
        (3, 0, "at least 3"),
        (2, 1, "at least 3"),
        (3, 683, "at most 681 cells a side, or its pictures are too large"),
        (9, 3, "at most 8"),
        (usize::MAX, 7, "at most 48"),
    ] {
        let error = Wildlife::new(drones, grid).unwrap_err();
        assert!(matches!(error, Error::BadWorld(_)));
        let text = error.to_string();
        assert!(text.contains(word) && text.lines().count() == 1, "{text}");
    }
    assert!(Wildlife::new(8, 3).is_ok());
    let world = Wildlife::new(3, 7).unwrap();
    assert!(matches!(world.under(&"C3".parse().unwrap()), Err(Error::Group(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn rollouts_keep_the_rules(half in 1usize..5, crowd in 2usize..12, seed: u64) {
        let grid = 2 * half + 1;
        let mut world = Wildlife::new(crowd.min(grid * grid - 1), grid).unwrap();
        let mut chance = Stream::new(seed, Purpose::World, 0);
        let mut choice = Stream::new(seed, Purpose::Action, 0);
        let words = |stream: &Stream| -> u64 {
            let state = serde_json::to_value(stream.save()).unwrap();
            state["position"].as_str().unwrap().parse().unwrap()
        };
        for _ in 0..3 {
            let start = words(&chance);
            world.reset(&mut chance).unwrap();
            prop_assert_eq!(words(&chance) - start, world.team() as u64 + 1);
            let everybody: BTreeSet<[usize; 2]> = world.drones().chain([world.poacher()]).collect();
            prop_assert_eq!(everybody.len(), world.team() + 1);
            for step in 1.. {
                let before: Vec<[usize; 2]> = world.drones().collect();
                let poacher = world.poacher();
                let draws = words(&chance);
                let draw = world.draw(&mut chance);
                prop_assert_eq!(words(&chance) - draws, 1);
                let outcome = world.apply(&random_actions(&world, &mut choice), &draw);
                let drones: Vec<[usize; 2]> = world.drones().collect();
                prop_assert_eq!(drones.iter().collect::<BTreeSet<_>>().len(), drones.len());
                let apart = |a: [usize; 2], b: [usize; 2]| -> usize {
                    (0..2).map(|k| { let d = a[k].abs_diff(b[k]); d.min(grid - d) }).sum()
                };
                prop_assert!(drones.iter().zip(&before).all(|(&a, &b)| apart(a, b) <= 1));
                let on = drones.contains(&poacher);
                let near = drones.iter().filter(|&&d| apart(d, poacher) == 1).count();
                let (reward, end) = match (on, near, step) {
                    (true, 1.., _) => (1.0 + near as f64 - 0.05, End::Terminated),
                    (_, _, 100) => (-0.05, End::Truncated),
                    _ => (-0.05, End::Running),
                };
                prop_assert_eq!(outcome, Outcome { reward, end });
                prop_assert_eq!(world.steps(), step);
                if end != End::Running {
                    break;
                }
                prop_assert!(apart(world.poacher(), poacher) <= 1);
            }
        }
    }

    #[test]
    fn the_order_of_drones_in_storage_changes_nothing(drones in 2usize..9, half in 1usize..4, seed: u64) {
        let grid = 2 * half + 1;
        let mut world = Wildlife::new(drones.min(grid * grid - 1), grid).unwrap();
        let mut stream = Stream::new(seed, Purpose::Audit, 0);
        world.reset(&mut stream).unwrap();
        for _ in 0..100 {
            let order = shuffled(world.team(), &mut stream);
            let mut other = reordered(&world, &order);
            let place = |i: usize| order.iter().position(|&k| k == i).unwrap();
            let actions = random_actions(&world, &mut stream);
            let draw = world.draw(&mut stream);
            let reordered_actions: Vec<usize> = order.iter().map(|&i| actions[i]).collect();
            for i in 0..world.team() {
                prop_assert!(world.id(i).is_some());
                prop_assert_eq!(world.id(i), other.id(place(i)));
                let mut edges = neighbours(&world, i);
                for (from, _) in &mut edges {
                    *from = place(*from);
                }
                edges.sort_by_key(|(from, _)| *from);
                prop_assert_eq!(edges, neighbours(&other, place(i)));
            }
            let outcome = world.apply(&actions, &draw);
            prop_assert_eq!(outcome, other.apply(&reordered_actions, &draw));
            prop_assert!(reordered(&world, &order).same_state(&other));
            if outcome.end != End::Running {
                world.reset(&mut stream).unwrap();
            }
        }
    }
}
