//! Distinct feature vectors: equal ones are encoded once.

use crate::error::{Error, Result};
use equimarl_kernels::messages::Graph;

/// A place of the table that is free.
const FREE: u32 = u32::MAX;
/// The smallest table.
const FEWEST: usize = 64;

/// Vectors of one length, each of them once. Vectors are equal if their bits are, so 0.0 and -0.0 are two.
///
/// ```
/// use equimarl_nn::Vectors;
/// let mut vectors = Vectors::default();
/// let ids = [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]].map(|v| vectors.id(&v).unwrap());
/// assert_eq!((ids, vectors.len()), ([0, 1, 0], 2));
/// assert!(vectors.id(&[1.0]).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Vectors {
    values: Vec<f32>,
    /// Numbers of each; 0 as long as there is none.
    width: usize,
    /// Ids by hash, the next place if one is taken; at most half full. A table of its own, because it is cleared and
    /// filled again for every batch and must not allocate then.
    table: Vec<u32>,
}

impl Vectors {
    /// The number of this vector among the distinct ones; it is added if it is new.
    ///
    /// # Errors
    /// If it is empty or of another length than the others.
    pub fn id(&mut self, vector: &[f32]) -> Result<u32> {
        if self.values.is_empty() {
            self.width = vector.len();
        }
        if vector.is_empty() || vector.len() != self.width {
            return Err(Error::BadBatch(format!(
                "a feature vector has {} numbers, and the others of its kind have {}",
                vector.len(),
                self.width
            )));
        }
        let count = self.len();
        if 2 * (count + 1) > self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut place = hash(vector) as usize & mask;
        loop {
            match self.table[place] {
                FREE => break,
                id if same_bits(self.row(id), vector) => return Ok(id),
                _ => place = (place + 1) & mask,
            }
        }
        let id = count as u32;
        self.table[place] = id;
        self.values.extend_from_slice(vector);
        Ok(id)
    }

    pub(crate) fn row(&self, id: u32) -> &[f32] {
        &self.values[id as usize * self.width..][..self.width]
    }

    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(FEWEST);
        self.table.clear();
        self.table.resize(size, FREE);
        for id in 0..self.len() as u32 {
            let mut place = hash(self.row(id)) as usize & (size - 1);
            while self.table[place] != FREE {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = id;
        }
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.table.fill(FREE);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All of them, one after the other.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// That they have so many numbers each; `whose` they are is for the message.
    pub(crate) fn check(&self, whose: &str, wanted: usize) -> Result<()> {
        if self.is_empty() || self.width == wanted {
            return Ok(());
        }
        Err(Error::BadBatch(format!(
            "the features of {whose} are {} numbers in this batch, and the network was made for {wanted}",
            self.width
        )))
    }
}

/// The senders of one kind that do not act, and who hears them.
#[derive(Clone, Debug, Default)]
pub struct Senders {
    /// The distinct feature vectors; none if this kind has nothing to tell but where it is.
    pub vectors: Vectors,
    /// The vectors that each agent hears: senders that look the same are the same.
    pub graph: Graph,
    /// One edge vector per edge of the graph, in its order.
    pub edges: Vec<f32>,
}

impl Senders {
    /// The agent that is about to be ended hears a sender with the features `id` of [`Senders::vectors`] (0 if this kind has
    /// none) across `edge`.
    pub fn hear(&mut self, id: u32, edge: &[f32]) {
        self.graph.hear(id);
        self.edges.extend_from_slice(edge);
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.vectors.clear();
        self.graph.clear();
        self.edges.clear();
    }
}

fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Multiply and fold, word by word; the last fold brings the high bits down, where the table looks.
fn hash(vector: &[f32]) -> u64 {
    let step = |sum: u64, x: &f32| {
        let mixed = (sum ^ u64::from(x.to_bits())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    };
    vector.iter().fold(0x243f_6a88_85a3_08d3, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;
    use std::collections::HashMap;

    /// Against a map of lists of bits, through many growths and two fillings.
    #[test]
    fn equal_vectors_have_one_number() {
        let (mut vectors, mut noise) = (Vectors::default(), Noise::new(31));
        for filling in 0..2 {
            let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
            let width = 2 + filling;
            for _ in 0..5000 {
                // Few values, so that many are equal, and zeros of both signs.
                let one = |noise: &mut Noise| {
                    let size = (noise.uniform() * 10.0).floor() as f32 * 0.0625;
                    if noise.uniform() < 0.5 { size } else { -size }
                };
                let vector: Vec<f32> = (0..width).map(|_| one(&mut noise)).collect();
                let next = known.len() as u32;
                let bits = vector.iter().map(|x| x.to_bits()).collect();
                assert_eq!(vectors.id(&vector).unwrap(), *known.entry(bits).or_insert(next));
            }
            assert_eq!(vectors.len(), known.len());
            for (bits, id) in known {
                let row: Vec<u32> = vectors.row(id).iter().map(|x| x.to_bits()).collect();
                assert_eq!(row, bits);
            }
            vectors.clear();
            assert!(vectors.is_empty());
        }
    }

    #[test]
    fn signs_of_zero_and_lengths_are_told_apart() {
        let mut vectors = Vectors::default();
        assert_eq!([0.0, -0.0, f32::NAN, f32::NAN].map(|x| vectors.id(&[x]).unwrap()), [0, 1, 2, 2]);
        assert!(vectors.id(&[]).is_err());
        assert!(vectors.id(&[0.0, 0.0]).is_err());
        assert!(Vectors::default().id(&[]).is_err());
        assert!(vectors.check("agents", 2).unwrap_err().to_string().contains("features of agents are 1"));
    }

    /// The memory of a filling is enough for the next one of the same size.
    #[test]
    fn a_second_filling_allocates_nothing() {
        let mut vectors = Vectors::default();
        let fill = |vectors: &mut Vectors| {
            for i in 0..1000 {
                assert_eq!(vectors.id(&[i as f32, 1.0]).unwrap(), i);
            }
        };
        fill(&mut vectors);
        let before = (vectors.values.as_ptr(), vectors.table.as_ptr(), vectors.table.len());
        vectors.clear();
        fill(&mut vectors);
        assert_eq!((vectors.values.as_ptr(), vectors.table.as_ptr(), vectors.table.len()), before);
    }
}
