//! Does a whole policy turn with its world? pi(g s)\[g i\]\[g a\] = pi(s)\[i\]\[a\] and V(g s) = V(s), measured on random states.
//!
//! Images are not shared by orbits here: sharing would make any encoder look equivariant.

use crate::error::{Error, Result};
use crate::observe::observe_with;
use equimarl_group::{Element, Symmetry, Turn};
use equimarl_nn::{Gaussian, Policy, Sharing};
use equimarl_worlds::{End, Envs, GroupAction, Joint, Purpose, Spec, Stream, Token};
use serde::Serialize;
use std::ops::Range;

/// Probabilities and values computed in f32 agree to this if the network is equivariant: some hundred thousand
/// products of numbers near 1, rounded to 24 bits, in another order.
pub const TOLERANCE: f64 = 1e-5;

/// States that are compared at once.
const AT_ONCE: usize = 500;

/// How far a policy is from turning with its world.
#[derive(Clone, Debug, Serialize)]
pub struct EquivarianceReport {
    /// The largest difference of an action probability; of a mean or a deviation where agents act by vectors.
    pub policy_error: f64,
    /// The largest difference of the team value, in proportion to the value where that is above 1.
    pub value_error: f64,
    /// Whether both are below [`TOLERANCE`].
    pub equivariant: bool,
    /// The same per group element.
    pub elements: Vec<ElementError>,
    /// The first layer whose features do not turn, if any.
    pub first_failing_layer: Option<String>,
    /// How many states were compared.
    pub states: usize,
    /// Where agents act by vectors, the mean length of what they do without chance: next to nothing turns with everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_action: Option<f64>,
    /// Where agents choose, the mean probability of the likeliest action: indifference turns with everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_likeliest: Option<f64>,
}

/// The errors of one group element.
#[derive(Clone, Debug, Serialize)]
pub struct ElementError {
    /// The element.
    pub element: String,
    /// The largest difference of an action probability; of a mean or a deviation where agents act by vectors.
    pub policy_error: f64,
    /// The largest difference of the team value.
    pub value_error: f64,
    /// The mean over states and agents of the divergence KL(pi(g a | g s), pi(a | s)): how asymmetric the policy is, in nats. Of
    /// vectors, before the squash, which changes nothing where it turns along.
    pub divergence: f64,
}

/// Compares a policy in `states` random states with itself in the turned states, for every element of the world's
/// group.
///
/// # Errors
/// If the world does not have the symmetry, or does not fit the network.
pub fn equivariance(
    policy: &Policy,
    envs: &dyn Envs,
    states: usize,
    seed: u64,
) -> Result<EquivarianceReport> {
    equivariance_each(policy, envs, states, seed, false, |_| ())
}

/// As [`equivariance`], under these turns of SO(2) or O(2) in place of the elements of a group.
///
/// # Errors
/// If the world does not turn by every angle, or does not fit the network.
pub fn equivariance_turns(
    policy: &Policy,
    envs: &dyn Envs,
    (symmetry, turns): (&Symmetry, &[Turn]),
    states: usize,
    seed: u64,
    compared: impl FnMut(usize),
) -> Result<EquivarianceReport> {
    let acts = GroupAction::of_turns(envs.spec(), symmetry, turns)?;
    equivariance_under(policy, envs, (&acts, false), states, seed, compared)
}

/// As [`equivariance`], and says every now and then how many states were compared. Some are in memory at a time, so there may
/// be any number. `cause` says whether what breaks the symmetry is transformed along, or stays as it is.
///
/// # Errors
/// As [`equivariance`].
pub fn equivariance_each(
    policy: &Policy,
    envs: &dyn Envs,
    states: usize,
    seed: u64,
    cause: bool,
    compared: impl FnMut(usize),
) -> Result<EquivarianceReport> {
    equivariance_under(policy, envs, (&GroupAction::new(envs.spec())?, cause), states, seed, compared)
}

fn equivariance_under(
    policy: &Policy,
    envs: &dyn Envs,
    (acts, cause): (&GroupAction, bool),
    states: usize,
    seed: u64,
    mut compared: impl FnMut(usize),
) -> Result<EquivarianceReport> {
    let element =
        |g| ElementError { element: acts.name(g), policy_error: 0.0, value_error: 0.0, divergence: 0.0 };
    let mut report = EquivarianceReport {
        policy_error: 0.0,
        value_error: 0.0,
        equivariant: true,
        elements: (0..acts.count()).map(element).collect(),
        first_failing_layer: None,
        states,
        mean_action: policy.acts_by_vectors().then_some(0.0),
        mean_likeliest: (!policy.acts_by_vectors()).then_some(0.0),
    };
    let mut failing: Option<(usize, String)> = None;
    for first in (0..states).step_by(AT_ONCE) {
        let some = first..states.min(first.saturating_add(AT_ONCE));
        let done = some.end;
        let layer = compare(policy, envs, (acts, cause), some, seed, &mut report)?;
        failing = [failing, layer].into_iter().flatten().min();
        compared(done);
    }
    for error in &report.elements {
        report.policy_error = report.policy_error.max(error.policy_error);
        report.value_error = report.value_error.max(error.value_error);
    }
    report.equivariant = report.policy_error < TOLERANCE && report.value_error < TOLERANCE;
    report.first_failing_layer = match failing {
        Some((_, name)) => Some(name),
        None if !report.equivariant && has_regular_channels(policy, acts)? => Some("heads".into()),
        None => None,
    };
    Ok(report)
}

/// Compares some states, and adds what they show. Gives the first layer whose features do not turn.
fn compare(
    policy: &Policy,
    envs: &dyn Envs,
    (acts, cause): (&GroupAction, bool),
    states: Range<usize>,
    seed: u64,
    report: &mut EquivarianceReport,
) -> Result<Option<(usize, String)>> {
    let sample = states_of(envs, states.clone(), seed)?;
    // Tokens turn with the state: the policy is equivariant in both together.
    let (team, order) = (sample.spec().agents, policy.token_order());
    let tokens: Vec<Vec<Token>> =
        states.clone().map(|number| Token::team(seed, number as u64, team, order)).collect();
    let states = states.len();
    let group = acts.group.clone();
    let config = policy.config();
    let here = observe_with(&*sample, &tokens.concat(), config, &Sharing::Distinct)?;
    let (said, layers) = policy.explain(&here)?;
    let (agents, actions) = (sample.spec().agents, policy.actions());
    let exact = sample.exact().ok_or_else(|| not_exact(sample.spec()))?;
    if let Some(mean) = &mut report.mean_action {
        let mut vector = vec![0.0; actions - 1];
        let rows = said.log_probabilities.chunks(actions).map(|row| {
            policy.squash().apply(Gaussian::of(row).mean, &mut vector);
            vector.iter().map(|x| x * x).sum::<f64>().sqrt()
        });
        *mean += rows.sum::<f64>() / (report.states * agents) as f64;
    }
    if let Some(mean) = &mut report.mean_likeliest {
        let likeliest = |row: &[f32]| f64::from(row.iter().fold(f32::NEG_INFINITY, |m, p| m.max(*p)).exp());
        *mean += said.log_probabilities.chunks(actions).map(likeliest).sum::<f64>()
            / (report.states * agents) as f64;
    }
    let mut failing: Option<usize> = None;
    let total = report.states;
    for (g, error) in report.elements.iter_mut().enumerate() {
        let moved = match acts.turn(g) {
            None if cause => exact.transformed_along(g)?,
            None => exact.transformed(g)?,
            Some(turn) => exact.turned(turn)?,
        };
        let moved_tokens = tokens.iter().map(|team| Token::transformed(team, acts, g)).collect::<Vec<_>>();
        let there = observe_with(&*moved, &moved_tokens.concat(), config, &Sharing::Distinct)?;
        let (turned, turned_layers) = policy.explain(&there)?;
        for state in 0..states {
            for agent in 0..agents {
                let row = |agent: usize, action: usize| ((state * agents + agent) * actions) + action;
                if policy.acts_by_vectors() {
                    let here = &said.log_probabilities[row(agent, 0)..][..actions];
                    let there = &turned.log_probabilities[row(acts.agent(g, agent), 0)..][..actions];
                    error.policy_error = distribution_gap((policy, acts), g, here, there, error.policy_error);
                    error.divergence += gaussian_divergence(acts, g, here, there) / (total * agents) as f64;
                    continue;
                }
                for action in 0..actions {
                    let a = said.log_probabilities[row(agent, action)].exp();
                    let to = row(acts.agent(g, agent), acts.action(g, action));
                    let b = turned.log_probabilities[to].exp();
                    error.policy_error = worse(error.policy_error, a, b);
                    // An action that is impossible adds nothing.
                    let apart = turned.log_probabilities[to] - said.log_probabilities[row(agent, action)];
                    if b > 0.0 {
                        error.divergence += f64::from(b * apart) / (total * agents) as f64;
                    }
                }
            }
            let (here, there) = (said.values[state], turned.values[state]);
            // What is rounded is in proportion to the value.
            let scale = here.abs().max(1.0);
            error.value_error = worse(error.value_error, here / scale, there / scale);
        }
        // A group channel h of an agent's features moves to gh of the turned agent. Features of a network under another
        // group do not say how they turn; then only the output is judged.
        if has_regular_channels(policy, acts)? {
            let order = group.order();
            let central = config.kind.is_central();
            let rows = if central { 1 } else { agents };
            for (index, (a, b)) in layers.iter().zip(&turned_layers).enumerate() {
                let width = a.width;
                let mut gap = 0.0f64;
                for state in 0..states {
                    for agent in 0..rows {
                        let image = if central { 0 } else { acts.agent(g, agent) };
                        let (from, to) = (state * rows + agent, state * rows + image);
                        for k in 0..width {
                            let moved = k / order * order + group.mul(g, k % order);
                            gap = worse(gap, a.rows[from * width + k], b.rows[to * width + moved]);
                        }
                    }
                }
                let scale = a.rows.iter().fold(1.0f32, |m, v| m.max(v.abs()));
                if gap > TOLERANCE * f64::from(scale) && failing.is_none_or(|f| index < f) {
                    failing = Some(index);
                }
            }
        }
    }
    Ok(failing.map(|index| (index, layers[index].name.clone())))
}

/// Whether features are group channels of this very group, so that it is known how they turn.
fn has_regular_channels(policy: &Policy, acts: &GroupAction) -> Result<bool> {
    let config = policy.config();
    Ok(acts.turn(0).is_none() && config.symmetry()?.is_finite() && config.group()? == acts.group)
}

/// How far the distribution of a vector is from turning: the largest difference of a number of its mean after the squash, and
/// of its deviation before it. They say all about it.
fn distribution_gap(
    (policy, acts): (&Policy, &GroupAction),
    g: Element,
    here: &[f32],
    there: &[f32],
    so_far: f64,
) -> f64 {
    let (here, there) = (Gaussian::of(here), Gaussian::of(there));
    let dim = here.mean.len();
    let (mut mean, mut turned, mut found) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    // Drawn vectors turn before the squash, as the mean does, and the squash turns along if its ball or box does.
    policy.squash().apply(here.mean, &mut mean);
    acts.vector(g, &mean, &mut turned);
    policy.squash().apply(there.mean, &mut found);
    let pairs = turned.iter().zip(&found).map(|(a, b)| (*a as f32, *b as f32));
    pairs.chain([(here.deviation(), there.deviation())]).fold(so_far, |worst, (a, b)| worse(worst, a, b))
}

/// KL(N(t, s^2), N(g m, r^2)) = d ln(r/s) + (d s^2 + |t - g m|^2) / (2 r^2) - d/2, of the vector in the transformed state (t, s)
/// from the transformed one of the state (m, r), both before the squash.
fn gaussian_divergence(acts: &GroupAction, g: Element, here: &[f32], there: &[f32]) -> f64 {
    let (here, there) = (Gaussian::of(here), Gaussian::of(there));
    let dim = here.mean.len();
    let mean: Vec<f64> = here.mean.iter().map(|x| f64::from(*x)).collect();
    let mut turned = vec![0.0; dim];
    acts.vector(g, &mean, &mut turned);
    let apart: f64 = turned.iter().zip(there.mean).map(|(a, b)| (a - f64::from(*b)).powi(2)).sum();
    let (r, s, d) = (f64::from(here.deviation()), f64::from(there.deviation()), dim as f64);
    d * (r / s).ln() + (d * s * s + apart) / (2.0 * r * r) - d / 2.0
}

/// States from the middle of random episodes: after some steps of random actions.
///
/// # Errors
/// If the world is not exact.
pub fn random_states(envs: &dyn Envs, count: usize, seed: u64) -> Result<Box<dyn Envs>> {
    states_of(envs, 0..count, seed)
}

/// Those with these numbers.
fn states_of(envs: &dyn Envs, numbers: Range<usize>, seed: u64) -> Result<Box<dyn Envs>> {
    let mut sample = envs.exact().ok_or_else(|| not_exact(envs.spec()))?.fork(numbers.len());
    let mut actions = Joint::of(envs.spec());
    for (e, number) in numbers.enumerate() {
        let mut stream = Stream::new(seed, Purpose::Audit, number as u64);
        sample.start(e, Stream::new(seed, Purpose::World, number as u64))?;
        for _ in 0..stream.below(60) {
            actions.take_uniform(sample.world(e), &mut stream);
            if actions.step(&mut *sample, e)?.end != End::Running {
                sample.restart(e)?;
            }
        }
    }
    Ok(sample)
}

fn not_exact(spec: &Spec) -> Error {
    Error::Mismatch(format!(
        "the world `{}` cannot be transformed as a whole, so there is nothing to compare with",
        spec.world
    ))
}

fn worse(so_far: f64, a: f32, b: f32) -> f64 {
    let gap = (f64::from(a) - f64::from(b)).abs();
    if gap.is_nan() { f64::INFINITY } else { so_far.max(gap) }
}
