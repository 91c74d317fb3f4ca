//! The traffic world as programs know it.

use super::controllers::USUAL_PERIOD;
use super::lanes::Map;
use super::measures::measures;
use super::picture::shape;
use super::symmetry::Acts;
use super::{Traffic, TrafficOptions};
use crate::batch::EnvBatch;
use crate::controller::Named;
use crate::envs::Envs;
use crate::episode::play;
use crate::error::{Error, Result};
use crate::registry::{self, FirstFormat, Solved, Symmetries};
use crate::settings::{Opt, Settings, Shorthand, Value};
use crate::spec::{Actions, Fallback, Links, Spec, permutation};
use crate::stream::{Purpose, Stream};
use crate::world::World;
use equimarl_group::Group;

/// The seed of the episodes that evaluations play.
const EVALUATED: u64 = 0;

/// The traffic world's entry in the list of worlds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definition;

impl registry::Definition for Definition {
    fn name(&self) -> &'static str {
        "traffic"
    }

    fn about(&self) -> &'static str {
        "Traffic lights of a city keep its vehicles moving."
    }

    fn options(&self) -> Vec<Opt> {
        let usual = TrafficOptions::default();
        vec![
            Opt::new("rows", usual.rows, "R", "rows of junctions").without_flag(),
            Opt::new("cols", usual.cols, "C", "columns of junctions").without_flag(),
            Opt::new("arrival_steps", usual.arrival_steps, "T", "vehicles arrive in this many steps"),
            Opt::new(
                "arrival_probability",
                usual.arrival_probability,
                "P",
                "the probability of an arrival per entry lane and step",
            ),
            Opt::new("step_limit", usual.step_limit, "T", "steps after which an episode is cut off"),
            Opt::new(
                "tilt",
                usual.tilt,
                "T",
                "more arrivals along rows and fewer along columns, 0 to 1; it breaks the symmetry",
            )
            .added_later(usual.tilt),
            Opt::new(
                "main_road",
                usual.main_road,
                "F",
                "times the usual demand on one lane, the first; it breaks the symmetry",
            )
            .added_later(usual.main_road),
        ]
    }

    fn shorthands(&self) -> Vec<Shorthand> {
        let help = "rows and columns of junctions, for example 2x2";
        vec![Shorthand { flag: "junctions", value_name: "RxC", help, parse: junctions }]
    }

    fn symmetries(&self, settings: &Settings) -> Symmetries {
        // Lanes are one-way, so there are no mirrors, and a quarter turn needs as many rows as columns.
        let group = if settings.get("rows") == settings.get("cols") { "C4" } else { "C2" };
        Symmetries { largest: group.into(), usual: group.into() }
    }

    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        Ok(Box::new(EnvBatch::of(&Traffic::of(settings)?.under(group)?, count)))
    }

    /// Lights that know all arrivals, and below what no lights come.
    fn solve(&self, settings: &Settings, episodes: usize) -> Result<Solved> {
        let world = Traffic::of(settings)?;
        let mut least = vec![];
        for index in 0..episodes as u64 {
            let mut world = world.clone();
            world.reset(&mut Stream::new(EVALUATED, Purpose::World, index))?;
            if world.pending() > 0 {
                least.push(super::bound::least_waiting(&world) as f64 / world.pending() as f64);
            }
        }
        let mut envs = EnvBatch::of(&world, 1);
        let mut planner = Named::new("planner", &world)?;
        let found = play(&mut envs, &mut planner, episodes, EVALUATED)?;
        let bound = (!least.is_empty()).then(|| least.iter().sum::<f64>() / least.len() as f64);
        Ok(Solved::Known { found, bound: bound.map(|bound| ("vehicle_waiting", bound)) })
    }

    fn check_symmetry(&self, _settings: &Settings, group: &Group) -> Result<()> {
        let acts = Acts::new(group)?;
        if group.elements().any(|g| acts.quarters(g).is_none()) {
            return Err(Error::BadWorld(format!(
                "{group} has mirrors, and traffic has none: its lanes are one-way; use C4 or C2"
            )));
        }
        Ok(())
    }

    fn benchmarks(&self) -> Vec<Settings> {
        let city = |n: usize| Settings::usual(&self.options()).with("rows", n).with("cols", n);
        [2, 10, 100].map(city).into()
    }

    fn replay(&self, script: &serde_json::Value) -> Result<serde_json::Value> {
        super::script::replay(script)
    }

    /// What was tried and why: docs/plateau.md. Rewards are thousandths, so they are scaled; the small clip and the falling rate
    /// keep policies from swinging. Every picture is new, so small batches cost no more, and updates come sooner.
    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("paper", "learning_rate = 1e-4\nwarm_up = 80"),
            (
                "default",
                "learning_rate = 5e-4\nwarm_up = 80\nscale_returns = true\nentropy_coefficient = 1e-3\ndiscount = 0.97\nclip = 0.05\n\
                 environments = 8\nrollout = 16\nminibatches = 4",
            ),
        ]
    }

    fn label(&self, settings: &Settings) -> String {
        let Ok(own) = TrafficOptions::of(settings) else { return "traffic".into() };
        let usual = TrafficOptions::default();
        let mut label = format!("traffic-{}x{}", own.rows, own.cols);
        if own.arrival_probability != usual.arrival_probability {
            label += &format!("-p{}", own.arrival_probability);
        }
        if (own.arrival_steps, own.step_limit) != (usual.arrival_steps, usual.step_limit) {
            label += &format!("-t{}of{}", own.arrival_steps, own.step_limit);
        }
        if own.tilt != usual.tilt {
            label += &format!("-tilt-{}", own.tilt);
        }
        if own.main_road != usual.main_road {
            label += &format!("-main-{}", own.main_road);
        }
        label
    }

    fn title(&self, settings: &Settings) -> String {
        let Ok(TrafficOptions { rows, cols, .. }) = TrafficOptions::of(settings) else {
            return "traffic".into();
        };
        let mut title = format!("traffic, {rows} x {cols} junctions");
        // In the order of their names, as reports have always had them.
        let mut rest: Vec<Opt> =
            self.options().into_iter().filter(|o| !["rows", "cols"].contains(&o.key)).collect();
        rest.sort_by_key(|o| o.key);
        for option in rest {
            if let Some(value) = settings.get(option.key).filter(|value| **value != option.usual) {
                title += &format!(", {} {value}", option.key.replace('_', " "));
            }
        }
        title
    }

    fn of_first_format(&self, network: &FirstFormat) -> Option<Settings> {
        // The whole city's picture is 5 (8R - 1) x 5 (8C - 1) pixels.
        let [rows, cols] = [1, 2].map(|k| (network.team_image[k] / 5 + 1) / 8);
        Some(Settings::usual(&self.options()).with("rows", rows).with("cols", cols))
    }
}

/// What the world is, under a group.
pub(super) fn spec(options: &TrafficOptions, acts: &Acts) -> Result<Spec> {
    let (group, map) = (&acts.group, Map { rows: options.rows, cols: options.cols });
    let junctions = map.rows * map.cols;
    let (names, marks) = super::scene::action_marks().into_iter().unzip();
    // A quarter turn exchanges the two phases.
    let rep = permutation(group, 2, |g, phase| if acts.swaps(g) { 1 - phase } else { phase });
    // A city that is not square has no quarter turn, but what a junction sees has.
    let global = map.rows == map.cols || !group.elements().any(|g| acts.swaps(g));
    let moved = |&g: &usize| (0..junctions).map(|j| acts.junction(g, map, j)).collect();
    Ok(Spec {
        agent_moves: global.then(|| group.generators().iter().map(moved).collect()),
        image: Some(shape(1, 1)),
        team_image: Some(shape(map.rows, map.cols)),
        measures: measures(),
        thresholds: vec![10.0, 5.0, 4.45, 2.3],
        controllers: ["fixed-cycle:STEPS", "longest-queue", "max-pressure", "planner:PLANS"]
            .map(String::from)
            .to_vec(),
        references: ["fixed-cycle", "longest-queue"].map(String::from).to_vec(),
        links: Links::Fixed,
        fallbacks: vec![Fallback { name: "fixed-cycle".into(), cycle: USUAL_PERIOD as u32 }],
        cause: if options.tilt == 0.0 { String::new() } else { exchanged(acts) },
        ..Spec::new("traffic", junctions, group, Actions::Choice { names, rep, marks })
    })
}

/// The representation of what a turn that makes columns of rows negates.
fn exchanged(acts: &Acts) -> String {
    let sign = |&g: &usize| String::from(if acts.swaps(g) { "-1" } else { "1" });
    match acts.group.generators() {
        [] => "trivial".into(),
        all => format!("matrix[{}]", all.iter().map(sign).collect::<Vec<_>>().join("; ")),
    }
}

/// `2x3`: rows and columns.
fn junctions(text: &str) -> Result<Vec<(&'static str, Value)>> {
    let number = |part: &str| part.trim().parse::<usize>().ok();
    match text.split_once('x').and_then(|(rows, cols)| Some((number(rows)?, number(cols)?))) {
        Some((rows, cols)) => Ok(vec![("rows", rows.into()), ("cols", cols.into())]),
        None => Err(Error::BadWorld(format!(
            "cannot read the junctions `{text}`; write rows x columns, for example 2x2"
        ))),
    }
}

impl TrafficOptions {
    /// The options that these settings say.
    ///
    /// # Errors
    /// If one is missing or of another kind.
    pub fn of(settings: &Settings) -> Result<TrafficOptions> {
        let tilt = settings.number("tilt")?;
        if tilt < 0.0 {
            return Err(Error::BadWorld(format!(
                "tilt is from 0, all roads alike, to 1, arrivals along rows only; got {tilt}"
            )));
        }
        Ok(TrafficOptions {
            rows: settings.whole("rows")?,
            cols: settings.whole("cols")?,
            arrival_steps: settings.whole("arrival_steps")?,
            arrival_probability: settings.number("arrival_probability")?,
            step_limit: settings.whole("step_limit")?,
            tilt,
            main_road: settings.number("main_road")?,
        })
    }
}

impl Traffic {
    /// The world with these settings.
    ///
    /// # Errors
    /// If they do not make a world.
    pub fn of(settings: &Settings) -> Result<Traffic> {
        Traffic::new(TrafficOptions::of(settings)?)
    }
}
