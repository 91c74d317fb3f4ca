//! Controllers to compare with: the net's own program, SUMO's actuated one, a fixed cycle, the longest queue, max pressure.

use crate::city::{City, Junction, PHASES};
use crate::lights::Lights;
use crate::state::State;
use crate::world::Sumo;
use equimarl_worlds::{Error, Result};

/// Decisions of green for straight traffic in a fixed cycle unless somebody says otherwise: the best of those that were tried
/// for the usual demand (docs/sumo.md).
const USUAL_GREEN: usize = 3;

/// Writes the actions of a controller.
pub fn control(sumo: &Sumo, controller: &str, actions: &mut [usize]) -> Result<()> {
    let (name, number) = controller.split_once(':').map_or((controller, None), |(n, x)| (n, Some(x)));
    let fixed = match (name, number) {
        ("fixed-cycle", number) => green_times(number)?,
        (_, None) => [0; 2],
        _ => return Err(Error::BadWorld(format!("`{name}` takes no number"))),
    };
    if name == "program" || name == "actuated" {
        sumo.lights.set(if name == "program" { Lights::Program } else { Lights::Actuated });
        return Ok(());
    }
    // A city that was never started has nothing to decide.
    let Some((city, state)) = sumo.seen() else { return Ok(()) };
    for (agent, (action, junction)) in actions.iter_mut().zip(&city.junctions).enumerate() {
        *action = match name {
            "fixed-cycle" => cycle(junction, fixed, sumo.decisions()),
            "longest-queue" => best(sumo, agent, |phase| queue(state, junction, phase)),
            "max-pressure" => best(sumo, agent, |phase| pressure(city, state, junction, phase)),
            _ => return Err(Error::BadWorld(format!("sumo has no controller `{controller}`"))),
        };
    }
    Ok(())
}

/// `4`, or `6/2` for east-west and north-south.
fn green_times(number: Option<&str>) -> Result<[usize; 2]> {
    let Some(text) = number else { return Ok([USUAL_GREEN; 2]) };
    let one = |t: &str| t.parse::<usize>().ok().filter(|n| (1..=100).contains(n));
    let (a, b) = text.split_once('/').unwrap_or((text, text));
    match (one(a), one(b)) {
        (Some(a), Some(b)) => Ok([a, b]),
        _ => Err(Error::BadWorld(format!(
            "`fixed-cycle:{text}`: it takes decisions of green, 1 to 100, or two numbers for east-west and north-south: \
             fixed-cycle:3 or fixed-cycle:4/2"
        ))),
    }
}

/// Straight traffic of one axis, its left turns, then the other axis. Where an axis has one approach, that one.
fn cycle(junction: &Junction, greens: [usize; 2], decision: usize) -> usize {
    let mut plan = vec![];
    for (axis, green) in greens.into_iter().enumerate() {
        if junction.phases[axis].is_some() {
            plan.extend(std::iter::repeat_n(axis, green));
            plan.extend(junction.phases[2 + axis].is_some().then_some(2 + axis));
        } else {
            let single = [4 + axis, 6 + axis].into_iter().filter(|&p| junction.phases[p].is_some());
            single.for_each(|phase| plan.extend(std::iter::repeat_n(phase, green)));
        }
    }
    if plan.is_empty() { 0 } else { plan[decision % plan.len()] }
}

/// The legal phase with the highest score; the one that is on if it is as good as any.
fn best(sumo: &Sumo, agent: usize, score: impl Fn(usize) -> f64) -> usize {
    let now = sumo.phase(agent);
    let legal = (0..PHASES).filter(|&phase| sumo.legal(agent, phase));
    let scored = legal.map(|phase| (score(phase), now == Some(phase), phase));
    let better = |a: (f64, bool, usize), b: (f64, bool, usize)| if (b.0, b.1) > (a.0, a.1) { b } else { a };
    scored.reduce(better).map_or(0, |(_, _, phase)| phase)
}

/// Links that have green in a phase: approach, lane, and the road they lead to.
fn open(junction: &Junction, phase: usize) -> impl Iterator<Item = (usize, usize, usize, u8)> {
    let letters = junction.phases[phase].as_ref().map_or(&[][..], |s| s.as_bytes());
    junction.approaches.iter().enumerate().flat_map(move |(side, approach)| {
        let links = approach.iter().flat_map(|a| &a.links);
        links.map(move |l| (side, l.1, l.3, letters.get(l.0).copied().unwrap_or(b'r')))
    })
}

/// Vehicles that stand on lanes with green; left turns that have to yield count half.
fn queue(state: &State, junction: &Junction, phase: usize) -> f64 {
    let mut lanes: Vec<(usize, usize, f64)> = vec![];
    for (side, lane, _, letter) in open(junction, phase) {
        let share = match letter {
            b'G' => 1.0,
            b'g' => 0.5,
            _ => continue,
        };
        match lanes.iter_mut().find(|l| (l.0, l.1) == (side, lane)) {
            Some(known) => known.2 = known.2.max(share),
            None => lanes.push((side, lane, share)),
        }
    }
    let halting = |&(side, lane, share): &(usize, usize, f64)| {
        let edge = junction.approaches[side].as_ref().map_or(0, |a| a.edge);
        share * state.lanes[edge][lane].halting
    };
    lanes.iter().map(halting).sum()
}

/// Varaiya's pressure by link: vehicles that stand before it minus those that stand behind it, per lane, summed over links with
/// green. Links that have to yield do not count. Vehicles that stand further back are shared among the ways ahead of them.
fn pressure(city: &City, state: &State, junction: &Junction, phase: usize) -> f64 {
    let roads = &city.net.edges;
    let standing = |edge: usize| state.on_road(&roads[edge], edge).halting;
    let per_lane = |edge: usize| standing(edge) / roads[edge].for_cars().count().max(1) as f64;
    let link = |(side, lane, to, _): (usize, usize, usize, u8)| {
        let Some(approach) = &junction.approaches[side] else { return 0.0 };
        let count = |ways: &[bool; 3]| ways.iter().filter(|w| **w).count() as f64;
        let all: f64 = approach.lanes.iter().map(|&k| count(&approach.ways[k])).sum();
        let tail: f64 = approach.tail.iter().map(|&e| standing(e)).sum();
        let own = state.lanes[approach.edge][lane].halting / count(&approach.ways[lane]).max(1.0);
        own + tail / all.max(1.0) - per_lane(to)
    };
    open(junction, phase).filter(|l| l.3 == b'G').map(link).sum()
}
