//! How good a policy is: whole episodes on streams of their own, all at once.

use crate::error::Result;
use crate::observe::{Observer, States};
use crate::stuck::{StuckReport, Watch, Watcher};
use equimarl_nn::{Batch, Cache, Choice, Features, Policy, PolicyOutput, Sharing, Squash};
use equimarl_worlds::{End, Envs, Episode, Joint, Purpose, Spec, Stream, Summary, Tally, Token, World};

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

/// How a policy looks at states: what it has seen, and buffers. While its weights stay the same, what is known of an
/// observation is not computed again.
pub struct Inference {
    pub(crate) observer: Observer,
    pub(crate) batch: Batch,
    pub(crate) cache: Cache,
    pub(crate) said: PolicyOutput,
    pub(crate) states: States,
}

impl Inference {
    /// For states of this world, and policies like this one.
    ///
    /// # Errors
    /// If the policy was made for another world.
    pub fn new(policy: &Policy, sharing: &Sharing, envs: &dyn Envs) -> Result<Inference> {
        let observer = Observer::new(envs, policy.config(), sharing)?;
        // Whoever wants every observation by itself wants it pixel by pixel: parts are shared between images.
        let dictionary = policy.dictionary().filter(|_| *sharing != Sharing::None);
        Ok(Inference::of(observer.with_dictionary(envs, dictionary)))
    }

    pub(crate) fn of(observer: Observer) -> Inference {
        let (batch, cache) = (observer.batch(), Cache::default());
        Inference { observer, batch, cache, said: PolicyOutput::default(), states: States::default() }
    }

    /// What a policy without tokens says of some states.
    ///
    /// # Errors
    /// If the policy was made for another world, or has tokens.
    pub fn forward<'a>(
        &mut self,
        policy: &Policy,
        states: impl Iterator<Item = &'a dyn World>,
    ) -> Result<&PolicyOutput> {
        self.forward_with(policy, states.map(|state| (state, &[] as &[Token])))
    }

    /// What the policy says of some states, with the tokens that agents have in each.
    ///
    /// # Errors
    /// If the policy was made for another world.
    pub fn forward_with<'a>(
        &mut self,
        policy: &Policy,
        states: impl Iterator<Item = (&'a dyn World, &'a [Token])>,
    ) -> Result<&PolicyOutput> {
        self.see(states)?;
        policy.forward_in(&self.batch, &mut self.cache, &mut self.said)?;
        Ok(&self.said)
    }

    /// As [`Inference::forward_with`], with the features after every layer that has some.
    ///
    /// # Errors
    /// If the policy was made for another world.
    pub fn explain_with<'a>(
        &mut self,
        policy: &Policy,
        states: impl Iterator<Item = (&'a dyn World, &'a [Token])>,
    ) -> Result<(&PolicyOutput, Vec<Features>)> {
        self.see(states)?;
        let layers = policy.explain_in(&self.batch, &mut self.cache, &mut self.said)?;
        Ok((&self.said, layers))
    }

    /// Makes a batch of some states.
    fn see<'a>(&mut self, mut states: impl Iterator<Item = (&'a dyn World, &'a [Token])>) -> Result<()> {
        if self.observer.is_full() {
            self.observer.clear();
            self.batch.clear();
        } else if self.batch.is_full() {
            self.batch.clear();
        }
        self.states.clear();
        self.batch.next();
        states.try_for_each(|(state, tokens)| self.observer.see_with(state, tokens, &mut self.states))?;
        let all = (0..self.states.len()).map(|s| (s, 0));
        self.observer.collate(&self.states, all, &mut self.batch)
    }
}

/// Plays episodes 0.. of a seed, the same ones for every policy, and sums them up. As many episodes run side by side as there
/// are environments, so that each distinct observation is encoded once per step. Nothing if `stop` says so before they are
/// over.
///
/// # Errors
/// If the policy was made for another world, or a simulator fails.
pub fn evaluate(
    policy: &Policy,
    inference: &mut Inference,
    envs: &mut dyn Envs,
    what: Games,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Summary>> {
    Ok(evaluate_watched(policy, inference, envs, what, stop)?.map(|(summary, _)| summary))
}

/// As [`evaluate`], and says how many episodes were cut off with a greedy team that was stuck, and why; of a team whose actions
/// are drawn it says nothing.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_watched(
    policy: &Policy,
    inference: &mut Inference,
    envs: &mut dyn Envs,
    what: Games,
    stop: &dyn Fn() -> bool,
) -> Result<Option<(Summary, StuckReport)>> {
    let watcher = match what.choice {
        Choice::Greedy if !envs.is_empty() => Some(Watcher::new(policy, envs.world(0))?),
        _ => None,
    };
    let mut stuck = StuckReport::default();
    let mut waiting = 0..what.episodes;
    let mut games: Vec<Option<Game>> = vec![];
    let key = (what.seed, policy.token_order());
    for e in 0..envs.len().min(what.episodes) {
        games.push(Game::next(&mut waiting, envs, e, key)?);
    }
    let mut played: Vec<Option<Episode>> = vec![None; what.episodes];
    let (agents, actions) = (envs.spec().agents, policy.actions());
    let mut chosen = Joint::of(envs.spec());
    let spec = envs.spec().clone();
    while games.iter().any(Option::is_some) {
        if stop() {
            return Ok(None);
        }
        let running: Vec<usize> = (0..games.len()).filter(|&e| games[e].is_some()).collect();
        let tokens = |e: usize| games[e].as_ref().map_or(&[][..], |game| &game.tokens[..]);
        let said = inference.forward_with(policy, running.iter().map(|&e| (envs.world(e), tokens(e))))?;
        for (&e, rows) in running.iter().zip(said.log_probabilities.chunks(agents * actions)) {
            let Some(game) = &mut games[e] else { continue };
            decide_in((what.choice, policy.squash()), rows, &spec, &mut game.choice, &mut chosen);
            if let Some(watcher) = &watcher {
                game.watch.step(watcher, (envs.world(e), &game.tokens[..]), rows, &chosen);
            }
            if let Some(done) = game.step(envs, e, &chosen)? {
                game.watch
                    .finish(game.episode as u64, done.end)
                    .into_iter()
                    .for_each(|found| stuck.add(found));
                played[game.episode] = Some(done);
                games[e] = Game::next(&mut waiting, envs, e, key)?;
            }
        }
    }
    let played: Vec<Episode> = played.into_iter().flatten().collect();
    Ok(Some((Summary::of(&played, envs.spec()), stuck.sorted())))
}

/// What a team does of which a policy says these rows, as [`PolicyOutput`] has them.
pub fn decide(policy: &Policy, choice: Choice, rows: &[f32], spec: &Spec, stream: &mut Stream) -> Joint {
    let mut joint = Joint::of(spec);
    decide_in((choice, policy.squash()), rows, spec, stream, &mut joint);
    joint
}

/// As [`decide`], on a buffer that is kept.
fn decide_in(
    (choice, squash): (Choice, Squash),
    rows: &[f32],
    spec: &Spec,
    stream: &mut Stream,
    out: &mut Joint,
) {
    let count = spec.actions.count();
    let Some((bound, _)) = spec.actions.vectors() else {
        for (action, row) in out.choices.iter_mut().zip(rows.chunks(count)) {
            *action = choice.action(row, || stream.unit());
        }
        return;
    };
    let mut drawn = vec![0.0; count];
    // A row has the logarithm of the deviation besides.
    for (vector, row) in out.vectors.chunks_mut(count).zip(rows.chunks(count + 1)) {
        choice.vector(row, || stream.normal(), &mut drawn);
        squash.apply(&drawn, vector);
        vector.iter_mut().for_each(|a| *a *= bound);
    }
}

/// An episode that is being played.
struct Game {
    episode: usize,
    /// The seed, and the order of the group of tokens.
    key: (u64, usize),
    choice: Stream,
    tokens: Vec<Token>,
    watch: Watch,
    tally: Tally,
    total: f64,
    length: usize,
}

impl Game {
    /// Starts the next episode in an environment, if there is one.
    fn next(
        waiting: &mut std::ops::Range<usize>,
        envs: &mut dyn Envs,
        e: usize,
        key: (u64, usize),
    ) -> Result<Option<Game>> {
        waiting.next().map(|episode| Game::begin(episode, envs, e, key)).transpose()
    }

    fn begin(episode: usize, envs: &mut dyn Envs, e: usize, key: (u64, usize)) -> Result<Game> {
        let (seed, order) = key;
        let tokens = Token::team(seed, episode as u64, envs.spec().agents, order);
        let index = episode as u64;
        envs.start(e, Stream::new(seed, Purpose::Evaluation, index))?;
        let choice = Stream::new(seed, Purpose::EvaluationAction, index);
        Ok(Game {
            episode,
            key,
            choice,
            tokens,
            watch: Watch::default(),
            tally: Tally::default(),
            total: 0.0,
            length: 0,
        })
    }

    /// A step; gives the episode if it ended.
    fn step(&mut self, envs: &mut dyn Envs, e: usize, actions: &Joint) -> Result<Option<Episode>> {
        let outcome = actions.step(envs, e)?;
        if outcome.end == End::Abandoned {
            // The same episode from its start.
            *self = Game::begin(self.episode, envs, e, self.key)?;
            return Ok(None);
        }
        let world = envs.world(e);
        self.tally.step(world, outcome.end);
        self.total += outcome.reward;
        self.length += 1;
        Ok((outcome.end != End::Running).then(|| Episode {
            total: self.total,
            length: self.length,
            end: outcome.end,
            measures: self.tally.finish(world, outcome.end),
        }))
    }
}
