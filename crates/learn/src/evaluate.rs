//! How good a policy is: whole episodes on streams of their own, all at once.

use crate::error::Result;
use crate::observe::{Observer, States};
use crate::rollout::sample;
use equimarl_nn::{Batch, Cache, Judgement, Policy, Sharing};
use equimarl_worlds::{End, Episode, Measures, Purpose, Stream, Summary, Symmetric};

/// How actions are chosen from probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By their probability.
    Sampled,
    /// The likeliest, the first of several.
    Greedy,
}

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Games {
    /// How many episodes.
    pub episodes: usize,
    /// Their seed.
    pub seed: u64,
    /// How the policy's actions are chosen.
    pub choice: Choice,
}

/// How a policy looks at states: what it has seen, and buffers. While its weights stay the same, what is known of a picture
/// is not computed again.
pub struct Inference<W: Symmetric> {
    pub(crate) observer: Observer<W>,
    pub(crate) batch: Batch,
    pub(crate) cache: Cache,
    pub(crate) said: Judgement,
    pub(crate) states: States,
}

impl<W: Symmetric> Inference<W> {
    /// For states of `world`, and policies like this one.
    ///
    /// # Errors
    /// If the policy was made for another world.
    pub fn new(policy: &Policy, sharing: &Sharing, world: &W) -> Result<Inference<W>> {
        let observer = Observer::new(world, policy.config(), sharing)?;
        // Whoever wants every picture by itself wants it pixel by pixel: parts are shared between pictures.
        let dictionary = policy.dictionary().filter(|_| *sharing != Sharing::None);
        Ok(Inference::of(observer.with_dictionary(dictionary)))
    }

    pub(crate) fn of(observer: Observer<W>) -> Inference<W> {
        let (batch, cache) = (Batch::default(), Cache::default());
        Inference { observer, batch, cache, said: Judgement::default(), states: States::default() }
    }

    /// What the policy says of some states.
    ///
    /// # Errors
    /// If the policy was made for another world.
    pub(crate) fn judge<'a>(
        &mut self,
        policy: &Policy,
        mut states: impl Iterator<Item = &'a W>,
    ) -> Result<&Judgement>
    where
        W: 'a,
    {
        if self.observer.is_full() {
            self.observer.clear();
            self.batch.clear();
        } else if self.batch.is_full() {
            self.batch.clear();
        }
        self.states.clear();
        self.batch.next();
        states.try_for_each(|state| self.observer.see(state, &mut self.states))?;
        let all = (0..self.states.len()).map(|s| (s, 0));
        self.observer.collate(&self.states, all, &mut self.batch)?;
        policy.forward_in(&self.batch, &mut self.cache, &mut self.said)?;
        Ok(&self.said)
    }
}

/// Plays episodes 0.. of a seed, the same ones for every policy, and sums them up. All episodes run side by side, so
/// that each distinct picture is encoded once per step. Nothing if `stop` says so before they are over.
///
/// # Errors
/// If the policy was made for another world.
pub fn evaluate<W: Symmetric, M: Measures<W>>(
    policy: &Policy,
    inference: &mut Inference<W>,
    world: &W,
    what: Games,
    new_measures: impl Fn() -> M,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Summary>> {
    let start = |index| Game::start(world, new_measures(), what.seed, index);
    let mut games: Vec<Game<W, M>> = (0..what.episodes as u64).map(start).collect();
    let (agents, actions) = (world.agents(), policy.actions());
    loop {
        let mut running: Vec<&mut Game<W, M>> = games.iter_mut().filter(|g| g.done.is_none()).collect();
        if running.is_empty() {
            break;
        }
        if stop() {
            return Ok(None);
        }
        let said = inference.judge(policy, running.iter().map(|g| &g.world))?;
        for (game, rows) in running.iter_mut().zip(said.log_probabilities.chunks(agents * actions)) {
            let chosen: Vec<usize> = rows
                .chunks(actions)
                .map(|row| match what.choice {
                    Choice::Sampled => sample(actions, |a| row[a], &mut game.choice),
                    Choice::Greedy => likeliest(row),
                })
                .collect();
            game.step(&chosen);
        }
    }
    let names = new_measures().names();
    let played: Vec<Episode> = games.into_iter().filter_map(|g| g.done).collect();
    Ok(Some(Summary::of(&played, names)))
}

/// The first of the largest numbers.
pub fn likeliest(row: &[f32]) -> usize {
    (0..row.len()).fold(0, |best, a| if row[a] > row[best] { a } else { best })
}

struct Game<W, M> {
    world: W,
    measures: M,
    chance: Stream,
    choice: Stream,
    total: f64,
    length: usize,
    done: Option<Episode>,
}

impl<W: Symmetric, M: Measures<W>> Game<W, M> {
    fn start(world: &W, mut measures: M, seed: u64, index: u64) -> Game<W, M> {
        let mut world = world.clone();
        let mut chance = Stream::new(seed, Purpose::Evaluation, index);
        world.reset(&mut chance);
        measures.start(&world);
        let choice = Stream::new(seed, Purpose::EvaluationAction, index);
        Game { world, measures, chance, choice, total: 0.0, length: 0, done: None }
    }

    fn step(&mut self, actions: &[usize]) {
        let draw = self.world.draw(&mut self.chance);
        let outcome = self.world.step(actions, &draw);
        self.measures.step(&self.world, &outcome);
        self.total += outcome.reward;
        self.length += 1;
        if outcome.end != End::Running {
            let mut measures = vec![];
            self.measures.finish(&self.world, &mut measures);
            self.done = Some(Episode { total: self.total, length: self.length, end: outcome.end, measures });
        }
    }
}
