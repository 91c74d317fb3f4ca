//! A bad network on purpose: messages between agents are lost, late, or cut off.
//!
//! What happens to a message is a function of the seed and the message's header, so a study gives the same numbers however
//! threads and processes are scheduled. Sensors and actuators are an agent's own; nothing happens to those.

use crate::agent::Envelope;
use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::{Header, MessageKind};
use std::collections::BTreeMap;
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// The probability that a message is lost.
    pub drop: f64,
    /// How long every message takes on top.
    pub delay: Duration,
    /// Up to this much more, uniformly.
    pub jitter: Duration,
    /// Groups of agents that do not hear each other; agents in no group hear everybody.
    pub partition: Vec<Vec<usize>>,
    /// The seed of losses and jitter.
    pub seed: u64,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after this time.
    After(Duration),
    /// It is lost.
    Lost,
}

impl Faults {
    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// If the probability is none.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.drop) {
            return Err(Error::BadFleet(format!(
                "a share of lost messages is between 0 and 1, not {}",
                self.drop
            )));
        }
        Ok(())
    }

    /// Whether nothing goes wrong.
    pub fn none(&self) -> bool {
        self.drop == 0.0 && self.delay.is_zero() && self.jitter.is_zero() && self.partition.is_empty()
    }

    /// Reads groups of agents: `0,1|2,3`.
    ///
    /// # Errors
    /// If it is something else.
    pub fn parse_partition(text: &str) -> Result<Vec<Vec<usize>>> {
        let wrong = |why: &str| {
            Error::BadFleet(format!("cannot read the partition `{text}`: {why}; write for example 0,1|2,3"))
        };
        let mut seen = vec![];
        let mut groups = vec![];
        for part in text.split('|') {
            let group: std::result::Result<Vec<usize>, _> =
                part.split(',').map(|n| n.trim().parse()).collect();
            let group = group.map_err(|_| wrong("agents are numbers"))?;
            for &agent in &group {
                if seen.contains(&agent) {
                    return Err(wrong("an agent is in it twice"));
                }
                seen.push(agent);
            }
            groups.push(group);
        }
        if groups.len() < 2 {
            return Err(wrong("there must be two groups or more"));
        }
        Ok(groups)
    }

    /// What becomes of the message with this header.
    pub fn fate(&self, header: &Header) -> Fate {
        if header.kind != MessageKind::Features || self.none() {
            return Fate::After(Duration::ZERO);
        }
        let side = |member: Member| {
            member.index().and_then(|i| self.partition.iter().position(|group| group.contains(&i)))
        };
        if let (Some(a), Some(b)) = (side(header.sender), side(header.receiver))
            && a != b
        {
            return Fate::Lost;
        }
        let [lost, late] = self.chance(header);
        if lost < self.drop {
            return Fate::Lost;
        }
        Fate::After(self.delay.saturating_add(self.jitter.mul_f64(late)))
    }

    /// Two numbers in [0, 1) from the seed and the header: two rounds of splitmix64 over its fields.
    fn chance(&self, header: &Header) -> [f64; 2] {
        let fields = [
            u64::from(header.place.episode) << 32 | u64::from(header.place.step),
            u64::from(header.sender.code()) << 32 | u64::from(header.receiver.code()),
            u64::from(header.round),
        ];
        let seeded = mix(self.seed ^ 0x6661_756c_7473);
        let state = fields.into_iter().fold(seeded, |state, field| mix(state ^ mix(field)));
        let unit = |word: u64| (word >> 11) as f64 / (1u64 << 53) as f64;
        [unit(state), unit(mix(state))]
    }
}

fn mix(word: u64) -> u64 {
    let z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The messages that are on their way for longer than it takes to send them.
#[derive(Debug, Default)]
pub struct Delayed {
    waiting: BTreeMap<(Duration, u64), Envelope>,
    count: u64,
}

impl Delayed {
    /// Lets a fault happen to an envelope: gives it back if it goes out now.
    pub fn pass(&mut self, faults: &Faults, envelope: Envelope, now: Duration) -> Option<Envelope> {
        let fate = Header::peek(&envelope.bytes).map_or(Fate::After(Duration::ZERO), |h| faults.fate(&h));
        match fate {
            Fate::Lost => None,
            Fate::After(time) if time.is_zero() => Some(envelope),
            Fate::After(time) => {
                self.count += 1;
                self.waiting.insert((now.saturating_add(time), self.count), envelope);
                None
            }
        }
    }

    /// The next envelope whose time has come.
    pub fn due(&mut self, now: Duration) -> Option<Envelope> {
        let entry = self.waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Duration> {
        self.waiting.first_key_value().map(|((time, _), _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::StepId;

    fn header(step: u32, sender: usize, receiver: usize) -> Header {
        Header {
            kind: MessageKind::Features,
            run: [0; 16],
            place: StepId { episode: 0, step },
            round: 0,
            sender: Member::agent(sender),
            receiver: Member::agent(receiver),
        }
    }

    #[test]
    fn the_share_of_losses_is_what_was_asked_for() {
        let faults = Faults { drop: 0.2, ..Faults::default() };
        let lost = (0..20_000).filter(|&i| faults.fate(&header(i, i as usize % 7, 9)) == Fate::Lost).count();
        // Five standard deviations of a binomial.
        assert!(lost.abs_diff(4000) < 283, "{lost}");
        let other = Faults { seed: 1, ..faults.clone() };
        assert!((0..100).any(|i| faults.fate(&header(i, 0, 1)) != other.fate(&header(i, 0, 1))));
        assert_eq!(faults.fate(&header(3, 0, 1)), faults.fate(&header(3, 0, 1)));
    }

    #[test]
    fn delays_lie_between_delay_and_delay_plus_jitter() {
        let ms = Duration::from_millis;
        let faults = Faults { delay: ms(10), jitter: ms(4), ..Faults::default() };
        let times: Vec<Duration> = (0..1000)
            .map(|i| match faults.fate(&header(i, 0, 1)) {
                Fate::After(time) => time,
                Fate::Lost => panic!("nothing is lost"),
            })
            .collect();
        assert!(times.iter().all(|t| (ms(10)..ms(14)).contains(t)));
        let mean = times.iter().sum::<Duration>() / 1000;
        assert!(mean.abs_diff(ms(12)) < Duration::from_micros(250), "{mean:?}");
    }

    #[test]
    fn partitions_cut_between_groups_only_and_sensors_never() {
        let partition = Faults::parse_partition("0,1|2").unwrap();
        let faults = Faults { partition, drop: 0.0, ..Faults::default() };
        let arrives = |a, b| faults.fate(&header(0, a, b)) != Fate::Lost;
        assert!(arrives(0, 1) && arrives(1, 3) && arrives(3, 2));
        assert!(!arrives(0, 2) && !arrives(2, 1));
        let all = Faults { drop: 1.0, ..Faults::default() };
        assert_eq!(all.fate(&header(0, 0, 1)), Fate::Lost);
        let sensor = Header { kind: MessageKind::Observation, ..header(0, 0, 1) };
        assert_eq!(all.fate(&sensor), Fate::After(Duration::ZERO));
        for wrong in ["", "0,1", "0|0", "a|b", "0||1"] {
            assert!(Faults::parse_partition(wrong).is_err(), "{wrong}");
        }
        assert!(Faults { drop: 1.5, ..Faults::default() }.check().is_err());
        assert!(Faults { drop: f64::NAN, ..Faults::default() }.check().is_err());
    }

    #[test]
    fn delayed_letters_come_out_in_order_of_their_time() {
        let mut delayed = Delayed::default();
        let ms = Duration::from_millis;
        let faults = Faults { delay: ms(5), ..Faults::default() };
        let envelope = |step| Envelope { to: Member::agent(1), bytes: header(step, 0, 1).message(&[]) };
        assert_eq!(delayed.pass(&Faults::default(), envelope(0), ms(0)), Some(envelope(0)));
        assert_eq!(delayed.pass(&faults, envelope(2), ms(2)), None);
        assert_eq!(delayed.pass(&faults, envelope(1), ms(1)), None);
        assert_eq!((delayed.next(), delayed.due(ms(5))), (Some(ms(6)), None));
        assert_eq!(delayed.due(ms(9)), Some(envelope(1)));
        assert_eq!(delayed.due(ms(9)), Some(envelope(2)));
        assert_eq!(delayed.next(), None);
    }
}
