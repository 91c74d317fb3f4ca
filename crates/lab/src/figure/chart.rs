//! Curves over an axis.

use super::axis::{Axis, Scale, drawable};
use super::drawing::{Anchor, Drawing, Piece, Stroke, width, wrap};
use super::frame::{EDGE, Entry, LABEL, Plot, TICK, dashes, heading};
use super::{Point, Series};

const CURVE: Stroke = Stroke { width: 2.2, dashes: &[], opacity: 1.0, round: true };
const BAR: Stroke = Stroke { width: 1.4, dashes: &[], opacity: 0.75, round: false };
const THIN: Stroke = Stroke { width: 1.2, dashes: &[4.0, 3.0], opacity: 1.0, round: false };

/// How far curves with bars lie beside each other.
const ASIDE: f64 = 3.0;

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
    /// Whether what lies around a point is an upright bar and not a band; curves then lie a little beside each other.
    pub bars: bool,
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
            bars: false,
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
        // Bars need room beside the first and the last point.
        let room = if self.bars && first < last { 0.05 * (last - first) } else { 0.0 };
        let ends = [first - room, last + room].into_iter().filter(|_| room > 0.0);
        let all = points().map(|p| p.x).chain(zero.then_some(0.0)).chain(ends);
        let x = Axis::over(all, self.x_scale, 5, true);

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
        for (s, points) in series.iter().filter(|(s, _)| s.has_band() && !self.bars) {
            inside.push(Piece::Coloured(s.colour, vec![band(points, at)]));
        }
        for (i, l) in lines().enumerate() {
            let level = at(x.low, l.value)[1];
            inside.push(Piece::line([0.0, level], [plot.width, level], "fig-ref", dashes(i)));
        }
        for (s, points) in &thin {
            inside.push(Piece::Coloured(s.colour, vec![curve(points, at, "fig-thin", THIN, 2.0)]));
        }
        for (i, (s, points)) in series.iter().enumerate() {
            let aside = if self.bars { ASIDE * (i as f64 - (series.len() - 1) as f64 / 2.0) } else { 0.0 };
            let at = |px: f64, py: f64| [at(px, py)[0] + aside, at(px, py)[1]];
            let mut own = vec![curve(points, at, "fig-line", CURVE, 3.0)];
            if self.bars {
                own.extend(points.iter().flat_map(|p| bar(p, at)));
            }
            inside.push(Piece::Coloured(s.colour, own));
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

/// A dot, and an upright bar through it.
fn bar(p: &Point, at: impl Fn(f64, f64) -> [f64; 2]) -> [Piece; 2] {
    let [low, high] = [p.low, p.high].map(|v| if drawable(v, Scale::Linear) { v } else { p.middle });
    [
        Piece::line(at(p.x, low), at(p.x, high), "fig-line", BAR),
        Piece::Dot { class: "fig-line", centre: at(p.x, p.middle), radius: 2.6 },
    ]
}

fn band(points: &[&Point], at: impl Fn(f64, f64) -> [f64; 2]) -> Piece {
    let edges = |p: &Point| [p.low, p.high].map(|v| if drawable(v, Scale::Linear) { v } else { p.middle });
    let lower = points.iter().map(|p| at(p.x, edges(p)[0]));
    let upper = points.iter().rev().map(|p| at(p.x, edges(p)[1]));
    Piece::Shape { class: "fig-band", points: lower.chain(upper).collect(), opacity: 0.2 }
}
