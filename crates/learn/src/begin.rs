//! How a run directory begins: fresh, with the weights of a trained team, or once more after its end.

use crate::checkpoint::{self, restore_latest};
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::estimate::check_memory;
use crate::folder::RunFolder;
use crate::interface::check_fit;
use crate::metrics::Metrics;
use crate::ppo::Trainer;
use crate::run::Notes;
use equimarl_files::{create_file, fnv1a_after};
use equimarl_nn::Network;
use equimarl_nn::model::{fnv1a, write_file};
use equimarl_worlds::{Described, Registry};
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Makes a run directory for a config.
///
/// # Errors
/// If the settings cannot train, it holds a run already, or cannot be written.
pub fn create(registry: &Registry, run: &Path, config: &TrainConfig) -> Result<()> {
    if !config.from.is_empty() {
        return Err(Error::BadConfig(
            "`from` tells which trained team a run began with; give the team itself with --from".into(),
        ));
    }
    begin(registry, run, config, None)
}

/// Makes a run directory for a config, with the weights of a trained team. The team may have learned in a world of another
/// size, if its network fits this one. Its settings name the team by its weights ([`TrainConfig::from`]).
///
/// # Errors
/// If the team's network is not one of these settings, or as [`create`].
pub fn create_from(registry: &Registry, run: &Path, config: &TrainConfig, team: &Network) -> Result<()> {
    let config = TrainConfig { from: mark(team), ..config.clone() };
    begin(registry, run, &config, Some(team))
}

/// A short name of exactly these weights.
fn mark(team: &Network) -> String {
    let bits = team.values().iter().fold(fnv1a(b""), |h, w| fnv1a_after(h, &w.to_bits().to_le_bytes()));
    format!("{bits:016x}")
}

fn begin(registry: &Registry, run: &Path, config: &TrainConfig, team: Option<&Network>) -> Result<()> {
    config.check()?;
    // What would be refused later is refused before there is a folder.
    let spec = Described {
        spec: config.make(registry, 1)?.spec().as_ref().clone(),
        ..registry.describe(&config.world)?
    };
    check_memory(registry, config)?;
    let wanted = Network::init(&config.network(registry)?, &mut || 0.0)?;
    let first = match team {
        None => None,
        Some(team) => {
            check_fit(&spec.spec, team.config())?;
            let (own, asked) = (team.config(), wanted.config());
            if (own.kind, &own.group) != (asked.kind, &asked.group) || team.named() != wanted.named() {
                let told = |config: &equimarl_nn::NetworkConfig| match config.interface.cause.is_empty() {
                    true => "",
                    false => ", told what breaks the symmetry",
                };
                return Err(Error::Mismatch(format!(
                    "the team to start from has another network ({} under {}{}) than this run ({} under {}{})",
                    own.kind,
                    own.group,
                    told(own),
                    asked.kind,
                    asked.group,
                    told(asked)
                )));
            }
            let mut trainer = Trainer::new(registry, config)?;
            trainer.network.values_mut().copy_from_slice(team.values());
            Some(trainer.checkpoint(&json!(Notes::default()))?)
        }
    };
    let folder = RunFolder::at(run);
    folder.check_empty()?;
    fs::create_dir_all(folder.checkpoints())
        .map_err(|why| Error::File { path: run.display().to_string(), why })?;
    // Of two who begin here at the same time, one makes this file.
    create_file(folder.config(), config.to_toml().as_bytes()).map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => folder.occupied(),
        _ => Error::File { path: folder.config().display().to_string(), why },
    })?;
    let rest = || {
        folder.write_spec(&spec)?;
        registry.keep(&config.world, &folder.world())?;
        first.iter().try_for_each(|bytes| checkpoint::write(&folder.checkpoints(), 0, bytes))
    };
    rest().inspect_err(|_| {
        // Half a beginning would be taken for a run. The first error says what is wrong.
        let _ = fs::remove_file(folder.config());
    })
}

/// Lets a run go on to more steps than it was made for. Afterwards it is not finished any more, and its settings are those of a
/// run that was made for as many steps from the start: so are its bits.
///
/// # Errors
/// If the number of steps changes what the run did until now, they are fewer, or somebody trains there.
pub fn extend(registry: &Registry, run: &Path, steps: u64) -> Result<()> {
    let folder = RunFolder::at(run);
    let registry = &registry.beside(&folder.world());
    let config = folder.read_config(registry)?;
    let (name, planned) = (run.display(), config.steps);
    if steps == planned {
        return Ok(());
    }
    if steps < planned {
        return Err(Error::BadRun(format!(
            "{name} was made for {planned} steps: a run can go on to more, not to fewer"
        )));
    }
    if config.decay {
        return Err(Error::BadRun(format!(
            "{name} cannot be extended: its learning rate falls to zero over its {planned} steps, so a run of {steps} is \
             another one from its first step on. Make that one, or let a new run begin with this team: `train --from {name}`"
        )));
    }
    let config = TrainConfig { steps, ..config };
    config.check()?;
    let had_metrics = folder.metrics().exists();
    let metrics = Metrics::open(folder.metrics())?;
    // Whether it can go on is found out before anything is touched.
    let sound = || {
        let fresh = || Trainer::new(registry, &config);
        let (_, notes) = restore_latest(registry, &folder.checkpoints(), fresh, |_| ())?;
        let notes = notes.ok_or_else(|| {
            Error::BadRun(format!("{name} cannot be extended: it has no checkpoint to go on from"))
        })?;
        let notes: Notes = serde_json::from_value(notes).map_err(|e| Error::BadRun(e.to_string()))?;
        metrics.check(notes.metrics)
    };
    sound().inspect_err(|_| {
        if !had_metrics {
            // Opening it made it.
            let _ = fs::remove_file(folder.metrics());
        }
    })?;
    // In this order: whoever is stopped in between finds a run that ends once more where it did.
    for file in [folder.summary(), folder.model()] {
        match fs::remove_file(&file) {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                return Err(Error::File { path: file.display().to_string(), why });
            }
            _ => {}
        }
    }
    Ok(write_file(folder.config(), config.to_toml().as_bytes())?)
}
