//! An agent with sensors of its own: nobody lets it in, and nobody shows it anything.

use super::{Agent, Envelope, Phase, Workspace};
use crate::error::{Error, Result};
use crate::field::FieldReport;
use crate::member::Member;
use crate::message::{Header, MessageKind, RunId, StepId};
use crate::observation::Observation;
use crate::payload::{Action, Welcome};
use crate::tally::Reason;
use serde_json::json;
use std::time::Duration;

impl Agent {
    /// The same agent without a world: it sees what it is shown by [`Agent::see`], in a run that all of its fleet know the name
    /// and the terms of.
    pub fn in_field(mut self, run: RunId, terms: Welcome) -> Agent {
        self.field = true;
        self.run = Some((run, terms));
        self
    }

    /// A step begins by the clock, and nothing is seen yet. What neighbours say of it meanwhile is kept; a step that is not
    /// decided is given up.
    pub fn wait_for(&mut self, t: u64) {
        if matches!(self.phase, Phase::Round { .. }) {
            self.abandoned += 1;
        }
        let next = StepId::counted(t);
        // As if the step before had been the last one seen: this one is then the next.
        self.place = t.checked_sub(1).map(StepId::counted);
        self.entered = next;
        self.inbox.forget_before(next);
        self.decided = None;
        self.phase = Phase::Waiting { ask: Duration::MAX };
    }

    /// What its own sensors show in the step that began by the clock.
    ///
    /// # Errors
    /// If this is no observation for its network; nothing has changed then.
    pub fn see(
        &mut self,
        t: u64,
        seen: Observation,
        (began, now): (Duration, Duration),
        work: &mut Workspace,
        out: &mut Vec<Envelope>,
    ) -> Result<()> {
        self.fits(&seen)?;
        self.begin(StepId::counted(t), seen, (began, now), work, out)
    }

    /// Refuses what is no observation for its network, with the reason.
    ///
    /// # Errors
    /// With the reason.
    pub fn fits(&self, seen: &Observation) -> Result<()> {
        seen.fits(&self.shape).map_err(Error::Mismatch)?;
        let agents = self.run.map_or(u32::MAX, |(_, terms)| terms.agents) as usize;
        let wrong = |member: &&Member| member.index().is_none_or(|i| i >= agents) || **member == self.me;
        match seen.neighbours.iter().find(wrong) {
            None => Ok(()),
            Some(member) => {
                Err(Error::Mismatch(format!("{member} is no neighbour that {} can have", self.me)))
            }
        }
    }

    /// What those who watch are told: signed words of this agent about itself.
    pub fn status(&self, report: &FieldReport, last: Option<&Action>) -> Vec<u8> {
        let dropped: serde_json::Value =
            Reason::ALL.iter().map(|&r| (r.name().replace(' ', "_"), json!(self.drops.of(r)))).collect();
        let status = json!({
            "episode": self.place.map(|place| place.episode),
            "step": self.place.map(|place| place.step),
            "decided": report.decided,
            "held": report.held,
            "missed": report.missed,
            "expected": report.expected,
            "refused": report.refused,
            // A vector, where it acts by one.
            "action": last.map(|did| if did.vector.is_empty() { json!(did.action) } else { json!(did.vector) }),
            "dropped_by_agents": dropped,
        });
        let run = self.run.map_or([0; 16], |(run, _)| run);
        let (place, receiver) = (self.place.unwrap_or_default(), Member::OBSERVER);
        let header = Header { kind: MessageKind::Status, run, place, round: 0, sender: self.me, receiver };
        self.signer.signer(header.message(status.to_string().as_bytes()))
    }

    /// What it decided, once.
    pub fn take_decision(&mut self) -> Option<Action> {
        self.decided.take()
    }
}
