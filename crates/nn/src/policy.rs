//! Running a network: packed weights on plain slices, nothing else.
//!
//! [`Policy::encode`], [`Policy::round`] and [`Policy::decide`] are what one agent does on its own device, with its own
//! picture and its neighbours' messages. [`Policy::forward`] does the same for many states at once. Both use the same
//! layers and weights: pixel by pixel they give the same bits for the same order of neighbours, and where pictures are shared
//! or cut into parts the same numbers to rounding.

use crate::batch::Batch;
use crate::config::NetworkConfig;
use crate::error::{Error, Result};
use crate::layers::Dictionary;
use crate::network::{Layers, Trunk};
use crate::pass::{Cache, Weights};
use equimarl_kernels::softmax::log_softmax;
use equimarl_kernels::{dictionary, encoder};
use std::sync::Arc;

/// A policy and value function that only runs.
///
/// ```
/// use equimarl_nn::{Kind, Network, NetworkConfig, Scratch, Setting};
/// let group = "C4".parse()?;
/// let config = NetworkConfig::paper(Setting::wildlife(3, 7, &group)?, Kind::Equivariant, &group);
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
}

/// What one agent decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The logarithm of each action's probability.
    pub log_probabilities: Vec<f32>,
    /// This agent's value estimate; the team's is the mean over agents.
    pub value: f32,
}

/// What a policy says about a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// One row of log-probabilities of actions per agent.
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

    /// How to cut pictures into parts for this network, if it can use them.
    pub fn dictionary(&self) -> Option<&Arc<dictionary::Plan>> {
        let ready = self.weights.has_dictionary();
        self.layers.dictionary.as_ref().filter(|_| ready).map(Dictionary::plan)
    }

    /// The number of message rounds.
    pub fn rounds(&self) -> usize {
        if self.config().kind.is_central() { 0 } else { self.layers.trunk.len() }
    }

    /// The number of actions of one agent.
    pub fn actions(&self) -> usize {
        self.layers.actions
    }

    /// The number of floats in a message of round `l`, or in the final features if `l` is the number of rounds.
    pub fn message_len(&self, l: usize) -> usize {
        match l.checked_sub(1).and_then(|before| self.layers.trunk.get(before)) {
            Some(Trunk::Round(round)) => round.outputs(),
            Some(Trunk::Hidden(layer)) => layer.outputs(),
            None => self.layers.encoder.features(),
        }
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
    /// If the picture has another size, or the network is central.
    pub fn encode(&self, picture: &[f32], scratch: &mut Scratch, features: &mut Vec<f32>) -> Result<()> {
        self.check_local()?;
        features.resize(self.layers.encoder.features(), 0.0);
        self.layers.encoder.encode(self.weights.pixels(), picture, &mut scratch.encoder, features)
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
        let Some(Trunk::Round(round)) = self.layers.trunk.get(l) else {
            return Err(Error::BadBatch(format!(
                "there is no round {l}; this network has {}",
                self.rounds()
            )));
        };
        out.resize(round.outputs(), 0.0);
        round.one(self.weights.trunk(l), (own, edges, received), &mut scratch.input, out)
    }

    /// The decision from the features after the last round.
    ///
    /// # Errors
    /// If the features have another length, or the network is central.
    pub fn decide(&self, features: &[f32]) -> Result<Decision> {
        self.check_local()?;
        let mut out = vec![0.0; self.layers.head.outputs()];
        self.layers.head.forward(self.weights.head(), features, &mut out)?;
        let mut log_probabilities = vec![0.0; self.actions()];
        log_softmax(&out[..self.actions()], self.actions(), &mut log_probabilities)?;
        Ok(Decision { log_probabilities, value: out[self.actions()] })
    }

    /// Log-probabilities and values of many states at once.
    ///
    /// # Errors
    /// If the batch was made for another world.
    pub fn forward(&self, batch: &Batch) -> Result<Judgement> {
        let mut said = Judgement::default();
        self.forward_in(batch, &mut Cache::default(), &mut said)?;
        Ok(said)
    }

    /// As [`Policy::forward`], on buffers that are kept.
    ///
    /// # Errors
    /// As [`Policy::forward`].
    pub fn forward_in(&self, batch: &Batch, cache: &mut Cache, said: &mut Judgement) -> Result<()> {
        cache.forward(&self.layers, &self.weights, batch, &mut |_, _, _| {})?;
        said.take(cache, self.actions())
    }

    /// As [`Policy::forward`], with the features after every layer that has some.
    ///
    /// # Errors
    /// As [`Policy::forward`].
    pub fn explain(&self, batch: &Batch) -> Result<(Judgement, Vec<Features>)> {
        let (mut layers, mut cache, mut said) = (vec![], Cache::default(), Judgement::default());
        cache.forward(&self.layers, &self.weights, batch, &mut |name, width, rows| {
            layers.push(Features { name: name.into(), width, rows: rows.to_vec() });
        })?;
        said.take(&cache, self.actions())?;
        Ok((said, layers))
    }
}

impl Judgement {
    /// What a forward pass found, as probabilities.
    ///
    /// # Errors
    /// If it was the pass of a network with another number of actions.
    pub fn take(&mut self, cache: &Cache, actions: usize) -> Result<()> {
        let output = cache.output();
        self.log_probabilities.resize(output.logits.len(), 0.0);
        log_softmax(&output.logits, actions, &mut self.log_probabilities)?;
        self.values.clear();
        self.values.extend_from_slice(&output.values);
        Ok(())
    }
}
