//! Whole episodes of a controller, and what they amount to: means with their standard errors.

use crate::controller::Controller;
use crate::error::{Error, Result};
use crate::stream::{Purpose, Stream};
use crate::world::{End, Outcome, World};
use serde::Serialize;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statistic {
    /// The mean; not a number (`null` in JSON) when nothing was measured.
    pub mean: f64,
    /// Sample standard deviation / sqrt(count); not a number (`null` in JSON) below two values.
    pub stderr: f64,
}

impl Statistic {
    /// The mean and standard error of independent values.
    ///
    /// ```
    /// use equimarl_worlds::Statistic;
    /// let s = Statistic::of(&[1.0, 2.0, 3.0]);
    /// assert_eq!(s.mean, 2.0);
    /// assert!((s.stderr - (1.0f64 / 3.0).sqrt()).abs() < 1e-12);
    /// ```
    pub fn of(values: &[f64]) -> Statistic {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let stderr = if values.len() < 2 { f64::NAN } else { (squares / (count - 1.0) / count).sqrt() };
        Statistic { mean, stderr }
    }
}

/// What a world counts besides return and length: captures, waiting times.
pub trait Measures<W: World> {
    /// The name of each measure, as it appears in reports.
    fn names(&self) -> &'static [&'static str];
    /// An episode has started.
    fn start(&mut self, _world: &W) {}
    /// A step was taken; `world` is the state after it.
    fn step(&mut self, _world: &W, _outcome: &Outcome) {}
    /// The episode is over: push one value per name, in their order. `None` means that this episode has nothing to
    /// measure (no vehicle finished), and it is left out of that mean.
    fn finish(&mut self, world: &W, values: &mut Vec<Option<f64>>);
}

/// No measures.
impl<W: World> Measures<W> for () {
    fn names(&self) -> &'static [&'static str] {
        &[]
    }

    fn finish(&mut self, _world: &W, _values: &mut Vec<Option<f64>>) {}
}

/// One finished episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// The sum of the team's rewards, not discounted.
    pub total: f64,
    /// The number of steps.
    pub length: usize,
    /// How it ended.
    pub end: End,
    /// The world's own measures, in the order of their names.
    pub measures: Vec<Option<f64>>,
}

/// What a number of episodes amount to. In JSON: `episodes`, `return`, `length` and one entry per measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many episodes.
    pub episodes: usize,
    /// The sum of rewards of an episode.
    #[serde(rename = "return")]
    pub total: Statistic,
    /// Steps of an episode.
    pub length: Statistic,
    /// The world's own measures by name.
    #[serde(flatten)]
    pub measures: BTreeMap<&'static str, Statistic>,
}

/// Plays episode number `index` of `seed`: the world's chance comes from one stream, the controller's from another, so
/// every controller meets the same episodes. `world` is left in its last state.
pub fn episode<W: World>(
    world: &mut W,
    controller: &mut dyn Controller<W>,
    measures: &mut dyn Measures<W>,
    seed: u64,
    index: u64,
) -> Episode {
    let played = watched_episode(world, controller, measures, seed, index, |_| Ok::<(), Infallible>(()));
    played.unwrap_or_else(|never| match never {})
}

/// What a spectator sees: the start, then the state after every step.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a, W> {
    /// The state.
    pub world: &'a W,
    /// The actions that led to it; none at the start.
    pub actions: &'a [usize],
    /// Steps so far.
    pub step: usize,
    /// The sum of rewards so far.
    pub total: f64,
}

/// As [`episode`], with somebody watching, who may stop it with an error.
///
/// # Errors
/// What `watch` says.
pub fn watched_episode<W: World, E>(
    world: &mut W,
    controller: &mut dyn Controller<W>,
    measures: &mut dyn Measures<W>,
    seed: u64,
    index: u64,
    mut watch: impl FnMut(Moment<'_, W>) -> std::result::Result<(), E>,
) -> std::result::Result<Episode, E> {
    let mut chance = Stream::new(seed, Purpose::Evaluation, index);
    let mut choice = Stream::new(seed, Purpose::EvaluationAction, index);
    world.reset(&mut chance);
    controller.start(world);
    measures.start(world);
    let mut actions = vec![0; world.agents()];
    let (mut total, mut length) = (0.0, 0);
    watch(Moment { world, actions: &[], step: 0, total })?;
    loop {
        controller.act(world, &mut choice, &mut actions);
        let draw = world.draw(&mut chance);
        let outcome = world.step(&actions, &draw);
        measures.step(world, &outcome);
        total += outcome.reward;
        length += 1;
        watch(Moment { world, actions: &actions, step: length, total })?;
        if outcome.end != End::Running {
            let mut values = Vec::with_capacity(measures.names().len());
            measures.finish(world, &mut values);
            assert_eq!(values.len(), measures.names().len(), "one value per measure");
            return Ok(Episode { total, length, end: outcome.end, measures: values });
        }
    }
}

/// Plays episodes 0..`episodes` of `seed` and sums them up.
///
/// # Errors
/// If there are no episodes to play.
pub fn play<W: World>(
    world: &W,
    controller: &mut dyn Controller<W>,
    measures: &mut dyn Measures<W>,
    episodes: usize,
    seed: u64,
) -> Result<Summary> {
    if episodes == 0 {
        return Err(Error::BadWorld(
            "there is nothing to report about 0 episodes: ask for at least 1".into(),
        ));
    }
    let mut world = world.clone();
    let played: Vec<Episode> =
        (0..episodes as u64).map(|index| episode(&mut world, controller, measures, seed, index)).collect();
    Ok(Summary::of(&played, measures.names()))
}

impl Summary {
    /// Sums up finished episodes whose measures have these names.
    pub fn of(played: &[Episode], names: &[&'static str]) -> Summary {
        let over = |value: &dyn Fn(&Episode) -> Option<f64>| {
            Statistic::of(&played.iter().filter_map(value).collect::<Vec<_>>())
        };
        Summary {
            episodes: played.len(),
            total: over(&|e| Some(e.total)),
            length: over(&|e| Some(e.length as f64)),
            measures: names.iter().enumerate().map(|(k, &name)| (name, over(&|e| e.measures[k]))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Uniform;
    use crate::wildlife::{CONTROLLERS, Captures, Wildlife, controller};

    #[test]
    fn the_report_has_the_promised_keys() {
        let world = Wildlife::new(3, 7).unwrap();
        let summary = play(&world, &mut Uniform, &mut Captures::default(), 5, 1).unwrap();
        let json = serde_json::to_value(&summary).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["captures", "episodes", "length", "return"]);
        assert_eq!(json["episodes"], 5);
        for name in ["captures", "length", "return"] {
            assert!(json[name]["mean"].is_f64() && json[name]["stderr"].is_f64());
        }
    }

    #[test]
    fn episodes_depend_on_seed_and_index_alone() {
        let mut world = Wildlife::new(3, 7).unwrap();
        let mut one = |seed, index| episode(&mut world, &mut Uniform, &mut Captures::default(), seed, index);
        let all: Vec<Episode> = (0..4).map(|index| one(3, index)).collect();
        assert_eq!(one(3, 2), all[2]);
        assert_ne!(one(4, 2), all[2]);
    }

    #[test]
    fn returns_lengths_and_captures_fit_together() {
        let mut world = Wildlife::new(3, 7).unwrap();
        for index in 0..50 {
            let e = episode(&mut world, &mut Uniform, &mut Captures::default(), 1, index);
            let captured = e.end == End::Terminated;
            assert_eq!(e.measures, [Some(f64::from(u8::from(captured)))]);
            let gain = e.total + 0.05 * e.length as f64;
            assert!((gain - gain.round()).abs() < 1e-9 && (gain.round() >= 2.0) == captured);
            assert!(captured || e.length == 100);
        }
    }

    #[test]
    fn wildlife_controllers_are_found_by_name_and_ordered_by_skill() {
        let world = Wildlife::new(3, 7).unwrap();
        let means: Vec<f64> = CONTROLLERS
            .iter()
            .map(|name| {
                let mut found = controller(name, &world).unwrap();
                assert_eq!(found.name(), *name);
                play(&world, &mut *found, &mut (), 300, 1).unwrap().total.mean
            })
            .collect();
        assert!(means.is_sorted(), "{means:?}");
        assert!(means[1] > means[0] + 1.0, "{means:?}");
        let error = controller("clever", &world).err().unwrap().to_string();
        assert!(error.contains("random, greedy or optimal"), "{error}");
    }

    #[test]
    fn no_episodes_are_refused() {
        let world = Wildlife::new(3, 7).unwrap();
        assert!(play(&world, &mut Uniform, &mut (), 0, 1).is_err());
        let one = play(&world, &mut Uniform, &mut (), 1, 1).unwrap();
        assert!(serde_json::to_value(&one).unwrap()["return"]["stderr"].is_null());
    }
}
