//! Which trained team is shown beside another: like with like, or none and why.
//!
//! Two teams are alike if they were trained in the same world with the same settings, for about as many steps, and neither
//! or both of them to choose a learning rate. What differs is the method alone. Of several such teams those with the same
//! number of steps come first, then those with the same seed.

use crate::runs::Row;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A team that was trained this many times as long as another one is not like it.
const APART: f64 = 2.0;
/// Teams whose steps differ by less were trained equally long.
const EQUAL: f64 = 1.1;
/// What can be switched to.
const KINDS: [&str; 2] = ["equivariant", "plain"];

/// All teams, by what they must share and by their method.
pub(crate) struct Beside<'a>(HashMap<(&'a str, bool, &'a str), Vec<&'a Row>>);

impl<'a> Beside<'a> {
    pub fn new(rows: &'a [Row]) -> Beside<'a> {
        let mut teams = HashMap::<_, Vec<_>>::new();
        for row in rows.iter().filter(|r| r.trained.is_some()) {
            teams.entry((row.setting.as_str(), row.for_choosing, row.method.as_str())).or_default().push(row);
        }
        Beside(teams)
    }

    /// For each kind that a team can be compared with: `{"team": id}`, or `{"none": why}`.
    pub fn of(&self, row: &Row) -> Value {
        let one = |kind: &str| match self.like(row, &method(row, kind)) {
            Ok(other) => json!({ "team": format!("run:{}", other.id) }),
            Err(why) => json!({ "none": why }),
        };
        let others = KINDS.iter().filter(|kind| method(row, kind) != row.method);
        others.map(|kind| (kind.to_string(), one(kind))).collect::<Map<_, _>>().into()
    }

    /// The team of a method that is most like this one.
    fn like(&self, row: &Row, method: &str) -> Result<&'a Row, String> {
        let all =
            self.0.get(&(row.setting.as_str(), row.for_choosing, method)).map_or(&[][..], Vec::as_slice);
        let order = |other: &&'a Row| {
            let other: &'a Row = other;
            let apart = apart(row, other);
            let bits = |x: f64| x.to_bits(); // positive numbers are in the order of their bits
            let alike = [
                other.seed != row.seed,
                other.group != row.group,
                other.learning_rate != row.learning_rate,
                other.sweep != row.sweep,
                other.state != "finished",
            ];
            (
                apart > EQUAL,
                if apart > EQUAL { bits(apart) } else { 0 },
                alike,
                bits(apart),
                other.id.as_str(),
            )
        };
        let Some(best) = all.iter().copied().min_by_key(order) else {
            return Err(format!(
                "No {method} team of {} with the same settings was trained here.",
                row.world
            ));
        };
        if apart(row, best) > APART {
            let [own, others] = [row, best].map(|r| with_commas(r.trained.unwrap_or(0)));
            return Err(format!(
                "No {method} team of {} with the same settings was trained here for about {own} steps; the nearest is {} with \
                 {others}.",
                row.world, best.id
            ));
        }
        Ok(best)
    }
}

/// A team that decides for all agents at once is compared with one that does, too.
fn method(row: &Row, kind: &str) -> String {
    if row.method.starts_with("central-") { format!("central-{kind}") } else { kind.into() }
}

/// How many times as long one of two teams was trained.
fn apart(one: &Row, other: &Row) -> f64 {
    let [a, b] = [one, other].map(|row| row.trained.unwrap_or(0).max(1) as f64);
    if a > b { a / b } else { b / a }
}

fn with_commas(n: u64) -> String {
    let digits = n.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|p| std::str::from_utf8(p).ok()).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(id: &str, method: &str, seed: u64, steps: u64) -> Row {
        Row {
            method: method.into(),
            seed,
            steps,
            trained: Some(steps),
            state: "finished",
            world: "wildlife-3".into(),
            setting: "wildlife, 3 drones".into(),
            ..Row::unreadable(id, String::new())
        }
    }

    fn beside(rows: &[Row], id: &str, kind: &str) -> Value {
        let row = rows.iter().find(|r| r.id == id).unwrap();
        Beside::new(rows).of(row)[kind].clone()
    }

    #[test]
    fn plain_means_plain_and_the_nearest_in_steps_and_seed_comes_first() {
        let rows = [
            team("equivariant", "equivariant", 1, 100_000),
            team("aa-augmented", "augment-full", 1, 100_000),
            team("ab-augmented", "augment-full", 1, 2000),
            team("other-seed", "plain", 2, 100_000),
            team("plain", "plain", 1, 100_000),
            team("plain-longer", "plain", 1, 150_000),
            team("plain-short", "plain", 1, 2000),
        ];
        assert_eq!(beside(&rows, "equivariant", "plain"), json!({ "team": "run:plain" }));
        assert_eq!(beside(&rows, "plain", "equivariant"), json!({ "team": "run:equivariant" }));
        assert_eq!(beside(&rows, "other-seed", "equivariant"), json!({ "team": "run:equivariant" }));
        // An augmented team is neither, and is compared with both.
        assert_eq!(beside(&rows, "aa-augmented", "plain"), json!({ "team": "run:plain" }));
        assert_eq!(beside(&rows, "ab-augmented", "plain"), json!({ "team": "run:plain-short" }));
        // Without it, another seed of the same length is nearer than the same seed of another.
        let rest: Vec<Row> = rows.iter().filter(|r| r.id != "plain").cloned().collect();
        assert_eq!(beside(&rest, "equivariant", "plain"), json!({ "team": "run:other-seed" }));
        let rest: Vec<Row> = rest.into_iter().filter(|r| r.id != "other-seed").collect();
        assert_eq!(beside(&rest, "equivariant", "plain"), json!({ "team": "run:plain-longer" }));
    }

    #[test]
    fn what_is_not_alike_is_not_compared_and_the_reason_is_said() {
        let mut rows = vec![team("e", "equivariant", 1, 100_000), team("short", "plain", 1, 2000)];
        let why = |rows: &[Row]| beside(rows, "e", "plain")["none"].as_str().unwrap_or_default().to_string();
        assert!(why(&rows).contains("100,000 steps; the nearest is short with 2,000"), "{}", why(&rows));
        rows[1].trained = Some(100_000);
        assert_eq!(why(&rows), "");
        for change in [
            |row: &mut Row| row.setting = "wildlife, 4 drones".into(),
            |row: &mut Row| row.for_choosing = true,
            |row: &mut Row| row.method = "central-plain".into(),
            |row: &mut Row| row.trained = None,
        ] {
            let mut rows = rows.clone();
            change(&mut rows[1]);
            assert_eq!(why(&rows), "No plain team of wildlife-3 with the same settings was trained here.");
        }
        // Teams with one network for all are compared with each other.
        let rows = [
            team("e", "central-equivariant", 1, 10),
            team("a", "plain", 1, 10),
            team("c", "central-plain", 1, 10),
        ];
        assert_eq!(beside(&rows, "e", "plain"), json!({ "team": "run:c" }));
        assert_eq!(beside(&rows, "c", "equivariant"), json!({ "team": "run:e" }));
    }
}
