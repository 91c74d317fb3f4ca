//! What a run amounts to besides its return: time, bytes, misses.

use crate::payload::Action;
use crate::tally::{Drops, Reason};
use serde_json::{Value, json};
use std::time::Duration;

/// Latencies kept for the percentiles; more are counted, but only the last ones are remembered.
const KEPT: usize = 100_000;

fn drops(drops: &Drops) -> Value {
    Reason::ALL.iter().map(|&r| (r.name().replace(' ', "_"), json!(drops.of(r)))).collect()
}

/// What was measured of one agent.
#[derive(Clone, Copy, Debug, Default)]
struct Each {
    absent: u64,
    expected: u64,
    missed: u64,
    dropped: Drops,
    /// What it said last that it had dropped since it began; it may have begun anew.
    said: Drops,
}

/// What was measured in a run, over all agents.
#[derive(Clone, Debug)]
pub struct Report {
    agents: usize,
    /// When the first step began.
    pub began: Duration,
    now: Duration,
    /// Steps of the world.
    pub steps: u64,
    /// Steps in which an agent did not answer, summed over agents.
    pub absent: u64,
    /// Messages between agents that should have come.
    pub expected: u64,
    /// Messages between agents that did not come in time.
    pub missed: u64,
    /// Steps in which an agent heard none of its neighbours, summed over agents.
    pub cut_off: u64,
    /// Bytes between agents.
    pub sent: u64,
    /// Bytes from the world to agents.
    pub downlink: u64,
    /// Bytes from agents to the world.
    pub uplink: u64,
    /// Messages that agents dropped, by reason.
    pub dropped: Drops,
    /// Messages that the world dropped, by reason.
    pub refused: Drops,
    /// Requests to join with another model file.
    pub other_models: u64,
    /// The version of the last message that was of another one than ours.
    pub other_version: Option<u8>,
    /// Agents that came back.
    pub rejoined: u64,
    /// Episodes that a simulator lost; others were played instead.
    pub abandoned: u64,
    each: Vec<Each>,
    latencies: Vec<u32>,
    next: usize,
}

impl Report {
    /// Nothing measured yet.
    pub fn new(agents: usize) -> Report {
        Report {
            agents,
            began: Duration::ZERO,
            now: Duration::ZERO,
            steps: 0,
            absent: 0,
            expected: 0,
            missed: 0,
            cut_off: 0,
            sent: 0,
            downlink: 0,
            uplink: 0,
            dropped: Drops::default(),
            refused: Drops::default(),
            other_models: 0,
            other_version: None,
            rejoined: 0,
            abandoned: 0,
            each: vec![Each::default(); agents],
            latencies: vec![],
            next: 0,
        }
    }

    /// Counts a step.
    pub(crate) fn step(&mut self, now: Duration, said: &[Option<Action>]) {
        self.now = now;
        self.steps += 1;
        for (said, each) in said.iter().zip(&mut self.each) {
            let Some(said) = said else {
                self.absent += 1;
                each.absent += 1;
                continue;
            };
            each.expected += u64::from(said.expected);
            each.missed += u64::from(said.missed);
            self.expected += u64::from(said.expected);
            self.missed += u64::from(said.missed);
            self.cut_off += u64::from(said.cut_off);
            self.sent += u64::from(said.sent);
            let dropped = said.drops.since(&each.said);
            self.dropped.add(&dropped);
            each.dropped.add(&dropped);
            each.said = said.drops;
            for &took in &said.rounds {
                if self.latencies.len() < KEPT {
                    self.latencies.push(took);
                } else {
                    self.latencies[self.next] = took;
                    self.next = (self.next + 1) % KEPT;
                }
            }
        }
    }

    /// Seconds from the first step to the last, by the fleet's clock.
    pub fn seconds(&self) -> f64 {
        self.now.saturating_sub(self.began).as_secs_f64()
    }

    /// How long a round took: a quantile in microseconds, 0.5 for the median. Nothing if there were no rounds.
    pub fn latency(&self, quantile: f64) -> Option<u32> {
        let mut sorted = self.latencies.clone();
        let last = sorted.len().checked_sub(1)?;
        let at = (last as f64 * quantile.clamp(0.0, 1.0)).round() as usize;
        Some(*sorted.select_nth_unstable(at).1)
    }

    /// Bytes that an agent sends to its neighbours in a step, on average.
    pub fn bytes_per_agent_and_step(&self) -> f64 {
        self.per_agent_and_step(self.sent)
    }

    /// A total per agent and step.
    pub fn per_agent_and_step(&self, total: u64) -> f64 {
        total as f64 / (self.steps as f64 * self.agents as f64)
    }

    /// What was measured of every agent, for who watches.
    pub fn each_json(&self) -> Value {
        let each = |each: &Each| {
            let (missed, expected) = (each.missed, each.expected);
            json!({ "absent": each.absent, "expected": expected, "missed": missed, "dropped": drops(&each.dropped) })
        };
        self.each.iter().map(each).collect()
    }

    /// All of it, for scripts.
    pub fn json(&self) -> Value {
        json!({
            "agents": self.agents,
            "steps": self.steps,
            "round_p50_us": self.latency(0.5),
            "round_p99_us": self.latency(0.99),
            "bytes_per_agent_and_step": self.bytes_per_agent_and_step(),
            "sensor_bytes_per_agent_and_step": self.per_agent_and_step(self.downlink + self.uplink),
            "expected": self.expected,
            "missed": self.missed,
            "cut_off": self.cut_off,
            "absent": self.absent,
            "rejoined": self.rejoined,
            "abandoned": self.abandoned,
            "dropped_by_agents": drops(&self.dropped),
            "dropped_by_world": drops(&self.refused),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_started_again_counts_from_nothing() {
        let mut report = Report::new(1);
        let mut drops = Drops::default();
        let mut step = |drops: Drops| {
            let action = Action { drops, rounds: vec![10, 30], ..Action::default() };
            report.step(Duration::from_secs(1), &[Some(action)]);
            report.dropped.total()
        };
        drops.count(Reason::Late);
        drops.count(Reason::Late);
        assert_eq!(step(drops), 2);
        assert_eq!(step(drops), 2);
        let mut fresh = Drops::default();
        fresh.count(Reason::Late);
        assert_eq!(step(fresh), 3);
        assert_eq!((report.latency(0.0), report.latency(1.0)), (Some(10), Some(30)));
    }
}
