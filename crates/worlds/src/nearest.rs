//! What somebody meant who mistyped a name.

/// The known name that is nearest to this one, if it is near enough to have been meant.
///
/// ```
/// assert_eq!(equimarl_worlds::nearest("drone", ["grid", "drones"]), Some("drones"));
/// assert_eq!(equimarl_worlds::nearest("planes", ["grid", "drones"]), None);
/// ```
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (away, name) =
        known.into_iter().map(|name| (edits(wanted, name), name)).min_by_key(|(away, _)| *away)?;
    (away <= 1 + wanted.chars().count() / 4).then_some(name)
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
