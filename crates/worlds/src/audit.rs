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
use crate::spec::Region;
use crate::stream::{Purpose, Stream};
use crate::world::{End, Exact, Outcome};
use equimarl_group::{Element, Symmetry, Turn};
use serde::Serialize;
use serde_json::Value;

use element::{ElementCheck, Taken};
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
    /// What the verdict on the law of the start leaves out, if the world says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_leaves_out: Option<String>,
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
pub fn audit_turns<W: Exact>(world: &W, symmetry: &Symmetry, turns: &[Turn], how: &Auditing) -> AuditReport {
    audit_under(world, GroupAction::of_turns(world.spec(), symmetry, turns), how)
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
        AuditReport { holds: false, steps, elements: vec![element], start_leaves_out: None }
    };
    let acts = match acts {
        Ok(acts) => acts,
        Err(error) => return refused(error.to_string()),
    };
    let elements = 0..acts.count();
    // Where rules fail that is the better example: it names a draw.
    let mut rules: Vec<Option<Counterexample>> = vec![None; acts.count()];
    let mut laws = rules.clone();
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
        if let Some(controller) = &how.controller {
            let controlled = match actions.is_vectors() {
                false => state.control(controller, &mut action_stream, &mut actions.choices),
                true => state.control_vectors(controller, &mut action_stream, &mut actions.vectors),
            };
            if let Err(error) = controlled {
                return refused(error.to_string());
            }
        }
        let chance = state.draw(&mut chance_stream);
        let mut next = state.clone();
        let outcome = apply(&mut next, &actions, &chance);
        let taken = Taken { before: &state, actions: &actions, chance: &chance, after: &next, outcome };
        let example = |text| Counterexample {
            text,
            step,
            state: state.save(),
            actions: actions.choices.clone(),
            vectors: actions.vectors.clone(),
            chance: format!("{chance:?}"),
        };
        for ((check, rules), laws) in checks.iter_mut().zip(&mut rules).zip(&mut laws) {
            if rules.is_none() {
                *rules = check.step(&acts, &taken).err().map(example);
            }
            // Sizes are means over all states, also after the first failure.
            let law = check.laws(&acts, &taken);
            if laws.is_none() {
                *laws = law.err().map(example);
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
    let found: Vec<_> = rules.into_iter().zip(laws).map(|(rules, laws)| rules.or(laws)).collect();
    let declared = state.start_density().is_some();
    let actions = |g: Element| Some(Verdict::of(broken_region(spec.actions.vectors()?, &acts, g)));
    // Turns by any angle have no law of a step's draws to compare with.
    let size = |g: Element| match acts.turn(g) {
        None => state.start_variation(g, how.cause),
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
        start_leaves_out: state.start_leaves_out().map(Into::into),
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

mod element;
mod size;
#[cfg(test)]
mod tests;
