//! The traffic world as text, for a terminal.

use super::scene::{demand_words, main_road};
use super::{Traffic, Vehicle};
use crate::terminal::tinted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// More junctions in a row do not fit a screen in full: then each is one character.
const JUNCTIONS: usize = 8;
/// More junctions are cut off even so.
const OVERVIEW: usize = 100;

// Terminal colours of the 256-colour table.
const LANE: &str = "48;5;237;38;5;245";
const RED: &str = "48;5;88;38;5;231";
const GREEN: &str = "48;5;29;38;5;231";
/// Vehicles and junctions, from those that never waited to those that waited long.
const TINTS: [&str; 4] = ["1;38;5;117", "1;38;5;177", "1;38;5;209", "1;38;5;221"];

/// Lanes, lights and vehicles, or one character per junction.
pub(super) fn terminal(world: &Traffic, colour: bool) -> String {
    let options = world.options();
    if options.rows.max(options.cols) > JUNCTIONS {
        return overview(world, colour);
    }
    let vehicles: BTreeMap<(usize, usize), Vehicle> =
        world.vehicles().into_iter().map(|v| ((v.row, v.col), v)).collect();
    let (rows, cols) = world.cells();
    let (main_row, main_col) = main_road(world).unwrap_or_default();
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
                None => {
                    let road = if main_row == Some(row) || main_col == Some(col) { '=' } else { '·' };
                    let bar = light.map_or(road, |(bar, red)| if red { bar } else { ' ' });
                    tinted(&format!("{bar} "), ground, colour)
                }
            };
        }
        text.push('\n');
    }
    text + &demand(world)
}

/// A line that says where more arrives than elsewhere, if it does.
fn demand(world: &Traffic) -> String {
    let Some(words) = demand_words(world) else { return String::new() };
    let road = if main_road(world).is_some() { " (=)" } else { "" };
    format!("{words}{road}\n")
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
    if let Some(words) = demand_words(world) {
        let _ = writeln!(text, "{words}");
    }
    text
}
