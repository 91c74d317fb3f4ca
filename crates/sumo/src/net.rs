//! A road net as SUMO's `.net.xml` has it: junctions, roads with their lanes, and the links between lanes.

/// A junction, or the end of a road.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub id: String,
    /// What SUMO calls its kind: `traffic_light`, `priority`, `dead_end`.
    pub kind: String,
    /// x to the right and y upwards, in metres.
    pub at: [f64; 2],
    /// Whom each of its links has to let pass, in the order that [`Link::request`] counts.
    pub yields: Vec<Vec<bool>>,
}

/// A lane of a road.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its name.
    pub id: String,
    /// In metres.
    pub length: f64,
    /// Metres per second.
    pub speed: f64,
    /// Who may use it, and how wide it is, as text.
    pub rules: String,
    /// Whether cars may use it. Pavements, cycle tracks, rails and lanes for buses are not what lights here look at.
    pub cars: bool,
    /// Its middle line.
    pub shape: Vec<[f64; 2]>,
}

/// A road in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Its name.
    pub id: String,
    /// The junction where it begins.
    pub from: usize,
    /// The junction where it ends.
    pub to: usize,
    /// Its lanes, the rightmost first.
    pub lanes: Vec<Lane>,
    /// How important it is, as text.
    pub priority: String,
}

impl Edge {
    /// Its lanes for cars, the rightmost first.
    pub fn for_cars(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.lanes.len()).filter(|&k| self.lanes[k].cars)
    }

    /// Whether cars may use it.
    pub fn has_cars(&self) -> bool {
        self.for_cars().next().is_some()
    }
}

/// Which way a link turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// To the right.
    Right,
    /// Straight on.
    Straight,
    /// To the left.
    Left,
    /// Back to where it came from.
    Back,
}

/// A link from a lane to a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The road it comes from, and which of its lanes.
    pub from: (usize, usize),
    /// The road it leads to, and which of its lanes.
    pub to: (usize, usize),
    /// Which way it turns.
    pub way: Way,
    /// The light that it obeys, and its place among that light's letters.
    pub light: Option<(String, usize)>,
    /// Its place among all links of its junction: the rules of who yields to whom count like this.
    pub request: usize,
}

/// A crossing for people on foot that has a light.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The light that it obeys, and its place among that light's letters.
    pub light: (String, usize),
    /// The roads that it crosses.
    pub edges: Vec<usize>,
}

/// The net's own program of a light.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The light.
    pub light: String,
    /// Seconds by which it is late.
    pub offset: f64,
    /// Seconds and letters.
    pub phases: Vec<(f64, String)>,
    /// All else that is said of it and of its phases, as text: its kind, how short and long they may be.
    pub rules: String,
}

/// A road net.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Net {
    /// Junctions and ends of roads.
    pub nodes: Vec<Node>,
    /// Roads.
    pub edges: Vec<Edge>,
    /// Links between them.
    pub links: Vec<Link>,
    /// Crossings with lights.
    pub crossings: Vec<Crossing>,
    /// The program that every light runs: its last.
    pub programs: Vec<Program>,
}

impl Net {
    /// Links that lead out of a road.
    pub fn after(&self, edge: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |l| l.from.0 == edge)
    }
}
