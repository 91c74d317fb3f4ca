//! Reproducible randomness: one independent stream per (seed, purpose, index), the same on every platform.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Serialize};

/// What a stream is for. Streams of different purposes never share numbers, so adding draws in one place
/// changes nothing elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Chance in the world: starts, arrivals, the poacher.
    World,
    /// Actions sampled by policies and controllers.
    Action,
    /// Initial weights.
    Weights,
    /// The order of minibatches.
    Shuffle,
    /// Group elements drawn by data augmentation.
    Augment,
    /// Chance in evaluation worlds.
    Evaluation,
    /// Actions sampled in evaluation.
    EvaluationAction,
    /// The random rollouts of audits and tests.
    Audit,
    /// Resampling of runs in statistics.
    Resampling,
    /// Tokens of agents while they learn.
    Token,
    /// Tokens of agents in evaluation, in play and in fleets.
    EvaluationToken,
}

/// A stream of random numbers that can be saved and continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    seed: u64,
    purpose: Purpose,
    index: u64,
    rng: ChaCha8Rng,
}

/// Where a [`Stream`] is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    seed: u64,
    purpose: Purpose,
    index: u64,
    /// The position in the stream, in words, as text because JSON numbers end at 2^53.
    position: String,
}

impl Stream {
    /// The stream of `seed` for `purpose`, number `index` (an environment, an episode, an agent).
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Stream {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        key[16] = purpose as u8;
        key[24..].copy_from_slice(b"equimarl");
        Stream { seed, purpose, index, rng: ChaCha8Rng::from_seed(key) }
    }

    /// 32 random bits: one word of the stream.
    #[inline]
    pub fn word(&mut self) -> u32 {
        self.rng.next_u32()
    }

    /// A number in 0..n by multiply-shift: one word, always. The bias is below n / 2^32, far under what any
    /// experiment here can see, and in exchange every draw costs the same number of words.
    ///
    /// # Panics
    /// If n is 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "nothing to choose from");
        ((u64::from(self.word()) * u64::from(n)) >> 32) as u32
    }

    /// A number in [0, 1) with 24 bits: one word, exact in f32 and f64.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        f64::from(self.word() >> 8) / f64::from(1u32 << 24)
    }

    /// A standard normal number: two words (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.unit();
        let v = self.unit();
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Goes to a place in the stream, counted in words from its start: members of a team that share a stream each take
    /// their own words of it.
    pub fn seek(&mut self, word: u128) {
        self.rng.set_word_pos(word);
    }

    /// Where the stream is, for a checkpoint.
    pub fn save(&self) -> StreamState {
        StreamState {
            seed: self.seed,
            purpose: self.purpose,
            index: self.index,
            position: self.rng.get_word_pos().to_string(),
        }
    }

    /// The stream at a saved place.
    pub fn load(state: &StreamState) -> crate::Result<Stream> {
        let mut stream = Stream::new(state.seed, state.purpose, state.index);
        let position = state.position.parse().map_err(|_| {
            crate::Error::BadState(format!("`{}` is not a position in a random stream", state.position))
        })?;
        stream.rng.set_word_pos(position);
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let first = |s: u64, p: Purpose, i: u64| Stream::new(s, p, i).word();
        let base = first(1, Purpose::World, 0);
        assert_eq!(base, first(1, Purpose::World, 0));
        assert_ne!(base, first(2, Purpose::World, 0));
        assert_ne!(base, first(1, Purpose::Action, 0));
        assert_ne!(base, first(1, Purpose::World, 1));
    }

    #[test]
    fn a_saved_stream_continues() {
        let mut a = Stream::new(7, Purpose::Action, 3);
        for _ in 0..123 {
            a.word();
        }
        let text = serde_json::to_string(&a.save()).unwrap();
        let mut b = Stream::load(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(a, b);
        assert!((0..100).all(|_| a.word() == b.word()));
    }

    #[test]
    fn seeking_finds_the_same_words() {
        let mut stream = Stream::new(5, Purpose::Audit, 1);
        let words: Vec<u32> = (0..40).map(|_| stream.word()).collect();
        for at in [39, 0, 17] {
            stream.seek(at as u128);
            assert_eq!(stream.word(), words[at]);
        }
    }

    #[test]
    fn draws_are_in_range_and_roughly_uniform() {
        let mut stream = Stream::new(0, Purpose::Audit, 0);
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[stream.below(5) as usize] += 1;
        }
        // Five standard deviations of a binomial with n = 50,000 and p = 1/5.
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 450), "{counts:?}");
        let mean = (0..10_000).map(|_| stream.normal()).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05, "{mean}");
    }
}
