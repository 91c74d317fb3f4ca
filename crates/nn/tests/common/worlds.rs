//! What networks need to know of two worlds with images, from the plane alone. Unit tests share this file.

use super::Interface;
use equimarl_group::{Element, Group, Plane};

/// Drones that stay or move in four directions, which turn with the plane.
pub fn wildlife(drones: usize, grid: usize, group: &Group) -> Interface {
    const MOVES: [[i32; 2]; 5] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];
    let plane = Plane::new(group).unwrap();
    let turn = |g: Element, a: usize| MOVES.iter().position(|&m| m == plane.vector(g, MOVES[a])).unwrap_or(a);
    let actions = permutation(group, 5, turn);
    let size = 3 * grid;
    Interface {
        world: "wildlife".into(),
        agents: drones,
        image: [1, size, size],
        team_image: [drones, size, size],
        team_heads: vec![actions.clone(); drones],
        actions,
        ..Interface::default()
    }
}

/// Junctions with two phases, which a quarter turn exchanges; a turn also moves the junctions.
pub fn traffic(rows: usize, cols: usize, group: &Group) -> Interface {
    let plane = Plane::new(group).unwrap();
    let swaps = |g: Element| plane.matrix(g)[0][0] == 0;
    let turn = |g: Element, action: usize| if swaps(g) { 1 - action } else { action };
    // Twice the offset from the centre is a whole number.
    let junction = |g: Element, agent: usize| {
        let offset = |x: usize, n: usize| 2 * x as i32 - (n as i32 - 1);
        let [y, x] = plane.vector(g, [offset(agent / cols, rows), offset(agent % cols, cols)]);
        let back = |v: i32, n: usize| ((v + n as i32 - 1) / 2) as usize;
        back(y, rows) * cols + back(x, cols)
    };
    let team_heads = if rows != cols && group.elements().any(swaps) {
        vec![] // the city itself has no quarter turn
    } else {
        vec![permutation(group, 2 * rows * cols, |g, k| 2 * junction(g, k / 2) + turn(g, k % 2))]
    };
    Interface {
        world: "traffic".into(),
        agents: rows * cols,
        image: [3, 35, 35],
        actions: permutation(group, 2, turn),
        team_image: [3, 5 * (8 * rows - 1), 5 * (8 * cols - 1)],
        team_heads,
        ..Interface::default()
    }
}

/// A permutation of `n` things per generator, as text; `to(g, k)` is where g sends k.
fn permutation(group: &Group, n: usize, to: impl Fn(Element, usize) -> usize) -> String {
    let lists: Vec<Vec<usize>> = group
        .generators()
        .iter()
        .map(|&g| {
            let mut gather = vec![0; n];
            (0..n).for_each(|k| gather[to(g, k)] = k);
            gather
        })
        .collect();
    if lists.iter().all(|list| list.is_sorted()) {
        return format!("{n}*trivial");
    }
    let text = |list: &Vec<usize>| list.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    format!("perm[{}]", lists.iter().map(text).collect::<Vec<_>>().join("; "))
}
