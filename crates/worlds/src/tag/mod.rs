//! Chasers catch faster prey among obstacles: `simple_tag` of MPE, as mpe2 1.1.1 has it.
//!
//! The team are the chasers; all of them get 10 for every touch of a chaser and prey. Prey is no learner here: it moves at
//! random, or flees. An episode has 25 steps.
//!
//! A fleeing prey at p pushes itself along
//!
//! ```text
//! w = a/|a| + pull,  a = sum over chasers c of (p - c)/|p - c|^2
//! ```
//!
//! cut to length 1. The pull leads back in once it is beyond 0.9 of the arena: 20 times the way beyond, per axis in a square and
//! along the radius in a disc. The rule turns along with the world.

mod definition;
#[cfg(test)]
mod tests;

pub use definition::Definition;

use crate::particles::{
    Arena, Bodies, CHOICES, Common, Kind, Particles, Parts, Rules, Shape, Vector, length, minus,
};
use crate::spec::{Better, Measure, Over};
use crate::stream::Stream;

/// Chasers, prey and obstacles.
pub type Tag = Particles<TagRules>;

const CHASER: Kind = Kind { radius: 0.075, accel: 3.0, max_speed: 1.0 };
const PREY: Kind = Kind { radius: 0.05, accel: 4.0, max_speed: 1.3 };
const OBSTACLE: f64 = 0.2;
const TOUCH: f64 = 10.0;
/// Beyond this part of the arena prey pays, and turns back.
const EDGE: f64 = 0.9;
const PULL: f64 = 20.0;

/// How prey moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prey {
    /// One of the five choices in every step, or one of the vectors that agents may do, all equally likely.
    Random,
    /// Away from chasers.
    Flees,
}

/// Who is rewarded for what, and what prey does.
#[derive(Clone, Debug)]
pub struct TagRules {
    parts: Parts,
    prey: Prey,
    arena: Arena,
    /// Whether prey that moves at random acts by vectors.
    continuous: bool,
}

impl TagRules {
    fn new([chasers, prey, obstacles]: [usize; 3], rule: Prey, common: &Common) -> TagRules {
        let parts = Parts {
            world: "tag",
            team: ("chaser", "chasers", chasers, CHASER),
            others: Some(("prey", "prey", prey, PREY)),
            fixed: ("obstacle", "obstacles", obstacles, OBSTACLE),
            solid: true,
            fixed_within: 0.9,
        };
        TagRules { parts, prey: rule, arena: common.arena, continuous: common.continuous }
    }

    fn chasers(&self) -> usize {
        self.parts.team.2
    }

    /// What prey at random does: always the same number of words.
    fn any(&self, stream: &mut Stream) -> Vector {
        match (self.continuous, self.arena.shape) {
            (false, _) => CHOICES[stream.below(CHOICES.len() as u32) as usize],
            (true, Shape::Square) => [0; 2].map(|_| 2.0 * stream.unit() - 1.0),
            (true, Shape::Disc) => {
                let (far, way) = (stream.unit().sqrt(), std::f64::consts::TAU * stream.unit());
                [far * way.cos(), far * way.sin()]
            }
        }
    }

    /// Touches of a chaser and prey.
    fn touches(&self, bodies: &Bodies) -> usize {
        (self.chasers()..bodies.places().len()).map(|prey| bodies.touches(prey, 0..self.chasers())).sum()
    }

    /// Where prey at a point pushes itself.
    fn flight(&self, bodies: &Bodies, at: Vector) -> Vector {
        let mut away = [0.0; 2];
        for &chaser in &bodies.places()[..self.chasers()] {
            let d = minus(at, chaser);
            let squared = d[0] * d[0] + d[1] * d[1];
            // A chaser on the very same point is nowhere to flee from.
            if squared > 0.0 {
                (0..2).for_each(|k| away[k] += d[k] / squared);
            }
        }
        let unit = |v: Vector| match length(v) {
            far if far > 0.0 && far.is_finite() => v.map(|x| x / far),
            _ => [0.0; 2],
        };
        let (away, edge) = (unit(away), EDGE * self.arena.half);
        let pull = match self.arena.shape {
            Shape::Square => at.map(|x| -x.signum() * PULL * (x.abs() - edge).max(0.0)),
            Shape::Disc => unit(at).map(|x| -x * PULL * (length(at) - edge).max(0.0)),
        };
        let wish = [away[0] + pull[0], away[1] + pull[1]];
        if length(wish) > 1.0 { unit(wish) } else { wish }
    }
}

impl Rules for TagRules {
    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn measures(&self) -> Vec<Measure> {
        vec![Measure {
            name: "touches".into(),
            title: "touches of a chaser and prey per step".into(),
            unit: "touches".into(),
            better: Better::Higher,
            over: Over::Steps,
            first: false,
        }]
    }

    fn draw(&self, stream: &mut Stream) -> Vec<Vector> {
        match self.prey {
            Prey::Flees => vec![],
            Prey::Random => (0..self.parts.others.map_or(0, |o| o.2)).map(|_| self.any(stream)).collect(),
        }
    }

    fn others(&self, bodies: &Bodies, chance: &[Vector], controls: &mut [Vector]) {
        match self.prey {
            Prey::Random => controls.copy_from_slice(chance),
            Prey::Flees => {
                for (control, &at) in controls.iter_mut().zip(&bodies.places()[self.chasers()..]) {
                    *control = self.flight(bodies, at);
                }
            }
        }
    }

    fn rewards(&self, bodies: &Bodies, rewards: &mut [f64]) {
        let (chasers, prey) = rewards.split_at_mut(self.chasers());
        chasers.fill(TOUCH * self.touches(bodies) as f64);
        for (n, reward) in prey.iter_mut().enumerate() {
            let body = self.chasers() + n;
            let caught = bodies.touches(body, 0..self.chasers()) as f64;
            let at = bodies.places()[body];
            *reward = -TOUCH * caught;
            match self.arena.shape {
                Shape::Square => at.iter().for_each(|x| *reward -= beyond(x.abs())),
                Shape::Disc => *reward -= beyond(self.arena.outness(at)),
            }
        }
    }

    fn measure(&self, _which: usize, bodies: &Bodies) -> f64 {
        self.touches(bodies) as f64
    }

    /// Every chaser goes for the prey that is nearest to it.
    fn targets(&self, bodies: &Bodies, targets: &mut [Vector]) {
        let prey = &bodies.places()[self.chasers()..];
        for (target, &at) in targets.iter_mut().zip(bodies.places()) {
            let far = |p: &&Vector| length(minus(**p, at));
            *target = prey.iter().min_by(|a, b| far(a).total_cmp(&far(b))).copied().unwrap_or(at);
        }
    }
}

/// What prey pays for being so far out.
fn beyond(x: f64) -> f64 {
    match x {
        x if x < 0.9 => 0.0,
        x if x < 1.0 => (x - 0.9) * 10.0,
        x => (2.0 * x - 2.0).exp().min(10.0),
    }
}
