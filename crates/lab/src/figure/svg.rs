//! Drawings as SVG: text stays text, and a page can give pieces other colours by their classes.

use super::drawing::{Anchor, Drawing, Piece, Stroke, Text};
use std::fmt::{Display, Formatter, Result};

/// A length or place in pixels: one decimal, and never something that is not a number.
struct Px(f64);

impl Display for Px {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let rounded = if self.0.is_finite() { (self.0 * 10.0).round() / 10.0 } else { 0.0 };
        // Adding zero turns -0 into 0.
        write!(f, "{}", rounded + 0.0)
    }
}

/// Text in which nothing is markup.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters are not allowed in XML.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

impl Drawing {
    /// A picture that stands alone: with white paper and a size.
    pub fn svg(&self) -> String {
        let [w, h] = self.size.map(Px);
        let paper = format!("<rect class=\"fig-paper\" width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n");
        self.written(&format!(" width=\"{w}\" height=\"{h}\" color=\"#1f2933\""), &paper)
    }

    /// A picture for a page, to be put into its HTML: as wide as its place, in the page's colours (`currentColor`, and the
    /// classes `fig-c0`, `fig-c1`, ... for the curves). It holds no style sheet and no script.
    pub fn inline(&self) -> String {
        self.written("", "")
    }

    fn written(&self, outer: &str, paper: &str) -> String {
        let [w, h] = self.size.map(Px);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" role=\"img\" viewBox=\"0 0 {w} {h}\"{outer} \
             font-family=\"system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{paper}{}</svg>\n",
            escape(&self.title),
            escape(&self.description),
            markup(&self.pieces)
        )
    }
}

fn markup(pieces: &[Piece]) -> String {
    pieces.iter().map(piece).collect()
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Line { class, ends: [from, to], stroke } => format!(
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"currentColor\"{}/>\n",
            Px(from[0]),
            Px(from[1]),
            Px(to[0]),
            Px(to[1]),
            style(stroke, false)
        ),
        Piece::Curve { class, points, stroke } => format!(
            "<path class=\"{class}\" d=\"{}\" fill=\"none\" stroke=\"currentColor\"{}/>",
            path(points),
            style(stroke, true)
        ),
        Piece::Shape { class, points, opacity } => {
            let opacity = if *opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
            format!("<path class=\"{class}\" d=\"{}Z\" fill=\"currentColor\"{opacity}/>", path(points))
        }
        Piece::Dot { class, centre, radius } => {
            let [x, y] = centre.map(Px);
            format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"currentColor\"/>")
        }
        Piece::Text(text) => words(text),
        Piece::Coloured(colour, pieces) => format!(
            "<g class=\"{}\" color=\"{}\">{}</g>\n",
            colour.class(),
            colour.light(),
            markup(pieces).trim_end()
        ),
        Piece::Clipped(part, pieces) => {
            let [x, y, w, h] = part.map(Px);
            let inside = markup(pieces);
            format!(
                "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" overflow=\"hidden\">\n{inside}</svg>\n"
            )
        }
    }
}

fn words(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (class, [x, y]) = (text.class, text.at.map(Px));
    let weight = if class == "fig-title" { " font-weight=\"600\"" } else { "" };
    format!(
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{}\"{weight} \
         fill=\"currentColor\">{}</text>\n",
        text.size,
        escape(&text.content)
    )
}

fn style(stroke: &Stroke, corners: bool) -> String {
    let mut style = String::new();
    if stroke.width != 1.0 {
        style += &format!(" stroke-width=\"{}\"", stroke.width);
    }
    if !stroke.dashes.is_empty() {
        let dashes: Vec<String> = stroke.dashes.iter().map(f64::to_string).collect();
        style += &format!(" stroke-dasharray=\"{}\"", dashes.join(" "));
    }
    if stroke.opacity < 1.0 {
        style += &format!(" stroke-opacity=\"{}\"", stroke.opacity);
    }
    if stroke.round && corners {
        style += " stroke-linejoin=\"round\"";
    }
    if stroke.round {
        style += " stroke-linecap=\"round\"";
    }
    style
}

fn path(points: &[[f64; 2]]) -> String {
    let mut path = String::new();
    for (i, [x, y]) in points.iter().enumerate() {
        path += &format!("{}{} {}", if i == 0 { 'M' } else { 'L' }, Px(*x), Px(*y));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_user_writes_becomes_markup() {
        assert_eq!(escape("a<b>&\"c'\u{7}"), "a&lt;b&gt;&amp;&quot;c&#39; ");
        assert_eq!(Px(f64::NAN).to_string(), "0");
        assert_eq!(Px(-0.01).to_string(), "0");
        assert_eq!(Px(12.34).to_string(), "12.3");
    }
}
