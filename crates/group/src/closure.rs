//! Groups from generators: multiply until nothing new appears.

use crate::error::{Error, Result};
use crate::family::{Family, compose, cycles};
use crate::group::{Group, MAX_ORDER};
use crate::text;
use nalgebra::DMatrix;
use std::collections::BTreeMap;

/// Two matrices are the same element when their entries agree to this.
const SAME: f64 = 1e-6;
/// The largest generator we read: points of a permutation, or rows of a matrix.
const MAX_POINTS: usize = 4096;
const MAX_ROWS: usize = 64;
/// Enumerating stops when the elements hold this many numbers (64 MB).
const MAX_NUMBERS: usize = 1 << 23;

pub(crate) fn from_permutations(generators: &[Vec<usize>]) -> Result<Group> {
    let points = generators.first().map_or(0, Vec::len);
    if points == 0 {
        return Err(Error::NotAGroup("give at least one permutation of at least one point".into()));
    }
    check_size("a permutation", points, MAX_POINTS)?;
    for p in generators {
        check_permutation(p, points).map_err(Error::NotAGroup)?;
    }
    let name = format!("perm[{}]", text::lists(generators));
    let closed =
        close(&name, generators, (0..points).collect(), points, |p, q| compose(p, q), |p| p.clone())?;
    let names = closed.elements.iter().map(|p| cycles(p)).collect();
    let family = Family::Permutations(closed.elements);
    Group::verified(name, family, closed.product, Some(closed.generators), names)
}

pub(crate) fn from_matrices(dim: usize, generators: &[Vec<f64>]) -> Result<Group> {
    if generators.is_empty() || dim == 0 {
        return Err(Error::NotAGroup("give at least one matrix of at least one row".into()));
    }
    check_size("a matrix", dim, MAX_ROWS)?;
    let mut matrices = Vec::new();
    for (i, m) in generators.iter().enumerate() {
        if m.len() != dim * dim {
            return Err(Error::NotAGroup(format!(
                "generator {i} has {} numbers instead of {dim} x {dim}",
                m.len()
            )));
        }
        if !m.iter().all(|v| v.is_finite() && v.abs() < 1e3) {
            return Err(Error::NotAGroup(format!(
                "generator {i} has an entry that is not a number below 1000"
            )));
        }
        let matrix = DMatrix::from_row_slice(dim, dim, m);
        let volume = matrix.determinant();
        if (volume.abs() - 1.0).abs() > SAME {
            return Err(Error::NotAGroup(format!(
                "generator {i} has determinant {volume}; elements of a finite group have 1 or -1"
            )));
        }
        matrices.push(matrix);
    }
    let name = format!("matrix[{}]", text::matrices(&matrices));
    // Round to a lattice for look-up. Entries near a cell's border could round either way, so elements are
    // compared on a lattice shifted by an irrational amount, far from the values that finite groups have.
    let key = |m: &DMatrix<f64>| -> Vec<i64> {
        m.iter().map(|v| ((v + 0.000_000_318_309_9) / SAME).floor() as i64).collect()
    };
    let closed = close(&name, &matrices, DMatrix::identity(dim, dim), dim * dim, |a, b| a * b, key)?;
    let names = closed.words.iter().map(|w| text::word(w, matrices.len())).collect();
    let family = Family::Matrices(closed.elements);
    Group::verified(name, family, closed.product, Some(closed.generators), names)
}

pub(crate) fn check_permutation(p: &[usize], points: usize) -> std::result::Result<(), String> {
    if p.len() != points {
        return Err(format!(
            "the permutations have {points} and {} points; all need the same number",
            p.len()
        ));
    }
    let mut seen = vec![false; points];
    for &i in p {
        if i >= points || std::mem::replace(&mut seen[i], true) {
            return Err(format!(
                "{p:?} is not a permutation of 0..{}: {i} is {}",
                points - 1,
                if i >= points { "too large" } else { "there twice" }
            ));
        }
    }
    Ok(())
}

fn check_size(what: &str, size: usize, limit: usize) -> Result<()> {
    if size > limit {
        return Err(Error::TooLarge { what: what.into(), size: size.to_string(), limit });
    }
    Ok(())
}

struct Closed<T> {
    elements: Vec<T>,
    /// A shortest word in the generators for each element.
    words: Vec<Vec<usize>>,
    product: Vec<u32>,
    generators: Vec<usize>,
}

/// Breadth-first: the identity, then every known element times every generator.
fn close<T: Clone, K: Ord>(
    name: &str,
    generators: &[T],
    identity: T,
    numbers: usize,
    mul: impl Fn(&T, &T) -> T,
    key: impl Fn(&T) -> K,
) -> Result<Closed<T>> {
    let most = MAX_ORDER.min(MAX_NUMBERS / numbers).max(1);
    let mut index = BTreeMap::from([(key(&identity), 0usize)]);
    let (mut elements, mut words) = (vec![identity], vec![vec![]]);
    // right[g][s] = g * generator s
    let mut right: Vec<Vec<usize>> = Vec::new();
    while right.len() < elements.len() {
        let g = right.len();
        let mut row = Vec::with_capacity(generators.len());
        for (s, generator) in generators.iter().enumerate() {
            let next = mul(&elements[g], generator);
            let found = *index.entry(key(&next)).or_insert_with(|| {
                words.push([&words[g][..], &[s]].concat());
                elements.push(next);
                elements.len() - 1
            });
            if elements.len() > most {
                return Err(Error::TooLarge {
                    what: format!("the group generated by {}", crate::error::shorten(name)),
                    size: format!("more than {most} elements"),
                    limit: most,
                });
            }
            row.push(found);
        }
        right.push(row);
    }
    // g h = (((g s1) s2) ...) for the word s1 s2 ... of h: a table look-up per letter, no matrix products.
    let order = elements.len();
    let mut product = vec![0u32; order * order];
    for g in 0..order {
        product[g * order] = g as u32;
        for h in 1..order {
            let word = &words[h];
            let (last, prefix) = (word[word.len() - 1], &word[..word.len() - 1]);
            let before = prefix.iter().fold(g, |x, &s| right[x][s]);
            product[g * order + h] = right[before][last] as u32;
        }
    }
    let generators = right[0].clone();
    Ok(Closed { elements, words, product, generators })
}
