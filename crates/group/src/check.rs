//! Assertions for your own code: does this map commute with the group?

use crate::error::{Error, Result};
use crate::rep::{Rep, same_group};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How many random vectors are tried.
const SAMPLES: usize = 4;

/// The largest entry of f(rho_in(g) x) - rho_out(g) f(x), over all g and a few random vectors x with entries in
/// [-1, 1] (always the same ones). Infinite if f gives something that is not a number.
///
/// ```
/// use equimarl_group::{Group, Rep, equivariance_error};
/// let c4: Group = "C4".parse()?;
/// let regular = Rep::regular(&c4)?;
/// let relu = |x: &[f64]| x.iter().map(|v| v.max(0.0)).collect();
/// assert_eq!(equivariance_error(relu, &regular, &regular)?, 0.0);
///
/// let rotation = Rep::rotation(&c4, 1)?; // a ReLU on vectors breaks their symmetry
/// assert!(equivariance_error(relu, &rotation, &rotation)? > 0.1);
/// # Ok::<(), equimarl_group::Error>(())
/// ```
pub fn equivariance_error(map: impl Fn(&[f64]) -> Vec<f64>, rep_in: &Rep, rep_out: &Rep) -> Result<f64> {
    same_group("the input and output representations", rep_in.group(), rep_out.group())?;
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut worst = 0.0f64;
    for _ in 0..SAMPLES {
        let x: Vec<f64> = (0..rep_in.dim())
            .map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0)
            .collect();
        let y = checked(map(&x), rep_out)?;
        for g in rep_in.group().elements() {
            let turned_first = checked(map(&rep_in.apply(g, &x)), rep_out)?;
            for (a, b) in turned_first.iter().zip(rep_out.apply(g, &y)) {
                let difference = (a - b).abs();
                worst = worst.max(if difference.is_nan() { f64::INFINITY } else { difference });
            }
        }
    }
    Ok(worst)
}

fn checked(y: Vec<f64>, rep: &Rep) -> Result<Vec<f64>> {
    if y.len() == rep.dim() {
        return Ok(y);
    }
    Err(Error::Unsuitable(format!(
        "the map gives {} numbers, but `{rep}` has dimension {}",
        y.len(),
        rep.dim()
    )))
}

/// Asserts that a map commutes with the group up to a tolerance: `assert_equivariant!(map, &rep_in, &rep_out, 1e-9)`.
#[macro_export]
macro_rules! assert_equivariant {
    ($map:expr, $rep_in:expr, $rep_out:expr, $tolerance:expr $(,)?) => {{
        let (rep_in, rep_out, tolerance): (&$crate::Rep, &$crate::Rep, f64) = ($rep_in, $rep_out, $tolerance);
        match $crate::equivariance_error($map, rep_in, rep_out) {
            Ok(error) if error <= tolerance => {}
            Ok(error) => panic!(
                "not equivariant under {} from `{rep_in}` to `{rep_out}`: f(rho(g) x) and rho(g) f(x) differ by \
                 {error:e}, more than {tolerance:e}",
                rep_in.group()
            ),
            Err(error) => panic!("{error}"),
        }
    }};
}
