//! What a world is, and what it means that a world is symmetric.
//!
//! There are two levels of promise. A [`World`] can be trained in, played and deployed. An [`Exact`] one also has explicit
//! chance and an exact action of its group on states: for every symmetry g, state s, joint action a and chance c
//!
//! ```text
//! reward(s, a, c)   = reward(g s, g a, g c)
//! g next(s, a, c)   = next(g s, g a, g c)
//! observation(g s, g i) = g observation(s, i)
//! neighbours(g s, g i)  = g neighbours(s, i), edge vectors transformed
//! ```
//!
//! which buys audits ([`crate::audit`]), bit-exact resume, editing on the page, and sharing of equal observations.

use crate::error::{Error, Result};
use crate::scene::{Edit, Scene};
use crate::spec::Spec;
use crate::stream::Stream;
use equimarl_group::{Element, Turn};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// How an episode stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It goes on.
    Running,
    /// It is over: nothing comes after, the value of what follows is zero.
    Terminated,
    /// It was cut off by the step limit: a learner bootstraps the value of what would have followed.
    Truncated,
    /// It was lost: a simulator died. It does not count, and what it measured means nothing.
    Abandoned,
}

/// What a step gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The team's reward.
    pub reward: f64,
    /// Whether the episode goes on.
    pub end: End,
}

/// The neighbours of an agent: whom it hears, and where the agent is, seen from there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edges {
    /// The neighbours, in the order of their index: other agents, then senders, which do not act.
    pub from: Vec<u32>,
    /// One edge vector e_ij per neighbour j, one after the other, along x_i - x_j: who hears minus who is heard, as
    /// (down, right) unless the declaration says otherwise.
    pub vectors: Vec<f32>,
}

impl Edges {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.from.clear();
        self.vectors.clear();
    }

    /// One neighbour more.
    #[inline]
    pub fn hear(&mut self, from: usize, vector: &[f32]) {
        self.from.push(from as u32);
        self.vectors.extend_from_slice(vector);
    }

    /// Each neighbour with its vector.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let dim = (self.vectors.len() / self.from.len().max(1)).max(1);
        self.from.iter().map(|&j| j as usize).zip(self.vectors.chunks_exact(dim))
    }
}

/// A world of agents that share a reward, observe locally and talk to their neighbours. Enough to train, play and deploy.
pub trait World: Send {
    /// What it is.
    fn spec(&self) -> &Arc<Spec>;

    /// The number of agents.
    fn agents(&self) -> usize {
        self.spec().agents
    }

    /// The number of actions of one agent.
    fn actions(&self) -> usize {
        self.spec().actions.count()
    }

    /// Starts a new episode.
    ///
    /// # Errors
    /// If a simulator does not.
    fn reset(&mut self, stream: &mut Stream) -> Result<()>;

    /// One step of the whole team. `actions` holds one action per agent, each of them one that exists.
    ///
    /// # Errors
    /// If a simulator does not.
    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome>;

    /// As [`World::step`] where agents act by vectors: one after the other, each of them one that an agent may do.
    ///
    /// # Errors
    /// If a simulator does not, or agents choose.
    fn step_vectors(&mut self, _vectors: &[f64], _stream: &mut Stream) -> Result<Outcome> {
        Err(Error::BadWorld(format!("agents of {} choose; they do not act by vectors", self.spec().world)))
    }

    /// Writes what agent `who` sees over the whole of a buffer: the pixels of its image, channel-major and rows from the
    /// top, or its feature vector. For a sender, whose number comes after the agents', its features: what is heard of it.
    fn observe(&self, who: usize, out: &mut [f32]);

    /// Writes what breaks the symmetry, in the representation that the declaration says: it is the same for everybody.
    fn cause(&self, _out: &mut [f32]) {}

    /// The exact identity of what an agent sees, if there is a short one: equal ids are equal observations, and learners
    /// encode each only once.
    fn id(&self, _agent: usize) -> Option<u64> {
        None
    }

    /// Paints the whole state, for networks that decide for all agents at once: by default all agents' images.
    fn team_image(&self, out: &mut [f32]) {
        let pixels = self.spec().image.map_or(0, |[c, h, w]| c * h * w);
        for (agent, part) in out.chunks_exact_mut(pixels.max(1)).enumerate() {
            self.observe(agent, part);
        }
    }

    /// Replaces `edges` by whom agent `agent` hears, in the order of their index.
    fn neighbours(&self, agent: usize, edges: &mut Edges);

    /// The value of measure number `which` of the declaration after a step that ended like this; nothing if there is
    /// nothing to measure.
    fn measure(&self, _which: usize, _end: End) -> Option<f64> {
        None
    }

    /// Writes the actions that one of its controllers takes, one per agent. `controller` is a name from the declaration,
    /// with `:` and a number if it takes one. Randomness comes from `stream`, never from the world's own, so that all
    /// controllers meet the same episodes. A world that was never reset is asked, too, and must bear it: that is how a
    /// wrong number is found before the first episode ([`crate::Named::new`]).
    ///
    /// # Errors
    /// If there is no such controller, its number is wrong, or it cannot act here.
    fn control(&self, controller: &str, _stream: &mut Stream, _actions: &mut [usize]) -> Result<()> {
        Err(Error::BadWorld(format!("{} has no controller `{controller}`", self.spec().world)))
    }

    /// As [`World::control`] where agents act by vectors.
    ///
    /// # Errors
    /// As [`World::control`].
    fn control_vectors(&self, controller: &str, _stream: &mut Stream, _vectors: &mut [f64]) -> Result<()> {
        Err(Error::BadWorld(format!("{} has no controller `{controller}`", self.spec().world)))
    }

    /// What an agent's body does while nobody decides for it: in a fleet, while its process is down or late.
    fn hold(&self, _agent: usize) -> usize {
        0
    }

    /// The best possible mean return, if it is known. May take seconds.
    fn optimum(&self) -> Option<f64> {
        None
    }

    /// The state as a picture.
    ///
    /// # Errors
    /// If it is too large to make out anything.
    fn scene(&self) -> Result<Scene>;

    /// The state as a picture, with what each agent just did where that shows.
    ///
    /// # Errors
    /// As [`World::scene`].
    fn scene_after(&self, _actions: &[usize]) -> Result<Scene> {
        self.scene()
    }

    /// As [`World::scene_after`] where agents act by vectors.
    ///
    /// # Errors
    /// As [`World::scene`].
    fn scene_after_vectors(&self, _vectors: &[f64]) -> Result<Scene> {
        self.scene()
    }

    /// The state as lines of text, with terminal colours or without, if the world has a better view than its scene gives.
    fn terminal(&self, _colour: bool) -> Option<String> {
        None
    }
}

/// A world with explicit chance and an exact symmetry.
///
/// [`Exact::draw`] takes chance from a stream, always the same number of words, and [`Exact::apply`] is a function of the
/// state, the actions and what was drawn. The same seed gives the same episode on every platform, and an audit can
/// transform the draw along with the state.
pub trait Exact: World + Clone + 'static {
    /// The randomness of one step.
    type Chance: Clone + Debug + Send;

    /// Draws the randomness of the next step.
    fn draw(&self, stream: &mut Stream) -> Self::Chance;

    /// All that can be drawn in this state, with probabilities, if that can be listed. An audit then compares laws, and not only
    /// what follows from draws that correspond.
    fn chances(&self) -> Option<Vec<(Self::Chance, f64)>> {
        None
    }

    /// One step of the whole team.
    ///
    /// # Panics
    /// If an action is missing or does not exist: the caller is a program, and it is wrong.
    fn apply(&mut self, actions: &[usize], chance: &Self::Chance) -> Outcome;

    /// As [`Exact::apply`] where agents act by vectors. Also takes vectors that agents may not do: an audit asks whether rules
    /// turn where the vectors that agents may do, do not.
    ///
    /// # Panics
    /// If agents choose: the caller is a program, and it is wrong.
    fn apply_vectors(&mut self, _vectors: &[f64], _chance: &Self::Chance) -> Outcome {
        panic!("agents of {} choose; they do not act by vectors", self.spec().world)
    }

    /// Paints the observation of an id over the whole of a buffer. Only for worlds that have ids.
    fn paint(&self, _id: u64, _out: &mut [f32]) {}

    /// Turns the observation of `old` into that of `new`, touching only what changed if the world knows how.
    fn repaint(&self, _old: u64, new: u64, out: &mut [f32]) {
        self.paint(new, out);
    }

    /// The id of the transformed observation. Only for worlds that have ids.
    fn transform_id(&self, _g: Element, id: u64) -> u64 {
        id
    }

    /// The transformed world g s.
    ///
    /// # Errors
    /// If g does not map this world to itself, saying why: what is mapped where it cannot be.
    fn transformed(&self, g: Element) -> Result<Self>;

    /// Transforms what breaks the symmetry ([`World::cause`]), which [`Exact::transformed`] leaves as it is.
    fn transform_cause(&mut self, _g: Element) {}

    /// Whether [`Exact::transform_cause`] can change something.
    fn has_cause(&self) -> bool {
        !self.spec().cause.is_empty()
    }

    /// The total variation between the transformed law of what is drawn at the start of an episode and the law in the transformed
    /// world, whose cause is transformed along or not; per step if it is drawn for every step; nothing if the world does not say.
    fn start_variation(&self, _g: Element, _along: bool) -> Option<f64> {
        None
    }

    /// The transformed draw.
    fn transform_chance(&self, g: Element, chance: &Self::Chance) -> Self::Chance;

    /// The whole state as JSON, so that a test or a bug report can start anywhere.
    fn save(&self) -> Value;

    /// The state that [`Exact::save`] wrote. Refuses anything else, with a reason, and then changes nothing.
    ///
    /// # Errors
    /// If it is not such a state.
    fn load(&mut self, state: &Value) -> Result<()>;

    /// Whether the two are in the same state, order of storage apart. A world that is audited often answers this without
    /// going through JSON.
    fn same_state(&self, other: &Self) -> bool {
        self.save() == other.save()
    }

    /// As [`Exact::same_state`], but numbers may differ by `tolerance`: for elements that round. Worlds without such elements
    /// need nothing.
    fn near_state(&self, other: &Self, _tolerance: f64) -> bool {
        self.same_state(other)
    }

    /// This state, turned by any angle. Only for worlds that have all turns.
    ///
    /// # Errors
    /// If it has not.
    fn turned(&self, _turn: Turn) -> Result<Self> {
        Err(Error::BadWorld(format!("{} does not turn by every angle", self.spec().world)))
    }

    /// The chance of a step, turned likewise.
    fn turn_chance(&self, _turn: Turn, chance: &Self::Chance) -> Self::Chance {
        chance.clone()
    }

    /// How likely an episode is to start in this state, up to a factor; nothing if the world does not say. An audit compares it
    /// with that of the transformed state: where the law of the start has less symmetry than the rules, training meets other
    /// states than their transformed ones, though what is best in a state is as symmetric as the rules. (Agents that see only a part
    /// of the state may still do better if they know where it is likely to be.)
    fn start_density(&self) -> Option<f64> {
        None
    }

    /// What [`Exact::start_density`] and [`Exact::start_variation`] do not count, to be read after "the start".
    fn start_leaves_out(&self) -> Option<&'static str> {
        None
    }

    /// Changes the state as somebody did by hand in its scene.
    ///
    /// # Errors
    /// If that cannot be, saying why; then nothing changes.
    fn edit(&mut self, edit: &Edit) -> Result<()> {
        Err(edit.unknown("nothing"))
    }

    /// A step with chance from a stream: what [`World::step`] of an exact world is.
    fn drawn_step(&mut self, actions: &[usize], stream: &mut Stream) -> Outcome {
        let chance = self.draw(stream);
        self.apply(actions, &chance)
    }

    /// As [`Exact::drawn_step`] where agents act by vectors.
    fn drawn_step_vectors(&mut self, vectors: &[f64], stream: &mut Stream) -> Outcome {
        let chance = self.draw(stream);
        self.apply_vectors(vectors, &chance)
    }
}
