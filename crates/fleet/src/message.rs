//! Messages on the wire: a fixed header, a payload of bounded length, a signature.
//!
//! ```text
//! "EQ"  version  kind  run id  episode  step  round  sender  receiver  length  payload  signature
//!  2       1      1      16       4      4      1      4        4        4     length    64 or 0
//! ```
//!
//! All numbers are little-endian. The signature is over a domain tag and every byte before it; [`crate::Signer`] adds and
//! checks it. Reading never trusts a length: a message has exactly the bytes that its header says, or it is none.

use crate::member::Member;
use crate::tally::Reason;

/// The version that this software speaks; others are refused. Version 1 had images and edges of the plane only,
/// version 2 no count of clipped messages.
pub const VERSION: u8 = 3;
/// How every message begins.
const MARK: [u8; 2] = *b"EQ";
/// Bytes of a header.
pub const HEADER: usize = 41;
/// No payload is longer: enough for an image of 16,384 pixels that no palette compresses.
pub const MAX_PAYLOAD: usize = 80 * 1024;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageKind {
    /// An agent asks the world to be let in.
    Join = 1,
    /// The world lets it in.
    Welcome = 2,
    /// What an agent sees in a step, and its neighbours.
    Observation = 3,
    /// What an agent tells a neighbour in a round.
    Features = 4,
    /// What an agent does in a step.
    Action = 5,
    /// The run is over.
    End = 6,
    /// What a member says of itself to those who watch.
    Status = 7,
}

impl MessageKind {
    fn from_code(code: u8) -> Option<MessageKind> {
        use MessageKind::*;
        [Join, Welcome, Observation, Features, Action, End, Status].into_iter().find(|&k| k as u8 == code)
    }

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Join => "join",
            MessageKind::Welcome => "welcome",
            MessageKind::Observation => "observation",
            MessageKind::Features => "features",
            MessageKind::Action => "action",
            MessageKind::End => "end",
            MessageKind::Status => "status",
        }
    }
}

/// When: an episode and a step of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId {
    /// The episode.
    pub episode: u32,
    /// The step.
    pub step: u32,
}

impl StepId {
    /// Whether this is the step after `now`: the next one, or the start of the next episode.
    pub fn follows(self, now: StepId) -> bool {
        let next_step = StepId { step: now.step.saturating_add(1), ..now };
        let next_episode = StepId { episode: now.episode.saturating_add(1), step: 0 };
        self > now && (self == next_step || self == next_episode)
    }

    /// Steps of an agent without a world are counted by a clock and have no episodes, so 65,536 of them make one.
    pub fn counted(t: u64) -> StepId {
        StepId { episode: u32::try_from(t >> 16).unwrap_or(u32::MAX), step: (t & 0xffff) as u32 }
    }
}

/// A run's random name: what was signed for one run is worth nothing in another.
pub type RunId = [u8; 16];

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: MessageKind,
    /// The run; zeros in a request to join.
    pub run: RunId,
    /// When.
    pub place: StepId,
    /// The round; 0 except in features.
    pub round: u8,
    /// From whom.
    pub sender: Member,
    /// For whom.
    pub receiver: Member,
}

impl Header {
    /// The bytes of an unsigned message.
    pub fn message(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + payload.len() + crate::signer::SIGNATURE);
        bytes.extend_from_slice(&MARK);
        bytes.extend_from_slice(&[VERSION, self.kind as u8]);
        bytes.extend_from_slice(&self.run);
        bytes.extend_from_slice(&self.place.episode.to_le_bytes());
        bytes.extend_from_slice(&self.place.step.to_le_bytes());
        bytes.push(self.round);
        bytes.extend_from_slice(&self.sender.code().to_le_bytes());
        bytes.extend_from_slice(&self.receiver.code().to_le_bytes());
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    /// The header and payload of a message that ends with a signature of this length.
    pub fn read(bytes: &[u8], signature: usize) -> Result<(Header, &[u8]), Reason> {
        let mut reader = Reader::new(bytes);
        let header = Header::take(&mut reader)?;
        let length = reader.u32()? as usize;
        if length > MAX_PAYLOAD {
            return Err(Reason::Malformed);
        }
        let payload = reader.bytes(length)?;
        reader.bytes(signature)?;
        reader.end()?;
        Ok((header, payload))
    }

    fn take(reader: &mut Reader<'_>) -> Result<Header, Reason> {
        if reader.array()? != MARK {
            return Err(Reason::Malformed);
        }
        if reader.u8()? != VERSION {
            return Err(Reason::OtherVersion);
        }
        Ok(Header {
            kind: MessageKind::from_code(reader.u8()?).ok_or(Reason::Malformed)?,
            run: reader.array()?,
            place: StepId { episode: reader.u32()?, step: reader.u32()? },
            round: reader.u8()?,
            sender: Member::from_code(reader.u32()?),
            receiver: Member::from_code(reader.u32()?),
        })
    }

    /// The version of a message, if it is one of a fleet.
    pub fn version(bytes: &[u8]) -> Option<u8> {
        bytes.strip_prefix(&MARK).and_then(|rest| rest.first()).copied()
    }

    /// The header alone, of a message that we made ourselves.
    pub fn peek(bytes: &[u8]) -> Option<Header> {
        Header::take(&mut Reader::new(bytes)).ok()
    }
}

/// Takes numbers from bytes, or says that they are not there.
pub(crate) struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { left: bytes }
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Reason> {
        let (taken, left) = self.left.split_at_checked(count).ok_or(Reason::Malformed)?;
        self.left = left;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        self.bytes(N)?.try_into().map_err(|_| Reason::Malformed)
    }

    pub fn u8(&mut self) -> Result<u8, Reason> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub fn bool(&mut self) -> Result<bool, Reason> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Reason::Malformed),
        }
    }

    pub fn u16(&mut self) -> Result<u16, Reason> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, Reason> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, Reason> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A finite number. One that is not would spoil every sum that it enters.
    pub fn f32(&mut self) -> Result<f32, Reason> {
        let number = f32::from_le_bytes(self.array()?);
        if number.is_finite() { Ok(number) } else { Err(Reason::Malformed) }
    }

    pub fn f32s(&mut self, count: usize) -> Result<Vec<f32>, Reason> {
        if self.left.len() / 4 < count {
            return Err(Reason::Malformed);
        }
        (0..count).map(|_| self.f32()).collect()
    }

    pub fn end(&self) -> Result<(), Reason> {
        if self.left.is_empty() { Ok(()) } else { Err(Reason::Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            kind: MessageKind::Features,
            run: [7; 16],
            place: StepId { episode: 3, step: 9 },
            round: 1,
            sender: Member::agent(4),
            receiver: Member::agent(5),
        }
    }

    #[test]
    fn a_message_is_read_back_and_not_a_byte_more_or_less() {
        let bytes = header().message(&[1, 2, 3]);
        assert_eq!(bytes.len(), HEADER + 3);
        assert_eq!(Header::read(&bytes, 0), Ok((header(), &[1, 2, 3][..])));
        for length in 0..bytes.len() {
            assert_eq!(Header::read(&bytes[..length], 0), Err(Reason::Malformed));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(Header::read(&longer, 0), Err(Reason::Malformed));
    }

    #[test]
    fn other_versions_kinds_and_lengths_are_refused() {
        let good = header().message(&[]);
        let changed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        for (at, value) in [(0, b'e'), (3, 0), (3, 8), (38, 1), (40, 0xff)] {
            assert_eq!(Header::read(&changed(at, value), 0), Err(Reason::Malformed), "byte {at}");
        }
        for version in [0, 1, VERSION + 1, 255] {
            let other = changed(2, version);
            assert_eq!(Header::read(&other, 0), Err(Reason::OtherVersion));
            assert_eq!((Header::version(&other), Header::peek(&other)), (Some(version), None));
        }
        assert_eq!(
            (Header::version(&good), Header::version(b"EQ"), Header::version(b"eq1")),
            (Some(VERSION), None, None)
        );
    }

    #[test]
    fn the_next_step_may_be_the_next_episode() {
        let at = |episode, step| StepId { episode, step };
        assert!(at(1, 5).follows(at(1, 4)) && at(2, 0).follows(at(1, 4)));
        for wrong in [at(1, 4), at(1, 6), at(2, 1), at(3, 0), at(1, 3), at(0, 0)] {
            assert!(!wrong.follows(at(1, 4)), "{wrong:?}");
        }
        let last = at(u32::MAX, u32::MAX);
        assert!(!last.follows(last));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Header::read(&bytes, 64);
        }
    }
}
