//! What can be wrong with sizes, said once for all kernels.

/// A size that does not fit. Kernels never panic on the sizes a caller gives them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A slice has the wrong number of elements.
    #[error("`{name}` has {found} elements, expected {expected}")]
    Length {
        /// The argument.
        name: &'static str,
        /// How many elements it must have.
        expected: usize,
        /// How many it has.
        found: usize,
    },
    /// A slice that holds whole rows does not.
    #[error("`{name}` has {found} elements, which is not a whole number of rows of {row}")]
    Rows {
        /// The argument.
        name: &'static str,
        /// Elements in a row.
        row: usize,
        /// How many elements it has.
        found: usize,
    },
    /// A size that must be at least one is zero.
    #[error("{name} must be at least 1")]
    Zero {
        /// The size.
        name: &'static str,
    },
    /// A filter is larger than the picture it runs over.
    #[error(
        "the {layer} convolution's {kernel} x {kernel} filter does not fit in a {height} x {width} picture"
    )]
    Kernel {
        /// `first` or `second`.
        layer: &'static str,
        /// Side of the filter.
        kernel: usize,
        /// Height of the picture the filter runs over.
        height: usize,
        /// Width of that picture.
        width: usize,
    },
    /// Sizes whose product is beyond what the kernels index.
    #[error("{name} is too large: at most {limit} elements")]
    TooLarge {
        /// The thing that would be too large.
        name: &'static str,
        /// The limit.
        limit: usize,
    },
    /// An index points outside the thing it indexes.
    #[error("`{name}[{at}]` is {index}, but there are only {limit}")]
    Index {
        /// The argument.
        name: &'static str,
        /// Position of the bad index.
        at: usize,
        /// The bad index.
        index: usize,
        /// How many things there are.
        limit: usize,
    },
    /// Row offsets of a graph that do not rise from 0 to the number of edges.
    #[error("offsets must rise from 0 to the number of what they divide; entry {at} does not")]
    Offsets {
        /// Position of the bad offset.
        at: usize,
    },
    /// A table row that is no permutation.
    #[error("row {row} of the permutation table is not a permutation of 0..{order}")]
    Permutation {
        /// The row.
        row: usize,
        /// Length of a row.
        order: usize,
    },
    /// An instruction set that this CPU does not have.
    #[error("EQUIMARL_SIMD is `{asked}`, and this CPU has {available}")]
    Level {
        /// What was asked for.
        asked: String,
        /// What there is.
        available: String,
    },
    /// Tables that describe no group, or maps of pixels that do not follow it.
    #[error("not a group that turns pixels: {problem}")]
    Group {
        /// What is wrong.
        problem: &'static str,
    },
    /// Buffers that were filled by another plan, or not filled at all.
    #[error("`{name}` was not filled by this plan (other sizes, never filled, or cleared since)")]
    Foreign {
        /// The argument.
        name: &'static str,
    },
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn length(name: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Length { name, expected, found }) }
}

/// The number of whole rows in a slice of `found` elements.
pub(crate) fn rows(name: &'static str, found: usize, row: usize) -> Result<usize> {
    if row != 0 && found.is_multiple_of(row) {
        Ok(found / row)
    } else {
        Err(Error::Rows { name, row, found })
    }
}

pub(crate) fn positive(name: &'static str, size: usize) -> Result<()> {
    if size == 0 { Err(Error::Zero { name }) } else { Ok(()) }
}

/// The product of some sizes, or an error if it is beyond the kernels' index range.
pub(crate) fn product(name: &'static str, sizes: &[usize]) -> Result<usize> {
    // f32 counts pixels exactly up to 2^24 in the max pool; weights stay far below this limit too.
    const LIMIT: usize = 1 << 24;
    sizes
        .iter()
        .try_fold(1usize, |all, &size| all.checked_mul(size))
        .filter(|&all| all <= LIMIT)
        .ok_or(Error::TooLarge { name, limit: LIMIT })
}
