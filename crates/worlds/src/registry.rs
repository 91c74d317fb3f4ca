//! The worlds that a program has: one list. A built-in world is a folder and a line in [`builtin`]; a world from
//! elsewhere is a crate and a call of [`Registry::with`].

use crate::action::GroupAction;
use crate::envs::Envs;
use crate::episode::Summary;
use crate::error::{Error, Result};
use crate::settings::{Opt, Settings, Shorthand, WorldConfig};
use crate::spec::{Described, Home};
use equimarl_group::Group;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a program needs to know of a world before there is one.
pub trait Definition: Send + Sync {
    /// The name that files and the command line know it by: lower-case letters, digits and dashes.
    fn name(&self) -> &'static str;

    /// What it is, in one line for the help.
    fn about(&self) -> &'static str;

    /// Raised when the same settings make another world than before. A model says which one it was trained in.
    fn version(&self) -> u32 {
        1
    }

    /// Its options, in the order in which files list them.
    fn options(&self) -> Vec<Opt>;

    /// The same settings in the one way of writing them: a text that is a number may be written in several.
    fn canonical(&self, settings: Settings) -> Settings {
        settings
    }

    /// Flags that set several options at once.
    fn shorthands(&self) -> Vec<Shorthand> {
        vec![]
    }

    /// The largest symmetry that a world with these settings has, and the one that networks usually get. Both are groups
    /// of this very world: if its layout is fixed, only what maps the layout to itself.
    fn symmetries(&self, settings: &Settings) -> Symmetries;

    /// Environments of the world with these settings, under this group, none of them started.
    ///
    /// # Errors
    /// If the settings do not make a world, or the group does not act on what its agents see.
    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>>;

    /// Refuses a group that is not a symmetry of what agents see: teams would learn from copies that do not exist.
    ///
    /// # Errors
    /// If it is known not to be one. An audit finds out the rest.
    fn check_symmetry(&self, _settings: &Settings, _group: &Group) -> Result<()> {
        Ok(())
    }

    /// An audit of a world that is not [`crate::Exact`], if it has one of its own: about `steps` steps.
    fn audit(
        &self,
        _settings: &Settings,
        _group: &Group,
        _steps: usize,
        _seed: u64,
    ) -> Option<Result<OwnAudit>> {
        None
    }

    /// Plays a scripted episode, if the world knows how: what comes out after every step.
    ///
    /// # Errors
    /// If it does not, or the script is none.
    fn replay(&self, _script: &serde_json::Value) -> Result<serde_json::Value> {
        Err(Error::BadScript(format!("the world `{}` has no scripts", self.name())))
    }

    /// The best that any team could do, where that can be computed, or the best that is known, over so many episodes. May take
    /// long.
    ///
    /// # Errors
    /// If it cannot.
    fn solve(&self, _settings: &Settings, _episodes: usize) -> Result<Solved> {
        Err(Error::BadWorld(format!("the best possible return in `{}` is not known", self.name())))
    }

    /// Options that name files. Runs keep copies of them, so that they are whole by themselves.
    fn files(&self) -> &'static [&'static str] {
        &[]
    }

    /// Writes what else a world with these settings is made from into a folder for a run to keep. Settings from there on have the
    /// folder's name under [`KEPT_IN`].
    ///
    /// # Errors
    /// If it cannot be written.
    fn keep(&self, _settings: &Settings, _folder: &Path) -> Result<()> {
        Ok(())
    }

    /// What a text for people says of a state in [`Definition::replay`].
    fn replayed(&self, step: &serde_json::Value) -> String {
        let shown = |key: &str| !["reward", "terminated", "truncated"].contains(&key);
        let entries = step.as_object().into_iter().flatten().filter(|(key, _)| shown(key));
        entries.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join("  ")
    }

    /// Settings in which the speed of this world is measured.
    fn benchmarks(&self) -> Vec<Settings> {
        vec![Settings::usual(&self.options())]
    }

    /// Settings of the trainer that suit this world, by preset (`default` or `paper`): lines of TOML over those of the
    /// preset itself. They are read when something trains; a mistake in them is found then, not when the world is
    /// registered.
    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Its name and size, short, for names of runs: `wildlife-3`.
    fn label(&self, settings: &Settings) -> String {
        let unusual = unusual(&self.options(), settings);
        let part = |(key, value): (&str, String)| format!("-{}{value}", key.replace('_', "-"));
        self.name().to_string() + &unusual.into_iter().map(part).collect::<String>()
    }

    /// Its name and size, for people: `wildlife, 3 drones`.
    fn title(&self, settings: &Settings) -> String {
        let unusual = unusual(&self.options(), settings);
        let part = |(key, value): (&str, String)| format!(", {} {value}", key.replace('_', " "));
        self.name().to_string() + &unusual.into_iter().map(part).collect::<String>()
    }

    /// Where the world lives, if that is not this program: then its declaration travels with runs and models, because those
    /// who read them may not have it.
    fn home(&self) -> Option<Home> {
        None
    }

    /// The settings that a model file of format 1 was made for, which knows the size of pictures and nothing else. Only
    /// worlds that are older than format 2 have such models.
    fn of_first_format(&self, _network: &FirstFormat) -> Option<Settings> {
        None
    }
}

/// What a world's own audit found.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnAudit {
    /// Whether nothing speaks against the symmetry.
    pub holds: bool,
    /// What was found, for people: lines that say how it was looked for.
    pub text: String,
    /// The same as JSON.
    pub report: serde_json::Value,
}

/// The symmetries of a world, by the names of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetries {
    /// The largest that it has.
    pub largest: String,
    /// What networks get unless somebody says otherwise.
    pub usual: String,
}

/// The best that any team could do.
#[derive(Clone, Debug, PartialEq)]
pub enum Solved {
    /// Computed exactly.
    Exact {
        /// The best mean return.
        optimum: f64,
        /// States after symmetry: how much work it was.
        states: usize,
    },
    /// Searched for, by somebody who knows what no team can know.
    Known {
        /// What the search reaches, over the episodes that evaluations play.
        found: Summary,
        /// A measure, and the value that nobody can better in these episodes.
        bound: Option<(&'static str, f64)>,
    },
}

/// What a model file of format 1 says of its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstFormat {
    /// The number of agents.
    pub agents: usize,
    /// Channels, height and width of an agent's picture.
    pub image: [usize; 3],
    /// The same for the picture of the whole state.
    pub team_image: [usize; 3],
}

fn unusual(options: &[Opt], settings: &Settings) -> Vec<(&'static str, String)> {
    let differs = |o: &&Opt| settings.get(o.key).is_some_and(|value| *value != o.usual);
    let value = |o: &Opt| Some((o.key, settings.get(o.key)?.to_string()));
    options.iter().filter(differs).filter_map(value).collect()
}

/// The key under which a world that names files hears where copies of them are kept.
pub const KEPT_IN: &str = "kept_in";

/// Worlds by name. Clones are cheap and share the definitions.
#[derive(Clone, Default)]
pub struct Registry {
    worlds: Vec<Arc<dyn Definition>>,
    /// Where copies of files are that settings name.
    kept: Option<Arc<Path>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The worlds that come with equimarl.
pub fn builtin() -> Registry {
    let worlds: [Arc<dyn Definition>; 4] = [
        Arc::new(crate::wildlife::Definition),
        Arc::new(crate::traffic::Definition),
        Arc::new(crate::spread::Definition),
        Arc::new(crate::tag::Definition),
    ];
    Registry { worlds: worlds.into(), kept: None }
}

impl Registry {
    /// The same list with one world more.
    ///
    /// # Errors
    /// If there is one of this name, or its declaration contradicts itself.
    pub fn with(mut self, world: impl Definition + 'static) -> Result<Registry> {
        let name = world.name();
        let bad =
            |why: String| Err(Error::BadWorld(format!("the world `{name}` cannot be registered: {why}")));
        if self.worlds.iter().any(|w| w.name() == name) {
            return bad("there is one of this name already".into());
        }
        let letters = |text: &str, more: char| {
            text.starts_with(|c: char| c.is_ascii_lowercase())
                && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == more)
        };
        if !letters(name, '-') || name.len() > 64 {
            return bad("a name has lower-case letters, digits and dashes, and at most 64 of them".into());
        }
        let (options, shorthands) = (world.options(), world.shorthands());
        for (i, option) in options.iter().enumerate() {
            let key = option.key;
            if !letters(key, '_') || key == "name" {
                return bad(format!(
                    "the option `{key}` needs another key: lower-case letters, digits and underscores, and not `name`"
                ));
            }
            if options[..i].iter().any(|o| o.key == key) {
                return bad(format!("the option `{key}` is there twice"));
            }
            if option
                .absent
                .as_ref()
                .is_some_and(|absent| absent.of_kind(&option.usual).as_ref() != Some(absent))
            {
                return bad(format!(
                    "the option `{key}` is usually {} and was {:?} before it existed, which is of another kind",
                    option.usual.kind(),
                    option.absent
                ));
            }
        }
        if let Some(short) = shorthands.iter().find(|s| !letters(s.flag, '-')) {
            return bad(format!("the flag `{}` needs lower-case letters, digits and dashes", short.flag));
        }
        let usual = Settings::usual(&options);
        let Symmetries { largest, usual: own } = world.symmetries(&usual);
        for text in [largest, own] {
            let group: Group = text.parse()?;
            let made = world.make(&usual, &group, 1).and_then(|envs| check_envs(&*envs, &world, &group));
            if let Err(error) = made {
                return bad(format!("under {group}, {error}"));
            }
        }
        self.worlds.push(Arc::new(world));
        Ok(self)
    }

    /// Environments of a world under a group, none of them started.
    ///
    /// # Errors
    /// If there is no such world, its settings do not make one, or the group does not act on what its agents see.
    pub fn make(&self, world: &WorldConfig, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        let mut settings = self.complete(world)?.settings;
        if let Some(folder) = &self.kept {
            settings = self.with_kept(world, folder).settings;
            if !self.get(&world.name)?.files().is_empty() {
                settings.set(KEPT_IN, folder.to_string_lossy().as_ref());
            }
        }
        self.get(&world.name)?.make(&settings, group, count)
    }

    /// The same worlds; those that name files are made from the copies in this folder, where there are any.
    pub fn beside(&self, folder: &Path) -> Registry {
        Registry { kept: Some(folder.into()), ..self.clone() }
    }

    /// The world with files in this folder instead of those that it names, where copies of them are there.
    pub fn with_kept(&self, world: &WorldConfig, folder: &Path) -> WorldConfig {
        let mut world = self.complete(world).unwrap_or_else(|_| world.clone());
        for (key, _, copy) in self.named_files(&world, folder) {
            if copy.is_file() {
                world.settings.set(key, copy.to_string_lossy().as_ref());
            }
        }
        world
    }

    /// Copies all that a world is made from into a folder, which is made if there is anything.
    ///
    /// # Errors
    /// If something is not there or cannot be written.
    pub fn keep(&self, world: &WorldConfig, folder: &Path) -> Result<()> {
        let world = self.complete(world)?;
        for (_, file, copy) in self.named_files(&world, folder) {
            let above = copy.parent().unwrap_or(folder);
            let done = fs::create_dir_all(above).and_then(|()| fs::copy(&file, &copy));
            done.map_err(|error| {
                let (from, to) = (file.display(), above.display());
                Error::BadWorld(format!("{from} cannot be copied into {to}, where a run keeps it: {error}"))
            })?;
        }
        self.get(&world.name)?.keep(&world.settings, folder)
    }

    /// Whether two worlds name the same files.
    pub fn same_files(&self, a: &WorldConfig, b: &WorldConfig) -> bool {
        let folder = Path::new("");
        let files = |world| self.named_files(world, folder);
        files(a) == files(b)
    }

    /// The files that a world names, by option, and where copies of them are kept.
    fn named_files(&self, world: &WorldConfig, folder: &Path) -> Vec<(&'static str, PathBuf, PathBuf)> {
        let Ok(found) = self.get(&world.name) else { return vec![] };
        let file = |&key: &&'static str| {
            let path = PathBuf::from(world.settings.text(key).ok()?);
            let copy = folder.join(key).join(path.file_name()?);
            Some((key, path, copy))
        };
        found.files().iter().filter_map(file).collect()
    }

    /// The definition with this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, name: &str) -> Result<&dyn Definition> {
        let found = self.worlds.iter().find(|w| w.name() == name);
        found.map(|w| &**w).ok_or_else(|| {
            Error::BadWorld(format!("no world is called `{name}`; there are {}", self.names().join(", ")))
        })
    }

    /// All definitions, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Definition> {
        self.worlds.iter().map(|w| &**w)
    }

    /// All names.
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|w| w.name()).collect()
    }

    /// The world with this name, every option as it usually is.
    ///
    /// # Errors
    /// If there is none.
    pub fn usual(&self, name: &str) -> Result<WorldConfig> {
        let settings = Settings::usual(&self.get(name)?.options());
        Ok(WorldConfig { name: name.into(), settings })
    }

    /// These settings with all options in order; those that came later are as they were before they existed.
    ///
    /// # Errors
    /// If there is no such world, or an option is unknown, missing or of another kind.
    pub fn complete(&self, world: &WorldConfig) -> Result<WorldConfig> {
        let found = self.get(&world.name)?;
        let settings = world.settings.complete(&world.name, &found.options())?;
        Ok(WorldConfig { name: world.name.clone(), settings: found.canonical(settings) })
    }

    /// Without options that are as they were before they existed, the rest in order and each of its kind. Worlds that are
    /// not there are as they are.
    pub fn identity(&self, world: &WorldConfig) -> WorldConfig {
        let Ok(found) = self.get(&world.name) else { return world.clone() };
        let WorldConfig { name, settings } = self.complete(world).unwrap_or_else(|_| world.clone());
        WorldConfig { name, settings: settings.identity(&found.options()) }
    }

    /// The world's name and size, short, for names of runs.
    pub fn label(&self, world: &WorldConfig) -> String {
        match self.get(&world.name) {
            Ok(found) => found.label(&world.settings),
            Err(_) => world.settings.iter().fold(world.name.clone(), |l, (_, value)| format!("{l}-{value}")),
        }
    }

    /// The world's name and size, for people.
    pub fn title(&self, world: &WorldConfig) -> String {
        match self.get(&world.name) {
            Ok(found) => found.title(&world.settings),
            Err(_) => world.settings.iter().fold(world.name.clone(), |t, (key, value)| {
                format!("{t}, {} {value}", key.replace('_', " "))
            }),
        }
    }

    /// What a world is, for those who may not have it.
    ///
    /// # Errors
    /// If there is no such world, or its settings do not make one.
    pub fn describe(&self, world: &WorldConfig) -> Result<Described> {
        let world = self.complete(world)?;
        let definition = self.get(&world.name)?;
        let usual_group = definition.symmetries(&world.settings).usual;
        let spec = self.make(&world, &usual_group.parse()?, 1)?.spec().as_ref().clone();
        let (title, label, home) = (self.title(&world), self.label(&world), definition.home());
        Ok(Described { title, label, usual_group, home, spec })
    }

    /// The symmetry that networks for this world usually get; nothing where it is not known.
    pub fn usual_group(&self, world: &WorldConfig) -> Option<String> {
        Some(self.get(&world.name).ok()?.symmetries(&world.settings).usual)
    }
}

/// That environments are what was asked for.
fn check_envs(envs: &dyn Envs, asked: &dyn Definition, group: &Group) -> Result<()> {
    let spec = envs.spec();
    GroupAction::new(spec)?;
    let wrong = |field: &str, found: &str, asked: &str| {
        Err(Error::BadWorld(format!("`{field}` of its declaration is `{found}` and not `{asked}`")))
    };
    if spec.world != asked.name() {
        return wrong("world", &spec.world, asked.name());
    }
    if spec.version != asked.version() {
        return wrong("version", &spec.version.to_string(), &asked.version().to_string());
    }
    if spec.group != group.name() {
        return wrong("group", &spec.group, group.name());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
