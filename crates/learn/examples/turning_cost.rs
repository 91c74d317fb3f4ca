//! What symmetry costs on feature observations: parameters, and the time of an update and of acting, for a plain network, C_n and
//! D_n with n = 4, 8, 16, 32, SO2 and O2, in spread with three agents in the disc. One thread.
//!
//! ```sh
//! cargo run --release -p equimarl-learn --example turning_cost
//! ```

use equimarl_learn::{Method, TrainConfig, Trainer};
use equimarl_worlds::builtin;
use std::error::Error;
use std::time::{Duration, Instant};

/// Each is timed for at least this long.
const TIME: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(all)
}

fn all() -> Result<(), Box<dyn Error + Send + Sync>> {
    let registry = builtin();
    let world = registry.usual("spread")?.with("actions", "continuous").with("arena", "disc");
    println!("| symmetry | parameters | trained steps/s | of plain |\n|---|---|---|---|");
    let groups = ["C4", "C8", "C16", "C32", "D4", "D8", "D16", "D32", "SO2", "O2"];
    let cells = [(Method::Plain, "D4")].into_iter().chain(groups.map(|group| (Method::Equivariant, group)));
    let mut plain = None;
    for (method, group) in cells {
        let base = TrainConfig::preset(&registry, "default", world.clone(), method)?;
        let config =
            TrainConfig::overlay(&registry, &base, &format!("group = '{group}'\nsteps = 100000000"))?;
        let mut trainer = Trainer::new(&registry, &config)?;
        trainer.iterate()?;
        let (start, first) = (Instant::now(), trainer.steps());
        while start.elapsed() < TIME {
            trainer.iterate()?;
        }
        let rate = (trainer.steps() - first) as f64 / start.elapsed().as_secs_f64();
        let plain = *plain.get_or_insert(rate);
        let name = if method == Method::Plain { "plain" } else { group };
        let parameters = trainer.network().values().len();
        println!("| {name} | {parameters} | {rate:.0} | {:.2} |", rate / plain);
    }
    Ok(())
}
