//! Letters as strokes, so that a film has text without a font.
//!
//! A letter is a few strokes, each a run of points, each point two digits: x from 0 to 4, and y from 0 (top of a
//! capital) over 7 (where letters stand) to 9 (the tail of a g).

/// The height of a capital letter in the units of the strokes.
const CAPITAL: f32 = 7.0;
/// The space between two letters.
const GAP: f32 = 1.8;
/// The width of a space between words.
const SPACE: f32 = 1.6;

/// The strokes of a letter; an empty box for letters that are not here.
fn strokes(letter: char) -> &'static str {
    match letter {
        '0' | 'O' => "103041463717060110",
        '1' => "112027 1737",
        '2' => "01103041430747",
        '3' => "011030414233 13334446371706",
        '4' => "37300545",
        '5' => "400003334446371706",
        '6' => "413010010617374644331304",
        '7' => "004017",
        '8' => "103041423313020110 1304061737464433",
        '9' => "061737464130100103143443",
        'A' => "072047 1434",
        'B' => "00073746443303 0030414233",
        'C' => "4130100106173746",
        'D' => "00072745422000",
        'E' => "40000747 0333",
        'F' => "400007 0333",
        'G' => "41301001061737464424",
        'H' => "0007 4047 0343",
        'I' => "0007",
        'J' => "4046371706",
        'K' => "0007 4004 1347",
        'L' => "000747",
        'M' => "0700244047",
        'N' => "07004740",
        'P' => "07003041423303",
        'Q' => "103041463717060110 2547",
        'R' => "07003041423303 2347",
        'S' => "413010010213334446371706",
        'T' => "0040 2027",
        'U' => "000617374640",
        'V' => "002740",
        'W' => "0017233740",
        'X' => "0047 4007",
        'Y' => "002340 2327",
        'Z' => "00400747",
        'a' => "3237 3322120306172736",
        'b' => "0007 0312223336271706",
        'c' => "3322120306172736",
        'd' => "3037 3322120306172736",
        'e' => "04343322120306172736",
        'f' => "201117 0222",
        'g' => "3238291908 3322120306172736",
        'h' => "0007 0312223337",
        'i' => "0207 0000",
        'j' => "121809 1010",
        'k' => "0007 3205 1437",
        'l' => "000617",
        'm' => "0207 03122327 23324347",
        'n' => "0207 0312223337",
        'o' => "122233362717060312",
        'p' => "0209 0312223336271706",
        'q' => "3239 3322120306172736",
        'r' => "0207 031222",
        's' => "33221203142536271706",
        't' => "101627 0222",
        'u' => "0206172736 3237",
        'v' => "022742",
        'w' => "0217243742",
        'x' => "0237 3207",
        'y' => "0227 4219",
        'z' => "02320737",
        '.' => "0707",
        ',' => "1708",
        ':' => "0303 0707",
        ';' => "1303 1708",
        '!' => "0004 0707",
        '?' => "0110304142332425 2727",
        '-' | '−' | '–' => "0434",
        '+' => "0444 2226",
        '=' => "0343 0545",
        '*' => "2226 0345 0543",
        '×' => "0337 3307",
        '·' => "0404",
        '/' => "3007",
        '|' => "0008",
        '%' => "4007 0001111000 3637474636",
        '#' => "1017 3037 0242 0545",
        '_' => "0747",
        '\'' => "0001",
        '"' => "0001 2021",
        '(' => "10010617",
        ')' => "00111607",
        '[' => "10000717",
        ']' => "00101707",
        '<' => "320437",
        '>' => "023407",
        _ => "0040470700",
    }
}

/// The strokes of a text around the origin, letters with capitals of height 1: runs of points [x, y], and the width of
/// the pen.
pub(crate) fn outline(text: &str) -> (Vec<Vec<[f32; 2]>>, f32) {
    let mut runs: Vec<Vec<[f32; 2]>> = Vec::new();
    let mut left = 0.0;
    for letter in text.chars() {
        if letter.is_whitespace() {
            left += SPACE + GAP;
            continue;
        }
        let mut width: f32 = 0.0;
        for stroke in strokes(letter).split(' ') {
            let digits = stroke.as_bytes().chunks_exact(2);
            let points = digits.map(|pair| [pair[0], pair[1]].map(|digit| f32::from(digit - b'0')));
            runs.push(
                points
                    .map(|[x, y]| {
                        width = width.max(x);
                        [left + x, y]
                    })
                    .collect(),
            );
        }
        left += width + GAP;
    }
    let (middle, half) = ((left - GAP) / 2.0, CAPITAL / 2.0);
    for [x, y] in runs.iter_mut().flatten() {
        *x = (*x - middle) / CAPITAL;
        *y = (*y - half) / CAPITAL;
    }
    (runs, 0.14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_points_in_their_box() {
        for letter in (' '..='~').chain(['×', '·', 'ß']) {
            for stroke in strokes(letter).split(' ') {
                let digits = stroke.as_bytes();
                assert!(digits.len() >= 4 && digits.len().is_multiple_of(2), "{letter}: {stroke}");
                assert!(digits.chunks(2).all(|d| (b'0'..=b'4').contains(&d[0]) && d[1].is_ascii_digit()));
            }
        }
    }

    #[test]
    fn text_is_centred_and_narrower_than_promised() {
        for text in ["0", "12", "step 12  return -0.60", "WWWW"] {
            let (runs, _) = outline(text);
            let xs = || runs.iter().flatten().map(|p| p[0]);
            let (low, high) = (xs().fold(f32::MAX, f32::min), xs().fold(f32::MIN, f32::max));
            assert!((low + high).abs() < 0.15, "{text}: {low} to {high}");
            assert!(high - low <= text.len() as f32);
        }
        assert!(outline("").0.is_empty());
    }
}
