//! Curves over an axis.

use super::axis::{Axis, Scale, drawable};
use super::drawing::{Anchor, Drawing, Piece, Stroke, width, wrap};
use super::frame::{EDGE, Entry, LABEL, Plot, TICK, dashes, heading};
use super::{Point, Series};

const CURVE: Stroke = Stroke { width: 2.2, dashes: &[], opacity: 1.0, round: true };
const THIN: Stroke = Stroke { width: 1.2, dashes: &[4.0, 3.0], opacity: 1.0, round: false };

/// A dashed line across at a value: the best possible, a controller, chance.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What the legend says.
    pub name: String,
    /// Where it lies.
    pub value: f64,
}

impl Reference {
    /// A line at a value.
    pub fn new(name: impl Into<String>, value: f64) -> Reference {
        Reference { name: name.into(), value }
    }
}

/// Curves over the same axes.
///
/// ```
/// use equimarl_lab::figure::{Chart, Colour, Reference, Series};
/// let chart = Chart {
///     title: "Two teams".into(),
///     x_label: "environment steps".into(),
///     y_label: "return".into(),
///     series: vec![Series::line("ours", Colour::new(0), [(0.0, -1.0), (1e5, 2.5)])],
///     lines: vec![Reference::new("best possible", 2.78)],
///     ..Chart::default()
/// };
/// assert!(chart.svg().starts_with("<svg") && chart.svg().contains(">100k</text>"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Stands above the chart.
    pub title: String,
    /// For those who cannot see it: what is to be seen.
    pub description: String,
    /// What lies along the level axis.
    pub x_label: String,
    /// What lies along the upright axis.
    pub y_label: String,
    /// The curves.
    pub series: Vec<Series>,
    /// Curves that stand on less than others: thin and dashed, without bands, and not in the legend.
    pub thin: Vec<Series>,
    /// Dashed lines across.
    pub lines: Vec<Reference>,
    /// How the level axis counts.
    pub x_scale: Scale,
    /// Fixed ends of the upright axis; what lies outside is cut off. Otherwise everything is seen.
    pub y_range: Option<(f64, f64)>,
    /// The width of the picture and the height of the part with the curves, in pixels.
    pub size: [f64; 2],
}

impl Default for Chart {
    fn default() -> Self {
        Chart {
            title: String::new(),
            description: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            series: vec![],
            thin: vec![],
            lines: vec![],
            x_scale: Scale::Linear,
            y_range: None,
            size: [520.0, 260.0],
        }
    }
}

impl Chart {
    /// A picture that stands alone: with white paper and a size.
    pub fn svg(&self) -> String {
        self.drawing().svg()
    }

    /// A picture for a page; see [`Drawing::inline`].
    pub fn inline(&self) -> String {
        self.drawing().inline()
    }

    /// The picture, to be written as SVG, PDF or PNG.
    pub fn drawing(&self) -> Drawing {
        let seen = |p: &&Point| drawable(p.x, self.x_scale) && drawable(p.middle, Scale::Linear);
        let [series, thin] = [&self.series, &self.thin].map(|all| {
            all.iter()
                .map(|s| (s, s.points.iter().filter(seen).collect()))
                .collect::<Vec<(&Series, Vec<&Point>)>>()
        });
        let points = || series.iter().chain(&thin).flat_map(|s| s.1.iter());
        let lines = || self.lines.iter().filter(|l| drawable(l.value, Scale::Linear));
        let y = match self.y_range {
            Some((low, high)) => Axis::over([low, high].into_iter(), Scale::Linear, 5, true),
            None => {
                let edges = points().flat_map(|p| [p.low, p.middle, p.high]);
                Axis::over(edges.chain(lines().map(|l| l.value)), Scale::Linear, 6, false)
            }
        };
        // Steps begin at zero, even if the first episode ended later.
        let first = points().map(|p| p.x).fold(f64::MAX, f64::min);
        let last = points().map(|p| p.x).fold(f64::MIN, f64::max);
        let zero = self.x_scale == Scale::Linear && first > 0.0 && first < 0.5 * last;
        let x = Axis::over(points().map(|p| p.x).chain(zero.then_some(0.0)), self.x_scale, 5, true);

        let entries: Vec<Entry<'_>> = series
            .iter()
            .map(|(s, _)| Entry::Series(&s.name, s.colour))
            .chain(lines().enumerate().map(|(i, l)| Entry::Reference(&l.name, i)))
            .collect();
        let total = self.size[0];
        let (mut pieces, mut top) = heading(&self.title, &entries, total);
        for line in wrap(&self.y_label, TICK, total - 2.0 * EDGE) {
            top += LABEL + 3.0;
            pieces.push(Piece::text([EDGE, top], Anchor::Start, TICK, "fig-label", &line));
        }
        let widest =
            |axis: &Axis| axis.ticks.iter().map(|t| width(&axis.label(*t), TICK)).fold(0.0, f64::max);
        let left = EDGE + widest(&y) + 6.0;
        let right = EDGE + widest(&x) / 2.0;
        let plot = Plot {
            left,
            top: top + 15.0,
            width: (total - left - right).max(10.0),
            height: self.size[1].max(10.0),
        };
        pieces.extend(plot.rows(&y));
        pieces.extend(plot.columns(&x, false));
        let at = |px: f64, py: f64| [plot.width * x.place(px), plot.height * (1.0 - y.place(py))];
        let mut inside = vec![];
        for (s, points) in series.iter().filter(|(s, _)| s.has_band()) {
            inside.push(Piece::Coloured(s.colour, vec![band(points, at)]));
        }
        for (i, l) in lines().enumerate() {
            let level = at(x.low, l.value)[1];
            inside.push(Piece::line([0.0, level], [plot.width, level], "fig-ref", dashes(i)));
        }
        for (s, points) in &thin {
            inside.push(Piece::Coloured(s.colour, vec![curve(points, at, "fig-thin", THIN, 2.0)]));
        }
        for (s, points) in &series {
            inside.push(Piece::Coloured(s.colour, vec![curve(points, at, "fig-line", CURVE, 3.0)]));
        }
        pieces.push(plot.clipped(inside));
        if points().next().is_none() {
            let middle = [plot.left + plot.width / 2.0, plot.top + plot.height / 2.0];
            pieces.push(Piece::text(middle, Anchor::Middle, LABEL, "fig-label", "nothing to show yet"));
        }
        let (label, height) = plot.below(&self.x_label, &x, total);
        pieces.extend(label);
        Drawing {
            size: [total, height],
            title: self.title.clone(),
            description: self.description.clone(),
            pieces,
        }
    }
}

/// A curve, or a dot if there is only one point.
fn curve(
    points: &[&Point],
    at: impl Fn(f64, f64) -> [f64; 2],
    class: &'static str,
    stroke: Stroke,
    radius: f64,
) -> Piece {
    if let [one] = points {
        return Piece::Dot { class, centre: at(one.x, one.middle), radius };
    }
    Piece::Curve { class, points: points.iter().map(|p| at(p.x, p.middle)).collect(), stroke }
}

fn band(points: &[&Point], at: impl Fn(f64, f64) -> [f64; 2]) -> Piece {
    let edges = |p: &Point| [p.low, p.high].map(|v| if drawable(v, Scale::Linear) { v } else { p.middle });
    let lower = points.iter().map(|p| at(p.x, edges(p)[0]));
    let upper = points.iter().rev().map(|p| at(p.x, edges(p)[1]));
    Piece::Shape { class: "fig-band", points: lower.chain(upper).collect(), opacity: 0.2 }
}
