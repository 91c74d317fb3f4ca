//! Drawings as PNG, on white paper.

use super::drawing::{Drawing, Stroke};
use super::paint::{Canvas, Ink, Segment};
use equimarl_files::MARK;
use miniz_oxide::deflate::compress_to_vec_zlib;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, StrokeDash, Transform,
};

/// Dots in a pixel: 288 to the inch, enough for print.
const SCALE: f64 = 3.0;
/// Dots to the metre.
const DENSITY: u32 = 11_339;
/// Nobody draws larger ones; a mistake must not eat all memory.
const MOST: f64 = 12_000.0;

impl Drawing {
    /// A picture of dots, three by three for every pixel of the SVG.
    pub fn png(&self) -> Vec<u8> {
        let [w, h] = self.size.map(|v| (v * SCALE).round().clamp(1.0, MOST) as u32);
        let Some(mut dots) = Pixmap::new(w, h) else { return vec![] };
        dots.fill(Color::WHITE);
        let mut paper = Paper { dots, clip: None };
        self.paint(&mut paper);
        encode(&paper.dots)
    }
}

struct Paper {
    dots: Pixmap,
    clip: Option<Mask>,
}

impl Canvas for Paper {
    fn fill(&mut self, path: &[Segment], ink: Ink) {
        let Some(path) = path_of(path) else { return };
        self.dots.fill_path(&path, &paint(ink), FillRule::Winding, transform(), self.clip.as_ref());
    }

    fn stroke(&mut self, path: &[Segment], ink: Ink, stroke: &Stroke) {
        let Some(path) = path_of(path) else { return };
        let dashes = stroke.dashes.iter().map(|d| *d as f32).collect();
        let stroke = tiny_skia::Stroke {
            width: stroke.width as f32,
            line_cap: if stroke.round { LineCap::Round } else { LineCap::Butt },
            line_join: if stroke.round { LineJoin::Round } else { LineJoin::Miter },
            dash: StrokeDash::new(dashes, 0.0),
            ..tiny_skia::Stroke::default()
        };
        self.dots.stroke_path(&path, &paint(ink), &stroke, transform(), self.clip.as_ref());
    }

    fn clip(&mut self, part: Option<[f64; 4]>) {
        self.clip = part.and_then(|part| {
            let [x, y, w, h] = part.map(|v| v as f32);
            let mut mask = Mask::new(self.dots.width(), self.dots.height())?;
            let part = PathBuilder::from_rect(Rect::from_xywh(x, y, w, h)?);
            mask.fill_path(&part, FillRule::Winding, true, transform());
            Some(mask)
        });
    }
}

fn transform() -> Transform {
    Transform::from_scale(SCALE as f32, SCALE as f32)
}

fn paint(ink: Ink) -> Paint<'static> {
    let [r, g, b] = ink.rgb;
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (ink.opacity.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint
}

/// Nothing if there is nothing to see.
fn path_of(path: &[Segment]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let dot = |p: &[f64; 2]| p.map(|v| v as f32);
    for segment in path {
        match segment {
            Segment::Move(p) => builder.move_to(dot(p)[0], dot(p)[1]),
            Segment::Line(p) => builder.line_to(dot(p)[0], dot(p)[1]),
            Segment::Cubic(points) => {
                let [[a, b], [c, d], [x, y]] = points.each_ref().map(dot);
                builder.cubic_to(a, b, c, d, x, y);
            }
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}

/// The file: paper hides everything below, so dots are three bytes. Each line is written as its difference from the one above,
/// which is mostly nothing.
fn encode(dots: &Pixmap) -> Vec<u8> {
    let wide = 3 * dots.width() as usize;
    let mut lines = Vec::with_capacity((wide + 1) * dots.height() as usize);
    let mut above = vec![0u8; wide];
    for line in dots.pixels().chunks_exact(dots.width() as usize) {
        const UP: u8 = 2;
        lines.push(UP);
        let own: Vec<u8> = line.iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
        lines.extend(own.iter().zip(&above).map(|(own, above)| own.wrapping_sub(*above)));
        above = own;
    }
    let size = [dots.width().to_be_bytes(), dots.height().to_be_bytes()].concat();
    // Eight bits of three colours, and nothing special.
    let header = [&size[..], &[8, 2, 0, 0, 0]].concat();
    let density = [&DENSITY.to_be_bytes()[..], &DENSITY.to_be_bytes(), &[1]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let maker = [b"Software\0", MARK.as_bytes()].concat();
    let image = compress_to_vec_zlib(&lines, 6);
    for (name, content) in
        [(b"IHDR", header), (b"pHYs", density), (b"tEXt", maker), (b"IDAT", image), (b"IEND", vec![])]
    {
        let chunk = [&name[..], &content].concat();
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(&chunk);
        file.extend(crc(&chunk).to_be_bytes());
    }
    file
}

/// The check sum of a chunk.
fn crc(bytes: &[u8]) -> u32 {
    let bit = |sum: u32, _: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), bit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::everything;
    use std::collections::BTreeSet;

    /// The chunks of a file by name, with their check sums checked.
    fn chunks(file: &[u8]) -> Vec<(&[u8], &[u8])> {
        let mut rest = file.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
        let mut found = vec![];
        while !rest.is_empty() {
            let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().unwrap());
            let end = 8 + word(0) as usize;
            assert_eq!(word(end), crc(&rest[4..end]));
            found.push((&rest[4..8], &rest[8..end]));
            rest = &rest[end + 4..];
        }
        found
    }

    #[test]
    fn the_file_decodes_and_is_not_blank() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926); // the usual check of this sum
        let file = everything().png();
        let chunks = chunks(&file);
        let names: Vec<&[u8]> = chunks.iter().map(|c| c.0).collect();
        assert_eq!(names, [&b"IHDR"[..], b"pHYs", b"tEXt", b"IDAT", b"IEND"]);
        let word = |at: usize| u32::from_be_bytes(chunks[0].1[at..at + 4].try_into().unwrap()) as usize;
        let (w, h) = (word(0), word(4));
        assert_eq!(w, 1560);
        let lines = miniz_oxide::inflate::decompress_to_vec_zlib(chunks[3].1).unwrap();
        assert_eq!(lines.len(), (3 * w + 1) * h);
        let mut above = vec![0u8; 3 * w];
        let mut colours = BTreeSet::new();
        for line in lines.chunks_exact(3 * w + 1) {
            assert_eq!(line[0], 2);
            above = line[1..].iter().zip(&above).map(|(a, b)| a.wrapping_add(*b)).collect();
            colours.extend(above.chunks_exact(3).map(|c| [c[0], c[1], c[2]]));
        }
        // Paper, the first two curves, and text.
        for colour in [[255, 255, 255], [0x00, 0x72, 0xb2], [0xd5, 0x5e, 0x00], [0x1f, 0x29, 0x33]] {
            assert!(colours.contains(&colour), "{colour:?}");
        }
        assert_eq!(file, everything().png());
    }
}
