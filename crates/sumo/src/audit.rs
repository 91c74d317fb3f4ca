//! Is a city in SUMO as symmetric as its net looks? Four questions, and two tiers of answers.
//!
//! 1. The net: does a turn map it to itself? Found by looking.
//! 2. The law of the demand: do all entries that a turn exchanges have the same rate?
//! 3. Exact: at light load and without driver noise, turned demand and turned phases give the same trips, to the digit.
//! 4. Statistical: with the world's own load and noise trips differ, and means should not. Independent episodes, half of them
//!    turned, are compared by permuting which are which. This can refute a symmetry and not prove it.

use crate::demand::{self, Trip};
use crate::options::Options;
use crate::shared::Shared;
use crate::spec::{Declared, quarters};
use crate::symmetry::{Turn, turned_phase, turns, words};
use crate::trips::TripInfo;
use crate::world::Sumo;
use equimarl_group::{Group, Plane};
use equimarl_worlds::{End, Error, OwnAudit, Purpose, Result, Settings, Stream, World};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Light: vehicles per hour and entry at which nobody waits for a gap.
const LIGHT: f64 = 200.0;
/// Decisions of an episode of an audit.
const DECISIONS: usize = 90;
/// Permutations of a test.
const PERMUTATIONS: u32 = 10_000;
/// Rarer than this by chance refutes.
const RARE: f64 = 0.01;

/// Audits the turns of a group.
///
/// # Errors
/// If SUMO is not there or fails.
pub fn audit(settings: &Settings, group: &Group, steps: usize, seed: u64) -> Result<OwnAudit> {
    let options = Options::of(settings)?;
    let seconds = options.flow.seconds.min(DECISIONS * options.interval);
    let short = Options { flow: demand::Flow { seconds, ..options.flow }, ..options.clone() };
    let flow = demand::Flow { per_hour: short.flow.per_hour.min(LIGHT), ..short.flow };
    let light = Options { noise: 0.0, flow, routes: String::new(), ..short.clone() };
    let plane = Plane::new(group)?;
    let mut wanted: Vec<(String, usize)> = vec![];
    for g in group.elements() {
        let q = quarters(&plane, group, g)?;
        if q > 0 {
            wanted.push((group.element_name(g).to_string(), q));
        }
    }
    let one: Group = "C1".parse()?;
    let world = |options: &Options| -> Result<Sumo> {
        let declared = Declared::new(options, &one)?;
        Ok(Sumo::new(Arc::new(Shared::new(options.clone(), declared))))
    };
    // Demand of its own, that can be turned, is what an audit compares.
    if !options.is_grid() && options.own_city()?.entries.is_empty() {
        return Err(Error::BadWorld(format!(
            "{}: no road leads into the net, so no demand can be drawn and turned: its symmetry cannot be checked with SUMO, whatever \
             routes are given",
            options.net
        )));
    }
    let (mut quiet, mut busy) = (world(&light)?, world(&short)?);
    quiet.reset(&mut Stream::new(seed, Purpose::Audit, 0))?;
    let city = quiet.city().ok_or_else(|| Error::BadWorld("there is no city".into()))?.clone();
    let found = turns(&city);
    let mut text = format!("the net: {}\n", words(&found));
    let (mut holds, mut elements, mut usable) = (true, vec![], vec![]);
    let trips = demand::draw(&city, &light.flow, &mut Stream::new(seed, Purpose::Audit, 1));
    let base = Episode::play(&mut quiet, &trips, (0, None), seed)?;
    for (name, q) in &wanted {
        let mut entry = json!({ "element": name, "quarter_turns": q });
        let turn = match &found[q - 1] {
            Err(why) => {
                holds = false;
                let _ = writeln!(text, "{name}: {why}");
                entry["holds"] = json!(false);
                entry["why"] = json!(why);
                elements.push(entry);
                continue;
            }
            Ok(turn) => turn.clone(),
        };
        let law = demand::uneven(&city, &options.flow, &turn).filter(|_| options.routes.is_empty());
        let other = Episode::play(&mut quiet, &demand::turned(&trips, &turn), (*q, Some(&turn)), seed)?;
        let same = same_trips(&base.trips, &other.trips);
        let all = base.trips.len().max(other.trips.len());
        if all == 0 {
            return Err(Error::BadWorld("nobody drove: nothing can be compared".into()));
        }
        let _ = writeln!(
            text,
            "{name}: exact tier, {same} of {all} trips are the same, at light load and without driver noise"
        );
        if let Some(why) = &law {
            let _ = writeln!(text, "{name}: the law of the demand is another one: {why}");
        }
        let good = same == all && law.is_none();
        holds &= good;
        entry["holds"] = json!(good);
        entry["trips"] = json!(all);
        entry["same_trips"] = json!(same);
        entry["demand"] = json!(law);
        elements.push(entry);
        usable.push((*q, turn));
    }
    let mut statistical = Value::Null;
    if !usable.is_empty() && options.routes.is_empty() {
        let half = (steps / (2 * short.decisions())).clamp(6, 40);
        let (plain, turned) = halves(&mut busy, &short, &usable, half, seed)?;
        let p = permutation_test(&plain, &turned, seed);
        holds &= p >= RARE;
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let _ = writeln!(
            text,
            "statistical tier, {half} episodes as they are and {half} turned: mean time loss {:.2} and {:.2} s, p = {p:.3}: {}",
            mean(&plain),
            mean(&turned),
            if p < RARE { "refuted" } else { "not refuted" }
        );
        statistical = json!({
            "episodes": 2 * half, "time_loss": mean(&plain), "time_loss_turned": mean(&turned), "p": p, "refuted": p < RARE,
        });
    } else if !options.routes.is_empty() {
        text += "the demand is a file: its law is not looked at\n";
    }
    let report = json!({ "net": words(&found), "elements": elements, "statistical": statistical });
    Ok(OwnAudit { holds, text, report })
}

/// How many vehicles had the same trip in both, by their names: two that arrive in the same second may be listed in any order.
fn same_trips(a: &[TripInfo], b: &[TripInfo]) -> usize {
    let others: HashMap<&str, &TripInfo> = b.iter().map(|t| (t.id.as_str(), t)).collect();
    a.iter().filter(|t| others.get(t.id.as_str()) == Some(t)).count()
}

/// A random episode, and its trips.
struct Episode {
    trips: Vec<TripInfo>,
    time_loss: f64,
}

impl Episode {
    /// The same random phases for the same seed, turned if there is a turn.
    fn play(
        city: &mut Sumo,
        trips: &[Trip],
        (quarters, turn): (usize, Option<&Turn>),
        seed: u64,
    ) -> Result<Episode> {
        let agents = city.spec().agents;
        let mut stream = Stream::new(seed, Purpose::Action, 0);
        city.begin_with(trips.to_vec(), seed as u32)?;
        let (mut drawn, mut actions) = (vec![0; agents], vec![0; agents]);
        loop {
            drawn.fill_with(|| stream.below(crate::PHASES as u32) as usize);
            for (agent, &action) in drawn.iter().enumerate() {
                let to = turn.map_or(agent, |t| t.junctions[agent]);
                actions[to] = turned_phase(quarters, action);
            }
            match city.step(&actions, &mut stream)?.end {
                End::Running => {}
                End::Abandoned => {
                    return Err(Error::BadWorld("SUMO died during the audit; try again".into()));
                }
                _ => break,
            }
        }
        let time_loss = city.totals().map_or(f64::NAN, |t| t.time_loss);
        Ok(Episode { trips: city.trips().to_vec(), time_loss })
    }
}

/// Mean time losses of independent episodes: as they are, and turned.
fn halves(
    city: &mut Sumo,
    options: &Options,
    turns: &[(usize, Turn)],
    half: usize,
    seed: u64,
) -> Result<(Vec<f64>, Vec<f64>)> {
    city.reset(&mut Stream::new(seed, Purpose::Audit, 2))?;
    let net = city.city().ok_or_else(|| Error::BadWorld("there is no city".into()))?.clone();
    let (mut plain, mut turned) = (vec![], vec![]);
    for k in 0..2 * half {
        let own = seed.wrapping_mul(1 << 20).wrapping_add(k as u64 + 1);
        let trips = demand::draw(&net, &options.flow, &mut Stream::new(own, Purpose::Audit, 3));
        if k < half {
            plain.push(Episode::play(city, &trips, (0, None), own)?.time_loss);
        } else {
            let (q, turn) = &turns[k % turns.len()];
            turned.push(Episode::play(city, &demand::turned(&trips, turn), (*q, Some(turn)), own)?.time_loss);
        }
    }
    Ok((plain, turned))
}

/// How often a random split of all episodes differs in its means by at least as much as this one.
fn permutation_test(a: &[f64], b: &[f64], seed: u64) -> f64 {
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    let gap = |all: &[f64]| {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        (mean(&all[..a.len()]) - mean(&all[a.len()..])).abs()
    };
    let found = gap(&all);
    let mut stream = Stream::new(seed, Purpose::Audit, 4);
    let mut as_large = 1u32;
    for _ in 0..PERMUTATIONS {
        for i in (1..all.len()).rev() {
            all.swap(i, stream.below(i as u32 + 1) as usize);
        }
        as_large += u32::from(gap(&all) >= found - 1e-12);
    }
    f64::from(as_large) / f64::from(PERMUTATIONS + 1)
}

#[cfg(test)]
mod tests {
    use super::permutation_test;

    #[test]
    fn means_that_differ_are_told_from_means_that_do_not() {
        let noise = |k: usize| (k * 7919 % 100) as f64 / 100.0;
        let a: Vec<f64> = (0..12).map(noise).collect();
        let b: Vec<f64> = (12..24).map(noise).collect();
        assert!(permutation_test(&a, &b, 1) > 0.05);
        let far: Vec<f64> = b.iter().map(|x| x + 1.0).collect();
        assert!(permutation_test(&a, &far, 1) < 0.001);
    }
}
