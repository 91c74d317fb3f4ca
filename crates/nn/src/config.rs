//! What network: for which world, of which kind, under which group, how wide.

use crate::error::{Error, Result};
use equimarl_group::{Element, Group, Plane, Rep};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The kinds of networks. The augmentation methods train the plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Distributed, equivariant.
    Equivariant,
    /// Distributed, without symmetry.
    Plain,
    /// One network for the whole team, equivariant.
    CentralEquivariant,
    /// One network for the whole team, without symmetry.
    CentralPlain,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Equivariant, Kind::Plain, Kind::CentralEquivariant, Kind::CentralPlain];

    /// The name in configs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Equivariant => "equivariant",
            Kind::Plain => "plain",
            Kind::CentralEquivariant => "central-equivariant",
            Kind::CentralPlain => "central-plain",
        }
    }

    /// Whether one network decides for the whole team.
    pub fn is_central(self) -> bool {
        matches!(self, Kind::CentralEquivariant | Kind::CentralPlain)
    }

    /// Whether the network has no symmetry built in.
    pub fn is_plain(self) -> bool {
        matches!(self, Kind::Plain | Kind::CentralPlain)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|k| k.name()).collect();
            Error::BadNetwork(format!("no network is called `{name}`; there are {}", names.join(", ")))
        })
    }
}

/// What a network needs to know about its world, as representations of its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The world's name.
    pub world: String,
    /// The number of agents that it was made for. Distributed networks run with any number.
    pub agents: usize,
    /// Channels, height and width of an agent's picture.
    pub picture: [usize; 3],
    /// How the group permutes an agent's actions.
    pub actions: String,
    /// Channels, height and width of the picture of the whole state, for central networks.
    pub central_picture: [usize; 3],
    /// The heads of a central network: together they give all agents' logits in order.
    pub central_heads: Vec<String>,
}

impl Setting {
    /// Wildlife monitoring: stay and four moves, which turn with the plane.
    ///
    /// # Errors
    /// If the group does not act on the plane, the grid is too small for the convolutions, or there is no team.
    pub fn wildlife(drones: usize, grid: usize, group: &Group) -> Result<Setting> {
        const MOVES: [[i32; 2]; 5] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];
        let plane = Plane::new(group)?;
        let turn = |g: Element, action: usize| {
            MOVES.iter().position(|&m| m == plane.vector(g, MOVES[action])).unwrap_or(action)
        };
        if !(5..=MAX_GRID).contains(&grid) || grid.is_multiple_of(2) {
            return Err(Error::BadNetwork(format!(
                "networks need an odd grid of 5 to {MAX_GRID} cells per side, not {grid}"
            )));
        }
        check_team(drones)?;
        let actions = permutation(group, 5, turn);
        let size = 3 * grid;
        Ok(Setting {
            world: "wildlife".into(),
            agents: drones,
            picture: [1, size, size],
            central_picture: [drones, size, size],
            central_heads: vec![actions.clone(); drones],
            actions,
        })
    }

    /// Traffic lights: two phases, which a quarter turn exchanges; a turn also moves the junctions.
    ///
    /// # Errors
    /// If the group does not act on the plane, or there are no junctions.
    pub fn traffic(rows: usize, cols: usize, group: &Group) -> Result<Setting> {
        let plane = Plane::new(group)?;
        check_team(rows.saturating_mul(cols))?;
        let swaps = |g: Element| plane.matrix(g)[0][0] == 0;
        let turn = |g: Element, action: usize| if swaps(g) { 1 - action } else { action };
        // Twice the offset from the centre is a whole number; the world turned by a quarter has cols x rows junctions.
        let junction = |g: Element, agent: usize| {
            let offset = |x: usize, n: usize| 2 * x as i32 - (n as i32 - 1);
            let [y, x] = plane.vector(g, [offset(agent / cols, rows), offset(agent % cols, cols)]);
            let (height, width) = if swaps(g) { (cols, rows) } else { (rows, cols) };
            let back = |v: i32, n: usize| ((v + n as i32 - 1) / 2) as usize;
            back(y, height) * width + back(x, width)
        };
        let team = if rows != cols && group.elements().any(swaps) {
            // The city itself has no quarter turn, so a central network under it does not exist; local ones do.
            vec![]
        } else {
            vec![permutation(group, 2 * rows * cols, |g, k| 2 * junction(g, k / 2) + turn(g, k % 2))]
        };
        Ok(Setting {
            world: "traffic".into(),
            agents: rows * cols,
            picture: [3, 35, 35],
            actions: permutation(group, 2, turn),
            central_picture: [3, 5 * (8 * rows - 1), 5 * (8 * cols - 1)],
            central_heads: team,
        })
    }
}

/// Far above any world of ours; below, no size that follows overflows.
const MAX_GRID: usize = 1023;
const MAX_TEAM: usize = 1 << 20;

pub(crate) fn check_team(agents: usize) -> Result<()> {
    if agents == 0 || agents > MAX_TEAM {
        return Err(Error::BadNetwork(format!("a team has 1 to {MAX_TEAM} agents, not {agents}")));
    }
    Ok(())
}

/// A permutation of `n` things per generator, as text; `to(g, k)` is where g sends k. Without generators that move
/// anything it is so many trivial ones.
fn permutation(group: &Group, n: usize, to: impl Fn(Element, usize) -> usize) -> String {
    let lists: Vec<Vec<usize>> = group
        .generators()
        .iter()
        .map(|&g| {
            let mut gather = vec![0; n];
            (0..n).for_each(|k| gather[to(g, k)] = k);
            gather
        })
        .collect();
    if lists.iter().all(|list| list.is_sorted()) {
        return format!("{n}*trivial");
    }
    let text = |list: &Vec<usize>| list.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    format!("perm[{}]", lists.iter().map(text).collect::<Vec<_>>().join("; "))
}

/// Widths in plain channels: a group of order |G| gets floor(n / sqrt|G|) group channels for n of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Widths {
    /// Channels of the two convolutions.
    pub convolutions: [usize; 2],
    /// Features after each message round (distributed networks).
    pub rounds: Vec<usize>,
    /// Features after each hidden layer (central networks).
    pub hidden: Vec<usize>,
}

impl Widths {
    /// The paper's.
    pub fn paper(kind: Kind) -> Widths {
        let (rounds, hidden) = match kind {
            Kind::Equivariant | Kind::Plain => (vec![64, 64], vec![]),
            Kind::CentralEquivariant => (vec![], vec![128, 64]),
            Kind::CentralPlain => (vec![], vec![256]),
        };
        Widths { convolutions: [16, 32], rounds, hidden }
    }
}

/// Everything that makes a network but its weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// The world.
    pub setting: Setting,
    /// The kind of network.
    pub kind: Kind,
    /// The symmetry group; C1 for plain networks.
    pub group: String,
    /// The widths.
    pub widths: Widths,
}

/// The largest width that we build.
pub(crate) const MAX_WIDTH: usize = 4096;

impl NetworkConfig {
    /// The paper's network for this world.
    pub fn paper(setting: Setting, kind: Kind, group: &Group) -> NetworkConfig {
        NetworkConfig { setting, kind, group: group.name().into(), widths: Widths::paper(kind) }
    }

    /// The group.
    ///
    /// # Errors
    /// If it is not one, does not turn pictures, or the network is plain and the group is not trivial.
    pub fn group(&self) -> Result<Group> {
        let group: Group = self.group.parse()?;
        Plane::new(&group)?;
        if self.kind.is_plain() && group.order() > 1 {
            return Err(Error::BadNetwork(format!(
                "a {} network has no symmetry; its group is C1, not {group}",
                self.kind
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
