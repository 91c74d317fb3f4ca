//! Reads a net from SUMO's `.net.xml`.

use crate::net::{Crossing, Edge, Lane, Link, Net, Node, Program, Way};
use crate::xml::{Tag, tags};
use equimarl_worlds::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::path::Path;

impl Net {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is no net, naming the file.
    pub fn read(path: &Path) -> Result<Net> {
        let bad = |why: String| Error::BadWorld(format!("{}: {why}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(bad("it is packed; unpack it with gunzip, and give what comes out".into()));
        }
        let text = String::from_utf8(bytes).map_err(|_| bad("it is no text, and so no net".into()))?;
        Net::parse(&text).map_err(|error| bad(format!("{error}; give a net as SUMO's netconvert writes it")))
    }

    /// Reads the text of a net.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Net> {
        let tags = tags(text)?;
        if tags.first().is_none_or(|t| t.name != "net") {
            return Err(bad("it is no road net"));
        }
        // Who turns left there crosses nobody, and who turns right does: phases would have to be others.
        if tags.first().and_then(|t| t.get("lefthand")).is_some_and(|value| value != "false" && value != "0")
        {
            return Err(bad(
                "vehicles keep to the left in it; only nets in which they keep to the right can be driven",
            ));
        }
        let mut reading = Reading::default();
        tags.iter().try_for_each(|tag| reading.take(tag))?;
        reading.finish()
    }
}

/// A net that is being read.
#[derive(Default)]
struct Reading {
    net: Net,
    /// Where the roads begin and end, by name.
    ends: Vec<[String; 2]>,
    edges: HashMap<String, usize>,
    nodes: HashMap<String, usize>,
    /// The lanes that lead to each junction, in the order in which it counts them.
    incoming: Vec<Vec<String>>,
    /// The roads that each crossing crosses, by its name.
    crossed: HashMap<String, Vec<String>>,
    /// Whether what comes next is a lane of a road, and not one inside of a junction.
    inside: bool,
}

impl Reading {
    fn take(&mut self, tag: &Tag<'_>) -> Result<()> {
        match (tag.name, tag.ends) {
            ("edge", true) => self.inside = false,
            ("edge", false) => self.edge(tag)?,
            ("lane", false) if self.inside => {
                let lane = lane(tag)?;
                self.net.edges.last_mut().into_iter().for_each(|edge| edge.lanes.push(lane.clone()));
            }
            ("junction", false) if tag.get("type") != Some("internal") => {
                let id = tag.need("id")?.to_string();
                self.nodes.insert(id.clone(), self.net.nodes.len());
                let at = [finite(tag, "x", &id)?, finite(tag, "y", &id)?];
                self.net.nodes.push(Node { id, kind: tag.need("type")?.into(), at, yields: vec![] });
                let lanes = tag.get("incLanes").unwrap_or_default();
                self.incoming.push(lanes.split_whitespace().map(String::from).collect());
            }
            ("request", false) => {
                // The last letter is the first link.
                let response = tag.need("response")?.bytes().rev().map(|b| b == b'1').collect();
                self.net.nodes.last_mut().into_iter().for_each(|n| n.yields.push(Vec::clone(&response)));
            }
            ("connection", false) => self.connection(tag)?,
            ("tlLogic", false) => {
                let light: String = tag.need("id")?.into();
                // It may be a word, too: `begin`.
                let offset = tag.get("offset").unwrap_or("0");
                let number: Option<f64> = offset.parse().ok();
                let word = if number.is_some() { "" } else { offset };
                let rules = format!("{} {word}", tag.get("type").unwrap_or("static"));
                let offset = number.unwrap_or(0.0);
                self.net.programs.push(Program { light, offset, phases: vec![], rules });
            }
            ("phase", false) => {
                let phase = (tag.number("duration")?, tag.need("state")?.to_string());
                let rules =
                    ["minDur", "maxDur", "next"].map(|key| tag.get(key).unwrap_or_default()).join(" ");
                if let Some(program) = self.net.programs.last_mut() {
                    program.phases.push(phase);
                    program.rules += &format!("|{rules}");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn edge(&mut self, tag: &Tag<'_>) -> Result<()> {
        // Those inside of junctions follow from the others.
        self.inside = tag.get("function").is_none_or(|f| f == "normal");
        let id = tag.need("id")?.to_string();
        if self.inside {
            self.edges.insert(id.clone(), self.net.edges.len());
            self.ends.push([tag.need("from")?.to_string(), tag.need("to")?.to_string()]);
            let priority = tag.get("priority").unwrap_or_default().into();
            self.net.edges.push(Edge { id, from: 0, to: 0, lanes: vec![], priority });
        } else if let Some(crossed) = tag.get("crossingEdges") {
            self.crossed.insert(id, crossed.split_whitespace().map(String::from).collect());
        }
        Ok(())
    }

    fn connection(&mut self, tag: &Tag<'_>) -> Result<()> {
        let light = match tag.get("tl") {
            Some(light) => Some((light.to_string(), tag.number("linkIndex")?)),
            None => None,
        };
        let (from, to) = (tag.need("from")?, tag.need("to")?);
        let (Some(&from), Some(&to)) = (self.edges.get(from), self.edges.get(to)) else {
            let crossed = self.crossed.get(to).or_else(|| self.crossed.get(from));
            if let (Some(light), Some(crossed)) = (light, crossed) {
                let edges = crossed.iter().filter_map(|id| self.edges.get(id).copied()).collect();
                self.net.crossings.push(Crossing { light, edges });
            }
            return Ok(());
        };
        let way = match tag.get("dir") {
            Some("r" | "R") => Way::Right,
            Some("l" | "L") => Way::Left,
            Some("t" | "T") => Way::Back,
            _ => Way::Straight,
        };
        let link = Link {
            from: (from, tag.number("fromLane")?),
            to: (to, tag.number("toLane")?),
            way,
            light,
            request: usize::MAX,
        };
        let there = |(e, lane): (usize, usize)| lane < self.net.edges[e].lanes.len();
        if !there(link.from) || !there(link.to) {
            let road = &self.net.edges[from].id;
            return Err(bad(format!("a connection from {road} names a lane that is not there")));
        }
        self.net.links.push(link);
        Ok(())
    }

    fn finish(mut self) -> Result<Net> {
        for (edge, [from, to]) in self.net.edges.iter_mut().zip(&self.ends) {
            let node = |id: &String| {
                let missing = || bad(format!("road {} ends at {id}, which is not there", edge.id));
                self.nodes.get(id).copied().ok_or_else(missing)
            };
            (edge.from, edge.to) = (node(from)?, node(to)?);
            if edge.lanes.is_empty() {
                return Err(bad(format!("road {} has no lanes", edge.id)));
            }
        }
        self.number_requests()?;
        // Of several programs of a light SUMO runs the last.
        let mut seen = HashSet::new();
        self.net.programs.reverse();
        self.net.programs.retain(|p| seen.insert(p.light.clone()));
        self.net.programs.reverse();
        Ok(self.net)
    }

    /// SUMO counts the links of a junction by the lanes that lead to it, and those of a lane as the file has them. The places
    /// among a light's letters may be any others.
    fn number_requests(&mut self) -> Result<()> {
        let mut of_lane: HashMap<String, Vec<usize>> = HashMap::new();
        for (l, link) in self.net.links.iter().enumerate() {
            let lane = &self.net.edges[link.from.0].lanes[link.from.1];
            of_lane.entry(lane.id.clone()).or_default().push(l);
        }
        for lanes in &self.incoming {
            let links = lanes.iter().filter_map(|lane| of_lane.get(lane)).flatten();
            for (request, &l) in links.enumerate() {
                self.net.links[l].request = request;
            }
        }
        // Without its place nobody knows to whom a link yields, and no phase would be safe.
        match self.net.links.iter().find(|l| l.light.is_some() && l.request == usize::MAX) {
            None => Ok(()),
            Some(link) => {
                let edge = &self.net.edges[link.from.0];
                let node = &self.net.nodes[edge.to].id;
                Err(bad(format!(
                    "junction {node} does not list the lanes of road {} that lead to it",
                    edge.id
                )))
            }
        }
    }
}

fn bad(why: impl Into<String>) -> Error {
    Error::BadWorld(why.into())
}

/// A number that is one: `nan` and `inf` are written like numbers.
fn finite(tag: &Tag<'_>, key: &str, of: &str) -> Result<f64> {
    let number: f64 = tag.number(key)?;
    if number.is_finite() { Ok(number) } else { Err(bad(format!("`{key}` of {of} is {number}"))) }
}

fn lane(tag: &Tag<'_>) -> Result<Lane> {
    let id = tag.need("id")?.to_string();
    let above_zero = |key: &str, unit: &str| match finite(tag, key, &id)? {
        number if number > 0.0 => Ok(number),
        number => Err(bad(format!("`{key}` of lane {id} is {number} {unit}; it has to be more than 0"))),
    };
    let rules = ["allow", "disallow", "width"].map(|k| tag.get(k).unwrap_or_default());
    Ok(Lane {
        length: above_zero("length", "m")?,
        speed: above_zero("speed", "m/s")?,
        rules: rules.join("|"),
        cars: may_drive(tag.get("allow"), tag.get("disallow")),
        shape: shape(tag.need("shape")?)?,
        id,
    })
}

/// Whether cars may use a lane that has these lists of kinds of vehicles.
fn may_drive(allow: Option<&str>, disallow: Option<&str>) -> bool {
    let names = |list: &str| list.split_whitespace().any(|kind| kind == "passenger" || kind == "all");
    match (allow, disallow) {
        (Some(allow), _) => names(allow),
        (None, Some(disallow)) => !names(disallow),
        (None, None) => true,
    }
}

fn shape(text: &str) -> Result<Vec<[f64; 2]>> {
    let point = |text: &str| {
        let mut numbers = text.split(',').map(|n| n.parse().ok().filter(|x: &f64| x.is_finite()));
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(x), Some(y)) => Ok([x, y]),
            _ => Err(bad(format!("`{text}` is no point of a shape"))),
        }
    };
    let points: Vec<[f64; 2]> = text.split_whitespace().map(point).collect::<Result<_>>()?;
    if points.len() < 2 {
        return Err(bad(format!("a shape has at least two points, and not `{text}`")));
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::may_drive;

    #[test]
    fn lanes_for_others_are_told_from_those_for_cars() {
        for (allow, disallow, cars) in [
            (None, None, true),
            (Some("pedestrian"), None, false),
            (Some("bus taxi"), None, false),
            (Some("rail tram"), None, false),
            (Some("passenger bus"), None, true),
            (Some("all"), None, true),
            (None, Some("pedestrian bicycle"), true),
            (None, Some("passenger"), false),
            (None, Some("all"), false),
        ] {
            assert_eq!(may_drive(allow, disallow), cars, "{allow:?} {disallow:?}");
        }
    }
}
