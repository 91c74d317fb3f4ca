//! The encoder on a dictionary of the patches and windows that images are made of: the same function as
//! [`Encoder`](super::Encoder), to rounding, computed once per distinct window instead of once per pixel.
//!
//! The coefficients of a layer between regular representations are the rows of its weight that belong to the group's
//! identity; the kernel takes these rows and does the turning by addresses.

use super::{Encoder, Space};
use crate::error::Result;
use equimarl_group::{Group, Plane};
use equimarl_kernels::dictionary as kernel;
use std::sync::Arc;

/// How an encoder runs on a dictionary.
#[derive(Clone, Debug)]
pub struct Dictionary {
    plan: Arc<kernel::Plan>,
    /// Where the kernel's coefficients stand among the layer's: weight and bias of each convolution.
    first: [Vec<u32>; 2],
    second: [Vec<u32>; 2],
}

/// Weights in the order that the kernel reads them, and working memory.
#[derive(Clone, Debug, Default)]
pub struct DictionaryWeights {
    packed: kernel::Packed,
    rows: [Vec<f32>; 4],
}

/// What is kept for a backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct DictionaryWork {
    cache: kernel::Cache,
    workspace: kernel::Workspace,
    rows: [Vec<f32>; 4],
}

impl Dictionary {
    /// Nothing if the encoder has none: its channels are not regular ones, or the group is too large.
    pub fn new(encoder: &Encoder, group: &Group) -> Option<Dictionary> {
        let (order, config) = (group.order(), encoder.config());
        let plane = Plane::new(group).ok()?;
        let products = group.elements().flat_map(|g| group.elements().map(move |h| (g, h)));
        let multiply: Vec<u32> = products.map(|(g, h)| group.mul(g, h) as u32).collect();
        let kernels = [config.first.kernel, config.second.kernel];
        let turns = kernel::Turns::new(order, &multiply, kernels, |g, n, at| plane.pixel(g, n, at)).ok()?;
        let channels = [config.first.channels / order, config.second.channels / order];
        let plan = kernel::Plan::new(config, &turns, channels).ok()?;
        let [first, second] = encoder.spaces().each_ref().map(|space| identity_rows(space, order));
        Some(Dictionary { plan: Arc::new(plan), first: first?, second: second? })
    }

    /// The kernel's plan, from which atlases and books are made.
    pub fn plan(&self) -> &Arc<kernel::Plan> {
        &self.plan
    }

    /// Puts the weights in the order that the kernel reads them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: [&[f32]; 2], weights: &mut DictionaryWeights) -> Result<()> {
        let tables = self.first.iter().chain(&self.second);
        for (i, (rows, index)) in weights.rows.iter_mut().zip(tables).enumerate() {
            rows.clear();
            rows.extend(
                index.iter().map(|&c| parameters[i / 2].get(c as usize).copied().unwrap_or(f32::NAN)),
            );
        }
        let [a1, b1, a2, b2] = weights.rows.each_ref().map(Vec::as_slice);
        Ok(self.plan.pack(kernel::Coefficients { a1, b1, a2, b2 }, &mut weights.packed)?)
    }

    /// The features of all images of a book; only those that are new since the last call are computed.
    ///
    /// # Errors
    /// If the book or the weights are another network's.
    pub fn forward<'a>(
        &self,
        weights: &DictionaryWeights,
        book: &kernel::Book,
        work: &'a mut DictionaryWork,
    ) -> Result<&'a [f32]> {
        self.plan.forward(&weights.packed, book, &mut work.cache)?;
        Ok(work.cache.features())
    }

    /// Adds to the gradients of the coefficients, given those of the features of the last forward pass.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        weights: &DictionaryWeights,
        book: &kernel::Book,
        dfeatures: &[f32],
        work: &mut DictionaryWork,
        gradients: [&mut [f32]; 2],
    ) -> Result<()> {
        let DictionaryWork { cache, workspace, rows } = work;
        for (rows, len) in rows.iter_mut().zip(self.plan.coefficient_lens()) {
            rows.resize(len, 0.0);
        }
        let [a1, b1, a2, b2] = rows;
        let into = kernel::Gradients { a1, b1, a2, b2 };
        self.plan.backward(&weights.packed, book, cache, dfeatures, workspace, into)?;
        let tables = self.first.iter().chain(&self.second);
        for (i, (rows, index)) in rows.iter().zip(tables).enumerate() {
            for (&row, &c) in rows.iter().zip(index) {
                gradients[i / 2][c as usize] += row;
            }
        }
        Ok(())
    }
}

/// Where the rows of the identity element stand among the coefficients of a layer; nothing unless they are all of them,
/// each once and as it is.
fn identity_rows(space: &Space, order: usize) -> Option<[Vec<u32>; 2]> {
    let width = space.weight().entries() / space.output().dim();
    let rows = (0..space.output().dim()).step_by(order);
    let entries = rows.clone().flat_map(|row| row * width..(row + 1) * width);
    let one = |mut terms: Box<dyn Iterator<Item = (usize, f32)> + '_>| match (terms.next(), terms.next()) {
        (Some((c, 1.0)), None) => Some(c as u32),
        _ => None,
    };
    let weight: Vec<u32> = entries.map(|e| one(Box::new(space.weight().terms(e)))).collect::<Option<_>>()?;
    let bias: Vec<u32> = rows.map(|row| one(Box::new(space.bias().terms(row)))).collect::<Option<_>>()?;
    let [weights, biases] = space.ranks();
    let each_once = |index: &[u32], count: usize| {
        let mut sorted = index.to_vec();
        sorted.sort_unstable();
        sorted.iter().copied().eq(0..count as u32)
    };
    (each_once(&weight, weights) && each_once(&bias, biases))
        .then(|| [weight, bias.iter().map(|&c| c + weights as u32).collect()])
}
