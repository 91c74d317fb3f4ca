//! Axes: where values lie, and round numbers to write beside them.

/// How an axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal factors; only positive values have a place.
    Log,
}

/// What is farther from zero cannot be drawn and is left out.
const FAR: f64 = 1e15;

/// Whether a value can be drawn.
pub(super) fn drawable(value: f64, scale: Scale) -> bool {
    value.is_finite() && value.abs() < FAR && (scale == Scale::Linear || value > 1.0 / FAR)
}

/// A range of values with its ticks.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub low: f64,
    pub high: f64,
    pub scale: Scale,
    pub ticks: Vec<f64>,
    /// The distance of ticks, which says how many decimals they need.
    step: f64,
}

impl Axis {
    /// Covers the values. `snug` ends it at the last value, otherwise at the next tick.
    pub fn over(values: impl Iterator<Item = f64>, scale: Scale, about: usize, snug: bool) -> Axis {
        let span = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
        let (low, high) = values.filter(|v| drawable(*v, scale)).fold((f64::MAX, f64::MIN), span);
        let (low, high) = match (low <= high, scale) {
            (false, Scale::Linear) => (0.0, 1.0),
            (false, Scale::Log) => (1.0, 10.0),
            (true, _) => (low, high),
        };
        match scale {
            Scale::Linear => Axis::linear(low, high, about, snug),
            Scale::Log => Axis::logarithmic(low, high, snug),
        }
    }

    fn linear(low: f64, high: f64, about: usize, snug: bool) -> Axis {
        let size = low.abs().max(high.abs()).max(1e-9);
        let (low, high) =
            if high - low < 1e-6 * size { (low - 0.05 * size, high + 0.05 * size) } else { (low, high) };
        let step = nice((high - low) / about.max(1) as f64);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let (low, high) = if snug { (low, high) } else { (first * step, last * step) };
        let slack = 1e-6 * step;
        let count = (last - first) as usize;
        let ticks = (0..=count).map(|i| (first + i as f64) * step);
        let ticks = ticks.filter(|t| *t >= low - slack && *t <= high + slack).collect();
        Axis { low, high, scale: Scale::Linear, ticks, step }
    }

    fn logarithmic(low: f64, high: f64, snug: bool) -> Axis {
        let high = if high < low * 1.01 { low * 10.0 } else { high };
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let wide = last - first > 3;
        let every = ((last - first) / 8).max(1) as usize;
        let digits: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let round: Vec<f64> = (first..=last)
            .step_by(every)
            .flat_map(|p| digits.iter().map(move |d| d * 10f64.powi(p)))
            .collect();
        let below = round.iter().copied().rfind(|t| *t <= low * 1.001);
        let above = round.iter().copied().find(|t| *t >= high * 0.999);
        let (low, high) = match (below, above) {
            (Some(below), Some(above)) if !snug => (below.min(low), above.max(high)),
            _ => (low, high),
        };
        let ticks = round.into_iter().filter(|t| *t >= low * 0.999 && *t <= high * 1.001).collect();
        Axis { low, high, scale: Scale::Log, ticks, step: low }
    }

    /// Where a value lies, from 0 to 1; beyond for values outside.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// A tick in words: 50k, 1.5M, 0.25.
    pub fn label(&self, tick: f64) -> String {
        number(tick, if self.scale == Scale::Log { tick } else { self.step })
    }
}

/// A number with as many decimals as steps of this size need.
pub(super) fn number(value: f64, step: f64) -> String {
    // Rounding errors of a tick are no digits.
    let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
    let (scaled, unit) = match value.abs() {
        a if a >= 1e6 => (value / 1e6, "M"),
        a if a >= 1e3 && step >= 10.0 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if unit.is_empty() {
        let decimals = (-step.log10()).ceil().clamp(0.0, 9.0) as usize;
        return format!("{value:.decimals$}");
    }
    let text = format!("{scaled:.3}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The nearest of 1, 2, 5, 10, ... above a number.
pub(super) fn nice(x: f64) -> f64 {
    let power = 10f64.powf(x.max(1e-12).log10().floor());
    let first = [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * power >= x * 0.999);
    first.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_of_axes_are_round() {
        assert_eq!([0.3, 1.0, 1.1, 4.2, 5.5].map(nice), [0.5, 1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn ticks_are_written_shortly() {
        let axis = Axis::over([0.0, 200_000.0].into_iter(), Scale::Linear, 5, true);
        let labels: Vec<String> = axis.ticks.iter().map(|t| axis.label(*t)).collect();
        assert_eq!(labels, ["0", "50k", "100k", "150k", "200k"]);
        let axis = Axis::over([-0.2, 0.31].into_iter(), Scale::Linear, 5, false);
        let labels: Vec<String> = axis.ticks.iter().map(|t| axis.label(*t)).collect();
        assert_eq!(labels, ["-0.2", "0.0", "0.2", "0.4"]);
        let axis = Axis::over([2_000.0, 70_000.0].into_iter(), Scale::Log, 5, true);
        let labels: Vec<String> = axis.ticks.iter().map(|t| axis.label(*t)).collect();
        assert_eq!(labels, ["2k", "5k", "10k", "20k", "50k"]);
        let axis = Axis::over([24_000.0, 31_000.0].into_iter(), Scale::Log, 5, false);
        assert_eq!((axis.low, axis.high, axis.ticks), (20_000.0, 50_000.0, vec![20_000.0, 50_000.0]));
        assert_eq!(number(1_500_000.0, 500_000.0), "1.5M");
    }

    proptest! {
        #[test]
        fn any_values_have_a_place(values in proptest::collection::vec(proptest::num::f64::ANY, 0..9), log: bool) {
            let scale = if log { Scale::Log } else { Scale::Linear };
            let axis = Axis::over(values.iter().copied(), scale, 5, false);
            prop_assert!(axis.ticks.len() < 40, "{axis:?}");
            for v in values.into_iter().filter(|v| drawable(*v, scale)) {
                let place = axis.place(v);
                prop_assert!((-1e-6..=1.0 + 1e-6).contains(&place), "{v} at {place} of {axis:?}");
            }
        }
    }
}
