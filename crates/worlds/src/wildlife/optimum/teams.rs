//! Where a team stands around the poacher, up to symmetry.
//!
//! Seen from the poacher, which is put in the middle cell, a team is a set of n different cells: translations are gone
//! because positions are relative, permutations because it is a set. D4 acts on these sets (in wind, what leaves it as it is); a *class* is one orbit.
//! Three drones on a 7 x 7 torus have 5.4 million ordered states, 18,424 sets and 2,397 classes.

use crate::error::{Error, Result};
use crate::wildlife::board::{Board, MOVES, STEPS};
use equimarl_group::{Group, Plane};

/// More joint moves than this (classes x 5^n) would take gigabytes and many minutes.
const MOST_MOVES: u64 = 1_200_000_000;

/// All classes of teams of one size.
#[derive(Debug)]
pub(super) struct Teams {
    drones: usize,
    /// `choose[k][c]` = c over k + 1, the number of sets of k + 1 cells below cell c.
    choose: Vec<Vec<u32>>,
    /// The class of every set, by its rank.
    class: Vec<u32>,
    /// One sorted set per class, end to end.
    members: Vec<u32>,
    /// How many sets each class has.
    sizes: Vec<u32>,
}

impl Teams {
    /// All classes of teams of `drones` drones, under D4 or what it leaves of a wind that makes this move.
    ///
    /// # Errors
    /// If there are too many to solve.
    pub fn new(board: &Board, drones: usize, wind: Option<usize>) -> Result<Teams> {
        let turns = turned_cells(board, wind)?;
        let sets = count_sets(board.cells(), drones);
        let moves = (MOVES as u64)
            .checked_pow(drones as u32)
            .and_then(|m| m.checked_mul(sets / turns.len() as u64 + 1));
        if moves.is_none_or(|m| m > MOST_MOVES) {
            return Err(Error::BadWorld(format!(
                "{drones} drones on a {0} x {0} grid are too many states and joint moves to solve exactly; \
                 2 to 5 drones on the grid of 7 are not",
                board.grid
            )));
        }
        let mut teams = Teams {
            drones,
            choose: (1..=drones)
                .map(|k| (0..board.cells()).map(|c| count_sets(c, k) as u32).collect())
                .collect(),
            class: vec![u32::MAX; sets as usize],
            members: Vec::new(),
            sizes: Vec::new(),
        };
        let mut set: Vec<u32> = (0..drones as u32).collect();
        let mut image = set.clone();
        for rank in 0..sets as usize {
            debug_assert_eq!(teams.rank(&set), rank);
            if teams.class[rank] == u32::MAX {
                let class = teams.sizes.len() as u32;
                let mut size = 0;
                for turn in &turns {
                    for (image, &cell) in image.iter_mut().zip(&set) {
                        *image = turn[cell as usize];
                    }
                    image.sort_unstable();
                    let rank = teams.rank(&image);
                    size += u32::from(teams.class[rank] == u32::MAX);
                    teams.class[rank] = class;
                }
                teams.members.extend_from_slice(&set);
                teams.sizes.push(size);
            }
            next_set(&mut set);
        }
        Ok(teams)
    }

    /// The number of classes.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// One team of a class, as sorted cells.
    pub fn member(&self, class: usize) -> &[u32] {
        &self.members[class * self.drones..][..self.drones]
    }

    /// The number of teams in a class.
    pub fn size(&self, class: usize) -> u32 {
        self.sizes[class]
    }

    /// The class of a team; `cells` is sorted on the way.
    #[inline]
    pub fn class_of(&self, cells: &mut [u32]) -> usize {
        // Insertion sort: teams are tiny and nearly sorted.
        for i in 1..cells.len() {
            let mut j = i;
            while j > 0 && cells[j - 1] > cells[j] {
                cells.swap(j - 1, j);
                j -= 1;
            }
        }
        self.class[self.rank(cells)] as usize
    }

    /// The place of a sorted set in the order of [`next_set`]: sum over k of (c_k over k + 1).
    #[inline]
    fn rank(&self, set: &[u32]) -> usize {
        set.iter().zip(&self.choose).map(|(&cell, row)| row[cell as usize] as usize).sum()
    }
}

/// n over k, or the largest number there is.
fn count_sets(n: usize, k: usize) -> u64 {
    (0..k as u64).fold(1u64, |count, i| {
        // Each partial product is itself a binomial, so the division is exact.
        count.checked_mul((n as u64).saturating_sub(i)).map_or(u64::MAX, |c| c / (i + 1))
    })
}

/// The next sorted set, in the order in which the largest member counts most.
fn next_set(set: &mut [u32]) {
    for i in 0..set.len() {
        if set.get(i + 1).is_none_or(|&above| set[i] + 1 < above) {
            set[i] += 1;
            for (k, low) in set[..i].iter_mut().enumerate() {
                *low = k as u32;
            }
            return;
        }
    }
}

/// Where each element of D4 that leaves the wind as it is takes each cell.
fn turned_cells(board: &Board, wind: Option<usize>) -> Result<Vec<Vec<u32>>> {
    let d4 = Group::dihedral(4)?;
    let plane = Plane::new(&d4)?;
    let turn = |g: usize, &[row, col]: &[i32; 2]| {
        let [row, col] = plane.pixel(g, board.grid, [row as usize, col as usize]);
        (row * board.grid + col) as u32
    };
    let left = |&g: &usize| wind.is_none_or(|m| plane.vector(g, STEPS[m]) == STEPS[m]);
    Ok(d4.elements().filter(left).map(|g| board.place.iter().map(|at| turn(g, at)).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_partition_the_sets() {
        for (grid, drones) in [(3, 2), (3, 8), (5, 3), (7, 2), (7, 3)] {
            let board = Board::new(grid).unwrap();
            let teams = Teams::new(&board, drones, None).unwrap();
            let total: u32 = (0..teams.len()).map(|c| teams.size(c)).sum();
            assert_eq!(u64::from(total), count_sets(grid * grid, drones));
            for class in 0..teams.len() {
                let mut member = teams.member(class).to_vec();
                member.reverse();
                assert_eq!(teams.class_of(&mut member), class);
            }
        }
    }

    #[test]
    fn the_number_of_classes_is_burnsides() {
        // Fixed sets of size k under g: choose whole cycles of g. On 7 x 7: identity 49 cells; quarter turns one fixed
        // cell and 12 four-cycles; the half turn one and 24 two-cycles; each mirror 7 and 21 two-cycles. Quarter turns fix no pair and no triple.
        let pairs = (1176 + 24 + 4 * (21 + 21)) / 8;
        let triples = (18_424 + 24 + 4 * (35 + 7 * 21)) / 8;
        let board = Board::new(7).unwrap();
        assert_eq!(Teams::new(&board, 2, None).unwrap().len(), pairs);
        assert_eq!(Teams::new(&board, 3, None).unwrap().len(), triples);
    }
}
