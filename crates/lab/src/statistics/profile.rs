//! Performance profiles: which part of the runs does better than a score.
//!
//! ```text
//! profile(tau) = part of all runs with a score above tau
//! ```

use super::bootstrap::{Interval, bootstrap};

/// The part of the values that lie above `tau`.
pub fn above(values: &[f64], tau: f64) -> f64 {
    values.iter().filter(|v| **v > tau).count() as f64 / values.len() as f64
}

/// The profile of all runs of all strata at each of `taus`, with intervals that hold for each of them alone.
pub fn profile(strata: &[&[f64]], taus: &[f64]) -> Vec<Interval> {
    taus.iter().map(|tau| bootstrap(strata, |strata| above(&strata.concat(), *tau))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_by_hand() {
        let found: Vec<f64> =
            profile(&[&[1.0, 2.0], &[3.0, 4.0]], &[0.0, 2.0, 4.0]).iter().map(|i| i.estimate).collect();
        assert_eq!(found, [1.0, 0.5, 0.0]);
    }
}
