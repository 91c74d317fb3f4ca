//! What symmetry a net has, found by looking: is there, after a quarter turn about its middle, a junction where one was, a
//! road where one was with the same lanes, a link where one was, a phase where one was?
//!
//! Vehicles drive on one side, so a mirrored city is another city, and only turns are looked for.

use crate::city::{COMPASS, City, PHASES};
use crate::net::Edge;
use std::collections::HashMap;

/// How far apart things may be, in metres, that are at the same place. SUMO writes centimetres.
const NEAR: f64 = 0.1;

/// A turn that maps a net to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Where it takes each junction with a light.
    pub junctions: Vec<usize>,
    /// Where it takes each road.
    pub edges: Vec<usize>,
}

/// What one, two and three quarter turns counter-clockwise do to a net: nothing, or why they do not map it to itself.
pub type Turns = [Result<Turn, String>; 3];

/// Looks for turns.
pub fn turns(city: &City) -> Turns {
    [1, 2, 3].map(|quarters| turn(city, quarters))
}

/// The largest group of turns that a net has.
pub fn group(turns: &Turns) -> &'static str {
    match (&turns[0], &turns[1]) {
        (Ok(_), _) => "C4",
        (_, Ok(_)) => "C2",
        _ => "C1",
    }
}

/// What was found, in words.
pub fn words(turns: &Turns) -> String {
    match (&turns[0], &turns[1]) {
        (Ok(_), _) => "all quarter turns map the net to itself: C4".into(),
        (Err(why), Ok(_)) => format!("half turns map the net to itself: C2. {why}: no quarter turn"),
        (_, Err(why)) => format!("{why}: no turn"),
    }
}

/// The turned point, x to the right and y upwards.
pub fn turned(quarters: usize, [x, y]: [f64; 2], [cx, cy]: [f64; 2]) -> [f64; 2] {
    let (dx, dy) = (x - cx, y - cy);
    let (dx, dy) = match quarters % 4 {
        0 => (dx, dy),
        1 => (-dy, dx),
        2 => (-dx, -dy),
        _ => (dy, -dx),
    };
    [cx + dx, cy + dy]
}

/// The phase that a phase becomes.
pub fn turned_phase(quarters: usize, phase: usize) -> usize {
    match phase {
        0..4 => phase / 2 * 2 + (phase + quarters) % 2,
        _ => 4 + (phase + quarters) % 4,
    }
}

fn turn(city: &City, quarters: usize) -> Result<Turn, String> {
    let (net, centre) = (&city.net, city.centre());
    // Odd junctions first: those with fewer approaches than others say most.
    let count = |j: usize| city.junctions[j].approaches.iter().flatten().count();
    let nodes: Vec<Option<usize>> = net
        .nodes
        .iter()
        .map(|n| {
            let to = turned(quarters, n.at, centre);
            net.nodes.iter().position(|m| (0..2).all(|k| (m.at[k] - to[k]).abs() < NEAR))
        })
        .collect();
    let mut junctions = vec![];
    for (i, junction) in city.junctions.iter().enumerate() {
        let image = nodes[junction.node].and_then(|n| city.junctions.iter().position(|j| j.node == n));
        let Some(image) = image else {
            return Err(format!(
                "where junction {} would be there is no junction with a light",
                junction.light
            ));
        };
        let (here, there) = (count(i), count(image));
        if here != there {
            let (few, small) = if here < there { (here, i) } else { (there, image) };
            let name = &city.junctions[small].light;
            return Err(format!(
                "junction {name} has {} approaches",
                ["no", "one", "two", "three", "four"][few.min(4)]
            ));
        }
        junctions.push(image);
    }
    let by_ends: HashMap<(usize, usize), usize> =
        net.edges.iter().enumerate().map(|(e, edge)| ((edge.from, edge.to), e)).collect();
    let mut edges = vec![];
    for edge in &net.edges {
        let image = match (nodes[edge.from], nodes[edge.to]) {
            (Some(from), Some(to)) => by_ends.get(&(from, to)).copied(),
            _ => None,
        };
        let Some(image) = image else {
            return Err(format!("where road {} would be there is none", edge.id));
        };
        if let Some(why) = differ(edge, &net.edges[image]) {
            return Err(format!(
                "road {} and road {}, where it would be, {why}",
                edge.id, net.edges[image].id
            ));
        }
        edges.push(image);
    }
    let links: HashMap<_, _> = net.links.iter().map(|l| ((l.from, l.to), l)).collect();
    for link in &net.links {
        let image = ((edges[link.from.0], link.from.1), (edges[link.to.0], link.to.1));
        let same =
            links.get(&image).is_some_and(|l| l.way == link.way && l.light.is_some() == link.light.is_some());
        if !same {
            let (from, to) = (&net.edges[link.from.0].id, &net.edges[link.to.0].id);
            return Err(format!(
                "where the link from lane {} of {from} to {to} would be there is none",
                link.from.1
            ));
        }
    }
    for (i, &image) in junctions.iter().enumerate() {
        phases(city, quarters, i, image, &edges)?;
    }
    Ok(Turn { junctions, edges })
}

fn differ(a: &Edge, b: &Edge) -> Option<String> {
    if a.lanes.len() != b.lanes.len() {
        return Some(format!("have {} and {} lanes", a.lanes.len(), b.lanes.len()));
    }
    a.lanes.iter().zip(&b.lanes).find_map(|(a, b)| {
        if (a.length - b.length).abs() > NEAR {
            Some(format!("are {} and {} m long", a.length, b.length))
        } else if (a.speed - b.speed).abs() > 1e-6 {
            Some(format!("allow {} and {} m/s", a.speed, b.speed))
        } else {
            (a.rules != b.rules).then(|| "are for different vehicles".into())
        }
    })
}

/// That the phases of a junction are those of its image, letter by letter.
fn phases(city: &City, quarters: usize, i: usize, image: usize, edges: &[usize]) -> Result<(), String> {
    let (here, there) = (&city.junctions[i], &city.junctions[image]);
    for (side, from) in COMPASS.into_iter().enumerate() {
        let (a, b) = (&here.approaches[side], &there.approaches[(side + quarters) % 4]);
        let same = match (a, b) {
            (Some(a), Some(b)) => edges[a.edge] == b.edge && a.links.len() == b.links.len(),
            (None, None) => true,
            _ => false,
        };
        if !same {
            return Err(format!("the approach of {} from the {from} is not turned with it", here.light));
        }
    }
    for phase in 0..PHASES {
        let (a, b) = (&here.phases[phase], &there.phases[turned_phase(quarters, phase)]);
        let letter = |state: &Option<String>, place: usize| state.as_ref().map(|s| s.as_bytes()[place]);
        let same = a.is_some() == b.is_some()
            && (0..4).all(|side| match (&here.approaches[side], &there.approaches[(side + quarters) % 4]) {
                (Some(x), Some(y)) => x.links.iter().all(|l| {
                    let image = y.links.iter().find(|m| (m.1, m.2, m.3) == (l.1, l.2, edges[l.3]));
                    image.is_some_and(|m| letter(a, l.0) == letter(b, m.0))
                }),
                _ => true,
            });
        if !same {
            return Err(format!("phase {phase} of {} is not turned with it", here.light));
        }
    }
    Ok(())
}
