//! The world host: everybody's sensors and actuators.
//!
//! It shows every agent what it sees and where its neighbours are, waits for the actions, and moves the world on. An agent
//! that does not answer in time holds still ([`Habits::hold`]); one that is gone is not waited for.

mod mail;
mod plan;

pub use plan::{Brain, Moment, Plan};

use crate::agent::Letter;
use crate::error::{Error, Result};
use crate::habits::Habits;
use crate::member::Member;
use crate::message::{Kind, Place, RunId};
use crate::payload::{Action, Observation};
use crate::report::Report;
use crate::seal::{Seal, random};
use equimarl_nn::Policy;
use equimarl_worlds::{Edge, End, Episode, Measures, Purpose, Stream, Symmetric};
use std::time::Duration;

/// When all agents have joined, they get this long to connect to each other before the first step.
const SETTLE: Duration = Duration::from_secs(5);

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
