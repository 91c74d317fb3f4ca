//! Rewards in units that a network can learn: divided by a running deviation of discounted returns.
//!
//! ```text
//! G_e <- discount G_e + r      per environment e, from 0 at the start of an episode
//! reward / sqrt(Var G)         over all G so far, those of this rollout included
//! ```
//!
//! Where rewards are thousandths, the value loss and the advantages are so small that the bonus for entropy outweighs them, and
//! teams learn to act at random (docs/plateau.md). Returns, thresholds and evaluations are always those of the world itself.

use crate::returns::Step;
use equimarl_worlds::End;
use serde::{Deserialize, Serialize};

/// The running deviation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReturnScale {
    /// The discounted return of the steps so far, per environment.
    returns: Vec<f64>,
    /// How many there have been, their mean, and the sum of squared differences from it (Welford).
    count: f64,
    mean: f64,
    squares: f64,
}

impl ReturnScale {
    pub(crate) fn new(environments: usize) -> ReturnScale {
        ReturnScale { returns: vec![0.0; environments], count: 0.0, mean: 0.0, squares: 0.0 }
    }

    /// Takes note of a rollout's rewards, and scales them.
    pub(crate) fn scale(&mut self, steps: &mut [Vec<Step>], discount: f64) {
        let length = steps.first().map_or(0, Vec::len);
        // Step by step over all environments, in an order that does not depend on threads.
        for t in 0..length {
            for (of_environment, total) in steps.iter().zip(&mut self.returns) {
                let step = &of_environment[t];
                if step.lost {
                    *total = 0.0;
                    continue;
                }
                *total = discount * *total + step.reward;
                self.count += 1.0;
                let off = *total - self.mean;
                self.mean += off / self.count;
                self.squares += off * (*total - self.mean);
                if step.end != End::Running {
                    *total = 0.0;
                }
            }
        }
        let deviation = (self.squares / self.count.max(1.0)).sqrt();
        // Rewards that are always the same need no scale.
        if deviation > 0.0 {
            steps.iter_mut().flatten().for_each(|step| step.reward /= deviation);
        }
    }

    /// Whether it is one for so many environments.
    pub(crate) fn fits(&self, environments: usize) -> bool {
        let numbers = [self.count, self.mean, self.squares];
        self.returns.len() == environments && self.returns.iter().chain(&numbers).all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(rewards: &[&[f64]]) -> Vec<Vec<Step>> {
        let step =
            |&reward: &f64| Step { reward, value: 0.0, end: End::Running, bootstrap_value: 0.0, lost: false };
        rewards.iter().map(|r| r.iter().map(step).collect()).collect()
    }

    #[test]
    fn rewards_are_divided_by_the_deviation_of_all_returns_so_far() {
        let mut scale = ReturnScale::new(2);
        let mut first = rollout(&[&[1.0, 2.0], &[0.0, -1.0]]);
        first[1][0].end = End::Terminated;
        scale.scale(&mut first, 0.5);
        // The returns are 1, 0, then 2.5, and -1 in a new episode: mean 0.625.
        let squares: f64 = [1.0f64, 0.0, 2.5, -1.0].iter().map(|g| (g - 0.625).powi(2)).sum();
        let deviation = (squares / 4.0).sqrt();
        assert!((first[0][1].reward - 2.0 / deviation).abs() < 1e-12);
        // The next rollout goes on with 2.5 and -1.
        let mut second = rollout(&[&[0.0], &[0.0]]);
        scale.scale(&mut second, 0.5);
        assert_eq!(scale.returns, [1.25, -0.5]);
        assert_eq!(scale.count, 6.0);
    }

    /// The whole point: units do not matter.
    #[test]
    fn thousandths_and_thousands_come_out_alike() {
        let of = |unit: f64| {
            let mut scale = ReturnScale::new(1);
            let mut steps = rollout(&[&[0.3 * unit, -0.2 * unit, 0.7 * unit]]);
            scale.scale(&mut steps, 0.9);
            steps[0].iter().map(|s| s.reward).collect::<Vec<f64>>()
        };
        for (small, large) in of(1e-3).iter().zip(of(1e3)) {
            assert!((small - large).abs() < 1e-12, "{small} {large}");
        }
    }

    #[test]
    fn rewards_without_differences_stay_as_they_are() {
        let mut steps = rollout(&[&[0.0, 0.0]]);
        ReturnScale::new(1).scale(&mut steps, 0.9);
        assert_eq!(steps[0][0].reward, 0.0);
    }
}
