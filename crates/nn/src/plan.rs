//! The layers that a config makes, in order, with their exact sizes. This is the one place that knows them: networks,
//! model files, exports and policies are all made from this list.
//!
//! Building a network solves bases and fills tables; a plan costs a few characters. So a config that came from a file
//! is planned first, compared with what the file holds, and only then built.

use crate::config::{Interface, MAX_WIDTH, NetworkConfig, NetworkKind, check_team};
use crate::error::{Error, Result};
use crate::layers::{Dense, GateShape};
use crate::relaxed::REST;
use equimarl_group::{Group, Plane, Rep, strided_size};
use std::collections::BTreeMap;

mod cost;
mod features;
mod turning;

/// Filter sizes and strides of the paper's encoders.
pub(crate) const KERNELS: [usize; 2] = [7, 5];
pub(crate) const STRIDES: [usize; 2] = [2, 1];

/// The most realised weights of a network. A checkpoint holds every coefficient with two moments, and so stays below
/// 64 MB.
const MAX_WEIGHTS: usize = 1 << 22;
/// The most numbers in an image.
const MAX_PIXELS: usize = 1 << 22;
const MAX_LAYERS: usize = 16;
const MAX_HEADS: usize = 256;
/// The longest text of a group, and of an action representation.
const MAX_GROUP_TEXT: usize = 128;
const MAX_ACTION_TEXT: usize = 1 << 16;
const MAX_NAME: usize = 64;
/// The most numbers of what breaks a symmetry, and of a token.
const MAX_TOLD: usize = 64;
/// The most summands of an action representation.
const MAX_TERMS: usize = 64;

/// A network that is not built yet.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Its layers, in the order of the network.
    pub layers: Vec<Layer>,
    /// Whether weights may leave the symmetry.
    pub relaxed: bool,
}

/// What a layer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// One of the two convolutions of the encoder.
    Convolution,
    /// A layer of an encoder of feature vectors.
    Features,
    /// A message round of the paper's.
    Round,
    /// The messages of one kind of sender, in a round over feature vectors.
    Message,
    /// What ends such a round.
    Update,
    /// A hidden layer of a central network.
    Hidden,
    /// Logits: of an agent, or of one or all agents of a central network.
    Policy,
    /// The value.
    Value,
    /// The hidden layer of a gate.
    Hold,
    /// What a gate scales vectors by.
    Scales,
}

/// What one layer maps to what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    pub name: String,
    pub role: Role,
    pub input: Rep,
    pub output: Rep,
    /// The filter size, if this is a convolution.
    pub kernel: Option<usize>,
    /// What comes after it in place of a ReLU, where channels turn; its own layers follow in the plan.
    pub gate: Option<GateShape>,
}

impl Plan {
    /// Free coefficients of all layers.
    pub fn parameters(&self) -> usize {
        let rest = if self.relaxed { self.layers.iter().map(Layer::rest).sum() } else { 0 };
        self.layers.iter().flat_map(Layer::ranks).sum::<usize>() + rest
    }

    /// The tensors of a model file: coefficients by name. A layer without invariant outputs has no bias.
    pub fn coefficients(&self) -> BTreeMap<String, Vec<usize>> {
        let tensors = self.layers.iter().flat_map(|layer| {
            let [weight, bias] = layer.ranks();
            [(format!("{}.weight", layer.name), vec![weight]), (format!("{}.bias", layer.name), vec![bias])]
        });
        let relaxed = self.layers.iter().filter(|_| self.relaxed);
        let rests = relaxed.map(|layer| (format!("{}.{REST}", layer.name), vec![layer.rest()]));
        tensors.chain(rests).filter(|(_, shape)| shape[0] > 0).collect()
    }

    /// The tensors of a dense export: realised weights and biases by name.
    pub fn realised(&self) -> BTreeMap<String, Vec<usize>> {
        let tensors = self.layers.iter().flat_map(|layer| {
            let bias = vec![layer.output.dim()];
            [(format!("{}.weight", layer.name), layer.shape()), (format!("{}.bias", layer.name), bias)]
        });
        tensors.collect()
    }
}

impl Layer {
    fn new(role: Role, name: impl Into<String>, input: &Rep, output: &Rep) -> Layer {
        Layer {
            name: name.into(),
            role,
            input: input.clone(),
            output: output.clone(),
            kernel: None,
            gate: None,
        }
    }

    fn filter(name: &str, input: &Rep, output: &Rep, kernel: usize) -> Layer {
        Layer { kernel: Some(kernel), ..Layer::new(Role::Convolution, name, input, output) }
    }

    /// It and what bends it, built.
    pub fn dense(&self) -> Result<Dense> {
        match &self.gate {
            None => Dense::relu(&self.input, &self.output),
            Some(shape) => Dense::gated(&self.input, shape),
        }
    }

    /// What comes out after its gate, if it has one.
    pub fn result(&self) -> Result<Rep> {
        self.gate.as_ref().map_or_else(|| Ok(self.output.clone()), GateShape::output)
    }

    /// The numbers of coefficients of the weight and the bias. The dimension of the equivariant maps is the mean over g
    /// of chi_out(g) chi_in(g^-1) times the filter pixels that g leaves in place; of invariant vectors, of chi_out(g).
    pub fn ranks(&self) -> [usize; 2] {
        let group = self.input.group();
        let plane = self.kernel.and_then(|k| Some((k, Plane::new(group).ok()?)));
        let fixed = |g| match &plane {
            Some((k, plane)) => plane.gather(g, *k).iter().enumerate().filter(|&(p, &q)| p == q).count(),
            None => 1,
        };
        let sum: f64 = group
            .elements()
            .map(|g| self.output.character(g) * self.input.character(group.inverse(g)) * fixed(g) as f64)
            .sum();
        [(sum / group.order() as f64).round() as usize, self.output.trivial_multiplicity()]
    }

    /// The number of coefficients that leave the symmetry: all that a weight and a bias have besides.
    pub fn rest(&self) -> usize {
        self.shape().iter().product::<usize>() + self.output.dim() - self.ranks().iter().sum::<usize>()
    }

    /// The shape of the realised weight: \[out, in\], or \[out, in, k, k\].
    pub fn shape(&self) -> Vec<usize> {
        let mut shape = vec![self.output.dim(), self.input.dim()];
        shape.extend(self.kernel.iter().flat_map(|&k| [k, k]));
        shape
    }
}

impl NetworkConfig {
    /// All layers of this network.
    ///
    /// # Errors
    /// If the config does not make a network, or one that is larger than we build.
    pub(crate) fn plan(&self) -> Result<Plan> {
        self.check_sizes()?;
        let group = self.carrier()?;
        let (mut layers, features) = match self.interface.sees_features() {
            true => self.feature_layers(&group)?,
            false => self.image_layers(&group)?,
        };
        for (i, output) in self.heads(&group)?.iter().enumerate() {
            let name = if self.interface.heads(self.kind).len() > 1 {
                format!("policy{}", i + 1)
            } else {
                "policy".into()
            };
            layers.push(Layer::new(Role::Policy, name, &features, output));
        }
        layers.push(Layer::new(Role::Value, "value", &features, &Rep::trivial(&group)));
        let size = |layer: &Layer| layer.shape().iter().fold(1usize, |n, &x| n.saturating_mul(x));
        let weights = layers.iter().map(size).fold(0usize, usize::saturating_add);
        if weights > MAX_WEIGHTS {
            return bad(format!("it would have {weights} weights, and we build at most {MAX_WEIGHTS}"));
        }
        Ok(Plan { layers, relaxed: self.kind == NetworkKind::Relaxed })
    }

    /// The encoder, and the paper's message rounds or the hidden layers of a central network; the features after them.
    fn image_layers(&self, group: &Group) -> Result<(Vec<Layer>, Rep)> {
        let [channels, height, width] = self.image();
        for side in [height, width] {
            // The second filter must fit on what the first one leaves.
            let least = KERNELS[0] + STRIDES[0] * (KERNELS[1] - 1);
            if side < least {
                return bad(format!(
                    "images of {height} x {width} pixels are too small for its filters: they need at least {least} x {least}"
                ));
            }
            let between = strided_size(side, KERNELS[0], STRIDES[0])?;
            strided_size(between, KERNELS[1], STRIDES[1])?;
        }
        let [first, second] = self.widths.convolutions;
        let image = Rep::trivial(group).copies(channels)?;
        let hidden = self.channels(group, first)?;
        let seen = self.channels(group, second)?;
        let mut layers = vec![
            Layer::filter("conv1", &image, &hidden, KERNELS[0]),
            Layer::filter("conv2", &hidden, &seen, KERNELS[1]),
        ];
        let mut features = self.told(group, &seen)?;
        let edge = self.edge_rep(group)?;
        for (i, &width) in self.widths.rounds.iter().enumerate() {
            let output = self.channels(group, width)?;
            let input = features.clone().plus(&edge)?.plus(&features)?;
            layers.push(Layer::new(Role::Round, format!("round{}", i + 1), &input, &output));
            features = self.told(group, &output)?;
        }
        for (i, &width) in self.widths.hidden.iter().enumerate() {
            let output = self.channels(group, width)?;
            layers.push(Layer::new(Role::Hidden, format!("hidden{}", i + 1), &features, &output));
            features = output;
        }
        Ok((layers, features))
    }

    /// How that turns which agents are told besides what they see: what breaks the symmetry, and their tokens.
    fn told_reps(&self, group: &Group) -> Result<Vec<Rep>> {
        let told = [
            ("its cause", "what breaks the symmetry", &self.interface.cause),
            ("its token", "tokens", &self.interface.tokens),
        ];
        let mut found = vec![];
        for (what, them, text) in told {
            match text.as_str() {
                "" => {}
                text if text.len() > MAX_ACTION_TEXT => {
                    return bad(format!("the representation of {what} is too long"));
                }
                _ if self.kind.is_central() => {
                    return bad(format!("a {} network cannot be told {them}", self.kind));
                }
                text => {
                    let rep = Rep::parse(group, text)?;
                    if rep.dim() > MAX_TOLD {
                        let dim = rep.dim();
                        return bad(format!("{what} has {dim} numbers, and at most {MAX_TOLD} can be told"));
                    }
                    found.push(rep);
                }
            }
        }
        Ok(found)
    }

    /// How many numbers agents are told besides what they see.
    pub(crate) fn told_len(&self, group: &Group) -> Result<usize> {
        Ok(self.told_reps(group)?.iter().map(Rep::dim).sum())
    }

    /// The order of the group whose elements are in agents' tokens; 0 if agents have none.
    ///
    /// # Errors
    /// If the config does not say how its group acts on them.
    pub fn token_order(&self) -> Result<usize> {
        match self.interface.tokens.as_str() {
            "" => Ok(0),
            text => match Rep::parse(&self.carrier()?, text)?.dim() {
                0 | 1 => bad("its token has no group element: write `trivial + regular`".into()),
                dim => Ok(dim - 1),
            },
        }
    }

    /// How many numbers of what breaks the symmetry agents are told; 0 if they are not.
    ///
    /// # Errors
    /// If the config does not say how its group acts on them.
    pub fn cause_dim(&self) -> Result<usize> {
        match self.interface.cause.as_str() {
            "" => Ok(0),
            text => Ok(Rep::parse(&self.carrier()?, text)?.dim()),
        }
    }

    /// Features, and what agents are told beside them.
    pub(crate) fn told(&self, group: &Group, features: &Rep) -> Result<Rep> {
        self.told_reps(group)?.iter().try_fold(features.clone(), |all, rep| Ok(all.plus(rep)?))
    }

    /// Channels, height and width of what the network looks at.
    pub fn image(&self) -> [usize; 3] {
        if self.kind.is_central() { self.interface.team_image } else { self.interface.image }
    }

    /// The number of actions of one agent, or of the numbers of a vector by which it acts.
    ///
    /// # Errors
    /// If the config does not say how the group acts on them.
    pub fn actions(&self) -> Result<usize> {
        let group = self.carrier()?;
        Ok(match self.interface.vectors.is_some() {
            false => action_rep(&group, &self.interface.actions)?.dim(),
            true => features::feature_rep(&group, "an action", &self.interface.actions)?.dim(),
        })
    }

    /// How the group permutes the logits of each head.
    fn heads(&self, group: &Group) -> Result<Vec<Rep>> {
        let interface = &self.interface;
        if interface.vectors.is_some() {
            if self.kind.is_central() {
                return bad(format!("a {} network decides by choices, not by vectors", self.kind));
            }
            // The mean turns like the vector, and the deviation is the same in every direction.
            let mean = features::feature_rep(group, "an action", &interface.actions)?;
            return Ok(vec![mean.plus(&Rep::trivial(group))?]);
        }
        let actions = action_rep(group, &interface.actions)?;
        let heads: Result<Vec<Rep>> =
            interface.heads(self.kind).iter().map(|h| action_rep(group, h)).collect();
        let heads = heads?;
        let decided = heads.iter().map(Rep::dim).fold(0usize, usize::saturating_add);
        if self.kind.is_central() && decided != interface.agents.saturating_mul(actions.dim()) {
            return bad(format!(
                "a central network under {group} cannot decide for {} agents of `{}`: its heads give {decided} logits",
                interface.agents, interface.world
            ));
        }
        Ok(heads)
    }

    /// Everything that can be checked without building anything.
    fn check_sizes(&self) -> Result<()> {
        let (interface, widths) = (&self.interface, &self.widths);
        if interface.world.is_empty()
            || interface.world.len() > MAX_NAME
            || interface.world.chars().any(char::is_control)
        {
            return bad(format!("a world's name is one line of 1 to {MAX_NAME} bytes"));
        }
        check_team(interface.agents)?;
        self.check_features()?;
        let sees_features = interface.sees_features();
        let (rounds, hidden) = (widths.rounds.len(), widths.hidden.len());
        let central = self.kind.is_central();
        let (wanted, other) = if central { (hidden, rounds) } else { (rounds, hidden) };
        if !sees_features && (wanted == 0 || wanted > MAX_LAYERS || other != 0) {
            return bad(format!(
                "a distributed network has 1 to {MAX_LAYERS} message rounds and no hidden layers, a central one the \
                 reverse; this {} network has {rounds} and {hidden}",
                self.kind
            ));
        }
        let convolutions = if sees_features { &[][..] } else { &widths.convolutions[..] };
        let mut all = convolutions.iter().chain(&widths.rounds).chain(&widths.hidden);
        if let Some(width) = all.find(|&&w| w == 0 || w > MAX_WIDTH) {
            return bad(format!("widths are between 1 and {MAX_WIDTH}, and {width} is not"));
        }
        // Only the image that the network looks at: a distributed one runs in cities too large to look at as a whole.
        let image = self.image();
        if image.iter().try_fold(1usize, |n, &x| n.checked_mul(x)).is_none_or(|n| n > MAX_PIXELS) {
            return bad(format!("its images have more than {MAX_PIXELS} numbers"));
        }
        if interface.heads(self.kind).len() > MAX_HEADS {
            return bad(format!("a central network has at most {MAX_HEADS} heads"));
        }
        if self.group.len() > MAX_GROUP_TEXT {
            return bad(format!("its group takes more than {MAX_GROUP_TEXT} bytes to write"));
        }
        Ok(())
    }
}

impl Interface {
    /// The heads that a network of this kind has.
    fn heads(&self, kind: NetworkKind) -> &[String] {
        if kind.is_central() { &self.team_heads } else { std::slice::from_ref(&self.actions) }
    }
}

/// How the group permutes actions. Products and images are left out of the language here: a few letters of them
/// make gigabytes, and no team acts by them.
fn action_rep(group: &Group, text: &str) -> Result<Rep> {
    let permuted = |why: &str| {
        bad(format!(
            "a group permutes actions, so write them as a sum of perm[...], trivial, regular and quotient(...); {why}"
        ))
    };
    if text.len() > MAX_ACTION_TEXT {
        return permuted(&format!("this one takes more than {MAX_ACTION_TEXT} bytes"));
    }
    if let Some(word) = ["dual", "tensor", "pixels", "matrix"].iter().find(|w| text.contains(**w)) {
        return permuted(&format!("this one has `{word}`"));
    }
    let rep = Rep::parse(group, text)?;
    match rep.terms().iter().find(|t| !t.atom.is_permutation()) {
        Some(term) => permuted(&format!("`{}` is not a permutation", term.atom.name())),
        None if rep.terms().len() > MAX_TERMS => {
            permuted(&format!("this one has more than {MAX_TERMS} summands"))
        }
        None => Ok(rep),
    }
}

fn bad<T>(why: String) -> Result<T> {
    Err(Error::BadNetwork(why))
}

/// How edge vectors turn: the plane itself.
pub(crate) fn plane_rep(group: &Group) -> Result<Rep> {
    Ok(match Rep::rotation(group, 1) {
        Ok(rep) => rep,
        Err(_) => Rep::natural(group)?,
    })
}
