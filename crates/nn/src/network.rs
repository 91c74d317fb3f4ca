//! A network: layers in the order of its plan, over one flat vector of parameters.

use crate::batch::{Batch, Sharing};
use crate::built::Layers;
use crate::config::{NetworkConfig, NetworkKind};
use crate::error::{Error, Result};
use crate::gaussian::Squash;
use crate::layers::{Dictionary, Initial, Space};
use crate::pass::Cache;
use crate::plan::Role;
use crate::policy::Policy;
use crate::relaxed::Relaxation;
use crate::weights::Weights;
use equimarl_group::Group;
use equimarl_kernels::dictionary;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The standard deviation of the policy's initial weights: every action is about as likely at first.
const POLICY_DEVIATION: f64 = 0.01;

/// A policy and value network of any [`crate::NetworkKind`].
///
/// ```
/// use equimarl_nn::{NetworkKind, Network, NetworkConfig, Interface};
/// let group = "C4".parse()?;
/// let interface = Interface {
///     world: "pond".into(),
///     agents: 3,
///     image: [1, 21, 21],
///     actions: "perm[0 4 1 2 3]".into(), // stay, down, right, up, left
///     ..Interface::default()
/// };
/// let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group);
/// let network = Network::init(&config, &mut || 0.1)?;
/// assert_eq!(network.values().len(), 25_891);
/// # Ok::<(), equimarl_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    config: NetworkConfig,
    group: Group,
    layers: Arc<Layers>,
    values: Vec<f32>,
    /// How the coefficients of the layers follow, if they are others.
    relaxation: Option<Arc<Relaxation>>,
    /// Those, then, and whether they are up to date; and room for their gradients.
    relaxed: Vec<f32>,
    relaxed_ready: bool,
    weights: Weights,
}

impl Network {
    /// Builds a network with fresh weights; `normal` gives independent standard normal numbers.
    ///
    /// # Errors
    /// If the config does not make a network.
    pub fn init(config: &NetworkConfig, normal: &mut dyn FnMut() -> f64) -> Result<Network> {
        if config.kind == NetworkKind::Relaxed {
            return Network::relaxed(config, normal);
        }
        let layers = Layers::new(config)?;
        let mut values = vec![];
        for (layer, space) in layers.plan.layers.iter().zip(layers.spaces()) {
            let initial = match layer.role {
                // Agents that act by vectors begin with no direction of their own.
                Role::Policy if config.interface.vectors.is_some() => Initial::Deviation(0.0),
                Role::Policy => Initial::Deviation(POLICY_DEVIATION),
                Role::Value | Role::Scales => Initial::Linear,
                _ if layer.gate.is_some() => Initial::Linear,
                _ => Initial::BeforeRelu,
            };
            values.extend(space.init(initial, normal));
        }
        Ok(Network {
            config: config.clone(),
            group: layers.group.clone(),
            layers: Arc::new(layers),
            values,
            relaxation: None,
            relaxed: vec![],
            relaxed_ready: true,
            weights: Weights::default(),
        })
    }

    /// The exact network with fresh weights, run as the plain one that is as wide.
    fn relaxed(config: &NetworkConfig, normal: &mut dyn FnMut() -> f64) -> Result<Network> {
        let exact = Network::init(&config.exact(), normal)?;
        let plain = Layers::new(&config.as_wide()?)?;
        let relaxation = Relaxation::new(exact.layers().collect::<Vec<_>>().into_iter(), plain.spaces())?;
        let mut values = exact.values;
        values.resize(relaxation.parameters(), 0.0);
        Ok(Network {
            config: config.clone(),
            group: exact.group,
            layers: Arc::new(plain),
            values,
            relaxation: Some(Arc::new(relaxation)),
            relaxed: vec![],
            relaxed_ready: false,
            weights: Weights::default(),
        })
    }

    /// Where coefficients stand that leave the symmetry; nowhere unless the network is relaxed.
    pub fn rest(&self) -> Range<usize> {
        self.relaxation.as_ref().map_or(0..0, |relaxation| relaxation.rest())
    }

    /// How far each layer's weights are from the nearest equivariant ones, if it is relaxed: the norm of the rest.
    pub fn asymmetry(&self) -> Vec<(String, f64)> {
        let rest = self.rest();
        let of = |(name, range): (String, Range<usize>)| {
            let norm = self.values[range].iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
            (name.rsplit_once('.').map_or(name.clone(), |(layer, _)| layer.into()), norm)
        };
        self.named()
            .into_iter()
            .filter(|(_, range)| range.start >= rest.start && !rest.is_empty())
            .map(of)
            .collect()
    }

    /// The coefficients of the layers.
    fn realised(&self) -> Result<std::borrow::Cow<'_, [f32]>> {
        let Some(relaxation) = &self.relaxation else { return Ok((&self.values[..]).into()) };
        let mut found = vec![];
        relaxation.realise(&self.values, &mut found)?;
        Ok(found.into())
    }

    /// Gives the policy's head, which says next to nothing at first, random weights of this size: what says nothing turns with
    /// everything. Deviations of policies over vectors stay near 1.
    pub fn enliven(&mut self, size: f64, normal: &mut dyn FnMut() -> f64) {
        let by_vectors = self.acts_by_vectors();
        // A relaxed network runs as the plain one that is as wide; what keeps its symmetry stands first, as in the exact one.
        let layers = match self.relaxation.is_some().then(|| Layers::new(&self.config.exact())) {
            Some(Ok(exact)) => Arc::new(exact),
            _ => self.layers.clone(),
        };
        let mut at = 0;
        for (layer, space) in layers.plan.layers.iter().zip(layers.spaces()) {
            let (inputs, outputs) = (space.input().dim(), space.output().dim());
            for entry in (0..inputs * outputs).filter(|_| layer.role == Role::Policy) {
                let is_deviation = by_vectors && entry / inputs == outputs - 1;
                let deviation = if is_deviation { 0.02 } else { size };
                for (coefficient, _) in space.weight().terms(entry) {
                    self.values[at + coefficient] = (deviation * normal()) as f32;
                }
            }
            at += space.parameters();
        }
        self.outdate();
    }

    /// What made this network.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// The symmetry group.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The number of actions of one agent.
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

    /// Whether one network decides for the whole team.
    pub fn is_central(&self) -> bool {
        self.config().kind.is_central()
    }

    /// The best way to share images in batches for this network. Feature vectors are shared where they are equal.
    pub fn sharing(&self) -> Sharing {
        if self.config().interface.sees_features() {
            return Sharing::Distinct;
        }
        let group = &self.layers.group;
        if group.order() > 1 { Sharing::Orbits(group.clone()) } else { Sharing::Distinct }
    }

    /// How to cut images into parts for this network, if it can use them.
    pub fn dictionary(&self) -> Option<&Arc<dictionary::Plan>> {
        self.layers.dictionary.as_ref().map(Dictionary::plan)
    }

    /// All layers with their names and spaces, in the order of the network.
    pub fn layers(&self) -> impl Iterator<Item = (&str, &Space)> {
        self.layers.plan.layers.iter().map(|layer| layer.name.as_str()).zip(self.layers.spaces())
    }

    /// All trainable coefficients, layer by layer: those of the weight, then those of the bias.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Changes the coefficients.
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.outdate();
        &mut self.values
    }

    /// The names of the parameters (`conv1.weight`, `conv1.bias`, ...) and where they stand among
    /// [`Network::values`]. A layer without invariant outputs has no bias.
    pub fn named(&self) -> Vec<(String, Range<usize>)> {
        if let Some(relaxation) = &self.relaxation {
            return relaxation.named().to_vec();
        }
        let (mut named, mut at) = (vec![], 0);
        for (name, space) in self.layers() {
            for (part, rank) in ["weight", "bias"].iter().zip(space.ranks()) {
                if rank > 0 {
                    named.push((format!("{name}.{part}"), at..at + rank));
                }
                at += rank;
            }
        }
        named
    }

    /// All trainable coefficients by name, in the order of the network.
    pub fn parameters(&self) -> Vec<(String, Vec<f32>)> {
        self.named().into_iter().map(|(name, range)| (name, self.values[range].to_vec())).collect()
    }

    /// Replaces all coefficients, in the order of [`Network::parameters`].
    ///
    /// # Errors
    /// If their numbers do not fit; then nothing changes.
    pub fn set_parameters(&mut self, values: impl IntoIterator<Item = Vec<f32>>) -> Result<()> {
        let mut values = values.into_iter();
        let mut all = Vec::with_capacity(self.values.len());
        for (name, range) in self.named() {
            let found = values.next().unwrap_or_default();
            if found.len() != range.len() {
                return Err(Error::BadModel(format!(
                    "`{name}` has {} coefficients and was given {}",
                    range.len(),
                    found.len()
                )));
            }
            all.extend(found);
        }
        if values.next().is_some() {
            return Err(Error::BadModel("it has more parameters than this network".into()));
        }
        self.values = all;
        self.outdate();
        Ok(())
    }

    fn outdate(&mut self) {
        self.relaxed_ready = false;
        self.weights.outdate();
    }

    /// Logits and values of a batch, in [`Cache::output`].
    ///
    /// # Errors
    /// If the batch was made for another network.
    pub fn forward(&mut self, batch: &Batch, cache: &mut Cache) -> Result<()> {
        if let Some(relaxation) = self.relaxation.as_ref().filter(|_| !self.relaxed_ready) {
            relaxation.realise(&self.values, &mut self.relaxed)?;
            self.relaxed_ready = true;
        }
        let values = if self.relaxation.is_some() { &self.relaxed } else { &self.values };
        cache.timed(|| self.weights.realise(&self.layers, values, batch))?;
        cache.forward(&self.layers, &self.weights, batch, &mut |_, _, _| {})
    }

    /// The gradients of all coefficients, written over `gradients`, after [`Network::forward`] on the same batch: those of
    /// the logits and values stand in [`Cache::output_gradient`].
    ///
    /// # Errors
    /// If the batch or the gradients do not fit.
    pub fn backward(&self, batch: &Batch, cache: &mut Cache, gradients: &mut [f32]) -> Result<()> {
        let Some(relaxation) = &self.relaxation else {
            return cache.backward(&self.layers, &self.weights, batch, gradients);
        };
        let mut plain = cache.take_gradients(self.relaxed.len());
        let done = cache.backward(&self.layers, &self.weights, batch, &mut plain);
        let done = done.and_then(|()| relaxation.gradients(&plain, gradients));
        cache.keep_gradients(plain);
        done
    }

    /// This network as it is now, for running only.
    ///
    /// # Errors
    /// If a weight cannot be realised.
    pub fn policy(&self) -> Result<Policy> {
        let mut weights = Weights::default();
        weights.realise_all(&self.layers, &self.realised()?)?;
        Ok(Policy::new(self.layers.clone(), weights))
    }

    /// The realised weights of this network.
    ///
    /// # Errors
    /// If a weight cannot be realised.
    pub fn dense(&self) -> Result<DenseModel> {
        let (mut tensors, mut at, values) = (BTreeMap::new(), 0, self.realised()?);
        for (layer, space) in self.layers.plan.layers.iter().zip(self.layers.spaces()) {
            let [weight, bias] = space.realise(&values[at..at + space.parameters()])?;
            at += space.parameters();
            let shape = vec![bias.len()];
            tensors.insert(
                format!("{}.weight", layer.name),
                DenseTensor { shape: layer.shape(), values: weight },
            );
            tensors.insert(format!("{}.bias", layer.name), DenseTensor { shape, values: bias });
        }
        Ok(DenseModel { config: self.config().clone(), tensors })
    }
}

/// A realised weight or bias with its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseTensor {
    /// Its shape: \[out, in, k, k\] for filters, \[out, in\] for linear layers, \[out\] for biases.
    pub shape: Vec<usize>,
    /// Its numbers, row-major.
    pub values: Vec<f32>,
}

/// All realised weights by name: `conv1.weight`, `conv1.bias`, ..., `policy.weight`, `value.bias`. Channel c of group
/// element h is at c |G| + h; a round's input is own features, edge vector, messages. Networks for feature vectors have
/// `features1.weight`, ..., `round1.message.weight` (own features, edge vector, the sender's features) and
/// `round1.update.weight` (own features, the mean message of each kind of sender), with the name of a kind of senders that do
/// not act in `<kind>.features1.weight` and `round1.<kind>.message.weight`. What runs on devices and in other frameworks.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseModel {
    /// What made the network.
    pub config: NetworkConfig,
    /// The tensors.
    pub tensors: BTreeMap<String, DenseTensor>,
}
