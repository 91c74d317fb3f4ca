//! What can go wrong, said so that the reader knows what to do next.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses. Each message is one line: what was wrong, where, and what would work.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Text that is not in the little language of groups or representations.
    #[error("cannot read {what} `{text}`: {reason}")]
    Parse {
        /// What was being read: a group, a representation, ...
        what: &'static str,
        /// The text, shortened if it is long.
        text: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// Something would be larger than the limit that keeps tables and matrices small.
    #[error("{what} is too large: {size}, and the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// How large it is (or is at least).
        size: String,
        /// The largest allowed.
        limit: usize,
    },
    /// A multiplication table, or generators, that do not make a group.
    #[error("not a group: {0}")]
    NotAGroup(String),
    /// Matrices that do not multiply like the group.
    #[error(transparent)]
    NotAHomomorphism(Box<BrokenProduct>),
    /// A representation that this group does not have, or a shape that does not fit.
    #[error("{0}")]
    Unsuitable(String),
    /// Two things over different groups.
    #[error("{what} belong to different groups, {left} and {right}; build both over the same group")]
    GroupMismatch {
        /// What does not fit together.
        what: &'static str,
        /// The first group.
        left: String,
        /// The second group.
        right: String,
    },
    /// The only equivariant map is zero.
    #[error("the only equivariant map from `{input}` to `{output}` of {group} is zero: {reason}")]
    EmptyBasis {
        /// The input representation.
        input: String,
        /// The output representation.
        output: String,
        /// The group.
        group: String,
        /// Which characters are orthogonal.
        reason: String,
    },
    /// A group that does not map the pixel grid to itself.
    #[error(
        "{group} does not map the square pixel grid to itself: pixels turn under C1, C2, C4, D1, D2 and D4 only{hint}"
    )]
    NoPixels {
        /// The group.
        group: String,
        /// What may have been meant.
        hint: String,
    },
    /// A strided convolution that samples a turned picture at other places.
    #[error(
        "a convolution with stride {stride} and kernel {kernel} on {size} x {size} pixels breaks the symmetry, \
         because (size - kernel) mod stride = {rest} and a turned picture is sampled elsewhere; sizes that work: {works}"
    )]
    Stride {
        /// Pixels per side.
        size: usize,
        /// Kernel size.
        kernel: usize,
        /// Stride.
        stride: usize,
        /// (size - kernel) mod stride.
        rest: usize,
        /// Sizes that would work.
        works: String,
    },
}

/// Two elements where rho(g) rho(h) is not rho(gh).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "`{rep}` is not a representation of {group}: rho({g}) rho({h}) = {product} but rho({g} {h}) = rho({gh}) = {image}"
)]
pub struct BrokenProduct {
    /// The name of the would-be representation.
    pub rep: String,
    /// The name of the group.
    pub group: String,
    /// The first element.
    pub g: String,
    /// The second element.
    pub h: String,
    /// Their product in the group.
    pub gh: String,
    /// rho(g) rho(h).
    pub product: String,
    /// rho(gh).
    pub image: String,
}

/// Shortens text for an error message, so that a megabyte of garbage stays one line.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST + 1).collect();
    if line.chars().count() <= MOST {
        return line;
    }
    let mut short: String = line.chars().take(MOST - 3).collect();
    short.push_str("...");
    short
}

pub(crate) fn parse_error(what: &'static str, text: &str, reason: impl Into<String>) -> Error {
    Error::Parse { what, text: shorten(text), reason: reason.into() }
}
