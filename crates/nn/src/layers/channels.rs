//! Numbers of channels of SO(2) or O(2) in a row of features, in this order: frequency 0, signs, frequency 1, frequency 2.

use crate::error::{Error, Result};
use equimarl_group::{Rep, Symmetry, Type, Types};

/// How many channels of each type a row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// Numbers that nothing changes.
    pub zero: usize,
    /// Numbers that mirrors negate; none under SO(2).
    pub sign: usize,
    /// Pairs that turn as the plane does.
    pub one: usize,
    /// Pairs that turn twice as fast.
    pub two: usize,
}

impl Channels {
    /// Those of a representation, whatever its order.
    pub fn of(types: &Types) -> Channels {
        let count = |of| types.count(of);
        let [one, two] = [1, 2].map(|k| count(Type::Frequency(k)));
        Channels { zero: count(Type::Trivial), sign: count(Type::Sign), one, two }
    }

    /// What `width` plain channels become: half of them are numbers, a quarter and an eighth are pairs.
    pub fn for_width(width: usize) -> Channels {
        Channels { zero: width / 2, sign: 0, one: (width / 4).max(1), two: (width / 8).max(1) }
    }

    /// Numbers of a row.
    pub fn dim(&self) -> usize {
        self.zero + self.sign + 2 * (self.one + self.two)
    }

    /// Added up.
    pub fn plus(self, other: Channels) -> Channels {
        Channels {
            zero: self.zero + other.zero,
            sign: self.sign + other.sign,
            one: self.one + other.one,
            two: self.two + other.two,
        }
    }

    /// The channels in the order of a row, as a representation of the group that carries a symmetry.
    ///
    /// # Errors
    /// If there is none, or the symmetry is finite.
    pub fn rep(&self, symmetry: &Symmetry) -> Result<Rep> {
        let all = [(self.zero, "freq0"), (self.sign, "sign"), (self.one, "freq1"), (self.two, "freq2")];
        let text: Vec<String> =
            all.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n}*{name}")).collect();
        if text.is_empty() {
            return Err(Error::BadNetwork("a layer has at least one channel".into()));
        }
        Ok(Types::parse(symmetry, &text.join(" + "))?.rep(&symmetry.carrier()?)?)
    }
}
