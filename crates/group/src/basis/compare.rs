//! All methods side by side: do they find the same space, of the rank that the characters predict?

use super::action::{Action, FilterPixels};
use super::{Distinct, MAX_DENSE, Method, PairBasis, principal_angle};
use crate::error::Result;
use crate::rep::{Rep, same_group};

/// What the methods that apply found, over all pairs of distinct summands.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// One entry per pair of distinct summands.
    pub pairs: Vec<PairComparison>,
}

/// What the methods that apply found for one pair of summands.
#[derive(Clone, Debug, PartialEq)]
pub struct PairComparison {
    /// The input summand.
    pub input: String,
    /// The output summand.
    pub output: String,
    /// How many blocks of this kind a weight has.
    pub blocks: usize,
    /// Entries of one block.
    pub entries: usize,
    /// Basis elements of one block.
    pub rank: usize,
    /// The rank that the characters predict.
    pub rank_by_characters: usize,
    /// The methods that apply, the one that users get first.
    pub methods: Vec<Method>,
    /// The largest entry of W rho_in(g) - rho_out(g) W, over all methods.
    pub residual: f64,
    /// The largest principal angle between the spaces of two methods, if two apply.
    pub max_angle: Option<f64>,
}

impl Comparison {
    /// The rank of the whole basis.
    pub fn rank(&self) -> usize {
        self.pairs.iter().map(|p| p.blocks * p.rank).sum()
    }

    /// The rank of the whole basis by characters.
    pub fn rank_by_characters(&self) -> usize {
        self.pairs.iter().map(|p| p.blocks * p.rank_by_characters).sum()
    }

    /// The largest residual.
    pub fn residual(&self) -> f64 {
        self.pairs.iter().map(|p| p.residual).fold(0.0, f64::max)
    }

    /// The largest angle, if two methods applied anywhere.
    pub fn max_angle(&self) -> Option<f64> {
        self.pairs.iter().filter_map(|p| p.max_angle).reduce(f64::max)
    }
}

/// Solves every pair by every method that applies. The dense methods are left out above [`MAX_DENSE`] entries if
/// orbits apply; if they do not, that is an error.
pub fn compare(input: &Rep, output: &Rep, kernel: Option<usize>) -> Result<Comparison> {
    let group = input.group();
    same_group("the input and output representations", group, output.group())?;
    let pixels = kernel.map(|k| FilterPixels::new(group, k)).transpose()?;
    let (outputs, inputs) = (Distinct::of(output), Distinct::of(input));
    let mut pairs = Vec::new();
    for (o, out) in outputs.atoms.iter().enumerate() {
        for (i, inp) in inputs.atoms.iter().enumerate() {
            let action = Action::new(group, out, inp, pixels.as_ref())?;
            let mut methods = Vec::new();
            if action.is_signed() {
                methods.push(Method::Orbit);
            }
            if !action.is_signed() || action.size() <= MAX_DENSE {
                methods.extend([Method::Projector, Method::Symmetrizer]);
            }
            let found: Result<Vec<PairBasis>> =
                methods.iter().map(|&m| PairBasis::solve(&action, m)).collect();
            let found = found?;
            let residual = found.iter().map(|b| b.residual(&action)).fold(0.0, f64::max);
            let max_angle = (found.len() > 1).then(|| {
                let rows: Vec<_> = found.iter().map(|b| b.rows(action.size())).collect();
                let others = (0..rows.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
                others.map(|(a, b)| principal_angle(&rows[a], &rows[b])).fold(0.0, f64::max)
            });
            pairs.push(PairComparison {
                input: inp.name().into(),
                output: out.name().into(),
                blocks: outputs.counts[o] * inputs.counts[i],
                entries: action.size(),
                rank: found[0].rank(),
                rank_by_characters: action.rank_by_characters(),
                methods,
                residual,
                max_angle,
            });
        }
    }
    Ok(Comparison { pairs })
}
