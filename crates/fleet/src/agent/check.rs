//! What an agent believes: the checks of a message, cheap ones first.

use super::{Agent, Phase};
use crate::member::Member;
use crate::message::{Header, MessageKind, StepId};
use crate::payload::Welcome;
use crate::tally::Reason;

impl Agent {
    /// The checks that cost nothing, then the signature.
    pub(super) fn check<'a>(&mut self, bytes: &'a [u8]) -> std::result::Result<(Header, &'a [u8]), Reason> {
        let (header, payload) = Header::read(bytes, self.signer.overhead())?;
        if header.receiver != self.me {
            return Err(Reason::Misaddressed);
        }
        // Who has sensors of its own is told nothing by any world.
        let from_world = header.sender == Member::WORLD && !self.field;
        match header.kind {
            MessageKind::Welcome if from_world => {
                // Of the run that it is in already, an answer to an earlier question changes nothing.
                let known = self.run.is_some_and(|(run, _)| run == header.run);
                let fits = |welcome: Welcome| known || welcome.nonce == self.nonce;
                if !Welcome::read(payload).is_ok_and(fits) {
                    return Err(Reason::OtherRun);
                }
            }
            MessageKind::Observation | MessageKind::End if from_world => {
                if self.run.is_none_or(|(run, _)| run != header.run) {
                    return Err(Reason::OtherRun);
                }
                if header.kind == MessageKind::Observation {
                    self.check_news(header.place)?;
                }
            }
            MessageKind::Features => self.check_features(&header)?,
            _ => return Err(Reason::Stranger),
        }
        if !self.signer.holds(header.sender, bytes) {
            return Err(Reason::Forged);
        }
        Ok((header, payload))
    }

    /// An observation must be of a later step than all before.
    fn check_news(&self, place: StepId) -> std::result::Result<(), Reason> {
        match self.place {
            Some(last) if place == last => Err(Reason::Duplicate),
            Some(last) if place < last => Err(Reason::Late),
            _ => Ok(()),
        }
    }

    /// Features must be of this run, this step or the next, a round that is not over, a neighbour, and new.
    fn check_features(&self, header: &Header) -> std::result::Result<(), Reason> {
        let Some((run, welcome)) = self.run else { return Err(Reason::OtherRun) };
        if run != header.run {
            return Err(Reason::OtherRun);
        }
        let known = header.sender.index().is_some_and(|index| index < welcome.agents as usize);
        if !known || header.sender == self.me {
            return Err(Reason::Stranger);
        }
        if usize::from(header.round) >= self.policy.rounds() {
            return Err(Reason::Malformed);
        }
        // Before its own first observation, a neighbour may have seen the step at which the world let it in.
        let place = self.place.unwrap_or(self.entered);
        if header.place < place {
            return Err(Reason::Late);
        }
        if Some(header.place) == self.place {
            // Of the next step the neighbours are not known yet: see `Inbox::advance`.
            if self.neighbours.binary_search(&header.sender).is_err() {
                return Err(Reason::Stranger);
            }
        } else if header.place != place && !header.place.follows(place) {
            return Err(Reason::Early);
        }
        if self.inbox.has(header.place, header.round, header.sender) {
            return Err(Reason::Duplicate);
        }
        let over = match self.phase {
            Phase::Round { l, .. } => header.round < l,
            _ => true,
        };
        if Some(header.place) == self.place && over { Err(Reason::Late) } else { Ok(()) }
    }
}
