//! Many worlds of one kind side by side, stepped without allocating, with their pictures kept up to date in place.

use crate::error::{Error, Result};
use crate::stream::{Purpose, Stream, StreamState};
use crate::world::{End, Outcome, World};
use serde_json::{Value, json};

/// Worlds that are stepped together, each with its own random stream. A world whose episode ends starts a new one.
///
/// ```
/// use equimarl_worlds::{Batch, End, Outcome, Purpose, Wildlife};
/// let mut batch = Batch::new(&Wildlife::new(3, 7)?, 16, 1, Purpose::World);
/// let actions = vec![0; batch.len() * batch.agents()];
/// let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; batch.len()];
/// let mut ended = 0;
/// for _ in 0..100 {
///     batch.step(&actions, &mut outcomes, |_index, _last_state| ended += 1);
/// }
/// assert!(ended >= 16);
/// # Ok::<(), equimarl_worlds::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch<W: World> {
    worlds: Vec<W>,
    streams: Vec<Stream>,
    agents: usize,
}

impl<W: World> Batch<W> {
    /// `count` copies of `world`, each reset from its own stream (seed, purpose, index).
    pub fn new(world: &W, count: usize, seed: u64, purpose: Purpose) -> Batch<W> {
        let mut batch = Batch {
            worlds: vec![world.clone(); count],
            streams: (0..count as u64).map(|index| Stream::new(seed, purpose, index)).collect(),
            agents: world.agents(),
        };
        for (world, stream) in batch.worlds.iter_mut().zip(&mut batch.streams) {
            world.reset(stream);
        }
        batch
    }

    /// The number of worlds.
    pub fn len(&self) -> usize {
        self.worlds.len()
    }

    /// Whether there are no worlds.
    pub fn is_empty(&self) -> bool {
        self.worlds.is_empty()
    }

    /// The number of agents in each world.
    pub fn agents(&self) -> usize {
        self.agents
    }

    /// The worlds.
    pub fn worlds(&self) -> &[W] {
        &self.worlds
    }

    /// The worlds, to be edited.
    pub fn worlds_mut(&mut self) -> &mut [W] {
        &mut self.worlds
    }

    /// One step of every world. `actions` holds all agents of the first world, then of the second, and so on.
    ///
    /// When an episode ends, `ended` sees the index and the last state (where a learner bootstraps a truncated
    /// episode), and then the world is reset.
    ///
    /// # Panics
    /// If `actions` or `outcomes` has the wrong length.
    pub fn step(&mut self, actions: &[usize], outcomes: &mut [Outcome], mut ended: impl FnMut(usize, &W)) {
        assert_eq!(outcomes.len(), self.worlds.len(), "one outcome per world");
        assert_eq!(actions.len(), self.worlds.len() * self.agents, "one action per world and agent");
        let each = self.worlds.iter_mut().zip(&mut self.streams).zip(outcomes);
        let actions = actions.chunks_exact(self.agents.max(1));
        for (index, (((world, stream), outcome), actions)) in each.zip(actions).enumerate() {
            let chance = world.draw(stream);
            *outcome = world.step(actions, &chance);
            if outcome.end != End::Running {
                ended(index, world);
                world.reset(stream);
            }
        }
    }

    /// Writes the observation keys of all agents, world by world.
    ///
    /// # Panics
    /// If `keys` has the wrong length.
    pub fn keys(&self, keys: &mut [W::Key]) {
        assert_eq!(keys.len(), self.worlds.len() * self.agents, "one key per world and agent");
        for (world, keys) in self.worlds.iter().zip(keys.chunks_exact_mut(self.agents.max(1))) {
            for (agent, key) in keys.iter_mut().enumerate() {
                *key = world.observation_key(agent);
            }
        }
    }

    /// All states and streams, for a checkpoint.
    pub fn save(&self) -> Value {
        let streams: Vec<StreamState> = self.streams.iter().map(Stream::save).collect();
        let worlds: Vec<Value> = self.worlds.iter().map(World::save).collect();
        json!({ "worlds": worlds, "streams": streams })
    }

    /// Continues from what [`Batch::save`] wrote.
    ///
    /// # Errors
    /// If it is of other worlds or of another number of them. Nothing changes then.
    pub fn load(&mut self, state: &Value) -> Result<()> {
        let list = |name: &str| match state.get(name).and_then(Value::as_array) {
            Some(list) if list.len() == self.worlds.len() => Ok(list),
            Some(list) => Err(Error::BadState(format!(
                "it has {} {name}, this batch {}",
                list.len(),
                self.worlds.len()
            ))),
            None => Err(Error::BadState(format!("it has no list of {name}"))),
        };
        let streams = list("streams")?
            .iter()
            .map(|s| {
                let state = serde_json::from_value(s.clone());
                Stream::load(&state.map_err(|e| Error::BadState(e.to_string()))?)
            })
            .collect::<Result<Vec<Stream>>>()?;
        let mut worlds = self.worlds.clone();
        for (world, state) in worlds.iter_mut().zip(list("worlds")?) {
            world.load(state)?;
        }
        self.worlds = worlds;
        self.streams = streams;
        Ok(())
    }
}

/// Keeps the pictures of all agents complete in a buffer of the caller's, by repainting only what changed.
///
/// The buffer holds the agents of the first world, then of the second, and so on, one picture each.
#[derive(Clone, Debug)]
pub struct Canvas<W: World> {
    keys: Vec<W::Key>,
    agents: usize,
    pixels: usize,
}

impl<W: World> Canvas<W> {
    /// The number of pixels that the pictures of these worlds take.
    pub fn len_for(worlds: &[W]) -> usize {
        worlds.iter().map(|w| w.agents() * w.picture_shape().len()).sum()
    }

    /// Paints every picture in full.
    ///
    /// # Panics
    /// If the worlds differ in size or `pictures` has the wrong length.
    pub fn paint(worlds: &[W], pictures: &mut [f32]) -> Canvas<W> {
        let agents = worlds.first().map_or(0, World::agents);
        let pixels = worlds.first().map_or(0, |w| w.picture_shape().len());
        assert!(
            worlds.iter().all(|w| w.agents() == agents && w.picture_shape().len() == pixels),
            "worlds of one size"
        );
        assert_eq!(pictures.len(), worlds.len() * agents * pixels, "pictures of all agents");
        let mut keys = Vec::with_capacity(worlds.len() * agents);
        let mut pictures = pictures.chunks_exact_mut(pixels.max(1));
        for world in worlds {
            for (agent, picture) in (0..agents).zip(&mut pictures) {
                let key = world.observation_key(agent);
                world.render(&key, picture);
                keys.push(key);
            }
        }
        Canvas { keys, agents, pixels }
    }

    /// Brings the same buffer up to date after steps, resets or edits of the same worlds.
    ///
    /// # Panics
    /// If `pictures` has the wrong length.
    pub fn update(&mut self, worlds: &[W], pictures: &mut [f32]) {
        assert_eq!(self.keys.len(), worlds.len() * self.agents, "the worlds that were painted");
        assert_eq!(pictures.len(), self.keys.len() * self.pixels, "pictures of all agents");
        let mut painted = self.keys.iter_mut().zip(pictures.chunks_exact_mut(self.pixels.max(1)));
        for world in worlds {
            for (agent, (old, picture)) in (0..self.agents).zip(&mut painted) {
                let new = world.observation_key(agent);
                if *old != new {
                    world.repaint(old, &new, picture);
                    *old = new;
                }
            }
        }
    }

    /// The keys of the pictures as they are painted, world by world.
    pub fn keys(&self) -> &[W::Key] {
        &self.keys
    }
}

#[cfg(test)]
mod tests;
