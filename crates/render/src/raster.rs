//! A scene as pixels.

use crate::error::{Error, Result};
use crate::letters;
use equimarl_worlds::scene::{Colour, Item, Scene, Shape};
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};

/// Shapes that reach farther than this many pixels are left out: they are mistakes, and painting them takes forever.
const FAR: f32 = 1e5;

/// Pixels, row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    pub width: usize,
    pub height: usize,
    pub colours: Vec<Colour>,
}

/// Paints the scene with `across` x `down` pixels per cell.
pub(crate) fn pixels(scene: &Scene, [across, down]: [f32; 2]) -> Result<Pixels> {
    let [width, height] = scene.size();
    let [width, height] = [width * across, height * down].map(|v| v.ceil().max(1.0) as u32);
    let mut map = Pixmap::new(width, height)
        .ok_or_else(|| Error::Draw(format!("there is no room for {width} x {height} pixels")))?;
    map.fill(colour(Colour::PAPER));
    let transform = Transform::from_scale(across, down);
    let finest = across.max(down);
    for item in scene.items().iter().filter(|item| extent(item) * finest <= FAR) {
        paint(&mut map, item, transform);
    }
    // Everything is painted on opaque paper, so there is no transparency to undo.
    let colours = map.pixels().iter().map(|p| Colour(p.red(), p.green(), p.blue())).collect();
    Ok(Pixels { width: width as usize, height: height as usize, colours })
}

/// The largest number that a shape is drawn with, or infinity if one of them is not a number.
fn extent(item: &Item) -> f32 {
    let largest = |numbers: &[f32]| {
        numbers.iter().fold(0.0, |most: f32, v| if v.is_nan() { f32::INFINITY } else { most.max(v.abs()) })
    };
    let rim = item.rim.map_or(0.0, |(_, width)| width);
    let shape = match &item.shape {
        Shape::Rect { corner: [x, y], size: [w, h], radius } => largest(&[*x, *y, *w, *h, *radius]),
        Shape::Circle { centre: [x, y], radius } => largest(&[*x, *y, *radius]),
        Shape::Polygon(points) => largest(points.as_flattened()),
        Shape::Line { from: [x, y], to: [z, w], width } => largest(&[*x, *y, *z, *w, *width]),
        Shape::Label { centre: [x, y], height, text } => largest(&[*x, *y, *height * text.len() as f32]),
    };
    shape.max(largest(&[rim]))
}

fn colour(Colour(r, g, b): Colour) -> tiny_skia::Color {
    tiny_skia::Color::from_rgba8(r, g, b, 255)
}

fn paint(map: &mut Pixmap, item: &Item, transform: Transform) {
    let ink = |c: Colour| {
        let mut paint = Paint::default();
        paint.set_color(colour(c));
        paint
    };
    let pen = |width: f32| Stroke {
        width,
        line_cap: LineCap::Round,
        line_join: LineJoin::Round,
        ..Stroke::default()
    };
    // A shape without extent has no path, and nothing to paint.
    let Some(path) = path(&item.shape) else { return };
    match &item.shape {
        Shape::Line { width, .. } => {
            map.stroke_path(&path, &ink(item.fill), &pen(*width), transform, None);
        }
        Shape::Label { height, text, .. } => {
            let (_, width) = letters::outline(text);
            map.stroke_path(&path, &ink(item.fill), &pen(width * height), transform, None);
        }
        Shape::Rect { .. } | Shape::Circle { .. } | Shape::Polygon(_) => {
            map.fill_path(&path, &ink(item.fill), FillRule::Winding, transform, None);
            if let Some((rim, width)) = item.rim {
                map.stroke_path(&path, &ink(rim), &pen(width), transform, None);
            }
        }
    }
}

fn path(shape: &Shape) -> Option<Path> {
    let mut path = PathBuilder::new();
    match shape {
        Shape::Rect { corner: [x, y], size: [w, h], radius } => {
            if *radius <= 0.0 {
                return Some(PathBuilder::from_rect(Rect::from_xywh(*x, *y, *w, *h)?));
            }
            rounded(&mut path, [*x, *y], [*x + *w, *y + *h], radius.min(w / 2.0).min(h / 2.0));
        }
        Shape::Circle { centre: [x, y], radius } => path.push_circle(*x, *y, *radius),
        Shape::Polygon(points) => {
            run(&mut path, points);
            path.close();
        }
        Shape::Line { from, to, .. } => run(&mut path, &[*from, *to]),
        Shape::Label { centre: [x, y], height, text } => {
            for points in letters::outline(text).0 {
                run(
                    &mut path,
                    &points.iter().map(|p| [x + height * p[0], y + height * p[1]]).collect::<Vec<_>>(),
                );
            }
        }
    }
    path.finish()
}

fn run(path: &mut PathBuilder, points: &[[f32; 2]]) {
    for (k, &[x, y]) in points.iter().enumerate() {
        if k == 0 {
            path.move_to(x, y);
        } else {
            path.line_to(x, y);
        }
    }
}

/// A rectangle whose corners are quarters of a circle.
fn rounded(path: &mut PathBuilder, [left, top]: [f32; 2], [right, bottom]: [f32; 2], radius: f32) {
    // The cubic curve nearest to a quarter circle leaves this part of the radius straight.
    let (r, q) = (radius, radius * (1.0 - 0.552_284_8));
    path.move_to(left + r, top);
    path.line_to(right - r, top);
    path.cubic_to(right - q, top, right, top + q, right, top + r);
    path.line_to(right, bottom - r);
    path.cubic_to(right, bottom - q, right - q, bottom, right - r, bottom);
    path.line_to(left + r, bottom);
    path.cubic_to(left + q, bottom, left, bottom - q, left, bottom - r);
    path.line_to(left, top + r);
    path.cubic_to(left, top + q, left + q, top, left + r, top);
    path.close();
}
