//! Drawings as paths in colours, for whatever can paint those: PDF and PNG.

use super::drawing::{Drawing, Piece, Stroke};
use super::font;

/// The colour of text and lines on white paper, as in the SVG.
const INK: [u8; 3] = [0x1f, 0x29, 0x33];
/// What is farther away than this is not seen, and would be too much for some.
const FAR: f64 = 1e5;
/// How much thicker the letters of titles are, in parts of their size.
const BOLD: f64 = 0.03;

/// A piece of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Segment {
    Move([f64; 2]),
    Line([f64; 2]),
    /// Two control points and the end.
    Cubic([[f64; 2]; 3]),
    Close,
}

impl Segment {
    /// The segment with all its points somewhere else.
    pub fn moved(&self, to: impl Fn([f64; 2]) -> [f64; 2]) -> Segment {
        match self {
            Segment::Move(p) => Segment::Move(to(*p)),
            Segment::Line(p) => Segment::Line(to(*p)),
            Segment::Cubic(points) => Segment::Cubic(points.map(to)),
            Segment::Close => Segment::Close,
        }
    }
}

/// A colour, and how much of what is below it hides.
#[derive(Clone, Copy)]
pub(super) struct Ink {
    pub rgb: [u8; 3],
    pub opacity: f64,
}

/// What paints paths.
pub(super) trait Canvas {
    fn fill(&mut self, path: &[Segment], ink: Ink);
    fn stroke(&mut self, path: &[Segment], ink: Ink, stroke: &Stroke);
    /// From now on nothing outside of this part (left, top, width, height) is painted, or everything again.
    fn clip(&mut self, part: Option<[f64; 4]>);
}

impl Drawing {
    /// Paints all pieces in their order.
    pub(super) fn paint(&self, canvas: &mut impl Canvas) {
        for piece in &self.pieces {
            paint(piece, INK, [0.0; 2], canvas);
        }
    }
}

fn paint(piece: &Piece, rgb: [u8; 3], origin: [f64; 2], canvas: &mut impl Canvas) {
    let place = |p: [f64; 2]| {
        let near = |v: f64| if v.is_nan() { 0.0 } else { v.clamp(-FAR, FAR) };
        [near(p[0] + origin[0]), near(p[1] + origin[1])]
    };
    let solid = Ink { rgb, opacity: 1.0 };
    match piece {
        Piece::Line { ends, stroke, .. } => {
            canvas.stroke(&through(ends, place), Ink { rgb, opacity: stroke.opacity }, stroke);
        }
        Piece::Curve { points, stroke, .. } => {
            canvas.stroke(&through(points, place), Ink { rgb, opacity: stroke.opacity }, stroke);
        }
        Piece::Shape { points, opacity, .. } => {
            let mut path = through(points, place);
            path.push(Segment::Close);
            canvas.fill(&path, Ink { rgb, opacity: *opacity });
        }
        Piece::Dot { centre, radius, .. } => canvas.fill(&circle(place(*centre), *radius), solid),
        Piece::Text(text) => {
            let path: Vec<Segment> = font::outlines(text).iter().map(|s| s.moved(place)).collect();
            canvas.fill(&path, solid);
            if text.class == "fig-title" {
                canvas.stroke(&path, solid, &Stroke { width: BOLD * text.size, ..Stroke::THIN });
            }
        }
        Piece::Coloured(colour, pieces) => {
            for piece in pieces {
                paint(piece, colour.rgb(), origin, canvas);
            }
        }
        Piece::Clipped([x, y, w, h], pieces) => {
            let [left, top] = place([*x, *y]);
            canvas.clip(Some([left, top, *w, *h]));
            for piece in pieces {
                paint(piece, rgb, [left, top], canvas);
            }
            canvas.clip(None);
        }
    }
}

fn through(points: &[[f64; 2]], place: impl Fn([f64; 2]) -> [f64; 2]) -> Vec<Segment> {
    let segment = |(i, p): (usize, &[f64; 2])| match i {
        0 => Segment::Move(place(*p)),
        _ => Segment::Line(place(*p)),
    };
    points.iter().enumerate().map(segment).collect()
}

/// Four arcs, each a cubic that is off by less than a thousandth of the radius.
fn circle([x, y]: [f64; 2], r: f64) -> [Segment; 6] {
    let k = 0.5523 * r;
    [
        Segment::Move([x + r, y]),
        Segment::Cubic([[x + r, y + k], [x + k, y + r], [x, y + r]]),
        Segment::Cubic([[x - k, y + r], [x - r, y + k], [x - r, y]]),
        Segment::Cubic([[x - r, y - k], [x - k, y - r], [x, y - r]]),
        Segment::Cubic([[x + k, y - r], [x + r, y - k], [x + r, y]]),
        Segment::Close,
    ]
}
