//! The traffic world as a picture: blocks and one-way lanes, lights, vehicles tinted by how long they waited, and which
//! junctions hear each other.
//!
//! A red light is a closed bar across the lane, a green one an open gate, so that shape tells what colour tells.

use super::lanes::PITCH;
use super::{Traffic, Vehicle};
use crate::error::Result;
use crate::scene::{ActionMark, AgentMark, Colour, Handle, Item, Scene, Shape, visible};
use crate::world::{Edges, World};

const BLOCK: Colour = Colour(241, 243, 240);
const BLOCK_RIM: Colour = Colour(214, 219, 212);
const LANE: Colour = Colour(205, 211, 217);
/// The main road's lane.
const MAIN: Colour = Colour(158, 192, 224);
const CHEVRON: Colour = Colour(168, 177, 186);
/// From far away: a block with six vehicles or more before its lights, and the bar along lanes that have green.
const CROWDED: Colour = Colour(240, 150, 60);
const FLOW: Colour = Colour(110, 185, 160);
/// The tints of vehicles, from those that never waited to those that waited long: each is lighter than the one before.
const TINTS: [Colour; 3] = [Colour(28, 84, 168), Colour(190, 62, 120), Colour(253, 190, 60)];
/// Space around the world.
pub(super) const MARGIN: f32 = 0.4;
/// A circle of this radius holds a junction's number and fits between its lanes.
const RADIUS: f32 = 1.0;
/// How far a junction's lanes reach from its middle.
const REACH: f32 = 3.4;
/// Longer worlds are drawn without arrows, gates, links and numbers; blocks show how crowded they are instead.
const DETAILED: usize = 12 * PITCH;

/// Each of a junction's four lanes: its direction (x, y), and the middle of its stop line, cells from the block's corner.
const LANES: [([f32; 2], [f32; 2]); 4] = [
    ([1.0, 0.0], [2.0, 2.5]),
    ([0.0, -1.0], [2.5, 5.0]),
    ([-1.0, 0.0], [5.0, 4.5]),
    ([0.0, 1.0], [4.5, 2.0]),
];

/// The state as a picture.
pub(super) fn scene(world: &Traffic) -> Result<Scene> {
    let (rows, cols) = world.cells();
    visible("traffic", [rows, cols], world.inside())?;
    let detailed = rows.max(cols) < DETAILED;
    let mut scene = Scene::new(cols as f32 + 2.0 * MARGIN, rows as f32 + 2.0 * MARGIN);
    for junction in 0..world.agents() {
        if detailed {
            let block = Shape::Rect { corner: corner(world, junction), size: [7.0; 2], radius: 0.5 };
            scene.add_rimmed("block", block, BLOCK, BLOCK_RIM, 0.05);
        } else {
            from_afar(&mut scene, world, junction);
        }
    }
    if let Some(words) = demand_words(world) {
        scene = scene.caption(words);
    }
    if detailed {
        lanes(&mut scene, world);
        links(&mut scene, world);
        for junction in 0..world.agents() {
            let (at, phase) = (corner(world, junction), world.phase(junction));
            let draw = |scene: &mut Scene| lights(scene, at, phase);
            scene.thing(green_at(world, junction), Handle::press(format!("light {junction}")), draw);
        }
    }
    for (index, one) in world.vehicles().iter().enumerate() {
        if detailed {
            let title = format!("Vehicle at row {}, column {}, waited {}", one.row, one.col, one.waiting);
            let draw = |scene: &mut Scene| vehicle(scene, one);
            scene.thing(title, Handle::drag(format!("vehicle {index}")), draw);
        } else {
            // Too small to be moved by hand.
            scene.add("vehicle", body(one, 1.9), tint(one.waiting));
        }
    }
    let mark = |junction| AgentMark { at: middle(world, junction), radius: RADIUS };
    scene.agents = (0..world.agents()).map(mark).collect();
    Ok(scene)
}

/// The two phases: bars along the lanes that get green.
pub(super) fn action_marks() -> Vec<(String, ActionMark)> {
    let columns = ActionMark::Bar { from: [0.0, -REACH], to: [0.0, REACH] };
    let rows = ActionMark::Bar { from: [-REACH, 0.0], to: [REACH, 0.0] };
    vec![("columns green".into(), columns), ("rows green".into(), rows)]
}

/// A junction's phase in words.
fn green_at(world: &Traffic, junction: usize) -> String {
    let lanes = if world.phase(junction) == 0 { "columns" } else { "rows" };
    format!("Junction {junction}: {lanes} have green")
}

/// Where more arrives than elsewhere; nothing if all roads are alike.
pub(super) fn demand_words(world: &Traffic) -> Option<String> {
    let options = world.options();
    let rows = if options.tilt > 0.0 { "rows" } else { "columns" };
    let tilt = (options.tilt != 0.0).then(|| format!("tilt {}: more along {rows}", options.tilt.abs()));
    let main = main_road(world).map(|_| format!("main road: {} times the demand", options.main_road));
    let parts: Vec<String> = tilt.into_iter().chain(main).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The row or the column in which the main road runs, if there is one.
pub(super) fn main_road(world: &Traffic) -> Option<(Option<usize>, Option<usize>)> {
    if world.options().main_road == 1.0 {
        return None;
    }
    let lane = world.map.lane(world.main);
    let (row, col) = world.map.cell(lane, 0);
    Some((lane.is_row().then_some(row), (!lane.is_row()).then_some(col)))
}

/// The middle of a junction in the picture.
fn middle(world: &Traffic, junction: usize) -> [f32; 2] {
    corner(world, junction).map(|v| v + 3.5)
}

/// The corner of a junction's block in the picture.
fn corner(world: &Traffic, junction: usize) -> [f32; 2] {
    let cols = world.options().cols;
    [junction % cols, junction / cols].map(|k| (PITCH * k) as f32 + MARGIN)
}

/// The point `ahead` along a direction and `aside` to its right.
fn along([x, y]: [f32; 2], [dx, dy]: [f32; 2], ahead: f32, aside: f32) -> [f32; 2] {
    [x + ahead * dx - aside * dy, y + ahead * dy + aside * dx]
}

/// One-way lanes, with arrows before the lights and behind the crossing.
fn lanes(scene: &mut Scene, world: &Traffic) {
    let (rows, cols) = world.cells();
    let (width, height) = (cols as f32, rows as f32);
    let lane = |at: usize| at % PITCH == 2 || at % PITCH == 4;
    let (main_row, main_col) = main_road(world).unwrap_or_default();
    let colour = |main: bool| if main { MAIN } else { LANE };
    for row in (0..rows).filter(|&row| lane(row)) {
        let corner = [MARGIN, row as f32 + MARGIN + 0.05];
        let shape = Shape::Rect { corner, size: [width, 0.9], radius: 0.1 };
        scene.add("lane", shape, colour(main_row == Some(row)));
    }
    for col in (0..cols).filter(|&col| lane(col)) {
        let corner = [col as f32 + MARGIN + 0.05, MARGIN];
        let shape = Shape::Rect { corner, size: [0.9, height], radius: 0.1 };
        scene.add("lane", shape, colour(main_col == Some(col)));
    }
    for junction in 0..world.agents() {
        let [x, y] = corner(world, junction);
        for (direction, [sx, sy]) in LANES {
            for ahead in [-1.5, 4.0] {
                let at = along([x + sx, y + sy], direction, ahead, 0.0);
                let point = |a, s| along(at, direction, a, s);
                let chevron =
                    vec![point(0.2, 0.0), point(-0.12, 0.24), point(-0.02, 0.0), point(-0.12, -0.24)];
                scene.add("arrow", Shape::Polygon(chevron), CHEVRON);
            }
        }
    }
}

fn links(scene: &mut Scene, world: &Traffic) {
    let mut edges = Edges::default();
    for junction in 0..world.agents() {
        world.neighbours(junction, &mut edges);
        for from in edges.iter().map(|edge| edge.0).filter(|&from| from > junction) {
            let line = Shape::Line { from: middle(world, junction), to: middle(world, from), width: 0.06 };
            scene.add("link", line, Colour::SKY);
        }
    }
    for junction in 0..world.agents() {
        let centre = middle(world, junction);
        scene.push(Item {
            name: "junction".into(),
            shape: Shape::Circle { centre, radius: 0.42 },
            fill: Colour::WHITE,
            rim: Some((Colour::SKY, 0.06)),
            title: Some(green_at(world, junction)),
            handle: None,
        });
        let text = junction.to_string();
        let height = 0.38f32.min(0.62 / text.len() as f32);
        scene.add("number", Shape::Label { centre, height, text }, Colour::INK);
    }
}

/// Phase 0 gives green to the columns, phase 1 to the rows.
fn is_green(phase: usize, direction: [f32; 2]) -> bool {
    (phase == 0) == (direction[0] == 0.0)
}

fn lights(scene: &mut Scene, [x, y]: [f32; 2], phase: usize) {
    for (direction, [sx, sy]) in LANES {
        // A little before the crossing, so that a vehicle on it leaves the light in sight.
        let point = |aside| along([x + sx, y + sy], direction, -0.1, aside);
        let mut bar = |name, from: f32, to: f32, colour| {
            scene.add(name, Shape::Line { from: point(from), to: point(to), width: 0.16 }, colour);
        };
        if is_green(phase, direction) {
            bar("green", -0.5, -0.34, Colour::GREEN);
            bar("gate", 0.34, 0.5, Colour::GREEN);
        } else {
            bar("red", -0.48, 0.48, Colour::VERMILLION);
        }
    }
}

/// From far away a junction is a tile that shows how crowded it is, with a bar along the lanes that have green.
fn from_afar(scene: &mut Scene, world: &Traffic, junction: usize) {
    let [x, y] = corner(world, junction);
    let queue = world.queues(junction).iter().sum::<u32>() as f32;
    let crowd = BLOCK.mix(CROWDED, (queue / 6.0).min(1.0));
    scene.add("block", Shape::Rect { corner: [x, y], size: [7.0; 2], radius: 0.5 }, crowd);
    let [across, down] = if world.phase(junction) == 0 { [0.5, 2.2] } else { [2.2, 0.5] };
    let corner = [x + 3.5 - across, y + 3.5 - down];
    scene.add("green", Shape::Rect { corner, size: [2.0 * across, 2.0 * down], radius: 0.3 }, FLOW);
}

/// A vehicle's body, pointed in front.
fn body(one: &Vehicle, size: f32) -> Shape {
    let outline = [[0.34, 0.0], [0.14, 0.27], [-0.40, 0.27], [-0.40, -0.27], [0.14, -0.27]];
    Shape::Polygon(outline.map(|[ahead, aside]| on(one, size * ahead, size * aside)).to_vec())
}

/// A point of a vehicle, `ahead` of its middle and `aside` to its right.
fn on(one: &Vehicle, ahead: f32, aside: f32) -> [f32; 2] {
    let at = [one.col as f32 + 0.5 + MARGIN, one.row as f32 + 0.5 + MARGIN];
    along(at, [one.dc as f32, one.dr as f32], ahead, aside)
}

/// A bar at the back of a vehicle says that it stands and has to restart.
fn vehicle(scene: &mut Scene, one: &Vehicle) {
    scene.add_rimmed("vehicle", body(one, 1.0), tint(one.waiting), Colour::INK, 0.05);
    if one.marked {
        let brake = Shape::Line { from: on(one, -0.33, 0.19), to: on(one, -0.33, -0.19), width: 0.1 };
        scene.add("brake", brake, Colour::WHITE);
    }
}

/// Half of the way to the lightest tint after ten steps of waiting, in sixteen steps so that a film needs few colours.
fn tint(waiting: u32) -> Colour {
    let waited = waiting as f32;
    let part = (waited / (waited + 10.0) * 16.0).round() / 16.0;
    let [fresh, some, long] = TINTS;
    if part < 0.5 { fresh.mix(some, 2.0 * part) } else { some.mix(long, 2.0 * part - 1.0) }
}
