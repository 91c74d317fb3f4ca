//! What the world believes and answers.

use super::{Host, Phase};
use crate::agent::Envelope;
use crate::member::Member;
use crate::message::{Header, MessageKind};
use crate::payload::{Action, Join, Says, Welcome};
use crate::tally::Reason;
use equimarl_nn::Choice;

impl Host {
    /// Takes a message, whatever it is.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<Envelope>) {
        if let Err(reason) = self.accept(bytes, out) {
            self.report.refused.count(reason);
            if reason == Reason::OtherVersion {
                self.report.other_version = Header::version(bytes);
            }
        }
    }

    /// Counts messages that were lost in a flood.
    pub fn flooded(&mut self, messages: u64) {
        self.report.refused.count_many(Reason::Flood, messages);
    }

    fn accept(&mut self, bytes: &[u8], out: &mut Vec<Envelope>) -> std::result::Result<(), Reason> {
        let (header, payload) = Header::read(bytes, self.signer.overhead())?;
        if header.receiver != Member::WORLD {
            return Err(Reason::Misaddressed);
        }
        let index = header.sender.index().filter(|&i| i < self.guests.len()).ok_or(Reason::Stranger)?;
        match header.kind {
            MessageKind::Join => {
                let join = Join::read(payload)?;
                if !self.signer.holds(header.sender, bytes) {
                    return Err(Reason::Forged);
                }
                if join.fingerprint != self.brain.fingerprint {
                    self.report.other_models += 1;
                    return Err(Reason::OtherRun);
                }
                self.admit(index, join, out);
            }
            MessageKind::Action => {
                if header.run != self.run {
                    return Err(Reason::OtherRun);
                }
                if header.place < self.place || !matches!(self.phase, Phase::Acting { .. }) {
                    return Err(Reason::Late);
                }
                if header.place > self.place {
                    return Err(Reason::Early);
                }
                if self.guests[index].action.is_some() {
                    return Err(Reason::Duplicate);
                }
                let mut action = Action::read(payload, Says::of(&self.spec.actions), self.brain.rounds)?;
                if let Some((bound, _)) = self.spec.actions.vectors() {
                    action.vector.iter_mut().for_each(|x| *x *= bound);
                    self.spec.actions.check_vectors(&action.vector).map_err(|_| Reason::Malformed)?;
                }
                if !self.signer.holds(header.sender, bytes) {
                    return Err(Reason::Forged);
                }
                self.report.uplink += bytes.len() as u64;
                self.guests[index].action = Some(action);
            }
            _ => return Err(Reason::Stranger),
        }
        Ok(())
    }

    /// Lets an agent in, and shows it the current step if it missed that.
    fn admit(&mut self, index: usize, join: Join, out: &mut Vec<Envelope>) {
        let welcome = Welcome {
            nonce: join.nonce,
            seed: self.plan.seed,
            agents: self.guests.len() as u32,
            greedy: self.plan.choice == Choice::Greedy,
            deadline: self.plan.deadline,
        };
        self.send(index, MessageKind::Welcome, &welcome.write(), out);
        let guest = &mut self.guests[index];
        // The first half of a nonce is an agent's life, the second one question.
        let again = guest.joined && guest.nonce[..8] != join.nonce[..8];
        (guest.joined, guest.settled, guest.nonce) = (true, join.settled, join.nonce);
        self.report.rejoined += u64::from(again);
        match self.phase {
            Phase::Acting { .. } if self.guests[index].action.is_none() => {
                let bytes = self.guests[index].seen.clone();
                out.push(Envelope { to: Member::agent(index), bytes });
            }
            Phase::Over => {
                self.send(index, MessageKind::End, &[], out);
            }
            _ => {}
        }
    }

    pub(super) fn send(
        &mut self,
        index: usize,
        kind: MessageKind,
        payload: &[u8],
        out: &mut Vec<Envelope>,
    ) -> Vec<u8> {
        let (run, place, receiver) = (self.run, self.place, Member::agent(index));
        let header = Header { kind, run, place, round: 0, sender: Member::WORLD, receiver };
        let bytes = self.signer.signer(header.message(payload));
        self.report.downlink += bytes.len() as u64;
        out.push(Envelope { to: receiver, bytes: bytes.clone() });
        bytes
    }
}
