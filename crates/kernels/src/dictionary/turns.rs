//! The group as plain tables, checked once.
//!
//! A turn g sends pixel (i, j) of an n x n picture somewhere, and (gh)(pixel) = g(h(pixel)).

use crate::error::{Error, Result, length};

/// Largest group: a turn takes four bits of a code.
const MOST: usize = 16;

/// A group that turns square pictures: its multiplication, and where it sends the pixels of both filters.
///
/// ```
/// use equimarl_kernels::dictionary::Turns;
/// // The trivial group, and quarter turns.
/// let none = Turns::new(1, &[0], [7, 5], |_, _, at| at)?;
/// let multiply: Vec<u32> = (0..16).map(|i| (i / 4 + i % 4) % 4).collect();
/// let quarter = Turns::new(4, &multiply, [7, 5], |g, n, at| (0..g).fold(at, |[i, j], _| [n - 1 - j, i]))?;
/// assert_eq!((none.order(), quarter.order()), (1, 4));
/// // One quarter turn whatever the element: that does not follow the multiplication.
/// assert!(Turns::new(4, &multiply, [7, 5], |_, n, [i, j]| [n - 1 - j, i]).is_err());
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    order: usize,
    /// \[g * order + h\] = gh
    multiply: Vec<u8>,
    inverse: Vec<u8>,
    kernels: [usize; 2],
    /// For both filters \[g\]\[tap\]: where g sends the tap.
    taps: [Vec<u32>; 2],
}

impl Turns {
    /// Element 0 is the identity, `multiply[g * order + h]` is gh, and `pixel(g, n, [i, j])` is where g sends pixel
    /// (i, j) of an n x n picture; it is asked for both filters' sides, `kernels`.
    ///
    /// # Errors
    /// The order is not within 1..=16, a table has the wrong length, the tables are not those of a group, or the maps of
    /// pixels are not bijections that follow it.
    pub fn new(
        order: usize,
        multiply: &[u32],
        kernels: [usize; 2],
        pixel: impl Fn(usize, usize, [usize; 2]) -> [usize; 2],
    ) -> Result<Self> {
        if !(1..=MOST).contains(&order) {
            return Err(wrong("its order must be 1 to 16"));
        }
        length("multiply", multiply.len(), order * order)?;
        if multiply.iter().any(|&g| g as usize >= order) {
            return Err(wrong("a product is no element"));
        }
        let multiply: Vec<u8> = multiply.iter().map(|&g| g as u8).collect();
        let times = |g: usize, h: usize| multiply[g * order + h] as usize;
        if (0..order).any(|g| times(0, g) != g || times(g, 0) != g) {
            return Err(wrong("element 0 is not the identity"));
        }
        let triples = (0..order).flat_map(|a| (0..order * order).map(move |i| (a, i / order, i % order)));
        if triples.into_iter().any(|(a, b, c)| times(times(a, b), c) != times(a, times(b, c))) {
            return Err(wrong("the multiplication is not associative"));
        }
        let inverse = |g| (0..order).find(|&h| times(g, h) == 0 && times(h, g) == 0).map(|h| h as u8);
        let inverse = (0..order).map(inverse).collect::<Option<Vec<u8>>>();
        let inverse = inverse.ok_or(wrong("an element has no inverse"))?;
        let [first, second] = kernels.map(|n| sent(order, &multiply, n, &pixel));
        Ok(Self { order, inverse, kernels, taps: [first?, second?], multiply })
    }

    /// Number of elements.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Sides of the two filters whose pixels it turns.
    pub fn kernels(&self) -> [usize; 2] {
        self.kernels
    }

    pub(super) fn times(&self, g: usize, h: usize) -> usize {
        self.multiply[g * self.order + h] as usize
    }

    pub(super) fn inverse(&self, g: usize) -> usize {
        self.inverse[g] as usize
    }

    /// Where g sends each tap of the first (0) or second (1) filter.
    pub(super) fn send(&self, filter: usize, g: usize) -> &[u32] {
        let taps = self.kernels[filter].pow(2);
        &self.taps[filter][g * taps..][..taps]
    }
}

fn wrong(problem: &'static str) -> Error {
    Error::Group { problem }
}

/// \[g\]\[tap\] of an n x n filter, checked.
fn sent(
    order: usize,
    multiply: &[u8],
    n: usize,
    pixel: &impl Fn(usize, usize, [usize; 2]) -> [usize; 2],
) -> Result<Vec<u32>> {
    let taps = n * n;
    let mut table = Vec::with_capacity(order * taps);
    for g in 0..order {
        let mut seen = vec![false; taps];
        for tap in 0..taps {
            let [i, j] = pixel(g, n, [tap / n, tap % n]);
            if i >= n || j >= n {
                return Err(wrong("a pixel leaves the picture"));
            }
            if std::mem::replace(&mut seen[i * n + j], true) {
                return Err(wrong("two pixels meet"));
            }
            table.push((i * n + j) as u32);
        }
    }
    let send = |g: usize, tap: usize| table[g * taps + tap] as usize;
    let follows = |g: usize, h: usize| {
        let gh = multiply[g * order + h] as usize;
        (0..taps).all(|tap| send(gh, tap) == send(g, send(h, tap)))
    };
    if (0..order * order).all(|i| follows(i / order, i % order)) {
        Ok(table)
    } else {
        Err(wrong("the maps of pixels do not follow the multiplication"))
    }
}
