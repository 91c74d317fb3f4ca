//! Training is a function of its config: same bits whatever the threads, whatever stops it in between; and it learns.

use equimarl_learn::checkpoint::Snapshot;
use equimarl_learn::run::{self, Ended};
use equimarl_learn::{
    AugmentRatio, Choice, Games, Inference, Method, Optimiser, RunFolder, TrainConfig, Trainer, checkpoint,
    evaluate,
};
use equimarl_nn::Network;
use equimarl_worlds::builtin;
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

fn tiny(world: &str, method: Method, seed: u64, steps: u64) -> TrainConfig {
    let registry = builtin();
    let base = TrainConfig::preset(&registry, "paper", registry.usual(world).unwrap(), method).unwrap();
    let changes = format!(
        "seed = {seed}\nsteps = {steps}\nwarm_up = 3\nevaluate_every = 400\nevaluate_episodes = 3\n\
         checkpoint_every = 240\nlog_every = 80"
    );
    TrainConfig::overlay(&registry, &base, &changes).unwrap()
}

/// A folder of its own for each test, removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("equimarl-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn go(folder: &Path) -> Ended {
    go_for(folder, u32::MAX)
}

/// Asks the run to stop after so many iterations.
fn go_for(folder: &Path, iterations: u32) -> Ended {
    let done = Cell::new(0);
    let stop = || done.get() >= iterations;
    run::train(&builtin(), folder, &json!({ "commit": "test" }), &stop, &mut |event| {
        done.set(done.get() + u32::from(matches!(event, run::Event::Iteration { .. })));
    })
    .unwrap()
}

/// Everything that a run leaves, but for the three fields that depend on the clock and the machine.
fn result(folder: &Path) -> (String, Vec<u8>, Value) {
    let mut summary = json!(RunFolder::at(folder).read_summary().unwrap().unwrap());
    for field in ["steps_per_second", "wall_seconds", "peak_memory_mb"] {
        summary.as_object_mut().unwrap().remove(field).unwrap();
    }
    let metrics = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    (metrics, fs::read(folder.join("model.safetensors")).unwrap(), summary)
}

#[test]
fn stopping_and_continuing_changes_nothing() {
    for (world, method) in [
        ("wildlife", Method::Equivariant),
        ("wildlife", Method::AugmentRandom),
        ("traffic", Method::AugmentFull),
        ("traffic", Method::CentralEquivariant),
    ] {
        let config = tiny(world, method, 7, 800);
        let whole = Folder::new(&format!("whole-{method}"));
        run::create(&builtin(), &whole.0, &config).unwrap();
        assert!(matches!(go(&whole.0), Ended::Finished(_)));

        let parts = Folder::new(&format!("parts-{method}"));
        run::create(&builtin(), &parts.0, &config).unwrap();
        let mut stops = 0;
        loop {
            match go_for(&parts.0, 3) {
                Ended::Finished(_) => break,
                Ended::Stopped { .. } => stops += 1,
            }
        }
        assert!(stops >= 2, "{stops}");
        assert_eq!(result(&whole.0), result(&parts.0), "{method}");
        assert!(checkpoint::list(&parts.0.join("checkpoint")).unwrap().len() <= 2);
    }
}

/// Whoever waits for a run that another process is just finishing must leave it alone.
#[test]
fn a_run_that_is_finished_meanwhile_stays_as_it_is() {
    let config = tiny("wildlife", Method::Plain, 7, 160);
    let done = Folder::new("meanwhile-done");
    run::create(&builtin(), &done.0, &config).unwrap();
    go(&done.0);
    let before = result(&done.0);
    let moved = Folder::new("meanwhile-moved");
    for moves in [false, true] {
        // As it was a moment before its end, with somebody at it.
        let summary = fs::read(done.0.join("summary.json")).unwrap();
        fs::remove_file(done.0.join("summary.json")).unwrap();
        let metrics = fs::OpenOptions::new().write(true).open(done.0.join("metrics.jsonl")).unwrap();
        metrics.lock().unwrap();
        std::thread::scope(|scope| {
            // It stops at once: if it went on, it would write again what it should not have cut off.
            let other = scope.spawn(|| run::train(&builtin(), &done.0, &json!({}), &|| true, &mut |_| {}));
            std::thread::sleep(std::time::Duration::from_millis(60));
            fs::write(done.0.join("summary.json"), &summary).unwrap();
            if moves {
                fs::rename(&done.0, &moved.0).unwrap();
            }
            metrics.unlock().unwrap();
            match other.join().unwrap() {
                Ok(ended) => assert!(matches!(ended, Ended::Finished(_)) && !moves),
                Err(error) => assert!(moves, "{error}"),
            }
        });
        assert_eq!(result(if moves { &moved.0 } else { &done.0 }), before);
    }
}

#[test]
fn a_run_in_progress_shows_the_team_so_far() {
    for method in [Method::Equivariant, Method::CentralPlain] {
        let config = tiny("wildlife", method, 7, 800);
        let folder = Folder::new(&format!("so-far-{method}"));
        run::create(&builtin(), &folder.0, &config).unwrap();
        assert!(Snapshot::latest(&builtin(), &folder.0).unwrap().is_none());
        let Ended::Stopped { steps } = go_for(&folder.0, 3) else { panic!("it should have stopped") };
        let found = Snapshot::latest(&builtin(), &folder.0).unwrap().unwrap();
        assert_eq!((found.steps, &found.config), (steps, &config));
        let checkpoints = folder.0.join("checkpoint");
        let fresh = || Trainer::new(&builtin(), &config);
        let (trainer, _) =
            checkpoint::restore_latest(&builtin(), &checkpoints, fresh, |e| panic!("{e}")).unwrap();
        assert_eq!(found.network.parameters(), trainer.network().parameters());
        assert_ne!(found.network.parameters(), fresh().unwrap().network().parameters());

        // Damaged ones are refused, not shown.
        let (_, file) = checkpoint::list(&checkpoints).unwrap().swap_remove(0);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert!(Snapshot::load(&builtin(), &file).is_err());
    }
}

#[test]
fn stopping_in_the_middle_of_an_evaluation_changes_nothing() {
    let short = "warm_up = 0\n[world]\nstep_limit = 30";
    let config = TrainConfig::overlay(&builtin(), &tiny("traffic", Method::Plain, 7, 480), short).unwrap();
    let whole = Folder::new("judged-whole");
    run::create(&builtin(), &whole.0, &config).unwrap();
    go(&whole.0);
    let parts = Folder::new("judged-parts");
    run::create(&builtin(), &parts.0, &config).unwrap();
    // Every step of an evaluation asks whether to stop, and an evaluation has 60 of them.
    let (mut stops, mut patience) = (0, 10);
    loop {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() >= patience
        };
        match run::train(&builtin(), &parts.0, &json!({ "commit": "test" }), &stop, &mut |_| {}).unwrap() {
            Ended::Finished(_) => break,
            Ended::Stopped { .. } => stops += 1,
        }
        patience += 10;
    }
    assert!(stops >= 3, "{stops}");
    assert_eq!(result(&whole.0), result(&parts.0));
}

#[test]
fn work_after_the_last_checkpoint_is_done_again_alike() {
    let config = tiny("wildlife", Method::Plain, 3, 800);
    let whole = Folder::new("again-whole");
    run::create(&builtin(), &whole.0, &config).unwrap();
    go(&whole.0);
    let killed = Folder::new("again-killed");
    run::create(&builtin(), &killed.0, &config).unwrap();
    go_for(&killed.0, 7);
    // As if it had been killed later: lines of metrics that no checkpoint knows of, and a checkpoint cut short.
    let metrics = killed.0.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, format!("{text}{{\"steps\":9")).unwrap();
    let latest = checkpoint::list(&killed.0.join("checkpoint")).unwrap().remove(0).1;
    let bytes = fs::read(&latest).unwrap();
    fs::write(&latest, &bytes[..bytes.len() / 2]).unwrap();
    let mut warnings = 0;
    run::train(&builtin(), &killed.0, &json!({ "commit": "test" }), &|| false, &mut |event| {
        warnings += u32::from(matches!(event, run::Event::Warning(_)));
    })
    .unwrap();
    assert_eq!(warnings, 1);
    assert_eq!(result(&whole.0), result(&killed.0));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let weights = |threads: usize, world: &str, method: Method| {
        let config = tiny(world, method, 5, 240);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut trainer = Trainer::new(&builtin(), &config).unwrap();
            while !trainer.is_finished() {
                trainer.iterate().unwrap();
            }
            trainer.network().parameters()
        })
    };
    for method in [Method::Equivariant, Method::Plain] {
        for world in ["wildlife", "traffic", "spread", "tag"] {
            let (one, two) = (weights(1, world, method), weights(2, world, method));
            assert!(one == two, "{method}");
        }
    }
}

/// One bad weight anywhere stops training, with what to do about it; a zero that is skipped does not hide it.
#[test]
fn numbers_that_are_not_finite_stop_training() {
    for world in ["wildlife", "traffic"] {
        for method in [Method::Equivariant, Method::Plain, Method::CentralPlain] {
            let config = tiny(world, method, 5, 240);
            stops(&config);
        }
    }
    fn stops(config: &TrainConfig) {
        let fresh = Trainer::new(&builtin(), config).unwrap();
        for (name, range) in fresh.network().named() {
            for bad in [f32::NAN, f32::INFINITY] {
                let mut network = fresh.network().clone();
                network.values_mut()[range.start] = bad;
                let envs = config.make(&builtin(), config.environments).unwrap();
                let mut trainer = Trainer::with(config, envs, network).unwrap();
                let error = trainer.iterate().unwrap_err().to_string();
                let said = error.contains("after 0 steps; lower the learning rate");
                let what =
                    error.starts_with("the loss is ") || error.starts_with("the gradient is not finite");
                assert!(said && what, "{name}, {bad}: {error}");
            }
        }
    }
}

#[test]
fn a_gradient_that_is_not_finite_changes_nothing() {
    let config = tiny("wildlife", Method::Equivariant, 5, 240);
    let mut network = Network::init(&config.network(&builtin()).unwrap(), &mut || 0.1).unwrap();
    let before = network.values().to_vec();
    let mut optimiser = Optimiser::new(&network, 1e-3, 1.0);
    for bad in [f32::NAN, f32::INFINITY] {
        let mut gradients = vec![0.1; before.len()];
        gradients[7] = bad;
        let error = optimiser.update(&mut network, &mut gradients).unwrap_err().to_string();
        assert!(error.contains("the gradient is not finite"), "{error}");
        assert_eq!((network.values(), optimiser.steps()), (&before[..], 0));
    }
}

#[test]
fn an_equivariant_team_learns_to_catch_poachers() {
    for seed in 1..=3 {
        let mut config = tiny("wildlife", Method::Equivariant, seed, 6000);
        config.warm_up = 0;
        let mut trainer = Trainer::new(&builtin(), &config).unwrap();
        let mut best = f64::MIN;
        while !trainer.is_finished() && best < 1.5 {
            trainer.iterate().unwrap();
            best = best.max(trainer.episodes().mean_return().unwrap_or(f64::MIN));
        }
        assert!(best >= 1.5, "seed {seed}: {best}");
    }
}

/// A network that is equivariant by itself cannot tell augmented training from plain training: every copy says the same.
/// So this checks how states, actions, probabilities and elements are turned, with sampling, all at once.
#[test]
fn augmentation_changes_nothing_for_a_symmetric_network() {
    for ratio in [AugmentRatio::Copy, AugmentRatio::Rollout] {
        for world in ["wildlife", "traffic", "spread"] {
            let train = |method: Method| {
                let mut config =
                    TrainConfig { augment_ratio: ratio, ..tiny(world, Method::Equivariant, 5, 240) };
                // Agents that start at rest have gradients of nearly nothing, and Adam makes whole steps of their rounding.
                if world == "spread" {
                    config.learning_rate = 1e-6;
                }
                let network = config.network(&builtin()).unwrap();
                let mut x = 0.5f64;
                let mut normal = || {
                    x = (x * 997.0 + 0.1234).fract();
                    (x - 0.5) * 3.4
                };
                let network = Network::init(&network, &mut normal).unwrap();
                let config = TrainConfig { method, ..config };
                let envs = config.make(&builtin(), config.environments).unwrap();
                let mut trainer = Trainer::with(&config, envs, network).unwrap();
                (0..3)
                    .flat_map(|_| {
                        let p = trainer.iterate().unwrap();
                        [p.loss.total, p.loss.entropy, p.loss.approx_kl, p.gradient_norm]
                    })
                    .collect::<Vec<f64>>()
            };
            let plain = train(Method::Equivariant);
            for method in [Method::AugmentRandom, Method::AugmentFull] {
                for (a, b) in plain.iter().zip(train(method)) {
                    // Rounding differs between copies, and twelve steps of Adam carry it on.
                    assert!((a - b).abs() < 1e-4 + 1e-3 * a.abs(), "{} {method}: {a} {b}", world);
                }
            }
        }
    }
}

#[test]
fn runs_that_cannot_be_continued_say_why() {
    let folder = Folder::new("refused");
    assert!(RunFolder::at(&folder.0).read_config(&builtin()).is_err());
    let config = tiny("wildlife", Method::Plain, 1, 160);
    run::create(&builtin(), &folder.0, &config).unwrap();
    let twice = run::create(&builtin(), &folder.0, &config).unwrap_err().to_string();
    assert!(twice.contains("holds a run already"), "{twice}");
    // A checkpoint of other settings is not continued.
    go_for(&folder.0, 1);
    let other = TrainConfig { seed: 2, ..config };
    fs::write(folder.0.join("config.toml"), other.to_toml()).unwrap();
    let error =
        run::train(&builtin(), &folder.0, &Value::Null, &|| false, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("was made with seed = 1, and now it is 2; put it back"), "{error}");
}

#[test]
fn an_evaluation_does_not_depend_on_how_many_episodes_run_at_once() {
    for world in ["wildlife", "traffic", "spread", "tag"] {
        let config = tiny(world, Method::Equivariant, 1, 160);
        let mut trainer = Trainer::new(&builtin(), &config).unwrap();
        trainer.iterate().unwrap();
        let (network, policy) = (trainer.network(), trainer.network().policy().unwrap());
        let summary = |count: usize| {
            let mut envs = config.make(&builtin(), count).unwrap();
            let mut inference = Inference::new(&policy, &network.sharing(), &*envs).unwrap();
            let games = Games { episodes: 7, seed: 3, choice: Choice::Sampled };
            evaluate(&policy, &mut inference, &mut *envs, games, &|| false).unwrap().unwrap()
        };
        let all = summary(7);
        assert_eq!((summary(1), summary(3)), (all.clone(), all), "{world}");
    }
}
