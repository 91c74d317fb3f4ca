//! The equations of one element, along a rollout.

use super::{NOTHING, ROUNDING, STEP_ROUNDING, Variation, apply, moved, size};
use crate::action::GroupAction;
use crate::joint::Joint;
use crate::spec::Spec;
use crate::world::{Edges, Exact, Outcome};
use equimarl_group::Element;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// One step of the rollout.
pub(super) struct Taken<'a, W: Exact> {
    pub(super) before: &'a W,
    pub(super) actions: &'a Joint,
    pub(super) chance: &'a W::Chance,
    pub(super) after: &'a W,
    pub(super) outcome: Outcome,
}

/// The equations of one element, and room to check them in.
pub(super) struct ElementCheck {
    g: Element,
    transformed_actions: Joint,
    /// Ids whose observations are known to transform, and a hash of the observation: it depends on nothing else.
    known: HashMap<u64, u64>,
    /// transformed\[p\] = image\[pixels\[p\]\] in each channel.
    pixels: Vec<usize>,
    /// All 0 if an agent sees features.
    shape: [usize; 3],
    /// What an agent sees: the pixels of an image, or features.
    seen: Vec<f32>,
    transformed_seen: Vec<f32>,
    edges: Edges,
    transformed_edges: Edges,
    /// Whether what breaks the symmetry is transformed, too.
    cause: bool,
    /// Over the states so far, and how many they are.
    pub(super) variation: Option<Variation>,
    states: usize,
}

/// The text says what is not symmetric.
type Check = std::result::Result<(), String>;

impl ElementCheck {
    pub(super) fn new(spec: &Spec, acts: &GroupAction, g: Element, cause: bool) -> ElementCheck {
        let shape = spec.image.unwrap_or_default();
        let size = if spec.image.is_some() { shape.iter().product() } else { acts.features_dim() };
        ElementCheck {
            g,
            transformed_actions: Joint::of(spec),
            known: HashMap::new(),
            pixels: acts.plane().map(|plane| plane.gather(g, shape[2])).unwrap_or_default(),
            shape,
            seen: vec![0.0; size],
            transformed_seen: vec![0.0; size],
            edges: Edges::default(),
            transformed_edges: Edges::default(),
            cause,
            variation: None,
            states: 0,
        }
    }

    /// The transformed state, with what breaks the symmetry or without.
    fn turned<W: Exact>(&self, acts: &GroupAction, state: &W) -> std::result::Result<W, String> {
        let mut turned = moved(state, acts, self.g).map_err(|e| e.to_string())?;
        if self.cause {
            turned.transform_cause(self.g);
        }
        Ok(turned)
    }

    /// How far apart the laws of what follows are, looked at in every state; a failure if they are.
    pub(super) fn laws<W: Exact>(&mut self, acts: &GroupAction, taken: &Taken<W>) -> Check {
        // Laws are listed where agents choose, and elements are of a finite group.
        if taken.actions.is_vectors() || acts.turn(self.g).is_some() {
            return Ok(());
        }
        let Ok(turned) = self.turned(acts, taken.before) else { return Ok(()) };
        for (agent, &action) in taken.actions.choices.iter().enumerate() {
            self.transformed_actions.choices[acts.agent(self.g, agent)] = acts.action(self.g, action);
        }
        let both = (&taken.actions.choices[..], &self.transformed_actions.choices[..]);
        let Some(found) = size::variation(self.g, (taken.before, &turned), both, self.cause) else {
            return Ok(());
        };
        self.variation.get_or_insert_default().add(found, self.states);
        self.states += 1;
        if found > NOTHING {
            return Err(format!(
                "what follows has other probabilities: the total variation between the transformed law and the law in the \
                 transformed world is {found:.3}"
            ));
        }
        Ok(())
    }

    pub(super) fn step<W: Exact>(&mut self, acts: &GroupAction, taken: &Taken<W>) -> Check {
        let (before, g) = (taken.before, self.g);
        let mut transformed = self.turned(acts, before)?;
        // Nothing moves nobody, whatever is declared.
        if !acts.is_global() && g != acts.group.identity() {
            let why =
                "does not say how the group moves agents, so the group acts on what one agent sees only";
            return Err(format!("the declaration {why}"));
        }
        let spec = before.spec();
        for agent in 0..spec.agents {
            self.observation(acts, before, &transformed, agent)?;
            self.neighbours(acts, before, &transformed, agent)?;
        }
        for (agent, &action) in taken.actions.choices.iter().enumerate() {
            self.transformed_actions.choices[acts.agent(g, agent)] = acts.action(g, action);
        }
        let dim = acts.vector_dim().max(1);
        for (agent, vector) in taken.actions.vectors.chunks_exact(dim).enumerate() {
            let to = acts.agent(g, agent) * dim;
            acts.vector(g, vector, &mut self.transformed_actions.vectors[to..to + dim]);
        }
        let chance = match acts.turn(g) {
            None => before.transform_chance(g, taken.chance),
            Some(turn) => before.turn_chance(turn, taken.chance),
        };
        let outcome = apply(&mut transformed, &self.transformed_actions, &chance);
        // Where agents act by vectors, an element that does not only permute and negate numbers rounds states, too.
        let tolerance = if acts.vector_is_exact(g) { 0.0 } else { STEP_ROUNDING };
        let close = (outcome.reward - taken.outcome.reward).abs() <= tolerance;
        if outcome.end != taken.outcome.end || !close {
            return Err(format!(
                "the reward or the end of the step changes: {:?} here, {outcome:?} in the transformed world; the actions \
                 {} were transformed into {}",
                taken.outcome,
                shown(taken.actions),
                shown(&self.transformed_actions)
            ));
        }
        let expected = self.turned(acts, taken.after)?;
        let same = match tolerance > 0.0 {
            false => transformed.same_state(&expected),
            true => transformed.near_state(&expected, tolerance),
        };
        if !same {
            return Err(format!(
                "the step leads elsewhere: transforming and then stepping gives {}, stepping and then transforming {}; the \
                 actions {} were transformed into {}",
                transformed.save(),
                expected.save(),
                shown(taken.actions),
                shown(&self.transformed_actions)
            ));
        }
        Ok(())
    }

    fn observation<W: Exact>(
        &mut self,
        acts: &GroupAction,
        before: &W,
        transformed: &W,
        agent: usize,
    ) -> Check {
        let image = acts.agent(self.g, agent);
        let id = before.id(agent);
        let expected = id.map(|id| before.transform_id(self.g, id));
        let found = transformed.id(image);
        if found != expected {
            return Err(format!(
                "agent {agent} sees {}, which transforms into {}, but in the transformed world agent {image} sees {}",
                named(id),
                named(expected),
                named(found)
            ));
        }
        let known = id.and_then(|id| self.known.get(&id));
        // One element is enough to look at everything again.
        if known.is_some() && self.g != 0 {
            return Ok(());
        }
        // Whoever leaves a part of the buffer as it was is found by what cannot be seen.
        self.seen.fill(f32::NAN);
        before.observe(agent, &mut self.seen);
        let hash = hash(&self.seen);
        match (known, id) {
            (Some(&first), _) if first == hash => return Ok(()),
            (Some(_), _) => {
                return Err(format!(
                    "two observations have one id: what agent {agent} sees is {}, and so was something else before; equal \
                     ids must be equal observations",
                    named(id)
                ));
            }
            (None, Some(id)) => {
                // What learners paint is what agents see.
                self.transformed_seen.fill(f32::NAN);
                before.paint(id, &mut self.transformed_seen);
                if self.transformed_seen != self.seen {
                    return Err(format!("what agent {agent} sees is not what its id {id} is painted as"));
                }
            }
            (None, None) => {}
        }
        self.transformed_seen.fill(f32::NAN);
        transformed.observe(image, &mut self.transformed_seen);
        match before.spec().image {
            Some(_) => self.turned_image(agent)?,
            None => self.turned_features(acts, agent)?,
        }
        if let Some(id) = id {
            self.known.insert(id, hash);
        }
        Ok(())
    }

    fn turned_image(&self, agent: usize) -> Check {
        let [_, height, width] = self.shape;
        let plane = (height * width).max(1);
        let pairs = self.seen.chunks_exact(plane).zip(self.transformed_seen.chunks_exact(plane));
        for (channel, (image, turned)) in pairs.enumerate() {
            let wrong = turned.iter().zip(&self.pixels).position(|(&is, &from)| is != image[from]);
            if let Some(p) = wrong {
                return Err(format!(
                    "the image of agent {agent} does not turn exactly: channel {channel}, row {}, column {} of the \
                     turned image should be {} and is {}",
                    p / width,
                    p % width,
                    image[self.pixels[p]],
                    turned[p]
                ));
            }
        }
        Ok(())
    }

    fn turned_features(&self, acts: &GroupAction, agent: usize) -> Check {
        let (seen, found) = (&self.seen, &self.transformed_seen);
        let mut expected = vec![0.0; seen.len()];
        acts.features(self.g, None, seen, &mut expected);
        let exact = acts.features_are_exact(self.g, None);
        let wrong = (0..expected.len()).find(|&k| !same(&expected[k..=k], &found[k..=k], exact));
        wrong.map_or(Ok(()), |k| {
            Err(format!(
                "what agent {agent} sees does not transform as its representation says: number {k} should be {} and is {} \
                 (it sees {seen:?}, which transforms into {expected:?}, and in the transformed world {found:?} is seen)",
                expected[k], found[k]
            ))
        })
    }

    fn neighbours<W: Exact>(
        &mut self,
        acts: &GroupAction,
        before: &W,
        transformed: &W,
        agent: usize,
    ) -> Check {
        let (image, agents) = (acts.agent(self.g, agent), before.spec().agents);
        before.neighbours(agent, &mut self.edges);
        transformed.neighbours(image, &mut self.transformed_edges);
        let dim = acts.edge_dim();
        for edges in [&self.edges, &self.transformed_edges] {
            if edges.vectors.len() != edges.from.len() * dim || !edges.from.is_sorted() {
                return Err(format!(
                    "the neighbours of agent {agent} must be in the order of their index, each with {dim} numbers: {edges:?}"
                ));
            }
        }
        let spec = before.spec();
        let everybody = agents + spec.sender_count();
        if let Some(from) =
            self.edges.from.iter().chain(&self.transformed_edges.from).find(|&&j| j as usize >= everybody)
        {
            return Err(format!(
                "the neighbours of agent {agent} include number {from}, and agents and senders are 0 to {}",
                everybody - 1
            ));
        }
        // Senders have no number of their own: a kind, a place, and what is heard of them.
        let whole = |world: &W, g: Option<Element>, from: usize, vector: &[f32]| {
            let mut edge = vec![0.0; dim];
            match g {
                Some(g) => acts.edge(g, vector, &mut edge),
                None => edge.copy_from_slice(vector),
            }
            let Some(kind) = spec.sender_kind(from) else {
                return (g.map_or(from, |g| acts.agent(g, from)), edge);
            };
            // As for agents: what is left unwritten is found, because it equals nothing.
            let mut sent = vec![f32::NAN; acts.sender_dim(kind)];
            world.observe(from, &mut sent);
            let mut transformed = sent.clone();
            if let Some(g) = g {
                acts.features(g, Some(kind), &sent, &mut transformed);
            }
            edge.extend(transformed);
            (agents + kind, edge)
        };
        let expected: Vec<(usize, Vec<f32>)> =
            self.edges.iter().map(|(from, vector)| whole(before, Some(self.g), from, vector)).collect();
        let found: Vec<(usize, Vec<f32>)> = self
            .transformed_edges
            .iter()
            .map(|(from, vector)| whole(transformed, None, from, vector))
            .collect();
        let mut left: Vec<&(usize, Vec<f32>)> = found.iter().collect();
        let mut take = |wanted: &(usize, Vec<f32>)| {
            let kind = wanted.0.checked_sub(agents);
            let exact = acts.edge_is_exact(self.g)
                && kind.is_none_or(|kind| acts.features_are_exact(self.g, Some(kind)));
            let at = left.iter().position(|other| other.0 == wanted.0 && same(&other.1, &wanted.1, exact));
            at.map(|at| left.swap_remove(at)).is_some()
        };
        let same = expected.len() == found.len() && expected.iter().all(&mut take);
        if !same {
            let list = |all: &[(usize, Vec<f32>)]| {
                let name = |from: usize| match from.checked_sub(agents) {
                    Some(kind) => format!("a {}", spec.senders[kind].kind),
                    None => format!("agent {from}"),
                };
                let each = |(from, v): &(usize, Vec<f32>)| match v.split_at(dim) {
                    (edge, []) => format!("{} along {edge:?}", name(*from)),
                    (edge, sent) => format!("{} along {edge:?} that sends {sent:?}", name(*from)),
                };
                let all: Vec<String> = all.iter().map(each).collect();
                if all.is_empty() { "nobody".into() } else { all.join(", ") }
            };
            return Err(format!(
                "the neighbours of agent {agent} transform into {}, but in the transformed world agent {image} hears {}",
                list(&expected),
                list(&found)
            ));
        }
        Ok(())
    }
}

/// A joint action in an error message.
fn shown(actions: &Joint) -> String {
    if actions.is_vectors() { format!("{:?}", actions.vectors) } else { format!("{:?}", actions.choices) }
}

/// Whether vectors agree: exactly, or as well as a transformation that rounds lets them.
fn same(a: &[f32], b: &[f32], exact: bool) -> bool {
    let tolerance = if exact { 0.0 } else { ROUNDING };
    let close = |(x, y): (&f32, &f32)| x == y || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0);
    a.len() == b.len() && a.iter().zip(b).all(close)
}

fn named(id: Option<u64>) -> String {
    id.map_or("nothing with an id".into(), |id| id.to_string())
}

/// Tells observations apart by their bits.
fn hash(seen: &[f32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    seen.iter().for_each(|x| hasher.write_u32(x.to_bits()));
    hasher.finish()
}
