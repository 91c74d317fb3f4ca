//! `equimarl check world`

use super::some_turns;
use crate::examples::examples;
use crate::number::whole;
use crate::output::{print, print_json, table};
use crate::outputs::{self, Force, Product};
use crate::registry;
use crate::waiting::Waiting;
use crate::world::{WorldArgs, names};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use equimarl_files::{MARK, write_file};
use equimarl_group::{Group, Symmetry};
use equimarl_worlds::{
    AuditReport, Auditing, ElementReport, GroupAction, Named, OwnAudit, STEP_ROUNDING, Verdict,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(ClapArgs)]
#[command(after_help = examples(
    "A world may have more symmetry than its networks use, and less than it is asked for: the counterexample says why.",
    &["check world {world} --group D4", "check world {other} --group D4"],
))]
pub struct Args {
    /// The world to check.
    #[arg(value_name = "WORLD", value_parser = names())]
    world: String,
    /// The symmetry to check, for example C4, D4 or O2 (random turns and mirrors) [default: all that the world claims].
    #[arg(long)]
    group: Option<String>,
    /// Steps of random rollouts, each tried with every group element.
    #[arg(long, value_name = "N", default_value_t = 5000, allow_negative_numbers = true, value_parser = whole::<usize>)]
    steps: usize,
    /// The seed of the rollouts.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
    /// Transform what breaks the symmetry along with everything else: wind, a tilt. Then everything must hold.
    #[arg(long)]
    transform_cause: bool,
    /// The controller whose states are looked at, instead of random actions.
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    /// Where the states of counterexamples are saved.
    #[arg(long, value_name = "DIR", default_value = "counterexamples")]
    out: PathBuf,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    size: WorldArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if args.steps == 0 {
        bail!("0 steps check nothing; ask for at least 1");
    }
    outputs::check_folder("--out", &args.out)?;
    let world = args.size.of(&args.world)?;
    let definition = registry().get(&world.name)?;
    let claimed = || definition.symmetries(&world.settings).largest;
    let symmetry: Symmetry = args.group.clone().unwrap_or_else(claimed).parse()?;
    let group = symmetry.finite()?;
    let envs = registry().make(&world, &group, 1)?;
    let own = || definition.audit(&world.settings, &group, args.steps, args.seed);
    if envs.exact().is_none()
        && let Some(found) = own()
    {
        return own_audit(args, &world.name, &group, found?);
    }
    let Some(exact) = envs.exact() else {
        bail!("the world `{}` does not say how its states transform, so it cannot be checked", world.name);
    };
    if !symmetry.is_finite() {
        // What has no such symmetry by its declaration is refused, and not a counterexample.
        GroupAction::of_turns(envs.spec(), &symmetry, &[])?;
    }
    if args.transform_cause {
        super::has_cause(exact)?;
    }
    if let Some(name) = &args.controller {
        Named::new(name, envs.world(0))?;
    }
    let how = Auditing {
        steps: args.steps,
        seed: args.seed,
        cause: args.transform_cause,
        controller: args.controller.clone().filter(|name| name != "random"),
    };
    let waiting = Waiting::for_("comparing steps", None);
    let name = world.name.as_str();
    let report = match symmetry.is_finite() {
        true => exact.audit_by(&how),
        false => {
            let turns = some_turns(&symmetry, args.seed);
            exact.audit_turns(&symmetry, &turns, &how)
        }
    };
    drop(waiting);
    // What was found is said, also where nothing can be saved.
    let files = save(&report, name, &args.out, &args.force).unwrap_or_else(|error| {
        eprintln!("warning: {error:#}");
        vec![None; report.elements.len()]
    });
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        value["world"] = json!(name);
        value["group"] = json!(symmetry.name());
        value["seed"] = json!(args.seed);
        value["controller"] = json!(how.controller.as_deref().unwrap_or("random"));
        value["transform_cause"] = json!(args.transform_cause);
        for (i, file) in files.iter().enumerate().filter_map(|(i, f)| Some((i, f.as_ref()?))) {
            value["elements"][i]["counterexample"]["file"] = json!(file);
        }
        print_json(&value)?;
    } else {
        print(&text(&report, (name, how.controller.as_deref()), &symmetry, &files))?;
    }
    Ok(if report.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a world that is not exact found out about itself.
fn own_audit(args: &Args, world: &str, group: &Group, found: OwnAudit) -> Result<ExitCode> {
    if args.json {
        let mut value = found.report;
        value["world"] = json!(world);
        value["group"] = json!(group.name());
        value["seed"] = json!(args.seed);
        value["holds"] = json!(found.holds);
        print_json(&value)?;
    } else {
        let left_out = found.report["not_checked"].as_array().is_some_and(|parts| !parts.is_empty());
        let looked = found.report["elements"].as_array().is_none_or(|elements| !elements.is_empty());
        let verdict = match (found.holds, looked, left_out) {
            (false, ..) => "does not have this symmetry",
            (true, false, _) => "nothing was checked",
            (true, true, true) => "nothing speaks against it, as far as it was checked",
            (true, true, false) => "nothing speaks against it",
        };
        print(&format!("{world} under {group}\n\n{}\n{world}: {verdict}\n", found.text))?;
    }
    Ok(if found.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Saves the state of each counterexample, one file per element.
fn save(report: &AuditReport, world: &str, folder: &Path, force: &Force) -> Result<Vec<Option<PathBuf>>> {
    let mut files = Vec::new();
    for element in &report.elements {
        let Some(found) = &element.counterexample else {
            files.push(None);
            continue;
        };
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let file = folder.join(format!("{world}-{}.json", element.element.replace(' ', "-")));
        let mut content = serde_json::to_value(found)?;
        content["world"] = json!(world);
        content["element"] = json!(element.element);
        content["about"] = json!(MARK);
        outputs::check(&[], &[("--out", &file, Product::Json)], force)?;
        write_file(&file, format!("{content:#}\n").as_bytes())
            .with_context(|| format!("cannot save the counterexample to {}", file.display()))?;
        files.push(Some(file));
    }
    Ok(files)
}

fn text(
    report: &AuditReport,
    (world, controller): (&str, Option<&str>),
    group: &Symmetry,
    files: &[Option<PathBuf>],
) -> String {
    let mut text = format!(
        "{world} under {group}: {} {} steps, every one with every {}, {}\n\n",
        report.steps,
        controller.unwrap_or("random"),
        if group.is_finite() { "element" } else { "turn" },
        match report.elements.iter().any(|e| e.actions.is_some()) {
            false => "all comparisons exact".to_string(),
            true => format!("exact, or to {STEP_ROUNDING:e} where a turn rounds"),
        }
    );
    let verdict = |holds: bool| String::from(if holds { "holds" } else { "FAILS" });
    // The law of the start is a column where the world says what it is, and sizes are where something is broken.
    let starts = report.elements.iter().any(|e| e.start.is_some());
    let sized = report.elements.iter().any(|e| e.variation.is_some_and(|v| v.most > 0.0));
    let drawn = report
        .elements
        .iter()
        .any(|e| e.start.as_ref().is_some_and(|s| s.variation.is_some_and(|v| v > 0.0)));
    let row = |e: &ElementReport| {
        let mut row = vec![e.element.clone(), verdict(e.counterexample.is_none())];
        if sized {
            let size = e.variation.unwrap_or_default();
            row.push(format!("{:.3} (at most {:.3})", size.mean, size.most));
        }
        row.extend(e.actions.as_ref().map(|v| verdict(v.holds)));
        if starts {
            row.push(e.start.as_ref().map_or("-".into(), |s| verdict(s.holds)));
        }
        if drawn {
            let size = e.start.as_ref().and_then(|s| s.variation).unwrap_or_default();
            row.push(format!("{size:.3}"));
        }
        row
    };
    let rows: Vec<Vec<String>> = match group.is_finite() {
        true => report.elements.iter().map(row).collect(),
        // One line for all turns.
        false => {
            let count = report.elements.len();
            let all = |fails: &dyn Fn(&ElementReport) -> bool| match report
                .elements
                .iter()
                .filter(|e| fails(e))
                .count()
            {
                0 => "holds".to_string(),
                some => format!("FAILS for {some}"),
            };
            let wrong = |verdict: &Option<Verdict>| verdict.as_ref().is_some_and(|v| !v.holds);
            vec![vec![
                format!("{count} random turns{}", if group.has_mirrors() { " and mirrors" } else { "" }),
                all(&|e| e.counterexample.is_some()),
                all(&|e| wrong(&e.actions)),
                all(&|e| wrong(&e.start)),
            ]]
        }
    };
    // Vectors that agents may do, and the law of the start, are columns where there are some.
    let first = report.elements.first();
    let has = |of: fn(&ElementReport) -> bool| first.is_some_and(of);
    let mut columns = vec!["element", "rewards, transitions, observations, graph"];
    columns.extend(sized.then_some("total variation, mean"));
    columns.extend(has(|e| e.actions.is_some()).then_some("actions"));
    columns.extend(starts.then_some("start"));
    columns.extend(drawn.then_some("total variation of a step's draws"));
    text += &table(&columns, &rows);
    let first_failure = report.elements.iter().position(|e| !e.holds).unwrap_or(0);
    for (i, (element, file)) in report.elements.iter().zip(files).enumerate() {
        if !group.is_finite() && i != first_failure {
            continue;
        }
        if let Some(found) = &element.counterexample {
            text += &format!("\n{} fails at step {}: {}\n", element.element, found.step, found.text);
            if let Some(file) = file {
                text += &format!("  the state is saved in {}\n", file.display());
            }
        }
        if let Some(why) = element.actions.as_ref().and_then(|actions| actions.text.as_ref()) {
            text += &format!("\n{} fails in what agents may do: {why}\n", element.element);
        }
        if let Some(why) = element.start.as_ref().and_then(|start| start.text.as_ref()) {
            text += &format!("\n{} fails at the start of episodes: {why}\n", element.element);
        }
    }
    if let Some(left_out) = &report.start_leaves_out {
        text += &format!("\n{left_out}\n");
    }
    let rules = report.elements.iter().all(|e| e.counterexample.is_none());
    let verdict = match (report.holds, rules) {
        (true, _) => "is symmetric as far as these steps go",
        (false, true) if report.elements.iter().any(|e| e.actions.as_ref().is_some_and(|a| !a.holds)) => {
            "has this symmetry in its rules, and not in what agents may do"
        }
        (false, true) => {
            "has this symmetry but for the law of its start: what is best in a state has it, what is met has not, so agents that see only a part \
             of the state may do better without it"
        }
        (false, false) => "does not have this symmetry",
    };
    text + &format!("\n{world} {verdict}\n")
}
