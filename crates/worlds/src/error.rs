//! What can go wrong, said so that the reader knows what to do next.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A size, count or option that does not make a world. The message says what would.
    #[error("{0}")]
    BadWorld(String),
    /// A saved state that does not fit this world.
    #[error("cannot load this state: {0}")]
    BadState(String),
    /// A script that cannot be replayed.
    #[error("{0}")]
    BadScript(String),
    /// A group, or a group element, that does not act on this world.
    #[error(transparent)]
    Group(#[from] equimarl_group::Error),
    /// A picture that cannot be drawn.
    #[error("cannot draw this: {0}")]
    Draw(String),
    /// A change by hand that cannot be made. The message says why.
    #[error("{0}")]
    BadEdit(String),
}
