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
    /// Spells in which a link loses everything, both ways, besides.
    pub bursts: Option<Bursts>,
    /// How long every message takes on top.
    pub delay: Duration,
    /// Up to this much more, uniformly.
    pub jitter: Duration,
    /// Groups of agents that do not hear each other; agents in no group hear everybody.
    pub partition: Vec<Vec<usize>>,
    /// The seed of losses and jitter.
    pub seed: u64,
}

/// Good and bad spells of a link: a chain of two states per pair of agents that goes on with every step,
///
/// good -> bad with probability 1 / good, bad -> good with probability 1 / bad,
///
/// so that spells last so many steps on average, and the share bad / (good + bad) of all messages is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Steps that a good spell lasts on average.
    pub good: f64,
    /// Steps that a bad spell lasts on average.
    pub bad: f64,
}

impl Bursts {
    /// Bad spells of this length that lose this share of all messages.
    pub fn losing(share: f64, bad: f64) -> Bursts {
        Bursts { good: bad * (1.0 - share) / share, bad }
    }

    /// Reads `45,5`: the steps of good and of bad spells.
    ///
    /// # Errors
    /// If it is something else.
    pub fn parse(text: &str) -> std::result::Result<Bursts, String> {
        let parsed = text.split_once(',').and_then(|(good, bad)| {
            Some(Bursts { good: good.trim().parse().ok()?, bad: bad.trim().parse().ok()? })
        });
        let bursts = parsed.ok_or("write the steps of good and of bad spells, for example 45,5")?;
        bursts.check()?;
        Ok(bursts)
    }

    /// The share of messages that is lost.
    pub fn share(&self) -> f64 {
        self.bad / (self.good + self.bad)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let long = |length: f64| length.is_finite() && length >= 1.0;
        if long(self.good) && long(self.bad) && 1.0 / self.good + 1.0 / self.bad <= 1.0 {
            return Ok(());
        }
        Err("spells last 1 step or more, and 1 / good + 1 / bad is at most 1: shorter ones are no bursts"
            .into())
    }
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
        self.bursts.map_or(Ok(()), |bursts| bursts.check().map_err(Error::BadFleet))
    }

    /// Whether nothing goes wrong.
    pub fn none(&self) -> bool {
        self.drop == 0.0
            && self.bursts.is_none()
            && self.delay.is_zero()
            && self.jitter.is_zero()
            && self.partition.is_empty()
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
        if lost < self.drop || self.bursts.is_some_and(|bursts| self.is_bad(bursts, header)) {
            return Fate::Lost;
        }
        Fate::After(self.delay.saturating_add(self.jitter.mul_f64(late)))
    }

    /// Whether the link of a message is in a bad spell. A chain of two states keeps its state with probability 1 - p - q and
    /// otherwise draws it anew from its long-run shares; so the state now is what was drawn the last time, and nobody needs to
    /// remember it: p = 1 / good, q = 1 / bad.
    fn is_bad(&self, bursts: Bursts, header: &Header) -> bool {
        let anew = 1.0 / bursts.good + 1.0 / bursts.bad;
        let ends = [header.sender, header.receiver];
        // A link is bad both ways, and in all rounds of a step.
        let (a, b) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let mut at = Header { sender: a, receiver: b, round: 0, ..*header };
        loop {
            let [drawn, bad] = self.draws(&at, 0x6275_7273_7473);
            if drawn < anew || at.place.step == 0 {
                return bad < bursts.share();
            }
            at.place.step -= 1;
        }
    }

    /// Two numbers in [0, 1) for a message.
    fn chance(&self, header: &Header) -> [f64; 2] {
        self.draws(header, 0x6661_756c_7473)
    }

    /// Two numbers in [0, 1) from the seed and the header: two rounds of splitmix64 over its fields.
    fn draws(&self, header: &Header, purpose: u64) -> [f64; 2] {
        let fields = [
            u64::from(header.place.episode) << 32 | u64::from(header.place.step),
            u64::from(header.sender.code()) << 32 | u64::from(header.receiver.code()),
            u64::from(header.round),
        ];
        let seeded = mix(self.seed ^ purpose);
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
    fn spells_have_the_lengths_and_the_share_that_were_asked_for() {
        let bursts = Bursts { good: 36.0, bad: 4.0 };
        let faults = Faults { bursts: Some(bursts), ..Faults::default() };
        let (mut lost, mut spells, mut before, steps) = (0u32, 0u32, false, 200_000);
        for step in 0..steps {
            let bad = faults.fate(&header(step, 0, 1)) == Fate::Lost;
            assert_eq!(
                bad,
                faults.fate(&Header { round: 1, ..header(step, 1, 0) }) == Fate::Lost,
                "both ways"
            );
            lost += u32::from(bad);
            spells += u32::from(bad && !before);
            before = bad;
        }
        let (share, length) = (f64::from(lost) / f64::from(steps), f64::from(lost) / f64::from(spells));
        // Some 5,000 spells: both within five standard errors.
        assert!((share - bursts.share()).abs() < 0.01 && (length - 4.0).abs() < 0.3, "{share} {length}");
        assert!((0..500).any(|t| faults.fate(&header(t, 0, 1)) != faults.fate(&header(t, 0, 2))));
        assert!((Bursts::losing(0.1, 4.0).share() - 0.1).abs() < 1e-12);
        assert_eq!(Bursts::parse("36, 4"), Ok(bursts));
        for wrong in ["", "4", "a,b", "0,4", "1,1", "inf,4", "-3,4"] {
            assert!(Bursts::parse(wrong).is_err(), "{wrong}");
        }
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
