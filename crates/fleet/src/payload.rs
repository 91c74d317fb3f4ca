//! What stands in the messages; observations have a file of their own.

use crate::message::{Reader, RunId};
use crate::tally::{Drops, Reason};
use equimarl_worlds::Actions;
use std::time::Duration;

/// An agent asks to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// A number used once, which the answer repeats: an old answer does not fit a new question.
    pub nonce: RunId,
    /// Which model it runs, so that nobody plays with another one by mistake.
    pub fingerprint: u64,
    /// Whether it is connected to everybody that it may ever talk to.
    pub settled: bool,
}

/// The world lets an agent in. The header carries the run's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The agent's number.
    pub nonce: RunId,
    /// The seed of the streams from which actions are drawn.
    pub seed: u64,
    /// How many agents there are: they share a stream of random numbers, each its own part.
    pub agents: u32,
    /// Whether agents take their greedy action.
    pub greedy: bool,
    /// How long an agent waits for its neighbours in a round.
    pub deadline: Duration,
}

/// What an agent does, and how the step went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Action {
    /// The action, where agents choose.
    pub action: u16,
    /// The vector, where they act by vectors: within the unit ball or box.
    pub vector: Vec<f64>,
    /// The logarithm of each action's probability; the distribution of a vector.
    pub log_probabilities: Vec<f32>,
    /// Messages that did not come.
    pub missed: u32,
    /// Messages that should have come.
    pub expected: u32,
    /// Bytes sent to neighbours.
    pub sent: u32,
    /// Whether it heard nobody although it had neighbours.
    pub cut_off: bool,
    /// How long each round took, in microseconds.
    pub rounds: Vec<u32>,
    /// What it has dropped since it started.
    pub drops: Drops,
}

/// What an agent can say: so many numbers of its distribution, and so many of a vector if it acts by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Says {
    row: usize,
    vector: usize,
}

impl Says {
    pub(crate) fn of(actions: &Actions) -> Says {
        match actions.vectors() {
            None => Says { row: actions.count(), vector: 0 },
            // The mean, and the logarithm of the deviation.
            Some(_) => Says { row: actions.count() + 1, vector: actions.count() },
        }
    }
}

impl Join {
    pub(crate) fn write(&self) -> Vec<u8> {
        [&self.nonce[..], &self.fingerprint.to_le_bytes(), &[u8::from(self.settled)]].concat()
    }

    pub(crate) fn read(payload: &[u8]) -> Result<Join, Reason> {
        let mut reader = Reader::new(payload);
        let join = Join { nonce: reader.array()?, fingerprint: reader.u64()?, settled: reader.bool()? };
        reader.end()?;
        Ok(join)
    }
}

impl Welcome {
    pub(crate) fn write(&self) -> Vec<u8> {
        let deadline = u64::try_from(self.deadline.as_micros()).unwrap_or(u64::MAX);
        let mut bytes = self.nonce.to_vec();
        bytes.extend_from_slice(&self.seed.to_le_bytes());
        bytes.extend_from_slice(&self.agents.to_le_bytes());
        bytes.push(u8::from(self.greedy));
        bytes.extend_from_slice(&deadline.to_le_bytes());
        bytes
    }

    pub(crate) fn read(payload: &[u8]) -> Result<Welcome, Reason> {
        let mut reader = Reader::new(payload);
        let welcome = Welcome {
            nonce: reader.array()?,
            seed: reader.u64()?,
            agents: reader.u32()?,
            greedy: reader.bool()?,
            deadline: Duration::from_micros(reader.u64()?),
        };
        reader.end()?;
        Ok(welcome)
    }
}

/// Writes features: nothing but the numbers.
pub(crate) fn write_features(features: &[f32]) -> Vec<u8> {
    features.iter().flat_map(|f| f.to_le_bytes()).collect()
}

/// Reads exactly `width` features.
pub(crate) fn read_features(payload: &[u8], width: usize) -> Result<Vec<f32>, Reason> {
    let mut reader = Reader::new(payload);
    let features = reader.f32s(width)?;
    reader.end()?;
    Ok(features)
}

impl Action {
    /// The bytes of the payload.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.action.to_le_bytes().to_vec();
        bytes.push(self.log_probabilities.len() as u8);
        self.log_probabilities.iter().for_each(|p| bytes.extend_from_slice(&p.to_le_bytes()));
        self.vector.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        for number in [self.missed, self.expected, self.sent] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.push(u8::from(self.cut_off));
        bytes.push(self.rounds.len() as u8);
        self.rounds.iter().for_each(|r| bytes.extend_from_slice(&r.to_le_bytes()));
        self.drops.words().iter().for_each(|w| bytes.extend_from_slice(&w.to_le_bytes()));
        bytes
    }

    /// Reads an action of an agent that can say this, with this many rounds.
    pub(crate) fn read(payload: &[u8], says: Says, rounds: usize) -> Result<Action, Reason> {
        let mut reader = Reader::new(payload);
        let action = reader.u16()?;
        let count = reader.u8()? as usize;
        if usize::from(action) >= says.row || count != says.row {
            return Err(Reason::Malformed);
        }
        // An impossible action has minus infinity; anything else must be a number.
        let log_probabilities: Result<Vec<f32>, Reason> =
            (0..count).map(|_| reader.array().map(f32::from_le_bytes)).collect();
        let log_probabilities = log_probabilities?;
        let wrong = |p: &f32| if says.vector > 0 { !p.is_finite() } else { p.is_nan() || *p > 1e-3 };
        if log_probabilities.iter().any(wrong) {
            return Err(Reason::Malformed);
        }
        let vector: Result<Vec<f64>, Reason> =
            (0..says.vector).map(|_| reader.array().map(f64::from_le_bytes)).collect();
        let vector = vector?;
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(Reason::Malformed);
        }
        let [missed, expected, sent] = [reader.u32()?, reader.u32()?, reader.u32()?];
        let cut_off = reader.bool()?;
        if reader.u8()? as usize != rounds {
            return Err(Reason::Malformed);
        }
        let rounds: Result<Vec<u32>, Reason> = (0..rounds).map(|_| reader.u32()).collect();
        let mut words = [0; Reason::ALL.len()];
        for word in &mut words {
            *word = reader.u32()?;
        }
        reader.end()?;
        let drops = Drops::from_words(words);
        let rounds = rounds?;
        Ok(Action { action, vector, log_probabilities, missed, expected, sent, cut_off, rounds, drops })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn payloads_come_back() {
        let join = Join { nonce: [3; 16], fingerprint: 99, settled: true };
        assert_eq!(Join::read(&join.write()), Ok(join));
        let deadline = Duration::from_millis(70);
        let welcome = Welcome { nonce: [4; 16], seed: 1 << 60, agents: 4, greedy: true, deadline };
        assert_eq!(Welcome::read(&welcome.write()), Ok(welcome));
        let mut drops = Drops::default();
        drops.count(Reason::Forged);
        let action = Action {
            action: 1,
            vector: vec![],
            log_probabilities: vec![-0.5, f32::NEG_INFINITY],
            missed: 1,
            expected: 8,
            sent: 700,
            cut_off: false,
            rounds: vec![80, 90],
            drops,
        };
        let [two, three] = [2, 3].map(|row| Says { row, vector: 0 });
        assert_eq!(Action::read(&action.bytes(), two, 2), Ok(action.clone()));
        assert_eq!(Action::read(&action.bytes(), three, 2), Err(Reason::Malformed));
        assert_eq!(Action::read(&action.bytes(), two, 1), Err(Reason::Malformed));
        // A vector, with the distribution that it was drawn from.
        let says = Says { row: 3, vector: 2 };
        let vector =
            Action { action: 0, vector: vec![0.25, -0.1], log_probabilities: vec![0.5, 2.0, -0.3], ..action };
        assert_eq!(Action::read(&vector.bytes(), says, 2), Ok(vector.clone()));
        assert_eq!(Action::read(&vector.bytes(), three, 2), Err(Reason::Malformed));
        for wrong in [vec![0.25], vec![0.25, f64::NAN], vec![f64::INFINITY, 0.0]] {
            let wrong = Action { vector: wrong, ..vector.clone() };
            assert_eq!(Action::read(&wrong.bytes(), says, 2), Err(Reason::Malformed));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(read_features(&write_features(&[f32::NAN]), 1), Err(Reason::Malformed));
        assert_eq!(read_features(&write_features(&[1.0, 2.0]), 1), Err(Reason::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (Join::read(&bytes), Welcome::read(&bytes), read_features(&bytes, 32));
            let _ = Action::read(&bytes, Says { row: 5, vector: 0 }, 2);
            let _ = Action::read(&bytes, Says { row: 3, vector: 2 }, 2);
        }
    }
}
