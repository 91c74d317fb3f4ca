//! Bases of equivariant maps: all W with W rho_in(g) = rho_out(g) W.
//!
//! Three ways that span the same space: orbits of entries (exact and sparse, for signed permutations), the range of
//! the projector on equivariant maps (any representation), and the paper's Symmetrizer (a cross-check). A basis is
//! solved once per pair of distinct summands and repeated by multiplicity.

mod action;
mod compare;
mod dense;
mod orbit;
mod svd;

pub use compare::{Comparison, PairComparison, compare};
pub use dense::{DenseBasis, MAX_DENSE, principal_angle};
pub use orbit::{OrbitBasis, ZERO};

use crate::error::{Error, Result};
use crate::group::Group;
use crate::rep::{Atom, Rep, Term, same_group};
use action::{Action, FilterPixels};
use nalgebra::DMatrix;
use std::sync::Arc;

/// How a basis is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Orbits of entries; needs signed permutation representations.
    Orbit,
    /// The range of the projector.
    Projector,
    /// Symmetrised random weights and their singular vectors.
    Symmetrizer,
}

/// The basis for one pair of summands.
#[derive(Clone, Debug, PartialEq)]
pub enum PairBasis {
    /// Sparse: one coefficient per entry.
    Orbit(OrbitBasis),
    /// Dense rows.
    Dense(DenseBasis),
}

impl PairBasis {
    fn solve(action: &Action, method: Method) -> Result<PairBasis> {
        Ok(match method {
            Method::Orbit if !action.is_signed() => {
                return Err(Error::Unsuitable(format!(
                    "an orbit basis needs signed permutations, and `{}` -> `{}` is not between such; \
                     use the projector",
                    action.input.name(),
                    action.output.name()
                )));
            }
            Method::Orbit => PairBasis::Orbit(orbit::solve(action)),
            Method::Projector => PairBasis::Dense(dense::projector(action)?),
            Method::Symmetrizer => PairBasis::Dense(dense::symmetrizer(action, 0)?),
        })
    }

    /// The number of coefficients.
    pub fn rank(&self) -> usize {
        match self {
            PairBasis::Orbit(orbit) => orbit.rank,
            PairBasis::Dense(dense) => dense.rows.nrows(),
        }
    }

    /// The terms of entry `e`: which coefficients it is made of, with which factors.
    fn terms(&self, e: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (one, many) = match self {
            PairBasis::Orbit(o) => ((o.index[e] != ZERO).then(|| (o.index[e] as usize, o.scale[e])), None),
            PairBasis::Dense(d) => {
                (None, Some(d.rows.column(e).iter().copied().enumerate().collect::<Vec<_>>()))
            }
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// The basis written out, one flattened weight per row.
    pub fn rows(&self, entries: usize) -> DMatrix<f64> {
        let mut rows = DMatrix::zeros(self.rank(), entries);
        for e in 0..entries {
            for (c, scale) in self.terms(e) {
                rows[(c, e)] = scale;
            }
        }
        rows
    }

    fn residual(&self, action: &Action) -> f64 {
        match self {
            PairBasis::Orbit(orbit) => orbit.residual(action),
            PairBasis::Dense(dense) => dense.residual(action),
        }
    }
}

/// An orthonormal basis of the equivariant maps between two representations, or of equivariant filters.
///
/// A weight has shape out x in (x k x k for filters), row-major. Coefficients come block by block: output copies
/// outside, input copies inside, each with the rank of its pair.
///
/// ```
/// use equimarl_group::{Basis, Group, Rep};
/// let c4: Group = "C4".parse()?;
/// let features = Rep::parse(&c4, "2*regular")?;
/// let actions = Rep::parse(&c4, "perm[0 4 1 2 3]")?;
/// let basis = Basis::linear(&features, &actions)?;
/// assert_eq!(basis.rank(), 2 * 5); // instead of 8 x 5 = 40 free weights
///
/// let coefficients: Vec<f64> = (0..10).map(f64::from).collect();
/// let mut weight = vec![0.0; basis.size()];
/// basis.realise(&coefficients, &mut weight);
///
/// let map = |x: &[f64]| weight.chunks(8).map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect();
/// equimarl_group::assert_equivariant!(map, &features, &actions, 1e-12);
/// # Ok::<(), equimarl_group::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Basis {
    input: Rep,
    output: Rep,
    pixels: Option<FilterPixels>,
    /// Pair (o, i) of distinct summands at o * distinct inputs + i.
    pairs: Vec<PairBasis>,
    outputs: Distinct,
    inputs: Distinct,
}

/// A weight as a sparse matrix times its coefficients: entry e is the sum of coefficient\[t\] scale\[t\] over
/// t in start\[e\]..start\[e + 1\]. With orbit bases every entry has at most one term.
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// Where the terms of each entry start; one more than there are entries.
    pub start: Vec<u32>,
    /// Which coefficient.
    pub coefficient: Vec<u32>,
    /// Its factor.
    pub scale: Vec<f32>,
}

impl Basis {
    /// Maps with W rho_in(g) = rho_out(g) W. An error if only the zero map is left, saying why.
    pub fn linear(input: &Rep, output: &Rep) -> Result<Basis> {
        Basis::solve(input, output, None, None)?.not_empty()
    }

    /// k x k filters with W(g x) rho_in(g) = rho_out(g) W(x): the group also turns the filter's pixels.
    pub fn filter(input: &Rep, output: &Rep, k: usize) -> Result<Basis> {
        Basis::solve(input, output, Some(k), None)?.not_empty()
    }

    /// Vectors with rho(g) b = b: the biases that keep equivariance. There may be none.
    pub fn invariant(rep: &Rep) -> Result<Basis> {
        Basis::solve(&Rep::trivial(rep.group()), rep, None, None)
    }

    /// A basis by a method of your choice, which may be empty. Without a method, orbits where they apply and the
    /// projector otherwise.
    pub fn solve(input: &Rep, output: &Rep, kernel: Option<usize>, method: Option<Method>) -> Result<Basis> {
        let group = input.group();
        same_group("the input and output representations", group, output.group())?;
        let pixels = kernel.map(|k| FilterPixels::new(group, k)).transpose()?;
        let (outputs, inputs) = (Distinct::of(output), Distinct::of(input));
        let mut pairs = Vec::new();
        for o in &outputs.atoms {
            for i in &inputs.atoms {
                let action = Action::new(group, o, i, pixels.as_ref())?;
                let usual = if action.is_signed() { Method::Orbit } else { Method::Projector };
                pairs.push(PairBasis::solve(&action, method.unwrap_or(usual))?);
            }
        }
        Ok(Basis { input: input.clone(), output: output.clone(), pixels, pairs, outputs, inputs })
    }

    fn not_empty(self) -> Result<Basis> {
        if self.rank() > 0 {
            return Ok(self);
        }
        let characters = |rep: &Rep| -> String {
            let group = rep.group();
            let classes = group.conjugacy_classes();
            let values = classes.iter().take(6).map(|c| {
                // Rounded for reading; whole numbers stay whole.
                let value = (rep.character(c[0]) * 1e3).round() / 1e3;
                format!("{}: {value}", group.element_name(c[0]))
            });
            let more = if classes.len() > 6 { ", ..." } else { "" };
            format!("({}{more})", values.collect::<Vec<_>>().join(", "))
        };
        let pixels = self.kernel().map_or(String::new(), |k| format!(", also on {k} x {k} pixels"));
        let (input, output) = (&self.input, &self.output);
        Err(Error::EmptyBasis {
            input: input.to_string(),
            output: output.to_string(),
            group: input.group().name().into(),
            reason: format!(
                "their characters {} and {} are orthogonal{pixels}",
                characters(input),
                characters(output)
            ),
        })
    }

    /// The group.
    pub fn group(&self) -> &Group {
        self.input.group()
    }

    /// The input representation.
    pub fn input(&self) -> &Rep {
        &self.input
    }

    /// The output representation.
    pub fn output(&self) -> &Rep {
        &self.output
    }

    /// The filter size, if this is a basis of filters.
    pub fn kernel(&self) -> Option<usize> {
        self.pixels.as_ref().map(|p| p.k)
    }

    fn area(&self) -> usize {
        self.kernel().map_or(1, |k| k * k)
    }

    /// The number of coefficients.
    pub fn rank(&self) -> usize {
        let each = |o: usize, i: usize| {
            self.outputs.counts[o]
                * self.inputs.counts[i]
                * self.pairs[o * self.inputs.atoms.len() + i].rank()
        };
        (0..self.outputs.atoms.len())
            .flat_map(|o| (0..self.inputs.atoms.len()).map(move |i| (o, i)))
            .map(|(o, i)| each(o, i))
            .sum()
    }

    /// The number of entries of a weight.
    pub fn size(&self) -> usize {
        self.output.dim() * self.input.dim() * self.area()
    }

    /// Whether every pair is sparse, so that realising a weight is a gather.
    pub fn is_orbit(&self) -> bool {
        self.pairs.iter().all(|p| matches!(p, PairBasis::Orbit(_)))
    }

    /// Calls `visit` for each block of a weight: its pair, first row, first column, first coefficient.
    fn blocks(&self, mut visit: impl FnMut(&PairBasis, usize, usize, usize, (usize, usize))) {
        let (mut row, mut coefficient) = (0, 0);
        for (o, out) in self.outputs.of_terms.iter().zip(self.output.terms()) {
            for _ in 0..out.count {
                let mut column = 0;
                for (i, input) in self.inputs.of_terms.iter().zip(self.input.terms()) {
                    let pair = &self.pairs[o * self.inputs.atoms.len() + i];
                    for _ in 0..input.count {
                        visit(pair, row, column, coefficient, (out.atom.dim(), input.atom.dim()));
                        column += input.atom.dim();
                        coefficient += pair.rank();
                    }
                }
                row += out.atom.dim();
            }
        }
    }

    /// Calls `visit(entry, coefficient, factor)` for every term of every entry.
    fn for_each_term(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let (width, area) = (self.input.dim(), self.area());
        self.blocks(|pair, row, column, first, (m, n)| {
            for e in 0..m * n * area {
                let (i, j, p) = (e / area / n, e / area % n, e % area);
                let at = ((row + i) * width + column + j) * area + p;
                for (c, scale) in pair.terms(e) {
                    visit(at, first + c, scale);
                }
            }
        });
    }

    /// W = sum_c coefficients\[c\] B_c.
    ///
    /// # Panics
    /// If the lengths are not [`Basis::rank`] and [`Basis::size`].
    pub fn realise(&self, coefficients: &[f64], weight: &mut [f64]) {
        self.check_lengths(coefficients.len(), weight.len());
        weight.fill(0.0);
        self.for_each_term(|e, c, scale| weight[e] += coefficients[c] * scale);
    }

    /// The adjoint of [`Basis::realise`]: the gradient of the coefficients from the gradient of the weight.
    ///
    /// # Panics
    /// If the lengths are not [`Basis::size`] and [`Basis::rank`].
    pub fn adjoint(&self, weight: &[f64], coefficients: &mut [f64]) {
        self.check_lengths(coefficients.len(), weight.len());
        coefficients.fill(0.0);
        self.for_each_term(|e, c, scale| coefficients[c] += weight[e] * scale);
    }

    fn check_lengths(&self, rank: usize, size: usize) {
        assert_eq!(rank, self.rank(), "one coefficient per basis element");
        assert_eq!(size, self.size(), "one number per entry of the weight");
    }

    /// Realising as a sparse matrix, for kernels: [`Basis::realise`] and [`Basis::adjoint`] in f32.
    pub fn expansion(&self) -> Expansion {
        let mut terms: Vec<(u32, u32, f32)> = Vec::new();
        self.for_each_term(|e, c, scale| terms.push((e as u32, c as u32, scale as f32)));
        terms.sort_by_key(|t| (t.0, t.1));
        let mut start = vec![0u32; self.size() + 1];
        for t in &terms {
            start[t.0 as usize + 1] += 1;
        }
        for e in 0..self.size() {
            start[e + 1] += start[e];
        }
        Expansion {
            start,
            coefficient: terms.iter().map(|t| t.1).collect(),
            scale: terms.iter().map(|t| t.2).collect(),
        }
    }

    /// The largest entry of W rho_in(g) - rho_out(g) W over all basis elements W and group elements g.
    pub fn residual(&self) -> f64 {
        let mut worst = 0.0f64;
        for (o, out) in self.outputs.atoms.iter().enumerate() {
            for (i, input) in self.inputs.atoms.iter().enumerate() {
                let action = Action { group: self.group(), output: out, input, pixels: self.pixels.as_ref() };
                worst = worst.max(self.pairs[o * self.inputs.atoms.len() + i].residual(&action));
            }
        }
        worst
    }
}

/// The distinct summands of a representation.
#[derive(Clone, Debug)]
struct Distinct {
    atoms: Vec<Arc<Atom>>,
    /// How many copies of each there are in all.
    counts: Vec<usize>,
    /// For each term, which atom it is.
    of_terms: Vec<usize>,
}

impl Distinct {
    fn of(rep: &Rep) -> Distinct {
        let mut distinct = Distinct { atoms: vec![], counts: vec![], of_terms: vec![] };
        for Term { count, atom } in rep.terms() {
            let same = |a: &Arc<Atom>| Arc::ptr_eq(a, atom) || a.form == atom.form;
            let at = distinct.atoms.iter().position(same).unwrap_or_else(|| {
                distinct.atoms.push(atom.clone());
                distinct.counts.push(0);
                distinct.atoms.len() - 1
            });
            distinct.counts[at] += count;
            distinct.of_terms.push(at);
        }
        distinct
    }
}
