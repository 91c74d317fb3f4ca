//! What a fleet needs to know of a world beyond its two traits, with an answer that fits every world.

use equimarl_worlds::{Symmetric, Traffic, Wildlife};

/// What a fleet needs to know of a world.
#[derive(Clone, Copy, Debug)]
pub struct Habits<W> {
    /// What an agent's body does while nobody decides for it.
    pub hold: fn(&W, usize) -> usize,
    /// Whether two agents can ever be neighbours: those need a link.
    pub may_meet: fn(&W, usize, usize) -> bool,
}

impl<W: Symmetric> Habits<W> {
    /// Action 0 while nobody decides; everybody may meet everybody.
    pub fn any() -> Habits<W> {
        Habits { hold: |_, _| 0, may_meet: |_, _, _| true }
    }
}

impl Habits<Wildlife> {
    /// A drone hovers where it is; all drones may meet.
    pub fn wildlife() -> Habits<Wildlife> {
        Habits::any()
    }
}

impl Habits<Traffic> {
    /// A light stays as it is; junctions do not move.
    pub fn traffic() -> Habits<Traffic> {
        Habits {
            hold: |world, agent| world.phase(agent),
            may_meet: |world, a, b| {
                let cols = world.options().cols;
                (a / cols).abs_diff(b / cols) + (a % cols).abs_diff(b % cols) == 1
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_worlds::{TrafficOptions, World};

    #[test]
    fn junctions_that_may_meet_are_those_that_talk() {
        let world = Traffic::new(TrafficOptions { rows: 3, cols: 2, ..TrafficOptions::default() }).unwrap();
        let may_meet = Habits::traffic().may_meet;
        let mut edges = vec![];
        for a in 0..world.agents() {
            world.neighbours(a, &mut edges);
            for b in 0..world.agents() {
                assert_eq!(may_meet(&world, a, b), edges.iter().any(|e| e.from == b), "{a} {b}");
            }
        }
    }
}
