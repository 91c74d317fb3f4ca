//! The world on the command line: its name, and the options that it declares as flags of every verb.

use crate::registry;
use anyhow::{Result, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use equimarl_learn::Method;
use equimarl_worlds::{Definition, Value, WorldConfig};
use std::collections::BTreeMap;

/// The names of worlds, for `value_parser`.
pub fn names() -> PossibleValuesParser {
    let value = |world: &dyn Definition| PossibleValue::new(world.name()).help(world.about());
    PossibleValuesParser::new(registry().iter().map(value))
}

/// The names of methods, for `value_parser`.
pub fn methods() -> impl TypedValueParser<Value = Method> {
    let read = |name: String| name.parse::<Method>();
    PossibleValuesParser::new(Method::ALL.map(Method::name)).try_map(read)
}

/// The options of worlds that were given. They stay text until the world is known.
#[derive(Clone, Debug, Default)]
pub struct WorldArgs {
    given: Vec<(String, String)>,
}

/// A flag, and what it is in each world that has it.
struct Flag {
    value_name: &'static str,
    help: Vec<String>,
}

/// All flags of all worlds, by name.
fn flags() -> BTreeMap<String, Flag> {
    let mut flags: BTreeMap<String, Flag> = BTreeMap::new();
    let mut add = |name: String, value_name, help: String| {
        flags.entry(name).or_insert(Flag { value_name, help: vec![] }).help.push(help);
    };
    for world in registry().iter() {
        let title = capital(world.name());
        for short in world.shorthands() {
            add(short.flag.into(), short.value_name, format!("{title}: {}", short.help));
        }
        for option in world.options().iter().filter(|o| o.flag) {
            let help = format!("{title}: {} [default: {}]", option.help, option.usual);
            add(option.key.replace('_', "-"), option.value_name, help);
        }
    }
    flags
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

impl Args for WorldArgs {
    fn augment_args(mut command: Command) -> Command {
        for (name, flag) in flags() {
            // The flags of a program are as few as its worlds, and live as long as it does.
            let name: &'static str = String::leak(name);
            let arg = Arg::new(name)
                .long(name)
                .value_name(flag.value_name)
                .help(flag.help.join("; "))
                .help_heading("The world")
                .allow_negative_numbers(true);
            command = command.arg(arg);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        WorldArgs::augment_args(command)
    }
}

impl FromArgMatches for WorldArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<WorldArgs, Error> {
        let given = |name: String| Some((name.clone(), matches.get_one::<String>(&name)?.clone()));
        Ok(WorldArgs { given: flags().into_keys().filter_map(given).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), Error> {
        *self = WorldArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Refuses worlds whose options have the names of a verb's own.
pub fn check_flags(command: &Command) -> Result<()> {
    let own = flags();
    for verb in command.get_subcommands() {
        check_flags(verb)?;
        let mut seen: Vec<&str> = vec![];
        for name in verb.get_arguments().filter_map(Arg::get_long) {
            ensure!(
                !seen.contains(&name) || !own.contains_key(name),
                "an option of a world cannot be called `{name}`: `{} --{name}` is something else; give it another key",
                verb.get_name()
            );
            seen.push(name);
        }
    }
    Ok(())
}

impl WorldArgs {
    /// This world with the options that were given.
    ///
    /// # Errors
    /// If an option belongs to another world, or its text cannot be read.
    pub fn over(&self, base: &WorldConfig) -> Result<WorldConfig> {
        let world = registry().get(&base.name)?;
        let (options, shorthands) = (world.options(), world.shorthands());
        let mut config = base.clone();
        let mut asked: Vec<(&str, &str)> = vec![];
        for (flag, text) in &self.given {
            if let Some(short) = shorthands.iter().find(|s| s.flag == flag) {
                for (key, value) in (short.parse)(text)? {
                    config.settings.set(key, value);
                    asked.push((flag, key));
                }
            } else if let Some(option) = options.iter().find(|o| o.flag && o.key.replace('_', "-") == *flag) {
                let value = Value::parse(text, &option.usual)
                    .map_err(|error| anyhow::anyhow!("--{flag}: {error}"))?;
                config.settings.set(option.key, value);
                asked.push((flag, option.key));
            } else {
                let owner = registry().iter().find(|w| has_flag(*w, flag)).map_or("another", |w| w.name());
                bail!("--{flag} belongs to the {owner} world");
            }
        }
        // What the world does not look at beside its other settings stays as usual, whatever is given. Texts may be spelled in
        // several ways anyway.
        let unused = |&&(_, key): &&(&str, &str)| {
            let other = match config.settings.get(key) {
                Some(Value::Whole(n)) => Value::Whole(n.wrapping_add(1)),
                Some(Value::Number(x)) if x.is_finite() => Value::Number(x + 1.0),
                _ => return false,
            };
            world.canonical(config.settings.clone().with(key, other.clone())).get(key) != Some(&other)
        };
        if let Some((flag, _)) = asked.iter().find(unused) {
            let files: Vec<String> = world
                .files()
                .iter()
                .filter(|key| config.settings.text(key).is_ok_and(|file| !file.is_empty()))
                .map(|key| format!(" --{}", key.replace('_', "-")))
                .collect();
            let beside =
                if files.is_empty() { " its other settings".to_string() } else { files.join(" and") };
            bail!("--{flag} changes nothing beside{beside}: leave it out");
        }
        Ok(config)
    }

    /// The world with this name, with the options that were given.
    ///
    /// # Errors
    /// As [`WorldArgs::over`].
    pub fn of(&self, name: &str) -> Result<WorldConfig> {
        self.over(&registry().usual(name)?)
    }
}

fn has_flag(world: &dyn Definition, flag: &str) -> bool {
    world.shorthands().iter().any(|s| s.flag == flag)
        || world.options().iter().any(|o| o.flag && o.key.replace('_', "-") == flag)
}

/// What two settings of one world differ in: `drones 3 -> 6`.
pub fn changes(from: &WorldConfig, to: &WorldConfig) -> Option<String> {
    let differs = |(key, new): (&str, &Value)| {
        let old = from.settings.get(key).filter(|old| *old != new)?;
        Some(format!("{key} {old} -> {new}"))
    };
    let list: Vec<String> = to.settings.iter().filter_map(differs).collect();
    (!list.is_empty()).then(|| list.join(", "))
}
