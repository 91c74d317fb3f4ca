//! What an agent does with what it sees and hears: its part of the network.

use super::{Agent, Workspace};
use crate::error::Result;
use crate::message::StepId;
use crate::observation::{Observation, Sensed};
use equimarl_nn::Sent;
use equimarl_worlds::Token;
use std::time::Duration;

impl Agent {
    /// What it is told besides what it sees: what breaks the symmetry, which comes with its observation, and its token in this
    /// episode, which follows from the seed and its number, as in `play`: nobody has to send it.
    pub(super) fn be_told(&mut self, place: StepId, cause: &[f32]) {
        let order = self.policy.token_order();
        let seed = self.run.map_or(0, |(_, welcome)| welcome.seed);
        self.told.clear();
        self.told.extend_from_slice(cause);
        self.told.resize(self.policy.told_len(), 0.0);
        if order > 0 {
            let agent = self.me.index().unwrap_or_default();
            Token::of(seed, place.episode.into(), agent, order).write(&mut self.told[self.shape.cause..]);
        }
    }

    /// Encodes what it sees: what it tells its neighbours first. Nobody tells it the features of senders that do not act,
    /// so it encodes those too; they stay the same in all rounds.
    pub(super) fn encode(&mut self, seen: Observation, work: &mut Workspace) -> Result<()> {
        work.scratch.tell(&self.told);
        match self.shape.image {
            true => self.policy.encode(&seen.own, &mut work.scratch, &mut self.own)?,
            false => {
                self.seen.clone_from(&seen.own);
                self.policy.encode_features(&seen.own, &mut work.scratch, &mut self.own)?;
            }
        }
        self.senders.clear();
        for (kind, (sensed, &dim)) in seen.senders.into_iter().zip(&self.shape.senders).enumerate() {
            let mut features = vec![];
            // A kind without features has none here.
            for one in sensed.features.chunks_exact(dim.max(1)) {
                self.policy.encode_sender(kind, one, &mut work.scratch, &mut work.mixed)?;
                features.extend_from_slice(&work.mixed);
            }
            self.senders.push(Sensed { edges: sensed.edges, features });
        }
        Ok(())
    }

    /// Round `l` with what was heard, senders in their order: the bits that the whole network gets.
    pub(super) fn mix(&mut self, place: StepId, l: u8, took: Duration, work: &mut Workspace) -> Result<()> {
        work.edges.clear();
        work.received.clear();
        let mut heard = 0;
        for (&member, vector) in self.neighbours.iter().zip(self.edges.chunks_exact(self.shape.edge)) {
            if let Some(features) = self.inbox.get(place, l, member) {
                work.edges.extend_from_slice(vector);
                work.received.extend_from_slice(features);
                heard += 1;
            }
        }
        let expected = self.neighbours.len() as u32;
        self.heard += heard;
        self.report.expected += expected;
        self.report.missed += expected - heard;
        self.report.rounds.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        let agents = Sent { edges: &work.edges, features: &work.received };
        let (scratch, mixed) = (&mut work.scratch, &mut work.mixed);
        // Agents of a thread share it.
        scratch.tell(&self.told);
        if self.defence.trimmed {
            let senders: Vec<Sent<'_>> =
                self.senders.iter().map(|of| Sent { edges: &of.edges, features: &of.features }).collect();
            self.policy.round_trimmed(l.into(), &self.own, agents, &senders, scratch, mixed)?;
        } else if self.shape.image {
            self.policy.round(l.into(), &self.own, agents.edges, agents.features, scratch, mixed)?;
        } else {
            let senders = self.senders.iter();
            let senders: Vec<Sent<'_>> =
                senders.map(|of| Sent { edges: &of.edges, features: &of.features }).collect();
            self.policy.round_among(l.into(), &self.own, agents, &senders, scratch, mixed)?;
        }
        std::mem::swap(&mut self.own, &mut work.mixed);
        Ok(())
    }
}
