//! The world host: everybody's sensors and actuators.
//!
//! It shows every agent what it sees and where its neighbours are, waits for the actions, and moves the world on. An agent
//! that does not answer in time holds still ([`Habits::hold`]); one that is gone is not waited for.

use crate::agent::Letter;
use crate::error::{Error, Result};
use crate::habits::Habits;
use crate::member::Member;
use crate::message::{Header, Kind, Place, RunId};
use crate::payload::{Action, Join, Observation, Welcome};
use crate::report::Report;
use crate::seal::{Seal, random};
use crate::tally::Reason;
use equimarl_learn::Choice;
use equimarl_nn::Policy;
use equimarl_worlds::{Edge, End, Episode, Measures, Purpose, Stream, Symmetric};
use std::time::Duration;

/// When all agents have joined, they get this long to connect to each other before the first step.
const SETTLE: Duration = Duration::from_secs(5);

/// What is run, and how patient everybody is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How many episodes.
    pub episodes: u32,
    /// Their seed.
    pub seed: u64,
    /// How agents choose.
    pub choice: Choice,
    /// How long an agent waits for its neighbours in a round.
    pub deadline: Duration,
    /// The least time between two steps of the world.
    pub period: Duration,
    /// How long the world waits for its agents at the start.
    pub gather: Duration,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            episodes: 20,
            seed: 0,
            choice: Choice::Sampled,
            deadline: Duration::from_millis(200),
            period: Duration::ZERO,
            gather: Duration::from_secs(60),
        }
    }
}

/// What the host needs to know of the team's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brain {
    /// Which model: agents with another one are not let in.
    pub fingerprint: u64,
    /// Message rounds of a step.
    pub rounds: usize,
}

/// What happened in a step, for those who watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub place: Place,
    /// Who heard whom: (agent, neighbour).
    pub edges: Vec<(u32, u32)>,
    /// What was done.
    pub actions: Vec<usize>,
    /// What each agent said, if it did.
    pub said: Vec<Option<Action>>,
}

/// The world host of a run: a state machine over messages and time.
#[derive(Debug)]
pub struct Host<W: Symmetric, M> {
    world: W,
    measures: M,
    habits: Habits<W>,
    plan: Plan,
    brain: Brain,
    seal: Seal,
    run: RunId,
    phase: Phase,
    place: Place,
    chance: Stream,
    guests: Vec<Guest>,
    edges: Vec<(u32, u32)>,
    total: f64,
    episodes: Vec<Episode>,
    report: Report,
    moment: Option<Moment>,
}

#[derive(Clone, Debug, Default)]
struct Guest {
    joined: bool,
    /// Whether it is connected to everybody that it may talk to.
    settled: bool,
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

impl<W: Symmetric, M: Measures<W>> Host<W, M> {
    /// A host that waits for its agents.
    ///
    /// # Errors
    /// If the model does not fit the world, or there is nothing to play.
    pub fn new(
        world: W,
        measures: M,
        habits: Habits<W>,
        plan: Plan,
        (policy, fingerprint): (&Policy, u64),
        seal: Seal,
    ) -> Result<Host<W, M>> {
        let shape = world.picture_shape();
        let found = [shape.channels, shape.height, shape.width];
        let setting = &policy.config().setting;
        if policy.config().kind.is_central() {
            return Err(Error::Mismatch(format!(
                "a {} network decides for the whole team at once; a fleet needs a distributed one",
                policy.config().kind
            )));
        }
        if found != setting.picture || world.actions() != policy.actions() {
            return Err(Error::Mismatch(format!(
                "this model sees pictures of {:?} and has {} actions; the world has {found:?} and {}",
                setting.picture,
                policy.actions(),
                world.actions()
            )));
        }
        if plan.episodes == 0 {
            return Err(Error::Mismatch("there is nothing to run in 0 episodes: ask for at least 1".into()));
        }
        if plan.deadline.is_zero() {
            return Err(Error::Mismatch(
                "a deadline of 0 ms leaves no time to talk; the usual one is 200".into(),
            ));
        }
        Ok(Host {
            guests: vec![Guest::default(); world.agents()],
            report: Report::new(world.agents()),
            chance: Stream::new(plan.seed, Purpose::Evaluation, 0),
            run: random()?,
            phase: Phase::Gathering { until: None, complete: None },
            place: Place::default(),
            edges: vec![],
            total: 0.0,
            episodes: vec![],
            moment: None,
            brain: Brain { fingerprint, rounds: policy.rounds() },
            world,
            measures,
            habits,
            plan,
            seal,
        })
    }

    /// The same host with this name for its run, for tests that need equal bytes.
    pub fn with_run(mut self, run: RunId) -> Host<W, M> {
        self.run = run;
        self
    }

    /// The world as it is.
    pub fn world(&self) -> &W {
        &self.world
    }

    /// The step that is being decided.
    pub fn place(&self) -> Place {
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

    /// The names of the world's own measures.
    pub fn names(&self) -> &'static [&'static str] {
        self.measures.names()
    }

    /// The last step, once, for those who watch.
    pub fn take_moment(&mut self) -> Option<Moment> {
        self.moment.take()
    }

    /// Who has joined.
    pub fn joined(&self) -> usize {
        self.guests.iter().filter(|guest| guest.joined).count()
    }

    /// When it wants to be polled even if nothing arrives.
    pub fn deadline(&self, alive: &dyn Fn(Member) -> bool) -> Option<Duration> {
        match self.phase {
            Phase::Gathering { until, complete } => complete.map(|t| t.saturating_add(SETTLE)).or(until),
            Phase::Acting { began } if self.answered(alive) => Some(began.saturating_add(self.plan.period)),
            Phase::Acting { began } => Some(began.saturating_add(self.patience())),
            Phase::Over => None,
        }
    }

    /// Every round may take its whole deadline; then the action must come in.
    fn patience(&self) -> Duration {
        self.plan.deadline.saturating_mul(self.brain.rounds as u32 + 1).max(self.plan.period)
    }

    /// Takes a message, whatever it is.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<Letter>) {
        if let Err(reason) = self.accept(bytes, out) {
            self.report.refused.count(reason);
        }
    }

    /// Counts messages that were lost in a flood.
    pub fn flooded(&mut self, messages: u64) {
        self.report.refused.count_many(Reason::Flood, messages);
    }

    fn accept(&mut self, bytes: &[u8], out: &mut Vec<Letter>) -> std::result::Result<(), Reason> {
        let (header, payload) = Header::read(bytes, self.seal.overhead())?;
        if header.receiver != Member::WORLD {
            return Err(Reason::Misaddressed);
        }
        let index = header.sender.index().filter(|&i| i < self.guests.len()).ok_or(Reason::Stranger)?;
        match header.kind {
            Kind::Join => {
                let join = Join::read(payload)?;
                if !self.seal.holds(header.sender, bytes) {
                    return Err(Reason::Forged);
                }
                if join.fingerprint != self.brain.fingerprint {
                    self.report.other_models += 1;
                    return Err(Reason::OtherRun);
                }
                self.admit(index, join, out);
            }
            Kind::Action => {
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
                let action = Action::read(payload, self.world.actions(), self.brain.rounds)?;
                if !self.seal.holds(header.sender, bytes) {
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
    fn admit(&mut self, index: usize, join: Join, out: &mut Vec<Letter>) {
        let welcome = Welcome {
            nonce: join.nonce,
            seed: self.plan.seed,
            agents: self.guests.len() as u32,
            greedy: self.plan.choice == Choice::Greedy,
            deadline: self.plan.deadline,
        };
        self.send(index, Kind::Welcome, &welcome.write(), out);
        let guest = &mut self.guests[index];
        let again = guest.joined && guest.nonce != join.nonce;
        (guest.joined, guest.settled, guest.nonce) = (true, join.settled, join.nonce);
        self.report.rejoined += u64::from(again);
        match self.phase {
            Phase::Acting { .. } if self.guests[index].action.is_none() => {
                let bytes = self.guests[index].seen.clone();
                out.push(Letter { to: Member::agent(index), bytes });
            }
            Phase::Over => {
                self.send(index, Kind::End, &[], out);
            }
            _ => {}
        }
    }

    fn send(&mut self, index: usize, kind: Kind, payload: &[u8], out: &mut Vec<Letter>) -> Vec<u8> {
        let (run, place, receiver) = (self.run, self.place, Member::agent(index));
        let header = Header { kind, run, place, round: 0, sender: Member::WORLD, receiver };
        let bytes = self.seal.seal(header.message(payload));
        self.report.downlink += bytes.len() as u64;
        out.push(Letter { to: receiver, bytes: bytes.clone() });
        bytes
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
    /// If agents do not come in time, or what they see does not fit into a message.
    pub fn poll(
        &mut self,
        now: Duration,
        alive: &dyn Fn(Member) -> bool,
        out: &mut Vec<Letter>,
    ) -> Result<()> {
        match self.phase {
            Phase::Gathering { until, complete } => {
                let until = until.unwrap_or(now.saturating_add(self.plan.gather));
                if self.guests.iter().all(|guest| guest.joined) {
                    let complete = complete.unwrap_or(now);
                    let settled = self.guests.iter().all(|guest| guest.settled);
                    if settled || now >= complete.saturating_add(SETTLE) {
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
            .filter(|&i| !self.guests[i].joined)
            .map(|i| Member::agent(i).to_string())
            .take(10)
            .collect();
        let why = match self.report.other_models {
            0 => "are they running, and can they reach the world?".into(),
            n => format!("{n} requests came from agents with another model file than the world's"),
        };
        let secs = self.plan.gather.as_secs_f64();
        Error::Failed(format!("after {secs:.0} s these have not joined: {}; {why}", missing.join(", ")))
    }

    fn start_episode(&mut self, now: Duration, out: &mut Vec<Letter>) -> Result<()> {
        self.chance = Stream::new(self.plan.seed, Purpose::Evaluation, self.place.episode.into());
        self.world.reset(&mut self.chance);
        self.measures.start(&self.world);
        self.total = 0.0;
        self.show(now, out)
    }

    /// Shows every agent what it sees.
    fn show(&mut self, now: Duration, out: &mut Vec<Letter>) -> Result<()> {
        self.phase = Phase::Acting { began: now };
        self.edges.clear();
        let mut picture = vec![0.0; self.world.picture_shape().len()];
        let (mut heard, mut neighbours) = (Vec::<Edge>::new(), vec![]);
        for index in 0..self.guests.len() {
            self.world.neighbours(index, &mut heard);
            neighbours.clear();
            neighbours.extend(heard.iter().map(|edge| (Member::agent(edge.from), edge.vector)));
            self.edges.extend(heard.iter().map(|edge| (index as u32, edge.from as u32)));
            self.world.render(&self.world.observation_key(index), &mut picture);
            let Some(payload) = Observation::write(&picture, &neighbours) else {
                return Err(Error::Mismatch(format!(
                    "{} sees {} pixels and {} neighbours, more than a message takes",
                    Member::agent(index),
                    picture.len(),
                    neighbours.len()
                )));
            };
            let bytes = self.send(index, Kind::Observation, &payload, out);
            self.guests[index].seen = bytes;
            self.guests[index].action = None;
        }
        self.check_graph()
    }

    /// Agents talk to those they hear, so hearing must go both ways.
    fn check_graph(&self) -> Result<()> {
        let one_way = self.edges.iter().find(|&&(i, j)| self.edges.binary_search(&(j, i)).is_err());
        match one_way {
            None => Ok(()),
            Some((i, j)) => Err(Error::Mismatch(format!(
                "agent {i} hears agent {j}, but not the other way round; a fleet needs links both ways"
            ))),
        }
    }

    fn step(&mut self, now: Duration, out: &mut Vec<Letter>) -> Result<()> {
        let said: Vec<Option<Action>> = self.guests.iter_mut().map(|guest| guest.action.take()).collect();
        let actions: Vec<usize> = said
            .iter()
            .enumerate()
            .map(|(index, said)| match said {
                Some(said) => said.action.into(),
                None => (self.habits.hold)(&self.world, index),
            })
            .collect();
        let draw = self.world.draw(&mut self.chance);
        let outcome = self.world.step(&actions, &draw);
        self.measures.step(&self.world, &outcome);
        self.total += outcome.reward;
        self.report.step(now, &said);
        let edges = std::mem::take(&mut self.edges);
        self.moment = Some(Moment { place: self.place, edges, actions, said });
        if outcome.end == End::Running {
            self.place.step += 1;
            return self.show(now, out);
        }
        let mut measures = vec![];
        self.measures.finish(&self.world, &mut measures);
        let length = self.place.step as usize + 1;
        self.episodes.push(Episode { total: self.total, length, end: outcome.end, measures });
        if self.place.episode + 1 < self.plan.episodes {
            self.place = Place { episode: self.place.episode + 1, step: 0 };
            return self.start_episode(now, out);
        }
        self.phase = Phase::Over;
        for index in 0..self.guests.len() {
            self.send(index, Kind::End, &[], out);
        }
        Ok(())
    }
}
