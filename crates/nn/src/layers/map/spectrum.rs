//! Regular channels of C_n and D_n in the basis F of their irreducible representations (`equimarl_group::Irrep`), where W is
//! block-diagonal: D4 takes 12 multiply-adds for a pair of channels instead of 64.
//!
//! ```text
//! x^ = F x                                  rows [f][c], f runs over all rho_ab, and c is padded to whole vectors
//! y^_ab[c'] = sqrt(|G|/d) sum_c sum_j w^[c'][c]_bj x^_aj[c]       one block for all a
//! y = F^T y^, and a ReLU there
//! ```
//!
//! The coefficients of W are its rows of the unit element, w\[c'\]\[c\]\[h\], so that w^ is what F makes of them, row by row like
//! features; that they are is checked. Gradients go the same way back: F is orthogonal.

use super::Diagonal;
use crate::error::Result;
use crate::layers::{LinearWork, Space};
use equimarl_group::{Group, Irrep, Rep};
use equimarl_kernels::blocks::{self, Block, Blocks};
use equimarl_kernels::fourier::{Fourier, padded};
use equimarl_kernels::realise::Realisation;
use std::ops::Range;

/// Smaller groups gain less than the transforms take.
const SMALLEST: usize = 4;
/// The kernels transform by no larger ones.
const LARGEST: usize = 256;

/// A map between regular channels.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    fourier: Fourier,
    /// Channels in and out.
    channels: [usize; 2],
    /// Coefficients of a row of W, and which of them are of these columns.
    row: usize,
    columns: Range<usize>,
    /// Where the coefficients of the bias are, if there is one.
    bias: Option<Range<usize>>,
    /// Over the transformed coefficients, and after them those of the bias.
    diagonal: Diagonal,
}

/// The rows of a map in the other basis, and their gradients.
#[derive(Clone, Debug, Default)]
pub(super) struct Hats {
    x: Vec<f32>,
    y: Vec<f32>,
    dx: Vec<f32>,
    coefficients: Vec<f32>,
    rows: Vec<f32>,
}

impl Spectrum {
    /// The form of these columns of a space, with their weight and bias; nothing if they are not regular channels of C_n or D_n.
    pub fn of(
        space: &Space,
        columns: Range<usize>,
        weight: &Realisation,
        bias: &Realisation,
    ) -> Result<Option<Spectrum>> {
        let (group, row) = (space.input().group(), space.input().dim());
        let order = group.order();
        let between = |rep: &Rep, columns: &Range<usize>| {
            let mut at = 0;
            rep.terms().iter().all(|term| {
                let here = at..at + term.dim();
                at = here.end;
                let apart = here.end <= columns.start || columns.end <= here.start;
                apart
                    || (term.atom.name() == "regular"
                        && (here.start.max(columns.start) - here.start) % order == 0)
            })
        };
        let outputs = space.output().dim();
        if !(SMALLEST..=LARGEST).contains(&order)
            || !columns.len().is_multiple_of(order)
            || columns.is_empty()
            || !between(space.input(), &columns)
            || !between(space.output(), &(0..outputs))
        {
            return Ok(None);
        }
        let Some(irreps) = Irrep::all(group) else { return Ok(None) };
        let channels = [columns.len() / order, outputs / order];
        let weights = space.ranks()[0];
        if !is_convolution(group, channels, (row, columns.start), weight)
            || !is_constant(order, weights, bias)
        {
            return Ok(None);
        }
        let matrix = irreps.iter().flat_map(|r| r.rows.iter().flatten().map(|f| *f as f32)).collect();
        let has_bias = (0..bias.entries()).any(|e| bias.terms(e).next().is_some());
        Ok(Some(Spectrum {
            fourier: Fourier::new(order, matrix)?,
            diagonal: diagonal(&irreps, order, channels, has_bias)?,
            bias: has_bias.then_some(weights..weights + channels[1]),
            channels,
            row,
            columns,
        }))
    }

    /// Numbers of transformed rows.
    fn widths(&self) -> [usize; 2] {
        let order = self.columns.len() / self.channels[0];
        self.channels.map(|n| padded(n) * order)
    }

    pub fn realise(
        &self,
        parameters: &[f32],
        hats: &mut Vec<f32>,
        packed: &mut blocks::Packed,
    ) -> Result<()> {
        let [inputs, _] = self.widths();
        let count = self.channels[1] * inputs;
        hats.resize(self.diagonal.weight.coefficients(), 0.0);
        for (c, hat) in hats[..count].chunks_exact_mut(inputs).enumerate() {
            let row = &parameters[c * self.row..][self.columns.clone()];
            self.fourier.forward(self.channels[0], row, hat)?;
        }
        if let Some(bias) = &self.bias {
            hats[count..].copy_from_slice(&parameters[bias.clone()]);
        }
        Ok(self.diagonal.kernel.realise(&self.diagonal.realiser, hats, packed)?)
    }

    pub fn forward(
        &self,
        packed: &blocks::Packed,
        x: &[f32],
        relu: bool,
        hats: &mut Hats,
        out: &mut [f32],
    ) -> Result<()> {
        let (rows, [inputs, outputs]) = (x.len() / self.columns.len(), self.widths());
        hats.x.resize(rows * inputs, 0.0);
        hats.y.resize(rows * outputs, 0.0);
        self.fourier.forward(self.channels[0], x, &mut hats.x)?;
        self.diagonal.kernel.forward(packed, &hats.x, &mut hats.y)?;
        Ok(self.fourier.inverse(self.channels[1], &hats.y, relu, out)?)
    }

    /// As [`super::Map::backward`]; what went in is in `hats`.
    pub fn backward(
        &self,
        packed: &blocks::Packed,
        dout: &[f32],
        (hats, work): (&mut Hats, &mut LinearWork),
        dx: Option<&mut [f32]>,
        gradients: &mut [f32],
    ) -> Result<()> {
        let Hats { x, y, dx: hat_dx, coefficients, rows } = hats;
        let [inputs, outputs] = self.widths();
        y.resize(x.len() / inputs * outputs, 0.0);
        self.fourier.forward(self.channels[1], dout, y)?;
        coefficients.clear();
        coefficients.resize(self.diagonal.weight.coefficients(), 0.0);
        hat_dx.resize(if dx.is_some() { x.len() } else { 0 }, 0.0);
        let into = dx.is_some().then_some(&mut hat_dx[..]);
        self.diagonal.backward(packed, (x, y), work, into, coefficients)?;
        if let Some(dx) = dx {
            self.fourier.inverse(self.channels[0], hat_dx, false, dx)?;
        }
        let count = self.channels[1] * inputs;
        rows.resize(self.channels[1] * self.columns.len(), 0.0);
        self.fourier.inverse(self.channels[0], &coefficients[..count], false, rows)?;
        for (c, row) in rows.chunks_exact(self.columns.len()).enumerate() {
            add(&mut gradients[c * self.row..][self.columns.clone()], row);
        }
        if let Some(bias) = &self.bias {
            add(&mut gradients[bias.clone()], &coefficients[count..]);
        }
        Ok(())
    }
}

/// Whether W\[c' h'\]\[c h\] is the coefficient (c', c h'^-1 h).
fn is_convolution(
    group: &Group,
    [inputs, outputs]: [usize; 2],
    (row, first): (usize, usize),
    weight: &Realisation,
) -> bool {
    let order = group.order();
    (0..outputs * order).all(|to| {
        let back = group.inverse(to % order);
        (0..inputs * order).all(|from| {
            let h = group.mul(back, from % order);
            let expected = (to / order * row + first + from / order * order + h, 1.0);
            weight.terms(to * inputs * order + from).eq([expected])
        })
    })
}

/// Whether there is no bias, or b\[c h\] is the coefficient c.
fn is_constant(order: usize, first: usize, bias: &Realisation) -> bool {
    let none = (0..bias.entries()).all(|e| bias.terms(e).next().is_none());
    none || (0..bias.entries()).all(|e| bias.terms(e).eq([(first + e / order, 1.0)]))
}

/// The blocks of all irreducible representations over transformed coefficients \[c'\]\[f\]\[c\].
fn diagonal(
    irreps: &[Irrep],
    order: usize,
    [inputs, outputs]: [usize; 2],
    has_bias: bool,
) -> Result<Diagonal> {
    // Channels with what they are padded by, which no coefficient names.
    let [wide, high] = [inputs, outputs].map(padded);
    let count = outputs * order * wide;
    let (mut blocks, mut starts, mut index, mut scale, mut f) = (vec![], vec![0], vec![], vec![], 0);
    for irrep in irreps {
        let d = irrep.dim;
        let size = (order as f64 / d as f64).sqrt() as f32;
        for entry in 0..d * high * d * wide {
            let (to, from) = (entry / (d * wide), entry % (d * wide));
            let ((b, channel), (j, c)) = ((to / high, to % high), (from / wide, from % wide));
            if channel < outputs && c < inputs {
                // [[cos, sin], [-sin, cos]] where turns commute.
                let (at, sign) = match (irrep.complex, b, j) {
                    (false, ..) => (b * d + j, 1.0),
                    (true, 0, _) => (j, 1.0),
                    (true, _, 0) => (1, -1.0),
                    (true, ..) => (0, 1.0),
                };
                index.push(((channel * order + f + at) * wide + c) as u32);
                scale.push(sign * size);
            }
            starts.push(index.len() as u32);
        }
        let copies = if irrep.complex { 1 } else { d };
        let place = |a: usize| [(f + a * d) * wide, (f + a * d) * high];
        let places = (0..copies).map(place).collect();
        blocks.push(Block { outputs: d * high, runs: vec![0], run: d * wide, places });
        f += irrep.rows.len();
    }
    let kernel = Blocks::new(order * wide, order * high, blocks)?;
    let all = count + if has_bias { outputs } else { 0 };
    let weight = Realisation::new(all, starts, index, scale)?;
    // The first block is that of the trivial representation, which has all of the bias: sqrt|G| times it.
    let biased = if has_bias { outputs } else { 0 };
    let starts = (0..=kernel.biases()).map(|e| e.min(biased) as u32).collect();
    let index = (count..count + biased).map(|c| c as u32).collect();
    let bias = Realisation::new(all, starts, index, vec![(order as f32).sqrt(); biased])?;
    Diagonal::new(kernel, weight, bias)
}

fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}
