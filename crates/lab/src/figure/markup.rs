//! The few pieces of SVG that figures are made of.

use std::fmt::{Display, Formatter, Result};

/// A length or place in pixels: one decimal, and never something that is not a number.
pub(super) struct Px(pub f64);

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
pub(super) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for c in text.chars() {
        let line = lines.last().cloned().unwrap_or_default();
        if line.is_empty() || width(&format!("{line}{c}"), size) <= room + 0.1 {
            lines.last_mut().into_iter().for_each(|line| line.push(c));
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

/// Which end of a text stands at its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A piece of text. `class` is `fig-title`, `fig-label` or `fig-tick`.
pub(super) fn text(at: [f64; 2], anchor: Anchor, size: f64, class: &str, content: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let weight = if class == "fig-title" { " font-weight=\"600\"" } else { "" };
    format!(
        "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" font-size=\"{size}\"{weight} \
         fill=\"currentColor\">{}</text>\n",
        Px(at[0]),
        Px(at[1]),
        escape(content)
    )
}

/// A straight line; `style` holds further attributes.
pub(super) fn line(from: [f64; 2], to: [f64; 2], class: &str, style: &str) -> String {
    format!(
        "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"currentColor\" {style}/>\n",
        Px(from[0]),
        Px(from[1]),
        Px(to[0]),
        Px(to[1])
    )
}

/// A whole picture. RunStatus alone it brings white paper and its size; inside a page it takes the page's colours and width.
pub(super) fn picture(size: [f64; 2], title: &str, description: &str, alone: bool, body: &str) -> String {
    let [w, h] = size.map(Px);
    let (outer, paper) = if alone {
        (
            format!(" width=\"{w}\" height=\"{h}\" color=\"#1f2933\""),
            format!("<rect class=\"fig-paper\" width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n"),
        )
    } else {
        Default::default()
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" role=\"img\" viewBox=\"0 0 {w} {h}\"{outer} \
         font-family=\"system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\">\n\
         <title>{}</title>\n<desc>{}</desc>\n{paper}{body}</svg>\n",
        escape(title),
        escape(description)
    )
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
            let lines = wrapped(name, 10.0, 100.0);
            assert!(lines.iter().all(|line| width(line, 10.0) <= 100.2), "{lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), name.replace(' ', ""));
        }
        assert_eq!(wrapped("one two", 10.0, 30.0), ["one", "two"]);
        assert_eq!(wrapped("one two", 10.0, 100.0), ["one two"]);
    }
}
