//! A trained team without the trainer: realised weights on plain slices, no Burn.
//!
//! The *local view* is what one agent runs on its own device: encode what it sees, mix in what its neighbours send, once
//! per round, decide. The batched view does the same for many states at once, for rollouts and evaluation. Both use the
//! same kernels and packed weights, so they give the same bits for the same order of neighbours.

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::network::{DenseModel, DenseTensor, NetworkConfig, STRIDES};
use crate::ops::{OverTeam, Spread};
use equimarl_group::Group;
use equimarl_kernels::encoder::{self, Encoder};
use equimarl_kernels::gather::Permutations;
use equimarl_kernels::linear::{self, Linear};
use equimarl_kernels::messages::{self, Round};
use equimarl_kernels::softmax::log_softmax;
use std::sync::Arc;

/// A policy and value function that only runs.
///
/// ```
/// use burn::tensor::Device;
/// use equimarl_nn::{Kind, Network, NetworkConfig, Policy, Scratch, Setting};
/// let group = "C4".parse()?;
/// let config = NetworkConfig::paper(Setting::wildlife(3, 7, &group)?, Kind::Equivariant, &group);
/// let network = Network::init(&config, &mut || 0.1, &Device::flex())?;
/// let policy = Policy::new(&network.dense())?;
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
    config: NetworkConfig,
    encoder: (Encoder, encoder::Packed),
    rounds: Vec<(Round, linear::Packed)>,
    hidden: Vec<(Linear, linear::Packed)>,
    heads: Vec<(Linear, linear::Packed)>,
    value: (Linear, linear::Packed),
    group: Group,
    turns: Arc<Permutations>,
    actions: usize,
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
#[derive(Clone, Debug, PartialEq)]
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
    /// Packs realised weights for running.
    ///
    /// # Errors
    /// If a tensor is missing or does not fit the config.
    pub fn new(model: &DenseModel) -> Result<Policy> {
        let config = &model.config;
        let group = config.group()?;
        let central = config.kind.is_central();
        let [channels, height, width] =
            if central { config.setting.central_picture } else { config.setting.picture };
        let (first, second) = (Layer::of(model, "conv1")?, Layer::of(model, "conv2")?);
        let convolution = |layer: &Layer, stride: usize| -> Result<encoder::Convolution> {
            let kernel = layer.filter()?;
            Ok(encoder::Convolution { channels: layer.outputs(), kernel, stride })
        };
        let plan = Encoder::new(encoder::Config {
            channels,
            height,
            width,
            first: convolution(&first, STRIDES[0])?,
            second: convolution(&second, STRIDES[1])?,
        })?;
        let mut packed = encoder::Packed::default();
        let (w1, b1, w2, b2) = (first.weight, first.bias, second.weight, second.bias);
        plan.pack(encoder::Weights { w1, b1, w2, b2 }, &mut packed)?;
        let mut features = plan.features();
        let mut rounds = vec![];
        for i in 1..=config.widths.rounds.len() {
            let name = format!("round{i}");
            let layer = Layer::of(model, &name)?;
            let (round, mut packed) = (Round::new(features, 2, layer.outputs())?, linear::Packed::default());
            round.pack(layer.weight, layer.bias, &mut packed)?;
            features = layer.outputs();
            rounds.push((round, packed));
        }
        let mut hidden = vec![];
        for i in 1..=config.widths.hidden.len() {
            let name = format!("hidden{i}");
            let layer = Layer::of(model, &name)?;
            hidden.push(layer.linear(features)?);
            features = layer.outputs();
        }
        let names: Vec<String> = match config.setting.central_heads.len() {
            many if central && many > 1 => (1..=many).map(|i| format!("policy{i}")).collect(),
            _ => vec!["policy".into()],
        };
        let heads: Result<Vec<_>> =
            names.iter().map(|name| Layer::of(model, name)?.linear(features)).collect();
        let heads = heads?;
        let logits: usize = heads.iter().map(|h| h.0.outputs()).sum();
        let agents = if central { config.setting.agents } else { 1 };
        if agents == 0 || !logits.is_multiple_of(agents) {
            return Err(Error::BadModel(format!("{logits} logits do not serve {agents} agents alike")));
        }
        Ok(Policy {
            encoder: (plan, packed),
            rounds,
            hidden,
            heads,
            value: Layer::of(model, "value")?.linear(features)?,
            turns: Arc::new(crate::network::turns(&group)?),
            group,
            actions: logits / agents,
            config: config.clone(),
        })
    }

    /// What made the network.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// The number of message rounds.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The number of actions of one agent.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The number of floats in a message of round `l`, or in the final features if `l` is the number of rounds.
    pub fn message_len(&self, l: usize) -> usize {
        match l.checked_sub(1).and_then(|before| self.rounds.get(before)) {
            Some((round, _)) => round.outputs(),
            None => self.encoder.0.features(),
        }
    }

    fn check_local(&self) -> Result<()> {
        if self.config.kind.is_central() {
            return Err(Error::BadBatch(format!(
                "a {} network decides for the whole team at once and has no local view",
                self.config.kind
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
        features.resize(self.encoder.0.features(), 0.0);
        Ok(self.encoder.0.encode(&self.encoder.1, picture, &mut scratch.encoder, features)?)
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
        let Some((round, packed)) = self.rounds.get(l) else {
            return Err(Error::BadBatch(format!(
                "there is no round {l}; this network has {}",
                self.rounds.len()
            )));
        };
        out.resize(round.outputs(), 0.0);
        Ok(round.one(own, edges, received, packed, &mut scratch.input, out)?)
    }

    /// The decision from the features after the last round.
    ///
    /// # Errors
    /// If the features have another length, or the network is central.
    pub fn decide(&self, features: &[f32]) -> Result<Decision> {
        self.check_local()?;
        let (mut logits, mut log_probabilities) = (vec![0.0; self.actions], vec![0.0; self.actions]);
        let (head, packed) = &self.heads[0];
        head.forward(packed, features, false, &mut logits)?;
        log_softmax(&logits, self.actions, &mut log_probabilities)?;
        let mut value = [0.0];
        self.value.0.forward(&self.value.1, features, false, &mut value)?;
        Ok(Decision { log_probabilities, value: value[0] })
    }

    /// Log-probabilities and values of many states at once.
    ///
    /// # Errors
    /// If the batch was made for another world.
    pub fn forward(&self, batch: &Batch) -> Result<Judgement> {
        self.run(batch, |_, _, _| {})
    }

    /// As [`Policy::forward`], with the features after every layer that has some.
    ///
    /// # Errors
    /// As [`Policy::forward`].
    pub fn explain(&self, batch: &Batch) -> Result<(Judgement, Vec<Features>)> {
        let mut layers = vec![];
        let said = self.run(batch, |name, width, rows| {
            layers.push(Features { name: name.into(), width, rows: rows.to_vec() });
        })?;
        Ok((said, layers))
    }

    /// That every row of the batch has a picture and a turn that this network knows.
    fn check_rows(&self, batch: &Batch, images: usize) -> Result<()> {
        let rows = if self.config.kind.is_central() { batch.states() } else { batch.agents() };
        let agents = if self.config.kind.is_central() { rows * self.config.setting.agents } else { rows };
        let known = |indices: &[u32], count: usize| indices.iter().all(|&i| (i as usize) < count);
        let turns = self.turns.elements();
        if (batch.ids.len(), batch.agents()) == (rows, agents)
            && known(&batch.ids, images)
            && known(&batch.elements, turns)
            && batch.group.as_ref().is_none_or(|g| *g == self.group)
        {
            return Ok(());
        }
        Err(Error::BadBatch(format!(
            "the batch was not made for this {} network under {}: use its sharing and its world",
            self.config.kind, self.config.group
        )))
    }

    fn run(&self, batch: &Batch, mut visit: impl FnMut(&str, usize, &[f32])) -> Result<Judgement> {
        let images = batch.pictures.len() / self.encoder.0.picture_len();
        self.check_rows(batch, images)?;
        let mut encoded = vec![0.0; images * self.encoder.0.features()];
        let mut saved = encoder::Activations::default();
        self.encoder.0.forward(&self.encoder.1, &batch.pictures, &mut saved, &mut encoded)?;
        let turned = batch.elements.iter().any(|&g| g != 0);
        let spread = Spread {
            width: self.encoder.0.features(),
            ids: batch.ids.clone(),
            turns: turned.then(|| (batch.elements.clone(), self.turns.clone())),
        };
        let mut features = spread.gather(&encoded);
        visit("encoder", spread.width, &features);
        let mut saved = messages::Activations::default();
        for (l, (round, packed)) in self.rounds.iter().enumerate() {
            let mut out = vec![0.0; batch.agents() * round.outputs()];
            round.forward(&batch.graph, &batch.edges, &features, packed, &mut saved, &mut out)?;
            features = out;
            visit(&format!("round{}", l + 1), round.outputs(), &features);
        }
        for (l, (layer, packed)) in self.hidden.iter().enumerate() {
            let mut out = vec![0.0; batch.ids.len() * layer.outputs()];
            layer.forward(packed, &features, true, &mut out)?;
            features = out;
            visit(&format!("hidden{}", l + 1), layer.outputs(), &features);
        }
        let rows = batch.ids.len();
        let mut logits = vec![0.0; batch.agents() * self.actions];
        let all: usize = self.heads.iter().map(|h| h.0.outputs()).sum();
        let mut at = 0;
        for (head, packed) in &self.heads {
            let n = head.outputs();
            let mut out = vec![0.0; rows * n];
            head.forward(packed, &features, false, &mut out)?;
            for (row, part) in logits.chunks_exact_mut(all).zip(out.chunks_exact(n)) {
                row[at..at + n].copy_from_slice(part);
            }
            at += n;
        }
        let mut log_probabilities = vec![0.0; logits.len()];
        log_softmax(&logits, self.actions, &mut log_probabilities)?;
        let mut values = vec![0.0; rows];
        self.value.0.forward(&self.value.1, &features, false, &mut values)?;
        if !self.config.kind.is_central() {
            values = OverTeam { starts: batch.starts.clone(), mean: true }.gather(&values);
        }
        Ok(Judgement { log_probabilities, values })
    }
}

/// A realised layer, by reference.
struct Layer<'a> {
    name: &'a str,
    shape: &'a [usize],
    weight: &'a [f32],
    bias: &'a [f32],
}

impl<'a> Layer<'a> {
    fn of(model: &'a DenseModel, name: &'a str) -> Result<Layer<'a>> {
        let find = |part: &str| -> Result<&'a DenseTensor> {
            let full = format!("{name}.{part}");
            let tensor = model.tensors.get(&full);
            let tensor = tensor.ok_or_else(|| Error::BadModel(format!("`{full}` is missing")))?;
            let numbers = tensor.shape.iter().try_fold(1usize, |n, &x| n.checked_mul(x));
            if numbers != Some(tensor.values.len()) {
                return Err(Error::BadModel(format!("`{full}` does not have the numbers its shape says")));
            }
            Ok(tensor)
        };
        let (weight, bias) = (find("weight")?, find("bias")?);
        if weight.shape.len() < 2 || bias.shape[..] != weight.shape[..1] {
            return Err(Error::BadModel(format!(
                "`{name}` has a weight of shape {:?} and a bias of shape {:?}",
                weight.shape, bias.shape
            )));
        }
        Ok(Layer { name, shape: &weight.shape, weight: &weight.values, bias: &bias.values })
    }

    fn outputs(&self) -> usize {
        self.shape[0]
    }

    fn filter(&self) -> Result<usize> {
        match *self.shape {
            [_, _, k, j] if k == j => Ok(k),
            _ => Err(Error::BadModel(format!("`{}` is no square filter: {:?}", self.name, self.shape))),
        }
    }

    fn linear(&self, inputs: usize) -> Result<(Linear, linear::Packed)> {
        let (layer, mut packed) = (Linear::new(inputs, self.outputs())?, linear::Packed::default());
        layer.pack(self.weight, self.bias, &mut packed)?;
        Ok((layer, packed))
    }
}
