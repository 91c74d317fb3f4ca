//! Environments that are stepped together and go on by themselves: no Python in here.

use equimarl_group::{Group, Rep};
use equimarl_worlds::{Canvas, End, Envs, Error, Outcome, Purpose, Result, Stream, World};
use serde_json::Value;
use std::sync::Mutex;
use std::thread;

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

impl<'a> Seen<'a> {
    /// The first numbers of it, which are taken off.
    fn take(&mut self, numbers: usize) -> Seen<'a> {
        match self {
            Seen::Numbers(all) => Seen::Numbers(take(all, numbers)),
            Seen::Ids(all) => Seen::Ids(take(all, numbers)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Seen::Numbers(all) => all.len(),
            Seen::Ids(all) => all.len(),
        }
    }
}

fn take<'a, T>(all: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, rest) = std::mem::take(all).split_at_mut(count);
    *all = rest;
    first
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

/// Environments in one part: few enough that their states stay in the cache between a step and a look at it.
const PART: usize = 256;

/// Environments in parts. Threads take one part after the other, so that one that is held up holds up no more than that.
///
/// They begin and end within a step. That costs some 20 us, and in exchange none is ever there when a process forks.
pub(crate) struct Together {
    parts: Vec<Part>,
    pub threads: usize,
    pub started: bool,
    /// One per environment and agent: what the next step does.
    pub actions: Vec<usize>,
}

impl Together {
    /// `make` gives so many environments.
    pub fn new(
        count: usize,
        threads: usize,
        make: impl Fn(usize) -> Result<Box<dyn Envs>>,
    ) -> Result<Together> {
        let parts = (0..count)
            .step_by(PART)
            .map(|first| Ok(Part::new(first, make(PART.min(count - first))?)))
            .collect::<Result<Vec<Part>>>()?;
        let actions = parts.iter().map(|part| part.outcomes.len() * part.envs.spec().agents).sum();
        let threads = threads.clamp(1, parts.len());
        Ok(Together { parts, threads, started: false, actions: vec![0; actions] })
    }

    /// Any of the environments, for what they have in common.
    pub fn any(&self) -> &dyn Envs {
        &*self.parts[0].envs
    }

    fn at(&self, e: usize) -> (usize, usize) {
        (e / PART, e % PART)
    }

    pub fn world(&self, e: usize) -> &dyn World {
        let (part, e) = self.at(e);
        self.parts[part].envs.world(e)
    }

    /// One step of one environment, which stays in its last state when its episode ends.
    pub fn step_one(&mut self, e: usize, actions: &[usize]) -> Result<Outcome> {
        let (part, e) = self.at(e);
        self.parts[part].envs.step_one(e, actions)
    }

    /// Begins an episode everywhere, from the streams of this seed or from where the streams are, and writes what
    /// everybody sees.
    pub fn reset(&mut self, seed: Option<u64>, seen: Seen<'_>) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.reset(seed))?;
        self.started = true;
        self.observe(seen);
        Ok(())
    }

    /// Writes what everybody sees, all of it.
    pub fn observe(&mut self, mut seen: Seen<'_>) {
        let each = seen.len() / self.parts.iter().map(|part| part.outcomes.len()).sum::<usize>().max(1);
        for part in &mut self.parts {
            part.canvas = None;
            part.look(&mut seen.take(part.outcomes.len() * each));
        }
    }

    /// One step of every environment by `self.actions`. Where an episode ends, its last observation is kept and the next
    /// one begins.
    pub fn step(&mut self, mut results: Results<'_>) -> Result<()> {
        let agents = self.any().spec().agents;
        let each = results.seen.len() / results.rewards.len().max(1);
        let mut actions = self.actions.as_slice();
        let mut work = self.parts.iter_mut().map(|part| {
            let count = part.outcomes.len();
            let (now, later) = actions.split_at(count * agents);
            actions = later;
            let results = Results {
                seen: results.seen.take(count * each),
                last_seen: results.last_seen.take(count * each),
                rewards: take(&mut results.rewards, count),
                terminals: take(&mut results.terminals, count),
                truncations: take(&mut results.truncations, count),
            };
            move || part.step(now, results)
        });
        let threads = self.threads;
        if threads == 1 {
            return work.try_for_each(|step| step());
        }
        let work = Mutex::new(work);
        let next = || work.lock().ok()?.next();
        let all = || std::iter::from_fn(next).try_for_each(|step| step());
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(all)).collect();
            let broken = || Err(Error::BadWorld("a thread broke off in the middle of a step".into()));
            let mine = all();
            others.into_iter().try_for_each(|other| other.join().unwrap_or_else(|_| broken()))?;
            mine
        })
    }

    /// The episodes that the last step ended.
    pub fn ended(&self) -> impl Iterator<Item = &Ended> {
        self.parts.iter().flat_map(|part| &part.ended)
    }

    /// Everything that the future depends on.
    pub fn save(&self) -> Value {
        self.parts.iter().map(|part| part.envs.save()).collect()
    }

    /// Goes on from there.
    pub fn load(&mut self, saved: &Value) -> Result<()> {
        let parts = saved
            .as_array()
            .filter(|parts| parts.len() == self.parts.len())
            .ok_or_else(|| Error::BadState("it is of another number of environments or threads".into()))?;
        for (part, saved) in self.parts.iter_mut().zip(parts) {
            part.envs.load(saved)?;
        }
        self.started = true;
        Ok(())
    }
}

/// Environments of one thread, their pictures, and what their episodes have come to.
struct Part {
    /// How many environments are in the parts before.
    first: usize,
    envs: Box<dyn Envs>,
    canvas: Option<Canvas>,
    outcomes: Vec<Outcome>,
    totals: Vec<f64>,
    lengths: Vec<u64>,
    ended: Vec<Ended>,
}

impl Part {
    fn new(first: usize, envs: Box<dyn Envs>) -> Part {
        let count = envs.len();
        Part {
            first,
            envs,
            canvas: None,
            outcomes: vec![Outcome { reward: 0.0, end: End::Running }; count],
            totals: vec![0.0; count],
            lengths: vec![0; count],
            ended: vec![],
        }
    }

    fn reset(&mut self, seed: Option<u64>) -> Result<()> {
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

    fn step(&mut self, actions: &[usize], mut results: Results<'_>) -> Result<()> {
        self.envs.step(actions, &mut self.outcomes)?;
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
