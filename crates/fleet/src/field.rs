//! Agents with sensors and actuators of their own, and no world.
//!
//! ```text
//! step t begins at epoch + t period, by everybody's own clock
//! agent i  o = its own sensors: what it sees, who is near, across which vector
//!          f = encode(o);  rounds with its neighbours, as always, each until its deadline after the step began
//!          its own actuators do what it decided; without an observation or a decision they hold still
//! ```
//!
//! Implement [`Sense`] and [`Act`] for a device and call [`run`]; or let a program of any language be both
//! ([`crate::sensor`]).

mod study;

pub use study::{ClockCost, Clocks, clock_study};

use crate::agent::{Agent, Workspace};
use crate::error::{Error, Result};
use crate::faults::{Delayed, Faults};
use crate::member::Member;
use crate::message::RunId;
use crate::node::{AT_ONCE, Pulse, post};
use crate::observation::Observation;
use crate::payload::{Action, Welcome};
use crate::record::MessageLog;
use crate::transport::Transport;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// While nothing is seen yet in a step, sensors are asked this often.
const LOOK: Duration = Duration::from_millis(2);
/// Nobody sleeps longer.
const NAP: Duration = Duration::from_millis(20);

/// An agent's own sensors.
pub trait Sense {
    /// What the agent sees in step `t`, and who is near across which vector; nothing if there is nothing new yet. Asked again
    /// and again until the step is over, so it must not wait.
    ///
    /// # Errors
    /// If there will never be anything again. A sensor that may come back says nothing instead.
    fn sense(&mut self, t: u64) -> Result<Option<Observation>>;

    /// What people should know, once: that a sensor is gone, or back.
    fn news(&mut self) -> Option<String> {
        None
    }
}

/// An agent's own actuators.
pub trait Act {
    /// Does what was decided in step `t`. Must not wait.
    fn act(&mut self, t: u64, decision: &Action);

    /// Step `t` is over and nothing was decided: hold still.
    fn hold(&mut self, t: u64);
}

impl<S: Sense, A> Sense for (S, A) {
    fn sense(&mut self, t: u64) -> Result<Option<Observation>> {
        self.0.sense(t)
    }

    fn news(&mut self) -> Option<String> {
        self.0.news()
    }
}

impl<S, A: Act> Act for (S, A) {
    fn act(&mut self, t: u64, decision: &Action) {
        self.1.act(t, decision);
    }

    fn hold(&mut self, t: u64) {
        self.1.hold(t);
    }
}

/// When steps begin: the same for all agents of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Step 0 begins so long after the beginning of 1970.
    pub epoch: Duration,
    /// How long a step takes.
    pub period: Duration,
    /// How far this clock is ahead on purpose, in nanoseconds, to study what that costs.
    pub ahead: i64,
}

impl Schedule {
    /// Steps of this length since the beginning of 1970.
    ///
    /// # Errors
    /// If `rounds` rounds with this deadline do not fit into a step.
    pub fn new(epoch: Duration, period: Duration, deadline: Duration, rounds: usize) -> Result<Schedule> {
        let all = deadline.saturating_mul(rounds as u32);
        if period.is_zero() || all >= period {
            let most = period.as_millis().saturating_sub(1) / rounds.max(1) as u128;
            return Err(Error::BadFleet(match period.is_zero() {
                true => "agents with sensors of their own need a period: write `period_ms` under [run] in the fleet file".into(),
                false => format!(
                    "{rounds} rounds of up to {} ms do not fit into steps of {} ms; use a deadline of at most {most} ms",
                    deadline.as_millis(),
                    period.as_millis()
                ),
            }));
        }
        Ok(Schedule { epoch, period, ahead: 0 })
    }

    /// The time since the beginning of 1970 by this machine's clock.
    pub fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match self.ahead >= 0 {
            true => now.saturating_add(Duration::from_nanos(self.ahead.unsigned_abs())),
            false => now.saturating_sub(Duration::from_nanos(self.ahead.unsigned_abs())),
        }
    }

    /// The step at a time; nothing before the epoch.
    pub fn step(&self, now: Duration) -> Option<u64> {
        let passed = now.checked_sub(self.epoch)?.as_nanos() / self.period.as_nanos().max(1);
        u64::try_from(passed).ok()
    }

    /// When a step begins.
    pub fn begins(&self, t: u64) -> Duration {
        let nanos = self.period.as_nanos().saturating_mul(t.into());
        self.epoch
            .saturating_add(Duration::new((nanos / 1_000_000_000) as u64, (nanos % 1_000_000_000) as u32))
    }

    /// The name of the run that everybody with this schedule and this model is in. It need not be a secret: steps are counted
    /// from the epoch and never come again, so what was signed for one is worth nothing in any other.
    pub fn run(&self, fleet: &str, fingerprint: u64) -> RunId {
        let mut text = fleet.as_bytes().to_vec();
        text.extend_from_slice(&fingerprint.to_le_bytes());
        text.extend_from_slice(&self.period.as_nanos().to_le_bytes());
        text.extend_from_slice(&self.epoch.as_nanos().to_le_bytes());
        let mut run = *b"field   ........";
        run[8..].copy_from_slice(&equimarl_nn::model::fnv1a(&text).to_le_bytes());
        run
    }

    /// The terms of that run, which a world would have told.
    pub fn terms(&self, agents: usize, seed: u64, greedy: bool, deadline: Duration) -> Welcome {
        Welcome { nonce: [0; 16], seed, agents: agents as u32, greedy, deadline }
    }
}

/// How an agent in the field did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldReport {
    /// Steps in which it decided.
    pub decided: u64,
    /// Steps in which it held still.
    pub held: u64,
    /// Messages that did not come.
    pub missed: u64,
    /// Messages that should have come.
    pub expected: u64,
    /// Observations that were refused.
    pub refused: u64,
    /// From the beginning of a step to the decision, in microseconds: the sum over decided steps.
    pub micros: u64,
}

impl FieldReport {
    /// Adds another part of the same run.
    pub fn add(&mut self, more: &FieldReport) {
        self.decided += more.decided;
        self.held += more.held;
        self.missed += more.missed;
        self.expected += more.expected;
        self.refused += more.refused;
        self.micros += more.micros;
    }
}

/// What an agent in the field needs besides itself and its body.
pub struct Field<'a> {
    /// When steps begin.
    pub schedule: Schedule,
    /// Lost and late messages on purpose.
    pub faults: &'a Faults,
    /// Where messages are written down.
    pub log: Option<&'a MessageLog>,
    /// Whether to end.
    pub stop: &'a dyn Fn() -> bool,
    /// Told what people should know.
    pub say: &'a mut dyn FnMut(&str),
    /// Told how it is going, after every step.
    pub watch: &'a mut dyn FnMut(&Agent, &FieldReport),
}

/// Runs an agent that was made with [`Agent::in_field`] until it is told to stop.
///
/// # Errors
/// If the network, the transport or the sensors cannot go on.
pub fn run<B: Sense + Act + ?Sized>(
    agent: &mut Agent,
    body: &mut B,
    transport: &mut dyn Transport,
    field: Field<'_>,
) -> Result<FieldReport> {
    let Field { schedule, faults, log, stop, say, watch } = field;
    faults.check()?;
    let (mut work, mut delayed, mut envelopes) = (Workspace::default(), Delayed::default(), vec![]);
    let mut report = FieldReport::default();
    let (mut step, mut pulse, mut last) = (Step::default(), Pulse::default(), None);
    while !stop() {
        let now = schedule.now();
        let Some(t) = schedule.step(now) else {
            std::thread::sleep(NAP.min(schedule.epoch.saturating_sub(now)));
            continue;
        };
        if step.t.is_none_or(|last| t > last) {
            if let Some(last) = step.t.filter(|_| !step.acted) {
                body.hold(last);
                report.held += 1;
                watch(agent, &report);
            }
            if step.blind_after() == STILL {
                say("nothing is seen; holding still");
            }
            step = Step { t: Some(t), blind: step.blind_after(), ..Step::default() };
            agent.wait_for(t);
        } else if step.t.is_some_and(|last| t < last) && !step.late {
            // What was signed for a step that is over must not count again, so nothing is done until the clock is there.
            step.late = true;
            say("the clock was set back; holding still until it is where it was");
        }
        if !step.seen
            && step.t == Some(t)
            && let Some(seen) = body.sense(t)?
        {
            let times = (schedule.begins(t), now);
            match agent.see(t, seen, times, &mut work, &mut envelopes) {
                Ok(()) => {
                    if step.blind >= STILL {
                        say("it sees again");
                    }
                    step.seen = true;
                }
                Err(Error::Mismatch(why)) => {
                    report.refused += 1;
                    say(&format!("an observation was refused: {why}"));
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(news) = body.news() {
            say(&news);
        }
        let up = |member: Member| transport.alive(member);
        agent.poll(now, &up, &mut work, &mut envelopes)?;
        post(&mut envelopes, transport, faults, &mut delayed, log, now)?;
        if let Some(decision) = agent.take_decision() {
            step.acted = true;
            report.decided += 1;
            report.missed += u64::from(decision.missed);
            report.expected += u64::from(decision.expected);
            let took = schedule.now().saturating_sub(schedule.begins(t)).as_micros();
            report.micros += u64::try_from(took).unwrap_or(u64::MAX);
            body.act(t, &decision);
            last = Some(decision);
            watch(agent, &report);
        }
        pulse.beat(transport, || agent.status(&report, last.as_ref()));
        let next = schedule.begins(t.saturating_add(1));
        let until = agent.deadline().into_iter().chain(delayed.next()).fold(next, Duration::min);
        let most = if step.seen { NAP } else { LOOK };
        let mut wait = until.saturating_sub(schedule.now()).clamp(Duration::from_micros(1), most);
        for _ in 0..AT_ONCE {
            let Some(bytes) = transport.receive(wait)? else { break };
            if let Some(log) = log {
                log.received(&bytes);
            }
            agent.receive(&bytes, schedule.now(), &mut work, &mut envelopes)?;
            wait = Duration::ZERO;
        }
        agent.flooded(transport.lost());
    }
    Ok(report)
}

/// After so many steps in a row without an observation, people are told.
const STILL: u32 = 3;

/// How a step goes.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    t: Option<u64>,
    seen: bool,
    acted: bool,
    late: bool,
    /// Steps before it in which nothing was seen.
    blind: u32,
}

impl Step {
    fn blind_after(&self) -> u32 {
        if self.seen || self.t.is_none() { 0 } else { self.blind.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_from_the_epoch() {
        let ms = Duration::from_millis;
        let schedule = Schedule::new(ms(1000), ms(100), ms(40), 2).unwrap();
        assert_eq!(schedule.step(ms(999)), None);
        assert_eq!((schedule.step(ms(1000)), schedule.step(ms(1099))), (Some(0), Some(0)));
        for t in [0, 1, 7, 1 << 40] {
            assert_eq!(schedule.step(schedule.begins(t)), Some(t));
            assert_eq!(schedule.step(schedule.begins(t + 1) - Duration::from_nanos(1)), Some(t));
        }
        assert_ne!(schedule.run("a", 1), schedule.run("a", 2));
        assert_ne!(schedule.run("a", 1), Schedule { period: ms(101), ..schedule }.run("a", 1));
    }

    #[test]
    fn rounds_must_fit_into_a_step() {
        let ms = Duration::from_millis;
        let error = Schedule::new(ms(0), ms(100), ms(200), 2).unwrap_err().to_string();
        assert_eq!(
            error,
            "2 rounds of up to 200 ms do not fit into steps of 100 ms; use a deadline of at most 49 ms"
        );
        assert!(Schedule::new(ms(0), ms(100), ms(49), 2).is_ok());
        assert!(Schedule::new(ms(0), ms(0), ms(49), 2).unwrap_err().to_string().contains("period_ms"));
    }
}
