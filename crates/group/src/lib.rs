//! Finite groups, their representations, and exact bases of the maps that commute with them.
//!
//! A map W from one representation to another is *equivariant* when W rho_in(g) = rho_out(g) W for every g of the
//! group. Such maps form a vector space; this crate finds an orthonormal [`Basis`] of it, exactly and fast.
//!
//! ```
//! use equimarl_group::{Basis, Group, Rep};
//! let c4: Group = "C4".parse()?;
//!
//! // The second convolution of a rotation-equivariant network: 5 x 5 filters between group channels.
//! let regular = Rep::regular(&c4)?;
//! assert_eq!(Basis::filter(&regular, &regular, 5)?.rank(), 100); // of 4 x 4 x 25 = 400 numbers
//!
//! // Mistakes do not build. A quarter turn done four times must be nothing:
//! let error = Rep::parse(&c4, "perm[1 2 0]").unwrap_err().to_string();
//! assert!(error.contains("rho(r) rho(r3) = perm[1 2 0] but rho(r r3) = rho(e) = perm[0 1 2]"), "{error}");
//! # Ok::<(), equimarl_group::Error>(())
//! ```
//!
//! # The little language
//!
//! Groups: `C4`, `D4`, `S3`, products `C4 x C2`, generators `perm[1 2 0; 1 0 2]` or `matrix[0 -1, 1 0]` (rows
//! separated by `,`, generators by `;`).
//!
//! Representations: sums and multiples of
//!
//! | name | what it is |
//! |---|---|
//! | `trivial` | nothing moves |
//! | `sign` | +1 or -1: odd turns, mirrors, odd permutations |
//! | `regular` | functions on the group, (L_g f)\[h\] = f\[g^-1 h\] |
//! | `quotient(C2)` | functions on the cosets of a subgroup, also `quotient(<r2, m>)` |
//! | `rotation`, `rotation(2)` | vectors (row, column), that is (down, right), turned counter-clockwise by C_n or D_n, once or twice as fast; the mirror negates the column |
//! | `freq0`, `freq1`, `freq2` | the same as `trivial`, `rotation` and `rotation(2)`: channels by their frequency |
//! | `natural` | the points or vectors that a group given by generators moves, also S_n |
//! | `pixels(5)` | a 5 x 5 picture |
//! | `perm[0 4 1 2 3]` | a permutation per generator as a gather: (P v)\[i\] = v\[p\[i\]\] |
//! | `matrix[0 -1, 1 0]` | a matrix per generator |
//! | `dual(...)`, `tensor(..., ...)` | of other representations |

mod basis;
mod check;
mod closure;
mod error;
mod family;
mod fourier;
mod group;
mod parse;
mod plane;
mod rep;
mod subgroup;
mod text;
mod turn;

pub use basis::{
    Basis, Comparison, DenseBasis, Expansion, MAX_DENSE, Method, OrbitBasis, PairBasis, PairComparison, ZERO,
    compare, principal_angle,
};
pub use check::equivariance_error;
pub use error::{BrokenProduct, Error, Result};
pub use fourier::Irrep;
pub use group::{Element, Group, MAX_ORDER};
pub use plane::{Plane, strided_size};
pub use rep::{Atom, Rep, Term};
pub use subgroup::Subgroup;
pub use turn::{MAX_FREQUENCY, Symmetry, Turn, Type, Types};
