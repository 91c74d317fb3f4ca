//! How many steps runs need to pass a threshold, when some end before they do.
//!
//! ```text
//! at risk(t)  = runs that had neither passed nor ended before t
//! S(t)        = product over s <= t of 1 - passed at s / at risk(s)        (Kaplan and Meier)
//! quantile(q) = the first t with S(t) < 1 - q; the middle, if S is 1 - q from one pass to the next
//! ```
//!
//! A run that ended before it passed is known to need more than it had, and nothing else: it counts until its own end. Where all have
//! the same budget, the median is the usual one, with those that did not pass as infinitely many steps. If S never comes down that
//! far, the quantile is infinite: what is known then is how many steps are too few ([`Passing::more_than`]).

use super::bootstrap::{Interval, bootstrap};

/// Steps of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ran {
    /// When it passed, or ended.
    until: f64,
    passed: bool,
}

/// Steps until a threshold was passed, of several runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passing {
    runs: Vec<Ran>,
}

impl Passing {
    /// From (steps at which the threshold was passed, steps that the run had).
    pub fn of(runs: impl IntoIterator<Item = (Option<u64>, u64)>) -> Passing {
        let of = |(passed, had): (Option<u64>, u64)| Ran {
            until: passed.unwrap_or(had) as f64,
            passed: passed.is_some(),
        };
        Passing { runs: runs.into_iter().map(of).collect() }
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// How many runs passed.
    pub fn passed(&self) -> usize {
        self.runs.iter().filter(|r| r.passed).count()
    }

    /// The quantile at `q`; infinite if the runs ended before it.
    ///
    /// ```
    /// use equimarl_lab::statistics::Passing;
    /// // One ended after 150 steps: nobody knows whether it would have passed at 200.
    /// let runs = Passing::of([(Some(100), 900), (None, 150), (Some(200), 900), (Some(300), 900), (None, 900)]);
    /// assert_eq!(runs.quantile(0.5), 300.0);
    /// ```
    pub fn quantile(&self, q: f64) -> f64 {
        quantile(&mut self.runs.clone(), q)
    }

    /// The median with its interval; infinite ends lie beyond what the runs can say. There is no interval where the median stands on
    /// one run.
    pub fn median(&self) -> Interval {
        let found = bootstrap(&[&self.runs], |strata| quantile(&mut strata[0], 0.5));
        if self.known_by_median() < 2 { Interval::without_ends(found.estimate) } else { found }
    }

    /// The most steps that are known to be fewer than the quantile at `q`, whatever runs that ended would have done: a run is known to
    /// need at least as much as it had.
    pub fn more_than(&self, q: f64) -> f64 {
        let mut until: Vec<f64> = self.runs.iter().map(|r| r.until).collect();
        until.sort_by(f64::total_cmp);
        let at = (q * until.len() as f64).floor() as usize;
        until.get(at.min(until.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }

    /// Of how many runs it is known whether they had passed after `steps`: they had, or went on for so long.
    pub fn known(&self, steps: f64) -> usize {
        self.runs.iter().filter(|r| r.passed || r.until >= steps).count()
    }

    /// Of how many runs it is known whether they had passed by the median, or by what it is known to be more than.
    pub fn known_by_median(&self) -> usize {
        let median = self.quantile(0.5);
        self.known(if median.is_finite() { median } else { self.more_than(0.5) })
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
        let found = bootstrap(&[&self.runs, &other.runs], |strata| {
            let [a, b] = [0, 1].map(|i| quantile(&mut strata[i], 0.5));
            ratio(a, b)
        });
        let known = self.known_by_median().min(other.known_by_median());
        if known < 2 { Interval::without_ends(found.estimate) } else { found }
    }
}

/// The quantile of runs, which are sorted for it.
fn quantile(runs: &mut [Ran], q: f64) -> f64 {
    // Of a pass and an end at the same step the pass comes first: whoever ended there was still at risk.
    runs.sort_unstable_by(|a, b| a.until.total_cmp(&b.until).then(b.passed.cmp(&a.passed)));
    let goal = 1.0 - q.clamp(0.0, 1.0);
    let (mut left, mut reached) = (1.0, None);
    for (i, run) in runs.iter().enumerate().filter(|(_, run)| run.passed) {
        if let Some(first) = reached {
            return 0.5 * (first + run.until);
        }
        // One at a time is the same as all that pass at one step together.
        let at_risk = (runs.len() - i) as f64;
        left *= 1.0 - 1.0 / at_risk;
        if left < goal - 1e-9 {
            return run.until;
        }
        if left <= goal + 1e-9 {
            reached = Some(run.until);
        }
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::median;
    use proptest::prelude::*;

    #[test]
    fn runs_that_never_pass_count_as_more() {
        let p = Passing::of([(Some(100), 500), (None, 500), (Some(300), 500), (None, 800), (Some(200), 500)]);
        assert_eq!((p.passed(), p.runs()), (3, 5));
        assert_eq!(p.quantile(0.5), 300.0);
        assert_eq!((p.quantile(0.75), p.more_than(0.75)), (f64::INFINITY, 500.0));
        assert_eq!((p.known(300.0), p.known(600.0)), (5, 4));
        let m = p.median();
        assert_eq!((m.estimate, m.high), (300.0, f64::INFINITY));
        assert!(m.low.is_finite());
    }

    /// Freireich's leukaemia patients, the example of every textbook: the treated group's median is 23 weeks, the other's 8.
    #[test]
    fn medians_of_a_textbook() {
        let passed = [6, 6, 6, 7, 10, 13, 16, 22, 23].map(|t| (Some(t), 99));
        let ended = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35].map(|t| (None, t));
        let treated = Passing::of(passed.into_iter().chain(ended));
        assert_eq!((treated.runs(), treated.quantile(0.5)), (21, 23.0));
        // S is 0.7529 after 10 weeks and 0.6902 after 13; it ends at 0.4482.
        assert_eq!((treated.quantile(0.25), treated.quantile(0.75)), (13.0, f64::INFINITY));
        let other = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23];
        assert_eq!(Passing::of(other.map(|t| (Some(t), 99))).quantile(0.5), 8.0);
    }

    /// What began all this: four runs of 6,000 steps and one of 60,000 are not five of 60,000.
    #[test]
    fn a_run_counts_until_its_own_end() {
        let short = [(None, 6_000); 4];
        let one_passed = Passing::of(short.into_iter().chain([(Some(20_000), 60_000)]));
        assert_eq!((one_passed.quantile(0.5), one_passed.known_by_median()), (20_000.0, 1));
        assert!(one_passed.median().low.is_nan() && one_passed.median().high.is_nan());
        let none = Passing::of(short.into_iter().chain([(None, 60_000)]));
        assert_eq!(
            (none.quantile(0.5), none.more_than(0.5), none.known_by_median()),
            (f64::INFINITY, 6_000.0, 5)
        );
        // One of five that passed early would have made no median; of the two that went on it is half.
        let p = Passing::of([(None, 10), (None, 10), (None, 10), (Some(50), 90), (Some(70), 90)]);
        assert_eq!(p.quantile(0.5), 60.0);
    }

    #[test]
    fn ratios_by_hand() {
        let fast = Passing::of([(Some(100), 500); 2]);
        let slow = Passing::of([(Some(300), 500); 2]);
        let never = Passing::of([(None, 500); 2]);
        let ratio = slow.ratio(&fast);
        assert_eq!((ratio.low, ratio.estimate, ratio.high), (3.0, 3.0, 3.0));
        assert_eq!(never.ratio(&fast).estimate, f64::INFINITY);
        assert_eq!(fast.ratio(&never).estimate, 0.0);
        assert!(never.ratio(&never).estimate.is_nan());
        assert!(Passing::default().quantile(0.5).is_infinite() && Passing::default().more_than(0.5).is_nan());
    }

    proptest! {
        /// With one budget for all it is the median of numbers, as it always was.
        #[test]
        fn equal_budgets_give_the_usual_median(steps in proptest::collection::vec(1u64..150, 1..12)) {
            let budget = 100;
            let p = Passing::of(steps.iter().map(|s| ((*s < budget).then_some(*s), budget)));
            let plain: Vec<f64> =
                steps.iter().map(|s| if *s < budget { *s as f64 } else { f64::INFINITY }).collect();
            prop_assert_eq!(p.quantile(0.5), median(&plain));
            if p.quantile(0.5).is_infinite() {
                prop_assert_eq!((p.more_than(0.5), p.known(100.0)), (100.0, steps.len()));
            }
        }
    }
}
