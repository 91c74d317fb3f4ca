//! Colours that everybody can tell apart (after Okabe and Ito), and the ones that take their place on dark pages.

use equimarl_learn::Method;

/// A colour by its number: the same method has the same one in every figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(usize);

/// On light paper, in the order of the methods; then two more for whatever comes along.
const LIGHT: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#777777", "#8C7A00"];
/// On dark paper.
const DARK: [&str; 8] =
    ["#4FA8E0", "#F58542", "#2FC79B", "#E5A3CB", "#8FD0F5", "#F2B84B", "#A8A8A8", "#D6C24A"];

impl Colour {
    /// Colour number `index`; after the last the first comes again.
    pub fn new(index: usize) -> Colour {
        Colour(index % LIGHT.len())
    }

    /// The colour of a method.
    pub fn of(method: Method) -> Colour {
        Colour::new(Method::ALL.iter().position(|m| *m == method).unwrap_or(0))
    }

    /// Its value on light paper, which every SVG holds.
    pub fn light(self) -> &'static str {
        LIGHT[self.0]
    }

    /// The same as red, green and blue.
    pub(super) fn rgb(self) -> [u8; 3] {
        [1, 3, 5].map(|at| {
            let digits = LIGHT[self.0].get(at..at + 2).unwrap_or_default();
            u8::from_str_radix(digits, 16).unwrap_or_default()
        })
    }

    /// The class by which a page can give it another value: `fig-c0`, `fig-c1`, ...
    pub fn class(self) -> String {
        format!("fig-c{}", self.0)
    }
}

/// Rules for a page that shows figures inline on dark paper. `scope` stands before each of them, as in `.dark`; it may be
/// empty inside a media query.
pub fn dark_rules(scope: &str) -> String {
    let rule = |(i, colour): (usize, &&str)| format!("{scope} .fig-c{i}{{color:{colour}}}\n");
    DARK.iter().enumerate().map(rule).collect()
}
