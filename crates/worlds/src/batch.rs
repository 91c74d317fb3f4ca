//! Many worlds of one kind side by side, stepped without allocating, with their pictures kept up to date in place.

use crate::error::{Error, Result};
use crate::spec::Spec;
use crate::stream::{Purpose, Stream, StreamState};
use crate::world::{End, Exact, Outcome};
use serde_json::{Value, json};
use std::sync::Arc;

/// Worlds that are stepped together, each with its own random stream.
///
/// ```
/// use equimarl_worlds::{EnvBatch, End, Outcome, Purpose, Wildlife};
/// let mut batch = EnvBatch::new(&Wildlife::new(3, 7)?, 16, 1, Purpose::World)?;
/// let actions = vec![0; batch.len() * batch.agents()];
/// let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; batch.len()];
/// let mut ended = 0;
/// for _ in 0..100 {
///     batch.step(&actions, &mut outcomes, |_index, _last_state| ended += 1)?;
/// }
/// assert!(ended >= 16);
/// # Ok::<(), equimarl_worlds::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EnvBatch<W: Exact> {
    worlds: Vec<W>,
    streams: Vec<Stream>,
    agents: usize,
}

impl<W: Exact> EnvBatch<W> {
    /// `count` copies of `world` as it is, at least one.
    pub fn of(world: &W, count: usize) -> EnvBatch<W> {
        EnvBatch {
            worlds: vec![world.clone(); count.max(1)],
            streams: (0..count.max(1) as u64).map(|e| Stream::new(0, Purpose::World, e)).collect(),
            agents: world.spec().agents,
        }
    }

    /// `count` copies of `world`, each reset from its own stream (seed, purpose, index).
    ///
    /// # Errors
    /// If a world cannot be reset.
    pub fn new(world: &W, count: usize, seed: u64, purpose: Purpose) -> Result<EnvBatch<W>> {
        let mut batch = EnvBatch::of(world, count);
        for (e, (world, stream)) in batch.worlds.iter_mut().zip(&mut batch.streams).enumerate() {
            *stream = Stream::new(seed, purpose, e as u64);
            world.reset(stream)?;
        }
        Ok(batch)
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

    pub(crate) fn world_spec(&self) -> &Arc<Spec> {
        self.worlds[0].spec()
    }

    pub(crate) fn one_mut(&mut self, e: usize) -> (&mut W, &mut Stream) {
        (&mut self.worlds[e], &mut self.streams[e])
    }

    pub(crate) fn set_stream(&mut self, e: usize, stream: Stream) {
        self.streams[e] = stream;
    }

    /// One step of every world, in its own loop so that nothing is asked per step what is known per batch.
    pub(crate) fn advance(&mut self, actions: &[usize], outcomes: &mut [Outcome]) {
        let each = self.worlds.iter_mut().zip(&mut self.streams).zip(outcomes);
        for (((world, stream), outcome), actions) in each.zip(actions.chunks_exact(self.agents.max(1))) {
            *outcome = world.drawn_step(actions, stream);
        }
    }

    /// One step of every world. `actions` holds all agents of the first world, then of the second, and so on.
    ///
    /// When an episode ends, `ended` sees the index and the last state (where a learner bootstraps a truncated
    /// episode), and then the world is reset.
    ///
    /// # Errors
    /// If a world cannot be reset.
    ///
    /// # Panics
    /// If `actions` or `outcomes` has the wrong length.
    pub fn step(
        &mut self,
        actions: &[usize],
        outcomes: &mut [Outcome],
        mut ended: impl FnMut(usize, &W),
    ) -> Result<()> {
        assert_eq!(outcomes.len(), self.worlds.len(), "one outcome per world");
        assert_eq!(actions.len(), self.worlds.len() * self.agents, "one action per world and agent");
        let each = self.worlds.iter_mut().zip(&mut self.streams).zip(outcomes);
        let actions = actions.chunks_exact(self.agents.max(1));
        for (index, (((world, stream), outcome), actions)) in each.zip(actions).enumerate() {
            *outcome = world.drawn_step(actions, stream);
            if outcome.end != End::Running {
                ended(index, world);
                world.reset(stream)?;
            }
        }
        Ok(())
    }

    /// Writes the observation ids of all agents, world by world; 0 in a world that has none.
    ///
    /// # Panics
    /// If `ids` has the wrong length.
    pub fn ids(&self, ids: &mut [u64]) {
        assert_eq!(ids.len(), self.worlds.len() * self.agents, "one id per world and agent");
        for (world, ids) in self.worlds.iter().zip(ids.chunks_exact_mut(self.agents.max(1))) {
            for (agent, id) in ids.iter_mut().enumerate() {
                *id = world.id(agent).unwrap_or_default();
            }
        }
    }

    /// All states and streams, for a checkpoint.
    pub fn save(&self) -> Value {
        let streams: Vec<StreamState> = self.streams.iter().map(Stream::save).collect();
        let worlds: Vec<Value> = self.worlds.iter().map(Exact::save).collect();
        json!({ "worlds": worlds, "streams": streams })
    }

    /// Continues from what [`EnvBatch::save`] wrote.
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

/// Keeps the images of all agents complete in a buffer of the caller's, by repainting only what changed.
///
/// The buffer holds the agents of the first world, then of the second, and so on, one image each.
#[derive(Clone, Debug)]
pub struct Canvas {
    ids: Vec<Option<u64>>,
    agents: usize,
    pixels: usize,
}

impl Canvas {
    /// The number of pixels that the images of these worlds take.
    pub fn len_for<W: Exact>(worlds: &[W]) -> usize {
        worlds.iter().map(|w| w.spec().agents * pixels(w)).sum()
    }

    /// Paints every image in full.
    ///
    /// # Panics
    /// If the worlds differ in size or `images` has the wrong length.
    pub fn paint<W: Exact>(worlds: &[W], images: &mut [f32]) -> Canvas {
        let agents = worlds.first().map_or(0, |w| w.spec().agents);
        let pixels = worlds.first().map_or(0, self::pixels);
        assert!(
            worlds.iter().all(|w| w.spec().agents == agents && self::pixels(w) == pixels),
            "worlds of one size"
        );
        assert_eq!(images.len(), worlds.len() * agents * pixels, "images of all agents");
        let mut ids = Vec::with_capacity(worlds.len() * agents);
        let mut images = images.chunks_exact_mut(pixels.max(1));
        for world in worlds {
            for (agent, image) in (0..agents).zip(&mut images) {
                world.observe(agent, image);
                ids.push(world.id(agent));
            }
        }
        Canvas { ids, agents, pixels }
    }

    /// Brings the same buffer up to date after steps, resets or edits of the same worlds.
    ///
    /// # Panics
    /// If `images` has the wrong length.
    pub fn update<W: Exact>(&mut self, worlds: &[W], images: &mut [f32]) {
        assert_eq!(self.ids.len(), worlds.len() * self.agents, "the worlds that were painted");
        assert_eq!(images.len(), self.ids.len() * self.pixels, "images of all agents");
        let mut painted = self.ids.iter_mut().zip(images.chunks_exact_mut(self.pixels.max(1)));
        for world in worlds {
            for (agent, (old, image)) in (0..self.agents).zip(&mut painted) {
                let now = world.id(agent);
                match (*old, now) {
                    (Some(before), Some(now)) if before == now => {}
                    (Some(before), Some(now)) => world.repaint(before, now, image),
                    _ => world.observe(agent, image),
                }
                *old = now;
            }
        }
    }

    /// The ids of the images as they are painted, world by world.
    pub fn ids(&self) -> &[Option<u64>] {
        &self.ids
    }
}

fn pixels<W: Exact>(world: &W) -> usize {
    world.spec().image.map_or(0, |[c, h, w]| c * h * w)
}

#[cfg(test)]
mod tests;
