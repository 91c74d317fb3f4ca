//! The options of a world, and what they are set to.
//!
//! A world declares its options once. From the declaration follow the keys of `[world]` in files, the flags of every
//! verb, what is written into models and run folders, and which runs count as the same.

use crate::error::{Error, Result};
use crate::nearest;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// What an option is set to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// True or false.
    Flag(bool),
    /// A whole number from 0 on.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A name.
    Text(String),
}

/// Floating point numbers up to here are exact.
const EXACT: f64 = (1u64 << 53) as f64;

impl Value {
    /// This value as one of the kind of `like`: 2 is a number, too, and 1e5 a whole one; where a name is wanted, a number stands
    /// for its digits.
    pub fn of_kind(&self, like: &Value) -> Option<Value> {
        match (like, self) {
            (Value::Number(_), Value::Whole(n)) => Some(Value::Number(*n as f64)),
            (Value::Whole(_), Value::Number(x)) => {
                (x.fract() == 0.0 && (0.0..=EXACT).contains(x)).then_some(Value::Whole(*x as u64))
            }
            (Value::Text(_), Value::Whole(_) | Value::Number(_)) => Some(Value::Text(self.to_string())),
            _ => (std::mem::discriminant(like) == std::mem::discriminant(self)).then(|| self.clone()),
        }
    }

    /// Reads a value of the kind of `like`, as it is written after a flag.
    ///
    /// # Errors
    /// If it is none, saying what would be.
    pub fn parse(text: &str, like: &Value) -> Result<Value> {
        let found = match like {
            Value::Flag(_) => text.parse().ok().map(Value::Flag),
            Value::Whole(_) => {
                let short = || text.parse().ok().and_then(|x| Value::Number(x).of_kind(like));
                text.parse().ok().map(Value::Whole).or_else(short)
            }
            Value::Number(_) => text.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Number),
            Value::Text(_) => Some(Value::Text(text.into())),
        };
        found.ok_or_else(|| Error::BadWorld(format!("`{text}` is not {}", like.kind())))
    }

    /// What values of this kind are, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Flag(_) => "true or false",
            Value::Whole(_) => "a whole number from 0 on",
            Value::Number(_) => "a number",
            Value::Text(_) => "a name",
        }
    }
}

impl fmt::Display for Value {
    /// As in TOML, but text without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Flag(x) => write!(f, "{x}"),
            Value::Whole(x) => write!(f, "{x}"),
            Value::Number(x) => write!(f, "{x}"),
            Value::Text(x) => f.write_str(x),
        }
    }
}

impl From<bool> for Value {
    fn from(x: bool) -> Value {
        Value::Flag(x)
    }
}

impl From<usize> for Value {
    fn from(x: usize) -> Value {
        Value::Whole(x as u64)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::Number(x)
    }
}

impl From<&str> for Value {
    fn from(x: &str) -> Value {
        Value::Text(x.into())
    }
}

/// One option of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Opt {
    /// Its key in `[world]`: lower-case letters, digits and underscores.
    pub key: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// What it is called in the help after its flag, for example N.
    pub value_name: &'static str,
    /// What it is unless somebody says otherwise. Its kind is the option's kind.
    pub usual: Value,
    /// For an option that came after worlds of this name were used: what happened before it existed. Runs, models and
    /// records from then do not have the key, and it means this. Never change it.
    pub absent: Option<Value>,
    /// Whether it has a flag of its own: its key with dashes.
    pub flag: bool,
}

impl Opt {
    /// An option that the world has had from the beginning.
    pub fn new(
        key: &'static str,
        usual: impl Into<Value>,
        value_name: &'static str,
        help: &'static str,
    ) -> Opt {
        Opt { key, help, value_name, usual: usual.into(), absent: None, flag: true }
    }

    /// The same option, added to a world that was used before: without it, the world did as with this value.
    pub fn added_later(self, absent: impl Into<Value>) -> Opt {
        Opt { absent: Some(absent.into()), ..self }
    }

    /// The same option without a flag of its own: a [`Shorthand`] sets it.
    pub fn without_flag(self) -> Opt {
        Opt { flag: false, ..self }
    }
}

/// Reads the text after a flag: options, and what it sets them to.
pub type ParseFlag = fn(&str) -> Result<Vec<(&'static str, Value)>>;

/// A flag that sets several options at once, as `--junctions 2x3` sets rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Shorthand {
    /// The flag, without its dashes.
    pub flag: &'static str,
    /// What it is called in the help, for example RxC.
    pub value_name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// The options that its text sets.
    pub parse: ParseFlag,
}

/// What the options of a world are set to, in the order of their declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(Vec<(String, Value)>);

impl Settings {
    /// Every option as it usually is.
    pub fn usual(options: &[Opt]) -> Settings {
        Settings(options.iter().map(|o| (o.key.to_string(), o.usual.clone())).collect())
    }

    /// What an option is set to.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// All options and what they are set to.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets an option, which is added if it is not there.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.into(), value)),
        }
    }

    /// The same settings with this one.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Settings {
        self.set(key, value);
        self
    }

    /// A whole number.
    ///
    /// # Errors
    /// If it is not there, or something else.
    pub fn whole(&self, key: &str) -> Result<usize> {
        match self.get(key) {
            Some(Value::Whole(n)) => {
                usize::try_from(*n).map_err(|_| Error::BadWorld(format!("`{key}` is too large: {n}")))
            }
            other => Err(wrong(key, "a whole number", other)),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// If it is not there, or something else.
    pub fn number(&self, key: &str) -> Result<f64> {
        match self.get(key) {
            Some(Value::Number(x)) => Ok(*x),
            other => Err(wrong(key, "a number", other)),
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// If it is not there, or something else.
    pub fn flag(&self, key: &str) -> Result<bool> {
        match self.get(key) {
            Some(Value::Flag(x)) => Ok(*x),
            other => Err(wrong(key, "true or false", other)),
        }
    }

    /// A name.
    ///
    /// # Errors
    /// If it is not there, or something else.
    pub fn text(&self, key: &str) -> Result<&str> {
        match self.get(key) {
            Some(Value::Text(x)) => Ok(x),
            other => Err(wrong(key, "a name", other)),
        }
    }

    /// These settings as the settings of a world with these options: in their order, each of its kind. Options that came
    /// later and are not given are as they were before they existed; others that are not given are refused.
    ///
    /// # Errors
    /// If an option is unknown, missing, or of another kind.
    pub fn complete(&self, world: &str, options: &[Opt]) -> Result<Settings> {
        if let Some((key, _)) = self.0.iter().find(|(key, _)| options.iter().all(|o| o.key != key)) {
            let keys: Vec<&str> = options.iter().map(|o| o.key).collect();
            let hint = match nearest(key, keys.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if keys.is_empty() => "it has none".into(),
                None => format!("it has {}", keys.join(", ")),
            };
            return Err(Error::BadWorld(format!("{world} has no option `{key}`; {hint}")));
        }
        let value = |option: &Opt| match (self.get(option.key), &option.absent) {
            (Some(value), _) => value.of_kind(&option.usual).ok_or_else(|| {
                let kind = option.usual.kind();
                Error::BadWorld(format!("`{}` of {world} must be {kind}, not {value}", option.key))
            }),
            (None, Some(absent)) => Ok(absent.clone()),
            (None, None) => Err(Error::BadWorld(format!("`{}` of {world} is missing", option.key))),
        };
        let all: Result<Vec<_>> = options.iter().map(|o| Ok((o.key.to_string(), value(o)?))).collect();
        Ok(Settings(all?))
    }

    /// Without options that are as they were before they existed: what tells one world from another, now and after more
    /// options are added.
    pub fn identity(&self, options: &[Opt]) -> Settings {
        let absent = |key: &str, value: &Value| {
            options.iter().any(|o| o.key == key && o.absent.as_ref() == Some(value))
        };
        Settings(self.0.iter().filter(|(key, value)| !absent(key, value)).cloned().collect())
    }
}

fn wrong(key: &str, kind: &str, found: Option<&Value>) -> Error {
    Error::BadWorld(match found {
        Some(value) => format!("`{key}` must be {kind}, not {value}"),
        None => format!("`{key}` is missing; it must be {kind}"),
    })
}

/// A world by its name, and its settings: what a config says under `[world]`, and what a model remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldConfig {
    /// The world's name.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
}

impl WorldConfig {
    /// The same world with an option set to something else.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> WorldConfig {
        self.settings.set(key, value);
        self
    }
}

impl Serialize for WorldConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.settings.0.len()))?;
        map.serialize_entry("name", &self.name)?;
        for (key, value) in self.settings.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for WorldConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<WorldConfig, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = WorldConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table with the name of a world and its options")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<WorldConfig, A::Error> {
                let (mut name, mut settings) = (None, Settings::default());
                while let Some(key) = map.next_key::<String>()? {
                    if key == "name" {
                        name = Some(map.next_value()?);
                    } else if settings.get(&key).is_some() {
                        return Err(serde::de::Error::custom(format!("`{key}` is there twice")));
                    } else {
                        let value: Value = map.next_value().map_err(|_| {
                            let kinds = "a whole number from 0 on, a number, true, false or a name in quotes";
                            serde::de::Error::custom(format!("`world.{key}` must be {kinds}"))
                        })?;
                        settings.0.push((key, value));
                    }
                }
                let name = name.ok_or_else(|| serde::de::Error::missing_field("name"))?;
                Ok(WorldConfig { name, settings })
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<Opt> {
        vec![
            Opt::new("boats", 3usize, "N", "How many boats."),
            Opt::new("current", 0.5, "V", "How fast the water runs."),
        ]
    }

    #[test]
    fn values_are_read_by_kind() {
        let whole = Value::Whole(0);
        for (text, number) in [("7", 7), ("1e3", 1000)] {
            assert_eq!(Value::parse(text, &whole).unwrap(), Value::Whole(number));
        }
        for text in ["-1", "1.5", "many", "", "1e30"] {
            let error = Value::parse(text, &whole).unwrap_err().to_string();
            assert!(error.contains("is not a whole number from 0 on"), "{error}");
        }
        assert_eq!(Value::parse("2", &Value::Number(0.0)).unwrap(), Value::Number(2.0));
        assert!(Value::parse("nan", &Value::Number(0.0)).is_err());
        assert_eq!(Value::parse("true", &Value::Flag(false)).unwrap(), Value::Flag(true));
    }

    #[test]
    fn files_hold_the_name_first_and_options_in_their_order() {
        let world = WorldConfig { name: "river".into(), settings: Settings::usual(&options()) };
        let text = serde_json::to_string(&world).unwrap();
        assert_eq!(text, r#"{"name":"river","boats":3,"current":0.5}"#);
        assert_eq!(serde_json::from_str::<WorldConfig>(&text).unwrap(), world);
        for (bad, part) in [
            (r#"{"boats":3}"#, "missing field `name`"),
            (r#"{"name":"river","boats":[1]}"#, "`world.boats` must be"),
            (r#"{"name":"river","boats":1,"boats":2}"#, "`boats` is there twice"),
        ] {
            let error = serde_json::from_str::<WorldConfig>(bad).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn an_option_that_came_later_changes_nothing_that_was_before() {
        let before = Settings::usual(&options()).with("boats", 5usize);
        let mut grown = options();
        grown.push(Opt::new("wind", 0.3, "V", "How strong the wind is.").added_later(0.0));
        // What was written before the option existed means what it meant.
        let now = before.complete("river", &grown).unwrap();
        assert_eq!(now.number("wind").unwrap(), 0.0);
        assert_eq!(now.identity(&grown), before);
        assert_eq!(now.complete("river", &grown).unwrap(), now);
        // What uses it is something else.
        assert_ne!(now.with("wind", 0.3).identity(&grown), before);
    }

    #[test]
    fn settings_of_another_world_are_refused() {
        let usual = Settings::usual(&options());
        for (settings, part) in [
            (usual.clone().with("sails", 2usize), "river has no option `sails`; it has boats, current"),
            (usual.clone().with("boat", 2usize), "river has no option `boat`; did you mean `boats`?"),
            (
                usual.clone().with("boats", "three"),
                "`boats` of river must be a whole number from 0 on, not three",
            ),
            (usual.clone().with("boats", -1.0), "`boats` of river must be a whole number from 0 on, not -1"),
            (Settings::default().with("boats", 1usize), "`current` of river is missing"),
        ] {
            let error = settings.complete("river", &options()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
