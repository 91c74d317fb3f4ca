//! What is counted: messages that were refused, messages that never came.

/// Why a message was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// It is no message: wrong length, wrong kind, or numbers that are not finite.
    Malformed,
    /// It belongs to another run.
    OtherRun,
    /// It is for somebody else.
    Misaddressed,
    /// Its sender is nobody we know, or not a neighbour now.
    Stranger,
    /// Its step or round is over.
    Late,
    /// Its step is more than one ahead.
    Early,
    /// There is one already.
    Duplicate,
    /// Its signature is not its sender's.
    Forged,
    /// Its sender had sent more than could be looked at.
    Flood,
    /// It is of another version of this format.
    OtherVersion,
    /// It said what no honest agent says, and was kept with its numbers cut to the ranges of the model.
    Clipped,
}

impl Reason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Reason; 11] = [
        Reason::Malformed,
        Reason::OtherRun,
        Reason::Misaddressed,
        Reason::Stranger,
        Reason::Late,
        Reason::Early,
        Reason::Duplicate,
        Reason::Forged,
        Reason::Flood,
        Reason::OtherVersion,
        Reason::Clipped,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Malformed => "malformed",
            Reason::OtherRun => "other run",
            Reason::Misaddressed => "misaddressed",
            Reason::Stranger => "stranger",
            Reason::Late => "late",
            Reason::Early => "early",
            Reason::Duplicate => "duplicate",
            Reason::Forged => "forged",
            Reason::Flood => "flood",
            Reason::OtherVersion => "other version",
            Reason::Clipped => "clipped",
        }
    }
}

/// How many messages were dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; Reason::ALL.len()]);

impl Drops {
    /// Counts one.
    pub fn count(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// Counts several.
    pub fn count_many(&mut self, reason: Reason, many: u64) {
        self.0[reason as usize] += many;
    }

    /// How many for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another count.
    pub fn add(&mut self, other: &Drops) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }

    /// What came on top of an earlier count. A member that started again counts from nothing.
    pub fn since(&self, earlier: &Drops) -> Drops {
        if self.0.iter().zip(earlier.0).any(|(now, then)| *now < then) {
            return *self;
        }
        Drops(std::array::from_fn(|i| self.0[i] - earlier.0[i]))
    }

    /// The counts as they go into a message.
    pub(crate) fn words(&self) -> [u32; Reason::ALL.len()] {
        self.0.map(|n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// The counts as they come out of a message.
    pub(crate) fn from_words(words: [u32; Reason::ALL.len()]) -> Drops {
        Drops(words.map(u64::from))
    }
}
