//! A city as a picture: roads, lights and vehicles. One unit is the distance between junctions, or 200 m.

use crate::city::City;
use crate::state::State;
use crate::world::Sumo;
use equimarl_worlds::scene::{AgentMark, Colour, Scene, Shape};
use equimarl_worlds::{Error, Result};

const ROAD: Colour = Colour(214, 217, 221);
const MARGIN: f64 = 20.0;
/// More vehicles than this make no picture.
const MOST: usize = 20_000;

/// The picture of a city after a step.
pub fn scene(sumo: &Sumo) -> Result<Scene> {
    let Some((city, state)) = sumo.seen() else {
        return Err(Error::Draw("this city was never started".into()));
    };
    if city.junctions.len() + state.vehicles.len() > MOST {
        return Err(Error::Draw("a city of this size is too large to make out anything".into()));
    }
    let unit = 100.0;
    let nodes = || city.net.nodes.iter().map(|n| n.at).chain(shapes(city));
    let low = [0, 1].map(|k| nodes().map(|p| p[k]).fold(f64::MAX, f64::min) - MARGIN);
    let high = [0, 1].map(|k| nodes().map(|p| p[k]).fold(f64::MIN, f64::max) + MARGIN);
    // x to the right, y downwards.
    let at = |[x, y]: [f64; 2]| [((x - low[0]) / unit) as f32, ((high[1] - y) / unit) as f32];
    let mut scene = Scene::new(((high[0] - low[0]) / unit) as f32, ((high[1] - low[1]) / unit) as f32);
    for lane in city.net.edges.iter().flat_map(|e| &e.lanes) {
        for pair in lane.shape.windows(2) {
            scene.add("road", Shape::Line { from: at(pair[0]), to: at(pair[1]), width: 0.044 }, ROAD);
        }
    }
    // Where a road only changes its lanes, it has a gap inside of that junction.
    for node in city.net.nodes.iter().filter(|n| n.kind != "dead_end") {
        scene.add("junction", Shape::Circle { centre: at(node.at), radius: 0.05 }, ROAD);
    }
    for (j, junction) in city.junctions.iter().enumerate() {
        let centre = at(city.net.nodes[junction.node].at);
        scene.add("junction", Shape::Circle { centre, radius: 0.13 }, ROAD);
        scene.agents.push(AgentMark { at: centre, radius: 0.22 });
        lights(city, state, j, &mut scene, &at);
    }
    for &(place, stands) in &state.vehicles {
        let colour = if stands { Colour::VERMILLION } else { Colour::BLUE };
        scene.add("vehicle", Shape::Circle { centre: at(place), radius: 0.03 }, colour);
    }
    Ok(scene)
}

fn shapes(city: &City) -> impl Iterator<Item = [f64; 2]> + '_ {
    city.net.edges.iter().flat_map(|e| &e.lanes).flat_map(|l| l.shape.iter().copied())
}

/// A dot at every stop line: green if somebody may go from there, else red.
fn lights(city: &City, state: &State, j: usize, scene: &mut Scene, at: &dyn Fn([f64; 2]) -> [f32; 2]) {
    let letters = state.lights[j].as_bytes();
    for approach in city.junctions[j].approaches.iter().flatten() {
        for (k, lane) in city.net.edges[approach.edge].lanes.iter().enumerate() {
            let mut seen =
                approach.links.iter().filter(|l| l.1 == k).map(|l| letters.get(l.0).copied().unwrap_or(b'r'));
            let Some(best) = seen.by_ref().min_by_key(|c| b"Ggyr".iter().position(|l| l == c).unwrap_or(3))
            else {
                continue;
            };
            let colour = match best {
                b'G' => Colour::GREEN,
                b'g' => Colour::GREEN.mix(Colour::WHITE, 0.45),
                b'y' => Colour(230, 159, 0),
                _ => Colour::VERMILLION.mix(Colour::INK, 0.35),
            };
            let end = lane.shape[lane.shape.len() - 1];
            scene.add("light", Shape::Circle { centre: at(end), radius: 0.036 }, colour);
        }
    }
}
