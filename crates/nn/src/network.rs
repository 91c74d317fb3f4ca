//! A network: layers in the order of its plan, over one flat vector of parameters.

use crate::batch::{Batch, Sharing};
use crate::config::NetworkConfig;
use crate::error::{Error, Result};
use crate::layers::{Dictionary, Encoder, EncoderConfig, Initial, Linear, MessageRound, Space};
use crate::pass::{Cache, Weights};
use crate::plan::{KERNELS, Layer, Plan, Role, STRIDES, plane_rep};
use crate::policy::Policy;
use equimarl_group::Group;
use equimarl_kernels::dictionary;
use equimarl_kernels::gather::Permutations;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The standard deviation of the policy's initial weights: every action is about as likely at first.
const POLICY_DEVIATION: f64 = 0.01;

/// A layer between the encoder and the heads.
#[derive(Clone, Debug)]
pub(crate) enum Trunk {
    /// Agents hear their neighbours.
    Round(MessageRound),
    /// A hidden layer of a central network.
    Hidden(Linear),
}

/// The layers of a plan, built: bases are solved and tables are filled. Free of weights.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    pub config: NetworkConfig,
    pub group: Group,
    pub plan: Plan,
    /// Actions of one agent.
    pub actions: usize,
    /// How each element moves group channels: row g holds g^-1 h for all h.
    pub turns: Permutations,
    pub encoder: Encoder,
    /// The way for pictures that are made of few parts.
    pub dictionary: Option<Dictionary>,
    pub trunk: Vec<Trunk>,
    /// All policy heads and the value, side by side.
    pub head: Linear,
    /// The names of the trunk's layers.
    pub names: Vec<String>,
    /// The parameters of the encoder, of each layer of the trunk, and of the heads.
    pub ranges: Vec<Range<usize>>,
}

impl Layers {
    fn new(config: &NetworkConfig) -> Result<Layers> {
        let plan = config.plan()?;
        let group = config.group()?;
        let edge = plane_rep(&group)?;
        let role = |role: Role| plan.layers.iter().filter(move |layer| layer.role == role);
        let convolutions: Vec<_> = role(Role::Convolution).collect();
        let encoder = Encoder::new(&EncoderConfig {
            picture: config.picture(),
            hidden: convolutions[0].output.clone(),
            features: convolutions[1].output.clone(),
            kernels: KERNELS,
            strides: STRIDES,
        })?;
        let (mut trunk, mut names, mut features) = (vec![], vec![], convolutions[1].output.clone());
        for layer in plan.layers.iter().filter(|l| matches!(l.role, Role::Round | Role::Hidden)) {
            trunk.push(match layer.role {
                Role::Round => Trunk::Round(MessageRound::new(&features, &edge, &layer.output)?),
                _ => Trunk::Hidden(Linear::new(&layer.input, std::slice::from_ref(&layer.output), true)?),
            });
            names.push(layer.name.clone());
            features = layer.output.clone();
        }
        let heads: Vec<_> = role(Role::Policy).chain(role(Role::Value)).map(|l| l.output.clone()).collect();
        let head = Linear::new(&features, &heads, false)?;
        let agents = if config.kind.is_central() { config.setting.agents } else { 1 };
        let mut ranges: Vec<Range<usize>> = vec![];
        let sizes = trunk.iter().map(|layer| match layer {
            Trunk::Round(round) => round.parameters(),
            Trunk::Hidden(layer) => layer.parameters(),
        });
        for size in [encoder.parameters()].into_iter().chain(sizes).chain([head.parameters()]) {
            let start = ranges.last().map_or(0, |r| r.end);
            ranges.push(start..start + size);
        }
        Ok(Layers {
            config: config.clone(),
            turns: turns(&group)?,
            actions: (head.outputs() - 1) / agents,
            dictionary: Dictionary::new(&encoder, &group).filter(|_| !dense_only()),
            group,
            encoder,
            trunk,
            head,
            names,
            ranges,
            plan,
        })
    }

    /// The names of the heads.
    pub fn heads(&self) -> impl Iterator<Item = &str> {
        let head = |layer: &&Layer| matches!(layer.role, Role::Policy | Role::Value);
        self.plan.layers.iter().filter(head).map(|layer| layer.name.as_str())
    }

    /// The spaces of all layers, in the order of the plan.
    fn spaces(&self) -> impl Iterator<Item = &Space> {
        let trunk = self.trunk.iter().map(|layer| match layer {
            Trunk::Round(round) => round.space(),
            Trunk::Hidden(layer) => &layer.parts()[0],
        });
        self.encoder.spaces().iter().chain(trunk).chain(self.head.parts())
    }
}

/// A policy and value network of any [`crate::Kind`].
///
/// ```
/// use equimarl_nn::{Kind, Network, NetworkConfig, Setting};
/// let group = "C4".parse()?;
/// let config = NetworkConfig::paper(Setting::wildlife(3, 7, &group)?, Kind::Equivariant, &group);
/// let network = Network::init(&config, &mut || 0.1)?;
/// assert_eq!(network.values().len(), 25_891);
/// # Ok::<(), equimarl_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    layers: Arc<Layers>,
    values: Vec<f32>,
    weights: Weights,
}

impl Network {
    /// Builds a network with fresh weights; `normal` gives independent standard normal numbers.
    ///
    /// # Errors
    /// If the config does not make a network.
    pub fn init(config: &NetworkConfig, normal: &mut dyn FnMut() -> f64) -> Result<Network> {
        let layers = Layers::new(config)?;
        let mut values = vec![];
        for (layer, space) in layers.plan.layers.iter().zip(layers.spaces()) {
            let initial = match layer.role {
                Role::Policy => Initial::Deviation(POLICY_DEVIATION),
                Role::Value => Initial::Linear,
                _ => Initial::BeforeRelu,
            };
            values.extend(space.init(initial, normal));
        }
        Ok(Network { layers: Arc::new(layers), values, weights: Weights::default() })
    }

    /// What made this network.
    pub fn config(&self) -> &NetworkConfig {
        &self.layers.config
    }

    /// The symmetry group.
    pub fn group(&self) -> &Group {
        &self.layers.group
    }

    /// The number of actions of one agent.
    pub fn actions(&self) -> usize {
        self.layers.actions
    }

    /// Whether one network decides for the whole team.
    pub fn is_central(&self) -> bool {
        self.config().kind.is_central()
    }

    /// The best way to share pictures in batches for this network.
    pub fn sharing(&self) -> Sharing {
        if self.group().order() > 1 { Sharing::Orbits(self.group().clone()) } else { Sharing::Distinct }
    }

    /// How to cut pictures into parts for this network, if it can use them.
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
        self.weights.outdate();
        &mut self.values
    }

    /// The names of the parameters (`conv1.weight`, `conv1.bias`, ...) and where they stand among
    /// [`Network::values`]. A layer without invariant outputs has no bias.
    pub fn named(&self) -> Vec<(String, Range<usize>)> {
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
        self.weights.outdate();
        Ok(())
    }

    /// Logits and values of a batch, in [`Cache::output`].
    ///
    /// # Errors
    /// If the batch was made for another network.
    pub fn forward(&mut self, batch: &Batch, cache: &mut Cache) -> Result<()> {
        cache.timed(|| self.weights.realise(&self.layers, &self.values, batch))?;
        cache.forward(&self.layers, &self.weights, batch, &mut |_, _, _| {})
    }

    /// The gradients of all coefficients, written over `gradients`, after [`Network::forward`] on the same batch: those of
    /// the logits and values stand in [`Cache::output_gradient`].
    ///
    /// # Errors
    /// If the batch or the gradients do not fit.
    pub fn backward(&self, batch: &Batch, cache: &mut Cache, gradients: &mut [f32]) -> Result<()> {
        cache.backward(&self.layers, &self.weights, batch, gradients)
    }

    /// This network as it is now, for running only.
    ///
    /// # Errors
    /// If a weight cannot be realised.
    pub fn policy(&self) -> Result<Policy> {
        let mut weights = Weights::default();
        weights.realise_all(&self.layers, &self.values)?;
        Ok(Policy::new(self.layers.clone(), weights))
    }

    /// The realised weights of this network.
    ///
    /// # Errors
    /// If a weight cannot be realised.
    pub fn dense(&self) -> Result<DenseModel> {
        let (mut tensors, mut at) = (BTreeMap::new(), 0);
        for (layer, space) in self.layers.plan.layers.iter().zip(self.layers.spaces()) {
            let [weight, bias] = space.realise(&self.values[at..at + space.parameters()])?;
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
/// element h is at c |G| + h; a round's input is own features, edge vector, messages. What runs on devices and in other
/// frameworks.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseModel {
    /// What made the network.
    pub config: NetworkConfig,
    /// The tensors.
    pub tensors: BTreeMap<String, DenseTensor>,
}

impl DenseModel {
    /// These weights, for running. They need not obey the symmetry.
    ///
    /// # Errors
    /// If a tensor is missing or does not fit the config.
    pub fn policy(&self) -> Result<Policy> {
        let layers = Arc::new(Layers::new(&self.config)?);
        for (name, shape) in layers.plan.realised() {
            let found =
                self.tensors.get(&name).ok_or_else(|| Error::BadModel(format!("`{name}` is missing")))?;
            if found.shape != shape || found.values.len() != shape.iter().product::<usize>() {
                return Err(Error::BadModel(format!(
                    "`{name}` has shape {:?} instead of {shape:?}",
                    found.shape
                )));
            }
        }
        let mut weights = Weights::default();
        weights.pack(&layers, |name| &self.tensors[name].values)?;
        Ok(Policy::new(layers, weights))
    }
}

/// Whether the variable `EQUIMARL_ENCODER` is `dense`: then no network has a dictionary. For comparisons; a run that is
/// continued otherwise goes on with other rounding.
fn dense_only() -> bool {
    encoder_asked_for().is_ok_and(|way| way.as_deref() == Some("dense"))
}

/// What the variable `EQUIMARL_ENCODER` asks for: `dense` or `dictionary`, if it is set.
///
/// # Errors
/// If it is anything else; networks then do as if it was not set.
pub fn encoder_asked_for() -> Result<Option<String>> {
    match std::env::var_os("EQUIMARL_ENCODER") {
        None => Ok(None),
        Some(way) if way == "dense" || way == "dictionary" => Ok(way.into_string().ok()),
        Some(way) => Err(Error::BadNetwork(format!(
            "EQUIMARL_ENCODER is `{}`; it can be dense or dictionary",
            way.to_string_lossy()
        ))),
    }
}

/// How each element moves the |G| channels of a regular block: (L_g f)\[h\] = f\[g^-1 h\].
fn turns(group: &Group) -> Result<Permutations> {
    let row = |g| {
        let back = group.inverse(g);
        group.elements().map(move |h| group.mul(back, h) as u32)
    };
    Ok(Permutations::new(group.order(), group.elements().flat_map(row).collect())?)
}
