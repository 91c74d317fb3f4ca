//! How much a symmetry is broken, not only whether.
//!
//! For a state s, a joint action a and an element g, the law of what follows is pushed forward by g and compared with the law of
//! what follows (g a) in g s:
//!
//! ```text
//! TV(s, a, g) = 1/2 sum over (reward, end, next) of | P(g^-1 (reward, end, next) | s, a) - P(reward, end, next | g s, g a) |
//! ```
//!
//! Laws are compared, not draws that correspond: where a capture ends the episode it does not matter where the wind would have
//! blown. Exact where a world can list what can be drawn ([`Exact::chances`]).

use crate::world::Exact;
use equimarl_group::Element;
use serde::Serialize;
use std::collections::BTreeMap;

/// The total variation over the states of a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Variation {
    /// The mean over all states.
    pub mean: f64,
    /// The largest one.
    pub most: f64,
}

impl Variation {
    pub(super) fn add(&mut self, found: f64, states: usize) {
        self.most = self.most.max(found);
        self.mean += (found - self.mean) / (states + 1) as f64;
    }
}

/// What sums of the same probabilities differ by.
const ROUNDING: f64 = 1e-15;

/// What follows a joint action, as text, with its probability.
type Law = BTreeMap<String, f64>;

/// The total variation in one state; `None` if the world cannot list what can be drawn. `turned` is the transformed state,
/// `cause` whether what breaks the symmetry is transformed along. Every outcome is applied, also those that no rollout has drawn.
pub(super) fn variation<W: Exact>(
    g: Element,
    (state, turned): (&W, &W),
    (actions, turned_actions): (&[usize], &[usize]),
    cause: bool,
) -> Option<f64> {
    let here = state.chances()?;
    let there = turned.chances()?;
    let mut difference = Law::new();
    for (chance, p) in here {
        let mut next = state.clone();
        let outcome = next.apply(actions, &chance);
        // An element that cannot be applied is refused by the rules.
        let mut next = next.transformed(g).ok()?;
        if cause {
            next.transform_cause(g);
        }
        *difference.entry(format!("{outcome:?} {}", next.save())).or_default() += p;
    }
    for (chance, p) in there {
        let mut next = turned.clone();
        let outcome = next.apply(turned_actions, &chance);
        *difference.entry(format!("{outcome:?} {}", next.save())).or_default() -= p;
    }
    // Probabilities that are added in another order.
    let apart = difference.values().map(|d| d.abs()).filter(|d| *d > ROUNDING);
    Some(0.5 * apart.sum::<f64>())
}
