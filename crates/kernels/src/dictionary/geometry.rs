//! Sizes of pictures, patches and windows, and the group: what an atlas and a book depend on, channels aside.

use super::Turns;
use crate::encoder::{Config, Encoder};
use crate::error::{Error, Result};
use std::sync::Arc;

/// A tap takes six bits of a part.
const MOST_TAPS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    /// Sides and strides of the filters.
    pub(super) kernels: [usize; 2],
    pub(super) strides: [usize; 2],
    /// Rows and columns of patches.
    pub(super) hidden: (usize, usize),
    /// Rows and columns of windows.
    pub(super) pooled: (usize, usize),
    pub(super) turns: Turns,
}

impl Geometry {
    pub(super) fn new(config: Config, turns: &Turns) -> Result<Self> {
        let dense = Encoder::new(config)?;
        let kernels = [config.first.kernel, config.second.kernel];
        if turns.kernels() != kernels {
            return Err(Error::Group { problem: "its pixels are those of other filters" });
        }
        if kernels[1].pow(2) > MOST_TAPS {
            return Err(Error::TooLarge { name: "the second filter", limit: MOST_TAPS });
        }
        Ok(Self {
            channels: config.channels,
            height: config.height,
            width: config.width,
            kernels,
            strides: [config.first.stride, config.second.stride],
            hidden: dense.hidden_size(),
            pooled: dense.pooled_size(),
            turns: turns.clone(),
        })
    }

    /// Elements of a picture.
    pub(super) fn picture(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Pixels of a patch.
    pub(super) fn patch(&self) -> usize {
        self.channels * self.kernels[0].pow(2)
    }

    /// Patches of a window.
    pub(super) fn taps(&self) -> usize {
        self.kernels[1].pow(2)
    }

    /// Windows of a picture.
    pub(super) fn positions(&self) -> usize {
        self.pooled.0 * self.pooled.1
    }

    /// Whether things made for `a` and for `b` go together.
    pub(super) fn same(a: &Arc<Self>, b: &Arc<Self>) -> bool {
        Arc::ptr_eq(a, b) || a == b
    }
}
