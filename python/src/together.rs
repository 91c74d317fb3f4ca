//! Environments that are stepped together: no Python in here.

use crate::part::{Ended, Part, Results};
use crate::sight::{Seen, take};
use crate::surroundings::Surroundings;
use equimarl_worlds::{Envs, Error, Joint, Outcome, Result, World};
use serde_json::Value;
use std::sync::Mutex;
use std::thread;

/// Environments in one part: few enough that their states stay in the cache between a step and a look at it.
const PART: usize = 256;

/// Environments in parts. Threads take one part after the other, so that one that is held up holds up no more than that.
///
/// They begin and end within a step. That costs some 20 us, and in exchange none is ever there when a process forks.
pub(crate) struct Together {
    parts: Vec<Part>,
    pub threads: usize,
    pub started: bool,
    /// One per environment and agent: what the next step does, where agents choose.
    pub actions: Vec<usize>,
    /// The numbers of one vector per environment and agent, where they act by vectors.
    pub vectors: Vec<f64>,
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
        let actions: usize = parts.iter().map(|part| part.len() * part.envs.spec().agents).sum();
        let spec = parts[0].envs.spec();
        let (choices, numbers) = match spec.actions.vectors() {
            None => (actions, 0),
            Some(_) => (0, actions * spec.actions.count()),
        };
        let threads = threads.clamp(1, parts.len());
        Ok(Together {
            parts,
            threads,
            started: false,
            actions: vec![0; choices],
            vectors: vec![0.0; numbers],
        })
    }

    /// Any of the environments, for what they have in common.
    pub fn any(&self) -> &dyn Envs {
        &*self.parts[0].envs
    }

    /// From now on everybody's surroundings are observed.
    pub fn surround(&mut self, surroundings: &Surroundings) {
        self.parts.iter_mut().for_each(|part| part.surroundings = Some(surroundings.clone()));
    }

    fn at(&self, e: usize) -> (usize, usize) {
        (e / PART, e % PART)
    }

    pub fn world(&self, e: usize) -> &dyn World {
        let (part, e) = self.at(e);
        self.parts[part].envs.world(e)
    }

    /// One step of one environment, which stays in its last state when its episode ends.
    pub fn step_one(&mut self, e: usize, actions: &Joint) -> Result<Outcome> {
        let (part, e) = self.at(e);
        actions.step(&mut *self.parts[part].envs, e)
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
        let each = seen.len() / self.parts.iter().map(|part| part.len()).sum::<usize>().max(1);
        for part in &mut self.parts {
            part.observe(&mut seen.take(part.len() * each));
        }
    }

    /// One step of every environment by `self.actions` or `self.vectors`. Where an episode ends, its last observation is kept and the next
    /// one begins.
    pub fn step(&mut self, mut results: Results<'_>) -> Result<()> {
        let each = results.seen.len() / results.rewards.len().max(1);
        let all = results.rewards.len().max(1);
        let (choices, numbers) = (self.actions.len() / all, self.vectors.len() / all);
        let (mut actions, mut vectors) = (self.actions.as_slice(), self.vectors.as_slice());
        let mut work = self.parts.iter_mut().map(|part| {
            let count = part.len();
            let (now, later) = actions.split_at(count * choices);
            let (by, rest) = vectors.split_at(count * numbers);
            (actions, vectors) = (later, rest);
            let results = Results {
                seen: results.seen.take(count * each),
                last_seen: results.last_seen.take(count * each),
                rewards: take(&mut results.rewards, count),
                terminals: take(&mut results.terminals, count),
                truncations: take(&mut results.truncations, count),
            };
            move || part.step(now, by, results)
        });
        let threads = self.threads;
        if threads == 1 {
            return work.try_for_each(|step| step());
        }
        let work = Mutex::new(work);
        let next = || work.lock().ok()?.next();
        let all = || std::iter::from_fn(next).try_for_each(|step| step());
        thread::scope(|scope| {
            // Where the system gives no more threads, those that are there do it all.
            let begun = |_| thread::Builder::new().spawn_scoped(scope, all).ok();
            let others: Vec<_> = (1..threads).filter_map(begun).collect();
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
