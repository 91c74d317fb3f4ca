//! What neighbours said, in the order of their index: for this step and the next.

use crate::member::Member;
use crate::message::StepId;
use crate::tally::Reason;
use std::collections::BTreeMap;

/// The features that arrived for the current step and the next one. A map in the order of (step, round, sender): sums are
/// over senders in that order, so the time of arrival changes no bit.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    mail: BTreeMap<(StepId, u8, Member), Vec<f32>>,
}

impl Inbox {
    /// Whether there is something already.
    pub fn has(&self, place: StepId, round: u8, sender: Member) -> bool {
        self.mail.contains_key(&(place, round, sender))
    }

    /// Keeps features.
    pub fn put(&mut self, place: StepId, round: u8, sender: Member, features: Vec<f32>) {
        self.mail.insert((place, round, sender), features);
    }

    /// What a sender said.
    pub fn get(&self, place: StepId, round: u8, sender: Member) -> Option<&[f32]> {
        self.mail.get(&(place, round, sender)).map(Vec::as_slice)
    }

    /// Moves on to a step whose neighbours are known: forgets what came before, and says for each forgotten message of
    /// this step that its sender is no neighbour.
    pub fn advance(&mut self, to: StepId, neighbour: impl Fn(Member) -> bool, mut drop: impl FnMut(Reason)) {
        self.mail.retain(|&(place, _, sender), _| {
            if place == to && !neighbour(sender) {
                drop(Reason::Stranger);
            }
            place > to || (place == to && neighbour(sender))
        });
    }

    /// Forgets what came before a step that has not begun here.
    pub fn forget_before(&mut self, next: StepId) {
        self.mail.retain(|&(place, ..), _| place >= next);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.mail.clear();
    }

    /// How many messages are kept.
    pub fn len(&self) -> usize {
        self.mail.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.mail.is_empty()
    }
}
