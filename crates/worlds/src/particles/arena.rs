//! Where episodes start, and what counts as outside.

use super::Vector;
use super::bodies::length;
use crate::stream::Stream;

/// The shape of an arena. It has no walls: it says where bodies start, and beyond what prey is held to be away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As in mpe2. Quarter turns and mirrors map it to itself, and nothing else.
    Square,
    /// All turns and mirrors map it to itself.
    Disc,
}

/// The part of an arena in which episodes start: a team that learned in one can be tried in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Everywhere,
    /// Where x is negative.
    Left,
    /// Where x is positive: the same episodes as on the left, mirrored.
    Right,
    /// Within half of the side or of the radius.
    Inner,
    /// Outside of that.
    Outer,
}

/// A square or a disc around the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arena {
    /// Its shape.
    pub shape: Shape,
    /// Half its side, or its radius.
    pub half: f64,
    /// Where episodes start.
    pub part: Part,
}

impl Arena {
    /// A point of this arena, shrunk by `scale`, all equally likely. Numbers are odd multiples of 2^-24, so that no symmetry of
    /// a square changes the law.
    pub(super) fn place(self, scale: f64, stream: &mut Stream) -> Vector {
        const ODD: f64 = 1.0 / (1u32 << 24) as f64;
        loop {
            let at = [0; 2].map(|_| 2.0 * stream.unit() - 1.0 + ODD);
            let inside = self.shape == Shape::Square || at[0] * at[0] + at[1] * at[1] <= 1.0;
            let at = at.map(|x| x * scale * self.half);
            // The right is the left, mirrored.
            let left = Arena { part: Part::Left, ..self };
            match self.part {
                Part::Right if inside && left.starts(scale, at) => return [-at[0], at[1]],
                Part::Right => {}
                _ if inside && self.starts(scale, at) => return at,
                _ => {}
            }
        }
    }

    /// Whether a point of this arena, shrunk by `scale`, is in the part where episodes start.
    fn starts(self, scale: f64, at: Vector) -> bool {
        let inner = || self.outness(at) <= 0.5 * scale * self.half;
        match self.part {
            Part::Everywhere => true,
            Part::Left => at[0] < 0.0,
            Part::Right => at[0] > 0.0,
            Part::Inner => inner(),
            Part::Outer => !inner(),
        }
    }

    /// Whether an episode may start at a point, in this arena shrunk by `scale`. Points at the rim may be rounded out of it by a turn.
    pub(super) fn holds(self, scale: f64, at: Vector) -> bool {
        self.outness(at) <= scale * self.half * (1.0 + 1e-12) && self.starts(scale, at)
    }

    /// How far out a point is: half the side, or the radius, of the arena at whose rim it lies.
    pub(crate) fn outness(self, at: Vector) -> f64 {
        match self.shape {
            Shape::Square => at[0].abs().max(at[1].abs()),
            Shape::Disc => length(at),
        }
    }
}
