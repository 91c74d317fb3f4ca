//! `equimarl train`: the main job.

mod display;
mod events;
mod set;
mod team;

use display::first_measure;
pub use display::{Display, sparkline};
use team::Team;

use crate::examples::examples;
use crate::number::whole;
use crate::output::{print, program};
use crate::outputs;
use crate::provenance;
use crate::registry;
use crate::stop::Stop;
use crate::world::{WorldArgs, methods, names};
use anyhow::{Context, Result, bail, ensure};
use clap::Args as ClapArgs;
use equimarl_learn::folder::{CONFIG, RunFolder, SUMMARY};
use equimarl_learn::run::{self, Ended, Event};
use equimarl_learn::{Method, RECENT, Summary, TrainConfig};
use equimarl_worlds::Summary as Played;
use events::Events;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A sweep's folder has it.
const SWEEP: &str = "sweep.toml";

#[derive(ClapArgs)]
#[command(after_help = examples(
    "Settings come from the preset, then from --config, then from flags; --set changes any but preset and world. The \
     resolved settings are written to the run directory. Ctrl-C writes a checkpoint; --resume continues with the same bits \
     as never having stopped (worlds that do not save their state go on with new episodes, and say so).",
    &[
        "train --world {world} --method equivariant --steps 100000 --seed 1 --out runs/a",
        "train --world {other} --method plain --preset paper --set lambda=0.95 --out runs/b",
        "train --resume runs/a",
        "train --resume runs/b --steps 200000",
        "train --world {world} --from runs/a --out runs/c",
    ],
))]
pub struct Args {
    /// The world to learn in [default: the first one].
    #[arg(long, value_name = "NAME", value_parser = names())]
    world: Option<String>,
    /// How to learn [default: equivariant].
    #[arg(long, value_name = "NAME", value_parser = methods())]
    method: Option<Method>,
    /// The symmetry that is built in or augmented with [default: what networks of the world usually get].
    #[arg(long)]
    group: Option<String>,
    /// Environment steps [default: the preset's, 100000].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    steps: Option<u64>,
    /// The seed of everything random [default: 0].
    #[arg(long, allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: Option<u64>,
    /// Adam's learning rate [default: the preset's].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// The settings to start from: default, or paper [default: default].
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Settings in a TOML file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Any other setting: --set discount=0.95, --set augment_ratio=rollout.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The run directory [default: runs/WORLD-METHOD-SEED].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in this directory. With more --steps than it was made for it goes on after its end, if its learning
    /// rate does not fall.
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
    /// Begin with the weights of a trained team, a run directory or a model file, in its world or one of another size.
    #[arg(long, value_name = "RUN_OR_FILE", conflicts_with = "resume")]
    from: Option<PathBuf>,
    /// Also write event files for TensorBoard, to a folder of the run's name in this one.
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
    /// Threads [default: all cores, or RAYON_NUM_THREADS]. The result does not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    threads: Option<usize>,
    /// Print nothing but errors.
    #[arg(long)]
    quiet: bool,
    /// Print one JSON object per line while training, and the summary as the last one.
    #[arg(long)]
    json: bool,
    /// Stop, with a checkpoint, when standard input ends: whoever started this has gone.
    #[arg(long, hide = true)]
    until_input_ends: bool,
    #[command(flatten)]
    size: WorldArgs,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    use_threads(args.threads)?;
    let folder = match &args.resume {
        Some(folder) => {
            Events::check(args.tensorboard.as_ref(), folder)?;
            resumable(args, folder)?;
            folder.clone()
        }
        None => {
            let team = args.from.as_deref().map(Team::read).transpose()?;
            let config = resolve(args, team.as_ref())?;
            let usual = || format!("runs/{}-{}-{}", config.world.name, config.method, config.seed).into();
            let folder = args.out.clone().unwrap_or_else(usual);
            RunFolder::at(&folder).check_empty()?;
            outputs::check_folder("--out", &folder)?;
            Events::check(args.tensorboard.as_ref(), &folder)?;
            match &team {
                None => run::create(registry(), &folder, &config)?,
                Some(team) => team.begin(&folder, &config, args.quiet)?,
            }
            folder
        }
    };
    if RunFolder::at(&folder).is_finished() && !RunFolder::at(&folder).is_whole() && !args.quiet {
        eprintln!(
            "{} is finished, and its model is gone: it is made again from the last checkpoint",
            folder.display()
        );
    }
    if let Some(summary) =
        RunFolder::at(&folder).read_summary()?.filter(|_| RunFolder::at(&folder).is_whole())
    {
        if args.json {
            print(&format!("{summary}\n"))?;
        }
        if !args.quiet {
            eprintln!("{} is finished; its summary is in {SUMMARY}", folder.display());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let events = Events::begin(args.tensorboard.as_ref(), &folder)?;
    let stop = Stop::listen()?;
    let stop = if args.until_input_ends { stop.with_input() } else { stop };
    drive(&folder, args.quiet, args.json, events, &stop)
}

/// Sets how many threads compute.
pub fn use_threads(threads: Option<usize>) -> Result<()> {
    if let Some(threads) = threads {
        ensure!((1..=1024).contains(&threads), "--threads must be between 1 and 1024, not {threads}");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    Ok(())
}

/// Runs until the end or a signal.
fn drive(folder: &Path, quiet: bool, json: bool, mut events: Events, stop: &Stop) -> Result<ExitCode> {
    let config = RunFolder::at(folder).read_config(registry())?;
    let mut display = Display::new(&config, folder, quiet, json);
    let again = format!("continue with: {} train --resume {}", program(), folder.display());
    let words = again.clone();
    stop.insist(move || eprintln!("stopped at once, after its last checkpoint; {words}"));
    let ended = run::train(registry(), folder, &provenance::origin(), &|| stop.asked(), &mut |event| {
        if let Event::Stopping = event {
            stop.writing();
        }
        events.hear(&event);
        display.hear(event);
    });
    events.close();
    display.close();
    match ended.with_context(|| format!("training in {} stopped", folder.display()))? {
        Ended::Finished(summary) => {
            if json {
                print(&format!("{summary}\n"))?;
            } else if !quiet {
                print(&closing(&summary, first_measure(&config).as_deref(), &alarms(&config), folder))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Ended::Stopped { steps } => {
            if !quiet {
                eprintln!("stopped after {steps} steps; {again}");
            }
            Ok(stop.code())
        }
    }
}

/// A resumed run has its settings; flags that would change them are refused. More steps are another matter.
fn resumable(args: &Args, folder: &Path) -> Result<()> {
    let given = [
        ("--out", args.out.is_some()),
        ("--config", args.config.is_some()),
        ("--preset", args.preset.is_some()),
        ("--set", !args.set.is_empty()),
    ];
    if let Some((option, _)) = given.iter().find(|g| g.1) {
        bail!("{option} cannot be used with --resume: a run keeps its settings");
    }
    let name = folder.display();
    ensure!(
        RunFolder::at(folder).is_run(),
        "{name} holds no run that could be continued: it has no {CONFIG}"
    );
    RunFolder::at(folder).check_world(registry())?;
    let config = RunFolder::at(folder).read_config(registry())?;
    let asked = overlay(args, &config, true)?;
    let same_length = TrainConfig { steps: config.steps, ..asked.clone() };
    if let Some((key, was, asked)) = config.difference(&same_length) {
        bail!(
            "{name} was made with {key} = {was}, not {asked}: a run keeps its settings; leave the flag out, or start a new run"
        );
    }
    if asked.steps != config.steps {
        let sweep = folder.ancestors().skip(1).take(2).find(|home| home.join(SWEEP).exists());
        if let Some(sweep) = sweep {
            bail!("{name} belongs to the sweep in {}; give that more steps", sweep.display());
        }
        run::extend(registry(), folder, asked.steps)?;
    }
    Ok(())
}

fn resolve(args: &Args, team: Option<&Team>) -> Result<TrainConfig> {
    let file = args.config.as_ref().map(|path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read the settings {}", path.display()))
    });
    let file = file.transpose()?.unwrap_or_default();
    let from_file: toml::Table = file.parse().unwrap_or_default();
    // World, method and preset decide the defaults of everything else, so they are found first.
    let text = |key: &str| from_file.get(key).and_then(toml::Value::as_str);
    let in_file = from_file.get("world").and_then(|w| w.get("name")).and_then(toml::Value::as_str);
    let world = match (args.world.as_deref(), in_file) {
        (Some(asked), Some(found)) if asked != found => {
            bail!("--world says another world than the settings file; leave one of them out")
        }
        (Some(name), _) | (None, Some(name)) => name,
        (None, None) if team.is_some() => team.map_or("", |team| &team.world.name),
        (None, None) => registry().names().first().copied().context("this program has no worlds")?,
    };
    let method = match (args.method, text("method")) {
        (Some(method), _) => method,
        (None, Some(name)) => name.parse()?,
        (None, None) => team.and_then(|team| team.method).unwrap_or(Method::Equivariant),
    };
    let preset = args.preset.as_deref().or(text("preset")).unwrap_or("default");
    // A team goes on in its own world, as far as nobody says otherwise.
    let own = team.map(|team| &team.world).filter(|own| own.name == world);
    let size = own.map_or_else(|| args.size.of(world), |own| args.size.over(own))?;
    let base = TrainConfig::preset(registry(), preset, size, method)?;
    let mut with_file = TrainConfig::overlay(registry(), &base, &file).context("in the settings file")?;
    let group_given = from_file.contains_key("group");
    if !group_given {
        with_file.group = usual_group(&with_file)?;
    }
    overlay(args, &with_file, group_given)
}

/// The flags over a config. A group that nobody gave follows the world's size.
fn overlay(args: &Args, base: &TrainConfig, group_given: bool) -> Result<TrainConfig> {
    let mut config = TrainConfig { world: args.size.over(&base.world)?, ..base.clone() };
    ensure!(
        args.world.as_ref().is_none_or(|asked| *asked == config.world.name),
        "these settings are for {}, not for the --world given",
        config.world.name
    );
    if let Some(method) = args.method {
        config.method = method;
    }
    if let Some(group) = &args.group {
        config.group = group.clone();
    }
    config.steps = args.steps.unwrap_or(config.steps);
    config.seed = args.seed.unwrap_or(config.seed);
    config.learning_rate = args.learning_rate.unwrap_or(config.learning_rate);
    // Here, too, so that what is wrong with a flag is not said of --set.
    config.check()?;
    let mut group_given = group_given || args.group.is_some();
    for change in &args.set {
        let (key, value) = set::split(change)?;
        group_given |= key == "group";
        config = set::apply(&config, key, value)?;
    }
    if !group_given {
        config.group = usual_group(&config)?;
    }
    config.check()?;
    Ok(config)
}

/// What networks of this world usually get with this method.
fn usual_group(config: &TrainConfig) -> Result<String> {
    Ok(equimarl_learn::usual_group(registry(), &config.world, config.method)?)
}

/// Measures of the world of a run that hide failures if nobody looks.
fn alarms(config: &TrainConfig) -> Vec<String> {
    registry().describe(&config.world).map_or(vec![], |described| described.spec.alarms)
}

/// What a person wants to know at the end.
fn closing(summary: &Summary, measure: Option<&str>, alarms: &[String], folder: &Path) -> String {
    let number = |x: Option<f64>| x.filter(|x| !x.is_nan()).map_or("-".into(), |x| format!("{x:.3}"));
    let evaluation = summary.evaluation.as_ref();
    let learned = match summary.episodes.min(RECENT as u64) {
        0 => "no training episode ended".into(),
        count => format!(
            "return of the last {count} training episodes {} +- {}",
            number(Some(summary.total.mean)),
            number(Some(summary.total.stderr))
        ),
    };
    let mut text = format!(
        "{} {} seed {}: {} steps in {} s ({} steps/s)\n",
        summary.world,
        summary.method,
        summary.seed,
        summary.steps,
        number(Some(summary.wall_seconds)),
        number(Some(summary.steps_per_second)),
    );
    text += &format!(
        "{learned}; evaluated {} (greedy actions), {} (sampled)\n",
        number(evaluation.map(|e| e.greedy.total.mean)),
        number(evaluation.map(|e| e.sampled.total.mean)),
    );
    if let Some(stuck) = evaluation.and_then(|e| e.stuck.as_ref()) {
        text += &format!("with greedy actions {stuck}\n");
    }
    if let Some(optimum) = summary.optimum() {
        text += &format!("the best possible mean return is {optimum:.3}\n");
    }
    let mean = |played: &Played, name: &str| played.measures.get(name).map(|s| s.mean);
    if let Some(name) = measure {
        text += &format!(
            "{name} in training {}; evaluated {} (greedy actions), {} (sampled)\n",
            number(summary.measure(name).map(|s| s.mean)),
            number(evaluation.and_then(|e| mean(&e.greedy, name))),
            number(evaluation.and_then(|e| mean(&e.sampled, name))),
        );
    }
    for name in alarms {
        text += &format!(
            "{name} evaluated {} (greedy actions), {} (sampled)\n",
            number(evaluation.and_then(|e| mean(&e.greedy, name))),
            number(evaluation.and_then(|e| mean(&e.sampled, name))),
        );
    }
    let abandoned = summary.more.get("abandoned").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if abandoned > 0 || !alarms.is_empty() {
        text += &format!("{abandoned} training episodes were abandoned\n");
    }
    text + &format!("the model is {}\n", RunFolder::at(folder).model().display())
}
