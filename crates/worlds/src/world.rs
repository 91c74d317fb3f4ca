//! What a world is, and what it means that a world is symmetric.
//!
//! For every symmetry g, state s, joint action a and chance c:
//!
//! ```text
//! reward(s, a, c)   = reward(g s, g a, g c)
//! g next(s, a, c)   = next(g s, g a, g c)
//! observation(g s, g i) = g observation(s, i)
//! neighbours(g s, g i)  = g neighbours(s, i), edge vectors turned by U_g
//! ```
//!
//! [`crate::audit`] checks these for any world that implements the two traits.

use crate::error::Result;
use crate::stream::Stream;
use equimarl_group::{Element, Group, Plane, Rep};
use serde_json::Value;
use std::fmt::Debug;
use std::hash::Hash;

/// How an episode stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It goes on.
    Running,
    /// It is over: nothing comes after, the value of what follows is zero.
    Terminated,
    /// It was cut off by the step limit: a learner bootstraps the value of what would have followed.
    Truncated,
}

/// What a step gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The team's reward.
    pub reward: f64,
    /// Whether the episode goes on.
    pub end: End,
}

/// The shape of an observation: `channels` pictures, channel-major, rows from the top. Local ones are square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureShape {
    /// Number of channels.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
}

impl PictureShape {
    /// The number of pixels over all channels.
    pub fn len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Whether there are no pixels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A neighbour that agent i hears: who, and where i is seen from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The neighbour j.
    pub from: usize,
    /// The edge feature e_ij, along x_i - x_j.
    pub vector: [f32; 2],
}

/// A world of agents that share a reward, observe locally and talk to their neighbours.
///
/// Randomness is explicit: [`World::draw`] takes it from a stream, always the same number of words, and
/// [`World::step`] is a function of the state, the actions and what was drawn. The same seed gives the same episode
/// on every platform, and an audit can turn the draw along with the state.
pub trait World: Clone + Send {
    /// The randomness of one step.
    type Chance: Clone + Debug + Send;
    /// The exact identity of a local observation: equal keys are equal pictures. Small and cheap, so that learners
    /// can encode each distinct picture once.
    type Key: Clone + Debug + Ord + Hash + Send + Sync;

    /// The number of agents.
    fn agents(&self) -> usize;
    /// The number of actions of one agent.
    fn actions(&self) -> usize;
    /// The shape of an agent's picture.
    fn picture_shape(&self) -> PictureShape;

    /// Starts a new episode.
    fn reset(&mut self, stream: &mut Stream);
    /// Draws the randomness of the next step.
    fn draw(&self, stream: &mut Stream) -> Self::Chance;
    /// One step of the whole team. `actions` holds one action per agent.
    ///
    /// # Panics
    /// If an action is missing or does not exist: the caller is a program, and it is wrong.
    fn step(&mut self, actions: &[usize], chance: &Self::Chance) -> Outcome;

    /// The identity of what agent `agent` sees.
    fn observation_key(&self, agent: usize) -> Self::Key;
    /// Paints the picture of a key over the whole of the caller's buffer.
    fn render(&self, key: &Self::Key, picture: &mut [f32]);
    /// Turns the picture of `old` into the picture of `new`, touching only what changed if the world knows how.
    fn repaint(&self, _old: &Self::Key, new: &Self::Key, picture: &mut [f32]) {
        self.render(new, picture);
    }
    /// The shape of the picture of the whole state, for networks that decide for all agents at once.
    fn team_picture_shape(&self) -> PictureShape {
        let one = self.picture_shape();
        PictureShape { channels: one.channels * self.agents(), ..one }
    }
    /// Paints the whole state over the caller's buffer: by default all agents' pictures, one after the other.
    fn render_team(&self, picture: &mut [f32]) {
        for (agent, part) in picture.chunks_exact_mut(self.picture_shape().len().max(1)).enumerate() {
            self.render(&self.observation_key(agent), part);
        }
    }
    /// Replaces `edges` by the neighbours that agent `agent` hears, in the order of their index.
    fn neighbours(&self, agent: usize, edges: &mut Vec<Edge>);

    /// The whole state as JSON, so that a test or a bug report can start anywhere.
    fn save(&self) -> Value;
    /// The state that [`World::save`] wrote. Refuses anything else, with a reason, and then changes nothing.
    fn load(&mut self, state: &Value) -> Result<()>;
    /// Whether the two are in the same state, order of storage apart. A world that is audited often answers this
    /// without going through JSON.
    fn same_state(&self, other: &Self) -> bool {
        self.save() == other.save()
    }
}

/// A world with a symmetry group, and how its elements act.
pub trait Symmetric: World {
    /// The symmetry that this world is asked to have (an audit may find that it has not).
    fn symmetry(&self) -> &Symmetry;
    /// The turned world g s.
    ///
    /// # Errors
    /// If g does not map this world to itself, saying why: what is mapped where it cannot be.
    fn turned(&self, g: Element) -> Result<Self>;
    /// The turned draw.
    fn turn_chance(&self, g: Element, chance: &Self::Chance) -> Self::Chance;
    /// The action that agent g i takes in the turned world when agent i takes `action` here.
    fn turn_action(&self, g: Element, action: usize) -> usize;
    /// The index of agent `agent` after the turn.
    fn turn_agent(&self, g: Element, agent: usize) -> usize;
    /// The key of the turned picture.
    fn turn_key(&self, g: Element, key: &Self::Key) -> Self::Key;
}

/// A group and how it turns the plane that a world lives in.
#[derive(Clone, Debug)]
pub struct Symmetry {
    /// The group.
    pub group: Group,
    /// Its action on vectors and pixels.
    pub plane: Plane,
}

impl Symmetry {
    /// The plane symmetry `group`: C1, C2, C4, D1, D2 or D4.
    pub fn new(group: &Group) -> Result<Symmetry> {
        Ok(Symmetry { plane: Plane::new(group)?, group: group.clone() })
    }

    /// Any group, with a representation that says how it turns what agents see. Elements may act alike: a ring of
    /// agents turns by moving agents, and leaves their pictures alone.
    ///
    /// # Errors
    /// If `plane` is not a representation of the group that maps the square grid to itself.
    pub fn by(group: &Group, plane: &str) -> Result<Symmetry> {
        Ok(Symmetry { plane: Plane::by(&Rep::parse(group, plane)?)?, group: group.clone() })
    }

    /// The plane symmetry with this name, for example `D4`.
    pub fn named(name: &str) -> Result<Symmetry> {
        Symmetry::new(&name.parse()?)
    }
}
