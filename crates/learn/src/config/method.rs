//! The ways to learn.

use crate::error::{Error, Result};
use equimarl_nn::NetworkKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a team learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A distributed network with the symmetry built in.
    Equivariant,
    /// A distributed network without symmetry.
    Plain,
    /// The plain network; every state is turned by a random element, in rollouts and in updates.
    AugmentRandom,
    /// The plain network; every minibatch also holds all turned copies.
    AugmentFull,
    /// One network for the whole team with the symmetry built in.
    CentralEquivariant,
    /// One network for the whole team without symmetry.
    CentralPlain,
    /// The equivariant network of the symmetry that is left: of what an audit finds to hold.
    Subgroup,
    /// The equivariant network, told what breaks the symmetry: wind, a tilt.
    Cause,
    /// Equivariant at first, with weights that may leave the symmetry and are pulled back.
    Relaxed,
    /// The plain network, as wide as the equivariant one is when it is realised.
    PlainWide,
}

/// What full augmentation divides the new probability of a turned copy by.
///
/// The action that was taken need not be one that the policy would take in the turned copy. `Copy` starts at a ratio of 1
/// all the same, so bad actions of any probability are pushed down with full weight, without an end: teams collapse
/// (docs/learning.md). `Rollout` weighs each copy by how likely it was, as off-policy learning must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AugmentRatio {
    /// By the probability that the rollout's policy gives the turned action in the turned copy: the paper's preset.
    #[default]
    Copy,
    /// By the probability with which the action was taken.
    Rollout,
}

/// How images become features. Results differ in rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderChoice {
    /// By their parts where parts repeat, pixel by pixel elsewhere, found out by looking at some.
    #[default]
    Auto,
    /// Pixel by pixel.
    Dense,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 10] = [
        Method::Equivariant,
        Method::Plain,
        Method::AugmentRandom,
        Method::AugmentFull,
        Method::CentralEquivariant,
        Method::CentralPlain,
        Method::Subgroup,
        Method::Cause,
        Method::Relaxed,
        Method::PlainWide,
    ];

    /// Everything that there is to know about a method: its name, the network that it trains, and what it does with the
    /// symmetry besides.
    fn about(self) -> (&'static str, NetworkKind, Augmentation) {
        use Augmentation::{Full, Nothing, Random};
        match self {
            Method::Equivariant => ("equivariant", NetworkKind::Equivariant, Nothing),
            Method::Plain => ("plain", NetworkKind::Plain, Nothing),
            Method::AugmentRandom => ("augment-random", NetworkKind::Plain, Random),
            Method::AugmentFull => ("augment-full", NetworkKind::Plain, Full),
            Method::CentralEquivariant => ("central-equivariant", NetworkKind::CentralEquivariant, Nothing),
            Method::CentralPlain => ("central-plain", NetworkKind::CentralPlain, Nothing),
            Method::Subgroup => ("subgroup", NetworkKind::Equivariant, Nothing),
            Method::Cause => ("cause", NetworkKind::Equivariant, Nothing),
            Method::Relaxed => ("relaxed", NetworkKind::Relaxed, Nothing),
            Method::PlainWide => ("plain-wide", NetworkKind::Plain, Nothing),
        }
    }

    /// The name in configs and on the command line.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// The network that it trains.
    pub fn kind(self) -> NetworkKind {
        self.about().1
    }

    /// What it does with transformed copies of states.
    pub fn augmentation(self) -> Augmentation {
        self.about().2
    }

    /// Whether it uses the group, in the network or in the data.
    pub fn uses_symmetry(self) -> bool {
        !self.kind().is_plain() || self.augmentation() != Augmentation::Nothing
    }
}

/// What a method does with transformed copies of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Augmentation {
    /// Nothing.
    Nothing,
    /// Every state is transformed by an element that is drawn.
    Random,
    /// Every minibatch also holds all transformed copies.
    Full,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Method> {
        Method::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Method::ALL.iter().map(|m| m.name()).collect();
            Error::BadConfig(format!("no method is called `{name}`; there are {}", names.join(", ")))
        })
    }
}
