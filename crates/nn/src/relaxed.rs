//! Weights that may leave the symmetry, and say by how much: every weight and bias is
//!
//! ```text
//! w = E c + H d
//! ```
//!
//! E c are the equivariant ones (W rho_in(g) = rho_out(g) W), as in the exact network, and H is an orthonormal basis of what is
//! orthogonal to all of them. d starts at zero, so the network starts exactly equivariant, and |d| is the distance of the
//! weights from the nearest equivariant ones: the network tells how asymmetric it found its world. Training shrinks d.
//!
//! It runs as a plain network as wide as the exact one is when it is realised; only its coefficients are other ones. They are those
//! of the exact network, in its order, and after them all d, layer by layer.

use crate::config::{Interface, NetworkConfig, NetworkKind, SenderKind, Widths};
use crate::error::{Error, Result};
use crate::layers::Space;
use equimarl_group::{Group, Rep};
use equimarl_kernels::realise::Realisation;
use std::ops::Range;

/// How the coefficients of a plain network follow from those of the relaxed one.
#[derive(Clone, Debug)]
pub(crate) struct Relaxation {
    map: Realisation,
    named: Vec<(String, Range<usize>)>,
    rest: Range<usize>,
}

/// What leaves the symmetry.
pub(crate) const REST: &str = "rest";

impl Relaxation {
    /// `exact` are the layers of the equivariant network, and `plain` those of the plain one that is as wide, with the same names.
    pub fn new<'a>(
        exact: impl Iterator<Item = (&'a str, &'a Space)> + Clone,
        plain: impl Iterator<Item = &'a Space>,
    ) -> Result<Relaxation> {
        let equivariant: usize = exact.clone().map(|(_, space)| space.parameters()).sum();
        let (mut named, mut rests, mut at) = (vec![], vec![], 0);
        let (mut next, mut inner) = (equivariant, 0);
        let mut terms: Vec<Vec<(u32, f32)>> = vec![];
        for ((name, space), wide) in exact.zip(plain) {
            let begin = next;
            let parts = [("weight", space.weight(), wide.weight()), ("bias", space.bias(), wide.bias())];
            for (part, from, to) in parts {
                if from.entries() != to.entries() || to.coefficients() != to.entries() {
                    return Err(Error::BadNetwork(format!(
                        "{name}.{part} has {} entries under its symmetry and {} without it, so it cannot be relaxed",
                        from.entries(),
                        to.entries()
                    )));
                }
                terms.resize(inner + to.coefficients(), vec![]);
                let place = |entry: usize| to.terms(entry).next().map_or(0, |(c, _)| inner + c);
                for entry in 0..from.entries() {
                    terms[place(entry)].extend(from.terms(entry).map(|(c, s)| ((at + c) as u32, s)));
                }
                for column in complement(from) {
                    column.iter().for_each(|&(entry, s)| terms[place(entry)].push((next as u32, s)));
                    next += 1;
                }
                if from.coefficients() > 0 {
                    named.push((format!("{name}.{part}"), at..at + from.coefficients()));
                }
                at += from.coefficients();
                inner += to.coefficients();
            }
            if next > begin {
                rests.push((format!("{name}.{REST}"), begin..next));
            }
        }
        let mut starts = vec![0u32];
        starts.extend(terms.iter().scan(0u32, |sum, t| {
            *sum += t.len() as u32;
            Some(*sum)
        }));
        let (index, scale) = terms.iter().flatten().copied().unzip();
        named.extend(rests);
        Ok(Relaxation { map: Realisation::new(next, starts, index, scale)?, named, rest: equivariant..next })
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.map.coefficients()
    }

    /// Where what leaves the symmetry stands among them.
    pub fn rest(&self) -> Range<usize> {
        self.rest.clone()
    }

    /// The names of the parameters, and where they stand.
    pub fn named(&self) -> &[(String, Range<usize>)] {
        &self.named
    }

    /// The coefficients of the plain network.
    pub fn realise(&self, values: &[f32], plain: &mut Vec<f32>) -> Result<()> {
        plain.resize(self.map.entries(), 0.0);
        Ok(self.map.realise(values, plain)?)
    }

    /// The gradient by these coefficients, from that by the plain network's.
    pub fn gradients(&self, plain: &[f32], gradients: &mut [f32]) -> Result<()> {
        gradients.fill(0.0);
        Ok(self.map.add_adjoint(plain, gradients)?)
    }
}

/// An orthonormal basis of what is orthogonal to all columns of a realisation, as columns of (entry, factor).
fn complement(of: &Realisation) -> Vec<Vec<(usize, f32)>> {
    let mut columns: Vec<Vec<(usize, f64)>> = vec![vec![]; of.coefficients()];
    // Entries that share a coefficient belong together; the rest is orthogonal anyway.
    let mut group: Vec<usize> = (0..of.entries()).collect();
    fn root(group: &mut [usize], mut e: usize) -> usize {
        while group[e] != e {
            group[e] = group[group[e]];
            e = group[e];
        }
        e
    }
    for entry in 0..of.entries() {
        for (c, s) in of.terms(entry) {
            if let Some(&(first, _)) = columns[c].first() {
                let (a, b) = (root(&mut group, first), root(&mut group, entry));
                group[a.max(b)] = a.min(b);
            }
            columns[c].push((entry, f64::from(s)));
        }
    }
    let mut members: Vec<Vec<usize>> = vec![vec![]; of.entries()];
    for entry in 0..of.entries() {
        members[root(&mut group, entry)].push(entry);
    }
    let mut inside: Vec<Vec<usize>> = vec![vec![]; of.entries()];
    for (c, column) in columns.iter().enumerate() {
        if let Some(&(first, _)) = column.first() {
            inside[root(&mut group, first)].push(c);
        }
    }
    let mut found = vec![];
    for (entries, inside) in members.iter().zip(&inside).filter(|(entries, _)| !entries.is_empty()) {
        let place = |entry: usize| entries.binary_search(&entry).unwrap_or_default();
        let mut known: Vec<Vec<f64>> = vec![];
        for &c in inside {
            let mut column = vec![0.0; entries.len()];
            columns[c].iter().for_each(|&(entry, s)| column[place(entry)] += s);
            if let Some(unit) = orthonormal(column, &known) {
                known.push(unit);
            }
        }
        for k in 0..entries.len() {
            if known.len() == entries.len() {
                break;
            }
            let unit = (0..entries.len()).map(|i| f64::from(u8::from(i == k))).collect();
            if let Some(unit) = orthonormal(unit, &known) {
                let terms = unit.iter().enumerate().filter(|(_, v)| v.abs() > 1e-12);
                found.push(terms.map(|(i, &v)| (entries[i], v as f32)).collect());
                known.push(unit);
            }
        }
    }
    found
}

/// A vector of length 1 that is orthogonal to all known ones; nothing if they span it. Twice is enough against rounding.
fn orthonormal(mut v: Vec<f64>, known: &[Vec<f64>]) -> Option<Vec<f64>> {
    let before = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    for _ in 0..2 {
        for unit in known {
            let along: f64 = v.iter().zip(unit).map(|(x, u)| x * u).sum();
            v.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
        }
    }
    let after = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    (after > 1e-6 * before).then(|| v.into_iter().map(|x| x / after).collect())
}

impl NetworkConfig {
    /// The exact network that a relaxed one starts as.
    pub(crate) fn exact(&self) -> NetworkConfig {
        NetworkConfig { kind: NetworkKind::Equivariant, ..self.clone() }
    }

    /// The plain network as wide as this one is when it is realised, which sees the same numbers.
    ///
    /// # Errors
    /// If the config does not make a network.
    pub fn as_wide(&self) -> Result<NetworkConfig> {
        let group = self.group()?;
        let wide = |width: &usize| {
            let count = (*width as f64 / (group.order() as f64).sqrt()).floor() as usize;
            count * group.order()
        };
        let Widths { convolutions, rounds, hidden } = &self.widths;
        let widths = Widths {
            convolutions: convolutions.each_ref().map(wide),
            rounds: rounds.iter().map(wide).collect(),
            hidden: hidden.iter().map(wide).collect(),
        };
        let interface = self.interface.without_symmetry(&group)?;
        let (kind, channels) = (NetworkKind::Plain, String::new());
        Ok(NetworkConfig { interface, kind, group: "C1".into(), channels, widths })
    }
}

impl Interface {
    /// The same numbers, of which nothing is said.
    fn without_symmetry(&self, group: &Group) -> Result<Interface> {
        let plain = |text: &String| -> Result<String> {
            Ok(match text.as_str() {
                "" => String::new(),
                text => format!("{}*trivial", Rep::parse(group, text)?.dim()),
            })
        };
        let sender = |kind: &SenderKind| -> Result<SenderKind> {
            Ok(SenderKind { name: kind.name.clone(), features: plain(&kind.features)? })
        };
        Ok(Interface {
            actions: plain(&self.actions)?,
            features: plain(&self.features)?,
            edge: plain(&self.edge)?,
            cause: plain(&self.cause)?,
            tokens: plain(&self.tokens)?,
            team_heads: self.team_heads.iter().map(plain).collect::<Result<_>>()?,
            senders: self.senders.iter().map(sender).collect::<Result<_>>()?,
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(of: &Realisation) -> Vec<Vec<f64>> {
        (0..of.coefficients())
            .map(|c| {
                let term = |e: usize| of.terms(e).filter(|t| t.0 == c).map(|t| f64::from(t.1)).sum();
                (0..of.entries()).map(term).collect()
            })
            .collect()
    }

    #[test]
    fn the_rest_is_everything_else_and_orthogonal() {
        for (group, input, output, kernel) in [
            ("C4", "2*regular + rotation", "regular", None),
            ("D4", "trivial", "regular", Some(3)),
            ("C4", "regular", "perm[0 4 1 2 3]", None),
            ("C8", "rotation + trivial", "regular", None),
            ("C1", "3*trivial", "2*regular", None),
        ] {
            let group: Group = group.parse().unwrap();
            let [input, output] = [input, output].map(|text| Rep::parse(&group, text).unwrap());
            let space = Space::new(&input, &output, kernel).unwrap();
            for from in [space.weight(), space.bias()] {
                let rest = complement(from);
                assert_eq!(rest.len() + from.coefficients(), from.entries(), "{group}");
                let wide: Vec<Vec<f64>> = rest
                    .iter()
                    .map(|column| {
                        let mut wide = vec![0.0; from.entries()];
                        column.iter().for_each(|&(e, s)| wide[e] = f64::from(s));
                        wide
                    })
                    .collect();
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
                for (i, a) in wide.iter().enumerate() {
                    for e in dense(from) {
                        assert!(dot(a, &e).abs() < 1e-6, "{group} {i}");
                    }
                    for (j, b) in wide.iter().enumerate() {
                        assert!((dot(a, b) - f64::from(u8::from(i == j))).abs() < 1e-6);
                    }
                }
            }
        }
    }
}
