//! Learning curves as a picture, drawn with the same shapes as the worlds.

use anyhow::{Context, Result};
use equimarl_worlds::look::{Colour, Scene, Shape};
use serde_json::Value;
use std::path::Path;

const INK: Colour = Colour(33, 43, 54);
const GRID: Colour = Colour(222, 226, 230);
/// Told apart by everybody (after Okabe and Ito), in the order of the curves.
const COLOURS: [Colour; 4] =
    [Colour(0, 114, 178), Colour(213, 94, 0), Colour(0, 158, 115), Colour(204, 121, 167)];

/// The picture's size and the room around the axes, in units of about a letter.
const SIZE: [f32; 2] = [60.0, 36.0];
const MARGIN: [f32; 4] = [7.0, 3.0, 5.0, 3.0]; // left, right, below, above

/// A named curve of (steps, value).
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// One value of every line of metrics that has it.
    pub fn read(run: &Path, name: &str, key: &str) -> Result<Curve> {
        let path = run.join("metrics.jsonl");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let point = |line: &str| {
            let line: Value = serde_json::from_str(line).ok()?;
            Some((line["steps"].as_f64()?, line[key].as_f64()?))
        };
        Ok(Curve { name: name.into(), points: text.lines().filter_map(point).collect() })
    }
}

/// Draws curves over the same axes, with a dashed line at `best` if there is one.
pub fn draw(title: &str, value: &str, curves: &[Curve], best: Option<(f64, &str)>) -> Scene {
    let all = || curves.iter().flat_map(|c| &c.points);
    let most = all().map(|p| p.0).fold(1.0, f64::max);
    let values = || all().map(|p| p.1).chain(best.map(|b| b.0)).filter(|v| v.is_finite());
    let (low, high) = values().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
    let step = nice((high - low) / 5.0);
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    let [left, right, below, above] = MARGIN;
    let (width, height) = (SIZE[0] - left - right, SIZE[1] - below - above);
    let x = |steps: f64| left + width * (steps / most) as f32;
    let y = |v: f64| above + height * (1.0 - ((v - low) / (high - low)) as f32);
    let mut scene = Scene::new(SIZE[0], SIZE[1]);
    let mut line = |name, from, to, width, colour| scene.add(name, Shape::Line { from, to, width }, colour);
    let ticks = ((high - low) / step).round() as usize;
    for i in 0..=ticks {
        let v = low + step * i as f64;
        line("grid", [left, y(v)], [left + width, y(v)], 0.06, GRID);
    }
    if let Some((v, _)) = best {
        for dash in 0..30 {
            let at = |k: f32| left + width * (dash as f32 + k) / 30.0;
            line("best", [at(0.0), y(v)], [at(0.6), y(v)], 0.14, INK);
        }
    }
    for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        for pair in curve.points.windows(2) {
            line("curve", [x(pair[0].0), y(pair[0].1)], [x(pair[1].0), y(pair[1].1)], 0.28, *colour);
        }
    }
    let mut label = |centre, height, text: String, colour| {
        scene.add("label", Shape::Label { centre, height, text }, colour);
    };
    for i in 0..=ticks {
        let v = low + step * i as f64;
        // Adding zero turns -0 into 0.
        label([left - 2.4, y(v)], 0.9, format!("{}", (v * 1e6).round() / 1e6 + 0.0), INK);
    }
    let across = nice(most / 5.0);
    let mut steps = 0.0;
    while steps <= most * 1.001 {
        label([x(steps), above + height + 1.4], 0.9, format!("{}k", steps / 1000.0), INK);
        steps += across;
    }
    label([left + width / 2.0, SIZE[1] - 1.3], 0.95, "environment steps".into(), INK);
    label([SIZE[0] / 2.0, 1.4], 1.1, format!("{title}: {value}"), INK);
    if let Some((v, name)) = best {
        label([left + width * 0.8, y(v) - 0.9], 0.9, name.into(), INK);
    }
    for (i, (curve, colour)) in curves.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let at = [left + width * 0.8, above + height - 3.0 - 1.7 * (curves.len() - 1 - i) as f32];
        label(at, 1.0, curve.name.clone(), *colour);
    }
    scene
}

/// The nearest of 1, 2, 5, 10, ... above a number.
fn nice(x: f64) -> f64 {
    let power = 10f64.powf(x.max(1e-9).log10().floor());
    let first = [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * power >= x * 0.999);
    first.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_axes_are_round() {
        assert_eq!([0.3, 1.0, 1.1, 4.2, 5.5].map(nice), [0.5, 1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn a_figure_has_its_curves_and_survives_nothing() {
        let curve = Curve { name: "a".into(), points: vec![(0.0, 1.0), (10.0, 2.0), (20.0, 1.5)] };
        let scene = draw("t", "v", &[curve], Some((2.5, "best")));
        assert_eq!(scene.count("curve"), 2);
        assert_eq!(scene.count("best"), 30);
        draw("t", "v", &[], None);
    }
}
