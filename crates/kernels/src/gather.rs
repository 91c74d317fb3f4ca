//! Rows copied from distinct ones, and the adjoint.
//!
//! out\[r\] = features\[id\[r\]\], optionally with the group channels of every row moved by a group element:
//! out\[r\]\[c |G| + h\] = features\[id\[r\]\]\[c |G| + perm_g(h)\]; the gradient adds the rows back in rising order.

use crate::error::{Error, Result, length, positive, rows};

#[cfg(test)]
mod tests;

/// How each group element moves the |G| channels of a regular block: row g holds perm_g(0), perm_g(1), ...
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutations {
    order: usize,
    table: Vec<u32>,
}

impl Permutations {
    /// Checks that every row of `order` indices is a permutation.
    ///
    /// # Errors
    /// `order` is zero, the table has no whole number of rows, or a row is no permutation.
    pub fn new(order: usize, table: Vec<u32>) -> Result<Self> {
        positive("the order of the group", order)?;
        rows("table", table.len(), order)?;
        for (row, perm) in table.chunks_exact(order).enumerate() {
            let mut seen = vec![false; order];
            for &i in perm {
                match seen.get_mut(i as usize) {
                    Some(seen) if !*seen => *seen = true,
                    _ => return Err(Error::Permutation { row, order }),
                }
            }
        }
        Ok(Self { order, table })
    }

    /// Number of permutations.
    pub fn elements(&self) -> usize {
        self.table.len() / self.order
    }

    fn row(&self, element: u32) -> &[u32] {
        &self.table[element as usize * self.order..][..self.order]
    }
}

fn checked(name: &'static str, at: usize, index: u32, limit: usize) -> Result<usize> {
    let index = index as usize;
    if index < limit { Ok(index) } else { Err(Error::Index { name, at, index, limit }) }
}

fn check_rows(
    width: usize,
    (few_name, few): (&'static str, usize),
    (many_name, many): (&'static str, usize),
    ids: &[u32],
) -> Result<()> {
    positive("the width of a row", width)?;
    let count = rows(few_name, few, width)?;
    length(many_name, many, ids.len() * width)?;
    for (at, &id) in ids.iter().enumerate() {
        checked("ids", at, id, count)?;
    }
    Ok(())
}

/// out\[r\] = features\[ids\[r\]\], rows of `width` floats.
///
/// # Errors
/// A slice has the wrong length or an id is out of range.
pub fn gather_rows(features: &[f32], width: usize, ids: &[u32], out: &mut [f32]) -> Result<()> {
    check_rows(width, ("features", features.len()), ("out", out.len()), ids)?;
    for (out, &id) in out.chunks_exact_mut(width).zip(ids) {
        out.copy_from_slice(&features[id as usize * width..][..width]);
    }
    Ok(())
}

/// The adjoint of [`gather_rows`]: dfeatures\[id\] = sum of dout\[r\] over the rows r with that id.
///
/// # Errors
/// A slice has the wrong length or an id is out of range.
pub fn scatter_rows(dout: &[f32], width: usize, ids: &[u32], dfeatures: &mut [f32]) -> Result<()> {
    check_rows(width, ("dfeatures", dfeatures.len()), ("dout", dout.len()), ids)?;
    dfeatures.fill(0.0);
    for (from, &id) in dout.chunks_exact(width).zip(ids) {
        let to = &mut dfeatures[id as usize * width..][..width];
        for (to, from) in to.iter_mut().zip(from) {
            *to += from;
        }
    }
    Ok(())
}

fn check_elements(width: usize, perms: &Permutations, ids: &[u32], elements: &[u32]) -> Result<()> {
    rows("a row", width, perms.order)?;
    length("elements", elements.len(), ids.len())?;
    for (at, &g) in elements.iter().enumerate() {
        checked("elements", at, g, perms.elements())?;
    }
    Ok(())
}

/// out\[r\]\[c |G| + h\] = features\[ids\[r\]\]\[c |G| + perm_g(h)\] with g = elements\[r\].
///
/// ```
/// use equimarl_kernels::gather::{Permutations, gather_rows_permuted};
/// let perms = Permutations::new(2, vec![0, 1, 1, 0])?;
/// let mut out = [0.0; 8];
/// gather_rows_permuted(&[1.0, 2.0, 3.0, 4.0], 4, &perms, &[0, 0], &[0, 1], &mut out)?;
/// assert_eq!(out, [1.0, 2.0, 3.0, 4.0, 2.0, 1.0, 4.0, 3.0]);
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
///
/// # Errors
/// A slice has the wrong length, or an id or element is out of range.
pub fn gather_rows_permuted(
    features: &[f32],
    width: usize,
    perms: &Permutations,
    ids: &[u32],
    elements: &[u32],
    out: &mut [f32],
) -> Result<()> {
    check_rows(width, ("features", features.len()), ("out", out.len()), ids)?;
    check_elements(width, perms, ids, elements)?;
    for ((out, &id), &g) in out.chunks_exact_mut(width).zip(ids).zip(elements) {
        let from = &features[id as usize * width..][..width];
        let blocks = out.chunks_exact_mut(perms.order);
        for (to, from) in blocks.zip(from.chunks_exact(perms.order)) {
            for (to, &h) in to.iter_mut().zip(perms.row(g)) {
                *to = from[h as usize];
            }
        }
    }
    Ok(())
}

/// The adjoint of [`gather_rows_permuted`].
///
/// # Errors
/// A slice has the wrong length, or an id or element is out of range.
pub fn scatter_rows_permuted(
    dout: &[f32],
    width: usize,
    perms: &Permutations,
    ids: &[u32],
    elements: &[u32],
    dfeatures: &mut [f32],
) -> Result<()> {
    check_rows(width, ("dfeatures", dfeatures.len()), ("dout", dout.len()), ids)?;
    check_elements(width, perms, ids, elements)?;
    dfeatures.fill(0.0);
    for ((from, &id), &g) in dout.chunks_exact(width).zip(ids).zip(elements) {
        let to = &mut dfeatures[id as usize * width..][..width];
        let blocks = to.chunks_exact_mut(perms.order);
        for (to, from) in blocks.zip(from.chunks_exact(perms.order)) {
            for (from, &h) in from.iter().zip(perms.row(g)) {
                to[h as usize] += from;
            }
        }
    }
    Ok(())
}
