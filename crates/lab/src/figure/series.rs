//! Curves to draw: single lines, or the quartiles of many runs.

use super::Colour;
use crate::statistics::quantile;

/// A place on a curve: a middle, and how far the band around it reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where, along the axis.
    pub x: f64,
    /// The lower edge of the band.
    pub low: f64,
    /// The curve.
    pub middle: f64,
    /// The upper edge of the band.
    pub high: f64,
}

/// A named curve, with a band around it if its points have one.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// Its points, along the axis.
    pub points: Vec<Point>,
}

impl Series {
    /// A line through (x, y).
    pub fn line(
        name: impl Into<String>,
        colour: Colour,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Series {
        let point = |(x, y)| Point { x, low: y, middle: y, high: y };
        Series { name: name.into(), colour, points: points.into_iter().map(point).collect() }
    }

    /// The median of several runs, with a band from the first to the third quartile, at up to `places` places. Between its points
    /// a run goes straight; runs that have not begun or have ended before a place do not count there.
    pub fn quartiles(
        name: impl Into<String>,
        colour: Colour,
        runs: &[Vec<(f64, f64)>],
        places: usize,
    ) -> Series {
        let points = grid(runs, places).into_iter().filter_map(|x| Some(quartiles_at(runs, x)?.1));
        Series { name: name.into(), colour, points: points.collect() }
    }

    /// As [`Series::quartiles`], in parts that never change their runs without saying so: the curve where all runs are there, and
    /// what comes after it (or is left, if they never are) in pieces with the number of runs that each stands on.
    pub fn parts(
        name: impl Into<String>,
        colour: Colour,
        runs: &[Vec<(f64, f64)>],
        places: usize,
    ) -> (Series, Vec<(usize, Series)>) {
        let mut places = grid(runs, places);
        // A piece ends where its run does.
        places.extend(runs.iter().filter_map(|run| Some(run.last()?.0)).filter(|x| x.is_finite()));
        places.sort_by(f64::total_cmp);
        places.dedup();
        let found: Vec<(usize, Point)> = places.into_iter().filter_map(|x| quartiles_at(runs, x)).collect();
        let whole = |(count, _): &(usize, Point)| *count == runs.len();
        // Before all have begun there is nothing to compare.
        let begin = found.iter().position(whole).unwrap_or(0);
        let end = begin + found[begin..].iter().take_while(|f| whole(f)).count();
        let all =
            Series { name: name.into(), colour, points: found[begin..end].iter().map(|f| f.1).collect() };
        let rest = found[end..].chunk_by(|a, b| a.0 == b.0).map(|piece| {
            let points = piece.iter().map(|f| f.1).collect();
            (piece[0].0, Series { name: all.name.clone(), colour, points })
        });
        let rest = rest.collect();
        (all, rest)
    }

    /// The same curve, each point averaged with the `window` - 1 points before it.
    pub fn smoothed(mut self, window: usize) -> Series {
        let mean = |i: usize, of: fn(&Point) -> f64| {
            let recent = &self.points[(i + 1).saturating_sub(window.max(1))..=i];
            recent.iter().map(of).sum::<f64>() / recent.len() as f64
        };
        let point = |i: usize| Point {
            x: self.points[i].x,
            low: mean(i, |p| p.low),
            middle: mean(i, |p| p.middle),
            high: mean(i, |p| p.high),
        };
        self.points = (0..self.points.len()).map(point).collect();
        self
    }

    /// Whether there is a band to see.
    pub(super) fn has_band(&self) -> bool {
        self.points.iter().any(|p| p.low < p.high)
    }
}

/// How many runs are there at x, and their quartiles; nothing if there are none.
fn quartiles_at(runs: &[Vec<(f64, f64)>], x: f64) -> Option<(usize, Point)> {
    let values: Vec<f64> = runs.iter().filter_map(|run| at(run, x)).collect();
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|q| quantile(&values, q));
    (!values.is_empty()).then_some((values.len(), Point { x, low, middle, high }))
}

/// Equally spaced places from the first to the last point of any run.
fn grid(runs: &[Vec<(f64, f64)>], places: usize) -> Vec<f64> {
    let xs = || runs.iter().flatten().map(|p| p.0).filter(|x| x.is_finite());
    let (first, last) = xs().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
    match places {
        _ if first > last => vec![],
        0 | 1 => vec![last],
        // The last place is the last point itself, whatever rounding says.
        _ => {
            let place = |i: usize| first + (last - first) * i as f64 / (places - 1) as f64;
            (0..places - 1).map(place).chain([last]).collect()
        }
    }
}

/// The value of a run at x, on the straight line between its points; nothing before its first and after its last.
fn at(run: &[(f64, f64)], x: f64) -> Option<f64> {
    let next = run.partition_point(|p| p.0 < x);
    let (right, high) = *run.get(next)?;
    let value = match next.checked_sub(1).map(|i| run[i]) {
        _ if right == x => high,
        Some((left, low)) => low + (high - low) * (x - left) / (right - left),
        None => return None,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_runs_by_hand() {
        let run =
            |values: [f64; 3]| (0..3).map(|i| (f64::from(i) * 10.0, values[i as usize])).collect::<Vec<_>>();
        let mut runs = vec![run([0.0, 1.0, 2.0]), run([0.0, 3.0, 6.0]), run([0.0, 2.0, 4.0])];
        runs.push(vec![(0.0, 0.0), (10.0, 100.0)]); // ends early
        let series = Series::quartiles("s", Colour::new(0), &runs, 3);
        assert_eq!(series.points[0], Point { x: 0.0, low: 0.0, middle: 0.0, high: 0.0 });
        assert_eq!(series.points[1].middle, 2.5);
        let finer = Series::quartiles("s", Colour::new(0), &runs[..1], 5);
        assert_eq!(finer.points[1].middle, 0.5); // half way between two points
        assert_eq!(series.points[2], Point { x: 20.0, low: 3.0, middle: 4.0, high: 5.0 });
        assert!(Series::quartiles("none", Colour::new(0), &[], 10).points.is_empty());
    }

    #[test]
    fn a_curve_says_where_its_runs_change() {
        let run = |first: u32, last: u32| -> Vec<(f64, f64)> {
            (first..=last).map(|i| (f64::from(i), f64::from(first + last))).collect()
        };
        let runs = [run(0, 4), run(1, 4), run(1, 6), run(0, 10)];
        let (all, rest) = Series::parts("s", Colour::new(0), &runs, 11);
        // The runs that begin later hold all back; after 4 there are two, after 6 one.
        assert_eq!(all.points.iter().map(|p| p.x).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
        let found: Vec<(usize, f64, f64)> =
            rest.iter().map(|(n, s)| (*n, s.points[0].x, s.points[s.points.len() - 1].x)).collect();
        assert_eq!(found, [(2, 5.0, 6.0), (1, 7.0, 10.0)]);
        assert_eq!(rest[1].1.points[0].middle, 10.0);
        // An end between two places is a place of its own.
        let (all, _) = Series::parts("s", Colour::new(0), &[run(0, 3), run(0, 10)], 3);
        assert_eq!(all.points.last().unwrap().x, 3.0);
        // Runs that never meet: nothing stands on all of them.
        let (all, rest) = Series::parts("s", Colour::new(0), &[run(0, 2), run(5, 6)], 7);
        assert!(all.points.is_empty() && rest.iter().all(|(n, _)| *n == 1), "{rest:?}");
        // Equal ends: the same curve as ever.
        let even = [run(0, 5), run(0, 5)];
        let (all, rest) = Series::parts("s", Colour::new(0), &even, 9);
        assert!(rest.is_empty() && all == Series::quartiles("s", Colour::new(0), &even, 9));
    }

    #[test]
    fn smoothing_looks_back_only() {
        let line = Series::line("s", Colour::new(0), [(0.0, 0.0), (1.0, 2.0), (2.0, 4.0)]).smoothed(2);
        let middles: Vec<f64> = line.points.iter().map(|p| p.middle).collect();
        assert_eq!(middles, [0.0, 1.0, 3.0]);
    }
}
