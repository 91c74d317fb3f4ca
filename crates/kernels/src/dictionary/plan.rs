//! Checked sizes and every table that follows from them.

use super::geometry::Geometry;
use super::{LANES, Turns};
use crate::encoder::Config;
use crate::error::{Error, Result, length, positive, product};
use crate::simd::Level;
use std::sync::Arc;

/// Marks a padding lane in an index table.
pub(super) const PADDING: u32 = u32::MAX;

/// Channels of a layer as the kernels keep them: \[group element\]\[channel\], the channels of a block filled up to whole
/// vectors. L_g only permutes blocks, that is, changes addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Channels of a block.
    pub(super) channels: usize,
    /// The same, filled up.
    pub(super) padded: usize,
    /// Floats of all blocks.
    pub(super) width: usize,
    /// Vectors of all blocks.
    pub(super) vectors: usize,
    /// \[g\]\[vector of L_g x\]: where it starts in x. Block u of L_g x is block g^-1 u of x.
    pub(super) turned: Vec<u32>,
}

impl Blocks {
    fn new(channels: usize, turns: &Turns) -> Self {
        let (order, padded) = (turns.order(), channels.next_multiple_of(LANES));
        let (width, each) = (order * padded, padded / LANES);
        let vectors = width / LANES;
        let from = |g: usize, v: usize| {
            let block = turns.times(turns.inverse(g), v / each);
            (block * padded + v % each * LANES) as u32
        };
        let turned = (0..order * vectors).map(|i| from(i / vectors, i % vectors)).collect();
        Self { channels, padded, width, vectors, turned }
    }
}

/// A plan: checked sizes, index tables and the instruction set. Free of weights.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) geometry: Arc<Geometry>,
    pub(super) level: Level,
    /// Hidden channels and features.
    pub(super) hidden: Blocks,
    pub(super) out: Blocks,
    /// W1 \[pixel of a patch\]\[hidden\] -> a1
    pub(super) first: Vec<u32>,
    /// A2 \[tap\]\[feature\]\[hidden\] -> a2
    pub(super) second: Vec<u32>,
    /// A2 with features side by side, \[tap\]\[hidden\]\[feature, filled up\] -> a2
    pub(super) columns: Vec<u32>,
    /// \[g\]\[tap\]: g^-1 tap
    pub(super) back: Vec<u32>,
    /// \[tap\]\[shift\]\[block of dz\]
    pub(super) jumps: Vec<Jump>,
}

/// Where a block u' of a window's gradient leads for a part (tap t, shift s), with u = s^-1 u'.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jump {
    /// Where tap u^-1 t starts in A2.
    pub(super) filter: u32,
    /// Where the vectors of L_(u^-1) h are listed: its block j is block u j of h.
    pub(super) turned: u32,
}

impl Plan {
    /// Checks the sizes and plans for this CPU. `channels` are those of the two layers per group element, so `config` has
    /// `channels[0] * order` and `channels[1] * order`.
    ///
    /// # Errors
    /// A size is zero or too large, a filter does not fit its picture or has more than 64 taps (the second one), or the
    /// group's order or filters are not those of `config`.
    pub fn new(config: Config, turns: &Turns, channels: [usize; 2]) -> Result<Self> {
        Self::with_level(config, turns, channels, Level::best())
    }

    /// As [`Plan::new`], with a chosen instruction set. AVX-512 counts as AVX2: rows are short, and the bits are the same.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn with_level(config: Config, turns: &Turns, channels: [usize; 2], level: Level) -> Result<Self> {
        let geometry = Geometry::new(config, turns)?;
        let order = turns.order();
        let [c1, c2] = channels;
        positive("the first layer's number of channels", c1)?;
        positive("the second layer's number of channels", c2)?;
        let too_large = Error::TooLarge { name: "a layer", limit: usize::MAX };
        let total = |c: usize| c.checked_mul(order).ok_or(too_large.clone());
        length("channels[0] * order", total(c1)?, config.first.channels)?;
        length("channels[1] * order", total(c2)?, config.second.channels)?;
        let (hidden, out) = (Blocks::new(c1, turns), Blocks::new(c2, turns));
        let taps = geometry.taps();
        product("the first filter", &[geometry.patch(), hidden.width])?;
        product("the second filter", &[taps, hidden.width, out.width])?;
        let back: Vec<u32> =
            (0..order).flat_map(|g| turns.send(1, turns.inverse(g)).iter().copied()).collect();

        let (patch, area) = (geometry.patch(), geometry.kernels[0].pow(2));
        // W1[(c, h)][x][tap] = A1[c][x][h^-1 tap]
        let first = |pixel: usize, k: usize| {
            let (h, c) = (k / hidden.padded, k % hidden.padded);
            let tap = turns.send(0, turns.inverse(h))[pixel % area] as usize;
            if c < c1 { (c * patch + pixel / area * area + tap) as u32 } else { PADDING }
        };
        let first = table([patch, hidden.width], |[pixel, k]| first(pixel, k));
        let coefficient = |tap: usize, o: usize, k: usize| {
            let (j, i) = (k / hidden.padded, k % hidden.padded);
            if o < c2 && i < c1 { (((o * c1 + i) * order + j) * taps + tap) as u32 } else { PADDING }
        };
        let second = table([taps * c2, hidden.width], |[row, k]| coefficient(row / c2, row % c2, k));
        let columns = table([taps * hidden.width, out.padded], |[row, o]| {
            coefficient(row / hidden.width, o, row % hidden.width)
        });
        let jumps = (0..taps * order * order).map(|i| {
            let (tap, shift, block) = (i / order / order, i / order % order, i % order);
            let u = turns.times(turns.inverse(shift), block);
            Jump {
                filter: back[u * taps + tap] * (c2 * hidden.width) as u32,
                turned: (turns.inverse(u) * hidden.vectors) as u32,
            }
        });
        let jumps = jumps.collect();
        let (geometry, level) = (Arc::new(geometry), level.narrow());
        Ok(Self { geometry, level, hidden, out, first, second, columns, back, jumps })
    }

    /// Order of the group.
    pub fn order(&self) -> usize {
        self.geometry.turns.order()
    }

    /// Channels of the two layers per group element.
    pub fn channels(&self) -> [usize; 2] {
        [self.hidden.channels, self.out.channels]
    }

    /// Elements of one picture.
    pub fn picture_len(&self) -> usize {
        self.geometry.picture()
    }

    /// Windows of one picture: what [`super::Atlas::look`] writes.
    pub fn positions(&self) -> usize {
        self.geometry.positions()
    }

    /// Features of one picture.
    pub fn features(&self) -> usize {
        self.out.channels * self.order()
    }

    /// Lengths of `a1`, `b1`, `a2` and `b2`.
    pub fn coefficient_lens(&self) -> [usize; 4] {
        let [c1, c2] = self.channels();
        [c1 * self.geometry.patch(), c1, c2 * c1 * self.order() * self.geometry.taps(), c2]
    }

    /// Patches of a window.
    pub(super) fn taps(&self) -> usize {
        self.geometry.taps()
    }

    /// What packed weights must agree on with the plan that uses them.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { geometry: self.geometry.clone(), channels: self.channels(), level: self.level }
    }
}

/// Who packed some weights.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    geometry: Arc<Geometry>,
    channels: [usize; 2],
    level: Level,
}

impl Stamp {
    pub(super) fn fits(&self, plan: &Plan) -> bool {
        Geometry::same(&self.geometry, &plan.geometry)
            && self.channels == plan.channels()
            && self.level == plan.level
    }
}

fn table([rows, columns]: [usize; 2], of: impl Fn([usize; 2]) -> u32) -> Vec<u32> {
    (0..rows * columns).map(|i| of([i / columns, i % columns])).collect()
}
