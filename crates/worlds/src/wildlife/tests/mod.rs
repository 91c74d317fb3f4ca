//! The wildlife world against its rules.

mod pictures;
mod rules;
mod scenes;
mod states;
mod symmetry;
mod wind;

use super::*;
use crate::stream::Purpose;

/// A world with somebody somewhere.
fn placed(grid: usize, drones: &[[usize; 2]], poacher: [usize; 2], steps: usize) -> Wildlife {
    let mut world = Wildlife::new(drones.len(), grid).unwrap();
    world.place(drones, poacher, steps).unwrap();
    world
}

/// The same world with its drones stored in another order.
fn reordered(world: &Wildlife, order: &[usize]) -> Wildlife {
    let drones: Vec<[usize; 2]> = world.drones().collect();
    let drones: Vec<[usize; 2]> = order.iter().map(|&i| drones[i]).collect();
    let mut other = world.clone();
    other.place(&drones, world.poacher(), world.steps()).unwrap();
    other
}

/// A random order of 0..n.
fn shuffled(n: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for k in (1..n).rev() {
        order.swap(k, stream.below(k as u32 + 1) as usize);
    }
    order
}

fn random_actions(world: &Wildlife, stream: &mut Stream) -> Vec<usize> {
    (0..world.team()).map(|_| stream.below(MOVES as u32) as usize).collect()
}

/// Whom an agent hears, and along which vector.
fn neighbours(world: &Wildlife, agent: usize) -> Vec<(usize, Vec<f32>)> {
    let mut edges = Edges::default();
    world.neighbours(agent, &mut edges);
    edges.iter().map(|(from, vector)| (from, vector.to_vec())).collect()
}

fn pixels(world: &Wildlife) -> usize {
    world.spec().image.unwrap().iter().product()
}
