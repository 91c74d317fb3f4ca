//! The options of a run and of its faults, shared by the verbs.

use super::team::Team;
use crate::number::whole;
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use equimarl_fleet::{Bursts, Defence, Fallback, Faults, RunConfig};
use equimarl_worlds::Spec;
use std::time::Duration;

/// What is run. What is not given stays as it was.
#[derive(Args, Clone, Debug, Default)]
pub struct PlanArgs {
    /// How many episodes [default: 20].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>)]
    pub episodes: Option<u32>,
    /// The seed of the episodes [default: 0].
    #[arg(long, allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: Option<u64>,
    /// Agents take their greedy action instead of drawing one.
    #[arg(long)]
    pub greedy: bool,
    /// How long an agent waits for its neighbours in a round [default: 200].
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub deadline: Option<u64>,
    /// The least time between two steps of the world [default: 0].
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub period: Option<u64>,
    /// How long the world waits for its agents to join [default: 60].
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub gather: Option<u64>,
}

impl PlanArgs {
    /// Changes what was asked to be changed.
    pub fn apply(&self, mut run: RunConfig) -> RunConfig {
        run.episodes = self.episodes.unwrap_or(run.episodes);
        run.seed = self.seed.unwrap_or(run.seed);
        run.greedy |= self.greedy;
        run.deadline_ms = self.deadline.unwrap_or(run.deadline_ms);
        run.period_ms = self.period.unwrap_or(run.period_ms);
        run.gather_s = self.gather.unwrap_or(run.gather_s);
        run
    }
}

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Faults between agents, for study")]
pub struct FaultArgs {
    /// Each message is lost with this probability.
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_negative_numbers = true)]
    pub drop: f64,
    /// Links have good and bad spells of so many steps on average, and lose everything in bad ones; for example 45,5.
    #[arg(long, value_name = "GOOD,BAD", value_parser = Bursts::parse)]
    pub burst: Option<Bursts>,
    /// Each message takes this much longer.
    #[arg(long, value_name = "MS", default_value_t = 0.0, allow_negative_numbers = true)]
    pub delay: f64,
    /// And up to this much more.
    #[arg(long, value_name = "MS", default_value_t = 0.0, allow_negative_numbers = true)]
    pub jitter: f64,
    /// Groups of agents that do not hear each other, for example "0,1|2,3".
    #[arg(long, value_name = "A|B")]
    pub partition: Option<String>,
    /// What an agent does that hears none of its neighbours: `alone` acts on its own observation; worlds may have others.
    #[arg(long, value_name = "NAME", default_value = Fallback::ALONE)]
    pub fallback: String,
    /// The seed of losses and jitter.
    #[arg(long, value_name = "SEED", default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub fault_seed: u64,
}

impl FaultArgs {
    /// The faults that these options make, for this many agents.
    pub fn faults(&self, agents: usize) -> Result<Faults> {
        let time = |name: &str, ms: f64| {
            ensure!((0.0..=3.6e6).contains(&ms), "--{name} is a time in milliseconds, not {ms}");
            Ok(Duration::from_secs_f64(ms / 1e3))
        };
        let partition = match &self.partition {
            Some(text) => Faults::parse_partition(text)?,
            None => vec![],
        };
        if let Some(stranger) = partition.iter().flatten().find(|&&agent| agent >= agents) {
            anyhow::bail!("--partition names agent {stranger}, and there are agents 0 to {}", agents - 1);
        }
        let faults = Faults {
            drop: self.drop,
            bursts: self.burst,
            delay: time("delay", self.delay)?,
            jitter: time("jitter", self.jitter)?,
            partition,
            seed: self.fault_seed,
        };
        faults.check().context("--drop")?;
        Ok(faults)
    }

    /// What a cut-off agent does in this world.
    pub fn fallback(&self, spec: &Spec) -> Result<Fallback> {
        Fallback::named(&self.fallback, spec).context("--fallback")
    }

    /// The same options for an agent's process.
    #[cfg(feature = "zenoh")]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--drop={}", self.drop),
            format!("--delay={}", self.delay),
            format!("--jitter={}", self.jitter),
            format!("--fault-seed={}", self.fault_seed),
        ];
        arguments.extend(self.burst.map(|b| format!("--burst={},{}", b.good, b.bad)));
        arguments.extend(self.partition.iter().map(|text| format!("--partition={text}")));
        arguments.push(format!("--fallback={}", self.fallback));
        arguments
    }
}

/// What agents do against neighbours that lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Robust {
    /// Believe everything.
    Off,
    /// Clip what neighbours say to the ranges of the model file, if it has them.
    #[default]
    Clip,
    /// And leave out the least and the largest of each number where there are three neighbours or more.
    Trimmed,
}

impl Robust {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Robust::Off => "off",
            Robust::Clip => "clip",
            Robust::Trimmed => "trimmed",
        }
    }

    /// The defence of this team's agents.
    ///
    /// # Errors
    /// If they are to trim what turns mix.
    pub fn defence(self, team: &Team) -> Result<Defence> {
        let trimmed = self == Robust::Trimmed;
        ensure!(!trimmed || team.policy.can_trim(), Defence::CANNOT_TRIM);
        Ok(Defence { clip: team.clip.clone().filter(|_| self != Robust::Off), trimmed })
    }

    /// What people should know.
    pub fn warning(self, team: &Team) -> Option<&'static str> {
        (self != Robust::Off && team.clip.is_none()).then_some(
            "the model file has no message ranges, so what neighbours say is not clipped; `fleet ranges` adds them",
        )
    }
}

/// Who dies when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    pub agent: usize,
    pub step: u32,
}

impl Crash {
    /// Reads `2@30`.
    pub fn parse(text: &str) -> std::result::Result<Crash, String> {
        let parsed = text
            .split_once('@')
            .and_then(|(agent, step)| Some(Crash { agent: agent.parse().ok()?, step: step.parse().ok()? }));
        parsed.ok_or_else(|| "write agent@step, for example 2@30".into())
    }
}
