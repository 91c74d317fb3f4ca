//! What an observation has, in numbers: everybody reads and writes observations by it.

use crate::error::{Error, Result};
use crate::message::MAX_PAYLOAD;
use equimarl_nn::Policy;

/// What an observation has, as a network wants it. A world that fits the network has the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Whether agents see images, and not feature vectors.
    pub image: bool,
    /// Pixels of an image, or numbers of a feature vector.
    pub numbers: usize,
    /// Numbers of an edge vector.
    pub edge: usize,
    /// Per kind of senders that do not act: numbers of what is seen of each besides where it is.
    pub senders: Vec<usize>,
    /// Numbers of what breaks the symmetry, if the network is told.
    pub cause: usize,
}

impl Shape {
    /// What the agents of this policy see and hear.
    ///
    /// # Errors
    /// If the policy cannot act alone, or says more to neighbours than a message takes.
    pub fn of(policy: &Policy) -> Result<Shape> {
        let config = policy.config();
        if config.kind.is_central() {
            return Err(Error::Mismatch(format!(
                "a {} network decides for the whole team at once; a fleet needs a distributed one",
                config.kind
            )));
        }
        let most = (0..policy.rounds()).map(|l| policy.message_len(l)).max().unwrap_or(0);
        if most > MAX_PAYLOAD / 4 {
            return Err(Error::Mismatch(format!(
                "agents would tell each other {most} numbers, and a message takes {}; use a narrower network",
                MAX_PAYLOAD / 4
            )));
        }
        let senses = config.senses()?;
        if senses.edge == 0 {
            return Err(Error::Mismatch("this model was made for edge vectors without numbers".into()));
        }
        let image = senses.features == 0;
        // Of what agents are told, they know their tokens by themselves: a number and a group element.
        let token = if policy.token_order() == 0 { 0 } else { 1 + policy.token_order() };
        Ok(Shape {
            image,
            numbers: if image { config.interface.image.iter().product() } else { senses.features },
            edge: senses.edge,
            senders: senses.senders.iter().map(|(_, numbers)| *numbers).collect(),
            cause: policy.told_len().saturating_sub(token),
        })
    }
}
