//! Letters as outlines, so that a picture needs no font where it is read. They are those of DejaVu Sans Condensed
//! (`font/LICENSE`), taken out of it by `font/make_glyphs.py`.

use super::drawing::{Anchor, Text};
use super::paint::Segment;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Stands for characters that are not here.
const BOX: u32 = 0;

static GLYPHS: LazyLock<BTreeMap<u32, Glyph>> =
    LazyLock::new(|| include_str!("font/glyphs.txt").lines().filter_map(Glyph::read).collect());

/// A character, in thousandths of the font's size, upwards.
#[derive(Default)]
struct Glyph {
    advance: f64,
    outline: Vec<Segment>,
}

impl Glyph {
    /// A line of `font/glyphs.txt`: the character's number, its width, its outline.
    fn read(line: &str) -> Option<(u32, Glyph)> {
        let mut words = line.splitn(3, ' ');
        let code = u32::from_str_radix(words.next()?, 16).ok()?;
        let advance = words.next()?.parse().ok()?;
        Some((code, Glyph { advance, outline: outline(words.next().unwrap_or_default())? }))
    }

    fn of(c: char) -> Option<&'static Glyph> {
        // As in an SVG, where they are not allowed.
        let c = if c.is_control() { ' ' } else { c };
        GLYPHS.get(&u32::from(c)).or_else(|| GLYPHS.get(&BOX))
    }
}

/// An outline of M, L, Q and Z.
fn outline(path: &str) -> Option<Vec<Segment>> {
    let mut segments = vec![];
    let mut last = [0.0; 2];
    for (at, letter) in path.match_indices(|c: char| c.is_ascii_uppercase()) {
        let rest = &path[at + 1..];
        let own = rest.split(|c: char| c.is_ascii_uppercase()).next()?;
        let numbers: Vec<f64> = own.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let segment = match (letter, &numbers[..]) {
            ("M", &[x, y]) => Segment::Move([x, y]),
            ("L", &[x, y]) => Segment::Line([x, y]),
            ("Q", &[a, b, x, y]) => {
                // The same curve with two control points, each two thirds of the way to the one.
                let towards = |from: [f64; 2]| {
                    [from[0] + 2.0 / 3.0 * (a - from[0]), from[1] + 2.0 / 3.0 * (b - from[1])]
                };
                Segment::Cubic([towards(last), towards([x, y]), [x, y]])
            }
            ("Z", []) => Segment::Close,
            _ => return None,
        };
        if let [.., x, y] = numbers[..] {
            last = [x, y];
        }
        segments.push(segment);
    }
    Some(segments)
}

/// The outlines of all letters of a text, where it stands.
pub(super) fn outlines(text: &Text) -> Vec<Segment> {
    let scale = text.size / 1000.0;
    let glyphs: Vec<&Glyph> = text.content.chars().filter_map(Glyph::of).collect();
    let wide: f64 = glyphs.iter().map(|g| g.advance * scale).sum();
    let [mut x, y] = text.at;
    x -= match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => wide / 2.0,
        Anchor::End => wide,
    };
    let mut segments = vec![];
    for glyph in glyphs {
        let place = |p: [f64; 2]| [x + p[0] * scale, y - p[1] * scale];
        segments.extend(glyph.outline.iter().map(|s| s.moved(place)));
        x += glyph.advance * scale;
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::super::drawing::width;
    use super::*;

    #[test]
    fn every_line_of_the_file_is_a_letter() {
        let lines = include_str!("font/glyphs.txt").lines().count();
        assert_eq!(GLYPHS.len(), lines);
        let blank = |c: &u32| GLYPHS[c].outline.is_empty();
        let blanks: Vec<u32> = GLYPHS.keys().copied().filter(blank).collect();
        assert_eq!(blanks, [0x20, 0xa0]);
        assert!(outline("M1 2X3").is_none() && outline("Q1 2").is_none());
    }

    #[test]
    fn letters_stand_at_their_place() {
        let text = |content: &str, anchor| Text {
            class: "fig-label",
            at: [100.0, 50.0],
            anchor,
            size: 10.0,
            content: content.into(),
        };
        let ends = |segments: &[Segment]| {
            let xs = segments.iter().filter_map(|s| match s {
                Segment::Move([x, _]) | Segment::Line([x, _]) | Segment::Cubic([_, _, [x, _]]) => Some(*x),
                Segment::Close => None,
            });
            xs.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)))
        };
        let sides = [Anchor::Start, Anchor::Middle, Anchor::End].map(|a| ends(&outlines(&text("HH", a))));
        assert!(sides[0].0 > 100.0 && sides[2].1 < 100.0, "{sides:?}");
        assert!(((sides[1].0 + sides[1].1) / 2.0 - 100.0).abs() < 0.01, "{sides:?}");
        // What is not here is a box, and never a hole.
        let box_of = |s: &str| outlines(&text(s, Anchor::Start));
        assert!(!box_of("\u{4e2d}").is_empty() && box_of("\u{4e2d}") == box_of("\u{1f600}"));
        assert!(box_of("\n").is_empty());
    }

    /// Layouts reckon with a guess; the letters must not need more room than that.
    #[test]
    fn letters_are_not_wider_than_layouts_think() {
        for text in ["equivariant (C4, rollout ratio)", "0123456789", "Steps to a return above 2.25", "AMWQ"]
        {
            let own: f64 = text.chars().filter_map(Glyph::of).map(|g| g.advance / 1000.0).sum();
            assert!(own <= width(text, 1.0), "{text}: {own} against {}", width(text, 1.0));
        }
    }
}
