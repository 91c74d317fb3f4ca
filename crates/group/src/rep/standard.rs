//! The representations that have a name.

use super::atom::Atom;
use super::{Rep, atom};
use crate::closure::check_permutation;
use crate::error::{Error, Result, shorten};
use crate::family::{Family, compose};
use crate::group::{Element, Group};
use crate::plane::Plane;
use crate::subgroup::Subgroup;
use crate::text;
use nalgebra::DMatrix;

impl Rep {
    /// rho(g) = 1.
    pub fn trivial(group: &Group) -> Rep {
        let form =
            atom::Form::Signed { index: vec![vec![0]; group.order()], sign: vec![vec![1]; group.order()] };
        Rep::single(group, Atom { name: "trivial".into(), dim: 1, form })
    }

    /// rho(g) = +1 or -1: the generator of C_n (n even) and mirrors of D_n change the sign, odd permutations do,
    /// matrices of determinant -1 do; in a product the signs multiply.
    pub fn sign(group: &Group) -> Result<Rep> {
        let signs = signs(group)?;
        let atom = Atom::signed(group, "sign", 1, |g, _| (0, signs[g]))?;
        Ok(Rep::single(group, atom))
    }

    /// Functions on the group: (L_g f)\[h\] = f\[g^-1 h\].
    pub fn regular(group: &Group) -> Result<Rep> {
        let atom = Atom::signed(group, "regular", group.order(), |g, h| (group.mul(group.inverse(g), h), 1))?;
        Ok(Rep::single(group, atom))
    }

    /// Functions on the cosets of a subgroup: (L_g f)\[xH\] = f\[g^-1 xH\].
    pub fn quotient(subgroup: &Subgroup) -> Result<Rep> {
        let group = subgroup.parent();
        let coset = subgroup.cosets();
        let count = coset.iter().max().map_or(0, |m| m + 1);
        let mut first = vec![0; count];
        for g in group.elements().rev() {
            first[coset[g]] = g;
        }
        let name = format!("quotient({})", subgroup.name());
        let atom =
            Atom::signed(group, name, count, |g, c| (coset[group.mul(group.inverse(g), first[c])], 1))?;
        Ok(Rep::single(group, atom))
    }

    /// A permutation per generator, written as gathers: (P v)\[i\] = v\[p\[i\]\].
    pub fn permutation(group: &Group, generators: &[Vec<usize>]) -> Result<Rep> {
        let name = format!("perm[{}]", text::lists(generators));
        let points = generators.first().map_or(0, Vec::len);
        atom::check_size(&name, group, points)?;
        if points == 0 {
            return Err(Error::Unsuitable("give one permutation of at least one point per generator".into()));
        }
        for p in generators {
            check_permutation(p, points)
                .map_err(|reason| Error::Unsuitable(format!("`{}`: {reason}", shorten(&name))))?;
        }
        let all = atom::extend(
            group,
            &name,
            generators,
            (0..points).collect(),
            |p, q| compose(p, q),
            |p, q| p == q,
            |p| atom::show(points, |i, j| f64::from(p[i] == j)),
        )?;
        let atom = Atom::signed(group, name, points, |g, i| (all[g][i], 1))?;
        Ok(Rep::single(group, atom))
    }

    /// A matrix per generator.
    pub fn matrices(group: &Group, generators: &[DMatrix<f64>]) -> Result<Rep> {
        if generators.is_empty() {
            return Err(Error::Unsuitable("give one matrix per generator".into()));
        }
        let name = format!("matrix[{}]", text::matrices(generators));
        if generators.iter().any(|m| m.iter().any(|v| !v.is_finite())) {
            return Err(Error::Unsuitable(format!("`{}` has an entry that is not finite", shorten(&name))));
        }
        let dim = generators[0].nrows();
        if dim == 0 || generators.iter().any(|m| m.shape() != (dim, dim)) {
            return Err(Error::Unsuitable(format!(
                "all matrices of `{}` need the same size, at least 1 x 1",
                shorten(&name)
            )));
        }
        atom::check_size(&name, group, dim.saturating_mul(dim))?;
        let all = atom::extend(
            group,
            &name,
            generators,
            DMatrix::identity(dim, dim),
            |a, b| a * b,
            |a, b| atom::distance(a, b) <= atom::tolerance(b),
            |m| atom::show(dim, |i, j| m[(i, j)]),
        )?;
        Ok(Rep::single(group, Atom::dense(group, name, all)?))
    }

    /// The plane turned by C_n or D_n, `frequency` times as fast (1 is the plane itself): the turn is
    /// [[cos a, -sin a], [sin a, cos a]] with a = 2 pi frequency / n on (row, col), the mirror diag(1, -1). A group of symmetries of
    /// the square grid that is given by matrices turns the plane by them.
    pub fn rotation(group: &Group, frequency: usize) -> Result<Rep> {
        if let (Family::Matrices(all), 1, Ok(plane)) = (group.family(), frequency, Plane::new(group)) {
            return match named(group, &plane) {
                None => Ok(Rep::single(group, Atom::dense(group, "rotation", all.clone())?)),
                // One spelling each: elements of a group by generators may stand in another order, and with them orbits.
                Some(name) => Err(Error::Unsuitable(format!("`rotation` knows {group} by the name {name}"))),
            };
        }
        let (n, _) = turns(group).ok_or_else(|| {
            Error::Unsuitable(format!(
                "`rotation` needs C_n or D_n, not {group}; give your own matrices with `matrix[...]`"
            ))
        })?;
        let name = match frequency {
            1 => "rotation".to_string(),
            k => format!("rotation({k})"),
        };
        let matrices = group
            .elements()
            .map(|g| {
                let turn = turn(g % n * (frequency % n) % n, n);
                if g < n { turn } else { turn * DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.0, -1.0]) }
            })
            .collect();
        Ok(Rep::single(group, Atom::dense(group, name, matrices)?))
    }

    /// The points that a permutation group permutes, or the vectors that a matrix group turns.
    pub fn natural(group: &Group) -> Result<Rep> {
        let atom = match group.family() {
            Family::Permutations(all) => Atom::signed(group, "natural", all[0].len(), |g, i| (all[g][i], 1))?,
            Family::Matrices(all) => Atom::dense(group, "natural", all.clone())?,
            _ => {
                return Err(Error::Unsuitable(format!(
                    "`natural` needs S_n or a group given by permutations or matrices, not {group}; \
                     C_n and D_n have `rotation`"
                )));
            }
        };
        Ok(Rep::single(group, atom))
    }

    /// The pixels of an n x n picture, row-major.
    pub fn pixels(group: &Group, n: usize) -> Result<Rep> {
        let plane = Plane::new(group)?;
        let name = format!("pixels({n})");
        if n == 0 {
            return Err(Error::Unsuitable("a picture needs at least one pixel".into()));
        }
        atom::check_size(&name, group, n.saturating_mul(n))?;
        let gathers: Vec<Vec<usize>> = group.elements().map(|g| plane.gather(g, n)).collect();
        let atom = Atom::signed(group, name, n * n, |g, p| (gathers[g][p], 1))?;
        Ok(Rep::single(group, atom))
    }
}

/// n and whether there are mirrors, for C_n and D_n.
fn turns(group: &Group) -> Option<(usize, bool)> {
    match group.family() {
        Family::Cyclic(n) => Some((*n, false)),
        Family::Dihedral(n) => Some((*n, true)),
        _ => None,
    }
}

/// The turn by k/n of a circle; exact where cosine and sine are whole numbers, so that C4 is a signed permutation.
fn turn(k: usize, n: usize) -> DMatrix<f64> {
    let (cos, sin) = match (4 * k) % n {
        0 => [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][4 * k / n % 4],
        _ => {
            let a = std::f64::consts::TAU * k as f64 / n as f64;
            (a.cos(), a.sin())
        }
    };
    DMatrix::from_row_slice(2, 2, &[cos, -sin, sin, cos])
}

fn signs(group: &Group) -> Result<Vec<i8>> {
    let none = |why: &str| {
        Err(Error::Unsuitable(format!(
            "{group} has no representation called `sign`: {why}; write one number per generator, as in `matrix[-1; 1]`"
        )))
    };
    let by = |f: &dyn Fn(Element) -> bool| Ok(group.elements().map(|g| if f(g) { -1 } else { 1 }).collect());
    match group.family() {
        Family::Cyclic(n) if n % 2 == 0 => by(&|g| g % 2 == 1),
        Family::Cyclic(_) => none("its generator has odd order"),
        Family::Dihedral(n) => by(&|g| g >= *n),
        Family::Permutations(all) => by(&|g| is_odd(&all[g])),
        Family::Matrices(all) => by(&|g| all[g].determinant() < 0.0),
        Family::Product(a, b) => {
            let (sa, sb) = (signs(a)?, signs(b)?);
            by(&|g| sa[g / b.order()] * sb[g % b.order()] < 0)
        }
        Family::Table => none("it is given by a table"),
    }
}

fn is_odd(p: &[usize]) -> bool {
    let inversions = (0..p.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
    inversions.filter(|&(j, i)| p[j] > p[i]).count() % 2 == 1
}

/// The usual name of a group of these symmetries of the square grid, if it has one.
fn named(group: &Group, plane: &Plane) -> Option<&'static str> {
    ["C1", "C2", "C4", "D1", "D2", "D4"].into_iter().find(|name| {
        let Ok(usual) = name.parse::<Group>() else { return false };
        let Ok(its_plane) = Plane::new(&usual) else { return false };
        usual.order() == group.order()
            && group.elements().all(|g| usual.elements().any(|h| its_plane.matrix(h) == plane.matrix(g)))
    })
}
