//! Particle worlds as pictures.

use super::Vector;
use super::arena::{self, Arena};
use super::bodies::Bodies;
use super::world::Parts;
use crate::error::Result;
use crate::scene::{AgentMark, Colour, Handle, Scene, Shape, visible};

/// Units of a picture per unit of the world.
const SCALE: f32 = 4.0;
/// A picture shows so much more than the arena; who is further out is drawn at its rim.
const VIEW: f64 = 1.4;
/// Larger teams are drawn without numbers and cannot be dragged: they would be too small.
const DETAILED: usize = 200;
const GROUND: Colour = Colour(240, 242, 246);
const RIM: Colour = Colour(160, 168, 180);

/// What a picture is drawn from.
pub(crate) struct Drawing<'a> {
    parts: &'a Parts,
    bodies: &'a Bodies,
    arena: Arena,
    /// Half the side of what is shown.
    half: f64,
}

impl<'a> Drawing<'a> {
    pub(crate) fn of(parts: &'a Parts, bodies: &'a Bodies, arena: Arena) -> Drawing<'a> {
        Drawing { parts, bodies, arena, half: VIEW * arena.half }
    }

    /// Where a point of the world is in the picture.
    fn at(&self, place: Vector) -> [f32; 2] {
        let [x, y] = place.map(|v| v.clamp(-self.half, self.half));
        [(self.half + x) as f32 * SCALE, (self.half - y) as f32 * SCALE]
    }

    /// The point of the world that is here in the picture; none if that is outside.
    pub(crate) fn place(&self, [x, y]: [f32; 2]) -> Option<Vector> {
        let at = [f64::from(x / SCALE) - self.half, self.half - f64::from(y / SCALE)];
        at.iter().all(|v| v.abs() <= self.half).then_some(at)
    }

    /// The picture; an arrow for each member of the team with a control.
    pub(crate) fn scene(&self, controls: &[Vector]) -> Result<Scene> {
        let side = 2.0 * self.half as f32 * SCALE;
        let bodies = self.bodies;
        visible(self.parts.world, [side as usize; 2], bodies.places().len() + bodies.fixed().len())?;
        let mut scene = Scene::new(side, side);
        let half = self.arena.half as f32 * SCALE;
        let centre = [side / 2.0; 2];
        let ground = match self.arena.shape {
            arena::Shape::Square => {
                Shape::Rect { corner: [side / 2.0 - half; 2], size: [2.0 * half; 2], radius: 0.1 }
            }
            arena::Shape::Disc => Shape::Circle { centre, radius: half },
        };
        scene.add_rimmed("arena", ground, GROUND, RIM, 0.03);
        let detailed = bodies.places().len() + bodies.fixed().len() <= DETAILED;
        let (fixed, _, _, radius) = self.parts.fixed;
        for (n, &place) in bodies.fixed().iter().enumerate() {
            let disc = Shape::Circle { centre: self.at(place), radius: radius as f32 * SCALE };
            let colour = if self.parts.solid { RIM } else { Colour::GREEN };
            self.thing(&mut scene, detailed, fixed, n, place, |scene| {
                scene.add_rimmed(fixed, disc, colour, Colour::INK, 0.03);
            });
        }
        let (team, _, count, _) = self.parts.team;
        for (body, &place) in bodies.places().iter().enumerate() {
            let radius = bodies.kind(body).radius as f32 * SCALE;
            let (name, n, colour) = match (self.parts.others, body.checked_sub(count)) {
                (Some((name, ..)), Some(n)) => (name, n, Colour::VERMILLION),
                _ => (team, body, Colour::BLUE),
            };
            let centre = self.at(place);
            self.thing(&mut scene, detailed, name, n, place, |scene| {
                scene.add_rimmed(name, Shape::Circle { centre, radius }, colour, Colour::INK, 0.03);
                if let Some(&control) = controls.get(body).filter(|u| **u != [0.0; 2]) {
                    scene.add("heading", heading(centre, radius, control), Colour::INK);
                }
                if detailed {
                    let text = n.to_string();
                    let height = radius * 0.8f32.min(1.6 / text.len() as f32);
                    scene.add("number", Shape::Label { centre, height, text }, Colour::WHITE);
                }
            });
            if body < count {
                scene.agents.push(AgentMark { at: centre, radius });
            }
        }
        Ok(scene)
    }

    fn thing(
        &self,
        scene: &mut Scene,
        movable: bool,
        name: &str,
        n: usize,
        [x, y]: Vector,
        draw: impl FnOnce(&mut Scene),
    ) {
        match movable {
            true => scene.thing(
                format!("{name} {n} at ({x:.2}, {y:.2})"),
                Handle::drag(format!("{name} {n}")),
                draw,
            ),
            false => draw(scene),
        }
    }
}

/// A small triangle outside of a disc, on the side to which it is pushed.
fn heading([x, y]: [f32; 2], radius: f32, [right, up]: Vector) -> Shape {
    let long = (right * right + up * up).sqrt();
    let (ahead, size) = ([(right / long) as f32, (-up / long) as f32], 0.5 * radius * long.min(1.0) as f32);
    let point = |a: f32, s: f32| [x + a * ahead[0] - s * ahead[1], y + a * ahead[1] + s * ahead[0]];
    Shape::Polygon(vec![
        point(radius * 1.1 + size, 0.0),
        point(radius * 1.1, size),
        point(radius * 1.1, -size),
    ])
}
