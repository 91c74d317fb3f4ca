//! Numbers for distinct rows: equal rows have equal numbers, and only they.
//!
//! A hash says where to look; the rows themselves decide.

/// Rows have a multiple of this many words, so that neither hash nor comparison has a remainder.
const STEP: usize = 4;

/// An open-addressing table of rows of fixed width.
#[derive(Debug, Clone)]
pub(super) struct Intern {
    width: usize,
    rows: Vec<u32>,
    /// Upper half of the hash << 32 | number + 1; 0 is free. At most half of the slots are taken.
    slots: Vec<u64>,
    /// Which bits of a hash count: all of them, but for tests.
    bits: u64,
}

impl Intern {
    /// For rows of `words` words; shorter than [`Intern::width`], they are to be filled up with zeros.
    pub(super) fn new(words: usize) -> Self {
        let width = words.next_multiple_of(STEP);
        Self { width, rows: Vec::new(), slots: vec![0; 64], bits: u64::MAX }
    }

    /// Words of a row, rounded up.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Rows so far.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.width
    }

    /// The row of a number.
    pub(super) fn row(&self, id: u32) -> &[u32] {
        &self.rows[id as usize * self.width..][..self.width]
    }

    /// Its hash depends on a row's content alone.
    pub(super) fn hash(&self, row: &[u32]) -> u64 {
        hash(row) & self.bits
    }

    /// The number of a row if it has one.
    #[inline]
    pub(super) fn find(&self, row: &[u32]) -> Option<u32> {
        assert_eq!(row.len(), self.width);
        self.slot(row, self.hash(row)).ok()
    }

    /// The number of a row, and whether it is new.
    pub(super) fn intern(&mut self, row: &[u32]) -> (u32, bool) {
        assert_eq!(row.len(), self.width);
        let hash = self.hash(row);
        match self.slot(row, hash) {
            Ok(id) => (id, false),
            Err(slot) => {
                let id = self.len() as u32;
                self.rows.extend_from_slice(row);
                self.slots[slot] = entry(hash, id);
                if 2 * self.len() > self.slots.len() {
                    self.grow();
                }
                (id, true)
            }
        }
    }

    /// The number of a row, or the slot where it belongs.
    #[inline(always)]
    fn slot(&self, row: &[u32], hash: u64) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if slot >> 32 == hash >> 32 {
                let id = slot as u32 - 1;
                if equal(self.row(id), row) {
                    return Ok(id);
                }
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(size, 0);
        for id in 0..self.len() as u32 {
            let hash = self.hash(self.row(id));
            let mut at = hash as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = entry(hash, id);
        }
    }

    /// Forgets all rows, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.slots.fill(0);
    }

    /// Every row has the same hash from here on: what must not change any result.
    #[cfg(test)]
    pub(super) fn collide(&mut self) {
        assert_eq!(self.len(), 0);
        self.bits = 0;
    }
}

fn entry(hash: u64, id: u32) -> u64 {
    hash >> 32 << 32 | u64::from(id + 1)
}

/// One folded multiplication per four words, in two chains that do not wait for each other.
#[inline(always)]
fn hash(row: &[u32]) -> u64 {
    let step = |state: u64, words: &[u32]| {
        let a = u64::from(words[0]) | u64::from(words[1]) << 32;
        let b = u64::from(words[2]) | u64::from(words[3]) << 32;
        fold(a ^ state, b ^ 0xd6e8_feb8_6659_fd93)
    };
    let (mut one, mut two) = (0x9e37_79b9_7f4a_7c15, 0xa076_1d64_78bd_642f);
    let pairs = row.chunks_exact(2 * STEP);
    let rest = pairs.remainder();
    for words in pairs {
        one = step(one, &words[..STEP]);
        two = step(two, &words[STEP..]);
    }
    if !rest.is_empty() {
        one = step(one, rest);
    }
    fold(one ^ two.rotate_left(32), 0xe703_7ed1_a0b4_28db)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Without a call, and without an early way out: rows found by their hash are nearly always equal.
#[inline(always)]
fn equal(a: &[u32], b: &[u32]) -> bool {
    let pairs = a.chunks_exact(STEP).zip(b.chunks_exact(STEP));
    pairs.fold(0, |all, (a, b)| (0..STEP).fold(all, |all, i| all | (a[i] ^ b[i]))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_have_equal_numbers_whatever_the_hash() {
        for collide in [false, true] {
            let mut table = Intern::new(3);
            if collide {
                table.collide();
            }
            for round in 0..2 {
                for i in 0..300u32 {
                    let row = [i % 7, i / 7, 5, 0];
                    assert_eq!(table.find(&row), (round == 1).then_some(i));
                    assert_eq!(table.intern(&row), (i, round == 0));
                    assert_eq!(table.row(i), row);
                }
            }
            table.clear();
            assert_eq!((table.len(), table.find(&[0, 0, 5, 0])), (0, None));
        }
    }
}
