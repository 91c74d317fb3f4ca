//! Teams over a number of their world, as text.

use crate::output::table;
use equimarl_lab::report::{Crossing, Over};

/// Where teams end at every value, and where they overtake the first.
pub(super) fn text(over: &Over) -> String {
    let (heading, rows) = over.end_table();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let relative = if over.relative { ", divided by the best possible" } else { "" };
    let mut text = format!("{}: greedy {} at the end{relative}\n\n", over.name, over.measure.name());
    text += &format!("{}\n", table(&heading, &rows));
    text.extend(over.crossings.iter().map(|c| line(c, &over.option)));
    text.extend(over.said.iter().map(|said| format!("note: {said}\n")));
    text + "\n"
}

fn line(c: &Crossing, option: &str) -> String {
    let when = c.after.map_or("at the end".into(), |steps| format!("after {steps} steps"));
    format!("{} overtakes {} {when} at {option} {}\n", c.method, c.first, c.says)
}
