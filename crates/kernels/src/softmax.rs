//! Log-softmax of rows.
//!
//! log p\[a\] = x\[a\] - max x - log sum_b exp(x\[b\] - max x)

use crate::error::{Result, length, positive, rows};

/// Writes log-probabilities of every row of `actions` logits.
///
/// ```
/// let mut out = [0.0; 2];
/// equimarl_kernels::softmax::log_softmax(&[1.0, 1.0], 2, &mut out)?;
/// assert!((out[0] - 0.5f32.ln()).abs() < 1e-6);
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
///
/// # Errors
/// A slice has the wrong length.
pub fn log_softmax(logits: &[f32], actions: usize, out: &mut [f32]) -> Result<()> {
    positive("the number of actions", actions)?;
    rows("logits", logits.len(), actions)?;
    length("out", out.len(), logits.len())?;
    for (out, row) in out.chunks_exact_mut(actions).zip(logits.chunks_exact(actions)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f32 = row.iter().map(|x| (x - largest).exp()).sum();
        let log_total = total.ln();
        for (out, x) in out.iter_mut().zip(row) {
            *out = x - largest - log_total;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    #[test]
    fn agrees_with_the_definition() {
        let logits: Vec<f32> = Noise::new(3).floats(35).iter().map(|x| 30.0 * x).collect();
        let mut out = vec![0.0; 35];
        log_softmax(&logits, 5, &mut out).unwrap();
        for (row, out) in logits.chunks(5).zip(out.chunks(5)) {
            let total: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
            for (&x, &y) in row.iter().zip(out) {
                let y64 = f64::from(x) - total.ln();
                assert!((y64 - f64::from(y)).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn extreme_logits_stay_finite() {
        let mut out = [0.0; 3];
        log_softmax(&[1e30, -1e30, 0.0], 3, &mut out).unwrap();
        assert_eq!(out[0], 0.0);
    }

    #[test]
    fn lengths_are_checked() {
        assert!(log_softmax(&[0.0; 3], 2, &mut [0.0; 3]).is_err());
        assert!(log_softmax(&[0.0; 4], 2, &mut [0.0; 3]).is_err());
        assert!(log_softmax(&[], 0, &mut []).is_err());
    }
}
