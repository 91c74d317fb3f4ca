//! Colours that everybody can tell apart (after Okabe and Ito), and the ones that take their place on dark pages.

use equimarl_learn::Method;

/// A colour by its number: the same method has the same one in every figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(usize);

/// On light paper: the first methods in their order, then more for whatever comes along.
const LIGHT: [&str; 12] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#777777", "#8C7A00", "#6A3D9A",
    "#A01C48", "#7B4A2B", "#111111",
];
/// On dark paper.
const DARK: [&str; 12] = [
    "#4FA8E0", "#F58542", "#2FC79B", "#E5A3CB", "#8FD0F5", "#F2B84B", "#A8A8A8", "#D6C24A", "#B18AE0",
    "#EE6C98", "#C99470", "#EEEEEE",
];

impl Colour {
    /// Colour number `index`; after the last the first comes again.
    pub fn new(index: usize) -> Colour {
        Colour(index % LIGHT.len())
    }

    /// The colour of a method.
    pub fn of(method: Method) -> Colour {
        match method {
            Method::Cause => Colour(8),
            Method::Relaxed => Colour(9),
            Method::PlainWide => Colour(10),
            _ => Colour::new(Method::ALL.iter().position(|m| *m == method).unwrap_or(0)),
        }
    }

    /// The colour of a method under another group than the usual one.
    pub fn of_group(method: Method, name: &str) -> Colour {
        if method != Method::Equivariant {
            return Colour(8);
        }
        let known = ["C1", "C2", "C4", "D1", "D2", "D4", "O2"].iter().position(|g| *g == name);
        known.map_or(Colour(6), |i| Colour([3, 8, 4, 10, 7, 11, 9][i]))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_methods_look_alike() {
        for colours in [LIGHT, DARK] {
            assert_eq!(colours.iter().collect::<BTreeSet<_>>().len(), colours.len());
        }
        let all: BTreeSet<usize> = Method::ALL.iter().map(|m| Colour::of(*m).0).collect();
        assert_eq!(all.len(), Method::ALL.len());
        // The same group, built in and augmented by, stands in one figure with what is usual.
        let groups = [Method::Equivariant, Method::AugmentRandom].map(|m| Colour::of_group(m, "O2").0);
        let usual = [Method::Equivariant, Method::Plain, Method::AugmentRandom].map(|m| Colour::of(m).0);
        assert_eq!(groups.iter().chain(&usual).collect::<BTreeSet<_>>().len(), 5);
        // The one variant that is shown beside all of them.
        assert!(!all.contains(&7) && LIGHT.len() > *all.last().unwrap());
    }
}
