//! SO(2) and O(2): turns by any angle, and what they act on.
//!
//! A channel of frequency k is a pair of numbers (row, column), and a turn by t acts on it as
//!
//! ```text
//! [cos kt, -sin kt]
//! [sin kt,  cos kt]      times diag(1, -1) first if there is a mirror
//! ```
//!
//! Frequency 0 is one number. It stays as it is (`freq0`, or `trivial`), or a mirror negates it (`sign`, of O(2) alone).
//! Between two such types there is no map but zero; from one to itself there is one number for O(2) and, from frequency 1 on, a
//! complex one for SO(2). D_n and C_n with n above twice the largest frequency have the same maps: see [`Symmetry::carrier`].

use crate::error::{Error, Result, shorten};
use crate::group::Group;
use crate::rep::Rep;
use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

/// The largest frequency of a channel.
pub const MAX_FREQUENCY: usize = 2;

/// A symmetry: a finite group, or all turns of the plane.
///
/// ```
/// use equimarl_group::{Symmetry, Types};
/// let o2: Symmetry = "O2".parse()?;
/// assert_eq!((o2.finite()?.name(), o2.carrier()?.name()), ("D4", "D8"));
/// assert_eq!(Types::parse(&o2, "4*freq0 + 8*freq1 + 4*freq2")?.dim(), 28);
/// assert!(Types::parse(&o2, "freq3").is_err());
/// # Ok::<(), equimarl_group::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// A finite group.
    Finite(Group),
    /// All turns.
    So2,
    /// All turns and mirrors.
    O2,
}

impl Symmetry {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Symmetry::Finite(group) => group.name(),
            Symmetry::So2 => "SO2",
            Symmetry::O2 => "O2",
        }
    }

    /// Whether it has finitely many elements.
    pub fn is_finite(&self) -> bool {
        matches!(self, Symmetry::Finite(_))
    }

    /// Whether mirrors belong to it; of a finite group nothing is said.
    pub fn has_mirrors(&self) -> bool {
        *self == Symmetry::O2
    }

    /// The finite part that worlds are put under: the group itself, or the quarter turns (and mirrors) of the plane, which
    /// round nothing.
    ///
    /// # Errors
    /// Never for those that there are.
    pub fn finite(&self) -> Result<Group> {
        match self {
            Symmetry::Finite(group) => Ok(group.clone()),
            Symmetry::So2 => "C4".parse(),
            Symmetry::O2 => "D4".parse(),
        }
    }

    /// A finite group whose maps between the types of this symmetry are exactly those of the symmetry.
    ///
    /// # Errors
    /// Never for those that there are.
    pub fn carrier(&self) -> Result<Group> {
        match self {
            Symmetry::Finite(group) => Ok(group.clone()),
            Symmetry::So2 => "C8".parse(),
            Symmetry::O2 => "D8".parse(),
        }
    }

    /// A turn by any angle, all equally likely, and a mirror or not where there are some; `unit` gives random numbers in [0, 1).
    pub fn any_turn(&self, unit: &mut dyn FnMut() -> f64) -> Turn {
        Turn { radians: TAU * unit(), mirror: self.has_mirrors() && unit() < 0.5 }
    }
}

impl FromStr for Symmetry {
    type Err = Error;

    fn from_str(text: &str) -> Result<Symmetry> {
        match text.trim() {
            "SO2" | "SO(2)" => Ok(Symmetry::So2),
            "O2" | "O(2)" => Ok(Symmetry::O2),
            other => Ok(Symmetry::Finite(other.parse()?)),
        }
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A turn by some angle, after a mirror or without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// The angle, counter-clockwise as seen with rows running down.
    pub radians: f64,
    /// Whether the column is negated first.
    pub mirror: bool,
}

impl Turn {
    /// Nothing moves.
    pub const NONE: Turn = Turn { radians: 0.0, mirror: false };

    /// The matrix on a channel of frequency k.
    pub fn matrix(&self, frequency: usize) -> [[f64; 2]; 2] {
        let (sin, cos) = (frequency as f64 * self.radians).sin_cos();
        let flip = if self.mirror { -1.0 } else { 1.0 };
        [[cos, -sin * flip], [sin, cos * flip]]
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}{}", self.radians, if self.mirror { " m" } else { "" })
    }
}

/// One type of channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number that nothing changes.
    Trivial,
    /// A number that mirrors negate.
    Sign,
    /// A pair of numbers that turns this many times as fast as the plane; at least 1.
    Frequency(usize),
}

impl Type {
    fn dim(self) -> usize {
        if matches!(self, Type::Frequency(_)) { 2 } else { 1 }
    }
}

/// Channels of these types, one after the other: a representation of SO(2) or O(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types(Vec<(usize, Type)>);

impl Types {
    /// Reads `2*freq0 + sign + rotation + 3*freq2`: `freq0` is `trivial`, `freq1` is `rotation`, `freq2` is `rotation(2)`.
    ///
    /// # Errors
    /// If it has anything else, or a type that this symmetry has not.
    pub fn parse(symmetry: &Symmetry, text: &str) -> Result<Types> {
        let bad = |reason: String| Error::Parse { what: "the representation", text: shorten(text), reason };
        let mut terms = vec![];
        for term in text.split('+').map(str::trim) {
            let (count, name) = match term.split_once('*') {
                None => (1, term),
                Some((count, name)) => match count.trim().parse::<usize>() {
                    Ok(count) if (1..=4096).contains(&count) => (count, name.trim()),
                    _ => return Err(bad(format!("`{}` is not a number of copies", shorten(count)))),
                },
            };
            let kind = match name {
                "trivial" | "freq0" => Type::Trivial,
                "sign" if symmetry.has_mirrors() => Type::Sign,
                "rotation" | "freq1" => Type::Frequency(1),
                "rotation(2)" | "freq2" => Type::Frequency(2),
                other => {
                    return Err(bad(format!(
                        "{symmetry} has no channels called `{}`; there are freq0 (trivial), {}freq1 (rotation) and freq2 (rotation(2))",
                        shorten(other),
                        if symmetry.has_mirrors() { "sign, " } else { "" }
                    )));
                }
            };
            terms.push((count, kind));
        }
        Ok(Types(terms))
    }

    /// The numbers of a vector.
    pub fn dim(&self) -> usize {
        self.0.iter().map(|(count, kind)| count * kind.dim()).sum()
    }

    /// How many channels of this type there are.
    pub fn count(&self, of: Type) -> usize {
        self.0.iter().filter(|(_, kind)| *kind == of).map(|(count, _)| count).sum()
    }

    /// The matrix of a turn, row by row.
    pub fn matrix(&self, turn: Turn) -> Vec<f64> {
        let dim = self.dim();
        let (mut all, mut at) = (vec![0.0; dim * dim], 0);
        for &(count, kind) in &self.0 {
            for _ in 0..count {
                match kind {
                    Type::Trivial => all[at * dim + at] = 1.0,
                    Type::Sign => all[at * dim + at] = if turn.mirror { -1.0 } else { 1.0 },
                    Type::Frequency(k) => {
                        for (i, row) in turn.matrix(k).into_iter().enumerate() {
                            all[(at + i) * dim + at..][..2].copy_from_slice(&row);
                        }
                    }
                }
                at += kind.dim();
            }
        }
        all
    }

    /// The same channels under a finite group that has turns: C_n, or D_n where there are signs.
    ///
    /// # Errors
    /// If it has none.
    pub fn rep(&self, group: &Group) -> Result<Rep> {
        let mut all: Option<Rep> = None;
        for &(count, kind) in &self.0 {
            let one = match kind {
                Type::Trivial => Rep::trivial(group),
                Type::Sign => Rep::sign(group)?,
                Type::Frequency(k) => Rep::rotation(group, k)?,
            };
            let term = one.copies(count)?;
            all = Some(match all {
                None => term,
                Some(before) => before.plus(&term)?,
            });
        }
        all.ok_or_else(|| Error::Unsuitable("a representation has at least one channel".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Basis;

    #[test]
    fn turns_are_those_of_finite_groups() {
        let o2 = Symmetry::O2;
        let types = Types::parse(&o2, "freq0 + sign + 2*freq1 + freq2").unwrap();
        for n in [5, 8, 12] {
            let group: Group = format!("D{n}").parse().unwrap();
            let rep = types.rep(&group).unwrap();
            for g in group.elements() {
                let turn = Turn { radians: TAU * (g % n) as f64 / n as f64, mirror: g >= n };
                let (found, expected) = (types.matrix(turn), rep.matrix(g));
                let dim = types.dim();
                for k in 0..dim * dim {
                    assert!((found[k] - expected[(k / dim, k % dim)]).abs() < 1e-12, "D{n} {g} {k}");
                }
            }
        }
    }

    /// The carrier has no map that a turn by an angle of its own does not commute with.
    #[test]
    fn maps_of_the_carrier_are_maps_of_every_angle() {
        for (symmetry, text, ranks) in [
            (Symmetry::O2, "2*freq0 + sign + 2*freq1 + freq2", 4 + 1 + 4 + 1),
            (Symmetry::So2, "2*freq0 + 2*freq1 + freq2", 4 + 8 + 2),
        ] {
            let types = Types::parse(&symmetry, text).unwrap();
            let rep = types.rep(&symmetry.carrier().unwrap()).unwrap();
            let basis = Basis::linear(&rep, &rep).unwrap();
            assert_eq!(basis.rank(), ranks);
            let (dim, terms) = (types.dim(), basis.expansion());
            let turn = Turn { radians: 0.7351, mirror: symmetry.has_mirrors() };
            let m = types.matrix(turn);
            for c in 0..basis.rank() as u32 {
                let mut w = vec![0.0f64; dim * dim];
                for (entry, range) in terms.start.windows(2).enumerate() {
                    for t in range[0] as usize..range[1] as usize {
                        if terms.coefficient[t] == c {
                            w[entry] += f64::from(terms.scale[t]);
                        }
                    }
                }
                let product = |a: &[f64], b: &[f64], i: usize, j: usize| -> f64 {
                    (0..dim).map(|k| a[i * dim + k] * b[k * dim + j]).sum()
                };
                for (i, j) in (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j))) {
                    assert!(
                        (product(&w, &m, i, j) - product(&m, &w, i, j)).abs() < 1e-6,
                        "{text}: {c} {i} {j}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for (symmetry, text) in [
            (Symmetry::O2, "regular"),
            (Symmetry::O2, "freq3"),
            (Symmetry::O2, "0*freq1"),
            (Symmetry::O2, ""),
            (Symmetry::So2, "sign"),
            (Symmetry::So2, "99999999*freq1"),
        ] {
            let error = Types::parse(&symmetry, text).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
        }
        assert_eq!("SO(2)".parse::<Symmetry>().unwrap().name(), "SO2");
        assert!("O3".parse::<Symmetry>().is_err());
    }
}
