//! How a group acts on the entries of a weight: W -> rho_out(g) W rho_in(g)^-1, and on a filter also its pixels.
//!
//! Equivariant weights are the ones that this action leaves alone. As a row-major vector, W moves by
//! T(g) = rho_out(g) (x) rho_in(g^-1)^T (x) pixels(g), so every basis here is a basis of invariant vectors of T.

use crate::error::{Error, Result};
use crate::group::{Element, Group};
use crate::plane::Plane;
use crate::rep::{Atom, Form};
use nalgebra::DMatrix;

/// The most entries that one pair of summands may have.
const MAX_ENTRIES: usize = 1 << 24;

/// The pixels of a k x k filter and how each group element gathers them.
#[derive(Clone, Debug)]
pub(crate) struct FilterPixels {
    pub k: usize,
    gathers: Vec<Vec<usize>>,
}

impl FilterPixels {
    pub fn new(group: &Group, k: usize) -> Result<FilterPixels> {
        let plane = Plane::new(group)?;
        if k == 0 {
            return Err(Error::Unsuitable("a filter needs at least one pixel".into()));
        }
        check_entries(k.saturating_mul(k).saturating_mul(group.order()), &format!("a {k} x {k} filter"))?;
        let gathers = group.elements().map(|g| plane.gather(g, k)).collect();
        Ok(FilterPixels { k, gathers })
    }
}

/// T, for one summand of the output and one of the input.
pub(crate) struct Action<'a> {
    pub group: &'a Group,
    pub output: &'a Atom,
    pub input: &'a Atom,
    pub pixels: Option<&'a FilterPixels>,
}

impl<'a> Action<'a> {
    pub fn new(
        group: &'a Group,
        output: &'a Atom,
        input: &'a Atom,
        pixels: Option<&'a FilterPixels>,
    ) -> Result<Action<'a>> {
        let action = Action { group, output, input, pixels };
        let size = output.dim().saturating_mul(input.dim()).saturating_mul(action.area());
        check_entries(size, &format!("a map from `{}` to `{}`", input.name(), output.name()))?;
        Ok(action)
    }

    /// The number of pixels, 1 for a dense map.
    pub fn area(&self) -> usize {
        self.pixels.map_or(1, |p| p.k * p.k)
    }

    /// The number of entries of W.
    pub fn size(&self) -> usize {
        self.output.dim() * self.input.dim() * self.area()
    }

    /// Whether T only moves entries and flips signs.
    pub fn is_signed(&self) -> bool {
        self.output.is_signed_permutation() && self.input.is_signed_permutation()
    }

    fn pixel(&self, g: Element, p: usize) -> usize {
        self.pixels.map_or(p, |pixels| pixels.gathers[g][p])
    }

    /// For a signed action: (T(g) W)\[e\] = sign W\[source\].
    pub fn source(&self, g: Element, e: usize) -> (usize, i8) {
        let (Form::Signed { index: io, sign: so }, Form::Signed { index: ii, sign: si }) =
            (&self.output.form, &self.input.form)
        else {
            unreachable!("only asked for signed actions");
        };
        let (n, area) = (self.input.dim(), self.area());
        let (i, j, p) = (e / area / n, e / area % n, e % area);
        // rho(g^-1)^T = rho(g) for signed permutations, so the input is gathered by rho_in(g) as well.
        let from = (io[g][i] as usize * n + ii[g][j] as usize) * area + self.pixel(g, p);
        (from, so[g][i] * si[g][j])
    }

    /// T(g) w for any action: pixels, then the input side, then the output side.
    pub fn apply(&self, g: Element, w: &[f64]) -> Vec<f64> {
        let (m, n, area) = (self.output.dim(), self.input.dim(), self.area());
        let back = self.input.matrix(self.group.inverse(g));
        let out = self.output.matrix(g);
        let mut half = vec![0.0; w.len()];
        for i in 0..m {
            for l in 0..n {
                for j in (0..n).filter(|&j| back[(l, j)] != 0.0) {
                    for p in 0..area {
                        half[(i * n + j) * area + p] +=
                            w[(i * n + l) * area + self.pixel(g, p)] * back[(l, j)];
                    }
                }
            }
        }
        let mut full = vec![0.0; w.len()];
        let row = n * area;
        for i in 0..m {
            for k in (0..m).filter(|&k| out[(i, k)] != 0.0) {
                for (f, h) in full[i * row..][..row].iter_mut().zip(&half[k * row..][..row]) {
                    *f += out[(i, k)] * h;
                }
            }
        }
        full
    }

    /// The projector on the invariant vectors: the mean of T(g) over the group.
    pub fn projector(&self) -> DMatrix<f64> {
        let (m, n, area, size) = (self.output.dim(), self.input.dim(), self.area(), self.size());
        let mut mean = DMatrix::zeros(size, size);
        let nonzero = |a: &DMatrix<f64>| -> Vec<(usize, usize, f64)> {
            let at = |c: usize, r: usize| (r, c, a[(r, c)]);
            let all = (0..a.ncols()).flat_map(|c| (0..a.nrows()).map(move |r| (c, r)));
            all.map(|(c, r)| at(c, r)).filter(|x| x.2 != 0.0).collect()
        };
        debug_assert_eq!(size, m * n * area);
        for g in self.group.elements() {
            let out = nonzero(&self.output.matrix(g));
            let back = nonzero(&self.input.matrix(self.group.inverse(g)));
            for &(i, k, a) in &out {
                for &(l, j, b) in &back {
                    for p in 0..area {
                        let (to, from) = ((i * n + j) * area + p, (k * n + l) * area + self.pixel(g, p));
                        mean[(to, from)] += a * b;
                    }
                }
            }
        }
        mean / self.group.order() as f64
    }

    /// The dimension of the invariant vectors: the mean over g of chi_out(g) chi_in(g^-1) fixed pixels(g).
    pub fn rank_by_characters(&self) -> usize {
        let area = self.area();
        let sum: f64 = self
            .group
            .elements()
            .map(|g| {
                let fixed = (0..area).filter(|&p| self.pixel(g, p) == p).count();
                self.output.character(g) * self.input.character(self.group.inverse(g)) * fixed as f64
            })
            .sum();
        (sum / self.group.order() as f64).round() as usize
    }
}

fn check_entries(size: usize, what: &str) -> Result<()> {
    if size > MAX_ENTRIES {
        return Err(Error::TooLarge {
            what: crate::error::shorten(what),
            size: format!("{size} entries"),
            limit: MAX_ENTRIES,
        });
    }
    Ok(())
}
