//! Episodes that a simulator lost: nothing is learned from what they were in the rollout, and they are counted.

use equimarl_learn::{Method, TrainConfig, Trainer};
use equimarl_nn::Network;
use equimarl_worlds::{End, Envs, Outcome, Result, Resumed, Spec, Stream, World, builtin};
use serde_json::Value;
use std::sync::Arc;

/// Wildlife in a simulator that dies: environments below `dying` lose their episode in every third step, with a reward that would
/// ruin any network.
struct Dying {
    inner: Box<dyn Envs>,
    dying: usize,
    steps: usize,
}

impl Envs for Dying {
    fn spec(&self) -> &Arc<Spec> {
        self.inner.spec()
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn world(&self, e: usize) -> &dyn World {
        self.inner.world(e)
    }

    fn start(&mut self, e: usize, stream: Stream) -> Result<()> {
        self.inner.start(e, stream)
    }

    fn restart(&mut self, e: usize) -> Result<()> {
        self.inner.restart(e)
    }

    fn step_one(&mut self, e: usize, actions: &[usize]) -> Result<Outcome> {
        self.inner.step_one(e, actions)
    }

    fn step(&mut self, actions: &[usize], outcomes: &mut [Outcome]) -> Result<()> {
        self.inner.step(actions, outcomes)?;
        self.steps += 1;
        if self.steps.is_multiple_of(3) {
            outcomes[..self.dying].fill(Outcome { reward: 1e9, end: End::Abandoned });
        }
        Ok(())
    }

    fn save(&self) -> Value {
        self.inner.save()
    }

    fn load(&mut self, state: &Value) -> Result<Resumed> {
        self.inner.load(state)
    }
}

fn trainer(dying: usize, more: &str) -> Trainer {
    let registry = builtin();
    let world = registry.usual("wildlife").unwrap();
    let base = TrainConfig::preset(&registry, "paper", world, Method::Plain).unwrap();
    let changes = format!("environments = 3\nrollout = 9\nminibatches = 3\nwarm_up = 0\n{more}");
    let config = TrainConfig::overlay(&registry, &base, &changes).unwrap();
    let mut weights = Stream::new(1, equimarl_worlds::Purpose::Weights, 0);
    let network = Network::init(&config.network(&registry).unwrap(), &mut || weights.normal()).unwrap();
    let inner = config.make(&registry, 3).unwrap();
    Trainer::with(&config, Box::new(Dying { inner, dying, steps: 0 }), network).unwrap()
}

#[test]
fn nothing_is_learned_from_an_episode_that_was_lost() {
    for more in ["", "scale_returns = true"] {
        let mut trainer = trainer(2, more);
        for iteration in 1..=3 {
            let progress = trainer.iterate().unwrap();
            assert!(progress.loss.value < 1e3, "{more}: {}", progress.loss.value);
            assert!(progress.explained_variance < 1.0 + 1e-9 || progress.explained_variance.is_nan());
            assert_eq!(progress.abandoned, 6 * iteration);
            assert!(progress.finished.iter().all(|f| f.total < 1e6));
        }
    }
}

#[test]
fn an_iteration_in_which_everything_was_lost_changes_nothing() {
    let mut trainer = trainer(3, "");
    let before = trainer.network().values().to_vec();
    let progress = trainer.iterate().unwrap();
    assert_eq!((progress.abandoned, progress.loss.value), (9, 0.0));
    assert_eq!(trainer.network().values(), before);
    assert_eq!(trainer.steps(), 27);
}
