//! Running a network: packed weights on plain slices, nothing else.
//!
//! [`Policy::encode`], [`Policy::round`] and [`Policy::decide`] are what one agent does on its own device, with its own
//! image and its neighbours' messages. [`Policy::forward`] does the same for many states at once. Both use the same
//! layers and weights: pixel by pixel they give the same bits for the same order of neighbours, and where images are shared
//! or cut into parts the same numbers to rounding.
//!
//! An agent that sees feature vectors starts with [`Policy::encode_features`]. It also encodes the things that it sees and that
//! do not act ([`Policy::encode_sender`]), once per step, since nobody else sends their features; [`Policy::round_among`] is its
//! round.

use crate::batch::Batch;
use crate::built::{Input, Layers, Trunk};
use crate::choose::Choice;
use crate::config::NetworkConfig;
use crate::error::{Error, Result};
use crate::gaussian::Squash;
use crate::layers::{DenseWeights, Dictionary, EdgeRoundWork, Sent, Stack, StackWork};
use crate::pass::{Cache, mask};
use crate::ranges::trimmed_mean;
use crate::weights::Weights;
use equimarl_group::Rep;
use equimarl_kernels::softmax::log_softmax;
use equimarl_kernels::{dictionary, encoder};
use std::sync::Arc;

/// A policy and value function that only runs.
///
/// ```
/// use equimarl_nn::{NetworkKind, Network, NetworkConfig, Scratch, Interface};
/// let group = "C4".parse()?;
/// let interface = Interface {
///     world: "pond".into(),
///     agents: 3,
///     image: [1, 21, 21],
///     actions: "perm[0 4 1 2 3]".into(), // stay, down, right, up, left
///     ..Interface::default()
/// };
/// let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group);
/// let policy = Network::init(&config, &mut || 0.1)?.policy()?;
///
/// // One agent with one neighbour that stands above it.
/// let (mut scratch, mut own, mut mixed) = (Scratch::default(), vec![], vec![]);
/// policy.encode(&[0.0; 21 * 21], &mut scratch, &mut own)?;
/// for l in 0..policy.rounds() {
///     let received = own.clone(); // what the neighbour sent
///     policy.round(l, &own, &[1.0, 0.0], &received, &mut scratch, &mut mixed)?;
///     std::mem::swap(&mut own, &mut mixed);
/// }
/// let decision = policy.decide(&own)?;
/// assert_eq!(decision.log_probabilities.len(), 5);
/// # Ok::<(), equimarl_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    layers: Arc<Layers>,
    weights: Weights,
}

/// Working memory of one agent. Reuse it: then a decision allocates nothing but its result.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    encoder: encoder::Scratch,
    input: Vec<f32>,
    stack: StackWork,
    edges: EdgeRoundWork,
    told: Vec<f32>,
}

impl Scratch {
    /// Tells the agent what breaks the symmetry, and then its token, for networks that want to know. It stays known.
    pub fn tell(&mut self, told: &[f32]) {
        self.told.clear();
        self.told.extend_from_slice(told);
    }
}

/// What one agent decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The logarithm of each action's probability; for a vector its distribution, as in [`PolicyOutput`].
    pub log_probabilities: Vec<f32>,
    /// This agent's value estimate; the team's is the mean over agents.
    pub value: f32,
}

/// What a policy says about a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyOutput {
    /// One row of log-probabilities of actions per agent. Where agents act by vectors, a row is their distribution: see
    /// [`crate::Gaussian::of`].
    pub log_probabilities: Vec<f32>,
    /// The team's value of each state.
    pub values: Vec<f32>,
}

/// The features of all rows after a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// The layer.
    pub name: String,
    /// Numbers per row.
    pub width: usize,
    /// One row per agent, or per state for a central network.
    pub rows: Vec<f32>,
}

impl Policy {
    pub(crate) fn new(layers: Arc<Layers>, weights: Weights) -> Policy {
        Policy { layers, weights }
    }

    /// What made the network.
    pub fn config(&self) -> &NetworkConfig {
        &self.layers.config
    }

    /// How to cut images into parts for this network, if it can use them.
    pub fn dictionary(&self) -> Option<&Arc<dictionary::Plan>> {
        let ready = self.weights.has_dictionary();
        self.layers.dictionary.as_ref().filter(|_| ready).map(Dictionary::plan)
    }

    /// The number of message rounds.
    pub fn rounds(&self) -> usize {
        if self.config().kind.is_central() { 0 } else { self.layers.trunk.len() }
    }

    /// The numbers of a row of what the policy says of one agent: as many as it has actions, or one more than a vector has.
    pub fn actions(&self) -> usize {
        self.layers.actions
    }

    /// Whether agents act by vectors, and do not choose.
    pub fn acts_by_vectors(&self) -> bool {
        self.config().interface.vectors.is_some()
    }

    /// Into what vectors are squashed by which agents act.
    pub fn squash(&self) -> Squash {
        self.config().interface.vectors.unwrap_or(Squash::Ball)
    }

    /// The vector of an agent of which this policy says a row: drawn or not, and squashed. `normal` as in [`Choice::vector`].
    pub fn act(&self, choice: Choice, row: &[f32], normal: impl FnMut() -> f64, out: &mut [f64]) {
        let mut drawn = vec![0.0; out.len()];
        choice.vector(row, normal, &mut drawn);
        self.squash().apply(&drawn, out);
    }

    /// The number of floats in a message of round `l`, or in the final features if `l` is the number of rounds.
    pub fn message_len(&self, l: usize) -> usize {
        let before = l.checked_sub(1).and_then(|before| self.layers.trunk.get(before));
        before.map_or_else(|| self.layers.input.width(), Trunk::outputs) + self.layers.told
    }

    /// How many numbers an agent must be told by [`Scratch::tell`]: what breaks the symmetry, and its token.
    pub fn told_len(&self) -> usize {
        self.layers.told
    }

    /// The order of the group whose elements are in agents' tokens; 0 if agents have none.
    pub fn token_order(&self) -> usize {
        self.layers.tokens
    }

    /// Puts what the agent is told beside features.
    fn told(&self, scratch: &Scratch, features: &mut Vec<f32>) -> Result<()> {
        if scratch.told.len() != self.layers.told && self.layers.told > 0 {
            return Err(Error::BadBatch(format!(
                "this network must be told what breaks the symmetry or its token, in {} numbers, and was told {}",
                self.layers.told,
                scratch.told.len()
            )));
        }
        if self.layers.told > 0 {
            features.extend_from_slice(&scratch.told);
        }
        Ok(())
    }

    /// Whether it is a network of SO2 or O2.
    pub(crate) fn turns_by_every_angle(&self) -> bool {
        self.config().symmetry().is_ok_and(|symmetry| !symmetry.is_finite())
    }

    /// Whether [`Policy::round_trimmed`] turns with what goes in: not where turns mix the numbers of a message in other ways than
    /// by permuting them up to signs, because the least and the largest of each number are then others after a turn.
    pub fn can_trim(&self) -> bool {
        let permutes = |rep: &Rep| rep.terms().iter().all(|term| term.atom.is_signed_permutation());
        !self.turns_by_every_angle() && self.message_reps().iter().all(permutes)
    }

    /// What agents say to each other in each round, as representations: all but what they are told.
    pub(crate) fn message_reps(&self) -> &[Rep] {
        &self.layers.messages
    }

    fn check_local(&self) -> Result<()> {
        if self.config().kind.is_central() {
            return Err(Error::BadBatch(format!(
                "a {} network decides for the whole team at once and has no local view",
                self.config().kind
            )));
        }
        Ok(())
    }

    /// The features of what this agent sees: its message in the first round.
    ///
    /// # Errors
    /// If the image has another size, or the network is central or sees feature vectors.
    pub fn encode(&self, image: &[f32], scratch: &mut Scratch, features: &mut Vec<f32>) -> Result<()> {
        self.check_local()?;
        let Input::Images(encoder) = &self.layers.input else {
            return Err(Error::BadBatch("this network sees feature vectors, not pictures".into()));
        };
        features.resize(encoder.features(), 0.0);
        encoder.encode(self.weights.pixels(), image, &mut scratch.encoder, features)?;
        self.told(scratch, features)
    }

    /// The features of what this agent knows of itself: its message in the first round.
    ///
    /// # Errors
    /// If there are more or fewer of them, or the network sees images.
    pub fn encode_features(&self, features: &[f32], scratch: &mut Scratch, out: &mut Vec<f32>) -> Result<()> {
        let Input::Features(encoders) = &self.layers.input else { return Err(sees_pictures()) };
        encode(encoders.agents(), self.weights.features().agents(), features, scratch, out)?;
        self.told(scratch, out)
    }

    /// The features of a sender that does not act, of kind `kind` in [`crate::Interface::senders`]: the same in all rounds.
    ///
    /// # Errors
    /// If there is no such kind or it has no features, there are more or fewer of them, or the network sees images.
    pub fn encode_sender(
        &self,
        kind: usize,
        features: &[f32],
        scratch: &mut Scratch,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        let Input::Features(encoders) = &self.layers.input else { return Err(sees_pictures()) };
        let Some(stack) = encoders.sender(kind) else {
            return Err(Error::BadBatch(match self.config().interface.senders.get(kind) {
                Some(kind) => format!("`{}` has no features to encode", kind.name),
                None => format!("there is no kind {kind} of senders that do not act"),
            }));
        };
        encode(stack, self.weights.features().sender(kind), features, scratch, out)
    }

    /// Round `l`: mixes in what the neighbours sent, one row of features and one edge vector each. Neighbours must come
    /// in a fixed order, because floating-point sums depend on it.
    ///
    /// # Errors
    /// If there is no such round or a length does not fit.
    pub fn round(
        &self,
        l: usize,
        own: &[f32],
        edges: &[f32],
        received: &[f32],
        scratch: &mut Scratch,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        match self.layers.trunk.get(l) {
            Some(Trunk::Round(round)) => {
                out.resize(round.outputs(), 0.0);
                round.one(self.weights.trunk(l), (own, edges, received), &mut scratch.input, out)?;
                self.told(scratch, out)
            }
            Some(Trunk::Edges(_)) => {
                self.round_among(l, own, Sent { edges, features: received }, &[], scratch, out)
            }
            _ => Err(self.no_round(l)),
        }
    }

    /// As [`Policy::round`] for an agent that sees feature vectors: `agents` is what neighbours sent, and `senders` what it
    /// hears of each kind in [`crate::Interface::senders`], with the features that [`Policy::encode_sender`] gave (none for a kind
    /// without). All of them in a fixed order.
    ///
    /// ```
    /// use equimarl_nn::{NetworkKind, Network, NetworkConfig, Scratch, SenderKind, Sent, Interface};
    /// let interface = Interface {
    ///     world: "landmarks".into(),
    ///     agents: 2,
    ///     actions: "perm[0 4 1 2 3]".into(),
    ///     features: "rotation".into(), // its velocity
    ///     senders: vec![SenderKind { name: "landmark".into(), features: "3*trivial".into() }],
    ///     ..Interface::default()
    /// };
    /// let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &"C4".parse()?);
    /// let policy = Network::init(&config, &mut || 0.1)?.policy()?;
    ///
    /// let (mut scratch, mut own, mut mixed, mut landmark) = (Scratch::default(), vec![], vec![], vec![]);
    /// policy.encode_features(&[1.0, 0.0], &mut scratch, &mut own)?;
    /// policy.encode_sender(0, &[0.2, 0.5, 0.1], &mut scratch, &mut landmark)?;
    /// for l in 0..policy.rounds() {
    ///     let received = own.clone(); // what a neighbour to the right sent
    ///     let agents = Sent { edges: &[0.0, 1.0], features: &received };
    ///     let landmarks = Sent { edges: &[-2.0, 0.0], features: &landmark };
    ///     policy.round_among(l, &own, agents, &[landmarks], &mut scratch, &mut mixed)?;
    ///     std::mem::swap(&mut own, &mut mixed);
    /// }
    /// assert_eq!(policy.decide(&own)?.log_probabilities.len(), 5);
    /// # Ok::<(), equimarl_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such round, a length or the number of kinds does not fit, or the network sees images.
    pub fn round_among(
        &self,
        l: usize,
        own: &[f32],
        agents: Sent<'_>,
        senders: &[Sent<'_>],
        scratch: &mut Scratch,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        match self.layers.trunk.get(l) {
            Some(Trunk::Edges(round)) => {
                out.resize(round.outputs(), 0.0);
                round.one(self.weights.edges(l), own, (agents, senders), &mut scratch.edges, out)?;
                self.told(scratch, out)
            }
            Some(_) => Err(sees_pictures()),
            None => Err(self.no_round(l)),
        }
    }

    /// As [`Policy::round`] and [`Policy::round_among`], with the mean over neighbours without the least and the largest of each
    /// number where there are three or more of them: no single one of them can then move it beyond what the others say. It is
    /// scaled as the mean is.
    ///
    /// # Errors
    /// As [`Policy::round_among`].
    pub fn round_trimmed(
        &self,
        l: usize,
        own: &[f32],
        agents: Sent<'_>,
        senders: &[Sent<'_>],
        scratch: &mut Scratch,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        let width = self.message_len(l);
        let rows = agents.features.len() / width.max(1);
        match self.layers.trunk.get(l) {
            Some(Trunk::Edges(round)) => {
                out.resize(round.outputs(), 0.0);
                round.one_trimmed(self.weights.edges(l), own, (agents, senders), &mut scratch.edges, out)?;
                self.told(scratch, out)
            }
            Some(Trunk::Round(_)) if rows >= 3 => {
                let mut mean = vec![0.0; width];
                trimmed_mean(agents.features, width, &mut mean);
                // As many neighbours that all say the trimmed mean have it as their mean.
                self.round(l, own, agents.edges, &mean.repeat(rows), scratch, out)
            }
            _ => self.round(l, own, agents.edges, agents.features, scratch, out),
        }
    }

    fn no_round(&self, l: usize) -> Error {
        Error::BadBatch(format!("there is no round {l}; this network has {}", self.rounds()))
    }

    /// The decision from the features after the last round, where all actions can always be taken.
    ///
    /// # Errors
    /// If the features have another length, or the network is central.
    pub fn decide(&self, features: &[f32]) -> Result<Decision> {
        self.decide_among(features, &[])
    }

    /// The same for an agent that sees `seen`, the feature vector that it was encoded from: that says which actions it may
    /// take.
    ///
    /// # Errors
    /// As [`Policy::decide`].
    pub fn decide_among(&self, features: &[f32], seen: &[f32]) -> Result<Decision> {
        self.check_local()?;
        let mut out = vec![0.0; self.layers.head.outputs()];
        self.layers.head.forward(self.weights.head(), features, &mut out)?;
        mask(&self.layers.config.interface.legal, seen, &mut out[..self.actions()]);
        let mut log_probabilities = vec![0.0; self.actions()];
        match self.acts_by_vectors() {
            false => log_softmax(&out[..self.actions()], self.actions(), &mut log_probabilities)?,
            true => log_probabilities.copy_from_slice(&out[..self.actions()]),
        }
        Ok(Decision { log_probabilities, value: out[self.actions()] })
    }

    /// Log-probabilities and values of many states at once.
    ///
    /// # Errors
    /// If the batch was made for another world.
    pub fn forward(&self, batch: &Batch) -> Result<PolicyOutput> {
        let mut said = PolicyOutput::default();
        self.forward_in(batch, &mut Cache::default(), &mut said)?;
        Ok(said)
    }

    /// As [`Policy::forward`], on buffers that are kept.
    ///
    /// # Errors
    /// As [`Policy::forward`].
    pub fn forward_in(&self, batch: &Batch, cache: &mut Cache, said: &mut PolicyOutput) -> Result<()> {
        cache.forward(&self.layers, &self.weights, batch, &mut |_, _, _| {})?;
        said.take(cache, self.actions(), self.acts_by_vectors())
    }

    /// As [`Policy::forward`], with the features after every layer that has some.
    ///
    /// # Errors
    /// As [`Policy::forward`].
    pub fn explain(&self, batch: &Batch) -> Result<(PolicyOutput, Vec<Features>)> {
        let (mut cache, mut said) = (Cache::default(), PolicyOutput::default());
        let layers = self.explain_in(batch, &mut cache, &mut said)?;
        Ok((said, layers))
    }

    /// As [`Policy::forward_in`], with the features after every layer that has some.
    ///
    /// # Errors
    /// As [`Policy::forward`].
    pub fn explain_in(
        &self,
        batch: &Batch,
        cache: &mut Cache,
        said: &mut PolicyOutput,
    ) -> Result<Vec<Features>> {
        let mut layers = vec![];
        cache.forward(&self.layers, &self.weights, batch, &mut |name, width, rows| {
            layers.push(Features { name: name.into(), width, rows: rows.to_vec() });
        })?;
        said.take(cache, self.actions(), self.acts_by_vectors())?;
        Ok(layers)
    }
}

/// One row through an encoder of feature vectors.
fn encode(
    stack: &Stack,
    weights: &[DenseWeights],
    features: &[f32],
    scratch: &mut Scratch,
    out: &mut Vec<f32>,
) -> Result<()> {
    if features.len() != stack.inputs() {
        return Err(Error::BadBatch(format!(
            "{} features were given, and the network was made for {}",
            features.len(),
            stack.inputs()
        )));
    }
    out.clear();
    out.extend_from_slice(stack.forward(weights, features, &mut scratch.stack)?);
    Ok(())
}

fn sees_pictures() -> Error {
    Error::BadBatch("this network sees images, not feature vectors".into())
}

impl PolicyOutput {
    /// What a forward pass of a network found, as probabilities, or as distributions of vectors.
    ///
    /// # Errors
    /// If it was the pass of a network with another number of actions.
    pub fn take(&mut self, cache: &Cache, actions: usize, vectors: bool) -> Result<()> {
        let output = cache.output();
        self.log_probabilities.resize(output.logits.len(), 0.0);
        match vectors {
            false => log_softmax(&output.logits, actions, &mut self.log_probabilities)?,
            true => self.log_probabilities.copy_from_slice(&output.logits),
        }
        self.values.clear();
        self.values.extend_from_slice(&output.values);
        Ok(())
    }
}
