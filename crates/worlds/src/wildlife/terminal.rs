//! The wildlife world as text, for a terminal.

use super::scene::wind_words;
use super::{STEPS, Wildlife};
use crate::terminal::tinted;
use crate::world::{Edges, World};
use std::collections::BTreeMap;
use std::fmt::Write;

/// More rows or columns do not fit a screen: then a part around the poacher is shown.
const GRID: usize = 31;
/// Larger teams are shown without the list of who hears whom.
const LISTED: usize = 12;

// Terminal colours of the 256-colour table.
const DRONE: &str = "1;97;48;5;25";
const POACHER: &str = "1;97;48;5;166";
const FAINT: &str = "38;5;245";

/// The field with its drones and the poacher, and who hears whom.
pub(super) fn terminal(world: &Wildlife, colour: bool) -> String {
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
    if let Some(words) = wind_words(world) {
        let arrow = match STEPS[world.blows] {
            [1, _] => '↓',
            [-1, _] => '↑',
            [_, 1] => '→',
            _ => '←',
        };
        let _ = writeln!(text, "{arrow} {words}");
    }
    if world.team() <= LISTED {
        text += &links(world);
    }
    text
}

fn links(world: &Wildlife) -> String {
    let mut text = String::from("links:");
    let mut edges = Edges::default();
    for agent in 0..world.team() {
        world.neighbours(agent, &mut edges);
        for from in edges.iter().map(|edge| edge.0).filter(|&from| from > agent) {
            let _ = write!(text, " {agent}-{from}");
        }
    }
    if text.ends_with(':') {
        text += " none";
    }
    text + "\n"
}
