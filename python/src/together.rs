//! Environments that are stepped together and go on by themselves: no Python in here.

use equimarl_group::{Group, Rep};
use equimarl_worlds::{Canvas, End, Envs, Error, Outcome, Purpose, Result};

/// What is written of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// An image.
    Images,
    /// A vector.
    Features,
    /// A number that says which image it is.
    Ids,
}

impl Sight {
    /// By name; without one, what the world has.
    pub fn new(name: Option<&str>, envs: &dyn Envs) -> Result<Sight> {
        let spec = envs.spec();
        let mut there = vec![];
        if spec.image.is_some() {
            there.push(Sight::Images);
        }
        if !spec.features.is_empty() {
            there.push(Sight::Features);
        }
        if envs.exact().is_some() && envs.world(0).id(0).is_some() {
            there.push(Sight::Ids);
        }
        let found = match name {
            Some(name) => there.iter().find(|sight| sight.name() == name),
            None => there.first(),
        };
        found.copied().ok_or_else(|| {
            let all = there.iter().map(|s| format!("\"{}\"", s.name())).collect::<Vec<_>>().join(" or ");
            let (world, name) = (&spec.world, name.unwrap_or_default());
            Error::BadWorld(format!("{world} cannot be observed as \"{name}\"; use {all}"))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Sight::Images => "images",
            Sight::Features => "features",
            Sight::Ids => "ids",
        }
    }

    /// The shape of what one agent sees.
    pub fn shape(self, envs: &dyn Envs) -> Result<Vec<usize>> {
        let spec = envs.spec();
        Ok(match self {
            Sight::Images => spec.image.unwrap_or_default().to_vec(),
            Sight::Features => vec![Rep::parse(&spec.group.parse::<Group>()?, &spec.features)?.dim()],
            Sight::Ids => vec![],
        })
    }
}

/// A buffer for what all agents of all environments see.
pub(crate) enum Seen<'a> {
    Numbers(&'a mut [f32]),
    Ids(&'a mut [u64]),
}

/// An episode that is over.
pub(crate) struct Ended {
    pub environment: usize,
    pub total: f64,
    pub length: u64,
}

/// Where a step writes to.
pub(crate) struct Results<'a> {
    pub seen: Seen<'a>,
    pub last_seen: Seen<'a>,
    pub rewards: &'a mut [f32],
    pub terminals: &'a mut [bool],
    pub truncations: &'a mut [bool],
}

/// Environments, their pictures, and what their episodes have come to.
pub(crate) struct Together {
    pub envs: Box<dyn Envs>,
    pub started: bool,
    /// One per environment and agent: what the next step does.
    pub actions: Vec<usize>,
    pub ended: Vec<Ended>,
    canvas: Option<Canvas>,
    outcomes: Vec<Outcome>,
    totals: Vec<f64>,
    lengths: Vec<u64>,
}

impl Together {
    pub fn new(envs: Box<dyn Envs>) -> Together {
        let (count, agents) = (envs.len(), envs.spec().agents);
        Together {
            envs,
            started: false,
            actions: vec![0; count * agents],
            ended: vec![],
            canvas: None,
            outcomes: vec![Outcome { reward: 0.0, end: End::Running }; count],
            totals: vec![0.0; count],
            lengths: vec![0; count],
        }
    }

    /// Begins an episode everywhere: from the streams of this seed, or from where the streams are.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<()> {
        match seed {
            Some(seed) => self.envs.start_all(seed, Purpose::World)?,
            None => (0..self.envs.len()).try_for_each(|e| self.envs.restart(e))?,
        }
        self.totals.fill(0.0);
        self.lengths.fill(0);
        self.started = true;
        Ok(())
    }

    /// Writes what everybody sees, all of it.
    pub fn observe(&mut self, seen: &mut Seen<'_>) {
        self.canvas = None;
        self.look(seen);
    }

    /// Brings what everybody sees up to date, in a buffer that holds what they saw before.
    fn look(&mut self, seen: &mut Seen<'_>) {
        let images = self.envs.spec().image.is_some();
        match (self.envs.exact(), seen) {
            (Some(exact), Seen::Ids(ids)) => exact.ids(ids),
            (Some(exact), Seen::Numbers(numbers)) if images => exact.look(&mut self.canvas, numbers),
            (_, seen) => (0..self.envs.len()).for_each(|e| self.observe_one(e, seen)),
        }
    }

    /// Writes what the agents of one environment see.
    fn observe_one(&self, e: usize, seen: &mut Seen<'_>) {
        let (world, count, agents) = (self.envs.world(e), self.envs.len(), self.envs.spec().agents);
        for agent in 0..agents {
            match seen {
                Seen::Numbers(numbers) => {
                    let size = numbers.len() / (count * agents);
                    world.observe(agent, &mut numbers[(e * agents + agent) * size..][..size]);
                }
                Seen::Ids(ids) => ids[e * agents + agent] = world.id(agent).unwrap_or_default(),
            }
        }
    }

    /// One step of every environment by `self.actions`. Where an episode ends, its last observation is kept and the next
    /// one begins.
    pub fn step(&mut self, mut results: Results<'_>) -> Result<()> {
        self.envs.step(&self.actions, &mut self.outcomes)?;
        self.ended.clear();
        for (e, outcome) in self.outcomes.iter().enumerate() {
            results.rewards[e] = outcome.reward as f32;
            results.terminals[e] = outcome.end == End::Terminated;
            results.truncations[e] = outcome.end == End::Truncated;
            self.totals[e] += outcome.reward;
            self.lengths[e] += 1;
            if outcome.end != End::Running {
                let (total, length) = (self.totals[e], self.lengths[e]);
                self.ended.push(Ended { environment: e, total, length });
                (self.totals[e], self.lengths[e]) = (0.0, 0);
            }
        }
        for k in 0..self.ended.len() {
            let e = self.ended[k].environment;
            self.observe_one(e, &mut results.last_seen);
            self.envs.restart(e)?;
        }
        self.look(&mut results.seen);
        Ok(())
    }
}
