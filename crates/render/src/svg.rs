//! A scene as a self-contained SVG.

use crate::error::{Error, Result};
use equimarl_files::{MARK, write_file};
use equimarl_worlds::scene::{Colour, Item, Scene, Shape};
use std::fmt::{self, Display, Formatter, Write};
use std::path::Path;

/// The longer side of a picture, in pixels.
const SIDE: f32 = 1200.0;
/// A cell of a small world, in pixels.
const CELL: f32 = 80.0;
/// The height of a capital letter in a font of size 1.
const CAPITAL: f32 = 0.72;

/// The scene as an SVG. Every shape has the class that its [`Item::name`] says.
pub fn svg(scene: &Scene) -> String {
    let scale = scene.scale(SIDE, CELL);
    let [width, height] = scene.size().map(|v| Px((v * scale).ceil()));
    let paper = Colour::PAPER;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" text-anchor=\"middle\" \
         stroke-linejoin=\"round\" stroke-linecap=\"round\">\n<!-- {MARK} -->\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n"
    );
    for item in scene.items() {
        element(&mut text, item, scale).expect("text has room");
    }
    text.push_str("</svg>\n");
    text
}

/// Writes the scene to an SVG file; the file is complete or not there.
///
/// # Errors
/// If it cannot be written.
pub fn save_svg(scene: &Scene, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    write_file(path, svg(scene).as_bytes()).map_err(|why| Error::Write { path: path.into(), why })
}

fn element(text: &mut String, item: &Item, scale: f32) -> fmt::Result {
    let px = |v: f32| Px(v * scale);
    let (name, fill) = (Class(&item.name), item.fill);
    let rim = Rim(item.rim.map(|(colour, width)| (colour, width * scale)));
    match &item.shape {
        Shape::Rect { corner: [x, y], size: [w, h], radius } => writeln!(
            text,
            "<rect class=\"{name}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{fill}\"{rim}/>",
            px(*x),
            px(*y),
            px(*w),
            px(*h),
            px(*radius)
        ),
        Shape::Circle { centre: [x, y], radius } => writeln!(
            text,
            "<circle class=\"{name}\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{fill}\"{rim}/>",
            px(*x),
            px(*y),
            px(*radius)
        ),
        Shape::Polygon(points) => {
            write!(text, "<polygon class=\"{name}\" points=\"")?;
            for (k, [x, y]) in points.iter().enumerate() {
                let space = if k == 0 { "" } else { " " };
                write!(text, "{space}{},{}", px(*x), px(*y))?;
            }
            writeln!(text, "\" fill=\"{fill}\"{rim}/>")
        }
        Shape::Line { from, to, width } => writeln!(
            text,
            "<line class=\"{name}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{fill}\" stroke-width=\"{}\"/>",
            px(from[0]),
            px(from[1]),
            px(to[0]),
            px(to[1]),
            px(*width)
        ),
        Shape::Label { centre: [x, y], height, text: words } => writeln!(
            text,
            "<text xml:space=\"preserve\" class=\"{name}\" x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{fill}\">{}</text>",
            px(*x),
            px(*y + *height / 2.0),
            px(*height / CAPITAL),
            Words(words)
        ),
    }
}

/// A length in pixels, with two decimals at most.
struct Px(f32);

impl Display for Px {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Adding 0 turns a rounded -0 into 0.
        write!(f, "{}", (f64::from(self.0) * 100.0).round() / 100.0 + 0.0)
    }
}

struct Rim(Option<(Colour, f32)>);

impl Display for Rim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((colour, width)) => write!(f, " stroke=\"{colour}\" stroke-width=\"{}\"", Px(width)),
            None => Ok(()),
        }
    }
}

/// Text that cannot be taken for markup; characters that XML does not allow become spaces.
struct Words<'a>(&'a str);

impl Display for Words<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => f.write_char(' '),
            c if c.is_control() => f.write_char(' '),
            c => f.write_char(c),
        })
    }
}

/// A name that cannot end the attribute that it is in.
struct Class<'a>(&'a str);

impl Display for Class<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.split('"').enumerate().try_for_each(|(k, part)| {
            f.write_str(if k == 0 { "" } else { "&quot;" })?;
            write!(f, "{}", Words(part))
        })
    }
}
