//! Discs that move, are pushed and push: one step of the physics.

use super::Vector;
use super::cloud::Cloud;
use std::sync::Arc;

const DT: f64 = 0.1;
const DAMPING: f64 = 0.25;
const CONTACT_FORCE: f64 = 1e2;
const MARGIN: f64 = 1e-3;
/// Contacts further apart than this push with less than 1e-18.
const REACH: f64 = 40.0 * MARGIN;

/// Which comes first in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// The position moves by the old velocity, then the velocity changes: mpe2, and PettingZoo since 1.23.
    PositionFirst,
    /// The velocity changes, then the position moves by the new one: the original MPE.
    VelocityFirst,
}

/// How a kind of moving bodies is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// The radius of its disc.
    pub radius: f64,
    /// The force of a control of length 1.
    pub accel: f64,
    /// The speed above which it is held back.
    pub max_speed: f64,
}

/// All bodies of a world: those that move, then those that do not.
#[derive(Clone, Debug)]
pub struct Bodies {
    pub(crate) movers: Cloud,
    pub(super) velocities: Vec<Vector>,
    pub(super) fixed: Cloud,
    kinds: Arc<[Kind]>,
    /// The radius of fixed bodies that push; those without one are only seen.
    fixed_radius: Option<f64>,
    widest: f64,
    pub(super) integrator: Integrator,
    forces: Vec<Vector>,
}

impl Bodies {
    pub(crate) fn new(kinds: Vec<Kind>, fixed: usize, fixed_radius: Option<f64>, half: f64) -> Bodies {
        let widest = kinds.iter().map(|k| k.radius).fold(fixed_radius.unwrap_or(0.0), f64::max);
        Bodies {
            movers: Cloud::new(kinds.len(), 1.5 * half),
            velocities: vec![[0.0; 2]; kinds.len()],
            fixed: Cloud::new(fixed, half),
            forces: vec![[0.0; 2]; kinds.len()],
            kinds: kinds.into(),
            fixed_radius,
            widest,
            integrator: Integrator::PositionFirst,
        }
    }

    /// Where the moving bodies are.
    pub fn places(&self) -> &[Vector] {
        &self.movers.points
    }

    /// How they move.
    pub fn velocities(&self) -> &[Vector] {
        &self.velocities
    }

    /// Where the fixed bodies are.
    pub fn fixed(&self) -> &[Vector] {
        &self.fixed.points
    }

    /// What a moving body is like.
    pub fn kind(&self, mover: usize) -> Kind {
        self.kinds[mover]
    }

    /// The radius of fixed bodies that push.
    pub fn fixed_radius(&self) -> Option<f64> {
        self.fixed_radius
    }

    /// The squared distance from a point to the nearest moving body.
    pub fn nearest(&self, at: Vector) -> f64 {
        self.movers.nearest(at)
    }

    /// How many other moving bodies of a range a moving body touches: their distance is below the sum of their radii.
    pub fn touches(&self, body: usize, among: std::ops::Range<usize>) -> usize {
        let (at, radius) = (self.movers.points[body], self.kinds[body].radius);
        let mut count = 0;
        self.movers.near(at, radius + self.widest, |other, _, squared| {
            let touch = radius + self.kinds[other].radius;
            count += usize::from(other != body && among.contains(&other) && squared.sqrt() < touch);
        });
        count
    }

    /// One step under these controls, one per moving body. Fixed bodies push and are not pushed.
    pub fn step(&mut self, controls: &[Vector]) {
        for ((force, control), kind) in self.forces.iter_mut().zip(controls).zip(self.kinds.iter()) {
            *force = control.map(|u| u * kind.accel);
        }
        match self.movers.has_grid() {
            false => self.all_contacts(),
            true => self.near_contacts(),
        }
        if let Some(radius) = self.fixed_radius {
            self.fixed_contacts(radius);
        }
        for i in 0..self.forces.len() {
            self.integrate(i);
        }
        self.movers.settle();
    }

    /// Every pair once. Each body sums its contacts in the order of the others' numbers.
    fn all_contacts(&mut self) {
        let points = &self.movers.points;
        for a in 0..points.len() {
            for b in a + 1..points.len() {
                let touch = self.kinds[a].radius + self.kinds[b].radius;
                let delta = minus(points[a], points[b]);
                if let Some(push) = contact(delta, delta[0] * delta[0] + delta[1] * delta[1], touch) {
                    add(&mut self.forces[a], push);
                    add(&mut self.forces[b], push.map(|x| -x));
                }
            }
        }
    }

    /// The same sums in the same order, by cells.
    fn near_contacts(&mut self) {
        let mut pushes: Vec<(usize, Vector)> = vec![];
        for i in 0..self.forces.len() {
            let (at, radius) = (self.movers.points[i], self.kinds[i].radius);
            pushes.clear();
            self.movers.near(at, radius + self.widest + REACH, |j, delta, squared| {
                if j != i {
                    let push = contact(delta, squared, radius + self.kinds[j].radius);
                    pushes.extend(push.map(|push| (j, push)));
                }
            });
            pushes.sort_unstable_by_key(|push| push.0);
            for (_, push) in &pushes {
                add(&mut self.forces[i], *push);
            }
        }
    }

    fn fixed_contacts(&mut self, fixed_radius: f64) {
        let mut pushes: Vec<(usize, Vector)> = vec![];
        for i in 0..self.forces.len() {
            let touch = self.kinds[i].radius + fixed_radius;
            self.fixed.near(self.movers.points[i], touch + REACH, |j, delta, squared| {
                pushes.extend(contact(delta, squared, touch).map(|push| (j, push)));
            });
            pushes.sort_unstable_by_key(|push| push.0);
            for (_, push) in pushes.drain(..) {
                add(&mut self.forces[i], push);
            }
        }
    }

    fn integrate(&mut self, i: usize) {
        let (at, velocity) = (&mut self.movers.points[i], &mut self.velocities[i]);
        if self.integrator == Integrator::PositionFirst {
            add(at, velocity.map(|v| v * DT));
        }
        for (v, force) in velocity.iter_mut().zip(self.forces[i]) {
            *v = *v * (1.0 - DAMPING) + force * DT;
        }
        let (speed, top) = (length(*velocity), self.kinds[i].max_speed);
        if speed > top {
            *velocity = velocity.map(|v| v / speed * top);
        }
        if self.integrator == Integrator::VelocityFirst {
            add(at, velocity.map(|v| v * DT));
        }
    }
}

/// How the second of two bodies pushes the first, `delta` away from it; nothing if they are too far apart to feel it, or on
/// one point.
#[inline]
fn contact(delta: Vector, squared: f64, touch: f64) -> Option<Vector> {
    let reach = touch + REACH;
    if squared >= reach * reach || squared == 0.0 {
        return None;
    }
    let distance = squared.sqrt();
    let penetration = softplus(-(distance - touch) / MARGIN) * MARGIN;
    Some(delta.map(|d| CONTACT_FORCE * d / distance * penetration))
}

/// ln(1 + exp x) without overflow.
fn softplus(x: f64) -> f64 {
    if x < 0.0 { x.exp().ln_1p() } else { x + (-x).exp().ln_1p() }
}

/// Where a body comes to rest that is pushed by `force` in one step and never again: x + dt v + (dt v')/damping, or without
/// the step of the old velocity if that changes first.
pub(crate) fn coasting(integrator: Integrator, at: Vector, velocity: Vector, force: Vector) -> Vector {
    let first = if integrator == Integrator::PositionFirst { DT } else { 0.0 };
    [0, 1].map(|k| {
        let later = velocity[k] * (1.0 - DAMPING) + force[k] * DT;
        at[k] + first * velocity[k] + later * DT / DAMPING
    })
}

/// The length of a vector.
pub(crate) fn length([x, y]: Vector) -> f64 {
    (x * x + y * y).sqrt()
}

fn add(to: &mut Vector, by: Vector) {
    to.iter_mut().zip(by).for_each(|(x, d)| *x += d);
}

/// a - b.
pub(crate) fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1]]
}
