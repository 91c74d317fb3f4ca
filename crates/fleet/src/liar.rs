//! What one liar under its own name can do to a team, with and without a defence.
//!
//! One agent says what it likes to its neighbours and acts as always. It knows everything: the worst case is what gradients
//! through the network and through the defence find in every single state.

mod net;
mod search;
#[cfg(test)]
mod tests;

use crate::defence::Defence;
use crate::error::{Error, Result};
use crate::sight::Sight;
use crate::world::check;
use equimarl_nn::{Choice, Clip, Network, Policy, Scratch};
use equimarl_worlds::{End, Envs, Purpose, Stream};
use net::{Lies, Net, Rules, State, Trace};
use search::Search;

/// Without a defence a liar may say anything; it is given this many times what honest agents say.
const BEYOND: f64 = 1000.0;

/// What the liar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// The truth.
    None,
    /// Zeros.
    Zeros,
    /// Normal noise, ten times as large as honest messages get.
    Noise,
    /// What another agent says.
    Another,
    /// What moves the others' decisions most, by gradient through the defence.
    Worst,
}

impl Lie {
    /// All of them.
    pub const ALL: [Lie; 5] = [Lie::None, Lie::Zeros, Lie::Noise, Lie::Another, Lie::Worst];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Lie::None => "the truth",
            Lie::Zeros => "zeros",
            Lie::Noise => "noise",
            Lie::Another => "another agent's features",
            Lie::Worst => "its worst case",
        }
    }
}

/// What is studied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiarPlan {
    /// Who lies.
    pub liar: usize,
    /// How.
    pub lie: Lie,
    /// How many episodes.
    pub episodes: u32,
    /// Their seed.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiarFound {
    /// The return of every episode.
    pub returns: Vec<f64>,
    /// The largest change of a probability of an action of another agent, averaged over steps.
    pub moved: f64,
    /// The largest change in any step.
    pub most: f64,
    /// The computed bound on that change, averaged over steps; 1 without clipping.
    pub bound: f64,
    /// The least that the bound was above the change in any step: never below 0.
    pub slack: f64,
    /// Shares of honest messages that were clipped.
    pub clipped: f64,
}

/// Plays episodes with a liar, in the first of these environments. `clip` are the model's ranges, which also say how large lies
/// are; the defence says whether receivers use them.
///
/// # Errors
/// If the network is not one for images, does not fit the world, there is no such agent, or there are no episodes.
pub fn liar_study(
    network: &Network,
    clip: &Clip,
    envs: &mut dyn Envs,
    defence: &Defence,
    plan: LiarPlan,
) -> Result<LiarFound> {
    if plan.episodes == 0 {
        return Err(Error::Mismatch("there is nothing to study in 0 episodes: ask for at least 1".into()));
    }
    let policy = network.policy()?;
    let sight = Sight::new(check(envs, &policy)?, envs.spec());
    if !sight.shape().image {
        return Err(Error::Mismatch("liars are studied in networks for images only".into()));
    }
    let agents = envs.spec().agents;
    if plan.liar >= agents {
        let last = agents - 1;
        return Err(Error::BadFleet(format!("agent {} cannot lie: there are agents 0 to {last}", plan.liar)));
    }
    let net = Net::new(network, policy.rounds(), sight.shape().edge)?;
    let ranges: Vec<Vec<[f64; 2]>> = (0..net.rounds())
        .map(|l| clip.bounds(l, net.width(l)).into_iter().map(|r| r.map(f64::from)).collect())
        .collect();
    let clipping = defence.clip.is_some();
    let rules = Rules { clip: clipping.then(|| ranges.clone()), trimmed: defence.trimmed };
    let chance = Stream::new(plan.seed, Purpose::Audit, 77);
    let mut study =
        Study { net, policy, sight, ranges, rules, plan, chance, found: LiarFound::default(), steps: 0 };
    study.found.slack = f64::INFINITY;
    let mut counts = (0u64, 0u64);
    for episode in 0..plan.episodes {
        study.play(envs, clip, episode, &mut counts)?;
    }
    let LiarFound { returns, moved, most, bound, slack, .. } = study.found;
    let steps = study.steps.max(1) as f64;
    let clipped = counts.0 as f64 / counts.1.max(1) as f64;
    Ok(LiarFound { returns, moved: moved / steps, most, bound: bound / steps, slack, clipped })
}

struct Study {
    net: Net,
    policy: Policy,
    sight: Sight,
    ranges: Vec<Vec<[f64; 2]>>,
    rules: Rules,
    plan: LiarPlan,
    chance: Stream,
    found: LiarFound,
    steps: u64,
}

impl Study {
    fn play(
        &mut self,
        envs: &mut dyn Envs,
        clip: &Clip,
        episode: u32,
        counts: &mut (u64, u64),
    ) -> Result<()> {
        let (seed, mut total) = (self.plan.seed, 0.0);
        envs.start(0, Stream::new(seed, Purpose::Evaluation, episode.into()))?;
        let mut draws = Stream::new(seed, Purpose::EvaluationAction, episode.into());
        loop {
            let state = self.look(envs)?;
            let honest = self.net.forward(&state, None, &self.rules);
            if self.rules.clip.is_some() && self.plan.lie == Lie::None {
                count(&honest, clip, counts);
            }
            let trace = match self.plan.lie {
                Lie::None => honest,
                lie => {
                    let lies = self.lies(lie, &state, &honest);
                    let trace = self.net.forward(&state, Some((self.plan.liar, &lies)), &self.rules);
                    self.compare(&state, &honest, &trace);
                    trace
                }
            };
            self.steps += 1;
            let row = |p: &Vec<f64>| p.iter().map(|&p| p as f32).collect::<Vec<f32>>();
            let rows = trace.log_probabilities.iter().map(row);
            let actions: Vec<usize> = rows.map(|row| Choice::Sampled.action(&row, || draws.unit())).collect();
            let outcome = envs.step_one(0, &actions)?;
            total += outcome.reward;
            if outcome.end != End::Running {
                self.found.returns.push(total);
                return Ok(());
            }
        }
    }

    fn look(&mut self, envs: &dyn Envs) -> Result<State> {
        let (mut state, mut scratch, mut features) = (State::default(), Scratch::default(), vec![]);
        self.sight.look(envs.world(0))?;
        let dim = self.sight.shape().edge;
        for agent in 0..envs.spec().agents {
            let seen = self.sight.of(envs.world(0), agent)?;
            self.policy.encode(&seen.own, &mut scratch, &mut features)?;
            state.encoded.push(features.iter().map(|&x| x.into()).collect());
            let wide = |vector: &[f32]| vector.iter().map(|&x| x.into()).collect();
            let near = seen.neighbours.iter().zip(seen.edges.chunks_exact(dim));
            state.heard.push(near.map(|(j, edge)| (j.index().unwrap_or(0), wide(edge))).collect());
        }
        Ok(state)
    }

    /// How far a liar may go: to the ends of the ranges, or much further where nobody clips.
    fn bounds(&self) -> Vec<Vec<[f64; 2]>> {
        let far = |[lo, hi]: [f64; 2]| match self.rules.clip {
            Some(_) => [lo, hi],
            None => [-BEYOND * hi.abs().max(lo.abs()), BEYOND * hi.abs().max(lo.abs())],
        };
        self.ranges.iter().map(|of| of.iter().map(|r| far(*r)).collect()).collect()
    }

    fn lies(&mut self, lie: Lie, state: &State, honest: &Trace) -> Lies {
        let (agents, liar) = (state.encoded.len(), self.plan.liar);
        let all = |make: &mut dyn FnMut(usize, usize, [f64; 2]) -> f64| -> Lies {
            let round = |(l, ranges): (usize, &Vec<[f64; 2]>)| {
                let mut row = || ranges.iter().enumerate().map(|(k, r)| make(l, k, *r)).collect::<Vec<f64>>();
                (0..agents).map(|_| row()).collect()
            };
            self.ranges.iter().enumerate().map(round).collect()
        };
        match lie {
            Lie::None => honest.features.iter().map(|of| vec![of[liar].clone(); agents]).collect(),
            Lie::Zeros => all(&mut |_, _, _| 0.0),
            Lie::Noise => {
                let chance = &mut self.chance.clone();
                let lies = all(&mut |_, _, [_, hi]| 10.0 * hi * chance.normal());
                self.chance = chance.clone();
                lies
            }
            Lie::Another => {
                let other = (liar + 1) % agents;
                all(&mut |l, k, _| honest.features[l][other][k])
            }
            Lie::Worst => self.worst(state, honest),
        }
    }

    /// The most harmful of many: never a weaker one than zeros, noise or another agent's features are in this state.
    fn worst(&mut self, state: &State, honest: &Trace) -> Lies {
        let beginnings = [Lie::Zeros, Lie::Noise].map(|lie| self.lies(lie, state, honest));
        let (liar, bounds) = (self.plan.liar, self.bounds());
        let (net, rules) = (&self.net, &self.rules);
        let search = Search { net, state, honest, rules, liar, bounds: &bounds };
        search.worst(beginnings.into(), &mut self.chance).1
    }

    fn compare(&mut self, state: &State, honest: &Trace, trace: &Trace) {
        let liar = self.plan.liar;
        let bound = self.rules.clip.as_ref().map(|clip| self.net.bound(state, liar, &self.rules, clip));
        let (mut moved, mut most_bound) = (0.0f64, 0.0f64);
        for i in (0..state.encoded.len()).filter(|&i| i != liar) {
            for (a, (p, q)) in trace.log_probabilities[i].iter().zip(&honest.log_probabilities[i]).enumerate()
            {
                let change = (p.exp() - q.exp()).abs();
                moved = moved.max(change);
                let may = bound.as_ref().map_or(1.0, |bound| {
                    let [lo, hi] = bound[i][a];
                    (hi - q.exp()).max(q.exp() - lo)
                });
                most_bound = most_bound.max(may);
                self.found.slack = self.found.slack.min(may - change);
            }
        }
        self.found.moved += moved;
        self.found.most = self.found.most.max(moved);
        self.found.bound += most_bound;
    }
}

/// Counts honest messages, and those that would be clipped.
fn count(honest: &Trace, clip: &Clip, (clipped, all): &mut (u64, u64)) {
    let rounds = honest.features.len() - 1;
    for (l, of) in honest.features[..rounds].iter().enumerate() {
        for features in of {
            let mut message: Vec<f32> = features.iter().map(|&x| x as f32).collect();
            *clipped += u64::from(clip.clip(l, &mut message));
            *all += 1;
        }
    }
}
