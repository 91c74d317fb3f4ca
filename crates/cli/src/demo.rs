//! `equimarl demo`: two teams learn side by side, one that knows that a turned world is the same world and one that does
//! not.

use crate::number::whole;
use crate::output::{print, program};
use crate::outputs;
use crate::registry;
use crate::train::sparkline;
use anyhow::{Context, Result, bail, ensure};
use clap::Args as ClapArgs;
use equimarl_lab::Record;
use equimarl_lab::figure::{Chart, Measure, Reference, learning_curves};
use equimarl_learn::{RECENT, RunFolder, Summary, TrainConfig};
use equimarl_nn::model::write_file;
use equimarl_worlds::{Spec, WorldConfig};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The two teams.
const METHODS: [&str; 2] = ["equivariant", "plain"];
const FIGURE: &str = "curves.svg";
const POINTS: usize = 30;
const BETWEEN_LINES: Duration = Duration::from_secs(5);

#[derive(ClapArgs)]
pub struct Args {
    /// Environment steps of each team.
    #[arg(long, value_name = "N", default_value_t = 60_000, value_parser = whole::<u64>)]
    steps: u64,
    /// The seed of both teams.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Where the two runs and the figure go; an earlier demo there is replaced.
    #[arg(long, value_name = "DIR", default_value = "runs/demo")]
    out: PathBuf,
}

impl Default for Args {
    fn default() -> Self {
        Args { steps: 60_000, seed: 1, out: "runs/demo".into() }
    }
}

pub fn run(args: &Args) -> Result<ExitCode> {
    outputs::check_folder("--out", &args.out)?;
    let world = demonstrated()?;
    let described = registry().describe(&world)?;
    clear(&args.out, &world)?;
    eprintln!(
        "{} Two teams learn it side by side: one team's network\n\
         knows that a turned world is the same world, the other has to find out. Both get {} steps of the same kind of\n\
         training.\n",
        registry().get(&world.name)?.about(),
        args.steps
    );
    let start = Instant::now();
    let children: Result<Vec<Child>> =
        METHODS.iter().map(|method| spawn(args, &world.name, method)).collect();
    watch(children?, args)?;
    let figure = args.out.join(FIGURE);
    let read = |m: &&str| Ok(Record::of_run(registry(), &args.out.join(m), m, None)?);
    let records = METHODS.iter().map(read).collect::<Result<Vec<Record>>>()?;
    ensure!(records.iter().all(|r| r.summary.is_some()), "a team ended without a summary");
    let best = records[0].optimum();
    let lines = best.map(|b| Reference::new(format!("best possible, {b:.2}"), b));
    let chart = Chart {
        title: format!("{}, one seed", described.title),
        description: "The return of the equivariant and of the plain team over their training.".into(),
        ..learning_curves(&records.iter().collect::<Vec<_>>(), &Measure::RETURN, lines.into_iter().collect())
    };
    write_file(&figure, chart.svg().as_bytes())?;
    print(&closing(&records, &described.spec, args, &figure, start.elapsed()))?;
    Ok(ExitCode::SUCCESS)
}

/// The world that is shown: the first one.
fn demonstrated() -> Result<WorldConfig> {
    let name = registry().names().first().copied().context("this program has no worlds")?;
    Ok(registry().usual(name)?)
}

/// Removes what an earlier demo left, and nothing else: if anything there is not a demo's, nothing is removed.
fn clear(folder: &Path, world: &WorldConfig) -> Result<()> {
    let mut earlier = vec![];
    for method in METHODS {
        let run = folder.join(method);
        if holds_demo(&run, world, method)? {
            ensure!(
                !RunFolder::at(&run).is_busy(),
                "another demo trains in {}; wait for it, or choose another folder with --out",
                run.display()
            );
            earlier.push(run);
        }
    }
    let figure = folder.join(FIGURE);
    ensure!(
        !earlier.is_empty() || !figure.exists(),
        "{} is there already, without the runs of a demo; choose another folder with --out",
        figure.display()
    );
    for run in earlier {
        remove(&run).with_context(|| format!("cannot replace {}", run.display()))?;
    }
    Ok(())
}

/// Whether an earlier demo trained here. Refuses a folder that holds anything else.
fn holds_demo(run: &Path, world: &WorldConfig, method: &str) -> Result<bool> {
    let empty = fs::read_dir(run).is_ok_and(|mut files| files.next().is_none());
    if empty || !run.try_exists().unwrap_or(true) {
        return Ok(false);
    }
    let mut own = TrainConfig::preset(registry(), "paper", world.clone(), method.parse()?)?;
    own.evaluate_every = 0;
    let made = RunFolder::at(run)
        .read_config(registry())
        .map(|found| found == TrainConfig { steps: found.steps, seed: found.seed, ..own })
        .unwrap_or(false);
    ensure!(
        made,
        "{} is not from an earlier demo, so it stays; choose another folder with --out",
        run.display()
    );
    Ok(true)
}

/// Removes the files of a run. Others that somebody put there stay, and the settings go last: without them, nothing
/// would tell that a demo was here.
fn remove(run: &Path) -> std::io::Result<()> {
    let gone = |done: std::io::Result<()>| match done {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    };
    let folder = RunFolder::at(run);
    gone(fs::remove_dir_all(folder.checkpoints()))?;
    for file in [folder.metrics(), folder.model(), folder.summary(), folder.spec(), folder.config()] {
        gone(fs::remove_file(file))?;
    }
    // It may not be empty.
    let _ = fs::remove_dir(run);
    Ok(())
}

/// Each team is a process of its own, on a core of its own.
fn spawn(args: &Args, world: &str, method: &str) -> Result<Child> {
    let program = std::env::current_exe().context("cannot find this program")?;
    Command::new(program)
        .args(["train", "--world", world, "--preset", "paper", "--threads", "1", "--json"])
        .args(["--method", method, "--steps", &args.steps.to_string(), "--seed", &args.seed.to_string()])
        .args(["--set", "evaluate_every=0", "--until-input-ends", "--out"])
        .arg(args.out.join(method))
        // Ends when this process does, however that happens.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start the {method} team"))
}

/// Shows both teams until both are done.
fn watch(mut children: Vec<Child>, args: &Args) -> Result<()> {
    let live = std::io::stderr().is_terminal();
    let bars = MultiProgress::new();
    let mut watchers = vec![];
    // Held until both are done: waiting for a child would close its input, which tells it to stop.
    let inputs: Vec<_> = children.iter_mut().map(|child| child.stdin.take()).collect();
    for (child, method) in children.iter_mut().zip(METHODS) {
        let Some(lines) = child.stdout.take() else { bail!("the {method} team does not talk") };
        let bar = if live { bars.add(ProgressBar::new(args.steps)) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{prefix:12} {bar:20} {percent:>3}%  {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(method);
        watchers.push(std::thread::spawn(move || {
            let (mut history, mut last) = (vec![], Instant::now());
            for line in BufReader::new(lines).lines().map_while(std::io::Result::ok) {
                let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
                let (Some(steps), Some(now)) = (line["steps"].as_u64(), line["return"].as_f64()) else {
                    continue;
                };
                let text = match line["episodes"].as_u64() {
                    // The first to end are the short and lucky ones, and no measure of the team.
                    Some(count) if count < RECENT as u64 => {
                        format!("return {now:>6.3}  of the first {count} episodes")
                    }
                    _ => {
                        history.push(now);
                        format!("return {now:>6.3}  {}", sparkline(&history, POINTS))
                    }
                };
                bar.set_position(steps);
                bar.set_message(text.clone());
                if !live && last.elapsed() >= BETWEEN_LINES {
                    last = Instant::now();
                    eprintln!("{method:12} {steps:>7} steps  {text}");
                }
            }
            bar.finish();
        }));
    }
    for (mut child, method) in children.into_iter().zip(METHODS) {
        let status = child.wait()?;
        if !status.success() {
            bail!("the {method} team stopped before its end ({status}); its messages are above");
        }
    }
    drop(inputs);
    for watcher in watchers {
        // A watcher that panicked has nothing to tell that the runs do not.
        let _ = watcher.join();
    }
    Ok(())
}

/// Three plain sentences: what was learned, how many steps it took, what to try next.
fn closing(records: &[Record], spec: &Spec, args: &Args, figure: &Path, time: Duration) -> String {
    let number = |x: f64| if x.is_nan() { "?".into() } else { format!("{x:.2}") };
    let [Some(symmetric), Some(plain)] = [0, 1].map(|i| records.get(i)?.summary.as_ref()) else {
        return String::new();
    };
    let best = symmetric
        .optimum()
        .map_or(String::new(), |b| format!(", of at most {b:.2} that anybody could reach"));
    let mut text = format!(
        "\nAfter {} steps the symmetric team returns {} and the plain team {}{best} ({:.0} s, figure {}).\n",
        args.steps,
        number(symmetric.total.mean),
        number(plain.total.mean),
        time.as_secs_f64(),
        figure.display(),
    );
    // Returns are what the figure shows; thresholds of another measure would need words of their own.
    if let (Some(threshold), None) = (spec.thresholds.first(), spec.first_measure()) {
        let reached = |s: &Summary| match s.reached.get(&threshold.to_string()) {
            Some(steps) => format!("{steps} environment steps"),
            None => format!("more than {} environment steps", args.steps),
        };
        text += &format!(
            "To pass a return of {threshold} on average over {RECENT} episodes, the symmetric team needed {} and the plain \
             team {}.\n",
            reached(symmetric),
            reached(plain)
        );
    }
    let model = args.out.join("equivariant");
    let program = program();
    text + &format!(
        "Next, watch it ({program} play --model {0} --watch), see it in the browser ({program} view {1}), or check that it \
         turns with its world ({program} check network --model {0}).\n",
        model.display(),
        args.out.display(),
    )
}
