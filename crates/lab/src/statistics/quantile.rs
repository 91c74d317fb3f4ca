//! Quantiles and trimmed means of a few numbers.
//!
//! ```text
//! quantile(q)         = x[floor(h)] + (h - floor(h)) (x[floor(h) + 1] - x[floor(h)]),  h = (n - 1) q,  x sorted (type 7)
//! interquartile mean  = mean of x[k], ..., x[n - k - 1],  k = floor(n / 4),  x sorted
//! ```
//!
//! These are NumPy's default quantile and SciPy's `trim_mean(x, 0.25)`, which is the IQM of rliable.

/// A copy in ascending order; what is not a number comes last.
fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The quantile at `q` between 0 and 1; not a number if there are no values.
///
/// ```
/// use equimarl_lab::statistics::quantile;
/// assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
/// assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.25), 1.75);
/// ```
pub fn quantile(values: &[f64], q: f64) -> f64 {
    quantile_of_sorted(&sorted(values), q)
}

/// As [`quantile`], of values that are in ascending order already.
pub(crate) fn quantile_of_sorted(values: &[f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let at = last as f64 * q.clamp(0.0, 1.0);
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let part = at - below as f64;
    // Between a number and an infinity lies the infinity; without this it would be not a number.
    if part == 0.0 || values[below].is_infinite() {
        return values[below];
    }
    values[below] + part * (values[above] - values[below])
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The mean of what is left when the lowest and the highest quarter are cut off, both rounded down to whole values.
///
/// ```
/// use equimarl_lab::statistics::interquartile_mean;
/// // Of five values one falls on each side.
/// assert_eq!(interquartile_mean(&[100.0, 1.0, 2.0, 3.0, -50.0]), 2.0);
/// ```
pub fn interquartile_mean(values: &[f64]) -> f64 {
    interquartile_mean_in(&mut values.to_vec())
}

/// As [`interquartile_mean`]; leaves the values sorted. The bootstrap calls it thousands of times.
pub(crate) fn interquartile_mean_in(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / 4;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        let x = [7.0, 1.0, 5.0];
        assert_eq!([0.0, 0.25, 0.5, 0.9, 1.0].map(|q| quantile(&x, q)), [1.0, 3.0, 5.0, 6.6, 7.0]);
        assert_eq!(quantile(&[2.0], 0.3), 2.0);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(median(&[1.0, f64::INFINITY, 2.0]), 2.0);
        assert_eq!(median(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert_eq!(median(&[f64::NEG_INFINITY, 1.0]), f64::NEG_INFINITY);
        assert_eq!(quantile(&[f64::INFINITY, f64::INFINITY], 0.3), f64::INFINITY);
    }

    #[test]
    fn interquartile_means_by_hand() {
        assert_eq!(interquartile_mean(&[1.0, 2.0, 3.0]), 2.0); // nothing to cut
        assert_eq!(interquartile_mean(&[0.0, 1.0, 3.0, 90.0]), 2.0); // one on each side
        assert_eq!(interquartile_mean(&[9.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0]), 22.0 / 5.0); // floor(7 / 4) = 1
        assert!(interquartile_mean(&[]).is_nan());
    }
}
