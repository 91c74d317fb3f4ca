//! Whether routes fit their net, as far as looking at both tells: what SUMO would refuse in the first episode is refused before a run
//! has a folder. SUMO has the last word; what is not understood here is left to it.

use crate::net::Net;
use crate::options::Options;
use crate::xml::{Tag, escaped, tags};
use equimarl_worlds::{Error, Result};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

/// So much of a file of routes is looked at, in bytes.
const GLANCE: u64 = 1 << 22;

/// Looks at the user's own routes.
///
/// # Errors
/// If they name roads that are not in the net, or nobody departs while an episode lasts.
pub(crate) fn fit(options: &Options) -> Result<()> {
    let Options { net, routes, begin, .. } = options;
    if options.is_grid() || routes.is_empty() {
        return Ok(());
    }
    let mut start = vec![];
    let done = std::fs::File::open(routes).and_then(|file| file.take(GLANCE).read_to_end(&mut start));
    let whole = done.is_ok_and(|length| (length as u64) < GLANCE);
    start.truncate(start.iter().rposition(|b| *b == b'>').map_or(0, |at| at + 1));
    // Packed ones are no text, and SUMO reads them.
    let Some(tags) = std::str::from_utf8(&start).ok().and_then(|text| tags(text).ok()) else {
        return Ok(());
    };
    let times = [*begin, begin + options.decisions() * options.interval].map(|second| second as f64);
    let read = Net::read(Path::new(net))?;
    let roads: HashSet<&str> = read.edges.iter().map(|e| e.id.as_str()).collect();
    if let Some((who, road)) = stranger(&tags, &roads, times[1]) {
        // Roads of other kinds, which no light looks at.
        let raw = std::fs::read_to_string(net).unwrap_or_default();
        if !raw.contains(&format!("id=\"{}\"", escaped(&road))) {
            return Err(Error::BadWorld(format!(
                "{net} with {routes}: {who} takes the road {road}, which is not in the net: were the routes made for another one?"
            )));
        }
    }
    if whole && !tags.iter().any(|tag| may_come(tag, times)) {
        return Err(Error::BadWorld(format!(
            "{net} with {routes}: no vehicle departs from second {} to {}: is it a file of routes? (--begin, --duration)",
            times[0], times[1]
        )));
    }
    Ok(())
}

const COMING: [&str; 3] = ["vehicle", "trip", "flow"];

/// When it begins to come, if that is a number.
fn departs(tag: &Tag<'_>) -> Option<f64> {
    tag.get(if tag.name == "flow" { "begin" } else { "depart" })?.parse().ok()
}

/// Whether it may come in time. Only numbers say that it does not.
fn may_come(tag: &Tag<'_>, [begin, end]: [f64; 2]) -> bool {
    let last = match tag.name {
        "flow" => tag.get("end").and_then(|end| end.parse().ok()),
        "vehicle" | "trip" => departs(tag).map(|second| second + 1e-9),
        _ => {
            return !tag.ends
                && ["person", "personFlow", "container", "containerFlow", "include"].contains(&tag.name);
        }
    };
    !tag.ends && departs(tag).is_none_or(|second| second <= end) && last.is_none_or(|last: f64| last > begin)
}

/// Who takes a road that is not there, and which. SUMO reads a file until somebody departs after the end.
fn stranger(tags: &[Tag<'_>], roads: &HashSet<&str>, end: f64) -> Option<(String, String)> {
    let mut who = String::from("a route");
    for tag in tags.iter().filter(|tag| !tag.ends) {
        if COMING.contains(&tag.name) {
            if departs(tag).is_some_and(|second| second >= end) {
                return None;
            }
            who = format!("{} {}", tag.name, tag.get("id").unwrap_or("without a name"));
        }
        let keys: &[&str] = match tag.name {
            "route" => &["edges"],
            "trip" | "flow" => &["from", "to", "via"],
            _ => continue,
        };
        let named = keys.iter().filter_map(|key| tag.get(key)).flat_map(str::split_whitespace);
        if let Some(road) = named.into_iter().find(|road| !road.starts_with(':') && !roads.contains(road)) {
            let who = tag.get("id").filter(|_| tag.name == "route").map_or(who, |id| format!("route {id}"));
            return Some((who, road.to_string()));
        }
    }
    None
}
