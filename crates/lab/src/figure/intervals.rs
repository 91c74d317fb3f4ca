//! Points with their intervals, one row each.

use super::Colour;
use super::axis::{Axis, Scale, drawable};
use super::chart::Reference;
use super::frame::{EDGE, Entry, LABEL, Plot, TICK, coloured, dashes, heading};
use super::markup::{Anchor, Px, fit, line, picture, text, width};

const ROW: f64 = 30.0;

/// An estimate and the interval around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What is estimated.
    pub name: String,
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
    /// A picture that stands alone: with white paper and a size.
    pub fn svg(&self) -> String {
        self.draw(true)
    }

    /// A picture for a page, to be put into its HTML; see [`super::Chart::inline`].
    pub fn inline(&self) -> String {
        self.draw(false)
    }

    fn draw(&self, alone: bool) -> String {
        let total = self.width;
        let near = self.rows.iter().filter(|r| r.beyond != Beyond::All);
        let ends = near.flat_map(|r| [r.low, r.estimate, r.high]);
        let others = self.lines.iter().map(|l| l.value).chain(self.cover.iter().copied());
        let axis = Axis::over(ends.chain(others), self.scale, 5, false);
        let lines = || self.lines.iter().filter(|l| drawable(l.value, self.scale));
        let entries: Vec<Entry<'_>> =
            lines().enumerate().map(|(i, l)| Entry::Reference(&l.name, i)).collect();
        let (mut body, top) = heading(&self.title, &entries, total);
        let widest = self.rows.iter().map(|r| width(&r.name, LABEL)).fold(0.0, f64::max);
        let left = EDGE + widest.min(total * 0.5) + 8.0;
        let height = ROW * self.rows.len().max(1) as f64;
        let plot = Plot { left, top: top + 8.0, width: (total - left - EDGE - 10.0).max(10.0), height };
        body += &plot.columns(&axis, true);
        let at = |v: f64| plot.left + plot.width * axis.place(v);
        for (i, l) in lines().enumerate() {
            let x = at(l.value);
            body += &line([x, plot.top], [x, plot.top + plot.height], "fig-ref", &dashes(i));
        }
        for (i, row) in self.rows.iter().enumerate() {
            let y = plot.top + ROW * (i as f64 + 0.5);
            let name = fit(&row.name, LABEL, left - EDGE - 8.0);
            body += &text([left - 8.0, y + 4.0], Anchor::End, LABEL, "fig-label", &name);
            let drawn = if row.beyond == Beyond::All && !(0.0..=1.0).contains(&axis.place(row.estimate)) {
                self.off(row, &plot, y, row.estimate < axis.low)
            } else {
                self.row(row, y, at)
            };
            body += &coloured(row.colour, &drawn);
        }
        let mut bottom = plot.top + plot.height + 17.0 + EDGE;
        if !self.x_label.is_empty() {
            bottom += LABEL + 2.0;
            let middle = [plot.left + plot.width / 2.0, bottom - EDGE];
            body += &text(middle, Anchor::Middle, TICK, "fig-label", &self.x_label);
        }
        picture([total, bottom], &self.title, &self.description, alone, &body)
    }

    fn row(&self, row: &Row, y: f64, at: impl Fn(f64) -> f64) -> String {
        let mut markup = String::new();
        if drawable(row.low, self.scale) && drawable(row.high, self.scale) {
            let (low, high) = (at(row.low), at(row.high));
            let thick = "stroke-width=\"5\" stroke-opacity=\"0.45\" stroke-linecap=\"round\"";
            markup += &line([low, y], [high, y], "fig-interval", thick);
        }
        if row.beyond == Beyond::Upwards && drawable(row.high, self.scale) {
            markup += &arrow(at(row.high) - 2.0, y, 11.0);
        }
        if drawable(row.estimate, self.scale) {
            let (x, y) = (Px(at(row.estimate)), Px(y));
            markup +=
                &format!("<circle class=\"fig-point\" cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"currentColor\"/>");
        }
        markup
    }

    /// A row that lies beyond the edge of the plot: an arrow there, and its number.
    fn off(&self, row: &Row, plot: &Plot, y: f64, left: bool) -> String {
        if !drawable(row.estimate, self.scale) {
            return String::new();
        }
        let number = format!("{:.2}", row.estimate);
        let (x, length, anchor, aside) = if left {
            (plot.left + 13.0, -11.0, Anchor::Start, 7.0)
        } else {
            (plot.left + plot.width - 13.0, 11.0, Anchor::End, -7.0)
        };
        arrow(x, y, length) + &text([x + aside, y + 4.0], anchor, TICK, "fig-label", &number)
    }
}

/// An arrow head from `x`, to the left if its length is negative.
fn arrow(x: f64, y: f64, length: f64) -> String {
    let [begin, tip, above, middle, below] = [x, x + length, y - 7.0, y, y + 7.0].map(Px);
    format!(
        "<path class=\"fig-beyond\" d=\"M{begin} {above}L{tip} {middle}L{begin} {below}Z\" fill=\"currentColor\"/>"
    )
}
