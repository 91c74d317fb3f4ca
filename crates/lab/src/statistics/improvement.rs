//! How often one team beats another, and by how much.
//!
//! ```text
//! P(X > Y)              = 1/(n m) sum_ij [x_i > y_j] + 1/2 [x_i = y_j]     (Mann-Whitney U / n m), mean over tasks
//! median of differences = median over i, j of x_i - y_j                    (Hodges and Lehmann)
//! ```

use super::bootstrap::{Interval, bootstrap};
use super::quantile::median;

/// The probability that a run of `x` is better (larger) than a run of `y`; a tie counts half.
///
/// ```
/// use equimarl_lab::statistics::improvement;
/// assert_eq!(improvement(&[2.0, 3.0], &[1.0, 2.0]), 3.5 / 4.0);
/// ```
pub fn improvement(x: &[f64], y: &[f64]) -> f64 {
    let better: usize = x.iter().map(|a| y.iter().filter(|b| a > *b).count()).sum();
    let equal: usize = x.iter().map(|a| y.iter().filter(|b| a == *b).count()).sum();
    (better as f64 + 0.5 * equal as f64) / (x.len() * y.len()) as f64
}

/// [`improvement`] with its interval, as the mean over tasks; each task is a pair of (x, y).
pub fn improvement_interval(tasks: &[(&[f64], &[f64])]) -> Interval {
    let strata: Vec<&[f64]> = tasks.iter().flat_map(|(x, y)| [*x, *y]).collect();
    bootstrap(&strata, |strata| {
        let each = strata.chunks_exact(2).map(|pair| improvement(&pair[0], &pair[1]));
        each.sum::<f64>() / tasks.len() as f64
    })
}

/// The median of all differences of a run of `x` and a run of `y`.
pub fn median_difference(x: &[f64], y: &[f64]) -> f64 {
    let differences: Vec<f64> = x.iter().flat_map(|a| y.iter().map(move |b| a - b)).collect();
    median(&differences)
}

/// [`median_difference`] with its interval.
pub fn median_difference_interval(x: &[f64], y: &[f64]) -> Interval {
    bootstrap(&[x, y], |strata| median_difference(&strata[0], &strata[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_by_hand() {
        assert_eq!(improvement(&[1.0, 2.0], &[0.0, 0.5]), 1.0);
        assert_eq!(improvement(&[1.0], &[1.0, 1.0, 1.0]), 0.5);
        assert_eq!(improvement(&[0.0, 1.0, 2.0], &[1.0]), 0.5);
        assert!(improvement(&[], &[1.0]).is_nan());
        let two = improvement_interval(&[(&[1.0, 1.0], &[0.0, 0.0]), (&[1.0, 1.0], &[1.0, 1.0])]);
        assert_eq!((two.low, two.estimate, two.high), (0.75, 0.75, 0.75));
        // One run against one: a probability, and nothing that says how far to trust it.
        let one = improvement_interval(&[(&[1.0], &[0.0])]);
        assert!(one.estimate == 1.0 && one.low.is_nan() && one.high.is_nan(), "{one:?}");
    }

    #[test]
    fn differences_by_hand() {
        // 1 - 0, 1 - 10, 5 - 0, 5 - 10 = -9, -5, 1, 5.
        assert_eq!(median_difference(&[1.0, 5.0], &[0.0, 10.0]), -2.0);
        let i = median_difference_interval(&[3.0, 3.0], &[1.0, 1.0]);
        assert_eq!((i.low, i.estimate, i.high), (2.0, 2.0, 2.0));
    }
}
