//! Wind: what breaks the symmetry of the field by a known amount.
//!
//! ```text
//! P(the poacher moves by m) = (1 - w) / 5 + w [m is the wind's]
//! ```
//!
//! with w the strength. It blows from one side of the compass for good, or from a side that is drawn for every episode, all four
//! equally likely. Everybody knows where it comes from ([`crate::World::cause`]).

use super::board::{MOVES, STEPS};
use crate::error::{Error, Result};
use crate::stream::Stream;

/// Where wind can come from, and the move that it makes: from the north it blows down.
const COMPASS: [(&str, usize); 4] = [("north", 1), ("east", 4), ("south", 3), ("west", 2)];
/// The source of a wind that is drawn.
const ANY: &str = "any";

/// How strong the wind is, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wind {
    strength: f64,
    /// The move that it makes; `None` if that is drawn for every episode.
    fixed: Option<usize>,
}

impl Wind {
    /// No wind.
    pub const CALM: Wind = Wind { strength: 0.0, fixed: Some(2) };

    /// With probability `strength` the poacher drifts away from where the wind comes from: `north`, `east`, `south`, `west`, or
    /// `any`, drawn for every episode.
    ///
    /// # Errors
    /// If the strength is no probability, or the side is not on the compass.
    pub fn new(strength: f64, from: &str) -> Result<Wind> {
        if !(0.0..=1.0).contains(&strength) {
            return Err(Error::BadWorld(format!(
                "the wind's strength is a probability from 0 to 1; got {strength}"
            )));
        }
        let fixed = match COMPASS.iter().find(|(name, _)| *name == from) {
            Some((_, blows)) => Some(*blows),
            None if from == ANY => None,
            None => {
                return Err(Error::BadWorld(format!(
                    "the wind comes from north, east, south or west, or from {ANY} of them, drawn for every episode; got `{from}`"
                )));
            }
        };
        Ok(Wind { strength, fixed })
    }

    /// The probability that the wind moves the poacher.
    pub fn strength(&self) -> f64 {
        self.strength
    }

    /// Whether there is any.
    pub fn blows(&self) -> bool {
        self.strength > 0.0
    }

    /// Whether it is drawn for every episode.
    pub fn is_drawn(&self) -> bool {
        self.blows() && self.fixed.is_none()
    }

    /// The move of a wind before anybody drew one.
    pub(super) fn first(&self) -> usize {
        self.fixed.unwrap_or(Wind::CALM.fixed.unwrap_or_default())
    }

    /// The move of an episode's wind: one word, and only if it is drawn.
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        if self.is_drawn() { 1 + stream.below(MOVES as u32 - 1) as usize } else { self.first() }
    }

    /// The poacher's move in a wind that makes the move `now`: one word without wind, and two with it.
    #[inline]
    pub(super) fn drift(&self, now: usize, stream: &mut Stream) -> usize {
        let gust = self.blows() && stream.unit() < self.strength;
        let free = stream.below(MOVES as u32) as usize;
        if gust { now } else { free }
    }

    /// How likely the poacher's moves are.
    pub(super) fn law(&self, now: usize) -> [f64; MOVES] {
        let free = (1.0 - self.strength) / MOVES as f64;
        std::array::from_fn(|m| free + if m == now { self.strength } else { 0.0 })
    }

    /// The wind as a vector (down, right), as long as it is strong.
    pub(super) fn vector(&self, now: usize) -> [f32; 2] {
        STEPS[now].map(|v| v as f32 * self.strength as f32)
    }
}

/// The name of the side that a wind comes from which makes this move.
pub(super) fn source(now: usize) -> &'static str {
    COMPASS.iter().find(|(_, blows)| *blows == now).map_or("nowhere", |(name, _)| name)
}

/// The move that a wind from this side makes.
pub(super) fn blowing(from: &str) -> Option<usize> {
    COMPASS.iter().find(|(name, _)| *name == from).map(|(_, blows)| *blows)
}
