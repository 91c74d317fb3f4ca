//! Training for long takes no more memory than training for a while.
#![cfg(target_os = "linux")]

use equimarl_learn::{Estimate, Method, TrainConfig, Trainer};
use equimarl_worlds::builtin;
use std::sync::{Mutex, PoisonError};

/// Tests share a process and so its memory: one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// What this process has in memory now, in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1024.0
}

#[test]
fn two_thousand_iterations_do_not_grow_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = builtin();
    let usual = registry.usual("wildlife").unwrap();
    let base = TrainConfig::preset(&registry, "paper", usual, Method::Equivariant).unwrap();
    let small = "environments = 4\nrollout = 2\nepochs = 1\nminibatches = 2\nsteps = 1000000";
    let config = TrainConfig::overlay(&registry, &base, small).unwrap();
    let mut trainer = Trainer::new(&registry, &config).unwrap();
    let mut seen = vec![];
    for iteration in 1..=2000 {
        trainer.iterate().unwrap();
        if iteration % 100 == 0 {
            seen.push(resident());
        }
    }
    let (warm, end) = (seen[2], seen[19]);
    assert!(end - warm < 4.0, "MB after every 100 iterations: {seen:?}");
    assert!(end < 200.0, "{end} MB");
}

/// Larger cities take what is expected of them, between half and two and a half.
#[test]
fn what_a_run_takes_is_known_before() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = builtin();
    for method in [Method::Plain, Method::Equivariant] {
        let base =
            TrainConfig::preset(&registry, "default", registry.usual("traffic").unwrap(), method).unwrap();
        let large = "evaluate_episodes = 1\n[world]\nrows = 30\ncols = 30";
        let config = TrainConfig::overlay(&registry, &base, large).unwrap();
        let config = TrainConfig { group: "C1".into(), ..config };
        let before = resident();
        let mut trainer = Trainer::new(&registry, &config).unwrap();
        trainer.iterate().unwrap();
        // The least that any run takes is in memory already.
        let taken = (resident() - before) * 1048576.0;
        let expected = Estimate::of(&registry, &config).unwrap();
        let ratio = (expected.bytes - 60e6) / taken;
        assert!((0.5..2.5).contains(&ratio), "{method}: {ratio}");
        expected.check(1e12, &config).unwrap();
        let error = expected.check(70e6, &config).unwrap_err().to_string();
        assert!(
            error.contains("900 agents, 8 environments") && error.contains("agents would fit"),
            "{error}"
        );
    }
    let world = registry.usual("traffic").unwrap().with("rows", 1000usize).with("cols", 1000usize);
    let config = TrainConfig::preset(&registry, "default", world, Method::Plain).unwrap();
    let bytes = Estimate::of(&registry, &config).unwrap().bytes;
    assert!(bytes > 5e10, "{bytes}");
}
