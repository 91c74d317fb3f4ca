//! Percentile intervals by the stratified bootstrap.
//!
//! ```text
//! strata x_1, ..., x_k (one per task or team), each with its own runs
//! resample b: from each x_i as many runs as it has, with replacement, independently; s_b = statistic of all of them
//! interval = [quantile(s, 0.025), quantile(s, 0.975)] over the resamples
//! ```
//!
//! Runs are resampled within their stratum only, so every task keeps its weight. The random numbers are fixed: the same data
//! give the same interval. A single run resampled is that run again, which says nothing of others: a statistic with a stratum of one
//! has no interval.

use super::quantile::{interquartile_mean_in, quantile_of_sorted};
use crate::words::number;
use equimarl_worlds::{Purpose, Stream};
use serde::Serialize;

/// Resamples of an interval; its ends then move by less than a fortieth of its length between seeds.
pub const RESAMPLES: usize = 10_000;

/// An estimate with its 95% interval; the ends are not a number where there is none. What is not finite is null in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The statistic of the data themselves.
    pub estimate: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// An estimate of which nobody knows how far to trust it.
    pub(crate) fn without_ends(estimate: f64) -> Interval {
        Interval { low: f64::NAN, estimate, high: f64::NAN }
    }

    /// For people: `2.51 [2.48, 2.55]`, or `2.51 (no interval)`.
    pub fn text(&self, decimals: usize) -> String {
        let [low, estimate, high] = [self.low, self.estimate, self.high].map(|v| number(v, decimals));
        match self.low.is_nan() && self.high.is_nan() {
            true => format!("{estimate} (no interval)"),
            false => format!("{estimate} [{low}, {high}]"),
        }
    }
}

/// The statistic of some strata, with its interval. A statistic gets the strata in their order and may sort them.
///
/// ```
/// use equimarl_lab::statistics::{bootstrap, median};
/// let runs = [1.0, 2.0, 3.0, 4.0, 5.0];
/// let interval = bootstrap(&[&runs], |strata| median(&strata[0]));
/// assert_eq!(interval.estimate, 3.0);
/// assert!(interval.low >= 1.0 && interval.low < 3.0 && interval.high > 3.0);
/// ```
pub fn bootstrap<T: Copy>(strata: &[&[T]], statistic: impl Fn(&mut [Vec<T>]) -> f64) -> Interval {
    let mut sample: Vec<Vec<T>> = strata.iter().map(|s| s.to_vec()).collect();
    let estimate = statistic(&mut sample);
    let Ok(sizes) = strata.iter().map(|s| u32::try_from(s.len())).collect::<Result<Vec<u32>, _>>() else {
        return Interval::without_ends(estimate);
    };
    if sizes.iter().min().is_none_or(|least| *least < 2) {
        return Interval::without_ends(estimate);
    }
    let mut stream = Stream::new(0, Purpose::Resampling, 0);
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for ((values, own), size) in strata.iter().zip(&mut sample).zip(&sizes) {
                own.iter_mut().for_each(|v| *v = values[stream.below(*size) as usize]);
            }
            statistic(&mut sample)
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    Interval { low: quantile_of_sorted(&found, 0.025), estimate, high: quantile_of_sorted(&found, 0.975) }
}

/// The interquartile mean of all runs of all strata, with its interval.
pub fn interquartile_mean_interval(strata: &[&[f64]]) -> Interval {
    bootstrap(strata, |strata| interquartile_mean_in(&mut strata.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_has_no_interval() {
        for strata in [&[&[2.0][..], &[4.0]][..], &[&[3.0]], &[&[1.0, 3.0, 5.0], &[3.0]]] {
            let i = interquartile_mean_interval(strata);
            assert!(i.estimate == 3.0 && i.low.is_nan() && i.high.is_nan(), "{i:?}");
            assert_eq!(i.text(2), "3.00 (no interval)");
        }
        assert_eq!(Interval { low: 1.0, estimate: 2.0, high: 3.0 }.text(1), "2.0 [1.0, 3.0]");
    }

    #[test]
    fn two_runs_by_hand() {
        // The mean of two draws from {0, 1} is 0, 1/2 or 1 with probabilities 1/4, 1/2, 1/4: both tails are at the ends.
        let mean = |strata: &mut [Vec<f64>]| strata[0].iter().sum::<f64>() / 2.0;
        let i = bootstrap(&[&[0.0, 1.0]], mean);
        assert_eq!(i, Interval { low: 0.0, estimate: 0.5, high: 1.0 });
    }

    #[test]
    fn strata_are_not_mixed() {
        // Were they mixed, a resample could hold four zeros.
        let sum = |strata: &mut [Vec<f64>]| strata.concat().iter().sum::<f64>();
        let i = bootstrap(&[&[0.0, 0.0], &[5.0, 5.0]], sum);
        assert_eq!(i, Interval { low: 10.0, estimate: 10.0, high: 10.0 });
    }

    #[test]
    fn nothing_has_no_interval() {
        assert!(interquartile_mean_interval(&[]).estimate.is_nan());
        assert!(interquartile_mean_interval(&[&[1.0], &[]]).low.is_nan());
    }
}
