//! A world of particles: what it is for everybody who is not its rules.

use super::Vector;
use super::bodies::{Bodies, Kind, coasting, length, minus};
use super::drawing::Drawing;
use super::options::{Common, MOST_BODIES, MOST_HEARD};
use super::symmetry::{Turns, seen, turned};
use crate::error::{Error, Result};
use crate::scene::{ActionMark, Edit, Scene};
use crate::spec::{Actions, Measure, Senders, Spec, moves};
use crate::stream::Stream;
use crate::world::{Edges, End, Exact, Outcome, World};
use equimarl_group::{Element, Group, Plane, Turn};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// The controls of mpe2's five choices, in its order.
pub(crate) const CHOICES: [Vector; 5] = [[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]];
const NAMES: [&str; 5] = ["stay", "left", "right", "down", "up"];

/// What makes one particle world differ from another.
pub trait Rules: Clone + Debug + Send + 'static {
    /// What its bodies are called.
    fn parts(&self) -> &Parts;

    /// What is measured.
    fn measures(&self) -> Vec<Measure>;

    /// The chance of a step: controls of the moving bodies that are not in the team.
    fn draw(&self, stream: &mut Stream) -> Vec<Vector>;

    /// The controls of the moving bodies that are not in the team, from the state and the chance.
    fn others(&self, _bodies: &Bodies, chance: &[Vector], controls: &mut [Vector]) {
        controls.copy_from_slice(chance);
    }

    /// The rewards of all moving bodies after a step, as mpe2 gives them. The team's is the mean over its members.
    fn rewards(&self, bodies: &Bodies, rewards: &mut [f64]);

    /// A measure after a step.
    fn measure(&self, which: usize, bodies: &Bodies) -> f64;

    /// Where the members of a greedy team want to be.
    fn targets(&self, bodies: &Bodies, targets: &mut [Vector]);
}

/// The bodies of a world, and what they are called.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The world's name.
    pub world: &'static str,
    /// The team: one, and several of them, and how many. They come first among moving bodies.
    pub team: (&'static str, &'static str, usize, Kind),
    /// Other moving bodies.
    pub others: Option<(&'static str, &'static str, usize, Kind)>,
    /// Fixed bodies, and their radius.
    pub fixed: (&'static str, &'static str, usize, f64),
    /// Whether fixed bodies push.
    pub solid: bool,
    /// The part of the arena in which fixed bodies start.
    pub fixed_within: f64,
}

impl Parts {
    /// How many others move.
    pub(super) fn other_count(&self) -> usize {
        self.others.map_or(0, |others| others.2)
    }
}

/// A world of particles with these rules.
#[derive(Clone, Debug)]
pub struct Particles<R> {
    pub(crate) rules: R,
    pub(super) common: Common,
    spec: Arc<Spec>,
    turns: Arc<Turns>,
    pub(crate) bodies: Bodies,
    pub(super) steps: usize,
    pub(super) controls: Vec<Vector>,
    pub(super) rewards: Vec<f64>,
}

impl<R: Rules> Particles<R> {
    /// The world under a group. Until it is reset, everything is at the origin.
    pub(crate) fn new(rules: R, common: Common, group: &Group) -> Result<Particles<R>> {
        let parts = rules.parts();
        let (team, others, fixed) = (parts.team.2, parts.other_count(), parts.fixed.2);
        for ((name, count), least) in [(parts.team.1, team), (parts.fixed.1, fixed)].into_iter().zip([1, 0]) {
            if count < least || count > MOST_BODIES {
                return Err(Error::BadWorld(format!(
                    "`{name}` is {count}; {} has {least} to {MOST_BODIES} of them",
                    parts.world
                )));
            }
        }
        if let Some((_, name, count, _)) = parts.others.filter(|o| o.2 == 0 || o.2 > MOST_BODIES) {
            return Err(Error::BadWorld(format!(
                "`{name}` is {count}; {} has 1 to {MOST_BODIES} of them",
                parts.world
            )));
        }
        let heard = team.saturating_mul(team + others + fixed);
        if common.radius.is_none() && heard > MOST_HEARD {
            return Err(Error::BadWorld(format!(
                "{team} {} that all hear each other, and all other bodies, are {heard} edges in every step, and there are at most \
                 {MOST_HEARD}; give a radius within which they hear (--radius 1)",
                parts.team.1
            )));
        }
        let kinds = [vec![parts.team.3; team], parts.others.map_or(vec![], |o| vec![o.3; others])].concat();
        let mut bodies = Bodies::new(kinds, fixed, parts.solid.then_some(parts.fixed.3), common.arena.half);
        bodies.integrator = common.integrator;
        Ok(Particles {
            spec: Arc::new(spec(&rules, &common, group)?),
            turns: Arc::new(Turns::new(group)?),
            controls: vec![[0.0; 2]; team + others],
            rewards: vec![0.0; team + others],
            bodies,
            steps: 0,
            rules,
            common,
        })
    }

    /// All bodies.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// What the last step gave each moving body, as mpe2 gives it.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    pub(super) fn team(&self) -> usize {
        self.spec.agents
    }

    /// One step under the controls that are set.
    pub(super) fn advance(&mut self) -> Outcome {
        self.bodies.step(&self.controls);
        self.steps += 1;
        self.rules.rewards(&self.bodies, &mut self.rewards);
        let team = self.team();
        let reward = self.rewards[..team].iter().sum::<f64>() / team as f64;
        let end = if self.steps >= self.common.step_limit { End::Truncated } else { End::Running };
        Outcome { reward, end }
    }

    /// Where every body is after a change by hand.
    pub(super) fn settle(&mut self) {
        self.bodies.movers.settle();
        self.bodies.fixed.settle();
    }

    /// Where the members of a team want to be.
    fn targets(&self, controller: &str) -> Result<Vec<Vector>> {
        if controller != "greedy" {
            return Err(Error::BadWorld(format!("{} has no controller `{controller}`", self.spec.world)));
        }
        let mut targets = vec![[0.0; 2]; self.team()];
        self.rules.targets(&self.bodies, &mut targets);
        Ok(targets)
    }

    /// What each of these controls would do to a member of a greedy team: how far from its target it would come to rest.
    fn miss(&self, agent: usize, target: Vector, control: Vector) -> f64 {
        let (at, velocity) = (self.bodies.places()[agent], self.bodies.velocities()[agent]);
        let force = control.map(|u| u * self.bodies.kind(agent).accel);
        length(minus(target, coasting(self.common.integrator, at, velocity, force)))
    }
}

/// What a world with these rules is, under a group.
fn spec(rules: &impl Rules, common: &Common, group: &Group) -> Result<Spec> {
    let parts = rules.parts();
    let actions = match common.continuous {
        false => choices(parts.world, group)?,
        true => Actions::Vector {
            names: ["down", "right"].map(String::from).to_vec(),
            rep: "rotation".into(),
            bound: 1.0,
            region: common.region(),
        },
    };
    let mut senders = vec![];
    if let Some((name, _, count, _)) = parts.others {
        // What is heard of those that move is where they are and their velocity.
        senders.push(Senders { kind: name.into(), count, features: "rotation".into() });
    }
    senders.push(Senders { kind: parts.fixed.0.into(), count: parts.fixed.2, features: String::new() });
    Ok(Spec {
        // Its velocity and its place.
        features: "2*rotation".into(),
        // Where the plane has no pixels, edge vectors say how they turn.
        edge: if Plane::new(group).is_ok() { String::new() } else { "rotation".into() },
        senders,
        measures: rules.measures(),
        controllers: vec!["greedy".into()],
        references: vec!["greedy".into()],
        ..Spec::new(parts.world, parts.team.2, group, actions)
    })
}

/// mpe2's five choices.
fn choices(world: &str, group: &Group) -> Result<Actions> {
    // Down and right: y grows upwards.
    let steps = CHOICES.map(|[x, y]| [-y as i32, x as i32]);
    let rep = moves(group, &steps).map_err(|error| match error {
        Error::Group(_) => Error::BadWorld(format!(
            "{world} is not under {group}: its five choices ({}) point along the axes, and no permutation of them is a turn by \
             {group}; D4 and its subgroups have one, and `actions = continuous` has all turns",
            NAMES.join(", ")
        )),
        other => other,
    })?;
    let marks = CHOICES.map(|[x, y]| match [x, y] {
        [0.0, 0.0] => ActionMark::Stay,
        _ => ActionMark::Arrow([x as f32, -y as f32]),
    });
    Ok(Actions::Choice { names: NAMES.map(String::from).to_vec(), rep, marks: marks.to_vec() })
}

impl<R: Rules> World for Particles<R> {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        let arena = self.common.arena;
        self.bodies.movers.points.iter_mut().for_each(|at| *at = arena.place(1.0, stream));
        let within = self.rules.parts().fixed_within;
        self.bodies.fixed.points.iter_mut().for_each(|at| *at = arena.place(within, stream));
        self.bodies.velocities.fill([0.0; 2]);
        self.rewards.fill(0.0);
        self.steps = 0;
        self.settle();
        Ok(())
    }

    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        Ok(self.drawn_step(actions, stream))
    }

    fn step_vectors(&mut self, vectors: &[f64], stream: &mut Stream) -> Result<Outcome> {
        self.spec.actions.check_vectors(vectors)?;
        Ok(self.drawn_step_vectors(vectors, stream))
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        let Some(&velocity) = self.bodies.velocities.get(who) else { return };
        out[..2].copy_from_slice(&seen(velocity));
        if who < self.team() {
            out[2..].copy_from_slice(&seen(self.bodies.places()[who]));
        }
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let (movers, fixed) = (&self.bodies.movers, &self.bodies.fixed);
        let (here, count) = (movers.points[agent], movers.points.len());
        match self.common.radius {
            None => {
                edges.from.extend((0..(count + fixed.points.len()) as u32).filter(|&j| j != agent as u32))
            }
            Some(radius) => {
                movers.near(here, radius, |j, _, _| edges.from.push(j as u32));
                fixed.near(here, radius, |j, _, _| edges.from.push((count + j) as u32));
                edges.from.retain(|&j| j != agent as u32);
                edges.from.sort_unstable();
            }
        }
        for &j in &edges.from {
            let there = movers.points.get(j as usize).unwrap_or_else(|| &fixed.points[j as usize - count]);
            edges.vectors.extend_from_slice(&seen(minus(here, *there)));
        }
    }

    fn measure(&self, which: usize, _end: End) -> Option<f64> {
        Some(self.rules.measure(which, &self.bodies))
    }

    /// Greedy: the choice after which it would come to rest closest to where it wants to be.
    fn control(&self, controller: &str, _stream: &mut Stream, actions: &mut [usize]) -> Result<()> {
        for (agent, (action, target)) in actions.iter_mut().zip(self.targets(controller)?).enumerate() {
            let miss = CHOICES.map(|control| self.miss(agent, target, control));
            *action = (0..CHOICES.len()).fold(0, |best, k| if miss[k] < miss[best] { k } else { best });
        }
        Ok(())
    }

    /// Greedy: the vector after which it would come to rest there, or the longest that way.
    fn control_vectors(&self, controller: &str, _stream: &mut Stream, vectors: &mut [f64]) -> Result<()> {
        let (common, bodies) = (&self.common, &self.bodies);
        for (agent, (vector, target)) in
            vectors.chunks_exact_mut(2).zip(self.targets(controller)?).enumerate()
        {
            let (at, velocity) = (bodies.places()[agent], bodies.velocities()[agent]);
            let rest = |force| coasting(common.integrator, at, velocity, force);
            // How far one unit of control takes it.
            let gain = minus(rest([bodies.kind(agent).accel, 0.0]), rest([0.0; 2]))[0];
            let [x, y] = minus(target, rest([0.0; 2])).map(|way| way / gain);
            vector.copy_from_slice(&[-y, x]);
            let size = common.region().size(vector);
            vector.iter_mut().for_each(|v| *v /= size.max(1.0));
        }
        Ok(())
    }

    fn scene(&self) -> Result<Scene> {
        Drawing::of(self.rules.parts(), &self.bodies, self.common.arena).scene(&[])
    }

    fn scene_after(&self, actions: &[usize]) -> Result<Scene> {
        let controls: Vec<Vector> =
            actions.iter().map(|&a| CHOICES.get(a).copied().unwrap_or_default()).collect();
        Drawing::of(self.rules.parts(), &self.bodies, self.common.arena).scene(&controls)
    }

    fn scene_after_vectors(&self, vectors: &[f64]) -> Result<Scene> {
        let controls: Vec<Vector> = vectors.chunks_exact(2).map(|v| [v[1], -v[0]]).collect();
        Drawing::of(self.rules.parts(), &self.bodies, self.common.arena).scene(&controls)
    }
}

impl<R: Rules> Exact for Particles<R> {
    type Chance = Vec<Vector>;

    fn draw(&self, stream: &mut Stream) -> Vec<Vector> {
        self.rules.draw(stream)
    }

    fn apply(&mut self, actions: &[usize], chance: &Vec<Vector>) -> Outcome {
        let (own, others) = self.controls.split_at_mut(self.spec.agents);
        for (control, &action) in own.iter_mut().zip(actions) {
            *control = CHOICES[action];
        }
        self.rules.others(&self.bodies, chance, others);
        self.advance()
    }

    fn apply_vectors(&mut self, vectors: &[f64], chance: &Vec<Vector>) -> Outcome {
        let (own, others) = self.controls.split_at_mut(self.spec.agents);
        for (control, vector) in own.iter_mut().zip(vectors.chunks_exact(2)) {
            // Down and right.
            *control = [vector[1], -vector[0]];
        }
        self.rules.others(&self.bodies, chance, others);
        self.advance()
    }

    fn transformed(&self, g: Element) -> Result<Particles<R>> {
        let mut other = self.clone();
        let bodies = &mut other.bodies;
        let all =
            bodies.movers.points.iter_mut().chain(&mut bodies.velocities).chain(&mut bodies.fixed.points);
        all.for_each(|v| *v = self.turns.vector(g, *v));
        other.settle();
        Ok(other)
    }

    fn turned(&self, turn: Turn) -> Result<Particles<R>> {
        let mut other = self.clone();
        let bodies = &mut other.bodies;
        let all =
            bodies.movers.points.iter_mut().chain(&mut bodies.velocities).chain(&mut bodies.fixed.points);
        all.for_each(|v| *v = turned(turn, *v));
        other.settle();
        Ok(other)
    }

    fn turn_chance(&self, turn: Turn, chance: &Vec<Vector>) -> Vec<Vector> {
        chance.iter().map(|&u| turned(turn, u)).collect()
    }

    fn transform_chance(&self, g: Element, chance: &Vec<Vector>) -> Vec<Vector> {
        chance.iter().map(|&u| self.turns.vector(g, u)).collect()
    }

    fn save(&self) -> Value {
        super::save::save(self)
    }

    fn load(&mut self, state: &Value) -> Result<()> {
        super::save::load(self, state)
    }

    fn same_state(&self, other: &Particles<R>) -> bool {
        self.steps == other.steps
            && self.bodies.places() == other.bodies.places()
            && self.bodies.velocities() == other.bodies.velocities()
            && self.bodies.fixed() == other.bodies.fixed()
    }

    fn near_state(&self, other: &Particles<R>, tolerance: f64) -> bool {
        let near = |a: &[Vector], b: &[Vector]| {
            let close = |(x, y): (&f64, &f64)| (x - y).abs() <= tolerance;
            a.len() == b.len() && a.as_flattened().iter().zip(b.as_flattened()).all(close)
        };
        self.steps == other.steps
            && near(self.bodies.places(), other.bodies.places())
            && near(self.bodies.velocities(), other.bodies.velocities())
            && near(self.bodies.fixed(), other.bodies.fixed())
    }

    /// Uniform: 1 where an episode can start, 0 elsewhere.
    fn start_density(&self) -> Option<f64> {
        let (arena, within) = (self.common.arena, self.rules.parts().fixed_within);
        let starts = self.steps == 0
            && self.bodies.velocities.iter().all(|v| *v == [0.0; 2])
            && self.bodies.places().iter().all(|&at| arena.holds(1.0, at))
            && self.bodies.fixed().iter().all(|&at| arena.holds(within, at));
        Some(f64::from(u8::from(starts)))
    }

    fn edit(&mut self, edit: &Edit) -> Result<()> {
        let parts = self.rules.parts().clone();
        let drawing = Drawing::of(&parts, &self.bodies, self.common.arena);
        let team = self.team();
        let body = |name: &str, count: usize| edit.number(name).filter(|&n| n < count);
        let others = parts.others.and_then(|(name, _, count, _)| body(name, count));
        let (team_body, fixed) = (body(parts.team.0, team), body(parts.fixed.0, parts.fixed.2));
        if team_body.or(others).or(fixed).is_none() {
            return Err(edit.unknown(&format!("{} and {} by number", parts.team.1, parts.fixed.1)));
        }
        let at = drawing.place(edit.target()?).ok_or_else(|| edit.outside("the picture"))?;
        match (team_body, others, fixed) {
            (Some(n), _, _) => self.bodies.movers.points[n] = at,
            (_, Some(n), _) => self.bodies.movers.points[team + n] = at,
            (_, _, Some(n)) => self.bodies.fixed.points[n] = at,
            _ => {}
        }
        self.settle();
        Ok(())
    }
}
