//! Representations: how a group acts on vectors. rho(gh) = rho(g) rho(h), checked when one is built.

mod atom;
mod parse;
mod standard;

pub use atom::Atom;
pub(crate) use atom::Form;

use crate::error::{Error, Result};
use crate::group::{Element, Group};
use crate::subgroup::Subgroup;
use crate::text;
use nalgebra::DMatrix;
use std::fmt;
use std::ops::{Add, Mul};
use std::sync::Arc;

/// The largest dimension of a sum.
const MAX_DIM: usize = 1 << 24;

/// A representation: a direct sum of multiples of [`Atom`]s. Sums and multiples are never expanded.
///
/// ```
/// use equimarl_group::{Group, Rep};
/// let c4: Group = "C4".parse()?;
/// let rep = Rep::parse(&c4, "8*regular + rotation")?;
/// assert_eq!(rep.dim(), 8 * 4 + 2);
/// assert_eq!(rep.to_string(), "8*regular + rotation");
/// assert_eq!(rep.character(c4.identity()), 34.0);
/// # Ok::<(), equimarl_group::Error>(())
/// ```
#[derive(Clone)]
pub struct Rep {
    group: Group,
    terms: Vec<Term>,
}

/// `count` copies of one summand.
#[derive(Clone, Debug)]
pub struct Term {
    /// How many copies.
    pub count: usize,
    /// Of what.
    pub atom: Arc<Atom>,
}

impl Term {
    /// The dimension of all copies together.
    pub fn dim(&self) -> usize {
        self.count * self.atom.dim()
    }
}

impl Rep {
    /// Reads a representation of `group`, for example `8*regular + rotation`; see the crate's front page.
    pub fn parse(group: &Group, text: &str) -> Result<Rep> {
        parse::parse(group, text)
    }

    pub(crate) fn single(group: &Group, atom: Atom) -> Rep {
        let terms = vec![Term { count: 1, atom: Arc::new(atom) }];
        Rep { group: group.clone(), terms }
    }

    /// The direct sum of this and `other`.
    pub fn plus(mut self, other: &Rep) -> Result<Rep> {
        same_group("the two representations", &self.group, &other.group)?;
        check_dim(self.dim().checked_add(other.dim()))?;
        self.terms.extend(other.terms.iter().cloned());
        Ok(self)
    }

    /// `count` copies of this.
    pub fn copies(&self, count: usize) -> Result<Rep> {
        if count == 0 {
            return Err(Error::Unsuitable("a representation needs at least one copy".into()));
        }
        check_dim(self.dim().checked_mul(count))?;
        let terms = match self.terms.as_slice() {
            [one] => vec![Term { count: one.count * count, atom: one.atom.clone() }],
            many => many.iter().cloned().cycle().take(many.len() * count).collect(),
        };
        Ok(Rep { group: self.group.clone(), terms })
    }

    /// The tensor product, indexed row-major: (v (x) w)\[i dim(w) + j\] = v\[i\] w\[j\].
    pub fn tensor(&self, other: &Rep) -> Result<Rep> {
        same_group("the two factors", &self.group, &other.group)?;
        let group = &self.group;
        // (a + b) (x) c = a (x) c + b (x) c holds index by index, so sums on the left stay sums.
        let mut terms = Vec::new();
        for term in &self.terms {
            let (a, name) = (&term.atom, format!("tensor({}, {other})", term.atom.name()));
            let (left, right) = (a.dim(), other.dim());
            let numbers = left.saturating_mul(right);
            let signed = a.is_signed_permutation() && other.is_signed_permutation();
            atom::check_size(&name, group, if signed { numbers } else { numbers.saturating_mul(numbers) })?;
            let atom = if signed {
                let l: Vec<_> = group.elements().map(|g| signed_row(&[term_of(a)], g)).collect();
                let r: Vec<_> = group.elements().map(|g| signed_row(&other.terms, g)).collect();
                Atom::signed(group, name, left * right, |g, k| {
                    let ((i, s), (j, t)) = (l[g][k / right], r[g][k % right]);
                    (i * right + j, s * t)
                })?
            } else {
                let product = |g| a.matrix(g).kronecker(&other.matrix(g));
                Atom::dense(group, name, group.elements().map(product).collect())?
            };
            terms.push(Term { count: term.count, atom: Arc::new(atom) });
        }
        check_dim(self.dim().checked_mul(other.dim()))?;
        Ok(Rep { group: group.clone(), terms })
    }

    /// The dual, rho*(g) = rho(g^-1)^T. An orthogonal representation is its own dual.
    pub fn dual(&self) -> Result<Rep> {
        let group = &self.group;
        let dual = |a: &Atom| -> Result<Atom> {
            let name = format!("dual({})", a.name());
            match a.form.clone() {
                form @ Form::Signed { .. } => Ok(Atom { name, dim: a.dim(), form }),
                Form::Dense(m) => {
                    let turned = |g| m[group.inverse(g)].transpose();
                    Atom::dense(group, name, group.elements().map(turned).collect())
                }
            }
        };
        self.map_atoms(group, dual)
    }

    /// The same matrices, for the elements of a subgroup only.
    pub fn restrict(&self, subgroup: &Subgroup) -> Result<Rep> {
        same_group("the representation and the subgroup", &self.group, subgroup.parent())?;
        let group = subgroup.group();
        let restricted = |a: &Atom| -> Result<Atom> {
            if a.name() == "trivial" {
                return Ok((*Rep::trivial(group).terms[0].atom).clone());
            }
            let generators = group.generators().iter().map(|&h| subgroup.inclusion(h));
            match &a.form {
                Form::Signed { index, sign } if a.is_permutation() => {
                    let lists: Vec<Vec<usize>> =
                        generators.map(|g| index[g].iter().map(|&i| i as usize).collect()).collect();
                    let name = format!("perm[{}]", text::lists(&lists));
                    Atom::signed(group, name, a.dim(), |h, i| {
                        let g = subgroup.inclusion(h);
                        (index[g][i] as usize, sign[g][i])
                    })
                }
                _ => {
                    let lists: Vec<DMatrix<f64>> = generators.map(|g| a.matrix(g)).collect();
                    let name = format!("matrix[{}]", text::matrices(&lists));
                    let matrices = group.elements().map(|h| a.matrix(subgroup.inclusion(h)));
                    Atom::dense(group, name, matrices.collect())
                }
            }
        };
        self.map_atoms(group, restricted)
    }

    fn map_atoms(&self, group: &Group, f: impl Fn(&Atom) -> Result<Atom>) -> Result<Rep> {
        let terms: Result<Vec<Term>> =
            self.terms.iter().map(|t| Ok(Term { count: t.count, atom: Arc::new(f(&t.atom)?) })).collect();
        Ok(Rep { group: group.clone(), terms: terms? })
    }

    /// The group.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The summands, in order.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.terms.iter().map(Term::dim).sum()
    }

    /// The character, trace rho(g).
    pub fn character(&self, g: Element) -> f64 {
        self.terms.iter().map(|t| t.count as f64 * t.atom.character(g)).sum()
    }

    /// How many copies of the trivial representation this contains: the mean of its character.
    pub fn trivial_multiplicity(&self) -> usize {
        let group = &self.group;
        let sum: f64 = group.elements().map(|g| self.character(g)).sum();
        (sum / group.order() as f64).round() as usize
    }

    /// Whether every rho(g) is a permutation matrix. Only then does a pointwise nonlinearity keep equivariance.
    pub fn is_permutation(&self) -> bool {
        self.terms.iter().all(|t| t.atom.is_permutation())
    }

    /// Whether every rho(g) is a permutation matrix up to signs. Then orbit bases apply.
    pub fn is_signed_permutation(&self) -> bool {
        self.terms.iter().all(|t| t.atom.is_signed_permutation())
    }

    /// Whether every rho(g) keeps lengths.
    pub fn is_orthogonal(&self) -> bool {
        self.terms.iter().all(|t| t.atom.is_orthogonal())
    }

    /// rho(g) v.
    ///
    /// # Panics
    /// If `v` does not have the dimension of this representation.
    pub fn apply(&self, g: Element, v: &[f64]) -> Vec<f64> {
        assert_eq!(v.len(), self.dim(), "`{self}` acts on vectors of {} numbers", self.dim());
        let mut out = vec![0.0; v.len()];
        let mut at = 0;
        for term in &self.terms {
            for _ in 0..term.count {
                let block = at..at + term.atom.dim();
                term.atom.apply(g, &v[block.clone()], &mut out[block.clone()]);
                at = block.end;
            }
        }
        out
    }

    /// rho(g) written out as one matrix. Meant for small representations.
    pub fn matrix(&self, g: Element) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(self.dim(), self.dim());
        let mut at = 0;
        for term in &self.terms {
            let (d, block) = (term.atom.dim(), term.atom.matrix(g));
            for _ in 0..term.count {
                matrix.view_mut((at, at), (d, d)).copy_from(&block);
                at += d;
            }
        }
        matrix
    }
}

/// rho(g) of a signed permutation, row by row: (column, sign).
fn signed_row(terms: &[Term], g: Element) -> Vec<(usize, i8)> {
    let mut rows = Vec::new();
    for term in terms {
        for _ in 0..term.count {
            let at = rows.len();
            if let Form::Signed { index, sign } = &term.atom.form {
                rows.extend(index[g].iter().zip(&sign[g]).map(|(&i, &s)| (at + i as usize, s)));
            }
        }
    }
    rows
}

fn term_of(atom: &Arc<Atom>) -> Term {
    Term { count: 1, atom: atom.clone() }
}

fn check_dim(dim: Option<usize>) -> Result<()> {
    match dim {
        Some(d) if d <= MAX_DIM => Ok(()),
        _ => Err(Error::TooLarge {
            what: "the representation".into(),
            size: dim.map_or("more dimensions than can be counted".into(), |d| format!("{d} dimensions")),
            limit: MAX_DIM,
        }),
    }
}

pub(crate) fn same_group(what: &'static str, left: &Group, right: &Group) -> Result<()> {
    if left == right {
        return Ok(());
    }
    Err(Error::GroupMismatch { what, left: left.name().into(), right: right.name().into() })
}

impl PartialEq for Rep {
    /// The same group, and the same matrices summand by summand; names do not matter.
    fn eq(&self, other: &Rep) -> bool {
        self.group == other.group
            && self.terms.len() == other.terms.len()
            && self.terms.iter().zip(&other.terms).all(|(a, b)| {
                a.count == b.count && (Arc::ptr_eq(&a.atom, &b.atom) || a.atom.form == b.atom.form)
            })
    }
}

impl fmt::Debug for Rep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rep({self} of {})", self.group)
    }
}

impl fmt::Display for Rep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(" + ")?;
            }
            if term.count > 1 {
                write!(f, "{}*", term.count)?;
            }
            f.write_str(term.atom.name())?;
        }
        Ok(())
    }
}

impl Add for Rep {
    type Output = Rep;

    /// The direct sum.
    ///
    /// # Panics
    /// If the groups differ or the sum is too large; [`Rep::plus`] gives an error instead.
    fn add(self, other: Rep) -> Rep {
        self.plus(&other).unwrap_or_else(|e| panic!("{e}"))
    }
}

impl Mul<Rep> for usize {
    type Output = Rep;

    /// Copies.
    ///
    /// # Panics
    /// If the number is zero or too large; [`Rep::copies`] gives an error instead.
    fn mul(self, rep: Rep) -> Rep {
        rep.copies(self).unwrap_or_else(|e| panic!("{e}"))
    }
}
