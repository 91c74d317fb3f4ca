//! Settings that came after runs were made, and what happened before each of them existed.
//!
//! A setting is added with three lines: a field of [`super::TrainConfig`] with a serde default, a line here with the same
//! value, and whatever it does. The value is frozen: it is not the usual one of any preset, it is what runs without the key
//! did. Then runs, checkpoints, sweeps and records from before read as what they were, and keep their names.

/// The key and its value in TOML.
const LATER: [(&str, &str); 5] = [
    ("encoder", "\"auto\""),
    ("from", "\"\""),
    ("scale_returns", "false"),
    ("penalty", "10.0"),
    ("tokens", "false"),
];

/// Settings as TOML, without those that are as before they existed.
pub(super) fn without(toml: &str) -> String {
    without_these(toml, &LATER)
}

/// Our own TOML has one setting a line, and those of tables come after all others.
fn without_these(toml: &str, later: &[(&str, &str)]) -> String {
    let absent = |line: &str| {
        let setting = line.trim_end().split_once(" = ");
        setting.is_some_and(|setting| later.contains(&setting))
    };
    let (own, tables) = toml.find("\n[").map_or((toml, ""), |at| toml.split_at(at + 1));
    own.split_inclusive('\n').filter(|line| !absent(line)).chain([tables]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Method, TrainConfig};
    use equimarl_worlds::builtin;

    fn config() -> TrainConfig {
        let registry = builtin();
        let world = registry.usual("wildlife").unwrap();
        TrainConfig::preset(&registry, "paper", world, Method::Equivariant).unwrap()
    }

    #[test]
    fn the_values_here_are_those_of_settings_that_are_not_given() {
        let text = config().to_toml();
        for (key, value) in LATER {
            let rest: String =
                text.split_inclusive('\n').filter(|l| !l.starts_with(&format!("{key} = "))).collect();
            assert!(rest.len() < text.len(), "{key} is no setting");
            let read: TrainConfig = toml::from_str(&rest).unwrap();
            assert!(read.to_toml().contains(&format!("{key} = {value}\n")), "{}", read.to_toml());
        }
    }

    /// What adding a setting does: runs that leave it as it was stay the runs that they were.
    #[test]
    fn a_setting_that_is_added_changes_no_identity() {
        let before = config().identity(&builtin());
        let after = before.replace("\n[world]", "\nwind = 0.0\n[world]");
        assert_ne!(before, after);
        let grown = [LATER.as_slice(), &[("wind", "0.0")]].concat();
        assert_eq!(without_these(&after, &grown), before);
        assert_ne!(without_these(&after.replace("wind = 0.0", "wind = 0.5"), &grown), before);
    }

    /// Runs of the first house, by what it called them.
    #[test]
    fn runs_of_the_first_house_keep_their_names() {
        let registry = builtin();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "jsonl") {
                continue;
            }
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let record: serde_json::Value = serde_json::from_str(line).unwrap();
                // Worlds of other crates are not known here.
                if registry.get(record["config"]["world"]["name"].as_str().unwrap_or("wildlife")).is_err() {
                    continue;
                }
                let config: TrainConfig = serde_json::from_value(record["config"].clone()).unwrap();
                let config = config.complete(&registry).unwrap();
                assert_eq!(record["config_hash"], config.hash(&registry), "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
