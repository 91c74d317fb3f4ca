//! Watching an episode for a team that is stuck.

use super::pair::find;
use super::sight::Sight;
use super::{Stuck, Why};
use crate::error::Result;
use equimarl_group::Element;
use equimarl_nn::{NetworkKind, Policy};
use equimarl_worlds::{Edges, End, GroupAction, Joint, Token, World};
use std::collections::VecDeque;

/// The longest circle that is noticed.
const LONGEST: usize = 4;
/// For so many steps in a row everything has to come again, and for two whole circles.
const PATIENCE: usize = 5;
/// Bodies that come to rest move less and less for many steps.
const SAME: f64 = 1e-3;
/// Probabilities that differ by less are nearly the same.
const MARGIN: f64 = 0.02;

/// What is the same for all episodes of a policy.
pub(crate) struct Watcher {
    acts: GroupAction,
    shape: [usize; 3],
    /// What the policy transforms with. Agents share weights, so even a plain policy cannot tell those apart that see the same.
    elements: Vec<Element>,
    /// Whether it is told what breaks the symmetry.
    told: bool,
}

impl Watcher {
    pub fn new(policy: &Policy, world: &dyn World) -> Result<Watcher> {
        let (acts, config) = (GroupAction::new(world.spec())?, policy.config());
        let elements = match config.kind {
            NetworkKind::Equivariant if config.group()? == acts.group => acts.group.elements().collect(),
            kind if kind.is_central() => vec![],
            _ => vec![0],
        };
        let (shape, told) = (world.spec().image.unwrap_or_default(), !config.interface.cause.is_empty());
        Ok(Watcher { acts, shape, elements, told })
    }
}

/// A step, as far as it can come again.
#[derive(Clone, Debug)]
struct Glimpse {
    /// What agents see, by ids where there are some, and edges.
    ids: Vec<u64>,
    from: Vec<u32>,
    numbers: Vec<f32>,
    actions: Joint,
    /// The smallest margin, and whose it is.
    margin: (f64, usize),
}

impl Glimpse {
    fn of(world: &dyn World, watcher: &Watcher, rows: &[f32], actions: &Joint) -> Glimpse {
        let (mut ids, mut from, mut numbers, mut edges) = (vec![], vec![], vec![], Edges::default());
        let each = match watcher.acts.features_dim() {
            0 => watcher.shape.iter().product(),
            dim => dim,
        };
        for agent in 0..world.agents() {
            match world.id(agent) {
                Some(id) => ids.push(id),
                None => {
                    let start = numbers.len();
                    numbers.resize(start + each, 0.0);
                    world.observe(agent, &mut numbers[start..]);
                }
            }
            world.neighbours(agent, &mut edges);
            from.extend_from_slice(&edges.from);
            numbers.extend_from_slice(&edges.vectors);
        }
        Glimpse {
            ids,
            from,
            numbers,
            actions: actions.clone(),
            margin: margin(rows, actions, world.agents()),
        }
    }

    fn is_again(&self, before: &Glimpse) -> bool {
        let near = |(a, b): (&f32, &f32)| f64::from((a - b).abs()) <= SAME;
        let (now, then) = (&self.actions, &before.actions);
        now.choices == then.choices
            && now.vectors.iter().zip(&then.vectors).all(|(a, b)| (a - b).abs() <= SAME)
            && (&self.ids, &self.from) == (&before.ids, &before.from)
            && self.numbers.len() == before.numbers.len()
            && self.numbers.iter().zip(&before.numbers).all(near)
    }
}

/// The smallest difference of an agent's two largest probabilities, or the shortest vector, and whose it is.
fn margin(rows: &[f32], actions: &Joint, agents: usize) -> (f64, usize) {
    let each = |numbers: usize| (numbers / agents.max(1)).max(1);
    let least = |least: (f64, usize), found: (usize, f64)| {
        if found.1 < least.0 { (found.1, found.0) } else { least }
    };
    if actions.is_vectors() {
        let lengths = actions.vectors.chunks(each(actions.vectors.len()));
        let lengths = lengths.map(|v| v.iter().map(|x| x * x).sum::<f64>().sqrt());
        return lengths.enumerate().fold((f64::INFINITY, 0), least);
    }
    let choices = rows.chunks(each(rows.len())).map(|row| {
        let (mut best, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for p in row.iter().map(|&p| f64::from(p).exp()) {
            (best, second) = if p > best { (p, best) } else { (best, second.max(p)) };
        }
        // With a single action there is nothing to decide.
        if second.is_finite() { best - second } else { best }
    });
    choices.enumerate().fold((f64::INFINITY, 0), least)
}

/// One episode of a greedy team.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    past: VecDeque<Glimpse>,
    /// For how many steps in a row everything came again after 1, 2, ... steps.
    again: [usize; LONGEST],
    steps: usize,
    found: Option<Stuck>,
}

impl Watch {
    /// The team is about to act in a state of which the policy said these rows; tokens stay the same for a whole episode.
    pub fn step(&mut self, watcher: &Watcher, here: (&dyn World, &[Token]), rows: &[f32], actions: &Joint) {
        let world = here.0;
        let now = Glimpse::of(world, watcher, rows, actions);
        for (p, again) in self.again.iter_mut().enumerate() {
            let before = self.past.len().checked_sub(p + 1).map(|at| &self.past[at]);
            *again = if before.is_some_and(|before| now.is_again(before)) { *again + 1 } else { 0 };
        }
        self.past.push_back(now);
        if self.past.len() > LONGEST {
            self.past.pop_front();
        }
        let circle = (1..=LONGEST).find(|p| self.again[p - 1] >= PATIENCE.max(2 * p));
        match circle {
            None => self.found = None,
            Some(period) if self.found.is_none() => self.found = Some(self.why(watcher, here, period)),
            Some(_) => {}
        }
        self.steps += 1;
    }

    fn why(&self, watcher: &Watcher, here: (&dyn World, &[Token]), period: usize) -> Stuck {
        let last = self.past.iter().rev().take(period).map(|glimpse| glimpse.margin);
        let (margin, agent) = last.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
        let sight = Sight::of(here, &watcher.acts, watcher.told);
        // A step that has come again and again is among those of the past.
        let pair = self
            .past
            .back()
            .and_then(|now| find(&sight, &now.actions, &watcher.acts, watcher.shape, &watcher.elements));
        let why = match (&pair, margin < MARGIN) {
            (Some(_), _) => Why::Symmetric,
            (None, true) => Why::Indifferent,
            (None, false) => Why::Settled,
        };
        // Everything came again from the step on whose copy was the first.
        let step = self.steps - self.again[period - 1] - (period - 1);
        Stuck { episode: 0, step, period, why, margin, agent, pair }
    }

    /// How the team was when the episode ended: stuck only if it was cut off.
    pub fn finish(&mut self, episode: u64, end: End) -> Option<Stuck> {
        let found = std::mem::take(self).found.filter(|_| end == End::Truncated)?;
        Some(Stuck { episode, ..found })
    }
}
