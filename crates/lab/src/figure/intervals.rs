//! Points with their intervals, one row each.

use super::Colour;
use super::axis::{Axis, Scale, drawable};
use super::chart::Reference;
use super::drawing::{Anchor, Drawing, Piece, Stroke, fit, width};
use super::frame::{EDGE, Entry, LABEL, Plot, TICK, dashes, heading};

const ROW: f64 = 30.0;
/// A row with a second line below its name.
const TALL: f64 = 38.0;
const INTERVAL: Stroke = Stroke { width: 5.0, dashes: &[], opacity: 0.45, round: true };

/// An estimate and the interval around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What is estimated.
    pub name: String,
    /// What it stands on, below the name: how many runs.
    pub note: String,
    /// Its colour.
    pub colour: Colour,
    /// The lower end of the interval.
    pub low: f64,
    /// The estimate.
    pub estimate: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// What of it the axis does not show.
    pub beyond: Beyond,
}

/// What of a row lies beyond the axis; an arrow says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing.
    #[default]
    Nothing,
    /// Its interval goes on beyond its upper end, nobody knows how far.
    Upwards,
    /// All of it, if the axis does not need to be so long for the others: they could not be told apart. Its number stands at
    /// the edge.
    All,
}

/// Estimates with intervals over one axis, one below the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// Stands above.
    pub title: String,
    /// For those who cannot see it: what is to be seen.
    pub description: String,
    /// What lies along the axis.
    pub x_label: String,
    /// The estimates.
    pub rows: Vec<Row>,
    /// Dashed lines down.
    pub lines: Vec<Reference>,
    /// Values that the axis covers in any case, as 0 and 1 for a probability.
    pub cover: Vec<f64>,
    /// How the axis counts.
    pub scale: Scale,
    /// The width of the picture in pixels.
    pub width: f64,
}

impl Default for Intervals {
    fn default() -> Self {
        Intervals {
            title: String::new(),
            description: String::new(),
            x_label: String::new(),
            rows: vec![],
            lines: vec![],
            cover: vec![],
            scale: Scale::Linear,
            width: 520.0,
        }
    }
}

impl Intervals {
    /// The picture, to be written as SVG, PDF or PNG.
    pub fn drawing(&self) -> Drawing {
        let total = self.width;
        let near = self.rows.iter().filter(|r| r.beyond != Beyond::All);
        let ends = near.flat_map(|r| [r.low, r.estimate, r.high]);
        let others = self.lines.iter().map(|l| l.value).chain(self.cover.iter().copied());
        let axis = Axis::over(ends.chain(others), self.scale, 5, false);
        let lines = || self.lines.iter().filter(|l| drawable(l.value, self.scale));
        let entries: Vec<Entry<'_>> =
            lines().enumerate().map(|(i, l)| Entry::Reference(&l.name, i)).collect();
        let (mut pieces, top) = heading(&self.title, &entries, total);
        let wide = |r: &Row| width(&r.name, LABEL).max(width(&r.note, TICK));
        let widest = self.rows.iter().map(wide).fold(0.0, f64::max);
        let left = EDGE + widest.min(total * 0.5) + 8.0;
        let high = if self.rows.iter().all(|r| r.note.is_empty()) { ROW } else { TALL };
        let height = high * self.rows.len().max(1) as f64;
        let plot = Plot { left, top: top + 8.0, width: (total - left - EDGE - 10.0).max(10.0), height };
        pieces.extend(plot.columns(&axis, true));
        let at = |v: f64| plot.left + plot.width * axis.place(v);
        for (i, l) in lines().enumerate() {
            let x = at(l.value);
            pieces.push(Piece::line([x, plot.top], [x, plot.top + plot.height], "fig-ref", dashes(i)));
        }
        for (i, row) in self.rows.iter().enumerate() {
            let y = plot.top + high * (i as f64 + 0.5);
            let up = if row.note.is_empty() { 4.0 } else { -3.0 };
            let room = left - EDGE - 8.0;
            let name = fit(&row.name, LABEL, room);
            pieces.push(Piece::text([left - 8.0, y + up], Anchor::End, LABEL, "fig-label", &name));
            if !row.note.is_empty() {
                let note = fit(&row.note, TICK, room);
                pieces.push(Piece::text([left - 8.0, y + 11.0], Anchor::End, TICK, "fig-tick", &note));
            }
            let drawn = if row.beyond == Beyond::All && !(0.0..=1.0).contains(&axis.place(row.estimate)) {
                self.off(row, &plot, y, row.estimate < axis.low)
            } else {
                self.row(row, y, at)
            };
            pieces.push(Piece::Coloured(row.colour, drawn));
        }
        let (label, bottom) = plot.below(&self.x_label, &axis, total);
        pieces.extend(label);
        Drawing {
            size: [total, bottom],
            title: self.title.clone(),
            description: self.description.clone(),
            pieces,
        }
    }

    fn row(&self, row: &Row, y: f64, at: impl Fn(f64) -> f64) -> Vec<Piece> {
        let mut pieces = vec![];
        if drawable(row.low, self.scale) && drawable(row.high, self.scale) {
            pieces.push(Piece::line([at(row.low), y], [at(row.high), y], "fig-interval", INTERVAL));
        }
        if row.beyond == Beyond::Upwards && drawable(row.high, self.scale) {
            pieces.push(arrow(at(row.high) - 2.0, y, 11.0));
        }
        if drawable(row.estimate, self.scale) {
            pieces.push(Piece::Dot { class: "fig-point", centre: [at(row.estimate), y], radius: 5.0 });
        }
        pieces
    }

    /// A row that lies beyond the edge of the plot: an arrow there, and its number.
    fn off(&self, row: &Row, plot: &Plot, y: f64, left: bool) -> Vec<Piece> {
        if !drawable(row.estimate, self.scale) {
            return vec![];
        }
        let number = format!("{:.2}", row.estimate);
        let (x, length, anchor, aside) = if left {
            (plot.left + 13.0, -11.0, Anchor::Start, 7.0)
        } else {
            (plot.left + plot.width - 13.0, 11.0, Anchor::End, -7.0)
        };
        vec![arrow(x, y, length), Piece::text([x + aside, y + 4.0], anchor, TICK, "fig-label", &number)]
    }
}

/// An arrow head from `x`, to the left if its length is negative.
fn arrow(x: f64, y: f64, length: f64) -> Piece {
    let points = vec![[x, y - 7.0], [x + length, y], [x, y + 7.0]];
    Piece::Shape { class: "fig-beyond", points, opacity: 1.0 }
}
