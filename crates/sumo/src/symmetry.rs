//! What symmetry a net has, found by looking: is there, after a quarter turn about its middle, a junction where one was, a
//! road where one was with the same lanes, a link where one was that yields to the same others, a phase where one was, and where
//! a light keeps its own program, the same program?
//!
//! Vehicles drive on one side, so a mirrored city is another city, and only turns are looked for.

use crate::city::{COMPASS, City, PHASES};
use crate::net::{Edge, Net};
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
    let nodes: Vec<Option<usize>> = net
        .nodes
        .iter()
        .map(|n| {
            let to = turned(quarters, n.at, centre);
            net.nodes.iter().position(|m| near(m.at, to))
        })
        .collect();
    let junctions = junctions(city, &nodes)?;
    for (node, image) in net.nodes.iter().zip(&nodes) {
        let Some(image) = image.map(|i| &net.nodes[i]) else {
            return Err(format!("where junction {} would be there is none", node.id));
        };
        if node.kind != image.kind {
            return Err(format!(
                "junction {} is of the kind {}, and {}, where it would be, of the kind {}",
                node.id, node.kind, image.id, image.kind
            ));
        }
    }
    let edges = roads(net, &nodes, |p| turned(quarters, p, centre))?;
    let images = links(net, &nodes, &edges)?;
    programs(city, &edges, &images)?;
    for (i, &image) in junctions.iter().enumerate() {
        phases(city, quarters, i, image, &edges)?;
    }
    Ok(Turn { junctions, edges })
}

fn near(a: [f64; 2], b: [f64; 2]) -> bool {
    (0..2).all(|k| (a[k] - b[k]).abs() < NEAR)
}

/// Where junctions with lights go. Odd ones are found first: those with fewer approaches than others say most.
fn junctions(city: &City, nodes: &[Option<usize>]) -> Result<Vec<usize>, String> {
    let count = |j: usize| city.junctions[j].approaches.iter().flatten().count();
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
    Ok(junctions)
}

/// Where roads go. Of several roads between the same two junctions, each goes to the one that lies where it would be.
fn roads(
    net: &Net,
    nodes: &[Option<usize>],
    turn: impl Fn([f64; 2]) -> [f64; 2],
) -> Result<Vec<usize>, String> {
    let mut by_ends: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (e, edge) in net.edges.iter().enumerate() {
        by_ends.entry((edge.from, edge.to)).or_default().push(e);
    }
    let mut edges: Vec<usize> = vec![];
    let mut taken = vec![false; net.edges.len()];
    for edge in &net.edges {
        let there = match (nodes[edge.from], nodes[edge.to]) {
            (Some(from), Some(to)) => by_ends.get(&(from, to)).map_or(&[][..], Vec::as_slice),
            _ => &[],
        };
        let middle = turn(middle(edge));
        let off = |e: usize| {
            let [x, y] = self::middle(&net.edges[e]);
            (x - middle[0]).hypot(y - middle[1])
        };
        let free = there.iter().copied().filter(|&e| !taken[e]);
        let Some(image) = free.min_by(|&a, &b| off(a).total_cmp(&off(b))) else {
            return Err(format!("where road {} would be there is none", edge.id));
        };
        if let Some(why) = differ(edge, &net.edges[image]) {
            return Err(format!(
                "road {} and road {}, where it would be, {why}",
                edge.id, net.edges[image].id
            ));
        }
        taken[image] = true;
        edges.push(image);
    }
    Ok(edges)
}

/// A point that tells a road from others with the same ends: the mean of what its first lane passes.
fn middle(edge: &Edge) -> [f64; 2] {
    let shape = &edge.lanes[0].shape;
    [0, 1].map(|k| shape.iter().map(|p| p[k]).sum::<f64>() / shape.len() as f64)
}

/// That links are where links were, that at junctions without lights the same ones yield to the same ones, and that people on foot
/// cross the same roads. Where links go.
fn links(net: &Net, nodes: &[Option<usize>], edges: &[usize]) -> Result<Vec<usize>, String> {
    let by_ends: HashMap<_, _> = net.links.iter().enumerate().map(|(l, k)| ((k.from, k.to), l)).collect();
    let mut images = vec![];
    for link in &net.links {
        let image = ((edges[link.from.0], link.from.1), (edges[link.to.0], link.to.1));
        let image = by_ends.get(&image).copied().filter(|&l| {
            net.links[l].way == link.way && net.links[l].light.is_some() == link.light.is_some()
        });
        let Some(image) = image else {
            let (from, to) = (&net.edges[link.from.0].id, &net.edges[link.to.0].id);
            return Err(format!(
                "where the link from lane {} of {from} to {to} would be there is none",
                link.from.1
            ));
        };
        images.push(image);
    }
    let mut of_node: Vec<Vec<usize>> = vec![vec![]; net.nodes.len()];
    net.links.iter().enumerate().for_each(|(l, link)| of_node[net.edges[link.from.0].to].push(l));
    let yields = |node: usize, a: usize, b: usize| {
        let row = net.nodes[node].yields.get(net.links[a].request);
        row.and_then(|row| row.get(net.links[b].request)).copied().unwrap_or(false)
    };
    for (node, own) in of_node.iter().enumerate() {
        let Some(there) = nodes[node] else { continue };
        // Where there is a light, most links that cross never go together, and the letters of phases say who yields of the others.
        if own.iter().any(|&l| net.links[l].light.is_some()) {
            continue;
        }
        let same = |a: usize, b: usize| yields(node, a, b) == yields(there, images[a], images[b]);
        if !own.iter().all(|&a| own.iter().all(|&b| same(a, b))) {
            let (here, there) = (&net.nodes[node].id, &net.nodes[there].id);
            return Err(format!(
                "at junction {here} others have to yield than at {there}, where it would be"
            ));
        }
    }
    let roads = |mut edges: Vec<usize>| {
        edges.sort_unstable();
        edges
    };
    let crossings: Vec<Vec<usize>> = net.crossings.iter().map(|c| roads(c.edges.clone())).collect();
    for crossing in &net.crossings {
        if !crossings.contains(&roads(crossing.edges.iter().map(|&e| edges[e]).collect())) {
            let light = &crossing.light.0;
            return Err(format!("where a crossing for people on foot at {light} would be there is none"));
        }
    }
    Ok(images)
}

/// That lights which keep their own programs have those of their images: of the same kind, as late, with phases that are as long
/// and have the same letters. Of lights that agents drive the program does not matter.
fn programs(city: &City, edges: &[usize], images: &[usize]) -> Result<(), String> {
    let net = &city.net;
    let driven = |light: &str| city.junctions.iter().any(|j| j.light == light);
    let program = |light: &str| net.programs.iter().find(|p| p.light == light);
    let roads = |edges: &mut dyn Iterator<Item = usize>| {
        let mut edges: Vec<usize> = edges.collect();
        edges.sort_unstable();
        edges
    };
    // Each letter of a light, and that which it becomes.
    let mut letters: Vec<[&(String, usize); 2]> = vec![];
    for (link, &image) in net.links.iter().zip(images) {
        letters.extend(link.light.as_ref().zip(net.links[image].light.as_ref()).map(<[_; 2]>::from));
    }
    for crossing in &net.crossings {
        let wanted = roads(&mut crossing.edges.iter().map(|&e| edges[e]));
        let there = net.crossings.iter().find(|c| roads(&mut c.edges.iter().copied()) == wanted);
        letters.extend(there.map(|there| [&crossing.light, &there.light]));
    }
    for [(here, place), (there, image)] in letters {
        let other = || {
            Err(format!(
                "light {here} keeps its own program, and {there}, where it would be, has another one"
            ))
        };
        let (a, b) = match (driven(here), driven(there)) {
            (true, true) => continue,
            (false, false) => (program(here), program(there)),
            _ => return other(),
        };
        let (Some(a), Some(b)) = (a, b) else {
            if a.is_some() || b.is_some() {
                return other();
            }
            continue;
        };
        let cycle: f64 = a.phases.iter().map(|p| p.0).sum();
        let late = (a.offset - b.offset).rem_euclid(cycle.max(1e-6));
        let letter = |state: &str, place: usize| state.as_bytes().get(place).copied();
        let same = a.rules == b.rules
            && late.min(cycle - late).abs() < 1e-6
            && a.phases.len() == b.phases.len()
            && a.phases
                .iter()
                .zip(&b.phases)
                .all(|(a, b)| a.0 == b.0 && letter(&a.1, *place) == letter(&b.1, *image));
        if !same {
            return other();
        }
    }
    Ok(())
}

fn differ(a: &Edge, b: &Edge) -> Option<String> {
    if a.lanes.len() != b.lanes.len() {
        return Some(format!("have {} and {} lanes", a.lanes.len(), b.lanes.len()));
    }
    if a.priority != b.priority {
        return Some(format!("have the priorities {} and {}", a.priority, b.priority));
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
            (Some(a), Some(b)) => {
                edges[a.edge] == b.edge && a.links.len() == b.links.len() && a.others.len() == b.others.len()
            }
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
