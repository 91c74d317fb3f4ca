//! Is a world as symmetric as it says? Random rollouts, every element, every equation.
//!
//! Along a rollout, for every state s, joint action a, chance c and group element g:
//!
//! ```text
//! reward and end of (s, a, c) = those of (g s, g a, g c)
//! g next(s, a, c)             = next(g s, g a, g c)
//! key(g s, g i)               = g key(s, i)
//! picture(g k)                = picture(k) turned pixel by pixel
//! neighbours(g s, g i)        = g neighbours(s, i), their edge vectors turned by U_g
//! ```
//!
//! Equal keys must be equal pictures, in whatever state they are seen: learners paint each key once, and a key that lies
//! would give agents the pictures of other states. The identity element watches over that.
//!
//! All comparisons are exact. The first failure of an element is its counterexample.

use crate::stream::{Purpose, Stream};
use crate::world::{Edge, End, Outcome, Symmetric, World};
use equimarl_group::Element;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;

/// What an audit found.
#[derive(Clone, Debug, Serialize)]
pub struct AuditReport {
    /// Whether every element holds.
    pub holds: bool,
    /// The number of steps that were tried with every element.
    pub steps: usize,
    /// The findings per element.
    pub elements: Vec<ElementReport>,
}

/// What an audit found for one element.
#[derive(Clone, Debug, Serialize)]
pub struct ElementReport {
    /// The name of the element.
    pub element: String,
    /// Whether the element is a symmetry, as far as the rollouts went.
    pub holds: bool,
    /// The first thing that is not symmetric.
    pub counterexample: Option<Counterexample>,
}

/// Where a symmetry fails. Load `state`, take `actions` with `chance`, and compare with the turned world.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    /// What is wrong, to be read.
    pub text: String,
    /// The number of steps before it was found.
    pub step: usize,
    /// The state, for [`World::load`].
    pub state: Value,
    /// The joint action taken there.
    pub actions: Vec<usize>,
    /// The chance drawn there, as text.
    pub chance: String,
}

/// Tries `steps` steps of random rollouts of `world`, over as many episodes as that takes.
pub fn audit<W: Symmetric>(world: &W, steps: usize, seed: u64) -> AuditReport {
    let group = &world.symmetry().group;
    let mut found: Vec<Option<Counterexample>> = vec![None; group.order()];
    let mut checks: Vec<ElementCheck<W>> = group.elements().map(|g| ElementCheck::new(world, g)).collect();
    let mut chance_stream = Stream::new(seed, Purpose::Audit, 0);
    let mut action_stream = Stream::new(seed, Purpose::Audit, 1);
    let mut state = world.clone();
    state.reset(&mut chance_stream);
    let mut actions = vec![0; world.agents()];
    for step in 0..steps {
        for action in &mut actions {
            *action = action_stream.below(world.actions() as u32) as usize;
        }
        let chance = state.draw(&mut chance_stream);
        let mut next = state.clone();
        let outcome = next.step(&actions, &chance);
        let taken = Taken { before: &state, actions: &actions, chance: &chance, after: &next, outcome };
        for (check, found) in checks.iter_mut().zip(&mut found) {
            if found.is_none()
                && let Err(text) = check.step(&taken)
            {
                *found = Some(Counterexample {
                    text,
                    step,
                    state: state.save(),
                    actions: actions.clone(),
                    chance: format!("{chance:?}"),
                });
            }
        }
        state = next;
        if outcome.end != End::Running {
            state.reset(&mut chance_stream);
        }
    }
    AuditReport {
        holds: found.iter().all(Option::is_none),
        steps,
        elements: found
            .into_iter()
            .zip(group.elements())
            .map(|(counterexample, g)| ElementReport {
                element: group.element_name(g).into(),
                holds: counterexample.is_none(),
                counterexample,
            })
            .collect(),
    }
}

/// One step of the rollout.
struct Taken<'a, W: World> {
    before: &'a W,
    actions: &'a [usize],
    chance: &'a W::Chance,
    after: &'a W,
    outcome: Outcome,
}

/// The equations of one element, and room to check them in.
struct ElementCheck<W: World> {
    g: Element,
    /// The images of agents and actions, asked for once a state could be turned: an element that does not act on this
    /// world has none.
    images: Option<Images>,
    turned_actions: Vec<usize>,
    /// Keys whose pictures are known to turn, and a hash of the picture: pictures depend on nothing else.
    pictures: HashMap<W::Key, u64>,
    picture: Vec<f32>,
    turned_picture: Vec<f32>,
    edges: Vec<Edge>,
    turned_edges: Vec<Edge>,
}

struct Images {
    agents: Vec<usize>,
    actions: Vec<usize>,
    /// turned\[p\] = picture\[pixels\[p\]\] in each channel.
    pixels: Vec<usize>,
}

impl Images {
    fn new<W: Symmetric>(world: &W, g: Element) -> std::result::Result<Images, String> {
        let shape = world.picture_shape();
        if shape.height != shape.width {
            return Err(format!(
                "pictures of {} x {} pixels are not square and cannot be turned",
                shape.height, shape.width
            ));
        }
        let agents = (0..world.agents()).map(|i| world.turn_agent(g, i));
        let actions = (0..world.actions()).map(|a| world.turn_action(g, a));
        Ok(Images {
            agents: one_to_one("agents", agents.collect())?,
            actions: one_to_one("actions", actions.collect())?,
            pixels: world.symmetry().plane.gather(g, shape.width),
        })
    }
}

/// The text says what is not symmetric.
type Check = std::result::Result<(), String>;

impl<W: Symmetric> ElementCheck<W> {
    fn new(world: &W, g: Element) -> ElementCheck<W> {
        let pixels = world.picture_shape().len();
        ElementCheck {
            g,
            images: None,
            turned_actions: vec![0; world.agents()],
            pictures: HashMap::new(),
            picture: vec![0.0; pixels],
            turned_picture: vec![0.0; pixels],
            edges: Vec::new(),
            turned_edges: Vec::new(),
        }
    }

    fn step(&mut self, taken: &Taken<W>) -> Check {
        let (before, g) = (taken.before, self.g);
        let mut turned = before.turned(g).map_err(|e| e.to_string())?;
        let images = match self.images.take() {
            Some(images) => images,
            None => Images::new(before, g)?,
        };
        for agent in 0..before.agents() {
            self.observation(&images, before, &turned, agent)?;
            self.neighbours(&images, before, &turned, agent)?;
        }
        for (agent, &action) in taken.actions.iter().enumerate() {
            self.turned_actions[images.agents[agent]] = images.actions[action];
        }
        self.images = Some(images);
        let chance = before.turn_chance(g, taken.chance);
        let outcome = turned.step(&self.turned_actions, &chance);
        if outcome != taken.outcome {
            return Err(format!(
                "the reward or the end of the step changes: {:?} here, {outcome:?} in the turned world",
                taken.outcome
            ));
        }
        let expected = taken.after.turned(g).map_err(|e| e.to_string())?;
        if !turned.same_state(&expected) {
            return Err(format!(
                "the step leads elsewhere: turning and then stepping gives {}, stepping and then turning {}",
                turned.save(),
                expected.save()
            ));
        }
        Ok(())
    }

    fn observation(&mut self, images: &Images, before: &W, turned: &W, agent: usize) -> Check {
        let image = images.agents[agent];
        let key = before.observation_key(agent);
        let expected = before.turn_key(self.g, &key);
        let found = turned.observation_key(image);
        if found != expected {
            return Err(format!(
                "agent {agent} sees {key:?}, which turns into {expected:?}, \
                 but in the turned world agent {image} sees {found:?}"
            ));
        }
        let known = self.pictures.get(&key);
        // One element is enough to look at every picture again.
        if known.is_some() && self.g != 0 {
            return Ok(());
        }
        let shape = before.picture_shape();
        before.render(&key, &mut self.picture);
        let hash = hash(&self.picture);
        match known {
            Some(&first) if first == hash => return Ok(()),
            Some(_) => {
                return Err(format!(
                    "two pictures have one observation key: what agent {agent} sees is {key:?}, and so was another picture \
                     before; equal keys must be equal pictures"
                ));
            }
            None => {}
        }
        turned.render(&found, &mut self.turned_picture);
        let plane = shape.height * shape.width;
        let pairs = self.picture.chunks_exact(plane).zip(self.turned_picture.chunks_exact(plane));
        for (channel, (picture, turned)) in pairs.enumerate() {
            let wrong = turned.iter().zip(&images.pixels).position(|(&is, &from)| is != picture[from]);
            if let Some(p) = wrong {
                return Err(format!(
                    "the picture of agent {agent} does not turn exactly: channel {channel}, row {}, column {} of the \
                     turned picture should be {} and is {}",
                    p / shape.width,
                    p % shape.width,
                    picture[images.pixels[p]],
                    turned[p]
                ));
            }
        }
        self.pictures.insert(key, hash);
        Ok(())
    }

    fn neighbours(&mut self, images: &Images, before: &W, turned: &W, agent: usize) -> Check {
        let image = images.agents[agent];
        before.neighbours(agent, &mut self.edges);
        turned.neighbours(image, &mut self.turned_edges);
        // Entries are 0 and +-1, so this is exact.
        let matrix = before.symmetry().plane.matrix(self.g).map(|row| row.map(|v| v as f32));
        for edge in &mut self.edges {
            let [dr, dc] = edge.vector;
            edge.from = images.agents[edge.from];
            edge.vector = matrix.map(|[a, b]| a * dr + b * dc);
        }
        self.edges.sort_by_key(|e| e.from);
        if self.edges != self.turned_edges {
            return Err(format!(
                "the neighbours of agent {agent} turn into {:?}, but in the turned world agent {image} hears {:?}",
                self.edges, self.turned_edges
            ));
        }
        Ok(())
    }
}

/// FNV-1a over the bits of a picture.
fn hash(picture: &[f32]) -> u64 {
    picture
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, x| (h ^ u64::from(x.to_bits())).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Gives the images back. A turn that sends two agents or two actions to one place is no turn.
fn one_to_one(what: &str, images: Vec<usize>) -> std::result::Result<Vec<usize>, String> {
    let mut taken = vec![false; images.len()];
    for &image in &images {
        match taken.get_mut(image) {
            Some(free @ false) => *free = true,
            _ => {
                return Err(format!("the {what} 0 to {} are sent to {images:?}", images.len() - 1));
            }
        }
    }
    Ok(images)
}

#[cfg(test)]
mod tests;
