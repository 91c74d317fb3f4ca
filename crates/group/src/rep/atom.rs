//! One summand of a representation: a matrix per group element, stored as index lists where that is exact.

use crate::error::{BrokenProduct, Error, Result, shorten};
use crate::group::{Element, Group};
use crate::text;
use nalgebra::DMatrix;

/// The most numbers that one summand may hold, over all elements (128 MB of f64).
const MAX_NUMBERS: usize = 1 << 24;
/// How far rho(g) rho(h) may be from rho(gh), relative to the largest entry.
const TOLERANCE: f64 = 1e-9;

/// A representation that is not written as a sum: rho(g) for every element g.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    pub(crate) name: String,
    pub(crate) dim: usize,
    pub(crate) form: Form,
}

/// How the matrices are stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// (rho(g) v)[i] = sign\[g\]\[i\] v[index\[g\]\[i\]]: permutations and signed permutations.
    Signed { index: Vec<Vec<u32>>, sign: Vec<Vec<i8>> },
    /// Any matrices.
    Dense(Vec<DMatrix<f64>>),
}

impl Atom {
    /// From a gather and signs per element.
    pub(crate) fn signed(
        group: &Group,
        name: impl Into<String>,
        dim: usize,
        row: impl Fn(Element, usize) -> (usize, i8),
    ) -> Result<Atom> {
        let name = name.into();
        check_size(&name, group, dim)?;
        let (mut index, mut sign) = (Vec::new(), Vec::new());
        for g in group.elements() {
            let rows: Vec<(usize, i8)> = (0..dim).map(|i| row(g, i)).collect();
            index.push(rows.iter().map(|r| r.0 as u32).collect());
            sign.push(rows.iter().map(|r| r.1).collect());
        }
        let form = Form::Signed { index, sign };
        Atom { name, dim, form }.verified(group)
    }

    /// From a matrix per element. Signed permutation matrices are recognised and stored as such.
    pub(crate) fn dense(group: &Group, name: impl Into<String>, matrices: Vec<DMatrix<f64>>) -> Result<Atom> {
        let name = name.into();
        let dim = matrices[0].nrows();
        check_size(&name, group, dim * dim)?;
        let rows: Option<Vec<Vec<(usize, i8)>>> = matrices.iter().map(signed_rows).collect();
        if let Some(rows) = rows {
            return Atom::signed(group, name, dim, |g, i| rows[g][i]);
        }
        let form = Form::Dense(matrices);
        Atom { name, dim, form }.verified(group)
    }

    /// rho(s) rho(h) = rho(sh) for generators s and all elements h, which implies it for all pairs.
    fn verified(self, group: &Group) -> Result<Atom> {
        for &s in group.generators() {
            for h in group.elements() {
                let sh = group.mul(s, h);
                let fine = match &self.form {
                    Form::Signed { index, sign } => (0..self.dim).all(|i| {
                        let via = index[s][i] as usize;
                        index[h][via] == index[sh][i] && sign[s][i] * sign[h][via] == sign[sh][i]
                    }),
                    Form::Dense(m) => distance(&(&m[s] * &m[h]), &m[sh]) <= tolerance(&m[sh]),
                };
                if !fine {
                    return Err(self.not_a_homomorphism(group, s, h));
                }
            }
        }
        Ok(self)
    }

    fn not_a_homomorphism(&self, group: &Group, s: Element, h: Element) -> Error {
        let sh = group.mul(s, h);
        let (product, image) = match &self.form {
            Form::Signed { index, sign } => {
                let entry =
                    |at: u32, j: usize, sign: i8| if at as usize == j { f64::from(sign) } else { 0.0 };
                let product = |i: usize, j: usize| {
                    let via = index[s][i] as usize;
                    entry(index[h][via], j, sign[s][i] * sign[h][via])
                };
                let image = |i: usize, j: usize| entry(index[sh][i], j, sign[sh][i]);
                (show(self.dim, product), show(self.dim, image))
            }
            Form::Dense(m) => {
                let product = &m[s] * &m[h];
                (show(self.dim, |i, j| product[(i, j)]), show(self.dim, |i, j| m[sh][(i, j)]))
            }
        };
        not_a_homomorphism(group, &self.name, s, h, product, image)
    }

    /// The name, as the parser reads it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// rho(g) as a matrix.
    pub fn matrix(&self, g: Element) -> DMatrix<f64> {
        match &self.form {
            Form::Signed { index, sign } => {
                let mut m = DMatrix::zeros(self.dim, self.dim);
                for i in 0..self.dim {
                    m[(i, index[g][i] as usize)] = f64::from(sign[g][i]);
                }
                m
            }
            Form::Dense(m) => m[g].clone(),
        }
    }

    /// out = rho(g) v.
    pub(crate) fn apply(&self, g: Element, v: &[f64], out: &mut [f64]) {
        match &self.form {
            Form::Signed { index, sign } => {
                for ((o, &i), &s) in out.iter_mut().zip(&index[g]).zip(&sign[g]) {
                    *o = f64::from(s) * v[i as usize];
                }
            }
            Form::Dense(m) => {
                for (o, row) in out.iter_mut().zip(m[g].row_iter()) {
                    *o = row.iter().zip(v).map(|(a, b)| a * b).sum();
                }
            }
        }
    }

    /// The character, trace rho(g).
    pub fn character(&self, g: Element) -> f64 {
        match &self.form {
            Form::Signed { index, sign } => {
                (0..self.dim).filter(|&i| index[g][i] as usize == i).map(|i| f64::from(sign[g][i])).sum()
            }
            Form::Dense(m) => m[g].trace(),
        }
    }

    /// Whether every rho(g) is a permutation matrix.
    pub fn is_permutation(&self) -> bool {
        match &self.form {
            Form::Signed { sign, .. } => sign.iter().flatten().all(|&s| s == 1),
            Form::Dense(_) => false,
        }
    }

    /// Whether every rho(g) is a permutation matrix up to signs.
    pub fn is_signed_permutation(&self) -> bool {
        matches!(self.form, Form::Signed { .. })
    }

    /// Whether every rho(g) keeps lengths.
    pub fn is_orthogonal(&self) -> bool {
        match &self.form {
            Form::Signed { .. } => true,
            Form::Dense(all) => all.iter().all(|m| {
                let one = DMatrix::identity(self.dim, self.dim);
                distance(&(m * m.transpose()), &one) <= TOLERANCE
            }),
        }
    }
}

/// Multiplies one matrix per generator out over the whole group. What comes out is a representation only if it
/// also passes [`Atom::verified`].
pub(super) fn extend<T: Clone>(
    group: &Group,
    name: &str,
    generators: &[T],
    identity: T,
    mul: impl Fn(&T, &T) -> T,
    same: impl Fn(&T, &T) -> bool,
    show: impl Fn(&T) -> String,
) -> Result<Vec<T>> {
    let wanted = group.generators();
    if generators.len() != wanted.len() {
        let names: Vec<&str> = wanted.iter().map(|&g| group.element_name(g)).collect();
        return Err(Error::Unsuitable(format!(
            "`{}` gives {} generators, but {group} has {} ({}); separate them by `;`",
            shorten(name),
            generators.len(),
            wanted.len(),
            names.join(", ")
        )));
    }
    let mut all: Vec<Option<T>> = vec![None; group.order()];
    all[0] = Some(identity);
    let mut queue = vec![group.identity()];
    while let Some(g) = queue.pop() {
        for (&s, rho) in wanted.iter().zip(generators) {
            let next = group.mul(s, g);
            if all[next].is_none() {
                all[next] = all[g].as_ref().map(|m| mul(rho, m));
                queue.push(next);
            }
        }
    }
    // A generator may be the identity, or be given twice; then it must be given as the same matrix.
    for (&s, rho) in wanted.iter().zip(generators) {
        if let Some(reached) = all[s].as_ref().filter(|m| !same(m, rho)) {
            return Err(not_a_homomorphism(group, name, s, 0, show(rho), show(reached)));
        }
    }
    let all: Option<Vec<T>> = all.into_iter().collect();
    all.ok_or_else(|| Error::Unsuitable(format!("the generators of {group} do not reach every element")))
}

/// The rows of a signed permutation matrix, or nothing if it is not one.
fn signed_rows(m: &DMatrix<f64>) -> Option<Vec<(usize, i8)>> {
    let mut taken = vec![false; m.ncols()];
    m.row_iter()
        .map(|row| {
            let mut filled = row.iter().enumerate().filter(|(_, v)| **v != 0.0);
            let (j, &v) = filled.next()?;
            let sign = match v {
                1.0 => 1,
                -1.0 => -1,
                _ => return None,
            };
            let alone = filled.next().is_none() && !std::mem::replace(&mut taken[j], true);
            alone.then_some((j, sign))
        })
        .collect()
}

pub(crate) fn check_size(name: &str, group: &Group, numbers: usize) -> Result<()> {
    if numbers.saturating_mul(group.order()) > MAX_NUMBERS {
        return Err(Error::TooLarge {
            what: format!("the representation `{}` of {group}", shorten(name)),
            size: format!("{numbers} numbers for each of {} elements", group.order()),
            limit: MAX_NUMBERS,
        });
    }
    Ok(())
}

pub(super) fn tolerance(m: &DMatrix<f64>) -> f64 {
    TOLERANCE * m.amax().max(1.0)
}

/// The largest difference of two entries; infinite if any is not a number.
pub(super) fn distance(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    let worst = |m: f64, d: f64| if d.is_nan() { f64::INFINITY } else { m.max(d) };
    a.iter().zip(b.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, worst)
}

fn not_a_homomorphism(
    group: &Group,
    name: &str,
    g: Element,
    h: Element,
    product: String,
    image: String,
) -> Error {
    Error::NotAHomomorphism(Box::new(BrokenProduct {
        rep: shorten(name),
        group: group.name().into(),
        g: group.element_name(g).into(),
        h: group.element_name(h).into(),
        gh: group.element_name(group.mul(g, h)).into(),
        product,
        image,
    }))
}

/// A square matrix for an error message: as a gather if it is a permutation, by rows otherwise; cut if it is long. It is
/// never written out as a whole, which for a long permutation would take gigabytes.
pub(super) fn show(dim: usize, entry: impl Fn(usize, usize) -> f64) -> String {
    const MOST: usize = 8;
    let m = DMatrix::from_fn(dim.min(MOST), dim.min(MOST), entry);
    if dim > MOST {
        return format!("[{}, ...] (its first {MOST} rows and columns)", text::matrices(&[m]));
    }
    match signed_rows(&m) {
        Some(rows) if rows.iter().all(|r| r.1 == 1) => {
            format!("perm[{}]", text::lists(&[rows.iter().map(|r| r.0).collect()]))
        }
        _ => format!("[{}]", text::matrices(&[m])),
    }
}
