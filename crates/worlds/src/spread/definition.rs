//! The spread world as programs know it.

use super::{Spread, SpreadRules};
use crate::batch::EnvBatch;
use crate::envs::Envs;
use crate::error::{Error, Result};
use crate::particles::{Common, canonical, options, script};
use crate::registry::{self, Symmetries};
use crate::settings::{Opt, Settings};
use equimarl_group::Group;
use serde_json::Value;

/// The spread world's entry in the list of worlds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definition;

const AGENTS: usize = 3;

impl registry::Definition for Definition {
    fn name(&self) -> &'static str {
        "spread"
    }

    fn about(&self) -> &'static str {
        "Particles cover landmarks without bumping into each other (MPE)."
    }

    fn options(&self) -> Vec<Opt> {
        let mut all = vec![
            Opt::new("agents", AGENTS, "N", "the number of agents"),
            Opt::new("landmarks", 0usize, "N", "the number of landmarks; 0 for as many as agents"),
            Opt::new("local_ratio", 0.5, "W", "the weight of collisions, 0 to 1; distances have the rest"),
            Opt::new(
                "size",
                1.0,
                "S",
                "half the side of the square, or the radius of the disc, of the start",
            ),
        ];
        all.extend(options());
        all
    }

    fn canonical(&self, settings: Settings) -> Settings {
        canonical(settings)
    }

    /// Vectors in a disc have all turns; what is claimed is what all settings have.
    fn symmetries(&self, _settings: &Settings) -> Symmetries {
        Symmetries { largest: "D4".into(), usual: "D4".into() }
    }

    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        Ok(Box::new(EnvBatch::of(&Spread::of(settings, group)?, count)))
    }

    fn replay(&self, script: &Value) -> Result<Value> {
        script::check_fields(script, &["agents", "landmarks", "local_ratio"])?;
        let (agents, landmarks) =
            (script::list(script, "agents")?.len(), script::list(script, "landmarks")?.len());
        let ratio = match &script["local_ratio"] {
            Value::Null => 0.5,
            ratio => check_ratio(ratio.as_f64().unwrap_or(f64::NAN))?,
        };
        let rules = SpreadRules::new(agents, landmarks, ratio);
        script::play(&mut Spread::new(rules, script::common(script)?, &"C1".parse()?)?, script)
    }

    /// All teams have as much room each.
    fn benchmarks(&self) -> Vec<Settings> {
        let room = |agents: usize| (100.0 * (agents as f64 / AGENTS as f64).sqrt()).round() / 100.0;
        let with = |agents: usize| {
            Settings::usual(&self.options()).with("agents", agents).with("size", room(agents))
        };
        // Small teams hear everybody, and large ones those that are near.
        vec![with(AGENTS), with(100).with("radius", "1"), with(1000).with("radius", "1")]
    }

    /// All episodes have as many steps: without a warm-up, environments would be in the same part of theirs all the time.
    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[("default", "warm_up = 25\ndiscount = 0.95\nentropy_coefficient = 1e-3")]
    }

    fn label(&self, settings: &Settings) -> String {
        label(self, settings, "agents")
    }

    fn title(&self, settings: &Settings) -> String {
        title(self, settings, "agents")
    }
}

/// The name, the size of the team, and what else is not as usual.
pub(crate) fn label(world: &dyn registry::Definition, settings: &Settings, team: &str) -> String {
    let count = settings.get(team).map_or(String::new(), |n| format!("-{n}"));
    let rest =
        unusual(world, settings, team).map(|(key, value)| format!("-{}{value}", key.replace('_', "-")));
    format!("{}{count}{}", world.name(), rest.collect::<String>())
}

/// The same for people.
pub(crate) fn title(world: &dyn registry::Definition, settings: &Settings, team: &str) -> String {
    let count = settings.get(team).map_or(String::new(), |n| format!(", {n} {team}"));
    let rest =
        unusual(world, settings, team).map(|(key, value)| format!(", {} {value}", key.replace('_', " ")));
    format!("{}{count}{}", world.name(), rest.collect::<String>())
}

fn unusual<'a>(
    world: &dyn registry::Definition,
    settings: &'a Settings,
    team: &'a str,
) -> impl Iterator<Item = (&'a str, String)> + use<'a> {
    let options = world.options();
    settings.iter().filter_map(move |(key, value)| {
        let differs = options.iter().any(|o| o.key == key && o.usual != *value);
        (differs && key != team).then(|| (key, value.to_string()))
    })
}

fn check_ratio(ratio: f64) -> Result<f64> {
    match (0.0..=1.0).contains(&ratio) {
        true => Ok(ratio),
        false => Err(Error::BadWorld(format!("`local_ratio` is a weight from 0 to 1, not {ratio}"))),
    }
}

impl Spread {
    /// The world with these settings, under a group.
    ///
    /// # Errors
    /// If they do not make a world, or the group does not act on its actions.
    pub fn of(settings: &Settings, group: &Group) -> Result<Spread> {
        let (agents, landmarks) = (settings.whole("agents")?, settings.whole("landmarks")?);
        let size = settings.number("size")?;
        if !(0.01..=1e4).contains(&size) {
            return Err(Error::BadWorld(format!("`size` is 0.01 to 10000, not {size}")));
        }
        let landmarks = if landmarks == 0 { agents } else { landmarks };
        let rules = SpreadRules::new(agents, landmarks, check_ratio(settings.number("local_ratio")?)?);
        let mut common = Common::of(settings)?;
        common.arena.half = size;
        Spread::new(rules, common, group)
    }
}
