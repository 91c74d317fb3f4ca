//! A mistyped setting is named with the nearest one that exists.

use crate::error::Error;

/// Names the key and the nearest one that exists.
pub(super) fn unknown(key: &str, known: impl IntoIterator<Item = impl AsRef<str>>) -> Error {
    let wanted = key.rsplit('.').next().unwrap_or(key);
    let known: Vec<String> = known.into_iter().map(|k| k.as_ref().to_string()).collect();
    let nearest = known.iter().min_by_key(|k| edits(wanted, k));
    let hint = match nearest {
        Some(k) if edits(wanted, k) <= 1 + wanted.chars().count() / 4 => format!("; did you mean `{k}`?"),
        _ => format!("; there are {}", known.join(", ")),
    };
    Error::BadConfig(format!("there is no setting `{key}`{hint}"))
}

/// How many letters must be changed, added or removed.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let change = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = change.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
