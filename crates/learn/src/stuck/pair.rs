//! The search for a symmetry of what a team sees: g and k with g s_i = s_k(i) for all agents i, edges and senders included.

use super::sight::{Heard, Sight};
use equimarl_group::Element;
use equimarl_worlds::{GroupAction, Joint};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Transforming in f32 rounds; what differs by more is another thing to see.
const SAME: f32 = 1e-5;
/// Larger teams are not searched: there are too many permutations.
const MOST_AGENTS: usize = 64;
/// So many places of agents are tried for one element.
const PATIENCE: usize = 20_000;

/// A group element and a permutation of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The element, by its name.
    pub element: String,
    /// Whose place each agent takes.
    pub agents: Vec<usize>,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with ", self.element)?;
        let mut done = vec![false; self.agents.len()];
        for first in (0..self.agents.len()).filter(|&i| self.agents[i] != i) {
            if done[first] {
                continue;
            }
            let (mut at, mut cycle) = (first, vec![]);
            while !done[at] {
                done[at] = true;
                cycle.push(at.to_string());
                at = self.agents[at];
            }
            write!(f, "({})", cycle.join(" "))?;
        }
        match done.contains(&true) {
            true => write!(f, " of the agents"),
            false => write!(f, "every agent in its place"),
        }
    }
}

/// The first pair of one of these elements that leaves all that is seen as it is and moves what the team does, which is this: it
/// takes agents to others, or what an agent in its place does to something else.
pub(super) fn find(
    sight: &Sight,
    actions: &Joint,
    acts: &GroupAction,
    shape: [usize; 3],
    elements: &[Element],
) -> Option<Pair> {
    if sight.own.len() > MOST_AGENTS {
        return None;
    }
    elements.iter().find_map(|&g| {
        let turned = sight.transformed(acts, shape, g);
        if !same(&turned.cause, &sight.cause) {
            return None;
        }
        let agents = Search::new(&turned, sight, moved_by(acts, g, actions)).first()?;
        Some(Pair { element: acts.name(g), agents })
    })
}

/// Which agents do what g takes to something else. A vector that is fixed by all that leaves what is seen as it is may be zero for
/// that reason alone; so of vectors it is asked whether g moves any.
fn moved_by(acts: &GroupAction, g: Element, actions: &Joint) -> Vec<bool> {
    let dim = acts.vector_dim();
    if dim == 0 {
        return actions.choices.iter().map(|&a| acts.action(g, a) != a).collect();
    }
    let moves = (0..dim).any(|k| {
        let (mut one, mut moved) = (vec![0.0; dim], vec![0.0; dim]);
        one[k] = 1.0;
        acts.vector(g, &one, &mut moved);
        one.iter().zip(&moved).any(|(a, b)| (a - b).abs() > f64::from(SAME))
    });
    vec![moves; actions.vectors.len() / dim]
}

fn same(one: &[f32], two: &[f32]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(a, b)| (a - b).abs() <= SAME)
}

/// Places agents one after the other, and goes back where an edge does not fit.
struct Search<'a> {
    /// Where each agent may go by what it sees and senses.
    may: Vec<Vec<usize>>,
    /// The edge vectors between agents, \[who hears\]\[who is heard\]: transformed ones, and those here.
    from: Vec<Vec<Option<&'a [f32]>>>,
    to: Vec<Vec<Option<&'a [f32]>>>,
    /// Which agents do something else when they stay in their places.
    moved: Vec<bool>,
    left: usize,
}

impl<'a> Search<'a> {
    fn new(turned: &'a Sight, here: &'a Sight, moved: Vec<bool>) -> Search<'a> {
        let n = here.own.len();
        let fits = |i: usize, j: usize| {
            turned.tokens.get(i) == here.tokens.get(j)
                && same(&turned.own[i], &here.own[j])
                && same_senders(&turned.heard[i], &here.heard[j])
        };
        let may = (0..n).map(|i| (0..n).filter(|&j| fits(i, j)).collect()).collect();
        Search { may, from: between(turned), to: between(here), moved, left: PATIENCE }
    }

    fn first(mut self) -> Option<Vec<usize>> {
        let mut places = vec![];
        self.place(&mut places).then_some(places)
    }

    fn place(&mut self, places: &mut Vec<usize>) -> bool {
        let i = places.len();
        if i == self.may.len() {
            return places.iter().enumerate().any(|(i, &j)| i != j || self.moved[i]);
        }
        for j in self.may[i].clone() {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            if places.contains(&j) || !self.fits(places, j) {
                continue;
            }
            places.push(j);
            if self.place(places) {
                return true;
            }
            places.pop();
        }
        false
    }

    /// Whether the next agent can go to j, by its edges with those that have their places.
    fn fits(&self, places: &[usize], j: usize) -> bool {
        let i = places.len();
        let edge = |one: Option<&[f32]>, two: Option<&[f32]>| match (one, two) {
            (None, None) => true,
            (Some(one), Some(two)) => same(one, two),
            _ => false,
        };
        let mut all = places.iter().enumerate();
        all.all(|(k, &at)| edge(self.from[i][k], self.to[j][at]) && edge(self.from[k][i], self.to[at][j]))
    }
}

fn between(sight: &Sight) -> Vec<Vec<Option<&[f32]>>> {
    let n = sight.own.len();
    let mut all = vec![vec![None; n]; n];
    for (row, heard) in all.iter_mut().zip(&sight.heard) {
        for edge in heard {
            if let Some(from) = edge.from.ok().filter(|&from| from < n) {
                row[from] = Some(&edge.vector[..]);
            }
        }
    }
    all
}

/// Whether two agents sense the same things, in any order: networks take a mean over them.
fn same_senders(one: &[Heard], two: &[Heard]) -> bool {
    let mut left: Vec<&Heard> = two.iter().filter(|heard| heard.from.is_err()).collect();
    for heard in one.iter().filter(|heard| heard.from.is_err()) {
        let equal = |other: &&Heard| {
            other.from == heard.from
                && same(&other.vector, &heard.vector)
                && same(&other.features, &heard.features)
        };
        let Some(at) = left.iter().position(equal) else { return false };
        left.swap_remove(at);
    }
    left.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of drones: to stay is the same under every turn, to move is not.
    #[test]
    fn only_what_is_done_counts() {
        let wildlife = equimarl_worlds::builtin().usual("wildlife").unwrap();
        let envs = equimarl_worlds::builtin().make(&wildlife, &"C4".parse().unwrap(), 1).unwrap();
        let acts = GroupAction::new(envs.spec()).unwrap();
        let mut actions = Joint::of(envs.spec());
        actions.choices.copy_from_slice(&[0, 1, 2]);
        assert_eq!(moved_by(&acts, 1, &actions), [false, true, true]);
        assert_eq!(moved_by(&acts, 0, &actions), [false; 3]);
    }

    #[test]
    fn pairs_are_said_in_cycles() {
        let pair = |agents: &[usize]| Pair { element: "m".into(), agents: agents.to_vec() }.to_string();
        assert_eq!(pair(&[0, 1]), "m with every agent in its place");
        assert_eq!(pair(&[1, 0, 2]), "m with (0 1) of the agents");
        assert_eq!(pair(&[1, 2, 0, 4, 3]), "m with (0 1 2)(3 4) of the agents");
    }
}
