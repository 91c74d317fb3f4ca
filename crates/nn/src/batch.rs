//! What a network looks at: the observations and communication graphs of many states at once.
//!
//! Each distinct image is there once. For an equivariant encoder, enc(g x) = L_g enc(x), so turned copies of an image
//! need no encoding either: a row names its image and the element that turns it. The representative of an orbit is
//! its smallest key, so a row's result does not depend on which other rows are in the batch.
//!
//! Agents may see feature vectors instead; then rows name those, and equal ones are encoded once. A batch of them is filled
//! agent by agent:
//!
//! ```
//! use equimarl_nn::Batch;
//! let mut batch = Batch::with_senders(1); // one kind of things that are heard but do not act
//! let lamp = batch.senders[0].vectors.id(&[0.5])?;
//! for agent in 0..2 {
//!     batch.see(&[1.0, 0.0, 0.0])?; // what it knows of itself
//!     batch.hear(1 - agent, &[0.0, 1.0]); // another agent of this state, across an edge vector
//!     batch.senders[0].hear(lamp, &[2.0, 0.0]);
//!     batch.end_agent();
//! }
//! batch.end_state();
//! assert_eq!((batch.agents(), batch.vectors.len()), (2, 1)); // both see the same
//! # Ok::<(), equimarl_nn::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::vectors::{Senders, Vectors};
use equimarl_group::{Element, Group};
use equimarl_kernels::dictionary::Book;
use equimarl_kernels::messages::Graph;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most images that a batch keeps from state to state.
const MOST_IMAGES: usize = 1 << 12;

/// Distinct images.
#[derive(Debug)]
pub enum Images {
    /// Channel-major, one after the other.
    Pixels(Vec<f32>),
    /// What they are made of, for encoders with a dictionary.
    Book(Box<Book>),
}

impl Images {
    /// How many images of `pixels` numbers there are.
    pub fn count(&self, pixels: usize) -> usize {
        match self {
            Images::Pixels(all) => all.len() / pixels.max(1),
            Images::Book(book) => book.images(),
        }
    }

    /// The pixels, if it holds pixels.
    pub fn pixels(&self) -> Option<&[f32]> {
        match self {
            Images::Pixels(pixels) => Some(pixels),
            Images::Book(_) => None,
        }
    }
}

/// States with any numbers of agents and any graphs. Agents of all states stand one after the other.
#[derive(Debug)]
pub struct Batch {
    /// The distinct images.
    pub images: Images,
    /// The distinct feature vectors, for networks that look at those.
    pub vectors: Vectors,
    /// The image or feature vector of each row; a row is an agent, or a whole state for a central network.
    pub ids: Vec<u32>,
    /// The group element that turns the image into what the row sees.
    pub elements: Vec<u32>,
    /// The group of these elements; nothing if no row is turned.
    pub group: Option<Group>,
    /// Who hears whom, over the agents of all states.
    pub graph: Graph,
    /// One edge vector per edge of the graph, in its order.
    pub edges: Vec<f32>,
    /// What agents are told besides, row by row, for networks that are told something: what breaks the symmetry, then tokens.
    pub told: Vec<f32>,
    /// The kinds of senders that do not act, in the order of [`crate::Interface::senders`].
    pub senders: Vec<Senders>,
    /// The agents of state s are `starts[s]..starts[s + 1]`.
    pub starts: Vec<u32>,
    /// A number of its own for every filling of `images`.
    pub(crate) stamp: u64,
}

fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Default for Batch {
    /// No states.
    fn default() -> Self {
        Batch {
            images: Images::default(),
            vectors: Vectors::default(),
            senders: vec![],
            ids: vec![],
            elements: vec![],
            group: None,
            graph: Graph::default(),
            edges: vec![],
            told: vec![],
            starts: vec![0],
            stamp: 0,
        }
    }
}

impl Default for Images {
    fn default() -> Self {
        Images::Pixels(vec![])
    }
}

impl Batch {
    /// No states, for worlds with so many kinds of senders that do not act.
    pub fn with_senders(kinds: usize) -> Batch {
        Batch { senders: vec![Senders::default(); kinds], ..Batch::default() }
    }

    /// The next agent sees this feature vector.
    ///
    /// # Errors
    /// If it is empty or of another length than the others.
    pub fn see(&mut self, features: &[f32]) -> Result<()> {
        let id = self.vectors.id(features)?;
        self.ids.push(id);
        self.elements.push(0);
        Ok(())
    }

    /// The next agent hears agent `from` of the current state, which may come later, across an edge vector.
    pub fn hear(&mut self, from: u32, edge: &[f32]) {
        let first = self.starts.last().copied().unwrap_or(0);
        self.graph.hear(first.saturating_add(from));
        self.edges.extend_from_slice(edge);
    }

    /// The next agent is complete: it sees and hears what was named since the last one.
    pub fn end_agent(&mut self) {
        self.graph.end_agent();
        self.senders.iter_mut().for_each(|senders| senders.graph.end_agent());
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        match &mut self.images {
            Images::Pixels(pixels) => pixels.clear(),
            Images::Book(book) => book.clear(),
        }
        self.stamp = next_stamp();
        self.clear_rows();
    }

    /// Forgets all rows, and keeps images where that spares work: while weights stay the same, what is known of the
    /// images of a book is not computed again.
    pub fn next(&mut self) {
        match &self.images {
            Images::Pixels(_) => self.clear(),
            Images::Book(_) => self.clear_rows(),
        }
    }

    /// Whether it keeps so many images that it should be cleared.
    pub fn is_full(&self) -> bool {
        matches!(&self.images, Images::Book(book) if book.images() >= MOST_IMAGES)
    }

    fn clear_rows(&mut self) {
        self.group = None;
        self.told.clear();
        self.vectors.clear();
        self.senders.iter_mut().for_each(Senders::clear);
        self.ids.clear();
        self.elements.clear();
        self.graph.clear();
        self.edges.clear();
        self.starts.clear();
        self.starts.push(0);
    }

    /// The number of this filling of images.
    pub(crate) fn stamp(&mut self) -> u64 {
        if self.stamp == 0 {
            self.stamp = next_stamp();
        }
        self.stamp
    }

    /// Ends a state whose agents are in the graph.
    pub fn end_state(&mut self) {
        self.starts.push(self.graph.agents() as u32);
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether some row sees its image turned.
    pub fn is_turned(&self) -> bool {
        self.elements.iter().any(|&g| g != 0)
    }

    /// The number of agents in all states.
    pub fn agents(&self) -> usize {
        self.graph.agents()
    }
}

/// How observation keys are made the same: which are told apart, and which are turned copies of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Every row has its own image, even if another row sees the same.
    None,
    /// Equal images are encoded once.
    Distinct,
    /// Images that are equal up to a group element are encoded once.
    Orbits(Group),
}

impl Sharing {
    /// The key of the image that stands for this one, and the element that turns that image into it: g with
    /// key = g smallest, where the smallest key of the orbit is h key and g = h^-1.
    pub(crate) fn representative<K: Clone + Ord>(
        &self,
        key: &K,
        turn: impl Fn(Element, &K) -> K,
    ) -> (K, Element) {
        let Sharing::Orbits(group) = self else { return (key.clone(), 0) };
        let turned = group.elements().map(|h| (turn(h, key), h));
        let (smallest, h) = turned.min_by(|a, b| a.0.cmp(&b.0)).unwrap_or((key.clone(), 0));
        (smallest, group.inverse(h))
    }
}

/// Collects states into a [`Batch`].
///
/// ```
/// use equimarl_nn::{BatchBuilder, Sharing};
/// let mut builder = BatchBuilder::new(Sharing::Distinct);
/// for key in [7, 7, 3] {
///     builder.agent(key, |_, key| *key); // no turns with `Distinct`
/// }
/// builder.edge(0, 1, [1.0, 0.0]); // agent 0 hears agent 1
/// builder.end_state();
/// let batch = builder.finish(4, |key, image| image.fill(*key as f32))?;
/// assert_eq!((batch.states(), batch.agents()), (1, 3));
/// assert_eq!(batch.ids, [0, 0, 1]);
/// # Ok::<(), equimarl_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchBuilder<K> {
    sharing: Sharing,
    known: HashMap<K, u32>,
    keys: Vec<K>,
    ids: Vec<u32>,
    elements: Vec<u32>,
    /// (agent, neighbour) in the whole batch, with its vector.
    edges: Vec<(u32, u32, [f32; 2])>,
    /// An edge to an agent that its state does not have. It would name an agent of another state.
    stray: Option<String>,
    starts: Vec<u32>,
    agents: u32,
}

impl<K: Clone + Ord + Hash> BatchBuilder<K> {
    /// An empty batch.
    pub fn new(sharing: Sharing) -> Self {
        BatchBuilder {
            sharing,
            known: HashMap::new(),
            keys: vec![],
            ids: vec![],
            elements: vec![],
            edges: vec![],
            stray: None,
            starts: vec![0],
            agents: 0,
        }
    }

    /// The next agent of the current state sees `key`; `turn(g, key)` is the key of the image turned by g.
    pub fn agent(&mut self, key: K, turn: impl Fn(Element, &K) -> K) {
        self.row(key, turn);
        self.agents += 1;
    }

    /// For central networks: the current state as a whole looks like `key`. Agents are only counted, by
    /// [`BatchBuilder::blind_agents`].
    pub fn state(&mut self, key: K, turn: impl Fn(Element, &K) -> K) {
        self.row(key, turn);
    }

    /// Agents of the current state that a central network decides for.
    pub fn blind_agents(&mut self, count: usize) {
        self.agents += count as u32;
    }

    fn row(&mut self, key: K, turn: impl Fn(Element, &K) -> K) {
        let (key, element) = self.sharing.representative(&key, turn);
        let next = self.keys.len() as u32;
        let id = match self.sharing {
            Sharing::None => next,
            _ => *self.known.entry(key.clone()).or_insert(next),
        };
        if id == next {
            self.keys.push(key);
        }
        self.ids.push(id);
        self.elements.push(element as u32);
    }

    /// Agent `agent` of the current state hears agent `from`; `vector` is its edge vector. The agents may be added later.
    pub fn edge(&mut self, agent: usize, from: usize, vector: [f32; 2]) {
        let place = |i: usize| u32::try_from(i).ok()?.checked_add(self.starts[self.starts.len() - 1]);
        match (place(agent), place(from)) {
            (Some(agent), Some(from)) => self.edges.push((agent, from, vector)),
            _ => self.stray = Some(format!("an edge names agent {}", agent.max(from))),
        }
    }

    /// The current state is complete.
    pub fn end_state(&mut self) {
        let (first, state) = (self.starts[self.starts.len() - 1], self.starts.len() - 1);
        let of_state = self.edges.iter().rev().take_while(|e| e.0 >= first);
        if let Some(last) = of_state.map(|e| e.0.max(e.1)).max().filter(|&last| last >= self.agents) {
            let (last, agents) = (last - first, self.agents - first);
            self.stray = Some(format!("an edge names agent {last} of state {state}, which has {agents}"));
        }
        self.starts.push(self.agents);
    }

    /// Paints the distinct images, of `pixels` numbers each, and closes the batch.
    ///
    /// # Errors
    /// If an edge names an agent that its state does not have, or agents were added after the last state ended.
    pub fn finish(self, pixels: usize, mut render: impl FnMut(&K, &mut [f32])) -> Result<Batch> {
        if self.starts.last() != Some(&self.agents) {
            return Err(Error::BadBatch("agents were added after the last state ended".into()));
        }
        if let Some(stray) = self.stray {
            return Err(Error::BadBatch(stray));
        }
        let mut images = vec![0.0; self.keys.len() * pixels];
        for (key, image) in self.keys.iter().zip(images.chunks_exact_mut(pixels.max(1))) {
            render(key, image);
        }
        // By agent, neighbours in the order they were named.
        let mut edges = self.edges;
        edges.sort_by_key(|e| e.0);
        let mut offsets = vec![0u32; self.agents as usize + 1];
        for &(agent, ..) in &edges {
            let Some(slot) = offsets.get_mut(agent as usize + 1) else {
                return Err(Error::BadBatch(format!("an edge names agent {agent} of {}", self.agents)));
            };
            *slot += 1;
        }
        for a in 0..self.agents as usize {
            offsets[a + 1] += offsets[a];
        }
        let graph = Graph::new(offsets, edges.iter().map(|e| e.1).collect())?;
        Ok(Batch {
            told: vec![],
            images: Images::Pixels(images),
            vectors: Vectors::default(),
            senders: vec![],
            ids: self.ids,
            elements: self.elements,
            group: match self.sharing {
                Sharing::Orbits(group) => Some(group),
                _ => None,
            },
            graph,
            edges: edges.iter().flat_map(|e| e.2).collect(),
            starts: self.starts,
            stamp: 0,
        })
    }
}
