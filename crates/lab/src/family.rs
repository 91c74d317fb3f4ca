//! Settings that differ in one number of their world: `wind` 0, 0.2, 0.4, and else the same.
//!
//! Options whose name goes on after the number's (`wind_from`) say more about it, and nothing where it is 0: a calm is a calm,
//! wherever the wind would have come from. So a setting at 0 belongs to every family that is otherwise like it.

use crate::error::{Error, Result};
use crate::record::Record;
use crate::setting::Setting;
use equimarl_worlds::{Registry, Value, WorldConfig};
use std::collections::BTreeSet;

/// Settings that are alike but for one number of their world.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// What they have in common, in words.
    pub name: String,
    /// The values of the number, ascending, each with the places of its settings.
    pub members: Vec<(f64, Vec<usize>)>,
}

/// What an option of a world is, if it is a number.
fn value_of(world: &WorldConfig, option: &str) -> Option<f64> {
    match world.settings.get(option)? {
        Value::Whole(n) => Some(*n as f64),
        Value::Number(x) => Some(*x).filter(|x| x.is_finite()),
        _ => None,
    }
}

/// Refuses an option that no run's world has, or that is no number.
///
/// # Errors
/// Saying which there are.
pub fn check_option<'a>(records: impl IntoIterator<Item = &'a Record>, option: &str) -> Result<()> {
    let mut numbers = BTreeSet::new();
    for record in records {
        let world = &record.config.world;
        if value_of(world, option).is_some() {
            return Ok(());
        }
        let named = world.settings.iter().map(|(key, _)| key).filter(|key| value_of(world, key).is_some());
        numbers.extend(named.map(String::from));
    }
    let numbers: Vec<String> = numbers.into_iter().collect();
    Err(Error::Bad(format!(
        "no world of these runs has a number called `{option}`; there are {}",
        if numbers.is_empty() { "none at all".into() } else { numbers.join(", ") }
    )))
}

/// What tells a setting from others of the same family, and families from each other.
struct Key {
    value: f64,
    /// The world without the number and what says more about it, and everything else that runs share.
    base: String,
    /// What says more about it.
    more: Vec<String>,
}

fn key(setting: &Setting<'_>, option: &str) -> Option<Key> {
    let value = value_of(&setting.config, option)?;
    let prefix = format!("{option}_");
    let others = setting.config.settings.iter().filter(|(key, _)| *key != option);
    let (more, rest): (Vec<_>, Vec<_>) = others.partition(|(key, _)| key.starts_with(&prefix));
    let text = |(key, value): &(&str, &Value)| format!("{key} {value}");
    let rest: Vec<String> = rest.iter().map(text).collect();
    Some(Key {
        value,
        base: format!("{} {} {}", setting.config.name, rest.join(", "), setting.rules),
        more: if value == 0.0 { vec![] } else { more.iter().map(text).collect() },
    })
}

/// The families among some settings, in the order of the settings; settings without the number are in none.
pub(crate) fn families(registry: &Registry, settings: &[&Setting<'_>], option: &str) -> Vec<Family> {
    let keys: Vec<Option<Key>> = settings.iter().map(|s| key(s, option)).collect();
    let found = || keys.iter().enumerate().filter_map(|(i, k)| Some((i, k.as_ref()?)));
    let mut kinds: Vec<(&str, &[String], usize)> = vec![];
    let mut add = |base, more, first| {
        if !kinds.iter().any(|(b, m, _)| (*b, *m) == (base, more)) {
            kinds.push((base, more, first));
        }
    };
    for (i, key) in found().filter(|(_, k)| k.value != 0.0) {
        add(key.base.as_str(), key.more.as_slice(), i);
    }
    for (i, key) in found().filter(|(_, k)| k.value == 0.0) {
        if !found().any(|(_, k)| k.value != 0.0 && k.base == key.base) {
            add(key.base.as_str(), &[], i);
        }
    }
    let mut families: Vec<Family> = vec![];
    for (base, more, first) in &kinds {
        let belongs = |k: &Key| k.base == *base && (k.value == 0.0 || k.more == *more);
        let mut members: Vec<(f64, Vec<usize>)> = vec![];
        for (i, key) in found().filter(|(_, k)| belongs(k)) {
            match members.iter_mut().find(|(value, _)| *value == key.value) {
                Some((_, places)) => places.push(i),
                None => members.push((key.value, vec![i])),
            }
        }
        members.sort_by(|a, b| a.0.total_cmp(&b.0));
        let several = kinds.iter().filter(|(b, ..)| b == base).count() > 1;
        let mut name = name(registry, &settings[*first].config, option, several);
        let same = families.iter().filter(|f| f.name.starts_with(&name)).count();
        if same > 0 {
            name += &format!(" ({})", same + 1);
        }
        families.push(Family { name, members });
    }
    families
}

/// "wildlife by wind, wind_from any": what is not as usual, and what tells it from others.
fn name(registry: &Registry, world: &WorldConfig, option: &str, several: bool) -> String {
    let usual = registry.usual(&world.name).ok();
    let prefix = format!("{option}_");
    let mut name = format!("{} by {option}", world.name);
    for (key, value) in world.settings.iter().filter(|(key, _)| *key != option) {
        let as_usual = usual.as_ref().is_some_and(|u| u.settings.get(key) == Some(value));
        if !as_usual || (several && key.starts_with(&prefix)) {
            name += &format!(", {key} {value}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use equimarl_worlds::builtin;

    #[test]
    fn a_calm_belongs_to_every_wind() {
        let records = [
            "[world]\nwind = 0.4",
            "seed = 1",
            "[world]\nwind = 0.8\nwind_from = 'any'",
            "[world]\nwind = 0.2",
            "[world]\ndrones = 4\nwind = 0.2",
            "clip = 0.2\n[world]\nwind = 0.2",
        ]
        .map(record);
        let settings = Setting::all(&records);
        let all: Vec<&Setting<'_>> = settings.iter().collect();
        let found = families(&builtin(), &all, "wind");
        let said: Vec<(&str, Vec<f64>)> =
            found.iter().map(|f| (f.name.as_str(), f.members.iter().map(|m| m.0).collect())).collect();
        let has = |name: &str, values: &[f64]| {
            assert!(said.iter().any(|(n, v)| *n == name && v == values), "{name}: {said:?}");
        };
        has("wildlife by wind, wind_from west", &[0.0, 0.2, 0.4]);
        has("wildlife by wind, wind_from any", &[0.0, 0.8]);
        has("wildlife by wind, drones 4", &[0.2]);
        assert_eq!(found.len(), 4);
        // Any number of a world will do.
        let drones = families(&builtin(), &all, "drones");
        let whole = drones.iter().find(|f| f.members.len() == 2).unwrap();
        assert_eq!(whole.members.iter().map(|m| m.0).collect::<Vec<_>>(), [3.0, 4.0]);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let records = [record("seed = 1")];
        assert!(check_option(&records, "wind").is_ok());
        for wrong in ["wnd", "wind_from", ""] {
            let error = check_option(&records, wrong).unwrap_err().to_string();
            assert!(error.contains("there are drones, grid, wind"), "{error}");
        }
        assert!(check_option(&[], "wind").unwrap_err().to_string().contains("none at all"));
    }
}
