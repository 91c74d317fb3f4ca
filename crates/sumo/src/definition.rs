//! SUMO's entry in the list of worlds.

use crate::envs::SumoEnvs;
use crate::install::Install;
use crate::options::Options;
use crate::shared::Shared;
use crate::spec::{Declared, quarters};
use crate::symmetry::{group as largest, turns};
use crate::world::Sumo;
use equimarl_group::{Group, Plane};
use equimarl_worlds::{
    Definition, Envs, Error, Opt, OwnAudit, Result, Settings, Shorthand, Symmetries, Value,
};
use std::path::Path;
use std::sync::Arc;

/// What makes a grid.
const GRID: &[&str] = &["rows", "cols", "lanes", "turn_lanes", "length"];
/// What makes drawn demand.
const DRAWN: &[&str] = &["flow", "tilt", "main_road", "turning", "noise"];

/// SUMO, for [`equimarl_worlds::Registry::with`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SumoDefinition;

impl Definition for SumoDefinition {
    fn name(&self) -> &'static str {
        "sumo"
    }

    fn about(&self) -> &'static str {
        "Traffic lights in SUMO, the simulator that traffic engineers use; it is started as a program of its own."
    }

    fn options(&self) -> Vec<Opt> {
        vec![
            Opt::new("rows", 4usize, "R", "rows of junctions").without_flag(),
            Opt::new("cols", 4usize, "C", "columns of junctions").without_flag(),
            Opt::new("net", "", "FILE", "a net of your own (.net.xml) instead of a grid"),
            Opt::new("routes", "", "FILE", "vehicles and routes of your own (.rou.xml), for --net"),
            Opt::new(
                "begin",
                0usize,
                "S",
                "the second at which the simulation starts: routes of a file may begin late",
            )
            .added_later(0usize),
            Opt::new("lanes", 1usize, "N", "lanes of a road in one direction"),
            Opt::new("turn_lanes", 1usize, "N", "lanes for left turns before the stop line"),
            Opt::new("length", 200.0, "M", "metres between junctions"),
            Opt::new("flow", 350.0, "V", "vehicles per hour and entry"),
            Opt::new(
                "tilt",
                0.0,
                "P",
                "1 + tilt of it comes from east and west, 1 - tilt from north and south",
            ),
            Opt::new(
                "main_road",
                1.0,
                "X",
                "so many times as much comes along the east-west road in the middle",
            ),
            Opt::new(
                "turning",
                0.2,
                "P",
                "the probability of a right turn, and of a left one, at a junction",
            ),
            Opt::new("noise", 0.5, "P", "how imperfectly people drive, from 0 to 1 (SUMO's sigma)"),
            Opt::new("duration", 1800usize, "S", "simulated seconds of an episode"),
            Opt::new("interval", 10usize, "S", "seconds from decision to decision"),
            Opt::new("yellow", 3usize, "S", "seconds of yellow before a light changes"),
            Opt::new(
                "all_red",
                2usize,
                "S",
                "seconds of red for all who change, after yellow: those who wait inside of a junction leave it",
            )
            .added_later(0usize),
            Opt::new("min_green", 5usize, "S", "seconds for which a green stays at least"),
        ]
    }

    /// What is not looked at is as usual: a grid where there is a net, drawn demand where there are routes. So worlds that are the
    /// same have the same name, and whoever asks for it on the command line is told.
    fn canonical(&self, settings: Settings) -> Settings {
        let given = |key: &str| settings.text(key).is_ok_and(|text| !text.is_empty());
        let unused = [given("net").then_some(GRID), given("routes").then_some(DRAWN)];
        let options = self.options();
        let unused = options.iter().filter(|o| unused.iter().flatten().any(|keys| keys.contains(&o.key)));
        unused.fold(settings.clone(), |settings, option| settings.with(option.key, option.usual.clone()))
    }

    fn shorthands(&self) -> Vec<Shorthand> {
        let help = "rows and columns of a generated grid, for example 4x4";
        vec![Shorthand { flag: "junctions", value_name: "RxC", help, parse: junctions }]
    }

    /// The largest is that of the whole net, found by looking. Networks have quarter turns whatever the net is: what a
    /// junction sees and does turns, missing approaches included.
    fn symmetries(&self, settings: &Settings) -> Symmetries {
        let net = settings.text("net").unwrap_or_default();
        let group = match net.is_empty() {
            true if settings.get("rows") == settings.get("cols") => "C4",
            true => "C2",
            false => {
                Options::of(settings).and_then(|o| o.own_city()).map_or("C1", |city| largest(&turns(&city)))
            }
        };
        Symmetries { largest: group.into(), usual: "C4".into() }
    }

    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        let options = Options::of(settings)?;
        if count == 0 {
            return Err(Error::BadWorld("there are no environments".into()));
        }
        let shared = Arc::new(Shared::new(options.clone(), Declared::new(&options, group)?));
        crate::fit::fit(&options)?;
        Ok(Box::new(SumoEnvs::new((0..count).map(|_| Sumo::new(shared.clone())).collect())))
    }

    fn files(&self) -> &'static [&'static str] {
        &["net", "routes"]
    }

    /// The net of a grid, as this SUMO makes it. Without SUMO there is nothing to keep; whoever trains is told.
    fn keep(&self, settings: &Settings, folder: &Path) -> Result<()> {
        let options = Options::of(settings)?;
        match Install::find() {
            Ok(install) if options.is_grid() => {
                std::fs::create_dir_all(folder)
                    .map_err(|e| Error::BadWorld(format!("{} cannot be made: {e}", folder.display())))?;
                options.generate(&install, &folder.join(options.grid_file()))
            }
            _ => Ok(()),
        }
    }

    fn audit(&self, settings: &Settings, group: &Group, steps: usize, seed: u64) -> Option<Result<OwnAudit>> {
        Some(crate::audit::audit(settings, group, steps, seed))
    }

    fn check_symmetry(&self, _settings: &Settings, group: &Group) -> Result<()> {
        let plane = Plane::new(group)?;
        group.elements().try_for_each(|g| quarters(&plane, group, g).map(drop))
    }

    /// Nothing: how fast SUMO is, `bench/sumo` measures against SUMO itself.
    fn benchmarks(&self) -> Vec<Settings> {
        vec![]
    }

    /// A team sees an episode as it is for some minutes: what a light does shows within ten decisions. Episodes are all
    /// equally long, so they begin at different times.
    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "paper",
                "environments = 4\nrollout = 20\nminibatches = 4\nevaluate_episodes = 10\nwarm_up = 100",
            ),
            (
                "default",
                "environments = 4\nrollout = 20\nminibatches = 4\nlearning_rate = 1e-3\ndiscount = 0.9\nlambda = 0.9\n\
                 entropy_coefficient = 0.01\nevaluate_episodes = 10\nwarm_up = 100\nsteps = 30000\nlog_every = 800",
            ),
        ]
    }

    fn label(&self, settings: &Settings) -> String {
        let Ok(own) = Options::of(settings) else { return "sumo".into() };
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let stem = |path: &str, end: &str| -> Option<String> {
            let file = Path::new(path).file_name()?.to_string_lossy().into_owned();
            let file = file.strip_suffix(end).or(file.strip_suffix(".xml")).unwrap_or(&file);
            Some(format!("-{}", file.chars().map(plain).collect::<String>()))
        };
        let name = match stem(&own.net, ".net.xml") {
            None => format!("sumo-{}x{}", own.grid[0], own.grid[1]),
            Some(net) => format!("sumo{net}{}", stem(&own.routes, ".rou.xml").unwrap_or_default()),
        };
        let known = ["rows", "cols", "net", "routes"];
        let unusual = self.options().into_iter().filter(|o| !known.contains(&o.key));
        unusual.fold(name, |label, option| match settings.get(option.key) {
            Some(value) if *value != option.usual => {
                format!("{label}-{}{value}", option.key.replace('_', "-"))
            }
            _ => label,
        })
    }

    fn title(&self, settings: &Settings) -> String {
        let Ok(own) = Options::of(settings) else { return "SUMO".into() };
        let name = match own.is_grid() {
            true => format!("SUMO, {} x {} junctions", own.grid[0], own.grid[1]),
            false => format!("SUMO, {}", own.net),
        };
        let known = ["rows", "cols", "net"];
        let unusual = self.options().into_iter().filter(|o| !known.contains(&o.key));
        unusual.fold(name, |title, option| match settings.get(option.key) {
            Some(value) if *value != option.usual => {
                format!("{title}, {} {value}", option.key.replace('_', " "))
            }
            _ => title,
        })
    }
}

/// Reads `4x4`.
fn junctions(text: &str) -> Result<Vec<(&'static str, Value)>> {
    let parts: Option<Vec<usize>> = text.split('x').map(|n| n.parse().ok()).collect();
    match parts.as_deref() {
        Some([rows, cols]) => Ok(vec![("rows", (*rows).into()), ("cols", (*cols).into())]),
        _ => Err(Error::BadWorld(format!("`{text}` is no grid; write rows and columns as in 4x4"))),
    }
}
