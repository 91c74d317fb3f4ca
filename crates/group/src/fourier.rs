//! The irreducible real representations of C_n and D_n, and with them the basis in which maps of the regular one are
//! block-diagonal.
//!
//! ```text
//! D_n: rho(h) of d = 1 or 2 numbers; rows F[ab][h] = sqrt(d/|G|) rho_ab(h)
//! C_n: rho_0 = 1, (-1)^h if n is even, and pairs F[cos][h] = sqrt(2/n) cos(2 pi kh/n), F[sin][h] likewise
//! ```
//!
//! All rows together are an orthogonal matrix. For y\[h'\] = sum_h w\[h'^-1 h\] x\[h\], which is what commutes with
//! (L_g f)\[h\] = f\[g^-1 h\], and a hat for F:
//!
//! ```text
//! y^_ab = sqrt(|G|/d) sum_j w^_bj x^_aj                                      one d x d matrix for all a
//! y^_cos = sqrt(n/2) (w^_cos x^_cos + w^_sin x^_sin),  y^_sin = sqrt(n/2) (w^_cos x^_sin - w^_sin x^_cos)
//! ```

use crate::family::Family;
use crate::group::Group;
use crate::rep::Rep;

/// One irreducible representation.
#[derive(Clone, Debug, PartialEq)]
pub struct Irrep {
    /// Its dimension d.
    pub dim: usize,
    /// Whether turns commute with it, so that it is a pair of rows and not d x d of them.
    pub complex: bool,
    /// The rows of F, \[a\]\[b\] or cosine and sine, each with a number per group element.
    pub rows: Vec<Vec<f64>>,
}

impl Irrep {
    /// All of a group's; nothing if the group is neither C_n nor D_n.
    ///
    /// ```
    /// use equimarl_group::{Group, Irrep};
    /// let d4: Group = "D4".parse()?;
    /// let dims: Vec<usize> = Irrep::all(&d4).unwrap().iter().map(|r| r.dim).collect();
    /// assert_eq!(dims, [1, 1, 1, 1, 2]);
    /// # Ok::<(), equimarl_group::Error>(())
    /// ```
    pub fn all(group: &Group) -> Option<Vec<Irrep>> {
        let (n, mirrors) = match group.family() {
            Family::Cyclic(n) => (*n, false),
            Family::Dihedral(n) => (*n, true),
            _ => return None,
        };
        let order = group.order() as f64;
        let mut all = vec![];
        let mut signs = |turn: f64, mirror: f64| {
            let one = |g: usize| if g % n % 2 == 1 { turn } else { 1.0 } * if g < n { 1.0 } else { mirror };
            let row = group.elements().map(|g| one(g) / order.sqrt()).collect();
            all.push(Irrep { dim: 1, complex: false, rows: vec![row] });
        };
        for turn in if n.is_multiple_of(2) { &[1.0, -1.0][..] } else { &[1.0] } {
            for mirror in if mirrors { &[1.0, -1.0][..] } else { &[1.0] } {
                signs(*turn, *mirror);
            }
        }
        for k in 1..n.div_ceil(2) {
            let rep = Rep::rotation(group, k).ok()?;
            let entry =
                |a, b| group.elements().map(|g| (2.0 / order).sqrt() * rep.matrix(g)[(a, b)]).collect();
            let rows = match mirrors {
                true => [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| entry(a, b)).to_vec(),
                false => vec![entry(0, 0), entry(1, 0)],
            };
            all.push(Irrep { dim: 2, complex: !mirrors, rows });
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: [&str; 12] = ["C1", "C2", "C3", "C4", "C5", "C8", "D1", "D2", "D3", "D4", "D5", "D8"];

    fn rows(irreps: &[Irrep]) -> Vec<&Vec<f64>> {
        irreps.iter().flat_map(|r| &r.rows).collect()
    }

    #[test]
    fn rows_are_an_orthogonal_matrix() {
        for name in GROUPS {
            let group: Group = name.parse().unwrap();
            let irreps = Irrep::all(&group).unwrap();
            let rows = rows(&irreps);
            assert_eq!(rows.len(), group.order(), "{name}");
            for (i, a) in rows.iter().enumerate() {
                for (j, b) in rows.iter().enumerate() {
                    let product: f64 = a.iter().zip(*b).map(|(a, b)| a * b).sum();
                    assert!((product - f64::from(i == j)).abs() < 1e-12, "{name}: rows {i} and {j}");
                }
            }
        }
        assert!(Irrep::all(&"S3".parse().unwrap()).is_none());
    }

    /// Both equations, for functions that are as good as random.
    #[test]
    fn maps_of_the_regular_representation_become_blocks() {
        for name in GROUPS {
            let group: Group = name.parse().unwrap();
            let irreps = Irrep::all(&group).unwrap();
            let number = |seed: usize, h: usize| ((7 * h + 3 * seed + h * h) % 11) as f64 - 5.0;
            let [w, x]: [Vec<f64>; 2] =
                [1, 2].map(|seed| group.elements().map(|h| number(seed, h)).collect());
            let map = |to: usize| -> f64 {
                group.elements().map(|h| w[group.mul(group.inverse(to), h)] * x[h]).sum()
            };
            let y: Vec<f64> = group.elements().map(map).collect();
            for irrep in &irreps {
                let hat = |v: &[f64]| -> Vec<f64> {
                    irrep.rows.iter().map(|row| row.iter().zip(v).map(|(f, v)| f * v).sum()).collect()
                };
                let (w, x, y, d) = (hat(&w), hat(&x), hat(&y), irrep.dim);
                let scale = (group.order() as f64 / d as f64).sqrt();
                let expected: Vec<f64> = if irrep.complex {
                    vec![w[0] * x[0] + w[1] * x[1], w[0] * x[1] - w[1] * x[0]]
                } else {
                    let one = |a: usize, b: usize| (0..d).map(|j| w[b * d + j] * x[a * d + j]).sum();
                    (0..d * d).map(|ab| one(ab / d, ab % d)).collect()
                };
                for (y, expected) in y.iter().zip(expected) {
                    assert!((y - scale * expected).abs() < 1e-9, "{name}: {y} and {}", scale * expected);
                }
            }
        }
    }
}
