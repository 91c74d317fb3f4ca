//! What network: for which world, of which kind, under which group, how wide.

use crate::error::{Error, Result};
use crate::gaussian::Squash;
use equimarl_group::{Group, Plane, Rep, Symmetry};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The kinds of networks. The augmentation methods train the plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkKind {
    /// Distributed, equivariant.
    Equivariant,
    /// Distributed, without symmetry.
    Plain,
    /// One network for the whole team, equivariant.
    CentralEquivariant,
    /// One network for the whole team, without symmetry.
    CentralPlain,
    /// Distributed, equivariant at first, with weights that may leave the symmetry.
    Relaxed,
}

impl NetworkKind {
    /// All kinds.
    pub const ALL: [NetworkKind; 5] = [
        NetworkKind::Equivariant,
        NetworkKind::Plain,
        NetworkKind::CentralEquivariant,
        NetworkKind::CentralPlain,
        NetworkKind::Relaxed,
    ];

    /// The name in configs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            NetworkKind::Equivariant => "equivariant",
            NetworkKind::Plain => "plain",
            NetworkKind::CentralEquivariant => "central-equivariant",
            NetworkKind::CentralPlain => "central-plain",
            NetworkKind::Relaxed => "relaxed",
        }
    }

    /// Whether one network decides for the whole team.
    pub fn is_central(self) -> bool {
        matches!(self, NetworkKind::CentralEquivariant | NetworkKind::CentralPlain)
    }

    /// Whether the network has no symmetry built in.
    pub fn is_plain(self) -> bool {
        matches!(self, NetworkKind::Plain | NetworkKind::CentralPlain)
    }
}

impl fmt::Display for NetworkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for NetworkKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<NetworkKind> {
        NetworkKind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| {
            let names: Vec<&str> = NetworkKind::ALL.iter().map(|k| k.name()).collect();
            Error::BadNetwork(format!("no network is called `{name}`; there are {}", names.join(", ")))
        })
    }
}

/// What a network needs to know about its world, as representations of its group. Agents see images, or feature vectors;
/// what stands for the other is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The world's name.
    pub world: String,
    /// The number of agents that it was made for. Distributed networks run with any number.
    pub agents: usize,
    /// Channels, height and width of an agent's image; zeros if it sees feature vectors.
    #[serde(alias = "picture")]
    pub image: [usize; 3],
    /// How the group permutes an agent's actions, or acts on them if they are vectors.
    pub actions: String,
    /// Into what vectors are squashed, if agents act by vectors: then the policy head gives a mean and the logarithm of a
    /// deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<Squash>,
    /// Channels, height and width of the image of the whole state, for central networks.
    #[serde(alias = "team_image")]
    #[serde(alias = "central_picture")]
    pub team_image: [usize; 3],
    /// The heads of a central network: together they give all agents' logits in order.
    #[serde(alias = "team_heads")]
    #[serde(alias = "central_heads")]
    pub team_heads: Vec<String>,
    /// How the group acts on what an agent knows of itself: `3*trivial + 2*rotation`. Empty if it sees images.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub features: String,
    /// For each action, the number among the features that says whether an agent may take it; empty if it always may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub legal: Vec<usize>,
    /// How the group acts on edge vectors; empty for vectors of the plane.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub edge: String,
    /// What agents hear besides each other, if they see feature vectors: landmarks, depots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub senders: Vec<SenderKind>,
    /// How the group acts on what breaks the symmetry, if the network is told: a wind. It enters every round.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// How the group acts on an agent's token, if it has one: a random number and a random group element per episode, `trivial +
    /// regular`. It enters every round.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tokens: String,
}

/// Things that are heard but do not act.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SenderKind {
    /// Its name, in lower-case letters, digits and dashes: the names of its layers have it.
    pub name: String,
    /// How the group acts on the features of one; empty if it has nothing to tell but where it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub features: String,
}

impl Interface {
    /// Whether agents see feature vectors and not images.
    pub fn sees_features(&self) -> bool {
        !self.features.is_empty()
    }
}

/// Far above any world of ours; below, no size that follows overflows.
const MAX_TEAM: usize = 1 << 20;

pub(crate) fn check_team(agents: usize) -> Result<()> {
    if agents == 0 || agents > MAX_TEAM {
        return Err(Error::BadNetwork(format!("a team has 1 to {MAX_TEAM} agents, not {agents}")));
    }
    Ok(())
}

/// Widths in plain channels: a group of order |G| gets floor(n / sqrt|G|) group channels for n of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Widths {
    /// Channels of the two convolutions; zeros where agents see feature vectors.
    pub convolutions: [usize; 2],
    /// Features after each message round (distributed networks); messages that are made edge by edge are as wide as the
    /// features after their round.
    pub rounds: Vec<usize>,
    /// Features after each hidden layer: of central networks, and of the encoders of feature vectors.
    pub hidden: Vec<usize>,
}

impl Widths {
    /// The paper's.
    pub fn paper(kind: NetworkKind) -> Widths {
        let (rounds, hidden) = match kind {
            NetworkKind::Equivariant | NetworkKind::Plain | NetworkKind::Relaxed => (vec![64, 64], vec![]),
            NetworkKind::CentralEquivariant => (vec![], vec![128, 64]),
            NetworkKind::CentralPlain => (vec![], vec![256]),
        };
        Widths { convolutions: [16, 32], rounds, hidden }
    }

    /// The paper's for images; for feature vectors two layers and two rounds of 64.
    pub fn usual(kind: NetworkKind, interface: &Interface) -> Widths {
        if interface.sees_features() {
            return Widths { convolutions: [0, 0], rounds: vec![64, 64], hidden: vec![64, 64] };
        }
        Widths::paper(kind)
    }
}

/// Everything that makes a network but its weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// The world.
    #[serde(alias = "interface")]
    #[serde(alias = "setting")]
    pub interface: Interface,
    /// The kind of network.
    pub kind: NetworkKind,
    /// The symmetry: a group, `SO2` or `O2`; C1 for plain networks.
    pub group: String,
    /// The channels of all hidden layers under SO2 or O2, such as `32*freq0 + 16*freq1 + 8*freq2`; empty for what the widths
    /// make of them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channels: String,
    /// The widths.
    pub widths: Widths,
}

/// The largest width that we build.
pub(crate) const MAX_WIDTH: usize = 4096;

impl NetworkConfig {
    /// The usual network for this world: the paper's if agents see images.
    pub fn usual(interface: Interface, kind: NetworkKind, group: &Group) -> NetworkConfig {
        NetworkConfig::under(interface, kind, &Symmetry::Finite(group.clone()))
    }

    /// The usual network for this world under any symmetry.
    pub fn under(interface: Interface, kind: NetworkKind, symmetry: &Symmetry) -> NetworkConfig {
        let widths = Widths::usual(kind, &interface);
        NetworkConfig { interface, kind, group: symmetry.name().into(), channels: String::new(), widths }
    }

    /// The symmetry.
    ///
    /// # Errors
    /// If there is none of this name, or it is that of all turns and agents do not see and act by vectors.
    pub fn symmetry(&self) -> Result<Symmetry> {
        let symmetry: Symmetry = self.group.parse()?;
        let bad = |why: &str| Err(Error::BadNetwork(format!("{symmetry} turns by every angle, and {why}")));
        if symmetry.is_finite() {
            return match self.channels.is_empty() {
                true => Ok(symmetry),
                false => Err(Error::BadNetwork(format!(
                    "`channels` are for SO2 and O2; under {symmetry} all hidden layers are regular"
                ))),
            };
        }
        if self.kind.is_central() || !self.interface.sees_features() {
            return bad("pixels do not: use C1, C2, C4, D1, D2 or D4");
        }
        if self.interface.vectors.is_none() {
            return bad("no permutation of choices does: use actions that are vectors, or D4");
        }
        Ok(symmetry)
    }

    /// The finite group that its layers are solved under: the group, or one whose maps are those of SO2 or O2.
    pub(crate) fn carrier(&self) -> Result<Group> {
        self.group()?;
        Ok(self.symmetry()?.carrier()?)
    }

    /// The group; of SO2 and O2 the quarter turns and mirrors, under which worlds are put.
    ///
    /// # Errors
    /// If it is not one, does not turn images or the plane where there are some, or the network is plain and the group is
    /// not trivial.
    pub fn group(&self) -> Result<Group> {
        let group = self.symmetry()?.finite()?;
        if !self.interface.sees_features() || self.interface.edge.is_empty() {
            Plane::new(&group)?;
        }
        if self.kind.is_plain() && group.order() > 1 {
            return Err(Error::BadNetwork(format!(
                "a {} network has no symmetry; its group is C1, not {}",
                self.kind, self.group
            )));
        }
        Ok(group)
    }

    /// Group channels for `width` plain channels.
    pub(crate) fn channels(&self, group: &Group, width: usize) -> Result<Rep> {
        let count = (width as f64 / (group.order() as f64).sqrt()).floor() as usize;
        if count == 0 || width > MAX_WIDTH {
            return Err(Error::BadNetwork(format!(
                "a width of {width} gives {count} channels under {group}; widths are between {} and {MAX_WIDTH}",
                (group.order() as f64).sqrt().ceil()
            )));
        }
        Ok(Rep::regular(group)?.copies(count)?)
    }
}
