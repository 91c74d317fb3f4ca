//! The world host: everybody's sensors and actuators.
//!
//! It shows every agent what it sees, where its neighbours are and what it senses of things that do not act, waits for the
//! actions, and moves the world on. An agent that does not answer in time holds still ([`World::hold`]); one that is gone is
//! not waited for.

mod mail;
mod plan;
mod show;

pub use plan::{Brain, Moment, RunPlan};

use crate::agent::Envelope;
use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::{Header, MessageKind, RunId, StepId, VERSION};
use crate::payload::Action;
use crate::report::Report;
use crate::sight::Sight;
use crate::signer::{Signer, random};
use crate::tally::Reason;
use crate::world::check;
use equimarl_nn::Policy;
use equimarl_worlds::{End, Envs, Episode, Joint, Links, Purpose, Spec, Stream, Tally, World};
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// When all agents have joined, they get this long to connect to each other before the first step.
const SETTLE: Duration = Duration::from_secs(5);

/// The world host of a run: a state machine over messages and time.
pub struct Host {
    /// One environment of any world.
    envs: Box<dyn Envs>,
    /// How long the first step waits after the last welcome.
    grace: Duration,
    spec: Arc<Spec>,
    sight: Sight,
    tally: Tally,
    plan: RunPlan,
    brain: Brain,
    signer: Signer,
    run: RunId,
    phase: Phase,
    place: StepId,
    guests: Vec<Guest>,
    edges: Vec<(u32, u32)>,
    /// The edges at the start of the first episode, if the world declares that there are never others.
    links: Option<Vec<(u32, u32)>>,
    total: f64,
    episodes: Vec<Episode>,
    report: Report,
    moment: Option<Moment>,
}

/// Who watches hears of every agent in a fleet of at most so many; of larger ones the sums, which stay small.
const WATCHED: usize = 500;

#[derive(Clone, Debug, Default)]
struct Guest {
    joined: bool,
    /// Whether it is connected to everybody that it may talk to.
    settled: bool,
    /// It does not belong to the fleet any more.
    revoked: bool,
    nonce: RunId,
    /// The observation of this step, for one who joins late.
    seen: Vec<u8>,
    action: Option<Action>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Waits until everybody is there, and then a little until all are connected.
    Gathering {
        until: Option<Duration>,
        complete: Option<Duration>,
    },
    Acting {
        began: Duration,
    },
    Over,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut host = f.debug_struct("Host");
        host.field("world", &self.spec.world).field("phase", &self.phase).field("place", &self.place);
        host.finish_non_exhaustive()
    }
}

impl Host {
    /// A host that waits for its agents, and plays in the first of these environments.
    ///
    /// # Errors
    /// If the model does not fit the world, or there is nothing to play.
    pub fn new(
        envs: Box<dyn Envs>,
        plan: RunPlan,
        (policy, fingerprint): (&Policy, u64),
        signer: Signer,
    ) -> Result<Host> {
        let (shape, spec) = (check(&*envs, policy)?, envs.spec().clone());
        if plan.episodes == 0 {
            return Err(Error::Mismatch("there is nothing to run in 0 episodes: ask for at least 1".into()));
        }
        if plan.deadline.is_zero() {
            return Err(Error::Mismatch(
                "a deadline of 0 ms leaves no time to talk; the usual one is 200".into(),
            ));
        }
        Ok(Host {
            grace: Duration::ZERO,
            guests: vec![Guest::default(); spec.agents],
            report: Report::new(spec.agents),
            run: random()?,
            phase: Phase::Gathering { until: None, complete: None },
            place: StepId::default(),
            edges: vec![],
            links: None,
            total: 0.0,
            episodes: vec![],
            moment: None,
            brain: Brain { fingerprint, rounds: policy.rounds() },
            sight: Sight::new(shape, &spec),
            tally: Tally::default(),
            envs,
            spec,
            plan,
            signer,
        })
    }

    /// The same, whose first step waits so long after the last welcome. On a real network a neighbour's features may be faster than
    /// a welcome, and whoever is not welcome yet knows no run that they could be of.
    pub fn with_grace(mut self, grace: Duration) -> Host {
        self.grace = grace;
        self
    }

    /// The same host with this name for its run, for tests that need equal bytes.
    pub fn with_run(mut self, run: RunId) -> Host {
        self.run = run;
        self
    }

    /// The world as it is.
    pub fn world(&self) -> &dyn World {
        self.envs.world(0)
    }

    /// What the world is.
    pub fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// The step that is being decided.
    pub fn place(&self) -> StepId {
        self.place
    }

    /// Whether all agents were there and the first step has begun.
    pub fn started(&self) -> bool {
        !matches!(self.phase, Phase::Gathering { .. })
    }

    /// Whether all episodes are over.
    pub fn over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// What was measured so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The episodes that are over.
    pub fn episodes(&self) -> &[Episode] {
        &self.episodes
    }

    /// The last step, once, for those who watch.
    pub fn take_moment(&mut self) -> Option<Moment> {
        self.moment.take()
    }

    /// Believes other keys from now on, and does not wait for these agents any more.
    pub fn trust(&mut self, signer: Signer, revoked: &dyn Fn(Member) -> bool) {
        self.signer = signer;
        for (index, guest) in self.guests.iter_mut().enumerate() {
            guest.revoked = revoked(Member::agent(index));
            if guest.revoked {
                (guest.joined, guest.action) = (false, None);
            }
        }
    }

    /// What those who watch are told: signed words of the world about the run.
    pub fn status(&self, actions: Option<&Joint>) -> Vec<u8> {
        let joined: Vec<bool> = self.guests.iter().map(|guest| guest.joined).collect();
        let mut status = self.report.json();
        status["episode"] = self.place.episode.into();
        status["step"] = self.place.step.into();
        status["joined"] = joined.into();
        if self.guests.len() <= WATCHED {
            status["each"] = self.report.each_json();
        }
        status["actions"] = json!(actions.map(|joint| match joint.is_vectors() {
            false => json!(joint.choices),
            true => json!(joint.vectors.chunks(joint.vectors.len() / self.guests.len()).collect::<Vec<_>>()),
        }));
        status["returns"] = self.episodes.iter().rev().take(20).map(|e| e.total).collect::<Vec<f64>>().into();
        let header = Header {
            kind: MessageKind::Status,
            run: self.run,
            place: self.place,
            round: 0,
            sender: Member::WORLD,
            receiver: Member::OBSERVER,
        };
        self.signer.signer(header.message(status.to_string().as_bytes()))
    }

    /// Who has joined.
    pub fn joined(&self) -> usize {
        self.guests.iter().filter(|guest| guest.joined).count()
    }

    /// When it wants to be polled even if nothing arrives.
    pub fn deadline(&self, alive: &dyn Fn(Member) -> bool) -> Option<Duration> {
        match self.phase {
            Phase::Gathering { until, complete } => {
                let settled = self.guests.iter().all(|guest| guest.settled || guest.revoked);
                complete.map(|t| t.saturating_add(if settled { self.grace } else { SETTLE })).or(until)
            }
            Phase::Acting { began } if self.answered(alive) => Some(began.saturating_add(self.plan.period)),
            Phase::Acting { began } => Some(began.saturating_add(self.patience())),
            Phase::Over => None,
        }
    }

    /// Every round may take its whole deadline; then the action must come in.
    fn patience(&self) -> Duration {
        self.plan.deadline.saturating_mul(self.brain.rounds as u32 + 1).max(self.plan.period)
    }

    /// Whether every agent that is there has answered.
    fn answered(&self, alive: &dyn Fn(Member) -> bool) -> bool {
        let silent = |(index, guest): (usize, &Guest)| {
            guest.joined && guest.action.is_none() && alive(Member::agent(index))
        };
        !self.guests.iter().enumerate().any(silent)
    }

    /// Goes on if it can.
    ///
    /// # Errors
    /// If agents do not come in time, the world cannot go on, or what agents see does not fit into a message. If the run
    /// had begun, it is over, and `out` has what agents are to be told of that.
    pub fn poll(
        &mut self,
        now: Duration,
        alive: &dyn Fn(Member) -> bool,
        out: &mut Vec<Envelope>,
    ) -> Result<()> {
        let went = self.go_on(now, alive, out);
        // Nobody should wait for a world that is gone. Before the start they may: it can be started again.
        if went.is_err() && self.started() {
            self.end(out);
        }
        went
    }

    fn go_on(
        &mut self,
        now: Duration,
        alive: &dyn Fn(Member) -> bool,
        out: &mut Vec<Envelope>,
    ) -> Result<()> {
        match self.phase {
            Phase::Gathering { until, complete } => {
                let until = until.unwrap_or(now.saturating_add(self.plan.gather));
                if self.guests.iter().all(|guest| guest.joined || guest.revoked) {
                    let complete = complete.unwrap_or(now);
                    let settled = self.guests.iter().all(|guest| guest.settled || guest.revoked);
                    let wait = if settled { self.grace } else { SETTLE };
                    if now >= complete.saturating_add(wait) {
                        self.report.began = now;
                        return self.start_episode(now, out);
                    }
                    self.phase = Phase::Gathering { until: Some(until), complete: Some(complete) };
                    return Ok(());
                }
                self.phase = Phase::Gathering { until: Some(until), complete: None };
                if now >= until {
                    return Err(self.nobody_came());
                }
            }
            Phase::Acting { began } => {
                let due = now >= began.saturating_add(self.plan.period);
                let late = now >= began.saturating_add(self.patience());
                if late || (due && self.answered(alive)) {
                    return self.step(now, out);
                }
            }
            Phase::Over => {}
        }
        Ok(())
    }

    fn nobody_came(&self) -> Error {
        let missing: Vec<String> = (0..self.guests.len())
            .filter(|&i| !self.guests[i].joined && !self.guests[i].revoked)
            .map(|i| Member::agent(i).to_string())
            .take(10)
            .collect();
        let mut why = vec![];
        if self.report.other_models > 0 {
            let n = self.report.other_models;
            why.push(format!("{n} requests came from agents with another model file than the world's"));
        }
        if let Some(version) = self.report.other_version {
            let n = self.report.refused.of(Reason::OtherVersion);
            why.push(format!(
                "{n} messages were of version {version}, and this world speaks version {VERSION}: run the same \
                 release everywhere"
            ));
        }
        if why.is_empty() {
            why.push("are they running, and can they reach the world?".into());
        }
        let why = why.join("; ");
        let secs = self.plan.gather.as_secs_f64();
        Error::Failed(format!("after {secs:.0} s these have not joined: {}; {why}", missing.join(", ")))
    }

    fn start_episode(&mut self, now: Duration, out: &mut Vec<Envelope>) -> Result<()> {
        let chance = Stream::new(self.plan.seed, Purpose::Evaluation, self.place.episode.into());
        self.envs.start(0, chance).map_err(|why| self.stopped(&why))?;
        (self.tally, self.total) = (Tally::default(), 0.0);
        self.show(now, out)?;
        if self.spec.links == Links::Fixed && self.links.is_none() {
            self.links = Some(self.edges.clone());
        }
        Ok(())
    }

    fn stopped(&self, why: &equimarl_worlds::Error) -> Error {
        let StepId { episode, step } = self.place;
        let world = &self.spec.world;
        Error::Failed(format!("the world {world} stopped in episode {episode} at step {step}: {why}"))
    }

    /// What an agent does: what it says, or what its body does while nobody decides.
    fn action(&self, index: usize, said: Option<&Action>) -> Result<usize> {
        let Some(said) = said else {
            let (held, count) = (self.world().hold(index), self.spec.actions.count());
            if held < count {
                return Ok(held);
            }
            return Err(Error::Mismatch(format!(
                "{} holds {} by action {held}, and there are actions 0 to {}",
                self.spec.world,
                Member::agent(index),
                count - 1
            )));
        };
        Ok(said.action.into())
    }

    /// What all agents do. One that acts by vectors and of whom nothing was heard does nothing.
    fn joint(&self, said: &[Option<Action>]) -> Result<Joint> {
        let mut joint = Joint::of(&self.spec);
        for (index, action) in joint.choices.iter_mut().enumerate() {
            *action = self.action(index, said[index].as_ref())?;
        }
        for (vector, said) in joint.vectors.chunks_mut(self.spec.actions.count().max(1)).zip(said) {
            said.iter().for_each(|said| vector.copy_from_slice(&said.vector));
        }
        Ok(joint)
    }

    fn step(&mut self, now: Duration, out: &mut Vec<Envelope>) -> Result<()> {
        let said: Vec<Option<Action>> = self.guests.iter_mut().map(|guest| guest.action.take()).collect();
        let actions = self.joint(&said)?;
        let outcome = actions.step(&mut *self.envs, 0).map_err(|why| self.stopped(&why))?;
        if outcome.end == End::Abandoned {
            // It does not count. The next one is as good, and agents never see a step twice.
            self.report.abandoned += 1;
            self.place = StepId { episode: self.place.episode + 1, step: 0 };
            return self.start_episode(now, out);
        }
        self.tally.step(self.envs.world(0), outcome.end);
        self.total += outcome.reward;
        self.report.step(now, &said);
        let edges = std::mem::take(&mut self.edges);
        self.moment = Some(Moment { place: self.place, edges, actions, said });
        if outcome.end == End::Running {
            self.place.step += 1;
            return self.show(now, out);
        }
        let measures = self.tally.finish(self.world(), outcome.end);
        let length = self.place.step as usize + 1;
        self.episodes.push(Episode { total: self.total, length, end: outcome.end, measures });
        if self.episodes.len() < self.plan.episodes as usize {
            self.place = StepId { episode: self.place.episode + 1, step: 0 };
            return self.start_episode(now, out);
        }
        self.end(out);
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Envelope>) {
        self.phase = Phase::Over;
        for index in 0..self.guests.len() {
            self.send(index, MessageKind::End, &[], out);
        }
    }
}
