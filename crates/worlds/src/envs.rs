//! Environments of one world side by side, whatever world it is: types are erased here, once per batch.

use crate::audit::{AuditReport, Auditing, audit_by, audit_turns};
use crate::batch::{Canvas, EnvBatch};
use crate::error::{Error, Result};
use crate::scene::Edit;
use crate::spec::Spec;
use crate::stream::{Purpose, Stream, StreamState};
use crate::world::{Exact, Outcome, World};
use equimarl_group::{Element, Symmetry, Turn};
use serde_json::{Value, json};
use std::sync::Arc;

/// Environments of one world, each with its own random stream.
pub trait Envs: Send {
    /// What the world is.
    fn spec(&self) -> &Arc<Spec>;

    /// How many environments.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An environment, to look at.
    fn world(&self, e: usize) -> &dyn World;

    /// Starts an episode in an environment, whose chance comes from this stream from now on.
    ///
    /// # Errors
    /// If a simulator does not.
    fn start(&mut self, e: usize, stream: Stream) -> Result<()>;

    /// Starts the next episode of an environment, from its own stream.
    ///
    /// # Errors
    /// If a simulator does not.
    fn restart(&mut self, e: usize) -> Result<()>;

    /// One step of one environment. An episode that ended stays as it is until it is started again.
    ///
    /// # Errors
    /// If a simulator does not.
    fn step_one(&mut self, e: usize, actions: &[usize]) -> Result<Outcome>;

    /// One step of every environment. `actions` holds all agents of the first one, then of the second, and so on.
    ///
    /// # Errors
    /// If a simulator does not, or a list has the wrong length.
    fn step(&mut self, actions: &[usize], outcomes: &mut [Outcome]) -> Result<()>;

    /// As [`Envs::step_one`] where agents act by vectors.
    ///
    /// # Errors
    /// As [`Envs::step_one`]; or if a vector is one that agents may not do, or agents choose.
    fn step_one_vectors(&mut self, _e: usize, vectors: &[f64]) -> Result<Outcome> {
        check_vectors(self.spec(), vectors)?;
        Err(Error::BadWorld("these environments take choices, not vectors".into()))
    }

    /// As [`Envs::step`] where agents act by vectors.
    ///
    /// # Errors
    /// As [`Envs::step`] and [`Envs::step_one_vectors`].
    fn step_vectors(&mut self, vectors: &[f64], outcomes: &mut [Outcome]) -> Result<()> {
        check_lengths(
            self.len(),
            self.spec(),
            vectors.len() / self.spec().actions.count().max(1),
            outcomes.len(),
        )?;
        let each = self.spec().agents * self.spec().actions.count();
        for (e, (outcome, vectors)) in outcomes.iter_mut().zip(vectors.chunks_exact(each)).enumerate() {
            *outcome = self.step_one_vectors(e, vectors)?;
        }
        Ok(())
    }

    /// Everything that the future depends on, as far as the world can tell, for a checkpoint.
    fn save(&self) -> Value;

    /// Continues from what [`Envs::save`] wrote.
    ///
    /// # Errors
    /// If it is of other worlds or of another number of them.
    fn load(&mut self, state: &Value) -> Result<Resumed>;

    /// What only exact worlds can do.
    fn exact(&self) -> Option<&dyn ExactEnvs> {
        None
    }

    /// The same, to change states.
    fn exact_mut(&mut self) -> Option<&mut dyn ExactEnvs> {
        None
    }
}

/// From where environments go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// From the very state that was saved.
    State,
    /// From the start of new episodes, because this world cannot save its state.
    Episode,
}

/// What exact worlds can do besides.
pub trait ExactEnvs {
    /// Knows what ids look like.
    fn painter(&self) -> Box<dyn Painter>;
    /// Other environments of the same world, none of them started.
    fn fork(&self, count: usize) -> Box<dyn Envs>;
    /// The ids of what all agents see, environment by environment; 0 in a world that has none.
    ///
    /// # Panics
    /// If `ids` has the wrong length.
    fn ids(&self, ids: &mut [u64]);
    /// Brings the images of all agents in a buffer up to date, repainting only what changed since the canvas saw them; one
    /// that has seen nothing paints everything.
    ///
    /// # Panics
    /// If `images` has the wrong length.
    fn look(&self, canvas: &mut Option<Canvas>, images: &mut [f32]);
    /// Is the world as symmetric as it says?
    fn audit_by(&self, how: &Auditing) -> AuditReport;
    /// The same, by random actions.
    fn audit(&self, steps: usize, seed: u64) -> AuditReport {
        self.audit_by(&Auditing { steps, seed, ..Auditing::default() })
    }
    /// Is it as symmetric under these turns of SO(2) or O(2)?
    fn audit_turns(&self, symmetry: &Symmetry, turns: &[Turn], how: &Auditing) -> AuditReport;
    /// The same environments, each turned by any angle.
    ///
    /// # Errors
    /// If the world does not turn by every angle.
    fn turned(&self, turn: Turn) -> Result<Box<dyn Envs>>;
    /// The same environments, each transformed by g.
    ///
    /// # Errors
    /// If g does not map one of them to itself.
    fn transformed(&self, g: Element) -> Result<Box<dyn Envs>>;
    /// Whether there is something that breaks the symmetry and can be transformed along.
    fn has_cause(&self) -> bool;
    /// The same, with what breaks the symmetry transformed, too.
    ///
    /// # Errors
    /// As [`ExactEnvs::transformed`].
    fn transformed_along(&self, g: Element) -> Result<Box<dyn Envs>>;
    /// The state of an environment.
    fn state(&self, e: usize) -> Value;
    /// Puts an environment into a state.
    ///
    /// # Errors
    /// If it is none; then nothing changes.
    fn set_state(&mut self, e: usize, state: &Value) -> Result<()>;
    /// Changes the state of an environment as somebody did by hand in its scene.
    ///
    /// # Errors
    /// If that cannot be; then nothing changes.
    fn edit(&mut self, e: usize, edit: &Edit) -> Result<()>;
}

/// Paints and transforms observations by their ids.
pub trait Painter: Send {
    /// Paints the observation of an id over the whole of a buffer.
    fn paint(&self, id: u64, out: &mut [f32]);
    /// The id of the transformed observation.
    fn transform_id(&self, g: Element, id: u64) -> u64;
}

/// Any state knows what ids look like.
struct OfState<W>(W);

impl<W: Exact> Painter for OfState<W> {
    fn paint(&self, id: u64, out: &mut [f32]) {
        self.0.paint(id, out);
    }

    fn transform_id(&self, g: Element, id: u64) -> u64 {
        self.0.transform_id(g, id)
    }
}

impl dyn Envs {
    /// Starts an episode in every environment: number e gets the stream (seed, purpose, e).
    ///
    /// # Errors
    /// If a simulator does not.
    pub fn start_all(&mut self, seed: u64, purpose: Purpose) -> Result<()> {
        (0..self.len()).try_for_each(|e| self.start(e, Stream::new(seed, purpose, e as u64)))
    }
}

impl<W: Exact> Envs for EnvBatch<W> {
    fn spec(&self) -> &Arc<Spec> {
        self.world_spec()
    }

    fn len(&self) -> usize {
        self.worlds().len()
    }

    fn world(&self, e: usize) -> &dyn World {
        &self.worlds()[e]
    }

    fn start(&mut self, e: usize, stream: Stream) -> Result<()> {
        self.set_stream(e, stream);
        self.restart(e)
    }

    fn restart(&mut self, e: usize) -> Result<()> {
        let (world, stream) = self.one_mut(e);
        world.reset(stream)
    }

    fn step_one(&mut self, e: usize, actions: &[usize]) -> Result<Outcome> {
        check_choices(self.world_spec(), actions)?;
        check_lengths(1, self.world_spec(), actions.len(), 1)?;
        let (world, stream) = self.one_mut(e);
        Ok(world.drawn_step(actions, stream))
    }

    fn step_one_vectors(&mut self, e: usize, vectors: &[f64]) -> Result<Outcome> {
        check_vectors(self.world_spec(), vectors)?;
        let (world, stream) = self.one_mut(e);
        Ok(world.drawn_step_vectors(vectors, stream))
    }

    fn step(&mut self, actions: &[usize], outcomes: &mut [Outcome]) -> Result<()> {
        check_lengths(self.len(), self.world_spec(), actions.len(), outcomes.len())?;
        check_choices(self.world_spec(), actions)?;
        self.advance(actions, outcomes);
        Ok(())
    }

    fn save(&self) -> Value {
        EnvBatch::save(self)
    }

    fn load(&mut self, state: &Value) -> Result<Resumed> {
        EnvBatch::load(self, state).map(|()| Resumed::State)
    }

    fn exact(&self) -> Option<&dyn ExactEnvs> {
        Some(self)
    }

    fn exact_mut(&mut self) -> Option<&mut dyn ExactEnvs> {
        Some(self)
    }
}

impl<W: Exact> ExactEnvs for EnvBatch<W> {
    fn painter(&self) -> Box<dyn Painter> {
        Box::new(OfState(self.worlds()[0].clone()))
    }

    fn fork(&self, count: usize) -> Box<dyn Envs> {
        Box::new(EnvBatch::of(&self.worlds()[0], count))
    }

    fn ids(&self, ids: &mut [u64]) {
        EnvBatch::ids(self, ids);
    }

    fn look(&self, canvas: &mut Option<Canvas>, images: &mut [f32]) {
        match canvas {
            Some(canvas) => canvas.update(self.worlds(), images),
            None => *canvas = Some(Canvas::paint(self.worlds(), images)),
        }
    }

    fn audit_by(&self, how: &Auditing) -> AuditReport {
        audit_by(&self.worlds()[0], how)
    }

    fn audit_turns(&self, symmetry: &Symmetry, turns: &[Turn], how: &Auditing) -> AuditReport {
        audit_turns(&self.worlds()[0], symmetry, turns, how)
    }

    fn turned(&self, turn: Turn) -> Result<Box<dyn Envs>> {
        let mut other = self.clone();
        for world in other.worlds_mut() {
            *world = world.turned(turn)?;
        }
        Ok(Box::new(other))
    }

    fn has_cause(&self) -> bool {
        self.worlds()[0].has_cause()
    }

    fn transformed_along(&self, g: Element) -> Result<Box<dyn Envs>> {
        let mut other = self.clone();
        for world in other.worlds_mut() {
            *world = world.transformed(g)?;
            world.transform_cause(g);
        }
        Ok(Box::new(other))
    }

    fn transformed(&self, g: Element) -> Result<Box<dyn Envs>> {
        let mut other = self.clone();
        for world in other.worlds_mut() {
            *world = world.transformed(g)?;
        }
        Ok(Box::new(other))
    }

    fn state(&self, e: usize) -> Value {
        self.worlds()[e].save()
    }

    fn set_state(&mut self, e: usize, state: &Value) -> Result<()> {
        self.worlds_mut()[e].load(state)
    }

    fn edit(&mut self, e: usize, edit: &Edit) -> Result<()> {
        self.worlds_mut()[e].edit(edit)
    }
}

fn check_lengths(count: usize, spec: &Spec, actions: usize, outcomes: usize) -> Result<()> {
    let agents = spec.agents;
    if outcomes == count && actions == count * agents {
        return Ok(());
    }
    Err(Error::BadWorld(format!(
        "{count} environments of {agents} agents get {actions} actions and {outcomes} outcomes"
    )))
}

/// Choices that there are not would be the wrong index somewhere in a world; one that acts by vectors has none.
fn check_choices(spec: &Spec, actions: &[usize]) -> Result<()> {
    let count = match spec.actions.vectors() {
        None => spec.actions.count(),
        Some(_) => 0,
    };
    // Without a branch per action.
    if actions.iter().fold(0, |most, &a| most.max(a)) < count {
        return Ok(());
    }
    let agents = spec.agents.max(1);
    match actions.iter().position(|&a| a >= count) {
        None => Ok(()),
        Some(_) if count == 0 => {
            Err(Error::BadWorld(format!("agents of {} act by vectors, and do not choose", spec.world)))
        }
        Some(at) => Err(Error::BadWorld(format!(
            "agent {} takes action {}; there are 0 to {}",
            at % agents,
            actions[at],
            count - 1
        ))),
    }
}

/// Vectors come from outside: from networks, and from people.
fn check_vectors(spec: &Spec, vectors: &[f64]) -> Result<()> {
    spec.actions.check_vectors(vectors)?;
    check_lengths(1, spec, vectors.len() / spec.actions.count().max(1), 1)
}

/// Environments of a world that is not exact: a simulator, or a program in another language. States are not saved, so a
/// run goes on with new episodes.
pub struct Loose<W: World> {
    worlds: Vec<W>,
    streams: Vec<Stream>,
}

impl<W: World> Loose<W> {
    /// These worlds, which all have the same declaration.
    ///
    /// # Errors
    /// If there are none.
    pub fn new(worlds: Vec<W>) -> Result<Loose<W>> {
        if worlds.is_empty() {
            return Err(Error::BadWorld("there are no environments".into()));
        }
        let streams = (0..worlds.len() as u64).map(|e| Stream::new(0, Purpose::World, e)).collect();
        Ok(Loose { worlds, streams })
    }
}

impl<W: World> Envs for Loose<W> {
    fn spec(&self) -> &Arc<Spec> {
        self.worlds[0].spec()
    }

    fn len(&self) -> usize {
        self.worlds.len()
    }

    fn world(&self, e: usize) -> &dyn World {
        &self.worlds[e]
    }

    fn start(&mut self, e: usize, stream: Stream) -> Result<()> {
        self.streams[e] = stream;
        self.restart(e)
    }

    fn restart(&mut self, e: usize) -> Result<()> {
        self.worlds[e].reset(&mut self.streams[e])
    }

    fn step_one(&mut self, e: usize, actions: &[usize]) -> Result<Outcome> {
        self.worlds[e].step(actions, &mut self.streams[e])
    }

    fn step_one_vectors(&mut self, e: usize, vectors: &[f64]) -> Result<Outcome> {
        check_vectors(self.worlds[0].spec(), vectors)?;
        self.worlds[e].step_vectors(vectors, &mut self.streams[e])
    }

    fn step(&mut self, actions: &[usize], outcomes: &mut [Outcome]) -> Result<()> {
        check_lengths(self.worlds.len(), self.worlds[0].spec(), actions.len(), outcomes.len())?;
        let agents = self.spec().agents;
        for (e, (outcome, actions)) in outcomes.iter_mut().zip(actions.chunks_exact(agents)).enumerate() {
            *outcome = self.step_one(e, actions)?;
        }
        Ok(())
    }

    fn save(&self) -> Value {
        let streams: Vec<StreamState> = self.streams.iter().map(Stream::save).collect();
        json!({ "streams": streams })
    }

    fn load(&mut self, state: &Value) -> Result<Resumed> {
        let bad = |why: String| Error::BadState(why);
        let saved: Vec<StreamState> = serde_json::from_value(state["streams"].clone())
            .map_err(|e| bad(format!("it has no list of streams: {e}")))?;
        if saved.len() != self.worlds.len() {
            return Err(bad(format!("it has {} streams, these are {}", saved.len(), self.worlds.len())));
        }
        self.streams = saved.iter().map(Stream::load).collect::<Result<_>>()?;
        (0..self.worlds.len()).try_for_each(|e| self.restart(e))?;
        Ok(Resumed::Episode)
    }
}

#[cfg(test)]
mod tests;
