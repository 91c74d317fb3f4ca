//! The wildlife world as a picture: a field of cells, drones with their number, the poacher, and who hears whom.

use super::{MOVES, STEPS, Wildlife};
use crate::error::Result;
use crate::scene::{ActionMark, AgentMark, Colour, Handle, Item, Scene, Shape, Torus, visible};
use crate::world::{Edges, World};

const FIELD: Colour = Colour(240, 244, 234);
const FIELD_LINE: Colour = Colour(211, 220, 200);
const FIELD_RIM: Colour = Colour(150, 163, 135);
const WIND: Colour = Colour(108, 122, 137);
/// What the moves are called, in the order of [`STEPS`].
const NAMES: [&str; MOVES] = ["stay", "down", "right", "up", "left"];
/// Space around the field.
pub(super) const MARGIN: f32 = 0.4;
/// The radius of a drone with its rotors.
const RADIUS: f32 = 0.44;
/// Larger grids are drawn without lines and numbers, and with glyphs that keep their size in the picture.
const DETAILED: usize = 101;
/// Larger teams are drawn without links: all that would be seen is a blot.
const LINKED: usize = 500;

/// The state as a picture. A small arrow shows where each drone wanted to go, if `actions` says so.
pub(super) fn scene(world: &Wildlife, actions: &[usize]) -> Result<Scene> {
    let grid = world.grid();
    visible("wildlife", [grid, grid], world.team())?;
    let side = grid as f32;
    let mut scene = Scene::new(side + 2.0 * MARGIN, side + 2.0 * MARGIN);
    field(&mut scene, grid);
    if let Some(words) = wind_words(world) {
        wind(&mut scene, world, &words);
        scene = scene.caption(words);
    }
    links(&mut scene, world);
    let size = (side / DETAILED as f32).max(1.0);
    let detailed = grid <= DETAILED;
    let at = world.poacher();
    let draw = |scene: &mut Scene| poacher(scene, middle(at), size);
    thing(&mut scene, detailed, at, "Poacher", draw);
    for (index, at) in world.drones().enumerate() {
        let action = actions.get(index).copied().unwrap_or(0);
        let step = STEPS.get(action).copied().unwrap_or([0, 0]);
        let draw = |scene: &mut Scene| drone(scene, middle(at), size, detailed.then_some(index), step);
        thing(&mut scene, detailed, at, &format!("Drone {index}"), draw);
    }
    scene.torus = Some(Torus { corner: [MARGIN; 2], size: [side; 2] });
    let radius = RADIUS * size;
    scene.agents = world.drones().map(|at| AgentMark { at: middle(at), radius }).collect();
    Ok(scene)
}

/// The names of the moves, in the order of [`STEPS`], and where they lead.
pub(super) fn action_marks() -> Vec<(String, ActionMark)> {
    let mark = |[dr, dc]: [i32; 2]| match [dr, dc] {
        [0, 0] => ActionMark::Stay,
        _ => ActionMark::Arrow([dc as f32, dr as f32]),
    };
    NAMES.iter().zip(STEPS).map(|(name, step)| (name.to_string(), mark(step))).collect()
}

/// Something on a cell that can be moved; on fields that are drawn from far away it is too small for that.
fn thing(
    scene: &mut Scene,
    movable: bool,
    [row, col]: [usize; 2],
    name: &str,
    draw: impl FnOnce(&mut Scene),
) {
    if !movable {
        return draw(scene);
    }
    scene.thing(format!("{name} at row {row}, column {col}"), Handle::drag(name.to_lowercase()), draw);
}

/// The middle of a cell in the picture.
fn middle([row, col]: [usize; 2]) -> [f32; 2] {
    [col as f32 + 0.5 + MARGIN, row as f32 + 0.5 + MARGIN]
}

fn field(scene: &mut Scene, grid: usize) {
    let side = grid as f32;
    let square = Shape::Rect { corner: [MARGIN; 2], size: [side; 2], radius: 0.12 };
    scene.add_rimmed("field", square, FIELD, FIELD_RIM, 0.04);
    if grid > DETAILED {
        return;
    }
    for k in 1..grid {
        let (at, end) = (MARGIN + k as f32, MARGIN + side);
        for (from, to) in [([at, MARGIN], [at, end]), ([MARGIN, at], [end, at])] {
            scene.add("cells", Shape::Line { from, to, width: 0.025 }, FIELD_LINE);
        }
    }
}

/// Where the wind of this episode comes from, and how strong it is; nothing in a calm.
pub(super) fn wind_words(world: &Wildlife) -> Option<String> {
    let (from, strength) = world.wind()?;
    let drawn = if world.wind.is_drawn() { " in this episode" } else { "" };
    Some(format!("wind {strength} from the {from}{drawn}"))
}

/// Two arrows across the side that the wind comes from, the longer the stronger it is. They stand where they do so that a mirror
/// along the wind exchanges them, and nobody takes one for a drone: never in the middle of a cell.
fn wind(scene: &mut Scene, world: &Wildlife, words: &str) {
    let Some((_, strength)) = world.wind() else { return };
    let side = world.grid() as f32;
    let (unit, half) = (side / 7.0, side / 2.0);
    let [down, right] = STEPS[world.blows].map(|v| v as f32);
    let (ahead, across) = ([right, down], [-down, right]);
    let tail = 0.08 - MARGIN - half;
    let tip = (0.35 + 1.15 * strength as f32) * unit - half;
    let (neck, thin, wide) = (tip - 0.3 * unit, 0.045 * unit, 0.17 * unit);
    for aside in [-side / 6.0, side / 6.0] {
        let outline = [
            (tail, -thin),
            (neck, -thin),
            (neck, -wide),
            (tip, 0.0),
            (neck, wide),
            (neck, thin),
            (tail, thin),
        ];
        let point =
            |(a, s): (f32, f32)| [0, 1].map(|k| MARGIN + half + a * ahead[k] + (s + aside) * across[k]);
        scene.push(Item {
            name: "wind".into(),
            shape: Shape::Polygon(outline.map(point).to_vec()),
            fill: WIND,
            rim: None,
            title: Some(words.into()),
            handle: None,
        });
    }
}

fn links(scene: &mut Scene, world: &Wildlife) {
    if world.team() > LINKED {
        return;
    }
    let places: Vec<[f32; 2]> = world.drones().map(middle).collect();
    let mut edges = Edges::default();
    for agent in 0..world.team() {
        world.neighbours(agent, &mut edges);
        for from in edges.iter().map(|edge| edge.0).filter(|&from| from > agent) {
            let line = Shape::Line { from: places[agent], to: places[from], width: 0.07 };
            scene.add("link", line, Colour::SKY);
        }
    }
}

/// A diamond with a cross: it still shows when a drone stands on it.
fn poacher(scene: &mut Scene, [x, y]: [f32; 2], size: f32) {
    let (tip, arm) = (0.48 * size, 0.13 * size);
    let diamond = Shape::Polygon(vec![[x, y - tip], [x + tip, y], [x, y + tip], [x - tip, y]]);
    scene.add_rimmed("poacher", diamond, Colour::VERMILLION, Colour::INK, 0.03 * size);
    for (from, to) in [([x - arm, y - arm], [x + arm, y + arm]), ([x - arm, y + arm], [x + arm, y - arm])] {
        scene.add("cross", Shape::Line { from, to, width: 0.08 * size }, Colour::WHITE);
    }
}

/// Four rotors around a body with the drone's number, and an arrow where it wants to go.
fn drone(scene: &mut Scene, [x, y]: [f32; 2], size: f32, label: Option<usize>, [dr, dc]: [i32; 2]) {
    let Some(label) = label else {
        let body = Shape::Circle { centre: [x, y], radius: 0.38 * size };
        scene.add_rimmed("drone", body, Colour::BLUE, Colour::WHITE, 0.08 * size);
        return;
    };
    let reach = 0.28;
    for [dx, dy] in [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]] {
        let rotor = [x + reach * dx, y + reach * dy];
        scene.add("arm", Shape::Line { from: [x, y], to: rotor, width: 0.08 }, Colour::INK);
        scene.add_rimmed(
            "rotor",
            Shape::Circle { centre: rotor, radius: 0.11 },
            Colour::WHITE,
            Colour::INK,
            0.045,
        );
    }
    scene.add_rimmed(
        "drone",
        Shape::Circle { centre: [x, y], radius: 0.28 },
        Colour::BLUE,
        Colour::INK,
        0.035,
    );
    if [dr, dc] != [0, 0] {
        let (ahead, side) = ([dc as f32, dr as f32], [-dr as f32, dc as f32]);
        let point = |a: f32, s: f32| [x + a * ahead[0] + s * side[0], y + a * ahead[1] + s * side[1]];
        scene.add_rimmed(
            "heading",
            Shape::Polygon(vec![point(0.48, 0.0), point(0.33, 0.12), point(0.33, -0.12)]),
            Colour::INK,
            Colour::WHITE,
            0.025,
        );
    }
    let text = label.to_string();
    let height = 0.27f32.min(0.46 / text.len() as f32);
    scene.add("number", Shape::Label { centre: [x, y], height, text }, Colour::WHITE);
}
