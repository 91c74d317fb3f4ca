//! From probabilities to an action.

use crate::gaussian::Gaussian;

/// How actions are chosen from probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By their probability.
    Sampled,
    /// The greedy_action, the first of several.
    Greedy,
}

impl Choice {
    /// The action of an agent with these log-probabilities. `unit` gives a random number in [0, 1); it is asked once if
    /// the action is drawn, and not at all if it is not.
    pub fn action(self, log_probabilities: &[f32], unit: impl FnOnce() -> f64) -> usize {
        match self {
            Choice::Sampled => sample(log_probabilities.len(), |a| log_probabilities[a], unit()),
            Choice::Greedy => greedy_action(log_probabilities),
        }
    }

    /// The vector of an agent of which the network said this row, before the squash: drawn, or the mean. `normal` gives
    /// independent standard normal numbers; it is asked once per number if the vector is drawn, and not at all if it is not.
    pub fn vector(self, row: &[f32], mut normal: impl FnMut() -> f64, out: &mut [f32]) {
        let gaussian = Gaussian::of(row);
        for (out, &mean) in out.iter_mut().zip(gaussian.mean) {
            *out = match self {
                Choice::Sampled => mean + gaussian.deviation() * normal() as f32,
                Choice::Greedy => mean,
            };
        }
    }
}

/// Draws one of so many actions by its probability; `unit` is a random number in [0, 1).
///
/// ```
/// use equimarl_nn::sample;
/// let half = 0.5f32.ln();
/// let p = [half, f32::NEG_INFINITY, half];
/// assert_eq!([0.0, 0.4, 0.6, 0.99].map(|unit| sample(3, |a| p[a], unit)), [0, 0, 2, 2]);
/// ```
pub fn sample(actions: usize, log_probability: impl Fn(usize) -> f32, unit: f64) -> usize {
    let (mut left, mut last) = (unit as f32, 0);
    for a in 0..actions {
        let p = log_probability(a).exp();
        if p > 0.0 {
            last = a;
        }
        left -= p;
        if left < 0.0 {
            return a;
        }
    }
    // Rounding may leave a little; an action of probability zero is never taken.
    last
}

/// The first of the largest numbers.
pub fn greedy_action(row: &[f32]) -> usize {
    (0..row.len()).fold(0, |best, a| if row[a] > row[best] { a } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    #[test]
    fn actions_are_drawn_as_often_as_they_should() {
        let p = [0.125f32, 0.0, 0.5, 0.375];
        let row = p.map(f32::ln);
        let (mut noise, mut counts) = (Noise::new(3), [0u32; 4]);
        for _ in 0..40_000 {
            counts[Choice::Sampled.action(&row, || noise.uniform())] += 1;
        }
        for (p, count) in p.iter().zip(counts) {
            // Five standard deviations.
            let (mean, spread) =
                (40_000.0 * f64::from(*p), 5.0 * (40_000.0 * f64::from(p * (1.0 - p))).sqrt());
            assert!((f64::from(count) - mean).abs() <= spread, "{counts:?}");
        }
    }

    #[test]
    fn what_rounding_leaves_goes_to_the_last_action_that_can_be() {
        // Probabilities that sum to less than the number drawn.
        let row = [0.4f32.ln(), 0.4f32.ln(), f32::NEG_INFINITY];
        assert_eq!(sample(3, |a| row[a], 0.9), 1);
        assert_eq!(sample(0, |_| 0.0, 0.5), 0);
    }

    #[test]
    fn the_first_of_the_likeliest_is_taken_and_nothing_is_drawn() {
        let drawn = || panic!("nothing is drawn");
        assert_eq!(Choice::Greedy.action(&[-2.0, -0.5, -0.5, -3.0], drawn), 1);
        assert_eq!(greedy_action(&[]), 0);
    }
}
