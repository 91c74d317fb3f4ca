//! What stands in the messages; observations have a file of their own.

use crate::message::{Reader, RunId};
use crate::tally::{Drops, Reason};
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
    /// The action.
    pub action: u16,
    /// The logarithm of each action's probability.
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
        for number in [self.missed, self.expected, self.sent] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.push(u8::from(self.cut_off));
        bytes.push(self.rounds.len() as u8);
        self.rounds.iter().for_each(|r| bytes.extend_from_slice(&r.to_le_bytes()));
        self.drops.words().iter().for_each(|w| bytes.extend_from_slice(&w.to_le_bytes()));
        bytes
    }

    /// Reads an action of an agent with this many actions and rounds.
    pub(crate) fn read(payload: &[u8], actions: usize, rounds: usize) -> Result<Action, Reason> {
        let mut reader = Reader::new(payload);
        let action = reader.u16()?;
        let count = reader.u8()? as usize;
        if usize::from(action) >= actions || count != actions {
            return Err(Reason::Malformed);
        }
        // An impossible action has minus infinity; anything else must be a number.
        let log_probabilities: Result<Vec<f32>, Reason> =
            (0..count).map(|_| reader.array().map(f32::from_le_bytes)).collect();
        let log_probabilities = log_probabilities?;
        if log_probabilities.iter().any(|p| p.is_nan() || *p > 1e-3) {
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
        Ok(Action { action, log_probabilities, missed, expected, sent, cut_off, rounds: rounds?, drops })
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
            log_probabilities: vec![-0.5, f32::NEG_INFINITY],
            missed: 1,
            expected: 8,
            sent: 700,
            cut_off: false,
            rounds: vec![80, 90],
            drops,
        };
        assert_eq!(Action::read(&action.bytes(), 2, 2), Ok(action.clone()));
        assert_eq!(Action::read(&action.bytes(), 3, 2), Err(Reason::Malformed));
        assert_eq!(Action::read(&action.bytes(), 2, 1), Err(Reason::Malformed));
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
            let _ = Action::read(&bytes, 5, 2);
        }
    }
}
