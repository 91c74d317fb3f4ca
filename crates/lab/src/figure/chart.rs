//! Curves over an axis.

use super::axis::{Axis, Scale, drawable};
use super::frame::{EDGE, Entry, LABEL, Plot, TICK, coloured, dashes, heading};
use super::markup::{Anchor, Px, line, picture, text, width, wrapped};
use super::{Point, Series};

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
        self.draw(true)
    }

    /// A picture for a page, to be put into its HTML: as wide as its place, in the page's colours (`currentColor`, and the
    /// classes `fig-c0`, `fig-c1`, ... for the curves). It holds no style sheet and no script.
    pub fn inline(&self) -> String {
        self.draw(false)
    }

    fn draw(&self, alone: bool) -> String {
        let seen = |p: &&Point| drawable(p.x, self.x_scale) && drawable(p.middle, Scale::Linear);
        let series: Vec<(&Series, Vec<&Point>)> =
            self.series.iter().map(|s| (s, s.points.iter().filter(seen).collect())).collect();
        let points = || series.iter().flat_map(|s| s.1.iter());
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
        let (mut body, mut top) = heading(&self.title, &entries, total);
        for line in wrapped(&self.y_label, TICK, total - 2.0 * EDGE).iter().filter(|line| !line.is_empty()) {
            top += LABEL + 3.0;
            body += &text([EDGE, top], Anchor::Start, TICK, "fig-label", line);
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
        body += &plot.rows(&y);
        body += &plot.columns(&x, false);
        let at = |px: f64, py: f64| [plot.width * x.place(px), plot.height * (1.0 - y.place(py))];
        let mut inside = String::new();
        for (s, points) in series.iter().filter(|(s, _)| s.has_band()) {
            inside += &coloured(s.colour, &band(points, at));
        }
        for (i, l) in lines().enumerate() {
            let level = at(x.low, l.value)[1];
            inside += &line([0.0, level], [plot.width, level], "fig-ref", &dashes(i));
        }
        for (s, points) in &series {
            inside += &coloured(s.colour, &curve(points, at));
        }
        body += &plot.clipped(&inside);
        if points().next().is_none() {
            let middle = [plot.left + plot.width / 2.0, plot.top + plot.height / 2.0];
            body += &text(middle, Anchor::Middle, LABEL, "fig-label", "nothing to show yet");
        }
        let mut height = plot.top + plot.height + 17.0 + EDGE;
        if !self.x_label.is_empty() {
            height += LABEL + 2.0;
            let middle = [plot.left + plot.width / 2.0, height - EDGE];
            body += &text(middle, Anchor::Middle, TICK, "fig-label", &self.x_label);
        }
        picture([total, height], &self.title, &self.description, alone, &body)
    }
}

fn curve(points: &[&Point], at: impl Fn(f64, f64) -> [f64; 2]) -> String {
    if let [one] = points {
        let [x, y] = at(one.x, one.middle).map(Px);
        return format!("<circle class=\"fig-line\" cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"currentColor\"/>");
    }
    let path = path(points.iter().map(|p| at(p.x, p.middle)));
    format!(
        "<path class=\"fig-line\" d=\"{path}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.2\" \
         stroke-linejoin=\"round\" stroke-linecap=\"round\"/>"
    )
}

fn band(points: &[&Point], at: impl Fn(f64, f64) -> [f64; 2]) -> String {
    let edges = |p: &Point| [p.low, p.high].map(|v| if drawable(v, Scale::Linear) { v } else { p.middle });
    let lower = points.iter().map(|p| at(p.x, edges(p)[0]));
    let upper = points.iter().rev().map(|p| at(p.x, edges(p)[1]));
    let path = path(lower.chain(upper));
    format!("<path class=\"fig-band\" d=\"{path}Z\" fill=\"currentColor\" fill-opacity=\"0.2\"/>")
}

fn path(places: impl Iterator<Item = [f64; 2]>) -> String {
    let mut path = String::new();
    for (i, [x, y]) in places.enumerate() {
        path += &format!("{}{} {}", if i == 0 { 'M' } else { 'L' }, Px(x), Px(y));
    }
    path
}
