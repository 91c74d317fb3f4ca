//! The solver against a brute-force oracle, and against its own policy in simulation.

use super::*;
use crate::batch::EnvBatch;
use crate::controller::Named;
use crate::episode::play;
use crate::world::{End, Exact, World};

/// The reward of a joint action, and the states that may follow it.
type Tried = (f64, Vec<(usize, f64)>);

/// The optimum over all ordered absolute states, through the world's own `apply`, without any symmetry.
fn brute_force(drones: usize, grid: usize, wind: Wind) -> f64 {
    let cells = grid * grid;
    let mut world = Wildlife::new(drones, grid).unwrap().in_wind(wind).unwrap();
    let at = |cell: usize| [cell / grid, cell % grid];
    let number =
        |w: &Wildlife| w.drones().chain([w.poacher()]).fold(0, |n, [row, col]| n * cells + row * grid + col);
    let states = cells.pow(drones as u32 + 1);
    let joint = MOVES.pow(drones as u32);
    // Per state and joint action; nothing follows a capture, and two drones on one cell are no state.
    let mut steps: Vec<Option<Vec<Tried>>> = Vec::with_capacity(states);
    for state in 0..states {
        let digit = |k: usize| state / cells.pow(k as u32) % cells;
        let team: Vec<[usize; 2]> = (1..=drones).rev().map(|k| at(digit(k))).collect();
        if world.place(&team, at(digit(0)), 0).is_err() {
            steps.push(None);
            continue;
        }
        assert_eq!(number(&world), state);
        let start = world.clone();
        let tried = (0..joint).map(|code| {
            let actions: Vec<usize> = (0..drones).map(|k| code / MOVES.pow(k as u32) % MOVES).collect();
            let mut reward = 0.0;
            let mut next = Vec::new();
            for (chance, p) in start.chances().unwrap() {
                world = start.clone();
                let outcome = world.apply(&actions, &chance);
                reward = outcome.reward;
                if outcome.end == End::Running {
                    next.push((number(&world), p));
                }
            }
            (reward, next)
        });
        steps.push(Some(tried.collect()));
    }
    let mut value = vec![0.0; states];
    for _ in 0..STEP_LIMIT {
        value = steps
            .iter()
            .map(|tried| {
                tried.iter().flatten().fold(f64::NEG_INFINITY, |best, (reward, next)| {
                    let follows: f64 = next.iter().map(|&(s, p)| p * value[s]).sum();
                    best.max(reward + follows)
                })
            })
            .collect();
    }
    let starts = (0..states).filter(|&s| {
        let digit = |k: usize| s / cells.pow(k as u32) % cells;
        (0..=drones).all(|k| (0..k).all(|j| digit(j) != digit(k)))
    });
    let values: Vec<f64> = starts.map(|s| value[s]).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_solver_agrees_with_brute_force() {
    for (drones, grid) in [(2, 3), (3, 3), (2, 5)] {
        let slow = brute_force(drones, grid, Wind::CALM);
        let fast = solve(drones, grid).unwrap().mean_return();
        assert!((fast - slow).abs() < 1e-9, "{drones} drones, grid {grid}: {fast} {slow}");
    }
    for (strength, from) in [(0.3, "west"), (0.8, "north"), (1.0, "south")] {
        let slow = brute_force(2, 3, Wind::new(strength, from).unwrap());
        let fast = solve_in(2, 3, strength).unwrap().mean_return();
        assert!((fast - slow).abs() < 1e-9, "wind {strength} from {from}: {fast} {slow}");
    }
}

#[test]
fn the_policy_reaches_the_optimum_in_any_wind() {
    for from in ["north", "east", "south", "west", "any"] {
        let wind = Wind::new(0.6, from).unwrap();
        let world = Wildlife::new(2, 5).unwrap().in_wind(wind).unwrap();
        let mut best = Named::new("optimal", &world).unwrap();
        let played = play(&mut EnvBatch::of(&world, 1), &mut best, 4000, 11).unwrap();
        let optimum = solve_in(2, 5, 0.6).unwrap().mean_return();
        assert_eq!(world.optimum(), Some(optimum));
        let gap = (played.total.mean - optimum).abs();
        assert!(gap < 3.0 * played.total.stderr, "{from}: {played:?} against {optimum}");
    }
}

#[test]
fn the_policy_reaches_the_optimum() {
    for (drones, grid, episodes) in [(2, 5, 4000), (2, 7, 2000), (3, 7, 4000)] {
        let optimum = solve(drones, grid).unwrap();
        let world = Wildlife::new(drones, grid).unwrap();
        let mut best = Named::new("optimal", &world).unwrap();
        let played = play(&mut EnvBatch::of(&world, 1), &mut best, episodes, 11).unwrap();
        assert_eq!(world.optimum(), Some(optimum.mean_return()));
        let gap = (played.total.mean - optimum.mean_return()).abs();
        assert!(
            gap < 3.0 * played.total.stderr,
            "{drones} {grid}: {played:?} against {}",
            optimum.mean_return()
        );
    }
}

#[test]
fn the_paper_sizes_have_these_optima() {
    let optimum = solve(3, 7).unwrap();
    assert!((2.7..2.85).contains(&optimum.mean_return()), "{}", optimum.mean_return());
    assert!(solve(2, 7).unwrap().mean_return() < optimum.mean_return());
}

#[test]
fn what_cannot_be_solved_is_refused() {
    for (drones, grid) in [(1, 7), (2, 6), (0, 7), (6, 7), (40, 7), (1000, 101)] {
        let error = solve(drones, grid).unwrap_err().to_string();
        assert!(error.lines().count() == 1 && error.len() > 20, "{error}");
    }
}

#[test]
fn values_of_states_by_hand() {
    let optimum = solve(2, 7).unwrap();
    let mut world = Wildlife::new(2, 7).unwrap();
    let mut value = |drones: [[usize; 2]; 2], steps| {
        world.place(&drones, [3, 3], steps).unwrap();
        optimum.value(&world)
    };
    // One step away from a capture, with any number of steps left.
    assert_eq!(value([[3, 3], [3, 5]], 0), 1.95);
    assert_eq!(value([[3, 3], [3, 5]], 99), 1.95);
    // The last step cannot help drones that are far away.
    assert_eq!(value([[0, 0], [6, 6]], 99), -0.05);
    // The mean over starts is the optimum, here over all starts around one poacher.
    let cells: Vec<[usize; 2]> = (0..49).filter(|&c| c != 24).map(|c| [c / 7, c % 7]).collect();
    let pairs = cells.iter().flat_map(|&a| cells.iter().filter(move |&&b| b != a).map(move |&b| [a, b]));
    let values: Vec<f64> = pairs.map(|pair| value(pair, 0)).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean - optimum.mean_return()).abs() < 1e-9);
}
