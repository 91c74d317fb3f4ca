//! Whole episodes of a controller, and what they amount to: means with their standard errors.

use crate::controller::Controller;
use crate::envs::Envs;
use crate::error::{Error, Result};
use crate::joint::Joint;
use crate::spec::{Over, Spec};
use crate::stream::{Purpose, Stream};
use crate::world::{End, World};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    /// The mean; not a number (`null` in JSON) when nothing was measured.
    #[serde(deserialize_with = "null_is_nan")]
    pub mean: f64,
    /// Sample standard deviation / sqrt(count); not a number (`null` in JSON) below two values.
    #[serde(deserialize_with = "null_is_nan")]
    pub stderr: f64,
}

/// For serde: JSON has no word for what is not a number, and says `null`.
///
/// # Errors
/// If it is neither a number nor null.
pub fn null_is_nan<'de, D: Deserializer<'de>>(source: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(source)?.unwrap_or(f64::NAN))
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
        let mut moments = Moments::default();
        values.iter().for_each(|value| moments.add(*value));
        moments.statistic()
    }
}

/// What an episode measures so far, by the declaration of its world.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Per measure: the sum over steps that had something to measure, and how many they were.
    sums: Vec<(f64, usize)>,
}

impl Tally {
    /// A step was taken; `world` is the state after it.
    pub fn step(&mut self, world: &dyn World, end: End) {
        let measures = &world.spec().measures;
        self.sums.resize(measures.len(), (0.0, 0));
        for (which, ((sum, count), measure)) in self.sums.iter_mut().zip(measures).enumerate() {
            if measure.over == Over::Steps
                && let Some(value) = world.measure(which, end)
            {
                *sum += value;
                *count += 1;
            }
        }
    }

    /// The episode is over: one value per measure. Nothing where this episode has nothing to measure (no vehicle
    /// finished); it is left out of that mean, as are steps with nothing to measure.
    pub fn finish(&self, world: &dyn World, end: End) -> Vec<Option<f64>> {
        let all = world.spec().measures.iter().enumerate();
        all.map(|(which, measure)| match measure.over {
            Over::Steps => match self.sums.get(which) {
                Some(&(sum, count)) if count > 0 => Some(sum / count as f64),
                _ => None,
            },
            Over::Episode => world.measure(which, end),
        })
        .collect()
    }
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub measures: BTreeMap<String, Statistic>,
}

/// What a spectator sees: the start, then the state after every step.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The state.
    pub world: &'a dyn World,
    /// What led to it; nothing at the start.
    pub actions: &'a Joint,
    /// Steps so far.
    pub step: usize,
    /// The sum of rewards so far.
    pub total: f64,
}

/// Plays episode number `index` of `seed` in the first environment: the world's chance comes from one stream, the
/// controller's from another, so every controller meets the same episodes. The environment is left in its last state. An
/// episode that a simulator lost is played again.
///
/// # Errors
/// If a simulator or the controller fails.
pub fn episode(
    envs: &mut dyn Envs,
    controller: &mut dyn Controller,
    seed: u64,
    index: u64,
) -> Result<Episode> {
    watched_episode(envs, controller, seed, index, |_| Ok::<(), Error>(()))
}

/// As [`episode`], with somebody watching, who may stop it with an error.
///
/// # Errors
/// What `watch` says, or if a simulator or the controller fails.
pub fn watched_episode<E: From<Error>>(
    envs: &mut dyn Envs,
    controller: &mut dyn Controller,
    seed: u64,
    index: u64,
    mut watch: impl FnMut(Moment<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<Episode, E> {
    let mut actions = Joint::of(envs.spec());
    'again: loop {
        let mut choice = Stream::new(seed, Purpose::EvaluationAction, index);
        envs.start(0, Stream::new(seed, Purpose::Evaluation, index))?;
        controller.begin(seed, index);
        let (mut tally, mut total, mut length) = (Tally::default(), 0.0, 0);
        watch(Moment { world: envs.world(0), actions: &Joint::default(), step: 0, total })?;
        loop {
            actions.take(controller, envs.world(0), &mut choice)?;
            let outcome = actions.step(envs, 0)?;
            if outcome.end == End::Abandoned {
                // The same episode from its start.
                continue 'again;
            }
            let world = envs.world(0);
            tally.step(world, outcome.end);
            total += outcome.reward;
            length += 1;
            watch(Moment { world, actions: &actions, step: length, total })?;
            if outcome.end != End::Running {
                controller.end(outcome.end);
                let measures = tally.finish(world, outcome.end);
                return Ok(Episode { total, length, end: outcome.end, measures });
            }
        }
    }
}

/// Plays episodes 0..`episodes` of `seed` and sums them up.
///
/// # Errors
/// If there are no episodes to play, or a simulator or the controller fails.
pub fn play(
    envs: &mut dyn Envs,
    controller: &mut dyn Controller,
    episodes: usize,
    seed: u64,
) -> Result<Summary> {
    play_each(envs, controller, episodes, seed, |_| ())
}

/// As [`play`], and says after each episode how many there were. No episode is kept, so there may be any number.
///
/// # Errors
/// As [`play`].
pub fn play_each(
    envs: &mut dyn Envs,
    controller: &mut dyn Controller,
    episodes: usize,
    seed: u64,
    mut played: impl FnMut(usize),
) -> Result<Summary> {
    if episodes == 0 {
        return Err(Error::BadWorld(
            "there is nothing to report about 0 episodes: ask for at least 1".into(),
        ));
    }
    let spec = envs.spec().clone();
    let (mut total, mut length) = (Moments::default(), Moments::default());
    let mut measures = vec![Moments::default(); spec.measures.len()];
    for index in 0..episodes {
        let one = episode(envs, controller, seed, index as u64)?;
        total.add(one.total);
        length.add(one.length as f64);
        for (moments, value) in measures.iter_mut().zip(one.measures) {
            value.into_iter().for_each(|value| moments.add(value));
        }
        played(index + 1);
    }
    let names = spec.measures.iter().map(|measure| measure.name.clone());
    Ok(Summary {
        episodes,
        total: total.statistic(),
        length: length.statistic(),
        measures: names.zip(measures.iter().map(Moments::statistic)).collect(),
    })
}

/// Mean and standard error of values that are seen once (Welford, 1962).
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u64,
    sum: f64,
    mean: f64,
    /// The sum of squared distances from the mean so far.
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    fn statistic(&self) -> Statistic {
        let n = self.count as f64;
        let stderr = if self.count < 2 { f64::NAN } else { (self.squares / (n - 1.0) / n).sqrt() };
        Statistic { mean: self.sum / n, stderr }
    }
}

impl Summary {
    /// Sums up finished episodes of a world.
    pub fn of(played: &[Episode], spec: &Spec) -> Summary {
        let over = |value: &dyn Fn(&Episode) -> Option<f64>| {
            Statistic::of(&played.iter().filter_map(value).collect::<Vec<_>>())
        };
        Summary {
            episodes: played.len(),
            total: over(&|e| Some(e.total)),
            length: over(&|e| Some(e.length as f64)),
            measures: spec
                .measures
                .iter()
                .enumerate()
                .map(|(k, measure)| (measure.name.clone(), over(&|e| e.measures.get(k).copied().flatten())))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::EnvBatch;
    use crate::controller::Named;
    use crate::envs::Loose;
    use crate::scene::Scene;
    use crate::spec::Measure;
    use crate::wildlife::Wildlife;
    use crate::world::{Edges, Outcome};
    use std::sync::Arc;

    fn drones() -> EnvBatch<Wildlife> {
        EnvBatch::of(&Wildlife::new(3, 7).unwrap(), 1)
    }

    fn named(name: &str) -> Result<Named> {
        Named::new(name, &drones().worlds()[0])
    }

    fn random() -> Named {
        named("random").unwrap()
    }

    #[test]
    fn the_report_has_the_promised_keys() {
        let summary = play(&mut drones(), &mut random(), 5, 1).unwrap();
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
        let mut envs = drones();
        let mut one = |seed, index| episode(&mut envs, &mut random(), seed, index).unwrap();
        let all: Vec<Episode> = (0..4).map(|index| one(3, index)).collect();
        assert_eq!(one(3, 2), all[2]);
        assert_ne!(one(4, 2), all[2]);
    }

    #[test]
    fn returns_lengths_and_captures_fit_together() {
        let mut envs = drones();
        for index in 0..50 {
            let e = episode(&mut envs, &mut random(), 1, index).unwrap();
            let captured = e.end == End::Terminated;
            assert_eq!(e.measures, [Some(f64::from(u8::from(captured)))]);
            let gain = e.total + 0.05 * e.length as f64;
            assert!((gain - gain.round()).abs() < 1e-9 && (gain.round() >= 2.0) == captured);
            assert!(captured || e.length == 100);
        }
    }

    #[test]
    fn wildlife_controllers_are_found_by_name_and_ordered_by_skill() {
        let means = ["random", "greedy", "optimal"].map(|name| {
            let mut found = named(name).unwrap();
            assert_eq!(found.name(), name);
            play(&mut drones(), &mut found, 300, 1).unwrap().total.mean
        });
        assert!(means.is_sorted(), "{means:?}");
        assert!(means[1] > means[0] + 1.0, "{means:?}");
        let error = named("clever").err().unwrap().to_string();
        assert!(error.contains("random, greedy or optimal"), "{error}");
    }

    /// Counts steps by what it measures: `odd` has something to measure after odd steps only, `never` has not.
    struct Clock(Arc<Spec>, usize);

    impl World for Clock {
        fn spec(&self) -> &Arc<Spec> {
            &self.0
        }
        fn reset(&mut self, _stream: &mut Stream) -> Result<()> {
            self.1 = 0;
            Ok(())
        }
        fn step(&mut self, _actions: &[usize], _stream: &mut Stream) -> Result<Outcome> {
            self.1 += 1;
            let end = if self.1 == 5 { End::Truncated } else { End::Running };
            Ok(Outcome { reward: 0.0, end })
        }
        fn observe(&self, _who: usize, _out: &mut [f32]) {}
        fn neighbours(&self, _agent: usize, edges: &mut Edges) {
            edges.clear();
        }
        fn measure(&self, which: usize, end: End) -> Option<f64> {
            match which {
                0 => Some(self.1 as f64),
                1 => (self.1 % 2 == 1).then_some(self.1 as f64),
                2 => None,
                _ => (end == End::Truncated).then_some(self.1 as f64),
            }
        }
        fn scene(&self) -> Result<Scene> {
            Err(Error::Draw("a clock".into()))
        }
    }

    #[test]
    fn steps_with_nothing_to_measure_are_left_out() {
        let mut spec = drones().worlds()[0].spec().as_ref().clone();
        let usual = spec.measures.remove(0);
        for (name, over) in
            [("all", Over::Steps), ("odd", Over::Steps), ("never", Over::Steps), ("last", Over::Episode)]
        {
            spec.measures.push(Measure { name: name.into(), over, ..usual.clone() });
        }
        let mut envs = Loose::new(vec![Clock(Arc::new(spec), 0)]).unwrap();
        let played = episode(&mut envs, &mut random(), 1, 0).unwrap();
        assert_eq!(played.measures, [Some(3.0), Some(3.0), None, Some(5.0)]);
        let mut envs = Loose::new(vec![Clock(envs.spec().clone(), 0)]).unwrap();
        envs.step_one(0, &[0; 3]).unwrap();
        let mut tally = Tally::default();
        assert_eq!(tally.finish(envs.world(0), End::Running), [None; 4]);
        tally.step(envs.world(0), End::Running);
        assert_eq!(tally.finish(envs.world(0), End::Running), [Some(1.0), Some(1.0), None, None]);
        envs.step_one(0, &[0; 3]).unwrap();
        tally.step(envs.world(0), End::Running);
        assert_eq!(tally.finish(envs.world(0), End::Running), [Some(1.5), Some(1.0), None, None]);
    }

    #[test]
    fn what_is_seen_once_has_the_same_moments() {
        let values: Vec<f64> = (0..1000).map(|i| 1e6 + f64::from(i * 7919 % 1000) * 1e-3).collect();
        let mut moments = Moments::default();
        values.iter().for_each(|v| moments.add(*v));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let (once, stderr) = (moments.statistic(), (squares / (n - 1.0) / n).sqrt());
        assert_eq!(once.mean, mean);
        assert!((once.stderr / stderr - 1.0).abs() < 1e-9, "{once:?} {stderr}");
        assert!(Moments::default().statistic().mean.is_nan());
    }

    #[test]
    fn no_episodes_are_refused() {
        assert!(play(&mut drones(), &mut random(), 0, 1).is_err());
        let one = play(&mut drones(), &mut random(), 1, 1).unwrap();
        assert!(serde_json::to_value(&one).unwrap()["return"]["stderr"].is_null());
    }
}
