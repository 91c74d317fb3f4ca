//! The layers of a network, built from its plan; free of weights.

use crate::batch::Batch;
use crate::config::NetworkConfig;
use crate::error::{Error, Result};
use crate::features::FeatureEncoders;
use crate::layers::{Dictionary, EdgeRound, Encoder, EncoderConfig, Linear, MessageRound, Messages, Space};
use crate::plan::{KERNELS, Plan, Role, STRIDES};
use equimarl_group::{Group, Rep};
use equimarl_kernels::gather::Permutations;
use std::ops::Range;

/// What turns an observation into features.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Of images.
    Images(Box<Encoder>),
    /// Of feature vectors, agents' and others'.
    Features(Box<FeatureEncoders>),
}

impl Input {
    /// Features per observation.
    pub fn width(&self) -> usize {
        match self {
            Input::Images(encoder) => encoder.features(),
            Input::Features(encoders) => encoders.agents().outputs(),
        }
    }

    /// How many distinct observations there are in a batch.
    pub fn distinct(&self, batch: &Batch) -> usize {
        match self {
            Input::Images(encoder) => batch.images.count(encoder.picture_len()),
            Input::Features(_) => batch.vectors.len(),
        }
    }

    fn parameters(&self) -> usize {
        match self {
            Input::Images(encoder) => encoder.parameters(),
            Input::Features(encoders) => encoders.parameters(),
        }
    }

    fn spaces(&self) -> Box<dyn Iterator<Item = &Space> + '_> {
        match self {
            Input::Images(encoder) => Box::new(encoder.spaces().iter()),
            Input::Features(encoders) => Box::new(encoders.spaces()),
        }
    }
}

/// A layer between the encoder and the heads.
#[derive(Clone, Debug)]
pub(crate) enum Trunk {
    /// Agents hear their neighbours.
    Round(MessageRound),
    /// Agents hear their neighbours and other senders, edge by edge.
    Edges(EdgeRound),
    /// A hidden layer of a central network.
    Hidden(Linear),
}

impl Trunk {
    /// Features per row.
    pub fn outputs(&self) -> usize {
        match self {
            Trunk::Round(round) => round.outputs(),
            Trunk::Edges(round) => round.outputs(),
            Trunk::Hidden(layer) => layer.outputs(),
        }
    }

    fn parameters(&self) -> usize {
        match self {
            Trunk::Round(round) => round.parameters(),
            Trunk::Edges(round) => round.parameters(),
            Trunk::Hidden(layer) => layer.parameters(),
        }
    }

    fn spaces(&self) -> Box<dyn Iterator<Item = &Space> + '_> {
        match self {
            Trunk::Round(round) => Box::new([round.space()].into_iter()),
            Trunk::Edges(round) => Box::new(round.spaces()),
            Trunk::Hidden(layer) => Box::new(layer.parts().iter()),
        }
    }
}

/// The layers of a plan, built: bases are solved and tables are filled. Free of weights.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    pub config: NetworkConfig,
    pub group: Group,
    pub plan: Plan,
    /// Actions of one agent.
    pub actions: usize,
    /// Numbers that agents are told, beside all features.
    pub told: usize,
    /// The order of the group of agents' tokens; 0 if they have none.
    pub tokens: usize,
    /// How each element moves group channels: row g holds g^-1 h for all h.
    pub turns: Permutations,
    pub input: Input,
    /// The way for images that are made of few parts.
    pub dictionary: Option<Dictionary>,
    pub trunk: Vec<Trunk>,
    /// All policy heads and the value, side by side.
    pub head: Linear,
    /// What agents say to each other in each round, without what they are told.
    pub messages: Vec<Rep>,
    /// The names of the trunk's layers.
    pub names: Vec<String>,
    /// The parameters of the encoder, of each layer of the trunk, and of the heads.
    pub ranges: Vec<Range<usize>>,
}

impl Layers {
    pub fn new(config: &NetworkConfig) -> Result<Layers> {
        let plan = config.plan()?;
        let group = config.group()?;
        let edge = config.edge_rep(&config.carrier()?)?;
        let role = |role: Role| plan.layers.iter().filter(move |layer| layer.role == role);
        let (input, mut features, senders) = match config.interface.sees_features() {
            true => {
                let (encoders, features, senders) = FeatureEncoders::new(config, &plan)?;
                (Input::Features(Box::new(encoders)), features, senders)
            }
            false => {
                let (encoder, features) = picture_encoder(config, &plan)?;
                (Input::Images(Box::new(encoder)), features, vec![])
            }
        };
        let (mut trunk, mut names, mut messages, mut gated) = (vec![], vec![], vec![], vec![]);
        let mut own = features.clone();
        features = config.told(&group, &features)?;
        for layer in &plan.layers {
            if let (Role::Message, Some(shape)) = (layer.role, &layer.gate) {
                // Those of agents come first.
                let sent = match gated.len() {
                    0 => Some(&features),
                    kind => senders[kind - 1].as_ref(),
                };
                gated.push(Messages::gated(&features, &edge, sent, shape)?);
                continue;
            }
            trunk.push(match layer.role {
                Role::Round => Trunk::Round(MessageRound::new(&features, &edge, &layer.output)?),
                Role::Update if layer.gate.is_some() => {
                    Trunk::Edges(EdgeRound::of(std::mem::take(&mut gated), layer.dense()?, &features))
                }
                // The update ends a round; the messages before it follow from it.
                Role::Update => Trunk::Edges(EdgeRound::new(&features, &edge, &senders, &layer.output)?),
                Role::Hidden => {
                    Trunk::Hidden(Linear::new(&layer.input, std::slice::from_ref(&layer.output), true)?)
                }
                _ => continue,
            });
            messages.push(own);
            names.push(layer.name.trim_end_matches(".update").to_string());
            own = layer.result()?;
            features = config.told(&group, &own)?;
        }
        let heads: Vec<_> = role(Role::Policy).chain(role(Role::Value)).map(|l| l.output.clone()).collect();
        let head = Linear::new(&features, &heads, false)?;
        let agents = if config.kind.is_central() { config.interface.agents } else { 1 };
        let mut ranges: Vec<Range<usize>> = vec![];
        let sizes = trunk.iter().map(Trunk::parameters);
        for size in [input.parameters()].into_iter().chain(sizes).chain([head.parameters()]) {
            let start = ranges.last().map_or(0, |r| r.end);
            ranges.push(start..start + size);
        }
        Ok(Layers {
            config: config.clone(),
            told: config.told_len(&group)?,
            tokens: config.token_order()?,
            turns: turns(&group)?,
            actions: (head.outputs() - 1) / agents,
            dictionary: match &input {
                Input::Images(encoder) => Dictionary::new(encoder, &group).filter(|_| !dense_only()),
                Input::Features(_) => None,
            },
            group,
            input,
            trunk,
            head,
            messages: if config.kind.is_central() { vec![] } else { messages },
            names,
            ranges,
            plan,
        })
    }

    /// The spaces of all layers, in the order of the plan.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.input.spaces().chain(self.trunk.iter().flat_map(Trunk::spaces)).chain(self.head.parts())
    }
}

/// The encoder of a plan that looks at images, and what it gives.
fn picture_encoder(config: &NetworkConfig, plan: &Plan) -> Result<(Encoder, Rep)> {
    let mut convolutions = plan.layers.iter().filter(|layer| layer.role == Role::Convolution);
    let (Some(first), Some(second)) = (convolutions.next(), convolutions.next()) else {
        return Err(Error::BadNetwork("an encoder of images has two convolutions".into()));
    };
    let encoder = Encoder::new(&EncoderConfig {
        image: config.image(),
        hidden: first.output.clone(),
        features: second.output.clone(),
        kernels: KERNELS,
        strides: STRIDES,
    })?;
    Ok((encoder, second.output.clone()))
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
