//! Drawings as PDF: one page with paths, and letters as outlines, so that no reader and no printer needs a font.

use super::drawing::{Drawing, Stroke};
use super::paint::{Canvas, Ink, Segment};
use miniz_oxide::deflate::compress_to_vec_zlib;
use std::collections::BTreeSet;

/// Points of PDF in a pixel: 72 and 96 are an inch.
const POINT: f64 = 0.75;

impl Drawing {
    /// A file for papers. The same drawing gives the same bytes.
    pub fn pdf(&self) -> Vec<u8> {
        let [w, h] = self.size.map(|v| number(v * POINT));
        let mut page = Page::default();
        // Ours goes down, PDF goes up.
        page.text += &format!("{POINT} 0 0 -{POINT} 0 {h} cm\n");
        self.paint(&mut page);
        let states: String = page
            .opacities
            .iter()
            .map(|percent| format!("/a{0} << /ca {1} /CA {1} >> ", percent, *percent as f64 / 100.0))
            .collect();
        let content = compress_to_vec_zlib(page.text.as_bytes(), 8);
        let mut file = File::default();
        file.object(b"<< /Type /Catalog /Pages 2 0 R >>");
        file.object(b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
        file.object(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {w} {h}] /Contents 4 0 R /Group << /S /Transparency /CS /DeviceRGB >> \
                 /Resources << /ExtGState << {states}>> >> >>"
            )
            .as_bytes(),
        );
        let head = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", content.len());
        file.object(&[head.as_bytes(), &content, b"\nendstream"].concat());
        file.object(
            format!(
                "<< /Title {} /Subject {} /Producer (equimarl) >>",
                words(&self.title),
                words(&self.description)
            )
            .as_bytes(),
        );
        file.finish()
    }
}

/// The objects of a file, and where each begins.
struct File {
    bytes: Vec<u8>,
    begins: Vec<usize>,
}

impl Default for File {
    fn default() -> File {
        // The second line tells whoever copies files that this one is not text.
        File { bytes: b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec(), begins: vec![] }
    }
}

impl File {
    fn object(&mut self, content: &[u8]) {
        self.begins.push(self.bytes.len());
        self.bytes.extend(format!("{} 0 obj\n", self.begins.len()).as_bytes());
        self.bytes.extend(content);
        self.bytes.extend(b"\nendobj\n");
    }

    /// With the table of objects: the first is the catalogue, the last what is said about the file.
    fn finish(mut self) -> Vec<u8> {
        let (table, count) = (self.bytes.len(), self.begins.len() + 1);
        let lines: String = self.begins.iter().map(|at| format!("{at:010} 00000 n \n")).collect();
        self.bytes.extend(
            format!(
                "xref\n0 {count}\n0000000000 65535 f \n{lines}trailer\n<< /Size {count} /Root 1 0 R /Info {} 0 R >>\n\
                 startxref\n{table}\n%%EOF\n",
                count - 1
            )
            .as_bytes(),
        );
        self.bytes
    }
}

/// A text for people, as UTF-16 in hexadecimal digits: nothing in it can end it.
fn words(text: &str) -> String {
    let digits: String = text.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
    format!("<FEFF{digits}>")
}

/// Two decimals at most; PDF knows no exponents.
fn number(value: f64) -> String {
    let text = format!("{:.2}", if value.is_finite() { value } else { 0.0 });
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// What is painted, in PDF's words.
#[derive(Default)]
struct Page {
    text: String,
    /// In percent.
    opacities: BTreeSet<u8>,
}

impl Page {
    fn path(&mut self, path: &[Segment]) {
        for segment in path {
            let (points, word): (&[[f64; 2]], &str) = match segment {
                Segment::Move(p) => (&[*p], "m"),
                Segment::Line(p) => (&[*p], "l"),
                Segment::Cubic(points) => (points, "c"),
                Segment::Close => (&[], "h"),
            };
            for value in points.iter().flatten() {
                self.text += &number(*value);
                self.text.push(' ');
            }
            self.text += word;
            self.text.push('\n');
        }
    }

    fn ink(&mut self, ink: Ink, word: &str) {
        let percent = (ink.opacity.clamp(0.0, 1.0) * 100.0).round() as u8;
        self.opacities.insert(percent);
        let [r, g, b] = ink.rgb.map(|v| number(f64::from(v) / 255.0));
        self.text += &format!("/a{percent} gs {r} {g} {b} {word}\n");
    }
}

impl Canvas for Page {
    fn fill(&mut self, path: &[Segment], ink: Ink) {
        // A painter without a path is an error.
        if path.is_empty() {
            return;
        }
        self.ink(ink, "rg");
        self.path(path);
        self.text += "f\n";
    }

    fn stroke(&mut self, path: &[Segment], ink: Ink, stroke: &Stroke) {
        if path.is_empty() {
            return;
        }
        self.ink(ink, "RG");
        let dashes: Vec<String> = stroke.dashes.iter().map(|d| number(*d)).collect();
        let round = u8::from(stroke.round);
        self.text += &format!("{} w {round} J {round} j [{}] 0 d\n", number(stroke.width), dashes.join(" "));
        self.path(path);
        self.text += "S\n";
    }

    fn clip(&mut self, part: Option<[f64; 4]>) {
        self.text += &match part {
            Some(part) => format!("q {} re W n\n", part.map(number).join(" ")),
            None => "Q\n".into(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::everything;

    /// The objects that the table at the end leads to.
    fn objects(file: &[u8]) -> Vec<&[u8]> {
        let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|w| w == what);
        let word = |bytes: &[u8], i: usize| -> usize {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
            text.split_whitespace().nth(i).unwrap().parse().unwrap()
        };
        assert!(file.starts_with(b"%PDF-1.4\n") && file.ends_with(b"%%EOF\n"));
        let tail = &file[find(file, b"startxref").unwrap()..];
        let table = &file[word(tail, 1)..];
        assert!(table.starts_with(b"xref\n0 "));
        let count = word(table, 2);
        let lines = &table[find(table, b"65535 f \n").unwrap() + 9..];
        let object = |i: usize| {
            // Lines of the table have twenty bytes each.
            let begin = &file[word(&lines[20 * i..], 0)..];
            assert!(begin.starts_with(format!("{} 0 obj\n", i + 1).as_bytes()), "object {}", i + 1);
            &begin[..find(begin, b"\nendobj\n").unwrap()]
        };
        (0..count - 1).map(object).collect()
    }

    #[test]
    fn the_table_leads_to_every_object() {
        let file = everything().pdf();
        let objects = objects(&file);
        assert_eq!(objects.len(), 5);
        let page = String::from_utf8_lossy(objects[2]);
        assert!(page.contains("/MediaBox [0 0 390 "), "{page}");
        let stream = objects[3];
        let begin = stream.windows(8).position(|w| w == b"\nstream\n").unwrap() + 8;
        let packed = &stream[begin..stream.len() - b"\nendstream".len()];
        let length = format!("/Length {} ", packed.len());
        assert!(String::from_utf8_lossy(&stream[..begin]).contains(&length));
        let text = String::from_utf8(miniz_oxide::inflate::decompress_to_vec_zlib(packed).unwrap()).unwrap();
        // Everything that was asked for is there: colours, opacity, dashes, curves, a part that is cut out; no fonts.
        for part in ["0 0.45 0.7 RG", "/a20 gs", "[7 5] 0 d", " c\n", " re W n", "f\n", "S\n"] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains("Tf"));
        assert_eq!(text.matches("q ").count(), text.matches("Q\n").count());
        for state in text.split_whitespace().filter(|w| w.starts_with("/a")) {
            assert!(page.contains(&format!("{state} <<")), "{state}");
        }
        assert_eq!(file, everything().pdf());
    }

    #[test]
    fn numbers_are_plain() {
        let written = [1e-9, -0.001, 1.5, -12.345, f64::NAN, 100_000.0].map(number);
        assert_eq!(written, ["0", "0", "1.5", "-12.35", "0", "100000"]);
        assert_eq!(words("a)é"), "<FEFF0061002900E9>");
    }
}
