//! What clock error costs agents in the field: whole episodes in simulated time, every agent with a clock of its own.
//!
//! ```text
//! clock of agent i = true time + d_i,  d_i uniform in [-error, error], drawn anew for every episode
//! ```
//!
//! The world goes on at true multiples of the period, with what each actuator was told last in it; one that was told nothing
//! holds still. An agent whose clock is ahead looks too early, one whose clock is behind speaks too late.

use crate::agent::{Agent, Envelope, Workspace};
use crate::error::{Error, Result};
use crate::field::Schedule;
use crate::payload::Welcome;
use crate::sight::Sight;
use crate::signer::Signer;
use crate::world::check;
use equimarl_nn::Policy;
use equimarl_worlds::{End, Envs, Purpose, Stream};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The first boundary is so far after the simulation's zero that no clock is before it.
const ORIGIN: Duration = Duration::from_secs(3600);

/// What is studied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// How wrong clocks are at most.
    pub error: Duration,
    /// How long a step takes.
    pub period: Duration,
    /// How long an agent waits for its neighbours in a round.
    pub deadline: Duration,
    /// How long a message takes.
    pub delay: Duration,
    /// How many episodes.
    pub episodes: u32,
    /// Their seed.
    pub seed: u64,
    /// Whether agents take their greedy action.
    pub greedy: bool,
}

/// What it cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockCost {
    /// The return of every episode.
    pub returns: Vec<f64>,
    /// Messages that did not come in time.
    pub missed: u64,
    /// Messages that should have come.
    pub expected: u64,
    /// Steps in which an actuator was told nothing, summed over agents.
    pub held: u64,
    /// Steps, summed over agents.
    pub steps: u64,
}

enum Event {
    /// An agent's step begins by its own clock.
    Begin(usize, u32),
    /// A message arrives.
    Mail(usize, Vec<u8>),
    /// A deadline of an agent.
    Poll(usize),
    /// The world goes on.
    World(u32),
}

/// Plays episodes with wrong clocks, in the first of these environments.
///
/// # Errors
/// If the policy does not fit the world, rounds do not fit into a step, or clocks are wrong by a step or more.
pub fn clock_study(policy: &Arc<Policy>, envs: &mut dyn Envs, what: &Clocks) -> Result<ClockCost> {
    Schedule::new(Duration::ZERO, what.period, what.deadline, policy.rounds())?;
    if what.error >= what.period {
        return Err(Error::BadFleet(format!(
            "clocks that are wrong by {} ms do not know which step of {} ms it is",
            what.error.as_millis(),
            what.period.as_millis()
        )));
    }
    if policy.acts_by_vectors() {
        return Err(Error::Mismatch("clocks are studied in worlds with actions to choose from only".into()));
    }
    let mut sight = Sight::new(check(envs, policy)?, envs.spec());
    let mut cost = ClockCost::default();
    for episode in 0..what.episodes {
        play(policy, envs, &mut sight, what, episode, &mut cost)?;
    }
    Ok(cost)
}

/// Everything that will happen, in the order of time.
#[derive(Default)]
struct Queue {
    events: BTreeMap<(Duration, u64), Event>,
    count: u64,
}

impl Queue {
    fn push(&mut self, at: Duration, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }
}

fn play(
    policy: &Arc<Policy>,
    envs: &mut dyn Envs,
    sight: &mut Sight,
    what: &Clocks,
    episode: u32,
    cost: &mut ClockCost,
) -> Result<()> {
    let n = envs.spec().agents;
    envs.start(0, Stream::new(what.seed, Purpose::Evaluation, episode.into()))?;
    // A purpose and an episode that nobody else draws from.
    let mut chance = Stream::new(what.seed ^ 0x636c_6f63_6b73, Purpose::Audit, u64::from(episode));
    let error = what.error.as_nanos() as f64;
    let ahead: Vec<i64> = (0..n).map(|_| ((2.0 * chance.unit() - 1.0) * error) as i64).collect();
    let local = |i: usize, at: Duration| shift(at, ahead[i]);
    let real = |i: usize, at: Duration| shift(at, -ahead[i]);
    let begins = |t: u32| ORIGIN + what.period * t;
    let terms = Welcome {
        nonce: [0; 16],
        seed: what.seed,
        agents: n as u32,
        greedy: what.greedy,
        deadline: what.deadline,
    };
    let agents: Result<Vec<Agent>> = (0..n)
        .map(|i| Ok(Agent::new(i, policy.clone(), 0, Signer::Open)?.in_field([1; 16], terms)))
        .collect();
    let (mut agents, mut work, mut out) = (agents?, Workspace::default(), vec![]);
    // A clock that is behind must not keep its agent from listening to those who have begun.
    let first = u64::from(episode) << 16;
    agents.iter_mut().for_each(|agent| agent.wait_for(first));
    let mut told: Vec<Option<usize>> = vec![None; n];
    let (mut queue, mut total) = (Queue::default(), 0.0);
    (0..n).for_each(|i| queue.push(real(i, begins(0)), Event::Begin(i, 0)));
    queue.push(begins(1), Event::World(0));
    while let Some(((now, _), event)) = queue.events.pop_first() {
        let i = match event {
            Event::World(t) => {
                let world = envs.world(0);
                let actions: Vec<usize> =
                    told.iter().enumerate().map(|(i, told)| told.unwrap_or_else(|| world.hold(i))).collect();
                cost.held += told.iter().filter(|told| told.is_none()).count() as u64;
                cost.steps += n as u64;
                told.fill(None);
                let outcome = envs.step_one(0, &actions)?;
                total += outcome.reward;
                if outcome.end != End::Running {
                    break;
                }
                queue.push(begins(t + 2), Event::World(t + 1));
                continue;
            }
            Event::Begin(i, t) => {
                let counted = first | u64::from(t);
                agents[i].wait_for(counted);
                sight.look(envs.world(0))?;
                let seen = sight.of(envs.world(0), i)?.clone();
                let times = (local(i, now), local(i, now));
                agents[i].see(counted, seen, times, &mut work, &mut out)?;
                queue.push(real(i, begins(t + 1)), Event::Begin(i, t + 1));
                i
            }
            Event::Mail(i, bytes) => {
                agents[i].receive(&bytes, local(i, now), &mut work, &mut out)?;
                i
            }
            Event::Poll(i) => i,
        };
        agents[i].poll(local(i, now), &|_| true, &mut work, &mut out)?;
        if let Some(decision) = agents[i].take_decision() {
            told[i] = Some(decision.action.into());
            cost.missed += u64::from(decision.missed);
            cost.expected += u64::from(decision.expected);
        }
        // Whoever speaks begins to wait: once per round.
        if let Some(at) = agents[i].deadline().filter(|_| !out.is_empty()) {
            queue.push(real(i, at).max(now), Event::Poll(i));
        }
        for Envelope { to, bytes } in out.drain(..) {
            if let Some(to) = to.index() {
                queue.push(now + what.delay, Event::Mail(to, bytes));
            }
        }
    }
    cost.returns.push(total);
    Ok(())
}

fn shift(at: Duration, nanos: i64) -> Duration {
    match nanos >= 0 {
        true => at + Duration::from_nanos(nanos.unsigned_abs()),
        false => at.saturating_sub(Duration::from_nanos(nanos.unsigned_abs())),
    }
}
