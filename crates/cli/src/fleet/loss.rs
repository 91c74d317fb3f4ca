//! `equimarl fleet loss`: what lost messages cost a team, with a figure.

use super::options::PlanArgs;
use super::team::Team;
use crate::output::{print, print_json, table};
use crate::outputs::{self, Force, Product};
use crate::waiting::Waiting;
use crate::world::WorldArgs;
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use equimarl_fleet::{Agent, Bursts, Fallback, Faults, Host, RunConfig, Signer, pool};
use equimarl_lab::figure::{Chart, Colour, Point, Reference, Series};
use equimarl_learn::RunFolder;
use equimarl_nn::model::write_file;
use equimarl_worlds::Statistic;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = "\
All teams meet the same episodes and losses. With several teams, the spread is over teams; with one, over episodes.

Example:
  equimarl fleet loss --model runs/a --model runs/b --episodes 1000 --figure loss.svg
  equimarl fleet loss --model runs/a --episodes 1000 --burst 5 --figure bursts.svg")]
pub struct Args {
    /// A trained team: a run directory or a model file. Several may be given, all of one world.
    #[arg(long, value_name = "RUN_OR_FILE", required = true)]
    model: Vec<PathBuf>,
    /// The shares of lost messages.
    #[arg(long, value_name = "P,P,...", value_delimiter = ',', default_values_t = [0.0, 0.01, 0.05, 0.1, 0.2, 0.5])]
    drop: Vec<f64>,
    /// Also lose the same shares in bad spells of so many steps on average, beside those that are lost one by one.
    #[arg(long, value_name = "STEPS")]
    burst: Option<f64>,
    #[command(flatten)]
    plan: PlanArgs,
    /// Also with the world's own fallbacks for agents that hear nobody.
    #[arg(long)]
    fallback: bool,
    /// Draw the figure into this SVG file.
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: WorldArgs,
    #[command(flatten)]
    force: Force,
}

/// One curve: what agents do that hear nobody, and how messages are lost.
#[derive(Clone, Copy, PartialEq)]
struct Way<'a> {
    fallback: &'a str,
    /// The length of bad spells; without, messages are lost one by one.
    burst: Option<f64>,
}

/// What one share of losses costs.
struct Measured<'a> {
    way: Way<'a>,
    drop: f64,
    total: Statistic,
    missed: f64,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let run = args.plan.apply(RunConfig::default());
    if let Some(figure) = &args.figure {
        let models: Vec<PathBuf> =
            args.model.iter().flat_map(|m| [m.clone(), RunFolder::at(m).model()]).collect();
        let models: Vec<&Path> = models.iter().map(PathBuf::as_path).collect();
        outputs::check(&models, &[("--figure", figure, Product::Svg)], &args.force)?;
    }
    let teams: Result<Vec<Team>> =
        args.model.iter().map(|model| Team::load(model, None, &args.size)).collect();
    let teams = teams?;
    let (world, spec) = (teams[0].world.name.as_str(), &teams[0].spec);
    ensure!(teams.iter().all(|team| team.world.name == world), "the teams are of different worlds");
    ensure!(!args.fallback || !spec.fallbacks.is_empty(), "the world `{world}` has no fallbacks of its own");
    let fallbacks: Vec<&str> = match args.fallback {
        true => Fallback::names(spec),
        false => vec![Fallback::ALONE],
    };
    let lengths = [None].into_iter().chain(args.burst.map(Some));
    let ways: Vec<Way> =
        lengths.flat_map(|burst| fallbacks.iter().map(move |fallback| Way { fallback, burst })).collect();
    for &drop in &args.drop {
        for way in &ways {
            losing(drop, way.burst).check().with_context(|| format!("losses of {drop}"))?;
        }
    }
    let mut found = vec![];
    let waiting = Waiting::for_("shares of losses", Some((ways.len() * args.drop.len()) as u64));
    for &way in &ways {
        for &drop in &args.drop {
            found.push(measure(&teams, &run, drop, way)?);
            waiting.at(found.len() as u64);
        }
    }
    drop(waiting);
    if let Some(path) = &args.figure {
        write_file(path, figure(&found, &ways, world, teams.len()).svg().as_bytes())?;
    }
    if args.json {
        let rows: Vec<_> = found
            .iter()
            .map(|m| {
                json!({ "drop": m.drop, "burst": m.way.burst, "fallback": m.way.fallback, "return": m.total, "missed": m.missed })
            })
            .collect();
        let about =
            json!({ "world": world, "teams": teams.len(), "episodes": run.episodes, "seed": run.seed });
        print_json(&json!({ "about": about, "loss": rows }))?;
    } else {
        let cell =
            |value: f64, digits: usize| if value.is_nan() { "-".into() } else { format!("{value:.digits$}") };
        let rows: Vec<Vec<String>> = found
            .iter()
            .map(|m| {
                let percent = |share: f64| format!("{:.1}%", 100.0 * share);
                let mut row =
                    vec![percent(m.drop), percent(m.missed), cell(m.total.mean, 4), cell(m.total.stderr, 4)];
                row.extend([m.way.lost(), m.way.fallback.into()]);
                row
            })
            .collect();
        print(&table(&["lost", "missed", "return", "standard error", "how", "cut off"], &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Way<'_> {
    fn lost(&self) -> String {
        self.burst.map_or("one by one".into(), |length| format!("in bursts of {length}"))
    }
}

/// This share of messages lost: one by one, or in bad spells of this length.
fn losing(drop: f64, burst: Option<f64>) -> Faults {
    match burst.filter(|_| 0.0 < drop && drop < 1.0) {
        Some(bad) => Faults { bursts: Some(Bursts::losing(drop, bad)), ..Faults::default() },
        None => Faults { drop, ..Faults::default() },
    }
}

fn measure<'a>(teams: &[Team], run: &RunConfig, drop: f64, way: Way<'a>) -> Result<Measured<'a>> {
    let faults = losing(drop, way.burst);
    let (mut means, mut all, mut missed, mut expected) = (vec![], vec![], 0, 0);
    for team in teams {
        let fallback = Fallback::named(way.fallback, &team.spec)?;
        let (returns, report) = play(team, team.host(run.plan(), Signer::Open)?, &faults, fallback)?;
        means.push(returns.iter().sum::<f64>() / returns.len() as f64);
        all.extend(returns);
        missed += report.0;
        expected += report.1;
    }
    let total = Statistic::of(if teams.len() > 1 { &means } else { &all });
    Ok(Measured { way, drop, total, missed: missed as f64 / expected.max(1) as f64 })
}

/// The returns, and the numbers of missed and expected messages.
fn play(team: &Team, mut host: Host, faults: &Faults, fallback: Fallback) -> Result<(Vec<f64>, (u64, u64))> {
    let agent = |index| {
        let agent = Agent::new(index, team.policy.clone(), team.fingerprint, Signer::Open)?;
        Ok(agent.with_fallback(fallback))
    };
    let agents: Result<Vec<Agent>> = (0..team.agents()).map(agent).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    pool::run(&mut host, agents?, faults, None, threads, &mut |_, _| Ok(true))?;
    let report = host.report();
    Ok((host.episodes().iter().map(|e| e.total).collect(), (report.missed, report.expected)))
}

fn figure(found: &[Measured], ways: &[Way], world: &str, teams: usize) -> Chart {
    let series = |(index, way): (usize, &Way)| {
        let points = found.iter().filter(|m| m.way == *way).map(|m| Point {
            x: 100.0 * m.drop,
            low: m.total.mean - m.total.stderr,
            middle: m.total.mean,
            high: m.total.mean + m.total.stderr,
        });
        let cut_off = match way.fallback {
            Fallback::ALONE => "cut off: acts alone".into(),
            other => format!("cut off: {}", other.replace('-', " ")),
        };
        // Where all agents do the same, the curves differ only in how messages are lost, and the other way around.
        let name = match ways.iter().any(|w| w.burst.is_some()) {
            true if ways.iter().all(|w| w.fallback == way.fallback) => format!("lost {}", way.lost()),
            true => format!("lost {}, {cut_off}", way.lost()),
            false => cut_off,
        };
        Series { name, colour: Colour::new(index), points: points.collect() }
    };
    let whole = found.iter().find(|m| m.drop == 0.0).map(|m| Reference::new("no losses", m.total.mean));
    let over = if teams > 1 { format!("{teams} teams") } else { "episodes".into() };
    Chart {
        title: format!("{world}: return against lost messages"),
        description: format!(
            "The mean return for each share of lost messages; the band is one standard error over {over}."
        ),
        x_label: "messages lost, percent".into(),
        y_label: "return of an episode".into(),
        series: ways.iter().enumerate().map(series).collect(),
        lines: whole.into_iter().collect(),
        ..Chart::default()
    }
}
