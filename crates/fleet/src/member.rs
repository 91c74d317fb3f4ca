//! Who is who: the world host and the agents.

use std::fmt;
use std::str::FromStr;

/// A member of a fleet: an agent by its index, or the world host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(u32);

impl Member {
    /// The world host: everybody's sensors and actuators.
    pub const WORLD: Member = Member(u32::MAX);

    /// Who may watch, and nothing else.
    pub const OBSERVER: Member = Member(u32::MAX - 1);

    /// An agent. The two largest numbers are the world's and the observer's.
    pub fn agent(index: usize) -> Member {
        Member(u32::try_from(index).unwrap_or(u32::MAX - 2).min(u32::MAX - 2))
    }

    /// The index of an agent; others have none.
    pub fn index(self) -> Option<usize> {
        (self < Member::OBSERVER).then_some(self.0 as usize)
    }

    /// The number in messages.
    pub fn code(self) -> u32 {
        self.0
    }

    /// The member with this number in messages.
    pub fn from_code(code: u32) -> Member {
        Member(code)
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index() {
            Some(index) => write!(f, "agent-{index}"),
            None if *self == Member::OBSERVER => write!(f, "observer"),
            None => write!(f, "world"),
        }
    }
}

impl FromStr for Member {
    type Err = String;

    fn from_str(text: &str) -> Result<Member, String> {
        if text == "world" {
            return Ok(Member::WORLD);
        }
        if text == "observer" {
            return Ok(Member::OBSERVER);
        }
        let index = text.strip_prefix("agent-").and_then(|digits| digits.parse::<u32>().ok());
        match index.filter(|&i| i < u32::MAX - 1 && Member(i).to_string() == text) {
            Some(index) => Ok(Member(index)),
            None => {
                Err(format!("`{text}` is no member of a fleet; members are world, agent-0, agent-1, ..."))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways_and_have_one_spelling() {
        for member in [Member::WORLD, Member::OBSERVER, Member::agent(0), Member::agent(17)] {
            assert_eq!(member.to_string().parse(), Ok(member));
        }
        for wrong in ["", "agent-", "agent-01", "agent-+1", "agent-4294967295", "World", "1"] {
            assert!(wrong.parse::<Member>().is_err(), "{wrong}");
        }
    }
}
