//! How a group turns the plane: vectors, pixels and cells, with the conventions that everything else shares.
//!
//! Coordinates are (row, col), rows growing downwards. The quarter turn is counter-clockwise as one sees the picture
//! (`np.rot90`): (dr, dc) -> (-dc, dr), and pixel (i, j) of an N x N picture goes to (N-1-j, i). The mirror is
//! left-right: (dr, dc) -> (dr, -dc).

use crate::error::{Error, Result};
use crate::family::Family;
use crate::group::{Element, Group};
use crate::rep::Rep;

/// The action of C1, C2, C4, D1, D2 or D4 on the plane by whole-number matrices.
///
/// ```
/// use equimarl_group::{Group, Plane};
/// let c4: Group = "C4".parse()?;
/// let plane = Plane::new(&c4)?;
/// let turn = c4.generators()[0];
/// assert_eq!(plane.vector(turn, [1, 0]), [0, 1]); // down becomes right
/// assert_eq!(plane.pixel(turn, 3, [0, 0]), [2, 0]); // top left becomes bottom left
/// # Ok::<(), equimarl_group::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plane {
    matrices: Vec<[[i32; 2]; 2]>,
}

const TURN: [[i32; 2]; 2] = [[0, -1], [1, 0]];
const MIRROR: [[i32; 2]; 2] = [[1, 0], [0, -1]];
const ONE: [[i32; 2]; 2] = [[1, 0], [0, 1]];

impl Plane {
    /// The action of `group` on the square grid, or an error that names the groups that have one.
    pub fn new(group: &Group) -> Result<Plane> {
        let power = |k: usize| (0..k).fold(ONE, |m, _| times(TURN, m));
        let matrices = match group.family() {
            Family::Cyclic(n @ (1 | 2 | 4)) => (0..*n).map(|k| power(k * 4 / n)).collect(),
            Family::Dihedral(n @ (1 | 2 | 4)) => (0..2 * n)
                .map(|g| {
                    let turn = power(g % n * 4 / n);
                    if g < *n { turn } else { times(turn, MIRROR) }
                })
                .collect(),
            Family::Matrices(all) if all[0].nrows() == 2 => {
                all.iter().map(on_the_grid).collect::<Option<_>>().ok_or_else(|| no_pixels(group))?
            }
            _ => return Err(no_pixels(group)),
        };
        Ok(Plane { matrices })
    }

    /// The action of any group by a representation on (row, col). Elements may act alike: a ring of agents can turn
    /// without turning what each of them sees.
    ///
    /// ```
    /// use equimarl_group::{Group, Plane, Rep};
    /// let d6: Group = "D6".parse()?;
    /// // The turn by a sixth leaves pictures alone, the mirror mirrors them.
    /// let plane = Plane::by(&Rep::parse(&d6, "matrix[1 0, 0 1; 1 0, 0 -1]")?)?;
    /// assert_eq!(plane.vector(d6.generators()[0], [0, 1]), [0, 1]);
    /// assert_eq!(plane.vector(d6.generators()[1], [0, 1]), [0, -1]);
    /// # Ok::<(), equimarl_group::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it does not have two dimensions, or does not map the square grid to itself.
    pub fn by(rep: &Rep) -> Result<Plane> {
        let group = rep.group();
        if rep.dim() != 2 {
            return Err(Error::Unsuitable(format!(
                "a plane has two dimensions, and `{rep}` has {}",
                rep.dim()
            )));
        }
        let matrices = group.elements().map(|g| on_the_grid(&rep.matrix(g))).collect::<Option<_>>();
        Ok(Plane { matrices: matrices.ok_or_else(|| no_pixels(group))? })
    }

    /// The matrix U_g that turns difference vectors (dr, dc).
    pub fn matrix(&self, g: Element) -> [[i32; 2]; 2] {
        self.matrices[g]
    }

    /// U_g (dr, dc).
    pub fn vector(&self, g: Element, [dr, dc]: [i32; 2]) -> [i32; 2] {
        let [[a, b], [c, d]] = self.matrices[g];
        [a * dr + b * dc, c * dr + d * dc]
    }

    /// Where pixel (i, j) of an n x n picture goes.
    pub fn pixel(&self, g: Element, n: usize, [i, j]: [usize; 2]) -> [usize; 2] {
        // Twice the offset from the centre is a whole number for odd and even n alike.
        let (n, i, j) = (n as i64, i as i64, j as i64);
        let (y, x) = (2 * i - (n - 1), 2 * j - (n - 1));
        let [[a, b], [c, d]] = self.matrices[g].map(|row| row.map(i64::from));
        let back = |v: i64| ((v + n - 1) / 2) as usize;
        [back(a * y + b * x), back(c * y + d * x)]
    }

    /// The turned picture as a gather: turned\[p\] = picture\[list\[p\]\], pixels row-major.
    pub fn gather(&self, g: Element, n: usize) -> Vec<usize> {
        let mut list = vec![0; n * n];
        for p in 0..n * n {
            let [i, j] = self.pixel(g, n, [p / n, p % n]);
            list[i * n + j] = p;
        }
        list
    }
}

/// A 2 x 2 matrix that maps the square grid to itself and keeps lengths, if it is one.
fn on_the_grid(m: &nalgebra::DMatrix<f64>) -> Option<[[i32; 2]; 2]> {
    let near = |v: f64| (v - v.round()).abs() < 1e-9 && v.round().abs() <= 1.0;
    if !m.iter().all(|&v| near(v)) {
        return None;
    }
    let at = |i, j| m[(i, j)].round() as i32;
    let m = [[at(0, 0), at(0, 1)], [at(1, 0), at(1, 1)]];
    let orthogonal = m[0][0] * m[0][1] == -m[1][0] * m[1][1];
    let unit = |k: usize| m[0][k] * m[0][k] + m[1][k] * m[1][k] == 1;
    (orthogonal && unit(0) && unit(1)).then_some(m)
}

fn times(a: [[i32; 2]; 2], b: [[i32; 2]; 2]) -> [[i32; 2]; 2] {
    let at = |i: usize, j: usize| a[i][0] * b[0][j] + a[i][1] * b[1][j];
    [[at(0, 0), at(0, 1)], [at(1, 0), at(1, 1)]]
}

fn no_pixels(group: &Group) -> Error {
    let hint = match (group.order(), group.is_abelian()) {
        (2, _) => "; for a half turn write C2, for a mirror D1",
        (4, true) if group.elements().all(|g| group.order_of(g) <= 2) => {
            "; for half turn and mirror write D2"
        }
        _ => "",
    };
    Error::NoPixels { group: group.name().into(), hint: hint.into() }
}

/// Checks that a convolution without padding samples a turned picture at the turned places, and gives its output size.
///
/// With stride s the last position is used only if (size - kernel) mod s = 0; otherwise a quarter turn of the input
/// is sampled at other pixels, and equivariance is silently lost.
///
/// ```
/// use equimarl_group::strided_size;
/// assert_eq!(strided_size(21, 7, 2)?, 8);
/// assert!(strided_size(22, 7, 2).is_err());
/// # Ok::<(), equimarl_group::Error>(())
/// ```
pub fn strided_size(size: usize, kernel: usize, stride: usize) -> Result<usize> {
    if kernel == 0 || stride == 0 || size < kernel {
        return Err(Error::Unsuitable(format!(
            "a convolution needs kernel >= 1, stride >= 1 and a picture at least as large as the kernel; \
             got size {size}, kernel {kernel}, stride {stride}"
        )));
    }
    let rest = (size - kernel) % stride;
    if rest == 0 {
        return Ok((size - kernel) / stride + 1);
    }
    let below = size - rest;
    Err(Error::Stride {
        size,
        kernel,
        stride,
        rest,
        works: format!("{below}, {}", below.saturating_add(stride)),
    })
}
