//! A net as its lights see it: every junction with a light has up to four approaches, from the east, north, west and south,
//! and a choice of phases. The same eight phases everywhere, so that the same weights drive any junction:
//!
//! ```text
//! 0, 1   straight on and right from both sides of an axis (east-west, north-south); left turns yield
//! 2, 3   left turns from both sides of an axis, if they have lanes of their own
//! 4..7   everything from one approach: east, north, west, south
//! ```
//!
//! A phase that a junction does not have is masked.

use crate::net::{Net, Way};
use equimarl_worlds::{Error, Result};
use std::collections::HashMap;

/// The number of phases.
pub const PHASES: usize = 8;
/// Lanes of an approach that are told apart, from the right; further ones count as the last.
pub const LANES: usize = 4;
/// Where approaches come from.
pub const COMPASS: [&str; 4] = ["east", "north", "west", "south"];

/// Roads that lead to a junction from one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Approach {
    /// The road that ends at the stop line.
    pub edge: usize,
    /// Roads before it, as far as nothing branches off.
    pub tail: Vec<usize>,
    /// Where the first of them begins.
    pub begins: usize,
    /// Which ways each of its lanes leads, from the right.
    pub ways: Vec<[bool; 3]>,
    /// Places among the light's letters, with lane, way and the road that the link leads to.
    pub links: Vec<(usize, usize, Way, usize)>,
}

/// A junction with a light.
#[derive(Clone, Debug, PartialEq)]
pub struct Junction {
    /// The light's name.
    pub light: String,
    /// Its node.
    pub node: usize,
    /// From the east, north, west and south.
    pub approaches: [Option<Approach>; 4],
    /// The letters of each phase, where it has it.
    pub phases: [Option<String>; PHASES],
}

/// A net and its junctions.
#[derive(Clone, Debug, PartialEq)]
pub struct City {
    /// The net.
    pub net: Net,
    /// Its junctions with lights, row by row from the north-west.
    pub junctions: Vec<Junction>,
    /// Roads where vehicles come in.
    pub entries: Vec<usize>,
    /// Road and number of every lane by its name.
    pub lanes: HashMap<String, (usize, usize)>,
    /// Whom each junction hears.
    pub neighbours: Vec<Vec<usize>>,
}

impl City {
    /// Looks at a net.
    ///
    /// # Errors
    /// If it has no lights, or a light that is not of one junction with at most four approaches.
    pub fn new(net: Net) -> Result<City> {
        let mut of_light: Vec<(&str, Vec<usize>)> = vec![];
        for (l, link) in net.links.iter().enumerate() {
            let Some((light, _)) = &link.light else { continue };
            match of_light.iter_mut().find(|(other, _)| other == light) {
                Some((_, links)) => links.push(l),
                None => of_light.push((light, vec![l])),
            }
        }
        if of_light.is_empty() {
            return Err(bad(
                "it has no traffic lights: nobody could decide anything (netconvert --tls.guess adds some)",
            ));
        }
        let mut junctions: Vec<Junction> =
            of_light.iter().map(|(light, links)| junction(&net, light, links)).collect::<Result<_>>()?;
        let place = |j: &Junction| {
            let [x, y] = net.nodes[j.node].at;
            ((-y * 10.0).round() as i64, (x * 10.0).round() as i64)
        };
        junctions.sort_by_key(place);
        let comes_in = |e: &usize| {
            let edge = &net.edges[*e];
            net.links.iter().all(|l| l.to.0 != *e)
                && net.after(*e).next().is_some()
                && may_drive(&edge.lanes[0].rules)
        };
        let mut entries: Vec<usize> = (0..net.edges.len()).filter(comes_in).collect();
        entries.sort_by(|a, b| net.edges[*a].id.cmp(&net.edges[*b].id));
        let lanes = net.edges.iter().enumerate();
        let lanes = lanes
            .flat_map(|(e, edge)| edge.lanes.iter().enumerate().map(move |(k, l)| (l.id.clone(), (e, k))));
        let lanes = lanes.collect();
        let mut neighbours = vec![vec![]; junctions.len()];
        for (i, here) in junctions.iter().enumerate() {
            for approach in here.approaches.iter().flatten() {
                if let Some(j) =
                    junctions.iter().position(|j| j.node == approach.begins && j.node != here.node)
                {
                    neighbours[i].push(j);
                    neighbours[j].push(i);
                }
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        Ok(City { junctions, entries, lanes, neighbours, net })
    }

    /// The middle of all junctions and ends of roads.
    pub fn centre(&self) -> [f64; 2] {
        let side = |k: usize| {
            let all = self.net.nodes.iter().map(|n| n.at[k]);
            let (low, high) = all.fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
            (low + high) / 2.0
        };
        [side(0), side(1)]
    }
}

fn may_drive(rules: &str) -> bool {
    !rules.starts_with("pedestrian") && !rules.starts_with("bicycle")
}

/// More than any light has.
const MOST_LINKS: usize = 1000;

fn bad(why: impl Into<String>) -> Error {
    Error::BadWorld(why.into())
}

/// The junction of a light with these links.
fn junction(net: &Net, light: &str, links: &[usize]) -> Result<Junction> {
    let node = net.edges[net.links[links[0]].from.0].to;
    let mut edges: Vec<usize> = vec![];
    for link in links.iter().map(|&l| &net.links[l]) {
        if net.edges[link.from.0].to != node {
            return Err(bad(format!(
                "light {light} controls several junctions; build the net without joined lights (netconvert --tls.join false)"
            )));
        }
        if !edges.contains(&link.from.0) {
            edges.push(link.from.0);
        }
    }
    if edges.len() > 4 {
        return Err(bad(format!(
            "junction {light} has {} approaches with lights; at most four can be driven",
            edges.len()
        )));
    }
    let angles: Vec<f64> = edges.iter().map(|&e| angle(net, e)).collect();
    let mut approaches = [const { None }; 4];
    for (&edge, side) in edges.iter().zip(sides(&angles)) {
        approaches[side] = Some(approach(net, edge, links));
    }
    let mut places: Vec<usize> = links.iter().filter_map(|&l| Some(net.links[l].light.as_ref()?.1)).collect();
    places.sort_unstable();
    places.dedup();
    // A net that lost roads keeps the letters of links that are gone.
    if let Some(place) = places.last().filter(|p| **p >= MOST_LINKS) {
        return Err(bad(format!(
            "light {light} has a link with the index {place}; at most {MOST_LINKS} links can be driven"
        )));
    }
    let program = net.programs.iter().find(|p| p.light == light).and_then(|p| p.phases.first());
    let count = program.map_or(0, |p| p.1.len()).max(places.last().map_or(0, |p| p + 1));
    let yields = Yields { places, rows: &net.nodes[node].yields };
    let phases = std::array::from_fn(|phase| letters(&approaches, phase, count, &yields));
    Ok(Junction { light: light.into(), node, approaches, phases })
}

/// Where a road comes from at its end, as an angle against the east, counter-clockwise, in quarter turns.
fn angle(net: &Net, edge: usize) -> f64 {
    let shape = &net.edges[edge].lanes[0].shape;
    let [end, before] = [shape[shape.len() - 1], shape[shape.len() - 2]];
    (before[1] - end[1]).atan2(before[0] - end[0]) / std::f64::consts::FRAC_PI_2
}

/// A side of the compass for each of up to four angles, all different, so that they are off by as little as can be.
fn sides(angles: &[f64]) -> Vec<usize> {
    let off = |angle: f64, side: usize| {
        let d = (angle - side as f64).rem_euclid(4.0);
        d.min(4.0 - d).powi(2)
    };
    let mut best = (f64::MAX, vec![]);
    let mut chosen = vec![0; angles.len()];
    for code in 0..4usize.pow(angles.len() as u32) {
        let mut rest = code;
        chosen.fill_with(|| {
            let side = rest % 4;
            rest /= 4;
            side
        });
        let distinct = (1..chosen.len()).all(|i| !chosen[..i].contains(&chosen[i]));
        let total: f64 = angles.iter().zip(&chosen).map(|(&a, &s)| off(a, s)).sum();
        if distinct && total < best.0 {
            best = (total, chosen.clone());
        }
    }
    best.1
}

fn approach(net: &Net, edge: usize, links: &[usize]) -> Approach {
    let mut own: Vec<(usize, usize, Way, usize)> = vec![];
    let mut ways = vec![[false; 3]; net.edges[edge].lanes.len()];
    for link in links.iter().map(|&l| &net.links[l]).filter(|l| l.from.0 == edge) {
        let Some((_, place)) = link.light else { continue };
        own.push((place, link.from.1, link.way, link.to.0));
        ways[link.from.1][link.way as usize] = true;
    }
    own.sort_unstable();
    // Upstream, as long as there is one way in and one way out.
    let (mut tail, mut begins) = (vec![], net.edges[edge].from);
    let mut here = edge;
    loop {
        let mut before: Vec<usize> = net.links.iter().filter(|l| l.to.0 == here).map(|l| l.from.0).collect();
        before.dedup();
        let [only] = before[..] else { break };
        let branches = net.after(only).any(|l| l.to.0 != here || l.light.is_some());
        if branches || tail.contains(&only) || only == edge {
            break;
        }
        tail.push(only);
        begins = net.edges[only].from;
        here = only;
    }
    Approach { edge, tail, begins, ways, links: own }
}

/// Who has to let whom pass, by places among the letters of a light. The net numbers links without gaps.
struct Yields<'a> {
    places: Vec<usize>,
    rows: &'a [Vec<bool>],
}

impl Yields<'_> {
    fn to(&self, place: usize, other: usize) -> bool {
        let (Ok(a), Ok(b)) = (self.places.binary_search(&place), self.places.binary_search(&other)) else {
            return false;
        };
        self.rows.get(a).and_then(|row| row.get(b)).copied().unwrap_or(false)
    }
}

/// The letters of a phase, if the junction has it. Two links that go at the same time and cross: one of them yields.
fn letters(
    approaches: &[Option<Approach>; 4],
    phase: usize,
    count: usize,
    yields: &Yields<'_>,
) -> Option<String> {
    let mut letters = vec![b'r'; count];
    let open: Vec<(usize, Way)> = match phase {
        0..=3 => {
            let [one, other] = [approaches[phase % 2].as_ref()?, approaches[phase % 2 + 2].as_ref()?];
            let both = || [one, other].into_iter().flat_map(|a| a.links.iter().map(move |l| (a, l)));
            let left = |way: Way| way == Way::Left;
            if phase < 2 {
                both().map(|(_, &(place, _, way, _))| (place, way)).collect()
            } else {
                let lefts: Vec<_> = both().filter(|(_, l)| left(l.2)).collect();
                let own_lane =
                    |(a, l): &(&Approach, &(usize, usize, Way, usize))| a.ways[l.1] == [false, false, true];
                if lefts.is_empty() || !lefts.iter().all(own_lane) {
                    return None;
                }
                lefts.into_iter().map(|(_, l)| (l.0, Way::Straight)).collect()
            }
        }
        _ => approaches[phase - 4].as_ref()?.links.iter().map(|l| (l.0, Way::Straight)).collect(),
    };
    for &(place, way) in &open {
        letters[place] = if way == Way::Left { b'g' } else { b'G' };
    }
    for &(place, _) in &open {
        if open.iter().any(|&(other, _)| other != place && yields.to(place, other)) {
            letters[place] = b'g';
        }
    }
    open.iter()
        .any(|&(place, _)| letters[place] == b'G')
        .then(|| String::from_utf8_lossy(&letters).into_owned())
}
