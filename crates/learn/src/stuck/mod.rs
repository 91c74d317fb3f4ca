//! A greedy team that cannot decide: what it sees and does comes again and again, and so it always will.
//!
//! With s(t) for all observations and edges, and a(t) for what the team does, it is stuck if
//!
//! ```text
//! s(t) = s(t - p)  and  a(t) = a(t - p)      for some steps t in a row and a small p
//! ```
//!
//! and the episode is cut off like that. There are three reasons:
//!
//! - *symmetric*: a pair of a group element g and a permutation k of agents leaves all that is seen as it is, g s_i = s_k(i), and
//!   moves what the team does: it takes agents to others, or what an agent in its place does to something else. An equivariant policy
//!   has a_k(i) = g a_i there, so whatever has to be done differently by these two it cannot do, however long it learns. That is
//!   why it is stuck if such a thing has to be done; the margin beside it tells a tie from a preference.
//! - *indifferent*: for some agent, the two largest probabilities are nearly the same.
//! - *settled*: neither; the team prefers to stay as it is, because it is done or because it learned nothing better.
//!
//! What no agent sees may still change, and then chance gets the team away.

mod pair;
mod sight;
mod watch;

pub use pair::Pair;
pub(crate) use watch::{Watch, Watcher};

use serde::{Deserialize, Serialize};
use std::fmt;

/// So many examples of each reason are kept.
const KEPT: usize = 3;

/// Why a team is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// A symmetry of all that is seen moves its actions.
    Symmetric,
    /// Two actions are nearly as good.
    Indifferent,
    /// It wants to.
    Settled,
}

/// A team that was stuck when its episode was cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stuck {
    /// The number of the episode.
    pub episode: u64,
    /// The step from which everything came again.
    pub step: usize,
    /// After how many steps.
    pub period: usize,
    /// Why.
    pub why: Why,
    /// The difference of the two largest probabilities of the agent for which it is smallest; where agents act by vectors, the
    /// length of the shortest vector.
    pub margin: f64,
    /// That agent.
    pub agent: usize,
    /// What leaves everything that is seen as it is, if there is such a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "episode {} from step {}: ", self.episode, self.step)?;
        match (&self.pair, self.why) {
            (Some(pair), _) => write!(
                f,
                "{pair} leaves all that is seen as it is, so an equivariant team cannot break this symmetry; its two best differ by \
                 {:.1e} at least",
                self.margin
            ),
            (None, Why::Settled) => write!(f, "it prefers that, by a margin of {:.4}", self.margin),
            (None, _) => write!(f, "the two best of agent {} differ by {:.1e}", self.agent, self.margin),
        }
    }
}

/// How many of some episodes were cut off with the team stuck, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StuckReport {
    /// By a symmetry of what is seen.
    pub symmetric: usize,
    /// By indifference.
    pub indifferent: usize,
    /// By preference.
    pub settled: usize,
    /// The first ones of each reason.
    pub examples: Vec<Stuck>,
}

impl StuckReport {
    pub(crate) fn add(&mut self, found: Stuck) {
        let count = match found.why {
            Why::Symmetric => &mut self.symmetric,
            Why::Indifferent => &mut self.indifferent,
            Why::Settled => &mut self.settled,
        };
        *count += 1;
        if *count <= KEPT {
            self.examples.push(found);
        }
    }

    /// Whether some team could not decide. One that settled could.
    pub fn is_undecided(&self) -> bool {
        self.symmetric + self.indifferent > 0
    }

    /// The same with examples in the order of episodes: those that run side by side end in any order.
    pub(crate) fn sorted(mut self) -> StuckReport {
        self.examples.sort_by_key(|found| found.episode);
        self
    }
}

impl fmt::Display for StuckReport {
    /// A line, and one per example.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StuckReport { symmetric, indifferent, settled, examples } = self;
        let all = symmetric + indifferent + settled;
        let plural = if all == 1 { "" } else { "s" };
        write!(f, "stuck at the end of {all} episode{plural}: ")?;
        write!(f, "{symmetric} symmetric, {indifferent} indifferent, {settled} settled")?;
        examples.iter().try_for_each(|found| write!(f, "\n  {found}"))
    }
}
