//! What a figure is made of, before it is SVG, PDF or PNG.

use super::Colour;

/// A picture of a few kinds of pieces. `svg`, `inline`, `pdf` and `png` write it down.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width and height in pixels, of which 96 are an inch.
    pub(super) size: [f64; 2],
    pub(super) title: String,
    /// For those who cannot see it.
    pub(super) description: String,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a picture. Its class lets a page style it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Line {
        class: &'static str,
        ends: [[f64; 2]; 2],
        stroke: Stroke,
    },
    Curve {
        class: &'static str,
        points: Vec<[f64; 2]>,
        stroke: Stroke,
    },
    Shape {
        class: &'static str,
        points: Vec<[f64; 2]>,
        opacity: f64,
    },
    Dot {
        class: &'static str,
        centre: [f64; 2],
        radius: f64,
    },
    Text(Text),
    /// Pieces in a colour that a page can change by its class.
    Coloured(Colour, Vec<Piece>),
    /// Pieces with coordinates of their own in a part of the picture (left, top, width, height), and not outside of it.
    Clipped([f64; 4], Vec<Piece>),
}

/// A piece of text. Its class is `fig-title`, `fig-label` or `fig-tick`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub class: &'static str,
    pub at: [f64; 2],
    pub anchor: Anchor,
    pub size: f64,
    pub content: String,
}

/// Which end of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stroke {
    pub width: f64,
    /// Lengths of dashes and gaps in turn; none if it is solid.
    pub dashes: &'static [f64],
    pub opacity: f64,
    /// Whether ends and corners are round.
    pub round: bool,
}

impl Stroke {
    pub const THIN: Stroke = Stroke { width: 1.0, dashes: &[], opacity: 1.0, round: false };
}

impl Piece {
    pub fn line(from: [f64; 2], to: [f64; 2], class: &'static str, stroke: Stroke) -> Piece {
        Piece::Line { class, ends: [from, to], stroke }
    }

    pub fn text(at: [f64; 2], anchor: Anchor, size: f64, class: &'static str, content: &str) -> Piece {
        Piece::Text(Text { class, at, anchor, size, content: content.into() })
    }
}

/// About how wide a text is in a sans-serif font of this size; rather too wide than too narrow.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | '\'' | '|' | ' ' | '(' | ')' | '[' | ']' | 't' | 'f' | 'r' => 0.4,
        'm' | 'w' | 'M' | 'W' => 0.95,
        'A'..='Z' => 0.7,
        _ => 0.62,
    };
    text.chars().map(of).sum::<f64>() * size
}

/// The text, cut so that it is at most this wide.
pub(super) fn fit(text: &str, size: f64, room: f64) -> String {
    // Rooms are often made to measure.
    if width(text, size) <= room + 0.1 {
        return text.into();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if width(&cut, size) > room - size {
            break;
        }
    }
    cut.push('\u{2026}');
    cut
}

/// The whole text on lines that are at most this wide, broken after a space or a mark where there is one.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for c in text.chars() {
        let line = lines.last().cloned().unwrap_or_default();
        if line.is_empty() || width(&format!("{line}{c}"), size) <= room + 0.1 {
            lines.pop();
            lines.push(format!("{line}{c}"));
            continue;
        }
        let at = line.rfind([' ', ',', '/', '-', '_']).map_or(line.len(), |at| at + 1);
        let (stays, goes) = line.split_at(at);
        lines.pop();
        lines.push(stays.trim_end().into());
        lines.push(format!("{goes}{c}").trim_start().into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_to_their_room() {
        let cut = fit(&"abcdef".repeat(20), 10.0, 100.0);
        assert!(cut.ends_with('\u{2026}') && width(&cut, 10.0) <= 110.0, "{cut}");
        assert_eq!(fit("short", 10.0, 100.0), "short");
    }

    #[test]
    fn long_names_go_on_in_the_next_line_and_nothing_of_them_is_lost() {
        for name in
            ["a sweep/with-a-long-name/equivariant, rate 0.001 (9 seeds)", &"abcdef".repeat(20), "", "short"]
        {
            let lines = wrap(name, 10.0, 100.0);
            assert!(lines.iter().all(|line| width(line, 10.0) <= 100.2), "{lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), name.replace(' ', ""));
        }
        assert_eq!(wrap("one two", 10.0, 30.0), ["one", "two"]);
        assert_eq!(wrap("one two", 10.0, 100.0), ["one two"]);
        assert!(wrap("", 10.0, 60.0).is_empty());
    }
}
