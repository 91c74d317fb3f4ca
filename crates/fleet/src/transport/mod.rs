//! How messages travel.

mod in_process;
#[cfg(feature = "zenoh")]
mod zenoh;

pub use in_process::{Endpoint, in_process};
#[cfg(feature = "zenoh")]
pub(crate) use zenoh::{Ears, watch_status};
#[cfg(feature = "zenoh")]
pub use zenoh::{House, Zenoh};

use crate::error::Result;
use crate::member::Member;
use std::time::Duration;

/// One member's connection to the others. Messages may be lost, repeated or reordered; a transport need not be honest.
pub trait Transport {
    /// Sends a message, without waiting for its arrival.
    ///
    /// # Errors
    /// If the transport is broken for good. A receiver that is away is no error.
    fn send(&mut self, to: Member, bytes: Vec<u8>) -> Result<()>;

    /// The next message, waiting up to `wait` for one.
    ///
    /// # Errors
    /// If the transport is broken for good.
    fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>>;

    /// How many messages came faster than they could be taken, since this was last asked. They are lost.
    fn lost(&mut self) -> u64 {
        0
    }

    /// Tells those who watch something, if there are any and the transport has a way to.
    fn publish(&mut self, _: Vec<u8>) {}

    /// Whether everybody that this member may talk to can be reached.
    fn settled(&self) -> bool {
        true
    }

    /// Whether a member is up, as far as this one knows. Nobody waits for one that is not.
    fn alive(&self, member: Member) -> bool;
}
