//! What the world shows its agents.

use super::{Host, Phase};
use crate::agent::Envelope;
use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::MessageKind;
use std::time::Duration;

impl Host {
    /// Shows every agent what it sees.
    pub(super) fn show(&mut self, now: Duration, out: &mut Vec<Envelope>) -> Result<()> {
        self.phase = Phase::Acting { began: now };
        self.edges.clear();
        self.sight.look(self.envs.world(0))?;
        let shape = self.sight.shape().clone();
        for index in 0..self.guests.len() {
            let seen = self.sight.of(self.envs.world(0), index)?;
            let neighbours = seen.neighbours.iter().map(|member| member.code());
            self.edges.extend(neighbours.map(|from| (index as u32, from)));
            let Some(payload) = seen.write(&shape) else {
                let senders: usize = seen.senders.iter().map(|sensed| sensed.edges.len() / shape.edge).sum();
                return Err(Error::Mismatch(format!(
                    "{} sees {} numbers, {} neighbours and {senders} senders, more than a message takes",
                    Member::agent(index),
                    seen.own.len(),
                    seen.neighbours.len()
                )));
            };
            let bytes = self.send(index, MessageKind::Observation, &payload, out);
            self.guests[index].seen = bytes;
            self.guests[index].action = None;
        }
        self.check_graph()
    }

    /// Agents talk to those they hear, so hearing must go both ways, and along links that are there.
    fn check_graph(&self) -> Result<()> {
        if let Some((i, j)) = self.edges.iter().find(|&&(i, j)| self.edges.binary_search(&(j, i)).is_err()) {
            return Err(Error::Mismatch(format!(
                "agent {i} hears agent {j}, but not the other way round; a fleet needs links both ways"
            )));
        }
        let Some(links) = &self.links else { return Ok(()) };
        match self.edges.iter().find(|edge| links.binary_search(edge).is_err()) {
            None => Ok(()),
            Some((i, j)) => Err(Error::Mismatch(format!(
                "agent {i} hears agent {j}, and did not at the start; {} declares that its links are fixed",
                self.spec.world
            ))),
        }
    }
}
