//! A road net as SUMO's `.net.xml` has it: junctions, roads with their lanes, and the links between lanes.

use crate::xml::tags;
use equimarl_worlds::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// A junction, or the end of a road.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub id: String,
    /// What SUMO calls its kind: `traffic_light`, `priority`, `dead_end`.
    pub kind: String,
    /// x to the right and y upwards, in metres.
    pub at: [f64; 2],
    /// Whom each link has to let pass, by link.
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
}

/// Which way a link turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// To the right.
    Right,
    /// Straight on.
    Straight,
    /// To the left, or back.
    Left,
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
}

/// The net's own program of a light.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The light.
    pub light: String,
    /// Seconds and letters.
    pub phases: Vec<(f64, String)>,
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
    /// The first program of every light.
    pub programs: Vec<Program>,
}

impl Net {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is no net, naming the file.
    pub fn read(path: &Path) -> Result<Net> {
        let bad = |why: String| Error::BadWorld(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        Net::parse(&text).map_err(|error| bad(format!("{error}; give a net as SUMO's netconvert writes it")))
    }

    /// Reads the text of a net.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Net> {
        let bad = |why: String| Error::BadWorld(why);
        let tags = tags(text)?;
        if tags.first().is_none_or(|t| t.name != "net") {
            return Err(bad("it is no road net".into()));
        }
        let mut net = Net::default();
        let (mut ends, mut nodes, mut edges) = (vec![], HashMap::new(), HashMap::new());
        let mut inside = false;
        for tag in &tags {
            match (tag.name, tag.ends) {
                ("edge", true) => inside = false,
                ("edge", false) => {
                    // Those inside of junctions follow from the others.
                    inside = tag.get("function").is_none_or(|f| f == "normal");
                    if inside {
                        let id = tag.need("id")?.to_string();
                        edges.insert(id.clone(), net.edges.len());
                        ends.push([tag.need("from")?.to_string(), tag.need("to")?.to_string()]);
                        net.edges.push(Edge { id, from: 0, to: 0, lanes: vec![] });
                    }
                }
                ("lane", false) if inside => {
                    let rules = ["allow", "disallow", "width"].map(|k| tag.get(k).unwrap_or_default());
                    let lane = Lane {
                        id: tag.need("id")?.into(),
                        length: tag.number("length")?,
                        speed: tag.number("speed")?,
                        rules: rules.join("|"),
                        shape: shape(tag.need("shape")?)?,
                    };
                    net.edges.last_mut().into_iter().for_each(|edge| edge.lanes.push(lane.clone()));
                }
                ("junction", false) if tag.get("type") != Some("internal") => {
                    let id = tag.need("id")?.to_string();
                    nodes.insert(id.clone(), net.nodes.len());
                    let at = [tag.number("x")?, tag.number("y")?];
                    net.nodes.push(Node { id, kind: tag.need("type")?.into(), at, yields: vec![] });
                }
                ("request", false) => {
                    // The last letter is the first link.
                    let response = tag.need("response")?.bytes().rev().map(|b| b == b'1').collect();
                    net.nodes.last_mut().into_iter().for_each(|n| n.yields.push(Vec::clone(&response)));
                }
                ("connection", false) => {
                    let ends = (edges.get(tag.need("from")?), edges.get(tag.need("to")?));
                    let (Some(&from), Some(&to)) = ends else { continue };
                    let way = match tag.get("dir") {
                        Some("r" | "R") => Way::Right,
                        Some("l" | "L" | "t") => Way::Left,
                        _ => Way::Straight,
                    };
                    let light = match tag.get("tl") {
                        Some(light) => Some((light.to_string(), tag.number("linkIndex")?)),
                        None => None,
                    };
                    let link = Link {
                        from: (from, tag.number("fromLane")?),
                        to: (to, tag.number("toLane")?),
                        way,
                        light,
                    };
                    let there = |(e, lane): (usize, usize)| lane < net.edges[e].lanes.len();
                    if !there(link.from) || !there(link.to) {
                        return Err(bad(format!(
                            "a connection from {} names a lane that is not there",
                            net.edges[from].id
                        )));
                    }
                    net.links.push(link);
                }
                ("tlLogic", false) => {
                    net.programs.push(Program { light: tag.need("id")?.into(), phases: vec![] });
                }
                ("phase", false) => {
                    let phase = (tag.number("duration")?, tag.need("state")?.to_string());
                    net.programs.last_mut().into_iter().for_each(|p| p.phases.push(phase.clone()));
                }
                _ => {}
            }
        }
        for (edge, [from, to]) in net.edges.iter_mut().zip(&ends) {
            let node = |id: &String| {
                nodes
                    .get(id)
                    .copied()
                    .ok_or_else(|| bad(format!("road {} ends at {id}, which is not there", edge.id)))
            };
            (edge.from, edge.to) = (node(from)?, node(to)?);
            if edge.lanes.is_empty() {
                return Err(bad(format!("road {} has no lanes", edge.id)));
            }
        }
        // The first program of a light is what it runs.
        let mut seen = std::collections::HashSet::new();
        net.programs.retain(|p| seen.insert(p.light.clone()));
        Ok(net)
    }

    /// Roads that lead out of a road.
    pub fn after(&self, edge: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |l| l.from.0 == edge)
    }
}

fn shape(text: &str) -> Result<Vec<[f64; 2]>> {
    let point = |text: &str| {
        let mut numbers = text.split(',').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(x)), Some(Ok(y))) => Ok([x, y]),
            _ => Err(Error::BadWorld(format!("`{text}` is no point of a shape"))),
        }
    };
    let points: Vec<[f64; 2]> = text.split_whitespace().map(point).collect::<Result<_>>()?;
    if points.len() < 2 {
        return Err(Error::BadWorld(format!("a shape has at least two points, and not `{text}`")));
    }
    Ok(points)
}
