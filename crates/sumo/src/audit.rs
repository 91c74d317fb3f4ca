//! Is a city in SUMO as symmetric as its net looks? Four questions, and two tiers of answers.
//!
//! 1. The net: does a turn map it to itself? Found by looking.
//! 2. The law of the demand: do all entries that a turn exchanges have the same rate?
//! 3. Exact: at light load and without driver noise, turned demand and turned phases give the same trips, to the digit.
//! 4. Statistical: with the world's own load and noise trips differ, and laws should not ([`crate::law`]). This can refute a
//!    symmetry and not prove it.

use crate::city::{City, PHASES};
use crate::demand::{self, Trip};
use crate::law::{self, Law};
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
/// Episodes of the statistical tier: at least so many, because there are no rarer p than one in 2^15 then under half turns alone.
const EPISODES: [usize; 2] = [16, 80];
/// Rarer than this by chance refutes.
const RARE: f64 = 0.001;

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
    if !wanted.is_empty() && !options.is_grid() && options.own_city()?.entries.is_empty() {
        return Err(Error::BadWorld(format!(
            "{}: no road leads into the net, so no demand can be drawn and turned: its symmetry cannot be checked with SUMO, whatever \
             routes are given",
            options.net
        )));
    }
    // A net that only has routes of its own can be looked at.
    let (mut quiet, mut busy) = (world(if wanted.is_empty() { &short } else { &light })?, world(&short)?);
    let city = quiet.shared.built()?.city.clone();
    let found = turns(&city);
    let mut text = format!("the net: {}\n", words(&found));
    if wanted.is_empty() {
        let nothing = format!("{group} asks for no turn: no episode was run, and there is nothing to check");
        let report =
            json!({ "net": words(&found), "elements": [], "statistical": null, "not_checked": [nothing] });
        return Ok(OwnAudit { holds: true, text: format!("{text}{nothing}\n"), report });
    }
    let (mut holds, mut elements, mut usable, mut not_checked) = (true, vec![], vec![], vec![]);
    let trips = demand::draw(&city, &light.flow, &mut Stream::new(seed, Purpose::Audit, 1));
    let chance = || (Stream::new(seed, Purpose::Action, 0), seed as u32);
    let base = Episode::play(&mut quiet, &trips, (0, None), chance())?;
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
        let other = Episode::play(&mut quiet, &demand::turned(&trips, &turn), (*q, Some(&turn)), chance())?;
        let (same, differs) = same_trips(&base.trips, &other.trips);
        let all = base.trips.len().max(other.trips.len());
        if all == 0 {
            return Err(Error::BadWorld("nobody drove: nothing can be compared".into()));
        }
        let _ = writeln!(
            text,
            "{name}: exact tier, {same} of {all} trips are the same, at light load and without driver noise"
        );
        if let Some(differs) = &differs {
            let _ = writeln!(
                text,
                "{name}: the first that differs is {differs} (centimetres inside of a junction are enough for that)"
            );
        }
        if let Some(why) = &law {
            let _ = writeln!(text, "{name}: the law of the demand is another one: {why}");
        }
        let good = same == all && law.is_none();
        holds &= good;
        entry["holds"] = json!(good);
        entry["trips"] = json!(all);
        entry["same_trips"] = json!(same);
        entry["first_that_differs"] = json!(differs);
        entry["demand"] = json!(law);
        elements.push(entry);
        usable.push((*q, turn));
    }
    let mut statistical = Value::Null;
    if !usable.is_empty() && options.routes.is_empty() {
        let count = (steps / short.decisions()).clamp(EPISODES[0], EPISODES[1]);
        let lost = lost_by_road(&mut busy, &short, count, seed)?;
        let moves: Vec<Vec<usize>> = usable.iter().map(|(_, turn)| turn.edges.clone()).collect();
        let law = law::test(&lost, &moves, &mut Stream::new(seed, Purpose::Audit, 4));
        holds &= law.p >= RARE;
        let (said, found) = statistical_words(&city, &law, &usable, count);
        text += &said;
        statistical = found;
    }
    if !options.routes.is_empty() {
        not_checked.push(format!(
            "the vehicles of {}: trips were those of drawn demand, nobody knows whether the file's law has any turn, and there is no \
             statistical tier",
            options.routes
        ));
    }
    not_checked.iter().for_each(|what| text += &format!("not checked: {what}\n"));
    let report = json!({
        "net": words(&found), "elements": elements, "statistical": statistical, "not_checked": not_checked,
    });
    Ok(OwnAudit { holds, text, report })
}

/// How many vehicles had the same trip in both, by their names: two that arrive in the same second may be listed in any order. And the
/// first that had another one.
fn same_trips(a: &[TripInfo], b: &[TripInfo]) -> (usize, Option<String>) {
    let others: HashMap<&str, &TripInfo> = b.iter().map(|t| (t.id.as_str(), t)).collect();
    let here: HashMap<&str, &TripInfo> = a.iter().map(|t| (t.id.as_str(), t)).collect();
    let differs = |t: &&TripInfo| others.get(t.id.as_str()) != Some(t);
    let alone = b.iter().filter(|t| !here.contains_key(t.id.as_str()));
    let first = a.iter().filter(differs).chain(alone).min_by(|a, b| a.depart.total_cmp(&b.depart)).map(|t| {
        let went = |trips: &HashMap<&str, &TripInfo>| match trips.get(t.id.as_str()) {
            None => "it does not come in".into(),
            Some(t) => format!(
                "it comes in at second {} and is {} s on its way, loses {} s, stands {} s and stops {} times",
                t.depart, t.duration, t.time_loss, t.waiting, t.stops
            ),
        };
        format!("vehicle {}: {} here; turned {}", t.id, went(&here), went(&others))
    });
    (a.len() - a.iter().filter(differs).count(), first)
}

/// A random episode: its trips, and what was lost on each road.
struct Episode {
    trips: Vec<TripInfo>,
    lost: Vec<f64>,
}

impl Episode {
    /// The same random phases for the same stream, turned if there is a turn.
    fn play(
        city: &mut Sumo,
        trips: &[Trip],
        (quarters, turn): (usize, Option<&Turn>),
        (mut stream, seed): (Stream, u32),
    ) -> Result<Episode> {
        city.begin_with(trips.to_vec(), seed)?;
        let agents = city.spec().agents;
        let (mut actions, mut lost, mut decisions) = (vec![0; agents], vec![], 0.0);
        loop {
            for agent in 0..agents {
                let to = turn.map_or(agent, |t| t.junctions[agent]);
                // What a junction does not have is not drawn: what is done instead is not turned with it.
                let has = |p: usize| city.city().is_none_or(|c| c.junctions[to].phases[p].is_some());
                actions[to] = loop {
                    let phase = turned_phase(quarters, stream.below(PHASES as u32) as usize);
                    if has(phase) {
                        break phase;
                    }
                };
            }
            let end = city.step(&actions, &mut stream)?.end;
            if end == End::Abandoned {
                return Err(Error::BadWorld("SUMO died during the audit; try again".into()));
            }
            let (city, state) =
                city.seen().ok_or_else(|| Error::BadWorld("the episode was not started".into()))?;
            lost.resize(city.net.edges.len(), 0.0);
            for (lost, lanes) in lost.iter_mut().zip(&state.lanes) {
                *lost += lanes.iter().map(|on| on.vehicles - on.speed).sum::<f64>();
            }
            decisions += 1.0;
            if end != End::Running {
                break;
            }
        }
        lost.iter_mut().for_each(|x| *x /= decisions);
        Ok(Episode { trips: city.trips().to_vec(), lost })
    }
}

/// Progress lost on each road, sum of 1 - speed / allowed speed, mean over decisions: of independent episodes.
fn lost_by_road(city: &mut Sumo, options: &Options, count: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
    city.reset(&mut Stream::new(seed, Purpose::Audit, 2))?;
    let net = city.city().ok_or_else(|| Error::BadWorld("there is no city".into()))?.clone();
    let play = |k: usize| {
        let mut stream = Stream::new(seed, Purpose::Audit, 8 + k as u64);
        let trips = demand::draw(&net, &options.flow, &mut stream);
        let own = stream.word();
        Ok(Episode::play(city, &trips, (0, None), (stream, own))?.lost)
    };
    (0..count).map(play).collect()
}

/// What the test of the law says, for people and as JSON.
fn statistical_words(city: &City, law: &Law, turns: &[(usize, Turn)], count: usize) -> (String, Value) {
    let refuted = law.p < RARE;
    let roads = city.net.edges.len();
    let mut said = format!(
        "statistical tier, {count} episodes, progress lost on {roads} roads: p = {:.4} by their sum, {:.4} by the most uneven one; twice \
         the smaller is {:.4}: {}\n",
        law.by_sum,
        law.by_most,
        law.p,
        if refuted { "refuted" } else { "not refuted" }
    );
    let mut found = json!({
        "episodes": count, "roads": roads, "p": law.p, "p_sum": law.by_sum, "p_most": law.by_most, "refuted": refuted,
    });
    // The image of the most uneven road that is furthest from it.
    let gap = |e: usize| (law.means[law.most] - law.means[e]).abs();
    let images = turns.iter().map(|(_, turn)| turn.edges[law.most]);
    if let Some(image) = images.max_by(|&a, &b| gap(a).total_cmp(&gap(b))).filter(|_| refuted) {
        let name = |e: usize| &city.net.edges[e].id;
        let (here, there) = (law.means[law.most], law.means[image]);
        let _ = writeln!(
            said,
            "the most uneven road: {here:.2} vehicles' progress is lost on {}, and {there:.2} on {}, where it would be",
            name(law.most),
            name(image)
        );
        found["road"] =
            json!({ "name": name(law.most), "lost": here, "image": name(image), "lost_there": there });
    }
    (said, found)
}
