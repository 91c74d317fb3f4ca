//! What stands around the data: title, legend, ticks and labels.

use super::Colour;
use super::axis::{Axis, Scale};
use super::drawing::{Anchor, Piece, Stroke, fit, width, wrap};

pub(super) const TITLE: f64 = 15.0;
pub(super) const LABEL: f64 = 13.0;
pub(super) const TICK: f64 = 12.0;
/// Room at the edges of the picture.
pub(super) const EDGE: f64 = 12.0;
const ROW: f64 = 19.0;
/// A short piece of line before a name in the legend.
const SAMPLE: f64 = 20.0;
/// Dashes of reference lines, so that several can be told apart.
const DASHES: [&[f64]; 4] = [&[7.0, 5.0], &[2.0, 4.0], &[10.0, 4.0, 2.0, 4.0], &[14.0, 5.0]];

/// The stroke of reference line number `i`.
pub(super) fn dashes(i: usize) -> Stroke {
    Stroke { width: 1.6, dashes: DASHES[i % DASHES.len()], opacity: 0.75, round: false }
}

fn faint(opacity: f64) -> Stroke {
    Stroke { opacity, ..Stroke::THIN }
}

/// A name in the legend: a colour of its own, or the number of a reference line.
pub(super) enum Entry<'a> {
    Series(&'a str, Colour),
    Reference(&'a str, usize),
}

/// Title and legend; gives the pieces and how far down they reach.
pub(super) fn heading(title: &str, entries: &[Entry<'_>], total: f64) -> (Vec<Piece>, f64) {
    let mut pieces = vec![];
    let mut y = EDGE;
    for (i, line) in wrap(title, TITLE, total - 2.0 * EDGE).iter().enumerate() {
        y += if i == 0 { TITLE - 3.0 } else { TITLE };
        pieces.push(Piece::text([EDGE, y], Anchor::Start, TITLE, "fig-title", line));
        y += 4.0;
    }
    let mut x = EDGE;
    if !entries.is_empty() {
        y += ROW;
    }
    for entry in entries {
        let (Entry::Series(name, _) | Entry::Reference(name, _)) = entry;
        let lines = wrap(name, LABEL, total - 2.0 * EDGE - SAMPLE - 6.0);
        let widest = lines.iter().map(|line| width(line, LABEL)).fold(0.0, f64::max);
        let room = SAMPLE + 6.0 + widest + 14.0;
        if x > EDGE && x + room - 14.0 > total - EDGE {
            x = EDGE;
            y += ROW;
        }
        let sample = |class, stroke| Piece::line([x, y - 4.5], [x + SAMPLE, y - 4.5], class, stroke);
        pieces.push(match entry {
            Entry::Series(_, colour) => {
                Piece::Coloured(*colour, vec![sample("fig-line", Stroke { width: 3.0, ..Stroke::THIN })])
            }
            Entry::Reference(_, i) => sample("fig-ref", dashes(*i)),
        });
        for (i, line) in lines.iter().enumerate() {
            y += if i == 0 { 0.0 } else { ROW };
            pieces.push(Piece::text([x + SAMPLE + 6.0, y], Anchor::Start, LABEL, "fig-label", line));
        }
        x += room;
    }
    (pieces, y + 4.0)
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
    pub fn rows(&self, axis: &Axis) -> Vec<Piece> {
        let mut pieces = vec![];
        for tick in &axis.ticks {
            let y = self.top + self.height * (1.0 - axis.place(*tick));
            pieces.push(Piece::line([self.left, y], [self.left + self.width, y], "fig-grid", faint(0.15)));
            let label = axis.label(*tick);
            pieces.push(Piece::text([self.left - 6.0, y + 4.0], Anchor::End, TICK, "fig-tick", &label));
        }
        pieces
    }

    /// Lines down at the ticks of the level axis, with their numbers, as far as these do not touch.
    pub fn columns(&self, axis: &Axis, lines: bool) -> Vec<Piece> {
        let mut pieces = vec![];
        let bottom = self.top + self.height;
        let mut free = f64::MIN;
        for tick in &axis.ticks {
            let (x, label) = (self.left + self.width * axis.place(*tick), axis.label(*tick));
            let (from, opacity) = if lines { (self.top, 0.15) } else { (bottom, 0.5) };
            pieces.push(Piece::line([x, from], [x, bottom + 4.0], "fig-grid", faint(opacity)));
            let half = width(&label, TICK) / 2.0;
            if x - half >= free {
                pieces.push(Piece::text([x, bottom + 17.0], Anchor::Middle, TICK, "fig-tick", &label));
                free = x + half + 5.0;
            }
        }
        pieces
    }

    /// What the level axis shows, below it, in a picture of this width: a logarithmic one says so. Gives the height of the
    /// picture, too.
    pub fn below(&self, label: &str, axis: &Axis, total: f64) -> (Option<Piece>, f64) {
        let bottom = self.top + self.height + 17.0 + EDGE;
        let label = match (axis.scale, label) {
            (Scale::Linear, "") => return (None, bottom),
            (Scale::Linear, label) => label.into(),
            (Scale::Log, "") => "logarithmic axis".into(),
            (Scale::Log, label) => format!("{label}, logarithmic axis"),
        };
        let label = fit(&label, TICK, total - 2.0 * EDGE);
        let half = width(&label, TICK) / 2.0;
        // In the middle of the axis if it fits there.
        let middle = (self.left + self.width / 2.0).min(total - EDGE - half).max(EDGE + half);
        let bottom = bottom + LABEL + 2.0;
        let place = [middle, bottom - EDGE];
        (Some(Piece::text(place, Anchor::Middle, TICK, "fig-label", &label)), bottom)
    }

    /// Pieces in the plot's own coordinates; what lies outside is not shown.
    pub fn clipped(&self, pieces: Vec<Piece>) -> Piece {
        Piece::Clipped([self.left, self.top, self.width, self.height], pieces)
    }
}
