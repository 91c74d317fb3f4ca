//! `equimarl report`: what many runs amount to.

use crate::output::{print, print_json, table};
use crate::outputs::{self, Force, Product};
use crate::provenance;
use crate::registry;
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use equimarl_lab::report::{By, Figure, How, SettingReport, Study, TeamPassing, figures_of, page};
use equimarl_lab::tensorboard::export;
use equimarl_lab::{Found, Gathered, RateRule, check_option, gather, seeds};
use equimarl_nn::model::write_file;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod over;

#[derive(ClapArgs)]
#[command(after_help = "\
Runs of sweeps whose name ends in -rates choose the learning rates, and so do those given with --rates; the others are
reported. Unfinished and failed runs are listed with their state, runs that are left out with the reason. Folders are looked
into six deep. Every figure is written as SVG, PDF and PNG.

Examples:
  equimarl report runs/sweep --out report
  equimarl report docs/results/wildlife-3.jsonl docs/results/wildlife-3-rates.jsonl --json
  equimarl report docs/results/budget --rates-by end --list-rates
  equimarl report runs/winds --seeds 1-5 --by wind --by-after 20000")]
pub struct Args {
    /// Run directories, folders with runs below (sweeps), or files of records (.jsonl).
    #[arg(required = true, value_name = "DIR_OR_JSONL")]
    places: Vec<PathBuf>,
    /// Runs that chose the learning rates, and are not reported.
    #[arg(long, value_name = "DIR_OR_JSONL")]
    rates: Vec<PathBuf>,
    /// By what rates are chosen: the area under the first 50,000 steps of the curve, or the end, the last tenth of all steps.
    #[arg(long, value_name = "RULE", default_value = "area", value_parser = ["area", "end"])]
    rates_by: String,
    /// Only runs with these seeds, so that all teams have the same ones; those that chose the rates stay.
    #[arg(long, value_name = "LIST")]
    seeds: Option<String>,
    /// Print the table of all learning rates that were tried, in Markdown, with what every seed came to.
    #[arg(long, conflicts_with = "json")]
    list_rates: bool,
    /// Also show teams over a number of their world: wind, tilt, drones. A figure with a line per method, tables, and the value at
    /// which others overtake the first method. Where the number is 0, equivariant runs stand for `subgroup` and `cause`.
    #[arg(long, value_name = "OPTION")]
    by: Option<String>,
    /// With --by: after so many steps of training, besides the end.
    #[arg(long, value_name = "STEPS", default_value_t = 20_000, requires = "by")]
    by_after: u64,
    /// A controller to show beside the teams, where a world has it; may be given several times [for example: planner].
    #[arg(long = "controller", value_name = "NAME")]
    controllers: Vec<String>,
    /// Where the page and its figures go [default: report, or nowhere with --json].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write every run as event files for TensorBoard below this folder.
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
    /// Print everything as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let mut found = gather(registry(), &args.places)?;
    if let Some(list) = &args.seeds {
        found.only_seeds(&seeds(list)?)?;
    }
    let rates = if args.rates.is_empty() { Gathered::default() } else { gather(registry(), &args.rates)? };
    let rule = if args.rates_by == "end" { RateRule::End } else { RateRule::Area };
    let by = match &args.by {
        None => None,
        Some(option) => {
            check_option(found.runs.iter().map(|f| &f.record), option)?;
            Some(By { option: option.clone(), after: args.by_after })
        }
    };
    let how = How { rule, controllers: args.controllers.clone(), by };
    let study = Study::of(registry(), &found, &rates, &how);
    let out = match (&args.out, args.json) {
        (Some(out), _) => Some(out.clone()),
        (None, false) => Some("report".into()),
        (None, true) => None,
    };
    let mut files = vec![];
    if let Some(out) = &out {
        files = write(&study, out, args)?;
    }
    if let Some(folder) = &args.tensorboard {
        outputs::check_folder("--tensorboard", folder)?;
        let runs: Vec<Found> = found.runs.into_iter().chain(rates.runs).collect();
        files.extend(export(&runs, folder)?);
    }
    if args.json {
        let mut value = serde_json::to_value(&study)?;
        value["files"] = json!(files);
        value["commit"] = json!(provenance::COMMIT);
        print_json(&value)?;
    } else {
        print(&closing(&study))?;
        if args.list_rates {
            print(&format!("{}\n", study.rates_markdown()))?;
        }
        if let Some(out) = &out {
            let count = files.iter().filter(|f| f.extension().is_some_and(|e| e == "svg")).count();
            print(&format!(
                "the page is {}, with {count} figures beside it, each as {}\n",
                out.join("index.html").display(),
                Figure::ENDINGS.join(", ")
            ))?;
        }
        if let Some(folder) = &args.tensorboard {
            print(&format!("to see the runs in TensorBoard: tensorboard --logdir {}\n", folder.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page last, so that whoever sees it has all its figures.
fn write(study: &Study, out: &Path, args: &Args) -> Result<Vec<PathBuf>> {
    outputs::check_folder("--out", out)?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let page_path = out.join("index.html");
    let before = figures_of(&std::fs::read_to_string(&page_path).unwrap_or_default());
    let mut files = vec![];
    let path = |name: &str, ending: &str| out.join(format!("{name}.{ending}"));
    let figures = study.figures();
    let names =
        figures.iter().flat_map(|f| Figure::ENDINGS.map(|ending| (path(&f.name, ending), product(ending))));
    let made: Vec<(PathBuf, Product)> = names.chain([(page_path.clone(), Product::Html)]).collect();
    let made: Vec<(&str, &Path, Product)> =
        made.iter().map(|(path, kind)| ("--out", path.as_path(), *kind)).collect();
    let read: Vec<&Path> = args.places.iter().chain(&args.rates).map(PathBuf::as_path).collect();
    outputs::check(&read, &made, &args.force)?;
    for figure in figures {
        for (ending, bytes) in Figure::ENDINGS.into_iter().zip(figure.files()) {
            let path = path(&figure.name, ending);
            write_file(&path, &bytes)?;
            files.push(path);
        }
    }
    let made_by = format!("{} ({})", env!("CARGO_PKG_VERSION"), provenance::COMMIT);
    write_file(&page_path, page(study, &command(args), &made_by).as_bytes())?;
    // Figures of an earlier report would be taken for this one's.
    let old = before.iter().flat_map(|name| Figure::ENDINGS.map(|ending| path(name, ending)));
    for old in old.filter(|old| !files.contains(old)) {
        let _ = std::fs::remove_file(old);
    }
    files.insert(0, page_path);
    Ok(files)
}

fn product(ending: &str) -> Product {
    match ending {
        "pdf" => Product::Pdf,
        "png" => Product::Png,
        _ => Product::Svg,
    }
}

/// The command line again, for whoever wants the same page.
fn command(args: &Args) -> String {
    let mut words = vec!["equimarl report".to_string()];
    words.extend(args.places.iter().map(|p| p.display().to_string()));
    words.extend(args.rates.iter().map(|p| format!("--rates {}", p.display())));
    if args.rates_by != "area" {
        words.push(format!("--rates-by {}", args.rates_by));
    }
    if let Some(list) = &args.seeds {
        words.push(format!("--seeds {}", list.replace(' ', "")));
    }
    if let Some(option) = &args.by {
        words.push(format!("--by {option} --by-after {}", args.by_after));
    }
    words.extend(args.controllers.iter().map(|name| format!("--controller {name}")));
    words.join(" ")
}

/// Lists that are longer than this go on in the JSON and on the page.
const LISTED: usize = 10;
/// As many places stand in one line.
const NAMED: usize = 3;

fn closing(study: &Study) -> String {
    let mut text: String = study.settings.iter().map(of_setting).collect();
    text.extend(study.by.iter().map(over::text));
    for note in &study.notes {
        text += &format!("note: {note}\n");
    }
    let left_out = study.left_out().map(|run| (&run.place, run.left_out.as_deref().unwrap_or_default()));
    text += &listed("left out", left_out);
    text + &listed("not readable", study.unreadable.iter().map(|(place, why)| (place, why.as_str())))
}

/// Scores and steps of one setting; every row says how many runs it stands on.
fn of_setting(setting: &SettingReport) -> String {
    let mut text = format!("{}: {} after training\n\n", setting.setting, setting.measure.name());
    let mut rows = vec![];
    for team in &setting.teams {
        let row = |steps: String, runs: usize, iqm: String| {
            let runs = format!("{runs} of {}", team.seeds.len());
            vec![team.method.clone(), team.learning_rate.to_string(), steps, runs, iqm]
        };
        let before = rows.len();
        for after in &setting.after {
            if let Some(score) = after.teams.iter().find(|s| s.method == team.method) {
                rows.push(row(after.steps.to_string(), score.runs, score.iqm.text(3)));
            }
        }
        if rows.len() == before {
            rows.push(row("-".into(), 0, "-".into()));
        }
    }
    text += &table(&["method", "rate", "steps", "runs", "IQM [95%]"], &rows);
    if let Some(first) = setting.thresholds.first() {
        let of = |runs: usize, all: usize| format!("{runs} of {all}");
        let row = |t: &TeamPassing| {
            vec![t.method.clone(), of(t.passed, t.runs), t.median_text(), of(t.known, t.runs)]
        };
        let rows: Vec<Vec<String>> = first.teams.iter().map(row).collect();
        let steps = format!("steps to {}, median [95%]", first.threshold);
        text += &format!("\n{}\n", table(&["method", "passed", &steps, "runs known by then"], &rows));
    }
    if !setting.alarms.is_empty() {
        let (heading, rows) = setting.alarm_rows();
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        text += &format!("\n{}\n", table(&heading, &rows));
    }
    for c in &setting.comparisons {
        text += &format!(
            "{} over {} after {} steps ({} and {} runs): better with probability {}\n",
            c.method,
            c.over,
            c.steps,
            c.runs[0],
            c.runs[1],
            c.improvement.text(2)
        );
    }
    text + "\n"
}

/// Places with their reasons; those that have one in common are one line.
fn listed<'a>(what: &str, places: impl Iterator<Item = (&'a String, &'a str)>) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = vec![];
    for (place, why) in places {
        match reasons.iter_mut().find(|r| r.0 == why) {
            Some((_, all)) => all.push(place),
            None => reasons.push((why, vec![place])),
        }
    }
    let mut text = String::new();
    for (why, all) in reasons.iter().take(LISTED) {
        let (named, more) = all.split_at(all.len().min(NAMED));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        text += &format!("{what}: {}{more}: {why}\n", named.join(", "));
    }
    if reasons.len() > LISTED {
        text += &format!("{what}: and others; all stand in --json and on the page\n");
    }
    text
}
