//! Where one method overtakes another as something grows.
//!
//! ```text
//! d(x)     = IQM(first at x) - IQM(other at x), in the direction of better, straight between the values x_0 < x_1 < ...
//! crossing = the first x at which d comes down to 0
//!          = -infinity if d(x_0) <= 0: the other was ahead from the start;  infinity if it never does
//! ```
//!
//! The interval is a bootstrap over the runs of both at every x, each resampled by itself; an end may be infinite.

use super::bootstrap::{Interval, bootstrap};
use super::quantile::interquartile_mean_in;

/// Where differences over ascending values first come down to zero.
///
/// ```
/// use equimarl_lab::statistics::crossing;
/// assert_eq!(crossing(&[0.0, 1.0, 2.0], &[3.0, 1.0, -1.0]), 1.5);
/// assert_eq!(crossing(&[0.0, 0.2], &[0.3, 0.1]), f64::INFINITY);
/// assert_eq!(crossing(&[0.0, 0.2], &[-0.3, 0.1]), f64::NEG_INFINITY);
/// ```
pub fn crossing(values: &[f64], differences: &[f64]) -> f64 {
    let mut points = values.iter().zip(differences);
    let Some((mut x, mut d)) = points.next() else { return f64::NAN };
    if d.is_nan() {
        return f64::NAN;
    }
    if *d <= 0.0 {
        return f64::NEG_INFINITY;
    }
    for (next, after) in points {
        if *after <= 0.0 {
            return x + (next - x) * d / (d - after);
        }
        (x, d) = (next, after);
    }
    f64::INFINITY
}

/// Where the second of each pair of runs overtakes the first, with its interval. `sign` is -1 where less is better.
pub fn crossing_interval(values: &[f64], pairs: &[(&[f64], &[f64])], sign: f64) -> Interval {
    let strata: Vec<&[f64]> = pairs.iter().flat_map(|(first, other)| [*first, *other]).collect();
    bootstrap(&strata, |strata| {
        let differences: Vec<f64> = strata
            .chunks_mut(2)
            .map(|pair| match pair {
                [first, other] => sign * (interquartile_mean_in(first) - interquartile_mean_in(other)),
                _ => f64::NAN,
            })
            .collect();
        crossing(values, &differences)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_by_hand() {
        let x = [0.0, 0.2, 0.4, 0.8];
        assert_eq!(crossing(&x, &[1.0, 1.0, 1.0, -1.0]), 0.6000000000000001);
        assert_eq!(crossing(&x, &[1.0, 0.0, 1.0, -1.0]), 0.2); // the first one
        assert_eq!(crossing(&x, &[0.0, 1.0, 1.0, 1.0]), f64::NEG_INFINITY);
        assert!(crossing(&[], &[]).is_nan() && crossing(&[0.0], &[f64::NAN]).is_nan());
    }

    #[test]
    fn runs_without_noise_have_a_sharp_crossing() {
        let (high, low) = ([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]);
        let found = crossing_interval(&[0.0, 1.0], &[(&high, &low), (&low, &high)], 1.0);
        assert_eq!((found.low, found.estimate, found.high), (0.5, 0.5, 0.5));
        // Where less is better the other one leads from the start.
        let found = crossing_interval(&[0.0, 1.0], &[(&high, &low), (&low, &high)], -1.0);
        assert_eq!(found.estimate, f64::NEG_INFINITY);
    }

    #[test]
    fn noise_widens_the_interval_around_it() {
        let at = |centre: f64| -> Vec<f64> { (0..9).map(|i| centre + 0.1 * f64::from(i - 4)).collect() };
        let (first, other) = ([at(1.0), at(0.5), at(0.0)], [at(0.6), at(0.6), at(0.6)]);
        let pairs: Vec<(&[f64], &[f64])> =
            first.iter().zip(&other).map(|(a, b)| (a.as_slice(), b.as_slice())).collect();
        // d = 0.4, -0.1, -0.6: at 0.8 of the way from 0 to 0.5.
        let found = crossing_interval(&[0.0, 0.5, 1.0], &pairs, 1.0);
        assert!((found.estimate - 0.4).abs() < 1e-9, "{found:?}");
        assert!(found.low > 0.0 && found.low < 0.38 && found.high > 0.42 && found.high < 1.0, "{found:?}");
    }
}
