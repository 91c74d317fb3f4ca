//! Training for long takes no more memory than training for a while.
#![cfg(target_os = "linux")]

use equimarl_learn::{Method, TrainConfig, Trainer};
use equimarl_worlds::builtin;

/// What this process has in memory now, in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1024.0
}

#[test]
fn two_thousand_iterations_do_not_grow_memory() {
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
