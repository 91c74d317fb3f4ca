//! The tag world as programs know it.

use super::{Prey, Tag, TagRules};
use crate::batch::EnvBatch;
use crate::envs::Envs;
use crate::error::{Error, Result};
use crate::particles::{Common, canonical, options, script};
use crate::registry::{self, Symmetries};
use crate::settings::{Opt, Settings};
use crate::spread::{label, title};
use equimarl_group::Group;
use serde_json::Value;

/// The tag world's entry in the list of worlds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definition;

impl registry::Definition for Definition {
    fn name(&self) -> &'static str {
        "tag"
    }

    fn about(&self) -> &'static str {
        "Particles catch faster prey among obstacles (MPE)."
    }

    fn options(&self) -> Vec<Opt> {
        let mut all = vec![
            Opt::new("chasers", 3usize, "N", "the number of chasers: the team"),
            Opt::new("prey", 1usize, "N", "the number of prey, which the team does not control"),
            Opt::new("obstacles", 2usize, "N", "the number of obstacles"),
            Opt::new("prey_rule", "flees", "RULE", "what prey does: `flees`, or `random`"),
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
        Ok(Box::new(EnvBatch::of(&Tag::of(settings, group)?, count)))
    }

    fn replay(&self, script: &Value) -> Result<Value> {
        script::check_fields(script, &["chasers", "prey", "obstacles", "prey_actions"])?;
        let count = |name: &str| Ok::<usize, Error>(script::list(script, name)?.len());
        let common = script::common(script)?;
        let rules =
            TagRules::new([count("chasers")?, count("prey")?, count("obstacles")?], Prey::Random, &common);
        script::play(&mut Tag::new(rules, common, &"C1".parse()?)?, script)
    }

    /// As for spread.
    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[("default", "warm_up = 25\ndiscount = 0.95\nentropy_coefficient = 1e-3")]
    }

    fn label(&self, settings: &Settings) -> String {
        label(self, settings, "chasers")
    }

    fn title(&self, settings: &Settings) -> String {
        title(self, settings, "chasers")
    }
}

impl Tag {
    /// The world with these settings, under a group.
    ///
    /// # Errors
    /// If they do not make a world, or the group does not act on its actions.
    pub fn of(settings: &Settings, group: &Group) -> Result<Tag> {
        let rule = match settings.text("prey_rule")? {
            "flees" => Prey::Flees,
            "random" => Prey::Random,
            other => {
                return Err(Error::BadWorld(format!("`prey_rule` is flees or random, not `{other}`")));
            }
        };
        let count = |name: &str| settings.whole(name);
        let common = Common::of(settings)?;
        let rules = TagRules::new([count("chasers")?, count("prey")?, count("obstacles")?], rule, &common);
        Tag::new(rules, common, group)
    }
}
