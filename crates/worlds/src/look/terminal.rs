//! Worlds as text, for a terminal. Redrawing in place is the caller's business.

use crate::traffic::{Traffic, Vehicle};
use crate::wildlife::Wildlife;
use crate::world::World;
use std::collections::BTreeMap;
use std::fmt::Write;

/// More rows or columns of a wildlife world do not fit a screen: then a part around the poacher is shown.
const GRID: usize = 31;
/// Larger teams are shown without the list of who hears whom.
const LISTED: usize = 12;
/// More junctions in a row do not fit a screen in full: then each is one character.
const JUNCTIONS: usize = 8;
/// More junctions are cut off even so.
const OVERVIEW: usize = 100;

// Terminal colours of the 256-colour table.
const DRONE: &str = "1;97;48;5;25";
const POACHER: &str = "1;97;48;5;166";
const FAINT: &str = "38;5;245";
const LANE: &str = "48;5;237;38;5;245";
const RED: &str = "48;5;88;38;5;231";
const GREEN: &str = "48;5;29;38;5;231";
/// Vehicles and junctions, from those that never waited to those that waited long.
const TINTS: [&str; 4] = ["1;38;5;117", "1;38;5;177", "1;38;5;209", "1;38;5;221"];

/// Text in a terminal colour, or as it is.
fn tinted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
}

pub(super) fn wildlife(world: &Wildlife, colour: bool) -> String {
    let grid = world.grid();
    let digits = (world.team() - 1).to_string().len();
    let wide = digits + 2;
    let drones: BTreeMap<[usize; 2], usize> = world.drones().enumerate().map(|(i, at)| (at, i)).collect();
    let [rows, cols] = world.poacher().map(|middle| {
        let first = middle.saturating_sub(GRID / 2).min(grid.saturating_sub(GRID));
        first..(first + GRID).min(grid)
    });
    let mut text = String::new();
    let edge = "─".repeat(wide * cols.len());
    text += &tinted(&format!("┌{edge}┐\n"), FAINT, colour);
    for row in rows.clone() {
        text += &tinted("│", FAINT, colour);
        for col in cols.clone() {
            let here = world.poacher() == [row, col];
            text += &match (drones.get(&[row, col]), here) {
                (Some(drone), true) => tinted(&format!("x{drone:>digits$} "), POACHER, colour),
                (Some(drone), false) => tinted(&format!(" {drone:>digits$} "), DRONE, colour),
                (None, true) => tinted(&format!(" {:>digits$} ", "x"), POACHER, colour),
                (None, false) => tinted(&format!(" {:>digits$} ", "·"), FAINT, colour),
            };
        }
        text += &tinted("│", FAINT, colour);
        text.push('\n');
    }
    text += &tinted(&format!("└{edge}┘\n"), FAINT, colour);
    if grid > GRID {
        let (r, c) = (rows.end - 1, cols.end - 1);
        let _ = writeln!(text, "rows {}-{r} and columns {}-{c} of {grid} x {grid}", rows.start, cols.start);
    }
    if world.team() <= LISTED {
        text += &links(world);
    }
    text
}

fn links(world: &Wildlife) -> String {
    let mut text = String::from("links:");
    let mut edges = Vec::new();
    for agent in 0..world.team() {
        world.neighbours(agent, &mut edges);
        for edge in edges.iter().filter(|edge| edge.from > agent) {
            let _ = write!(text, " {agent}-{}", edge.from);
        }
    }
    if text.ends_with(':') {
        text += " none";
    }
    text + "\n"
}

pub(super) fn traffic(world: &Traffic, colour: bool) -> String {
    let options = world.options();
    if options.rows.max(options.cols) > JUNCTIONS {
        return overview(world, colour);
    }
    let vehicles: BTreeMap<(usize, usize), Vehicle> =
        world.vehicles().into_iter().map(|v| ((v.row, v.col), v)).collect();
    let (rows, cols) = world.cells();
    let mut text = String::new();
    for row in 0..rows {
        for col in 0..cols {
            if !world.is_lane(row, col) {
                let junction = row / 8 * options.cols + col / 8;
                let middle = row % 8 == 3 && col % 8 == 3;
                text += &if middle { format!("{junction:<2}") } else { "  ".into() };
                continue;
            }
            let light = light(world, row, col);
            let ground = match light {
                Some((_, true)) => RED,
                Some((_, false)) => GREEN,
                None => LANE,
            };
            text += &match vehicles.get(&(row, col)) {
                Some(one) => {
                    tinted(&format!("{} ", arrow(one)), &format!("{ground};{}", tint(one.waiting)), colour)
                }
                None => tinted(
                    &format!("{} ", light.map_or('·', |(bar, red)| if red { bar } else { ' ' })),
                    ground,
                    colour,
                ),
            };
        }
        text.push('\n');
    }
    text
}

/// If the cell is a stop line: the bar across its lane, and whether it is red.
fn light(world: &Traffic, row: usize, col: usize) -> Option<(char, bool)> {
    let phase = world.phase(row / 8 * world.options().cols + col / 8);
    match (row % 8, col % 8) {
        (2, 2) | (4, 4) => Some(('|', phase == 0)),
        (4, 2) | (2, 4) => Some(('-', phase == 1)),
        _ => None,
    }
}

/// Filled while it drives, hollow when it stands.
fn arrow(one: &Vehicle) -> char {
    match (one.dr, one.dc, one.marked) {
        (0, 1, false) => '▶',
        (0, 1, true) => '▷',
        (0, _, false) => '◀',
        (0, _, true) => '◁',
        (-1, _, false) => '▲',
        (-1, _, true) => '△',
        (_, _, false) => '▼',
        (_, _, true) => '▽',
    }
}

fn tint(waiting: u32) -> &'static str {
    TINTS[match waiting {
        0 => 0,
        1..=4 => 1,
        5..=14 => 2,
        _ => 3,
    }]
}

/// One character per junction: a bar along the lanes that have green, tinted by how many vehicles stand before it.
fn overview(world: &Traffic, colour: bool) -> String {
    let options = world.options();
    let mut text = String::new();
    for row in 0..options.rows.min(OVERVIEW) {
        for col in 0..options.cols.min(OVERVIEW) {
            let junction = row * options.cols + col;
            let queue: u32 = world.queues(junction).iter().sum();
            let bar = if world.phase(junction) == 0 { "│ " } else { "─ " };
            text += &tinted(bar, tint(queue), colour);
        }
        text.push('\n');
    }
    let cut = if options.rows.max(options.cols) > OVERVIEW { ", cut off" } else { "" };
    let _ = writeln!(
        text,
        "{} x {} junctions{cut}, bars along green lanes; {} vehicles inside, {} outside",
        options.rows,
        options.cols,
        world.inside(),
        world.outside()
    );
    text
}
