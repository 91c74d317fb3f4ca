//! Some environments side by side, which go on by themselves: what one thread steps at a time.

use crate::sight::Seen;
use crate::surroundings::Surroundings;
use equimarl_worlds::{Canvas, Edges, End, Envs, Outcome, Purpose, Result, Stream};

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
pub(crate) struct Part {
    /// How many environments are in the parts before.
    first: usize,
    pub envs: Box<dyn Envs>,
    canvas: Option<Canvas>,
    /// If that is what is observed.
    pub surroundings: Option<Surroundings>,
    edges: Edges,
    outcomes: Vec<Outcome>,
    totals: Vec<f64>,
    lengths: Vec<u64>,
    pub ended: Vec<Ended>,
}

impl Part {
    pub fn new(first: usize, envs: Box<dyn Envs>) -> Part {
        let count = envs.len();
        Part {
            first,
            envs,
            canvas: None,
            surroundings: None,
            edges: Edges::default(),
            outcomes: vec![Outcome { reward: 0.0, end: End::Running }; count],
            totals: vec![0.0; count],
            lengths: vec![0; count],
            ended: vec![],
        }
    }

    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Writes what everybody sees, all of it.
    pub fn observe(&mut self, seen: &mut Seen<'_>) {
        self.canvas = None;
        self.look(seen);
    }

    pub fn reset(&mut self, seed: Option<u64>) -> Result<()> {
        for e in 0..self.envs.len() {
            match seed {
                // The streams of `Envs::start_all`, whatever part an environment is in.
                Some(seed) => {
                    self.envs.start(e, Stream::new(seed, Purpose::World, (self.first + e) as u64))?;
                }
                None => self.envs.restart(e)?,
            }
        }
        self.totals.fill(0.0);
        self.lengths.fill(0);
        Ok(())
    }

    /// Brings what everybody sees up to date, in a buffer that holds what they saw before.
    fn look(&mut self, seen: &mut Seen<'_>) {
        let images = self.envs.spec().image.is_some();
        match (self.envs.exact(), seen) {
            (Some(exact), Seen::Ids(ids)) => exact.ids(ids),
            (Some(exact), Seen::Numbers(numbers)) if images => exact.look(&mut self.canvas, numbers),
            (_, seen) => (0..self.len()).for_each(|e| self.observe_one(e, seen)),
        }
    }

    /// Writes what the agents of one environment see.
    fn observe_one(&mut self, e: usize, seen: &mut Seen<'_>) {
        let (world, count, agents) = (self.envs.world(e), self.envs.len(), self.envs.spec().agents);
        for agent in 0..agents {
            match seen {
                Seen::Numbers(numbers) => {
                    let size = numbers.len() / (count * agents);
                    let out = &mut numbers[(e * agents + agent) * size..][..size];
                    match &self.surroundings {
                        Some(all) => all.write(world, agent, &mut self.edges, out),
                        None => world.observe(agent, out),
                    }
                }
                Seen::Ids(ids) => ids[e * agents + agent] = world.id(agent).unwrap_or_default(),
            }
        }
    }

    /// One step by choices, or by vectors where agents act by those.
    pub fn step(&mut self, actions: &[usize], vectors: &[f64], mut results: Results<'_>) -> Result<()> {
        match self.envs.spec().actions.vectors() {
            None => self.envs.step(actions, &mut self.outcomes)?,
            Some(_) => self.envs.step_vectors(vectors, &mut self.outcomes)?,
        }
        self.ended.clear();
        for (e, outcome) in self.outcomes.iter().enumerate() {
            results.rewards[e] = outcome.reward as f32;
            results.terminals[e] = outcome.end == End::Terminated;
            results.truncations[e] = outcome.end == End::Truncated;
            self.totals[e] += outcome.reward;
            self.lengths[e] += 1;
            if outcome.end != End::Running {
                let (total, length) = (self.totals[e], self.lengths[e]);
                self.ended.push(Ended { environment: self.first + e, total, length });
                (self.totals[e], self.lengths[e]) = (0.0, 0);
            }
        }
        for k in 0..self.ended.len() {
            let e = self.ended[k].environment - self.first;
            self.observe_one(e, &mut results.last_seen);
            self.envs.restart(e)?;
        }
        self.look(&mut results.seen);
        Ok(())
    }
}
