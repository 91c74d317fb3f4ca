//! A net as its lights see it: every junction with a light has up to four approaches, from the east, north, west and south,
//! and a choice of phases. The same eight phases everywhere, so that the same weights drive any junction:
//!
//! ```text
//! 0, 1   straight on and right from both sides of an axis (east-west, north-south); left turns yield
//! 2, 3   left turns from both sides of an axis, if they have lanes of their own
//! 4..7   everything from one approach: east, north, west, south
//! ```
//!
//! A phase that a junction does not have is masked. A light without a choice, such as one that only stops cars for people on
//! foot, keeps its own program.

use crate::junction::junction;
use crate::net::{Link, Net, Way};
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
    /// Its lanes for cars, from the right: the only ones that are seen.
    pub lanes: Vec<usize>,
    /// Which ways each of all its lanes leads, from the right.
    pub ways: Vec<[bool; 3]>,
    /// Places among the light's letters, with lane, way and the road that the link leads to, of lanes for cars.
    pub links: Vec<(usize, usize, Way, usize)>,
    /// Links of the net that go when it goes and are not seen: of buses, bicycles and trams.
    pub others: Vec<usize>,
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
    /// The junction and the side that each road leads to, if it is part of an approach.
    pub approached: Vec<Option<(usize, usize)>>,
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
            return Err(bad(format!(
                "it has no traffic lights: nobody could decide anything{}",
                with_lights(&net)
            )));
        }
        let mut junctions = vec![];
        for (light, links) in &of_light {
            let found = junction(&net, light, links)?;
            junctions.extend((found.phases.iter().flatten().count() > 1).then_some(found));
        }
        if junctions.is_empty() {
            let advice = with_lights(&net);
            return Err(bad(format!(
                "none of its traffic lights has two phases to choose from: nobody could decide anything{advice}"
            )));
        }
        let place = |j: &Junction| {
            let [x, y] = net.nodes[j.node].at;
            ((-y * 10.0).round() as i64, (x * 10.0).round() as i64)
        };
        junctions.sort_by_key(place);
        // Cars may turn back at the end of a road; they still come in there.
        let leads = |l: &&Link| l.way != Way::Back;
        let comes_in = |e: &usize| {
            net.links.iter().filter(leads).all(|l| l.to.0 != *e)
                && net.after(*e).any(|l| leads(&l))
                && net.edges[*e].has_cars()
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
        let mut approached = vec![None; net.edges.len()];
        for (i, junction) in junctions.iter().enumerate() {
            for (side, approach) in junction.approaches.iter().enumerate() {
                let roads = approach.iter().flat_map(|a| a.tail.iter().chain([&a.edge]));
                roads.for_each(|&road| approached[road] = Some((i, side)));
            }
        }
        Ok(City { junctions, entries, approached, lanes, neighbours, net })
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

/// How to get lights: at the junctions where most roads meet, by name. What netconvert guesses leaves out those of two roads.
fn with_lights(net: &Net) -> String {
    let meet = |node: usize| {
        let links = net.links.iter().filter(|l| l.way != Way::Back && net.edges[l.from.0].to == node);
        let mut roads: Vec<usize> = links.map(|l| l.from.0).filter(|&e| net.edges[e].has_cars()).collect();
        roads.sort_unstable();
        roads.dedup();
        roads.len()
    };
    let mut places: Vec<(usize, &str)> =
        net.nodes.iter().enumerate().map(|(n, node)| (meet(n), node.id.as_str())).collect();
    places.retain(|p| (2..=4).contains(&p.0));
    places.sort_by_key(|p| std::cmp::Reverse(p.0));
    let names: Vec<&str> = places.iter().take(3).map(|p| p.1).collect();
    match names.is_empty() {
        true => ", and there is no junction of two to four roads where a light would help".into(),
        false => format!(
            " (netconvert -s THIS.net.xml --tls.set {} -o NEW.net.xml puts lights at these; --tls.guess true --tls.guess.threshold 0 does where \
             more than two roads meet)",
            names.join(",")
        ),
    }
}

fn bad(why: impl Into<String>) -> Error {
    Error::BadWorld(why.into())
}
