//! Matrices from their free coefficients, and back.
//!
//! w\[e\] = sum over terms t of entry e of scale\[t\] c\[index\[t\]\]. For representations that permute coordinates an entry has at most
//! one term (an orbit of entries shares a coefficient), and realising is a gather. The gradient of coefficient c is the sum
//! of scale\[t\] dw\[e\] over the terms that name it, entries rising.
//!
//! Kernels read weights in an order of their own: [`Realisation::in_order`] makes a [`Gather`] that writes that order
//! straight from the coefficients.

use crate::error::{Error, Result, length, rows};
use std::ops::Range;

/// Terms and coefficients are counted in 32 bits.
const MOST: usize = u32::MAX as usize - 1;

/// How the entries of a matrix follow from coefficients.
///
/// ```
/// use equimarl_kernels::realise::Realisation;
/// // [[a, -b], [b, 0]]
/// let matrix = Realisation::new(2, vec![0, 1, 2, 3, 3], vec![0, 1, 1], vec![1.0, -1.0, 1.0])?;
/// let (mut w, mut d) = ([9.0; 4], [0.0; 2]);
/// matrix.realise(&[3.0, 5.0], &mut w)?;
/// assert_eq!(w, [3.0, -5.0, 5.0, 0.0]);
/// matrix.add_adjoint(&[1.0, 1.0, 10.0, 7.0], &mut d)?;
/// assert_eq!(d, [1.0, 9.0]);
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Realisation {
    /// The terms of entry e are `starts[e]..starts[e + 1]`.
    starts: Vec<u32>,
    index: Vec<u32>,
    scale: Vec<f32>,
    /// The other way round: coefficient c is named by the entries `of[first[c]..first[c + 1]]`, times `by`. A sum per
    /// coefficient is several times faster than adding into memory entry by entry.
    first: Vec<u32>,
    of: Vec<u32>,
    by: Vec<f32>,
    /// So many terms name each of the first coefficients, and none the others; 0 if they differ.
    each: usize,
    /// Whether no coefficient is named twice.
    once: bool,
    /// Then, and if no entry has two terms or a factor: where runs of entries are runs of coefficients.
    runs: Vec<Run>,
}

/// Entries that are coefficients, in the same order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    entry: u32,
    coefficient: u32,
    length: u32,
}

impl Realisation {
    /// Checks the terms of every entry.
    ///
    /// # Errors
    /// `starts` does not rise from 0 to the number of terms, `index` and `scale` differ in length, or an index is not
    /// below `coefficients`.
    pub fn new(coefficients: usize, starts: Vec<u32>, index: Vec<u32>, scale: Vec<f32>) -> Result<Self> {
        length("scale", scale.len(), index.len())?;
        if index.len() > MOST || coefficients > MOST {
            return Err(Error::TooLarge { name: "a realisation", limit: MOST });
        }
        let rises = starts.first() == Some(&0) && starts.is_sorted();
        if !rises || starts.last() != Some(&(index.len() as u32)) {
            return Err(Error::Offsets { at: 0 });
        }
        let mut first = vec![0u32; coefficients + 1];
        for (at, &i) in index.iter().enumerate() {
            match first.get_mut(i as usize + 1) {
                Some(count) => *count += 1,
                None => {
                    return Err(Error::Index { name: "index", at, index: i as usize, limit: coefficients });
                }
            }
        }
        for c in 0..coefficients {
            first[c + 1] += first[c];
        }
        let mut next = first.clone();
        let (mut of, mut by) = (vec![0; index.len()], vec![0.0; index.len()]);
        for (e, terms) in starts.windows(2).enumerate() {
            for t in terms[0] as usize..terms[1] as usize {
                let place = &mut next[index[t] as usize];
                (of[*place as usize], by[*place as usize]) = (e as u32, scale[t]);
                *place += 1;
            }
        }
        let each = if coefficients > 0 { first[1] as usize } else { 0 };
        let alike = |(c, &start): (usize, &u32)| start as usize == (c * each).min(of.len());
        let each = if first.iter().enumerate().all(alike) { each } else { 0 };
        let once = first.windows(2).all(|c| c[1] - c[0] <= 1);
        let runs = if once && scale.iter().all(|s| *s == 1.0) { runs(&starts, &index) } else { vec![] };
        Ok(Self { starts, index, scale, first, of, by, each, once, runs })
    }

    /// Several matrices one below the other, over one list of `coefficients`: the coefficients of each part begin at its
    /// offset.
    ///
    /// # Errors
    /// A part reaches beyond the list.
    pub fn stacked<'a>(
        coefficients: usize,
        parts: impl IntoIterator<Item = (usize, &'a Realisation)>,
    ) -> Result<Self> {
        let (mut starts, mut index, mut scale) = (vec![0], vec![], vec![]);
        for (offset, part) in parts {
            let before = index.len() as u32;
            starts.extend(part.starts[1..].iter().map(|s| s + before));
            index.extend(part.index.iter().map(|&i| i + offset as u32));
            scale.extend_from_slice(&part.scale);
        }
        Self::new(coefficients, starts, index, scale)
    }

    /// Some columns of a matrix that has `width` of them, as a matrix over the same coefficients.
    ///
    /// # Errors
    /// The entries are no whole number of rows, or a row has no such columns.
    pub fn columns(&self, width: usize, columns: Range<usize>) -> Result<Self> {
        let count = rows("a matrix", self.entries(), width)?;
        if columns.start > columns.end || columns.end > width {
            return Err(Error::Index { name: "columns", at: 1, index: columns.end, limit: width });
        }
        let all = (0..count).flat_map(|row| columns.clone().map(move |column| row * width + column));
        self.entries_of(&all.collect::<Vec<_>>())
    }

    /// Some entries of a matrix, as a matrix over the same coefficients.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn entries_of(&self, entries: &[usize]) -> Result<Self> {
        let (mut starts, mut index, mut scale) = (vec![0], vec![], vec![]);
        for (at, &e) in entries.iter().enumerate() {
            if e >= self.entries() {
                return Err(Error::Index { name: "entries", at, index: e, limit: self.entries() });
            }
            for (c, s) in self.terms(e) {
                index.push(c as u32);
                scale.push(s);
            }
            starts.push(index.len() as u32);
        }
        Self::new(self.coefficients(), starts, index, scale)
    }

    /// Number of coefficients.
    pub fn coefficients(&self) -> usize {
        self.first.len() - 1
    }

    /// Number of entries of the matrix.
    pub fn entries(&self) -> usize {
        self.starts.len() - 1
    }

    /// The terms of an entry: coefficients and factors.
    pub fn terms(&self, entry: usize) -> impl Iterator<Item = (usize, f32)> {
        let terms = self.starts[entry] as usize..self.starts[entry + 1] as usize;
        terms.map(|t| (self.index[t] as usize, self.scale[t]))
    }

    /// Writes the entries, row-major.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn realise(&self, coefficients: &[f32], out: &mut [f32]) -> Result<()> {
        length("coefficients", coefficients.len(), self.coefficients())?;
        length("out", out.len(), self.entries())?;
        for (e, out) in out.iter_mut().enumerate() {
            *out = self.terms(e).map(|(c, scale)| coefficients[c] * scale).sum::<f32>() + 0.0;
        }
        Ok(())
    }

    /// Adds to the gradient of the coefficients, given that of the entries. Coefficients that no entry names are left
    /// alone.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn add_adjoint(&self, dentries: &[f32], dcoefficients: &mut [f32]) -> Result<()> {
        length("dentries", dentries.len(), self.entries())?;
        length("dcoefficients", dcoefficients.len(), self.coefficients())?;
        if !self.runs.is_empty() {
            for &Run { entry, coefficient, length } in &self.runs {
                let from = &dentries[entry as usize..][..length as usize];
                let to = &mut dcoefficients[coefficient as usize..][..length as usize];
                to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            }
            return Ok(());
        }
        if self.once {
            // Weights of their own, as in a plain network: whatever the order, each sum is one number.
            for (e, terms) in dentries.iter().zip(self.starts.windows(2)) {
                for t in terms[0] as usize..terms[1] as usize {
                    dcoefficients[self.index[t] as usize] += e * self.scale[t];
                }
            }
            return Ok(());
        }
        // SAFETY: `new` filled `of` with numbers of entries, and there are so many.
        let term = |e: u32, by: f32| unsafe { dentries.get_unchecked(e as usize) } * by;
        let named = match self.each {
            // Orbits of four, as quarter turns make them: two short sums instead of one long one.
            4 => self.of.len() / 4,
            _ => 0,
        };
        let (fours, rest) = dcoefficients.split_at_mut(named);
        let terms = self.of.chunks_exact(4).zip(self.by.chunks_exact(4));
        for (out, (e, by)) in fours.iter_mut().zip(terms) {
            *out += (term(e[0], by[0]) + term(e[1], by[1])) + (term(e[2], by[2]) + term(e[3], by[3]));
        }
        for (out, range) in rest.iter_mut().zip(self.first[named..].windows(2)) {
            let range = range[0] as usize..range[1] as usize;
            let terms = self.of[range.clone()].iter().zip(&self.by[range]);
            *out = terms.fold(*out, |sum, (&e, &by)| sum + term(e, by));
        }
        Ok(())
    }

    /// Realising in another order: float k is entry `order[k]`, or zero where there is none.
    pub fn in_order(&self, order: impl IntoIterator<Item = Option<usize>>) -> Gather {
        let order: Vec<Option<usize>> = order.into_iter().collect();
        let count = |e: &Option<usize>| e.map_or(0, |e| self.starts[e + 1] - self.starts[e]);
        let single = self.coefficients() > 0 && order.iter().all(|e| count(e) <= 1);
        let mut gather = Gather { coefficients: self.coefficients(), ..Gather::default() };
        if !single {
            gather.starts.push(0);
        }
        for entry in &order {
            let terms = entry.map(|e| self.starts[e] as usize..self.starts[e + 1] as usize);
            let terms = terms.unwrap_or(0..0);
            if single && terms.is_empty() {
                // Nothing times some coefficient: the loop has no branch.
                gather.index.push(0);
                gather.scale.push(0.0);
            }
            gather.index.extend_from_slice(&self.index[terms.clone()]);
            gather.scale.extend_from_slice(&self.scale[terms]);
            if !single {
                gather.starts.push(gather.index.len() as u32);
            }
        }
        gather.stride = if single { gather.common_stride() } else { None };
        gather
    }
}

/// Runs of entries whose coefficients rise one by one; none if an entry has several terms.
fn runs(starts: &[u32], index: &[u32]) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![];
    for (entry, terms) in starts.windows(2).enumerate() {
        let entry = entry as u32;
        match terms[1] - terms[0] {
            0 => {}
            1 => {
                let coefficient = index[terms[0] as usize];
                match runs.last_mut() {
                    Some(run)
                        if run.entry + run.length == entry && run.coefficient + run.length == coefficient =>
                    {
                        run.length += 1;
                    }
                    _ => runs.push(Run { entry, coefficient, length: 1 }),
                }
            }
            _ => return vec![],
        }
    }
    runs
}

/// Realises the entries of a matrix in a fixed order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gather {
    coefficients: usize,
    /// The terms of each float; empty if every float has at most one.
    starts: Vec<u32>,
    index: Vec<u32>,
    scale: Vec<f32>,
    /// If every float is a coefficient as it is, and every eight floats are so many coefficients apart: plain weights in the
    /// order of the backward pass (1), and of the forward pass (a row).
    stride: Option<usize>,
}

impl Gather {
    fn common_stride(&self) -> Option<usize> {
        let stride = self.index.get(1)?.checked_sub(self.index[0])?;
        let even = |i: &[u32]| i.windows(2).all(|pair| pair[0].checked_add(stride) == Some(pair[1]));
        let all = self.index.len().is_multiple_of(8) && self.scale.iter().all(|s| *s == 1.0);
        (all && self.index.chunks(8).all(even)).then_some(stride as usize)
    }

    /// Number of floats it writes.
    pub fn len(&self) -> usize {
        if self.starts.is_empty() { self.index.len() } else { self.starts.len() - 1 }
    }

    /// Whether it writes nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes all floats.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn run(&self, coefficients: &[f32], out: &mut [f32]) -> Result<()> {
        length("coefficients", coefficients.len(), self.coefficients)?;
        length("out", out.len(), self.len())?;
        if let Some(stride) = self.stride {
            for (out, i) in out.chunks_exact_mut(8).zip(self.index.chunks_exact(8)) {
                for (k, out) in out.iter_mut().enumerate() {
                    // SAFETY: the eight indices are so far apart, and below `self.coefficients`, as below.
                    *out = unsafe { *coefficients.get_unchecked(i[0] as usize + k * stride) };
                }
            }
            return Ok(());
        }
        if self.starts.is_empty() {
            // SAFETY: indices were below `self.coefficients` when this was made, which is the slice's length.
            let one = |i: u32, scale: f32| unsafe { coefficients.get_unchecked(i as usize) } * scale;
            let mut outs = out.chunks_exact_mut(8);
            let (mut indices, mut scales) = (self.index.chunks_exact(8), self.scale.chunks_exact(8));
            for ((out, i), s) in (&mut outs).zip(&mut indices).zip(&mut scales) {
                for k in 0..8 {
                    out[k] = one(i[k], s[k]);
                }
            }
            let rest = indices.remainder().iter().zip(scales.remainder());
            for (out, (&i, &s)) in outs.into_remainder().iter_mut().zip(rest) {
                *out = one(i, s);
            }
            return Ok(());
        }
        for (out, terms) in out.iter_mut().zip(self.starts.windows(2)) {
            let terms = terms[0] as usize..terms[1] as usize;
            let terms = self.index[terms.clone()].iter().zip(&self.scale[terms]);
            *out = terms.map(|(&i, scale)| coefficients[i as usize] * scale).sum::<f32>() + 0.0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;
    use proptest::prelude::*;

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    proptest! {
        #[test]
        fn realises_by_terms_in_any_order_and_adds_as_its_adjoint(
            coefficients in 1usize..20, entries in 0usize..100, most in 1usize..4, seed: u64,
        ) {
            let mut noise = Noise::new(seed);
            let mut starts = vec![0u32];
            for e in 0..entries {
                starts.push(starts[e] + noise.below(most + 1) as u32);
            }
            let terms = starts[entries] as usize;
            let index: Vec<u32> = (0..terms).map(|_| noise.below(coefficients) as u32).collect();
            let scale = noise.whole(terms, 3);
            let matrix = Realisation::new(coefficients, starts.clone(), index.clone(), scale.clone()).unwrap();
            let (c, dw) = (noise.whole(coefficients, 9), noise.whole(entries, 9));
            let (mut w, mut dc) = (vec![9.0; entries], vec![0.0; coefficients]);
            matrix.realise(&c, &mut w).unwrap();
            matrix.add_adjoint(&dw, &mut dc).unwrap();
            for e in 0..entries {
                let terms = starts[e] as usize..starts[e + 1] as usize;
                let expected: f32 = terms.map(|t| c[index[t] as usize] * scale[t]).sum();
                prop_assert_eq!(w[e], expected);
            }
            prop_assert_eq!(dot(&w, &dw), dot(&c, &dc));
            let order: Vec<Option<usize>> =
                (0..2 * entries).map(|_| Some(noise.below(entries + 1)).filter(|e| *e < entries)).collect();
            let gather = matrix.in_order(order.clone());
            let mut out = vec![9.0; gather.len()];
            gather.run(&c, &mut out).unwrap();
            for (out, entry) in out.iter().zip(&order) {
                prop_assert_eq!(*out, entry.map_or(0.0, |e| w[e]));
            }
        }
    }

    /// Plain weights, as they are and turned over: both ways of copying.
    #[test]
    fn plain_weights_are_copied() {
        let [rows, columns] = [16, 32];
        let starts: Vec<u32> = (0..=rows as u32 * columns as u32).collect();
        let index: Vec<u32> = starts[1..].to_vec();
        let matrix = Realisation::new(starts.len(), starts, index, vec![1.0; rows * columns]).unwrap();
        let c = Noise::new(3).floats(matrix.coefficients());
        let (straight, turned): (Vec<_>, Vec<_>) =
            (0..rows * columns).map(|k| (Some(k), Some(k % rows * columns + k / rows))).unzip();
        for (order, stride) in [(straight, 1), (turned, columns)] {
            let gather = matrix.in_order(order.clone());
            assert_eq!(gather.stride, Some(stride));
            let mut out = vec![f32::NAN; gather.len()];
            gather.run(&c, &mut out).unwrap();
            assert!(out.iter().zip(&order).all(|(out, entry)| *out == c[entry.unwrap() + 1]));
        }
        let mut d = vec![1.0; matrix.coefficients()];
        matrix.add_adjoint(&c[1..], &mut d).unwrap();
        assert_eq!(matrix.runs.len(), 1);
        assert!(d[0] == 1.0 && d[1..].iter().zip(&c[1..]).all(|(d, c)| *d == 1.0 + c));
        // One more entry, a factor, or another distance, and nothing is copied.
        assert_eq!(matrix.in_order([Some(0), None]).stride, None);
        assert_eq!(matrix.in_order((0..8).map(|k| Some(k * k))).stride, None);
    }

    #[test]
    fn stacked_parts_keep_their_coefficients_apart() {
        let part = Realisation::new(1, vec![0, 1, 2], vec![0, 0], vec![1.0, 2.0]).unwrap();
        let both = Realisation::stacked(5, [(1, &part), (4, &part)]).unwrap();
        let mut w = [0.0; 4];
        both.realise(&[9.0, 1.0, 9.0, 9.0, 3.0], &mut w).unwrap();
        assert_eq!(w, [1.0, 2.0, 3.0, 6.0]);
        assert!(Realisation::stacked(4, [(4, &part)]).is_err());
    }

    #[test]
    fn columns_are_a_matrix_of_their_own() {
        // [[a, -b, 2a], [b, 0, a]]
        let terms = (vec![0, 1, 2, 3, 4, 4, 5], vec![0, 1, 0, 1, 0], vec![1.0, -1.0, 2.0, 1.0, 1.0]);
        let matrix = Realisation::new(2, terms.0, terms.1, terms.2).unwrap();
        let last = matrix.columns(3, 1..3).unwrap();
        let (mut w, mut d) = ([9.0; 4], [0.0; 2]);
        last.realise(&[3.0, 5.0], &mut w).unwrap();
        assert_eq!(w, [-5.0, 6.0, 0.0, 3.0]);
        last.add_adjoint(&[1.0, 10.0, 100.0, 1000.0], &mut d).unwrap();
        assert_eq!(d, [1020.0, -1.0]);
        assert_eq!(matrix.columns(3, 0..3).unwrap(), matrix);
        assert_eq!(matrix.columns(3, 1..1).unwrap().entries(), 0);
        let some = matrix.entries_of(&[5, 0]).unwrap();
        let mut w = [9.0; 2];
        some.realise(&[3.0, 5.0], &mut w).unwrap();
        assert_eq!(w, [3.0, 3.0]);
        assert!(matrix.entries_of(&[6]).is_err());
        assert!(matrix.columns(4, 0..1).is_err());
        assert!(matrix.columns(3, 0..4).is_err());
    }

    #[test]
    fn wrong_terms_and_lengths_are_errors() {
        assert!(Realisation::new(1, vec![0, 1], vec![1], vec![1.0]).is_err());
        assert!(Realisation::new(1, vec![0, 2], vec![0], vec![1.0]).is_err());
        assert!(Realisation::new(1, vec![], vec![], vec![]).is_err());
        assert!(Realisation::new(1, vec![0, 1], vec![0], vec![]).is_err());
        let matrix = Realisation::new(1, vec![0, 1], vec![0], vec![1.0]).unwrap();
        assert!(matrix.realise(&[0.0; 2], &mut [0.0]).is_err());
        assert!(matrix.add_adjoint(&[0.0; 2], &mut [0.0]).is_err());
        assert!(matrix.in_order([Some(0), None]).run(&[0.0], &mut [0.0]).is_err());
    }
}
