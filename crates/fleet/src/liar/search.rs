//! What hurts most in a state: projected gradients through the network and the defence, from many beginnings.
//!
//! A trimmed mean masks the gradient of what it leaves out: a liar's number at either end moves nothing, so a search that follows
//! the true gradient stops where it begins, at the ends. The mean never falls where a number in it rises, so the search goes
//! where it would go if the number counted ([`Net::gradient`]), in steps that can cross the whole range, and what it finds is
//! judged by what it does through the defence as it is.

use super::net::{Lies, Net, Rules, State, Trace};
use equimarl_worlds::Stream;

/// Steps of the gradient from each beginning.
const STEPS: usize = 8;

/// A state, and who lies in it.
pub(super) struct Search<'a> {
    pub net: &'a Net,
    pub state: &'a State,
    /// What happens if nobody lies.
    pub honest: &'a Trace,
    pub rules: &'a Rules,
    pub liar: usize,
    /// How far it may go: per round and number.
    pub bounds: &'a [Vec<[f64; 2]>],
}

impl Search<'_> {
    fn trace(&self, lies: &Lies) -> Trace {
        self.net.forward(self.state, Some((self.liar, lies)), self.rules)
    }

    /// How far a lie takes everybody else from what they would have done: the sum of cross-entropies.
    pub fn harm(&self, lies: &Lies) -> f64 {
        self.harm_of(&self.trace(lies))
    }

    fn harm_of(&self, trace: &Trace) -> f64 {
        let of = |i: usize| -> f64 {
            let pairs = self.honest.log_probabilities[i].iter().zip(&trace.log_probabilities[i]);
            -pairs.map(|(q, p)| q.exp() * p.max(-1e3)).sum::<f64>()
        };
        (0..self.state.encoded.len()).filter(|&i| i != self.liar).map(of).sum()
    }

    /// The same number for all that are said in a place.
    fn everywhere(&self, mut say: impl FnMut(usize, usize, [f64; 2]) -> f64) -> Lies {
        let agents = self.state.encoded.len();
        let round = |(l, of): (usize, &Vec<[f64; 2]>)| {
            let mut row = || of.iter().enumerate().map(|(k, &r)| say(l, k, r)).collect::<Vec<f64>>();
            (0..agents).map(|_| row()).collect()
        };
        self.bounds.iter().enumerate().map(round).collect()
    }

    /// The most harmful lie that is found, and never a weaker one than any of `beginnings` (brought into the bounds, which
    /// receivers do too), than what any other agent says, or than an end of the ranges.
    pub fn worst(&self, beginnings: Vec<Lies>, chance: &mut Stream) -> (f64, Lies) {
        let mut all = beginnings;
        all.push(self.everywhere(|_, _, [_, hi]| hi));
        all.push(self.everywhere(|_, _, [lo, _]| lo));
        all.push(self.everywhere(|_, _, [lo, hi]| if chance.unit() < 0.5 { hi } else { lo }));
        let others = (0..self.state.encoded.len()).filter(|&i| i != self.liar);
        let said = others.map(|i| self.everywhere(|l, k, _| self.honest.features[l][i][k]));
        // One agent's words are much like another's: only the most harmful ones are gone on from.
        let most = |a: (f64, Lies), b: (f64, Lies)| if b.0 > a.0 { b } else { a };
        all.extend(said.map(|lies| (self.harm(&lies), lies)).reduce(most).map(|(_, lies)| lies));
        all.into_iter().map(|lies| self.climb(lies)).reduce(most).unwrap_or_default()
    }

    /// Ascent with the signs of the gradient; the best lie on the way.
    fn climb(&self, mut lies: Lies) -> (f64, Lies) {
        for (lies, bounds) in lies.iter_mut().zip(self.bounds) {
            let rows = lies.iter_mut().flat_map(|lie| lie.iter_mut().zip(bounds));
            rows.for_each(|(x, [lo, hi])| *x = x.clamp(*lo, *hi));
        }
        let mut best = (f64::NEG_INFINITY, vec![]);
        for step in 0..=STEPS {
            let trace = self.trace(&lies);
            let found = self.harm_of(&trace);
            if found > best.0 {
                best = (found, lies.clone());
            }
            if step == STEPS {
                break;
            }
            let honest = &self.honest.log_probabilities;
            let gradient = self.net.gradient(self.state, (self.liar, &lies), self.rules, &trace, honest);
            // The first step reaches the ends from anywhere.
            let share = 1.0 / (1.0 + step as f64);
            for ((lies, gradient), bounds) in lies.iter_mut().zip(&gradient).zip(self.bounds) {
                for (lie, gradient) in lies.iter_mut().zip(gradient) {
                    for ((x, d), [lo, hi]) in lie.iter_mut().zip(gradient).zip(bounds) {
                        if *d != 0.0 {
                            *x = (*x + share * (hi - lo) * d.signum()).clamp(*lo, *hi);
                        }
                    }
                }
            }
        }
        best
    }
}
