//! Is a world as symmetric as it says? Random rollouts, every element, every equation.
//!
//! Along a rollout, for every state s, joint action a, chance c and group element g:
//!
//! ```text
//! reward and end of (s, a, c) = those of (g s, g a, g c)
//! g next(s, a, c)             = next(g s, g a, g c)
//! id(g s, g i)                = g id(s, i)
//! observation(g s, g i)       = observation(s, i), its pixels moved or its vector transformed
//! neighbours(g s, g i)        = g neighbours(s, i), their edge vectors transformed
//! ```
//!
//! and, in a world that says how likely episodes are to start where, start(g s) = start(s): a verdict of its own. A world that
//! can list what can be drawn is also asked how likely each outcome is, and how far the laws are apart is measured (`size`).
//!
//! What breaks a symmetry for a known reason, such as wind, stays as it is while everything else is transformed, so that the
//! audit finds it; or it is transformed along, and then everything must hold.
//!
//! Equal ids must be equal observations, in whatever state they are seen: learners encode each id once, and an id that
//! lies would give agents the observations of other states. The identity element watches over that.
//!
//! Comparisons are exact, but for vectors that an element does not only permute and negate: those are rounded by the
//! transformation itself, and agree to [`ROUNDING`]. The first failure of an element is its counterexample.

use crate::action::GroupAction;
use crate::error::Result;
use crate::joint::Joint;
use crate::spec::{Region, Spec};
use crate::stream::{Purpose, Stream};
use crate::world::{Edges, End, Exact, Outcome};
use equimarl_group::{Element, Symmetry, Turn};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

pub use size::Variation;

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
    /// Whether the element is a symmetry, as far as the rollouts went: of all that is below.
    pub holds: bool,
    /// The first thing that is not symmetric in transitions, rewards, observations or the graph.
    pub counterexample: Option<Counterexample>,
    /// Whether it maps what agents may do to itself, where they act by vectors. Where they choose, a declaration that does not is
    /// refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Verdict>,
    /// Whether it maps the law of the start to itself, if the world says what that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Verdict>,
    /// How far the laws of transitions are apart, if the world lists what can be drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<Variation>,
}

/// Whether one thing is symmetric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether it is.
    pub holds: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How far the laws are apart, if the world says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
}

impl Verdict {
    fn of(failure: Option<String>) -> Verdict {
        Verdict { holds: failure.is_none(), text: failure, variation: None }
    }
}

/// How to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Auditing {
    /// Steps of rollouts.
    pub steps: usize,
    /// Their seed.
    pub seed: u64,
    /// Whether what breaks the symmetry is transformed, too.
    pub cause: bool,
    /// The controller whose states are looked at; random actions without one.
    pub controller: Option<String>,
}

/// Where a symmetry fails. Load `state`, take `actions` with `chance`, and compare with the transformed world.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    /// What is wrong, to be read.
    pub text: String,
    /// The number of steps before it was found.
    pub step: usize,
    /// The state, for [`Exact::load`].
    pub state: Value,
    /// The joint action taken there, where agents choose.
    pub actions: Vec<usize>,
    /// The joint action taken there, where they act by vectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<f64>,
    /// The chance drawn there, as text.
    pub chance: String,
}

/// What a rotation by an angle that is no quarter turn may change in numbers near 1 by rounding: a few units of the last
/// place of f32.
pub const ROUNDING: f32 = 1e-5;

/// What such a rotation may change in the doubles of one step of a world.
pub const STEP_ROUNDING: f64 = 1e-9;

/// Tries `steps` steps of random rollouts of `world`, over as many episodes as that takes.
pub fn audit<W: Exact>(world: &W, steps: usize, seed: u64) -> AuditReport {
    audit_by(world, &Auditing { steps, seed, ..Auditing::default() })
}

/// The same, looking otherwise.
pub fn audit_by<W: Exact>(world: &W, how: &Auditing) -> AuditReport {
    audit_under(world, GroupAction::new(world.spec()), how)
}

/// The same with these turns of SO(2) or O(2) in place of the elements of a group. What a turn rounds is forgiven: see
/// [`STEP_ROUNDING`].
pub fn audit_turns<W: Exact>(
    world: &W,
    symmetry: &Symmetry,
    turns: &[Turn],
    steps: usize,
    seed: u64,
) -> AuditReport {
    let how = Auditing { steps, seed, ..Auditing::default() };
    audit_under(world, GroupAction::of_turns(world.spec(), symmetry, turns), &how)
}

fn audit_under<W: Exact>(world: &W, acts: Result<GroupAction>, how: &Auditing) -> AuditReport {
    let (steps, seed) = (how.steps, how.seed);
    let spec = world.spec();
    let refused = |why: String| {
        let counterexample = Counterexample {
            text: why,
            step: 0,
            state: world.save(),
            actions: vec![],
            vectors: vec![],
            chance: String::new(),
        };
        let element = ElementReport {
            element: "e".into(),
            holds: false,
            counterexample: Some(counterexample),
            actions: None,
            start: None,
            variation: None,
        };
        AuditReport { holds: false, steps, elements: vec![element] }
    };
    let acts = match acts {
        Ok(acts) => acts,
        Err(error) => return refused(error.to_string()),
    };
    let elements = 0..acts.count();
    let mut found: Vec<Option<Counterexample>> = vec![None; acts.count()];
    let mut checks: Vec<ElementCheck> =
        elements.clone().map(|g| ElementCheck::new(spec, &acts, g, how.cause)).collect();
    let mut chance_stream = Stream::new(seed, Purpose::Audit, 0);
    let mut action_stream = Stream::new(seed, Purpose::Audit, 1);
    let mut state = world.clone();
    if let Err(error) = state.reset(&mut chance_stream) {
        return refused(error.to_string());
    }
    let mut starts: Vec<Option<String>> = vec![None; acts.count()];
    check_start(&state, &mut starts, &acts);
    let mut actions = Joint::of(spec);
    for step in 0..steps {
        actions.take_uniform(&state, &mut action_stream);
        if let Some(controller) = &how.controller
            && let Err(error) = state.control(controller, &mut action_stream, &mut actions.choices)
        {
            return refused(error.to_string());
        }
        let chance = state.draw(&mut chance_stream);
        let mut next = state.clone();
        let outcome = apply(&mut next, &actions, &chance);
        let taken = Taken { before: &state, actions: &actions, chance: &chance, after: &next, outcome };
        for (check, found) in checks.iter_mut().zip(&mut found) {
            let rules = if found.is_none() { check.step(&acts, &taken) } else { Ok(()) };
            // Sizes are means over all states, also after the first failure.
            let laws = check.laws(&acts, &taken);
            if let Err(text) = rules.and(laws)
                && found.is_none()
            {
                *found = Some(Counterexample {
                    text,
                    step,
                    state: state.save(),
                    actions: actions.choices.clone(),
                    vectors: actions.vectors.clone(),
                    chance: format!("{chance:?}"),
                });
            }
        }
        state = next;
        if outcome.end != End::Running {
            if let Err(error) = state.reset(&mut chance_stream) {
                return refused(error.to_string());
            }
            check_start(&state, &mut starts, &acts);
        }
    }
    let declared = state.start_density().is_some();
    let actions = |g: Element| Some(Verdict::of(broken_region(spec.actions.vectors()?, &acts, g)));
    // Turns by any angle have no law of a step's draws to compare with.
    let size = |g: Element| match acts.turn(g) {
        None => state.start_variation(g).map(|size| if how.cause { 0.0 } else { size }),
        Some(_) => None,
    };
    let sizes: Vec<Option<f64>> = elements.clone().map(size).collect();
    for (start, size) in starts.iter_mut().zip(&sizes) {
        if let Some(size) = size.filter(|size| *size > NOTHING) {
            start.get_or_insert_with(|| {
                format!("what is drawn for an episode has another law when it is transformed: a total variation of {size:.3} per step")
            });
        }
    }
    AuditReport {
        holds: found.iter().all(Option::is_none)
            && starts.iter().all(Option::is_none)
            && elements.clone().all(|g| actions(g).is_none_or(|verdict| verdict.holds)),
        steps,
        elements: found
            .into_iter()
            .zip(starts)
            .zip(elements)
            .map(|((counterexample, start), g)| ElementReport {
                element: acts.name(g),
                holds: counterexample.is_none()
                    && start.is_none()
                    && actions(g).is_none_or(|verdict| verdict.holds),
                counterexample,
                actions: actions(g),
                start: (declared || sizes[g].is_some()).then(|| Verdict {
                    holds: start.is_none(),
                    text: start,
                    variation: sizes[g],
                }),
                variation: checks[g].variation,
            })
            .collect(),
    }
}

/// A state, transformed by an element or by the turn that stands in its place.
fn moved<W: Exact>(state: &W, acts: &GroupAction, g: Element) -> Result<W> {
    match acts.turn(g) {
        None => state.transformed(g),
        Some(turn) => state.turned(turn),
    }
}

/// One step of a world.
fn apply<W: Exact>(world: &mut W, actions: &Joint, chance: &W::Chance) -> Outcome {
    match actions.is_vectors() {
        false => world.apply(&actions.choices, chance),
        true => world.apply_vectors(&actions.vectors, chance),
    }
}

/// Why an element does not map the vectors that agents may do to themselves, if it does not.
fn broken_region((bound, region): (f64, Region), acts: &GroupAction, g: Element) -> Option<String> {
    if region == Region::Ball || acts.vector_is_exact(g) {
        return None;
    }
    let dim = acts.vector_dim();
    let (corner, mut image) = (vec![bound; dim], vec![0.0; dim]);
    // Some vector along an axis or a diagonal leaves the box.
    let axis = |k: usize| (0..dim).map(|i| if i == k { bound } else { 0.0 }).collect::<Vec<f64>>();
    (0..dim).map(axis).chain([corner]).find_map(|v| {
        acts.vector(g, &v, &mut image);
        let far = region.size(&image);
        (far > bound * (1.0 + 1e-9)).then(|| {
            format!("it takes {v:?}, which agents may do, to {image:?}, which is beyond the box of {bound}")
        })
    })
}

/// Laws that differ by less are equal but for rounding.
const NOTHING: f64 = 1e-12;

/// Compares how likely an episode is to start here with how likely it is to start in the transformed states.
fn check_start<W: Exact>(state: &W, found: &mut [Option<String>], acts: &GroupAction) {
    let Some(here) = state.start_density() else { return };
    for (g, found) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
        let there = match (here > 0.0, moved(state, acts, g)) {
            (true, Ok(transformed)) => transformed.start_density().unwrap_or(f64::NAN),
            // An episode has just started here.
            (false, _) => f64::NAN,
            (_, Err(error)) => {
                *found = Some(error.to_string());
                continue;
            }
        };
        if there != here {
            *found = Some(format!(
                "an episode starts in {} with a density of {here}, and in the transformed state with one of {there}",
                state.save()
            ));
        }
    }
}

/// One step of the rollout.
struct Taken<'a, W: Exact> {
    before: &'a W,
    actions: &'a Joint,
    chance: &'a W::Chance,
    after: &'a W,
    outcome: Outcome,
}

/// The equations of one element, and room to check them in.
struct ElementCheck {
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
    variation: Option<Variation>,
    states: usize,
}

/// The text says what is not symmetric.
type Check = std::result::Result<(), String>;

impl ElementCheck {
    fn new(spec: &Spec, acts: &GroupAction, g: Element, cause: bool) -> ElementCheck {
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
    fn laws<W: Exact>(&mut self, acts: &GroupAction, taken: &Taken<W>) -> Check {
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

    fn step<W: Exact>(&mut self, acts: &GroupAction, taken: &Taken<W>) -> Check {
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

mod size;
#[cfg(test)]
mod tests;
