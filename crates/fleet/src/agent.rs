//! One agent: a state machine over messages and time, on any device.
//!
//! ```text
//! join -> welcome -> | observation -> encode -> round 0 -> ... -> round L-1 -> decide -> action | -> ...
//! ```
//!
//! In every round it sends its features to its current neighbours and waits for theirs, up to a deadline. A neighbour that
//! says nothing in time is treated as absent: the mean is over those that were heard. Time is given by the caller, so the
//! same machine runs against a clock or inside a simulation.

mod check;
mod own;
mod think;

use crate::defence::Defence;
use crate::error::Result;
use crate::fallback::Fallback;
use crate::inbox::Inbox;
use crate::member::Member;
use crate::message::{Header, MessageKind, RunId, StepId};
use crate::observation::{Observation, Sensed};
use crate::payload::{Action, Join, Welcome, read_features, write_features};
use crate::shape::Shape;
use crate::signer::{Signer, random};
use crate::tally::{Drops, Reason};
use equimarl_nn::{Choice, Decision, Policy, Scratch};
use equimarl_worlds::{Purpose, Stream};
use std::sync::Arc;
use std::time::Duration;

/// How long an agent that nobody talks to waits before it asks (again) to be let in.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// After this silence an agent suspects that the world has started anew.
const SILENCE: Duration = Duration::from_millis(1000);

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// For whom.
    pub to: Member,
    /// The message.
    pub bytes: Vec<u8>,
}

/// One agent of a fleet.
#[derive(Debug)]
pub struct Agent {
    me: Member,
    policy: Arc<Policy>,
    /// What its observations have.
    shape: Shape,
    signer: Signer,
    fingerprint: u64,
    fallback: Fallback,
    defence: Defence,
    /// Whether it can reach everybody that it may ever talk to.
    settled: bool,
    /// In simulations: dies in this step of every episode.
    crash: Option<u32>,
    nonce: RunId,
    run: Option<(RunId, Welcome)>,
    phase: Phase,
    /// The last step of this run that it saw.
    place: Option<StepId>,
    /// The step at which the world let it in.
    entered: StepId,
    /// When that step began for it.
    began: Duration,
    neighbours: Vec<Member>,
    /// The vector from each neighbour to it.
    edges: Vec<f32>,
    /// Senders that do not act, with their features encoded.
    senders: Vec<Sensed>,
    inbox: Inbox,
    own: Vec<f32>,
    /// What breaks the symmetry in this step and its token in this episode, if its network is told.
    told: Vec<f32>,
    /// What it saw in this step, where that says which actions it may take.
    seen: Vec<f32>,
    report: Action,
    /// The last action, in case it is lost: the world shows the step again to one that asks.
    acted: Vec<u8>,
    heard: u32,
    drops: Drops,
    abandoned: u64,
    /// Whether it has sensors of its own and no world: see [`crate::field`].
    field: bool,
    /// What it decided in the field and nobody has taken yet.
    decided: Option<Action>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Waits for an observation; asks to be let in at this time.
    Waiting { ask: Duration },
    /// In round `l` since `began`.
    Round { l: u8, began: Duration },
    /// Dead until the next episode.
    Dead { episode: u32 },
    /// The run is over.
    Over,
}

/// Working memory, shared by all agents of a thread.
#[derive(Debug, Default)]
pub struct Workspace {
    scratch: Scratch,
    edges: Vec<f32>,
    received: Vec<f32>,
    mixed: Vec<f32>,
}

impl Agent {
    /// An agent that has not joined yet.
    ///
    /// # Errors
    /// If the network decides for the whole team at once or says more than a message takes, or the system gives no random
    /// numbers.
    pub fn new(index: usize, policy: Arc<Policy>, fingerprint: u64, signer: Signer) -> Result<Agent> {
        Ok(Agent {
            me: Member::agent(index),
            shape: Shape::of(&policy)?,
            policy,
            signer,
            fingerprint,
            fallback: Fallback::default(),
            defence: Defence::default(),
            settled: true,
            crash: None,
            nonce: random()?,
            run: None,
            phase: Phase::Waiting { ask: Duration::ZERO },
            place: None,
            entered: StepId::default(),
            began: Duration::ZERO,
            neighbours: vec![],
            edges: vec![],
            senders: vec![],
            inbox: Inbox::default(),
            own: vec![],
            told: vec![],
            seen: vec![],
            report: Action::default(),
            acted: vec![],
            heard: 0,
            drops: Drops::default(),
            abandoned: 0,
            field: false,
            decided: None,
        })
    }

    /// What it does when it is cut off.
    pub fn with_fallback(mut self, fallback: Fallback) -> Agent {
        self.fallback = fallback;
        self
    }

    /// What it does against neighbours that lie.
    pub fn with_defence(mut self, defence: Defence) -> Agent {
        self.defence = defence;
        self
    }

    /// Believes other keys from now on.
    pub fn trust(&mut self, signer: Signer) {
        self.signer = signer;
    }

    /// Says whether it can reach everybody that it may ever talk to; it tells the world when it asks to be let in.
    pub fn settle(&mut self, settled: bool) {
        self.settled = settled;
    }

    /// Lets it die in this step of every episode and come back with the next one, for simulations.
    pub fn with_crash(mut self, step: Option<u32>) -> Agent {
        self.crash = step;
        self
    }

    /// Who it is.
    pub fn member(&self) -> Member {
        self.me
    }

    /// Whether the world has let it in.
    pub fn joined(&self) -> bool {
        self.run.is_some()
    }

    /// Whether it is up, as far as a simulation knows.
    pub fn alive(&self) -> bool {
        !matches!(self.phase, Phase::Dead { .. })
    }

    /// Whether the run is over.
    pub fn over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// What it has dropped.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Counts messages that were lost in a flood.
    pub fn flooded(&mut self, messages: u64) {
        self.drops.count_many(Reason::Flood, messages);
    }

    /// Steps that it gave up because the world had gone on.
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// The last step that it saw.
    pub fn place(&self) -> Option<StepId> {
        self.place
    }

    /// When it wants to be polled even if nothing arrives.
    pub fn deadline(&self) -> Option<Duration> {
        match self.phase {
            Phase::Waiting { ask } => (!self.field).then_some(ask),
            Phase::Round { l, .. } => Some(self.until(l)),
            Phase::Dead { .. } | Phase::Over => None,
        }
    }

    /// The end of round `l`: so many deadlines after the step began, whenever the round did. An agent that waited in vain
    /// in one round is then not too late for its neighbours in the next.
    fn until(&self, l: u8) -> Duration {
        let deadline = self.run.map_or(ASK_AGAIN, |(_, welcome)| welcome.deadline);
        self.began.saturating_add(deadline.saturating_mul(u32::from(l) + 1))
    }

    /// Takes a message, whatever it is. Nothing is believed before its signature was checked.
    ///
    /// # Errors
    /// If the network refuses its own numbers.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        now: Duration,
        work: &mut Workspace,
        out: &mut Vec<Envelope>,
    ) -> Result<()> {
        match self.check(bytes) {
            Ok((header, payload)) => match header.kind {
                MessageKind::Welcome => self.welcome(&header, payload, now),
                MessageKind::Observation => return self.observe(&header, payload, now, work, out),
                MessageKind::Features => self.keep(&header, payload),
                _ => self.phase = Phase::Over,
            },
            Err(reason) => {
                self.drops.count(reason);
                if reason == Reason::Duplicate {
                    self.repeat(bytes, out);
                }
            }
        }
        Ok(())
    }

    /// The world shows the same step again: it has not got our action.
    fn repeat(&mut self, bytes: &[u8], out: &mut Vec<Envelope>) {
        let observation = Header::peek(bytes).is_some_and(|h| h.kind == MessageKind::Observation);
        let decided = matches!(self.phase, Phase::Waiting { .. }) && !self.acted.is_empty();
        if observation && decided && self.signer.holds(Member::WORLD, bytes) {
            out.push(Envelope { to: Member::WORLD, bytes: self.acted.clone() });
        }
    }

    fn welcome(&mut self, header: &Header, payload: &[u8], now: Duration) {
        let Ok(welcome) = Welcome::read(payload) else { return self.drops.count(Reason::Malformed) };
        if self.run.is_some_and(|(run, _)| run == header.run) {
            return;
        }
        self.run = Some((header.run, welcome));
        // Used once: the same answer does not let it in again.
        self.renew();
        (self.place, self.entered) = (None, header.place);
        self.acted.clear();
        self.inbox.clear();
        let patience = if self.settled { SILENCE } else { ASK_AGAIN };
        self.phase = Phase::Waiting { ask: now.saturating_add(patience) };
    }

    /// Another number for the next question: the second half. The first stays, so that the world knows one that asks again from
    /// one that was started anew.
    fn renew(&mut self) {
        if let Ok(fresh) = random::<8>() {
            self.nonce[8..].copy_from_slice(&fresh);
        }
    }

    fn keep(&mut self, header: &Header, payload: &[u8]) {
        let width = self.policy.message_len(header.round.into());
        match read_features(payload, width) {
            Ok(mut features) => {
                if self
                    .defence
                    .clip
                    .as_ref()
                    .is_some_and(|clip| clip.clip(header.round.into(), &mut features))
                {
                    self.drops.count(Reason::Clipped);
                }
                self.inbox.put(header.place, header.round, header.sender, features);
            }
            Err(reason) => self.drops.count(reason),
        }
    }

    fn observe(
        &mut self,
        header: &Header,
        payload: &[u8],
        now: Duration,
        work: &mut Workspace,
        out: &mut Vec<Envelope>,
    ) -> Result<()> {
        if let Phase::Dead { episode } = self.phase {
            if header.place.episode == episode {
                return Ok(());
            }
            return self.rise(now);
        }
        if self.crash.is_some_and(|step| header.place.step >= step) {
            self.phase = Phase::Dead { episode: header.place.episode };
            return Ok(());
        }
        match Observation::read(payload, &self.shape) {
            Ok(seen) => self.begin(header.place, seen, (now, now), work, out),
            Err(reason) => {
                self.drops.count(reason);
                Ok(())
            }
        }
    }

    /// Starts a step that began at `began` for everybody: encodes what it sees and says so to its neighbours.
    fn begin(
        &mut self,
        place: StepId,
        mut seen: Observation,
        (began, now): (Duration, Duration),
        work: &mut Workspace,
        out: &mut Vec<Envelope>,
    ) -> Result<()> {
        if matches!(self.phase, Phase::Round { .. }) {
            self.abandoned += 1;
        }
        self.place = Some(place);
        self.began = began;
        self.neighbours = std::mem::take(&mut seen.neighbours);
        self.edges = std::mem::take(&mut seen.edges);
        let (neighbours, drops) = (&self.neighbours, &mut self.drops);
        let known = |member| neighbours.binary_search(&member).is_ok();
        self.inbox.advance(place, known, |reason| drops.count(reason));
        self.report = Action::default();
        self.acted.clear();
        self.heard = 0;
        self.be_told(place, &seen.cause);
        self.encode(seen, work)?;
        if self.policy.rounds() == 0 {
            return self.decide(now, out);
        }
        self.speak(0, now, out);
        Ok(())
    }

    /// Starts again after a simulated crash: it remembers nothing.
    fn rise(&mut self, now: Duration) -> Result<()> {
        let (policy, signer) = (self.policy.clone(), self.signer.clone());
        let index = self.me.index().unwrap_or_default();
        let fresh = Agent::new(index, policy, self.fingerprint, signer)?;
        *self = fresh.with_fallback(self.fallback).with_defence(self.defence.clone()).with_crash(self.crash);
        self.phase = Phase::Waiting { ask: now };
        Ok(())
    }

    /// Sends its features to every neighbour and starts to wait for theirs.
    fn speak(&mut self, l: u8, now: Duration, out: &mut Vec<Envelope>) {
        let (Some((run, _)), Some(place)) = (self.run, self.place) else { return };
        let payload = write_features(&self.own);
        for &receiver in &self.neighbours {
            let header =
                Header { kind: MessageKind::Features, run, place, round: l, sender: self.me, receiver };
            let bytes = self.signer.signer(header.message(&payload));
            self.report.sent = self.report.sent.saturating_add(bytes.len() as u32);
            out.push(Envelope { to: receiver, bytes });
        }
        self.phase = Phase::Round { l, began: now };
    }

    /// Goes on if it can: when all neighbours that are up have spoken, or the deadline is over.
    ///
    /// # Errors
    /// If the network refuses its own numbers.
    pub fn poll(
        &mut self,
        now: Duration,
        alive: &dyn Fn(Member) -> bool,
        work: &mut Workspace,
        out: &mut Vec<Envelope>,
    ) -> Result<()> {
        loop {
            match self.phase {
                Phase::Waiting { ask } if now >= ask && !self.field => {
                    self.ask(now, out);
                    return Ok(());
                }
                Phase::Round { l, began } => {
                    let Some(place) = self.place else { return Ok(()) };
                    let silent = |&member: &Member| !self.inbox.has(place, l, member) && alive(member);
                    let late = now >= self.until(l);
                    if !late && self.neighbours.iter().any(silent) {
                        return Ok(());
                    }
                    self.mix(place, l, now.saturating_sub(began), work)?;
                    match usize::from(l) + 1 < self.policy.rounds() {
                        true => self.speak(l + 1, now, out),
                        false => self.decide(now, out)?,
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn ask(&mut self, now: Duration, out: &mut Vec<Envelope>) {
        let join = Join { nonce: self.nonce, fingerprint: self.fingerprint, settled: self.settled };
        let header = Header {
            kind: MessageKind::Join,
            run: [0; 16],
            place: StepId::default(),
            round: 0,
            sender: self.me,
            receiver: Member::WORLD,
        };
        let bytes = self.signer.signer(header.message(&join.write()));
        out.push(Envelope { to: Member::WORLD, bytes });
        self.phase = Phase::Waiting { ask: now.saturating_add(ASK_AGAIN) };
    }

    fn decide(&mut self, now: Duration, out: &mut Vec<Envelope>) -> Result<()> {
        let (Some((run, welcome)), Some(place)) = (self.run, self.place) else { return Ok(()) };
        let decision = self.policy.decide_among(&self.own, &self.seen)?;
        self.report.cut_off = self.heard == 0 && self.report.expected > 0;
        match self.policy.acts_by_vectors() {
            false => {
                let action = self.choose(&decision, &welcome, place);
                self.report.action = u16::try_from(action).unwrap_or(u16::MAX);
            }
            true => self.report.vector = self.draw(&decision, &welcome, place),
        }
        self.report.log_probabilities = decision.log_probabilities;
        self.report.drops = self.drops;
        self.phase = Phase::Waiting { ask: now.saturating_add(SILENCE) };
        if self.field {
            self.decided = Some(self.report.clone());
            return Ok(());
        }
        let (sender, receiver) = (self.me, Member::WORLD);
        let header = Header { kind: MessageKind::Action, run, place, round: 0, sender, receiver };
        self.acted = self.signer.signer(header.message(&self.report.bytes()));
        out.push(Envelope { to: Member::WORLD, bytes: self.acted.clone() });
        Ok(())
    }

    /// The same for a vector, within the unit ball or box. A normal number takes two words, so agent i of n begins at word
    /// 2 d (t n + i) in step t.
    fn draw(&self, decision: &Decision, welcome: &Welcome, place: StepId) -> Vec<f64> {
        let row = &decision.log_probabilities;
        let mut vector = vec![0.0; row.len().saturating_sub(1)];
        let mut stream = Stream::new(welcome.seed, Purpose::EvaluationAction, place.episode.into());
        let turn = u128::from(place.step) * u128::from(welcome.agents) + u128::from(self.me.code());
        stream.seek(2 * vector.len() as u128 * turn);
        let choice = if welcome.greedy { Choice::Greedy } else { Choice::Sampled };
        self.policy.act(choice, row, || stream.normal(), &mut vector);
        vector
    }

    /// All agents share one stream per episode, as in `play`: agent i of n takes word t n + i in step t.
    fn choose(&self, decision: &Decision, welcome: &Welcome, place: StepId) -> usize {
        let row = &decision.log_probabilities;
        let cut_off = self.report.cut_off.then(|| self.fallback.action(place.step, row.len()));
        if let Some(action) = cut_off.flatten() {
            return action;
        }
        let choice = if welcome.greedy { Choice::Greedy } else { Choice::Sampled };
        choice.action(row, || {
            let mut stream = Stream::new(welcome.seed, Purpose::EvaluationAction, place.episode.into());
            let turn = u128::from(place.step) * u128::from(welcome.agents) + u128::from(self.me.code());
            stream.seek(turn);
            stream.unit()
        })
    }
}
