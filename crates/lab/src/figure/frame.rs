//! What stands around the data: title, legend, ticks and labels.

use super::Colour;
use super::axis::Axis;
use super::markup::{Anchor, Px, fit, line, text, width, wrapped};

pub(super) const TITLE: f64 = 15.0;
pub(super) const LABEL: f64 = 13.0;
pub(super) const TICK: f64 = 12.0;
/// Room at the edges of the picture.
pub(super) const EDGE: f64 = 12.0;
const ROW: f64 = 19.0;
/// A short piece of line before a name in the legend.
const SAMPLE: f64 = 20.0;
/// Dashes of reference lines, so that several can be told apart.
const DASHES: [&str; 4] = ["7 5", "2 4", "10 4 2 4", "14 5"];

/// The dashes of reference line number `i`.
pub(super) fn dashes(i: usize) -> String {
    format!("stroke-width=\"1.6\" stroke-dasharray=\"{}\" stroke-opacity=\"0.75\"", DASHES[i % DASHES.len()])
}

/// A name in the legend: a colour of its own, or the number of a reference line.
pub(super) enum Entry<'a> {
    Series(&'a str, Colour),
    Reference(&'a str, usize),
}

/// Title and legend; gives the markup and how far down it reaches.
pub(super) fn heading(title: &str, entries: &[Entry<'_>], total: f64) -> (String, f64) {
    let mut markup = String::new();
    let mut y = EDGE;
    if !title.is_empty() {
        y += TITLE - 3.0;
        markup += &text([EDGE, y], Anchor::Start, TITLE, "fig-title", &fit(title, TITLE, total - 2.0 * EDGE));
        y += 4.0;
    }
    let mut x = EDGE;
    if !entries.is_empty() {
        y += ROW;
    }
    for entry in entries {
        let (Entry::Series(name, _) | Entry::Reference(name, _)) = entry;
        let lines = wrapped(name, LABEL, total - 2.0 * EDGE - SAMPLE - 6.0);
        let widest = lines.iter().map(|line| width(line, LABEL)).fold(0.0, f64::max);
        let room = SAMPLE + 6.0 + widest + 14.0;
        if x > EDGE && x + room - 14.0 > total - EDGE {
            x = EDGE;
            y += ROW;
        }
        let (from, to) = ([x, y - 4.5], [x + SAMPLE, y - 4.5]);
        markup += &match entry {
            Entry::Series(_, colour) => coloured(*colour, &line(from, to, "fig-line", "stroke-width=\"3\"")),
            Entry::Reference(_, i) => line(from, to, "fig-ref", &dashes(*i)),
        };
        for (i, line) in lines.iter().enumerate() {
            y += if i == 0 { 0.0 } else { ROW };
            markup += &text([x + SAMPLE + 6.0, y], Anchor::Start, LABEL, "fig-label", line);
        }
        x += room;
    }
    (markup, y + 4.0)
}

/// Markup in a colour that a page can change by its class.
pub(super) fn coloured(colour: Colour, markup: &str) -> String {
    format!("<g class=\"{}\" color=\"{}\">{}</g>\n", colour.class(), colour.light(), markup.trim_end())
}

/// The rectangle in which the data lie.
#[derive(Clone, Copy)]
pub(super) struct Plot {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Plot {
    /// Lines across at the ticks of the upright axis, with their numbers.
    pub fn rows(&self, axis: &Axis) -> String {
        let mut markup = String::new();
        for tick in &axis.ticks {
            let y = self.top + self.height * (1.0 - axis.place(*tick));
            markup +=
                &line([self.left, y], [self.left + self.width, y], "fig-grid", "stroke-opacity=\"0.15\"");
            markup += &text([self.left - 6.0, y + 4.0], Anchor::End, TICK, "fig-tick", &axis.label(*tick));
        }
        markup
    }

    /// Lines down at the ticks of the level axis, with their numbers, as far as these do not touch.
    pub fn columns(&self, axis: &Axis, lines: bool) -> String {
        let mut markup = String::new();
        let bottom = self.top + self.height;
        let mut free = f64::MIN;
        for tick in &axis.ticks {
            let (x, label) = (self.left + self.width * axis.place(*tick), axis.label(*tick));
            let from = if lines { self.top } else { bottom };
            let faint = if lines { "stroke-opacity=\"0.15\"" } else { "stroke-opacity=\"0.5\"" };
            markup += &line([x, from], [x, bottom + 4.0], "fig-grid", faint);
            let half = width(&label, TICK) / 2.0;
            if x - half >= free {
                markup += &text([x, bottom + 17.0], Anchor::Middle, TICK, "fig-tick", &label);
                free = x + half + 5.0;
            }
        }
        markup
    }

    /// Wraps markup in the plot's own coordinates; what lies outside is not shown.
    pub fn clipped(&self, markup: &str) -> String {
        format!(
            "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" overflow=\"hidden\">\n{markup}</svg>\n",
            Px(self.left),
            Px(self.top),
            Px(self.width),
            Px(self.height)
        )
    }
}
