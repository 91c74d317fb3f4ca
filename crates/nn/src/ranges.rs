//! What agents tell each other under final weights: a range per round and group channel.
//!
//! ```text
//! channel        the coordinates that the group mixes among themselves: one range for all of them, and for all agents
//! permuted       lo <= x <= hi for every coordinate
//! signed         |x| <= m for every coordinate
//! others         the norm of all coordinates <= m
//! ```
//!
//! A range per coordinate would be another one after a turn. These are not, so clipping to them commutes with the group.

use crate::error::{Error, Result};
use crate::policy::{Features, Policy};
use equimarl_group::{Atom, Group, Rep};
use serde::{Deserialize, Serialize};

/// Ranges are wider than what was seen by this share of their width, because not everything was seen.
const MARGIN: f32 = 0.25;

/// The ranges of messages, as a model file carries them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageRanges {
    /// How many messages were looked at.
    pub seen: u64,
    /// Per round and channel: the least and the largest number; of a vector, 0 and its largest norm.
    pub rounds: Vec<Vec<[f32; 2]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Permuted,
    Signed,
    Vector,
}

/// Coordinates that the group mixes among themselves.
#[derive(Clone, Debug)]
struct Channel {
    kind: Kind,
    coordinates: Vec<usize>,
}

impl Channel {
    /// The least and the largest that a message says in this channel.
    fn measure(&self, row: &[f32]) -> [f32; 2] {
        let values = self.coordinates.iter().map(|&k| row[k]);
        match self.kind {
            Kind::Permuted => {
                values.fold([f32::INFINITY, f32::NEG_INFINITY], |[a, b], x| [a.min(x), b.max(x)])
            }
            Kind::Signed => {
                let most = values.fold(0.0f32, |m, x| m.max(x.abs()));
                [-most, most]
            }
            Kind::Vector => [0.0, values.map(|x| x * x).sum::<f32>().sqrt()],
        }
    }

    /// Brings a message into a range; whether it was outside.
    fn clip(&self, [lo, hi]: [f32; 2], row: &mut [f32]) -> bool {
        let mut outside = false;
        if self.kind == Kind::Vector {
            let norm = self.measure(row)[1];
            if norm > hi {
                // One that is too long for its square to be a number is worth nothing.
                let scale = if norm.is_finite() { hi / norm } else { 0.0 };
                self.coordinates.iter().for_each(|&k| row[k] *= scale);
                outside = true;
            }
            return outside;
        }
        for &k in &self.coordinates {
            let inside = row[k].clamp(lo, hi);
            outside |= inside != row[k];
            row[k] = inside;
        }
        outside
    }
}

/// The channels of what agents say in each round.
fn channels_of(policy: &Policy) -> Vec<Vec<Channel>> {
    policy.message_reps().iter().map(|rep| channels(rep, policy.turns_by_every_angle())).collect()
}

/// The channels of a representation, in the order of their first coordinates.
fn channels(rep: &Rep, every_angle: bool) -> Vec<Channel> {
    let (mut found, mut at) = (vec![], 0);
    for term in rep.terms() {
        let (group, atom) = (rep.group(), &*term.atom);
        let kind = match (atom.is_permutation(), atom.is_signed_permutation()) {
            // Under SO2 and O2 the group of a representation is a finite part of it, whose turns may permute the axes of a plane;
            // others do not.
            _ if every_angle && atom.dim() > 1 => Kind::Vector,
            (true, _) => Kind::Permuted,
            (_, true) => Kind::Signed,
            _ => Kind::Vector,
        };
        let parts = parts(group, atom);
        for _ in 0..term.count {
            for part in &parts {
                found.push(Channel { kind, coordinates: part.iter().map(|k| at + k).collect() });
            }
            at += atom.dim();
        }
    }
    found
}

/// The coordinates of a summand that its elements mix, in sets.
fn parts(group: &Group, atom: &Atom) -> Vec<Vec<usize>> {
    let dim = atom.dim();
    let mut part: Vec<usize> = (0..dim).collect();
    for &g in group.generators() {
        let matrix = atom.matrix(g);
        for row in 0..dim {
            for column in 0..dim {
                if matrix[(row, column)].abs() > 1e-9 && part[row] != part[column] {
                    let (keep, gone) = (part[row].min(part[column]), part[row].max(part[column]));
                    part.iter_mut().filter(|p| **p == gone).for_each(|p| *p = keep);
                }
            }
        }
    }
    let mut sets: Vec<Vec<usize>> = vec![];
    for first in 0..dim {
        let set: Vec<usize> = (0..dim).filter(|&k| part[k] == first).collect();
        if !set.is_empty() {
            sets.push(set);
        }
    }
    sets
}

/// Measures ranges while a team plays.
#[derive(Clone, Debug)]
pub struct RangeMeter {
    channels: Vec<Vec<Channel>>,
    ranges: Vec<Vec<[f32; 2]>>,
    seen: u64,
}

impl RangeMeter {
    /// For messages of this policy, of which nothing was seen yet. A network that decides for the whole team has none.
    pub fn new(policy: &Policy) -> RangeMeter {
        let channels: Vec<Vec<Channel>> = channels_of(policy);
        let ranges = channels.iter().map(|of| vec![[f32::INFINITY, f32::NEG_INFINITY]; of.len()]).collect();
        RangeMeter { channels, ranges, seen: 0 }
    }

    /// Looks at what agents said in a batch, as [`Policy::explain`] tells it.
    pub fn look(&mut self, layers: &[Features]) {
        for ((channels, ranges), layer) in self.channels.iter().zip(&mut self.ranges).zip(layers) {
            for row in layer.rows.chunks_exact(layer.width.max(1)) {
                self.seen += 1;
                for (channel, range) in channels.iter().zip(&mut *ranges) {
                    let [lo, hi] = channel.measure(row);
                    *range = [range[0].min(lo), range[1].max(hi)];
                }
            }
        }
    }

    /// What was seen and a little more; nothing if nothing was.
    pub fn finish(self) -> Option<MessageRanges> {
        if self.seen == 0 {
            return None;
        }
        let wider = |[lo, hi]: [f32; 2]| {
            let more = MARGIN * (hi - lo);
            // What comes out of a ReLU is never negative.
            [if lo >= 0.0 { (lo - more).max(0.0) } else { lo - more }, hi + more]
        };
        let rounds = self.ranges.into_iter().map(|of| of.into_iter().map(wider).collect()).collect();
        Some(MessageRanges { seen: self.seen, rounds })
    }
}

/// What agents are told is within this: winds, tilts, tokens.
const TOLD: f32 = 1.0;

/// Ranges ready for use.
#[derive(Clone, Debug)]
pub struct Clip {
    rounds: Vec<Vec<(Channel, [f32; 2])>>,
    /// Where that begins in the messages of each round which agents are told.
    told: Vec<usize>,
}

impl Clip {
    /// The ranges of a model file for its own policy.
    ///
    /// # Errors
    /// If they are another network's, or no ranges.
    pub fn new(policy: &Policy, ranges: &MessageRanges) -> Result<Clip> {
        let bad = |why: &str| Error::BadModel(format!("its message ranges cannot be used: {why}"));
        let channels: Vec<Vec<Channel>> = channels_of(policy);
        let fits = |(channels, ranges): (&Vec<Channel>, &Vec<[f32; 2]>)| channels.len() == ranges.len();
        if channels.len() != ranges.rounds.len() || !channels.iter().zip(&ranges.rounds).all(fits) {
            return Err(bad("they have other rounds or channels than its network"));
        }
        if ranges.rounds.iter().flatten().any(|[lo, hi]| !lo.is_finite() || !hi.is_finite() || lo > hi) {
            return Err(bad("a range ends before it begins"));
        }
        let told = policy.message_reps().iter().map(Rep::dim).collect();
        let both = channels.into_iter().zip(&ranges.rounds);
        Ok(Clip { told, rounds: both.map(|(c, r)| c.into_iter().zip(r.iter().copied()).collect()).collect() })
    }

    /// Brings a message of round `l` into its ranges; whether it was outside. One that is inside keeps every bit.
    pub fn clip(&self, l: usize, message: &mut [f32]) -> bool {
        let channels = self.rounds.get(l).map_or(&[][..], Vec::as_slice);
        let mut outside = false;
        let told = self.told.get(l).and_then(|&at| message.get_mut(at..));
        for x in told.into_iter().flatten() {
            let inside = x.clamp(-TOLD, TOLD);
            outside |= inside != *x;
            *x = inside;
        }
        channels.iter().fold(outside, |outside, (channel, range)| channel.clip(*range, message) | outside)
    }

    /// The least and the largest that each number of a message of round `l` can be after [`Clip::clip`].
    pub fn bounds(&self, l: usize, width: usize) -> Vec<[f32; 2]> {
        let mut bounds = vec![[-TOLD, TOLD]; width];
        for (channel, [lo, hi]) in self.rounds.get(l).map_or(&[][..], Vec::as_slice) {
            let lo = if channel.kind == Kind::Vector { -hi } else { *lo };
            channel.coordinates.iter().for_each(|&k| bounds[k] = [lo, *hi]);
        }
        bounds
    }
}

/// The mean of rows of `width` numbers without the least and the largest of each column; there must be three rows or more.
pub fn trimmed_mean(rows: &[f32], width: usize, mean: &mut [f32]) {
    let count = rows.len() / width.max(1);
    let mut column = vec![0.0; count];
    for (k, mean) in mean.iter_mut().enumerate() {
        column.iter_mut().zip(rows.chunks_exact(width)).for_each(|(x, row)| *x = row[k]);
        column.sort_unstable_by(f32::total_cmp);
        let middle = &column[1..count - 1];
        *mean = middle.iter().sum::<f32>() / middle.len() as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Interface, NetworkConfig, NetworkKind};
    use crate::layers::Sent;
    use crate::network::Network;
    use crate::policy::Scratch;
    use crate::testing::Noise;

    fn policy(group: &str, features: &str) -> Policy {
        let interface = Interface {
            world: "pond".into(),
            agents: 3,
            image: if features.is_empty() { [1, 21, 21] } else { [0, 0, 0] },
            actions: "perm[0 4 1 2 3]".into(),
            features: features.into(),
            ..Interface::default()
        };
        let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group.parse().unwrap());
        let mut noise = Noise::new(5);
        Network::init(&config, &mut || noise.normal()).unwrap().policy().unwrap()
    }

    fn turned(rep: &Rep, g: equimarl_group::Element, x: &[f32]) -> Vec<f32> {
        let wide: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        rep.apply(g, &wide).into_iter().map(|x| x as f32).collect()
    }

    #[test]
    fn channels_are_what_the_group_mixes() {
        let group: Group = "C4".parse().unwrap();
        let of = |text: &str| {
            let found = channels(&Rep::parse(&group, text).unwrap(), false);
            found.into_iter().map(|c| (c.kind, c.coordinates)).collect::<Vec<_>>()
        };
        let expected = vec![
            (Kind::Permuted, vec![0, 1, 2, 3]),
            (Kind::Permuted, vec![4, 5, 6, 7]),
            (Kind::Permuted, vec![8]),
        ];
        assert_eq!(of("2*regular + trivial"), expected);
        assert_eq!(of("perm[0 4 1 2 3]")[0], (Kind::Permuted, vec![0]));
        // A quarter turn of the plane permutes its axes up to signs; an eighth turn does not.
        assert_eq!(of("rotation"), [(Kind::Signed, vec![0, 1])]);
        let eighth = Rep::parse(&"C8".parse().unwrap(), "rotation").unwrap();
        assert_eq!(channels(&eighth, false)[0].kind, Kind::Vector);
        // Vectors of frequency 2 turn by quarters under C8, and by every angle under SO2.
        let double = Rep::parse(&"C8".parse().unwrap(), "trivial + freq2").unwrap();
        let kinds = |every_angle| channels(&double, every_angle).iter().map(|c| c.kind).collect::<Vec<_>>();
        assert_eq!(kinds(false), [Kind::Permuted, Kind::Signed]);
        assert_eq!(kinds(true), [Kind::Permuted, Kind::Vector]);
    }

    #[test]
    fn clipping_commutes_with_the_group_while_it_bites_and_changes_no_bit_while_it_does_not() {
        for (group, text) in
            [("C4", "2*regular + rotation"), ("D4", "3*regular"), ("C8", "rotation + regular")]
        {
            let group: Group = group.parse().unwrap();
            let rep = Rep::parse(&group, text).unwrap();
            let found = channels(&rep, false);
            let range = |c: &Channel| if c.kind == Kind::Permuted { [-0.3, 0.7] } else { [-0.6, 0.6] };
            let mut noise = Noise::new(3);
            let clip = |x: &mut [f32]| found.iter().fold(false, |out, c| c.clip(range(c), x) | out);
            for _ in 0..20 {
                let x = noise.normals(rep.dim());
                let mut clipped = x.clone();
                assert!(clip(&mut clipped), "it bites");
                let mut again = clipped.clone();
                clip(&mut again);
                for (a, b) in again.iter().zip(&clipped) {
                    assert!((a - b).abs() < 1e-6);
                }
                for g in group.elements() {
                    let mut image = turned(&rep, g, &x);
                    clip(&mut image);
                    for (a, b) in image.iter().zip(turned(&rep, g, &clipped)) {
                        assert!((a - b).abs() < 1e-5, "{a} {b}");
                    }
                }
                let mut small: Vec<f32> = x.iter().map(|x| (x * 0.05).abs()).collect();
                let before = small.clone();
                assert!(!clip(&mut small));
                assert_eq!(small, before);
            }
        }
    }

    #[test]
    fn trimmed_rounds_turn_with_what_goes_in() {
        for features in ["", "rotation"] {
            let policy = policy("C4", features);
            let group: Group = "C4".parse().unwrap();
            let edge = Rep::rotation(&group, 1).unwrap();
            let rep = &policy.message_reps()[0];
            let mut noise = Noise::new(8);
            let (own, received) = (noise.normals(rep.dim()), noise.normals(4 * rep.dim()));
            let edges = noise.normals(8);
            let round = |g| {
                let turn = |rep: &Rep, rows: &[f32]| -> Vec<f32> {
                    rows.chunks(rep.dim()).flat_map(|row| turned(rep, g, row)).collect()
                };
                let (own, received, edges) = (turn(rep, &own), turn(rep, &received), turn(&edge, &edges));
                let (mut scratch, mut out) = (Scratch::default(), vec![]);
                let sent = Sent { edges: &edges, features: &received };
                policy.round_trimmed(0, &own, sent, &[], &mut scratch, &mut out).unwrap();
                out
            };
            let here = round(group.identity());
            let next = &policy.message_reps()[1];
            for g in group.elements() {
                for (a, b) in round(g).iter().zip(turned(next, g, &here)) {
                    assert!((a - b).abs() < 1e-4, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn one_liar_among_three_does_not_move_a_trimmed_mean_out_of_what_others_say() {
        let mut noise = Noise::new(9);
        for _ in 0..200 {
            let honest = noise.normals(2);
            let lie = 1e6 * noise.normal() as f32;
            let mut mean = [0.0];
            trimmed_mean(&[honest[0], lie, honest[1]], 1, &mut mean);
            assert!(mean[0] >= honest[0].min(honest[1]) && mean[0] <= honest[0].max(honest[1]));
        }
    }

    #[test]
    fn ranges_of_another_network_are_refused() {
        let policy = policy("C4", "");
        let meter = RangeMeter::new(&policy);
        assert_eq!(meter.clone().finish(), None);
        let rounds = meter.ranges.iter().map(|of| vec![[0.0, 1.0]; of.len()]).collect();
        let ranges = MessageRanges { seen: 1, rounds };
        Clip::new(&policy, &ranges).unwrap();
        let mut fewer = ranges.clone();
        fewer.rounds[0].pop();
        assert!(Clip::new(&policy, &fewer).unwrap_err().to_string().contains("other rounds or channels"));
        let mut empty = ranges;
        empty.rounds[1][0] = [1.0, 0.0];
        assert!(Clip::new(&policy, &empty).unwrap_err().to_string().contains("ends before it begins"));
    }
}
