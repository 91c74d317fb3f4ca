//! What an agent sees and hears in a step, in a message:
//!
//! ```text
//! what  numbers per edge  neighbours  kinds | neighbours | their edge vectors | of each kind | cause | what it sees
//!  1           2              2         1   |   4 each   |      4 a number    |
//! of each kind of senders that do not act:   count (2), edge vectors, features
//! cause: what breaks the symmetry, for networks that are told; 4 a number
//! what it sees: an image (what = 0; see `pixels`), or a feature vector (what = 1): its length (4) and its numbers
//! ```
//!
//! The receiver knows from its model how many numbers everything has. What has more or fewer is refused before memory is taken.

use crate::member::Member;
use crate::message::{MAX_PAYLOAD, Reader};
use crate::pixels;
use crate::shape::Shape;
use crate::tally::Reason;

/// No agent has more neighbours.
pub const MAX_NEIGHBOURS: usize = 1024;
/// No agent senses more senders of a kind.
pub const MAX_SENDERS: usize = 4096;

const IMAGE: u8 = 0;
const FEATURES: u8 = 1;

/// What an agent sees and hears.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The pixels of its image, or its feature vector.
    pub own: Vec<f32>,
    /// Its neighbours in the order of their index.
    pub neighbours: Vec<Member>,
    /// The vector from each of them to it, one after the other.
    pub edges: Vec<f32>,
    /// What it senses of each kind of senders that do not act, in the order in which the world declares them.
    pub senders: Vec<Sensed>,
    /// What breaks the symmetry, for a network that is told: where the wind blows. It is the same for everybody.
    pub cause: Vec<f32>,
}

/// What an agent senses of one kind of senders, in the order of their index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensed {
    /// The vector from each of them to the agent, one after the other.
    pub edges: Vec<f32>,
    /// What is seen of each, one after the other; nothing if there is only where they are.
    pub features: Vec<f32>,
}

impl Sensed {
    pub(crate) fn clear(&mut self) {
        self.edges.clear();
        self.features.clear();
    }
}

impl Observation {
    /// The bytes, unless there are more than a message takes.
    pub(crate) fn write(&self, shape: &Shape) -> Option<Vec<u8>> {
        let floats = |numbers: &[f32], bytes: &mut Vec<u8>| {
            numbers.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        };
        if self.neighbours.len() > MAX_NEIGHBOURS || self.own.len() > pixels::MAX_PIXELS {
            return None;
        }
        let mut bytes = vec![if shape.image { IMAGE } else { FEATURES }];
        bytes.extend_from_slice(&u16::try_from(shape.edge).ok()?.to_le_bytes());
        bytes.extend_from_slice(&(self.neighbours.len() as u16).to_le_bytes());
        bytes.push(u8::try_from(self.senders.len()).ok()?);
        self.neighbours.iter().for_each(|member| bytes.extend_from_slice(&member.code().to_le_bytes()));
        floats(&self.edges, &mut bytes);
        for sensed in &self.senders {
            let count = sensed.edges.len() / shape.edge.max(1);
            if count > MAX_SENDERS {
                return None;
            }
            bytes.extend_from_slice(&(count as u16).to_le_bytes());
            floats(&sensed.edges, &mut bytes);
            floats(&sensed.features, &mut bytes);
        }
        floats(&self.cause, &mut bytes);
        match shape.image {
            true => pixels::write(&self.own, &mut bytes),
            false => {
                bytes.extend_from_slice(&(self.own.len() as u32).to_le_bytes());
                floats(&self.own, &mut bytes);
            }
        }
        (bytes.len() <= MAX_PAYLOAD).then_some(bytes)
    }

    /// Refuses what no agent with this shape can see, with the reason.
    pub(crate) fn fits(&self, shape: &Shape) -> std::result::Result<(), String> {
        let count = |what: &str, found: usize, wanted: usize| match found == wanted {
            true => Ok(()),
            false => Err(format!("{what} has {found} numbers, and the model takes {wanted}")),
        };
        count("what the agent sees", self.own.len(), shape.numbers)?;
        if self.neighbours.len() > MAX_NEIGHBOURS || !self.neighbours.is_sorted_by(|a, b| a < b) {
            return Err(format!(
                "neighbours must be different agents, at most {MAX_NEIGHBOURS}, in their order"
            ));
        }
        count("the list of edge vectors", self.edges.len(), self.neighbours.len() * shape.edge)?;
        if self.senders.len() != shape.senders.len() {
            let (found, wanted) = (self.senders.len(), shape.senders.len());
            return Err(format!("{found} kinds of other senders are sensed, and the model knows {wanted}"));
        }
        count("what breaks the symmetry", self.cause.len(), shape.cause)?;
        let mut numbers: Vec<&[f32]> = vec![&self.own, &self.edges, &self.cause];
        for (sensed, &dim) in self.senders.iter().zip(&shape.senders) {
            let senders = sensed.edges.len() / shape.edge.max(1);
            count("the list of senders' edge vectors", sensed.edges.len(), senders * shape.edge)?;
            count("the list of senders' features", sensed.features.len(), senders * dim)?;
            if senders > MAX_SENDERS {
                return Err(format!("{senders} senders of a kind are sensed; at most {MAX_SENDERS} are"));
            }
            numbers.extend([&sensed.edges[..], &sensed.features]);
        }
        match numbers.into_iter().flatten().find(|x| !x.is_finite()) {
            None => Ok(()),
            Some(x) => Err(format!("{x} is not a finite number")),
        }
    }

    /// Reads an observation of exactly this shape.
    pub(crate) fn read(payload: &[u8], shape: &Shape) -> Result<Observation, Reason> {
        let must = |holds: bool| if holds { Ok(()) } else { Err(Reason::Malformed) };
        let mut reader = Reader::new(payload);
        must(reader.u8()? == if shape.image { IMAGE } else { FEATURES })?;
        must(usize::from(reader.u16()?) == shape.edge)?;
        let count = usize::from(reader.u16()?);
        must(count <= MAX_NEIGHBOURS)?;
        must(usize::from(reader.u8()?) == shape.senders.len())?;
        let codes = reader.bytes(4 * count)?.as_chunks::<4>().0;
        let neighbours: Vec<Member> =
            codes.iter().map(|&code| Member::from_code(u32::from_le_bytes(code))).collect();
        must(neighbours.is_sorted_by(|a, b| a < b))?;
        must(neighbours.last().is_none_or(|last| last.index().is_some()))?;
        let edges = reader.f32s(count.saturating_mul(shape.edge))?;
        let mut senders = Vec::with_capacity(shape.senders.len());
        for &dim in &shape.senders {
            let count = usize::from(reader.u16()?);
            must(count <= MAX_SENDERS)?;
            let edges = reader.f32s(count.saturating_mul(shape.edge))?;
            senders.push(Sensed { edges, features: reader.f32s(count.saturating_mul(dim))? });
        }
        let cause = reader.f32s(shape.cause)?;
        let own = match shape.image {
            true => pixels::read(&mut reader, shape.numbers)?,
            false => {
                must(reader.u32()? as usize == shape.numbers)?;
                reader.f32s(shape.numbers)?
            }
        };
        reader.end()?;
        Ok(Observation { own, neighbours, edges, senders, cause })
    }
}

#[cfg(test)]
mod tests;
