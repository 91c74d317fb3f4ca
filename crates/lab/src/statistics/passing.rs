//! How many steps runs need to pass a mark, when some never do.
//!
//! A run that ended before it passed is known only to need more than it had. It counts as infinitely many steps, so medians and
//! their intervals are right as far as they lie below every budget, and "more than the budget" where they do not.

use super::bootstrap::{Interval, bootstrap};
use super::quantile::{median, quantile};

/// Steps until a mark was passed, of several runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passing {
    /// The steps of each run; infinite for those that never passed.
    pub steps: Vec<f64>,
    /// The most steps that any run had.
    pub budget: u64,
}

impl Passing {
    /// From (steps at which the mark was passed, steps that the run had).
    pub fn of(runs: impl IntoIterator<Item = (Option<u64>, u64)>) -> Passing {
        let mut passing = Passing::default();
        for (passed, budget) in runs {
            passing.steps.push(passed.map_or(f64::INFINITY, |s| s as f64));
            passing.budget = passing.budget.max(budget);
        }
        passing
    }

    /// How many runs passed.
    pub fn passed(&self) -> usize {
        self.steps.iter().filter(|s| s.is_finite()).count()
    }

    /// The quantile at `q`; infinite if it lies beyond the budget.
    pub fn quantile(&self, q: f64) -> f64 {
        quantile(&self.steps, q)
    }

    /// The median with its interval; infinite ends lie beyond the budget.
    pub fn median(&self) -> Interval {
        bootstrap(&[&self.steps], |strata| median(&strata[0]))
    }

    /// How many times as many steps as `other` this takes: the ratio of the medians, with its interval. It is infinite where
    /// only `other` passed, 0 where only this did, and not a number if neither did.
    pub fn ratio(&self, other: &Passing) -> Interval {
        let ratio = |a: f64, b: f64| match (a.is_infinite(), b.is_infinite()) {
            // What a processor makes of inf / inf has a sign, and so a place among sorted numbers, of its choice.
            (true, true) => f64::NAN,
            (false, true) => 0.0,
            _ => a / b,
        };
        bootstrap(&[&self.steps, &other.steps], |strata| ratio(median(&strata[0]), median(&strata[1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_never_pass_count_as_more() {
        let p = Passing::of([(Some(100), 500), (None, 500), (Some(300), 500), (None, 800), (Some(200), 500)]);
        assert_eq!((p.passed(), p.budget), (3, 800));
        assert_eq!(p.quantile(0.5), 300.0);
        assert_eq!(p.quantile(0.75), f64::INFINITY);
        let m = p.median();
        assert_eq!((m.estimate, m.high), (300.0, f64::INFINITY));
        assert!(m.low.is_finite());
    }

    #[test]
    fn ratios_by_hand() {
        let fast = Passing::of([(Some(100), 500)]);
        let slow = Passing::of([(Some(300), 500)]);
        let never = Passing::of([(None, 500)]);
        assert_eq!(slow.ratio(&fast).estimate, 3.0);
        assert_eq!(never.ratio(&fast).estimate, f64::INFINITY);
        assert_eq!(fast.ratio(&never).estimate, 0.0);
        assert!(never.ratio(&never).estimate.is_nan());
    }
}
