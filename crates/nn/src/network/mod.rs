//! The networks: an encoder, message rounds or hidden layers, and heads for the policy and the value.

mod config;
mod dense;

pub use config::{Kind, NetworkConfig, Setting, Widths};
pub use dense::{DenseModel, DenseTensor};

use crate::batch::{Batch, Sharing};
use crate::error::{Error, Result};
use crate::layers::{
    Encoder, EncoderConfig, EquivariantLinear, EquivariantLinearConfig, Initial, MessageRound,
    MessageRoundConfig, Weights,
};
use crate::ops::{OverTeam, Spread, apply1};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use equimarl_group::{Group, Rep};
use equimarl_kernels::gather::Permutations;
use std::sync::Arc;

/// Filter sizes and strides of the paper's encoders.
const KERNELS: [usize; 2] = [7, 5];
pub(crate) const STRIDES: [usize; 2] = [2, 1];
/// The standard deviation of the policy's initial weights: every action is about as likely at first.
const POLICY_DEVIATION: f64 = 0.01;

/// A policy and value network of any [`Kind`].
///
/// ```
/// use burn::tensor::Device;
/// use equimarl_nn::{Kind, Network, NetworkConfig, Setting};
/// let group = "C4".parse()?;
/// let config = NetworkConfig::paper(Setting::wildlife(3, 7, &group)?, Kind::Equivariant, &group);
/// let network = Network::init(&config, &mut || 0.1, &Device::flex())?;
/// assert_eq!(network.parameter_count(), 25_891);
/// # Ok::<(), equimarl_nn::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct Network {
    encoder: Encoder,
    rounds: Vec<MessageRound>,
    hidden: Vec<EquivariantLinear>,
    policy: Vec<EquivariantLinear>,
    value: EquivariantLinear,
    #[module(skip)]
    facts: Arc<Facts>,
}

/// What does not change while weights do.
#[derive(Clone, Debug)]
struct Facts {
    config: NetworkConfig,
    group: Group,
    actions: usize,
    /// How each element moves group channels: row g holds g^-1 h for all h.
    turns: Arc<Permutations>,
}

/// What a network says about a batch.
#[derive(Clone, Debug)]
pub struct Output {
    /// One row of action logits per agent.
    pub logits: Tensor<2>,
    /// The team's value of each state, \[states, 1\].
    pub values: Tensor<2>,
}

impl Network {
    /// Builds a network with fresh weights; `normal` gives independent standard normal numbers.
    ///
    /// # Errors
    /// If the config does not make a network.
    pub fn init(config: &NetworkConfig, normal: &mut dyn FnMut() -> f64, device: &Device) -> Result<Network> {
        config.check()?;
        let group = config.group()?;
        let (setting, widths) = (&config.setting, &config.widths);
        let central = config.kind.is_central();
        let [first, second] = widths.convolutions;
        let mut features = config.channels(&group, second)?;
        let encoder = EncoderConfig {
            picture: if central { setting.central_picture } else { setting.picture },
            hidden: config.channels(&group, first)?,
            features: features.clone(),
            kernels: KERNELS,
            strides: STRIDES,
        }
        .init(normal, device)?;
        let (mut rounds, mut hidden) = (vec![], vec![]);
        for &width in &widths.rounds {
            let output = config.channels(&group, width)?;
            let round = MessageRoundConfig { features, edge: plane_rep(&group)?, output: output.clone() };
            rounds.push(round.init(normal, device)?);
            features = output;
        }
        for &width in &widths.hidden {
            let output = config.channels(&group, width)?;
            let layer = EquivariantLinearConfig::new(features, output.clone()).with_relu();
            hidden.push(layer.init(normal, device)?);
            features = output;
        }
        let heads: &[String] =
            if central { &setting.central_heads } else { std::slice::from_ref(&setting.actions) };
        let small = Initial::Deviation(POLICY_DEVIATION);
        let mut policy = vec![];
        for head in heads {
            let output = Rep::parse(&group, head)?;
            let layer = EquivariantLinearConfig::new(features.clone(), output).with_initial(small);
            policy.push(layer.init(normal, device)?);
        }
        let value = EquivariantLinearConfig::new(features, Rep::trivial(&group)).init(normal, device)?;
        let actions = Rep::parse(&group, &setting.actions)?.dim();
        let decided: usize = policy.iter().map(|p| p.weights.space().output().dim()).sum();
        if central && decided != setting.agents * actions {
            return Err(Error::BadNetwork(format!(
                "a central network under {group} cannot decide for {} agents of `{}`: its heads give {decided} logits",
                setting.agents, setting.world
            )));
        }
        let turns = Arc::new(turns(&group)?);
        let facts = Arc::new(Facts { config: config.clone(), group: group.clone(), actions, turns });
        Ok(Network { encoder, rounds, hidden, policy, value, facts })
    }

    /// Logits and values of a batch, differentiable if the device is.
    ///
    /// # Panics
    /// If the batch was made for another world.
    pub fn forward(&self, batch: &Batch) -> Output {
        assert!(
            batch.group.as_ref().is_none_or(|g| g == self.group()),
            "the batch shares pictures by another group than {}",
            self.group()
        );
        let encoded = self.encoder.forward(batch.pictures.clone());
        let mut features = apply1(self.spread(batch), encoded);
        for round in &self.rounds {
            features = round.forward(features, &batch.graph, &batch.edges);
        }
        for layer in &self.hidden {
            features = layer.forward(features);
        }
        let values = self.value.forward(features.clone());
        if self.is_central() {
            let heads: Vec<Tensor<2>> = self.policy.iter().map(|p| p.forward(features.clone())).collect();
            // One row per state, its agents side by side: reading it row by row gives one row per agent.
            let logits = Tensor::cat(heads, 1).reshape([batch.agents(), self.facts.actions]);
            return Output { logits, values };
        }
        let logits = self.policy[0].forward(features);
        Output { logits, values: apply1(OverTeam { starts: batch.starts.clone(), mean: true }, values) }
    }

    /// How rows are copied from distinct pictures of this batch.
    pub(crate) fn spread(&self, batch: &Batch) -> Spread {
        let turned = batch.elements.iter().any(|&g| g != 0);
        Spread {
            width: self.encoder.plan().features(),
            ids: batch.ids.clone(),
            turns: turned.then(|| (batch.elements.clone(), self.facts.turns.clone())),
        }
    }

    /// What made this network.
    pub fn config(&self) -> &NetworkConfig {
        &self.facts.config
    }

    /// The symmetry group.
    pub fn group(&self) -> &Group {
        &self.facts.group
    }

    /// The number of actions of one agent.
    pub fn actions(&self) -> usize {
        self.facts.actions
    }

    /// Whether one network decides for the whole team.
    pub fn is_central(&self) -> bool {
        self.facts.config.kind.is_central()
    }

    /// The best way to share pictures in batches for this network.
    pub fn sharing(&self) -> Sharing {
        if self.group().order() > 1 { Sharing::Orbits(self.group().clone()) } else { Sharing::Distinct }
    }

    /// The layers with their names, in the order of the network.
    pub fn layers(&self) -> Vec<(String, &Weights)> {
        let mut layers = vec![
            ("conv1".to_string(), &self.encoder.conv1.weights),
            ("conv2".to_string(), &self.encoder.conv2.weights),
        ];
        layers.extend(self.rounds.iter().enumerate().map(|(i, r)| (format!("round{}", i + 1), &r.weights)));
        layers.extend(self.hidden.iter().enumerate().map(|(i, l)| (format!("hidden{}", i + 1), &l.weights)));
        let many = self.policy.len() > 1;
        layers.extend(self.policy.iter().enumerate().map(|(i, l)| {
            let name = if many { format!("policy{}", i + 1) } else { "policy".into() };
            (name, &l.weights)
        }));
        layers.push(("value".into(), &self.value.weights));
        layers
    }

    fn layers_mut(&mut self) -> Vec<&mut Weights> {
        let mut layers = vec![&mut self.encoder.conv1.weights, &mut self.encoder.conv2.weights];
        layers.extend(self.rounds.iter_mut().map(|r| &mut r.weights));
        layers.extend(self.hidden.iter_mut().map(|l| &mut l.weights));
        layers.extend(self.policy.iter_mut().map(|l| &mut l.weights));
        layers.push(&mut self.value.weights);
        layers
    }

    /// The number of trainable coefficients.
    pub fn parameter_count(&self) -> usize {
        self.layers().iter().flat_map(|(_, w)| w.space().ranks()).sum()
    }

    /// All trainable coefficients by name (`conv1.weight`, `conv1.bias`, ...), in the order of the network.
    pub fn parameters(&self) -> Vec<(String, Vec<f32>)> {
        let mut all = vec![];
        for (name, weights) in self.layers() {
            let [weight, bias] = weights.coefficients();
            all.push((format!("{name}.weight"), weight));
            if !bias.is_empty() {
                all.push((format!("{name}.bias"), bias));
            }
        }
        all
    }

    /// Replaces all coefficients, in the order of [`Network::parameters`].
    ///
    /// # Errors
    /// If their numbers do not fit. Layers before the one that does not fit are replaced.
    pub fn set_parameters(&mut self, values: impl IntoIterator<Item = Vec<f32>>) -> Result<()> {
        let mut values = values.into_iter();
        for weights in self.layers_mut() {
            let weight = values.next().unwrap_or_default();
            let bias =
                if weights.space().ranks()[1] > 0 { values.next().unwrap_or_default() } else { vec![] };
            weights.set([weight, bias])?;
        }
        match values.next() {
            None => Ok(()),
            Some(_) => Err(Error::BadModel("it has more parameters than this network".into())),
        }
    }

    /// The gradients of all coefficients after a backward pass, in the order of [`Network::parameters`].
    pub fn gradients(&self, gradients: &burn::tensor::Gradients) -> Vec<Vec<f32>> {
        let mut all = vec![];
        for (_, weights) in self.layers() {
            for parameter in std::iter::once(&weights.weight).chain(&weights.bias) {
                let tensor = parameter.val();
                let length = tensor.dims()[0];
                let found = tensor.grad(gradients).and_then(|g| g.into_data().try_to_vec().ok());
                // A parameter that the loss does not depend on has no gradient.
                all.push(found.unwrap_or_else(|| vec![0.0; length]));
            }
        }
        all
    }
}

/// How each element moves the |G| channels of a regular block: (L_g f)\[h\] = f\[g^-1 h\].
pub(crate) fn turns(group: &Group) -> Result<Permutations> {
    let row = |g| {
        let back = group.inverse(g);
        group.elements().map(move |h| group.mul(back, h) as u32)
    };
    Ok(Permutations::new(group.order(), group.elements().flat_map(row).collect())?)
}

/// How edge vectors turn: the plane itself.
fn plane_rep(group: &Group) -> Result<Rep> {
    Ok(match Rep::rotation(group, 1) {
        Ok(rep) => rep,
        Err(_) => Rep::natural(group)?,
    })
}
