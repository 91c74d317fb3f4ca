//! Controllers to compare with: the net's own program, SUMO's actuated one, a fixed cycle, the longest queue, max pressure.

use crate::city::{Approach, City, Junction, PHASES};
use crate::lights::Lights;
use crate::state::State;
use crate::world::Sumo;
use equimarl_worlds::{Error, Result};

/// Decisions of green for straight traffic and for left turns in a fixed cycle unless somebody says otherwise: the best of those
/// that were tried for the usual demand (docs/sumo.md).
const USUAL: Cycle = Cycle { straight: [3; 2], left: 0 };

/// Writes the actions of a controller.
pub fn control(sumo: &Sumo, controller: &str, actions: &mut [usize]) -> Result<()> {
    let (name, number) = controller.split_once(':').map_or((controller, None), |(n, x)| (n, Some(x)));
    let fixed = match (name, number) {
        ("fixed-cycle", number) => number.map_or(Ok(USUAL), Cycle::of)?,
        (_, None) => USUAL,
        _ => return Err(Error::BadWorld(format!("`{name}` takes no number"))),
    };
    let by_sumo = match name {
        "program" => Some(Lights::Program),
        "actuated" => Some(Lights::Actuated),
        "two-phase-actuated" => Some(Lights::TwoPhases),
        _ => None,
    };
    if let Some(lights) = by_sumo {
        sumo.lights.set(lights);
        return Ok(());
    }
    // A city that was never started has nothing to decide.
    let Some((city, state)) = sumo.seen() else { return Ok(()) };
    for (agent, (action, junction)) in actions.iter_mut().zip(&city.junctions).enumerate() {
        *action = match name {
            "fixed-cycle" => fixed.phase(junction, sumo.decisions()),
            "longest-queue" => best(sumo, agent, |phase| queue(state, junction, phase)),
            "max-pressure" => {
                best(sumo, agent, |phase| pressure(city, state, sumo.turning(), junction, phase))
            }
            _ => return Err(Error::BadWorld(format!("sumo has no controller `{controller}`"))),
        };
    }
    Ok(())
}

/// Decisions of green in a fixed cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cycle {
    /// For straight traffic from east and west, and from north and south.
    straight: [usize; 2],
    /// For left turns after each; without any they only yield.
    left: usize,
}

impl Cycle {
    /// `4`, `6/2` for east-west and north-south, `4+0` without green for left turns alone.
    fn of(text: &str) -> Result<Cycle> {
        let one = |t: &str, least| t.parse::<usize>().ok().filter(|n| (least..=100).contains(n));
        let (both, left) = text.split_once('+').unwrap_or((text, "1"));
        let (a, b) = both.split_once('/').unwrap_or((both, both));
        match (one(a, 1), one(b, 1), one(left, 0)) {
            (Some(a), Some(b), Some(left)) => Ok(Cycle { straight: [a, b], left }),
            _ => Err(Error::BadWorld(format!(
                "`fixed-cycle:{text}`: it takes decisions of green, 1 to 100, or two numbers for east-west and north-south, and with + those of \
                 left turns alone: fixed-cycle:3, fixed-cycle:4/2, fixed-cycle:3+0"
            ))),
        }
    }

    /// Straight traffic of one axis, its left turns, then the other axis. Where an axis has one approach, that one.
    fn phase(self, junction: &Junction, decision: usize) -> usize {
        let mut plan = vec![];
        for (axis, green) in self.straight.into_iter().enumerate() {
            if junction.phases[axis].is_some() {
                plan.extend(std::iter::repeat_n(axis, green));
                let left = if junction.phases[2 + axis].is_some() { self.left } else { 0 };
                plan.extend(std::iter::repeat_n(2 + axis, left));
            } else {
                let single = [4 + axis, 6 + axis].into_iter().filter(|&p| junction.phases[p].is_some());
                single.for_each(|phase| plan.extend(std::iter::repeat_n(phase, green)));
            }
        }
        if plan.is_empty() { 0 } else { plan[decision % plan.len()] }
    }
}

/// The legal phase with the highest score; the one that is on if it is as good as any.
fn best(sumo: &Sumo, agent: usize, score: impl Fn(usize) -> f64) -> usize {
    let now = sumo.phase(agent);
    let legal = (0..PHASES).filter(|&phase| sumo.legal(agent, phase));
    let scored = legal.map(|phase| (score(phase), now == Some(phase), phase));
    let better = |a: (f64, bool, usize), b: (f64, bool, usize)| if (b.0, b.1) > (a.0, a.1) { b } else { a };
    scored.reduce(better).map_or(0, |(_, _, phase)| phase)
}

/// A link under a phase.
struct Under {
    /// The side that it comes from, its lane, its way and the road that it leads to.
    from: (usize, usize),
    way: usize,
    to: usize,
    /// 1 with green, a half if it has to yield.
    share: f64,
}

fn under(junction: &Junction, phase: usize) -> impl Iterator<Item = Under> {
    let letters = junction.phases[phase].as_ref().map_or(&[][..], |s| s.as_bytes());
    junction.approaches.iter().enumerate().flat_map(move |(side, approach)| {
        let links = approach.iter().flat_map(|a| &a.links);
        links.map(move |&(place, lane, way, to)| {
            let share = match letters.get(place) {
                Some(b'G') => 1.0,
                Some(b'g') => 0.5,
                _ => 0.0,
            };
            Under { from: (side, lane), way: (way as usize).min(2), to, share }
        })
    })
}

/// Vehicles that stand on lanes with green; those that have to yield count half.
fn queue(state: &State, junction: &Junction, phase: usize) -> f64 {
    let mut lanes: Vec<((usize, usize), f64)> = vec![];
    for link in under(junction, phase) {
        match lanes.iter_mut().find(|l| l.0 == link.from) {
            Some(known) => known.1 = known.1.max(link.share),
            None => lanes.push((link.from, link.share)),
        }
    }
    let halting = |&((side, lane), share): &((usize, usize), f64)| {
        let edge = junction.approaches[side].as_ref().map_or(0, |a| a.edge);
        share * state.lanes[edge][lane].halting
    };
    lanes.iter().map(halting).sum()
}

/// Varaiya's pressure: over the links with green, what a link carries, c, times the vehicles that stand before it, x, minus those that
/// stand behind it by where they go and how often vehicles go there, r:
///
/// ```text
/// sum over links (l, m) of c(l, m) (x(l) - sum over ways p of r(m, p) x(m, p))
/// ```
///
/// x(l) is a lane's, and the links of a lane share what it carries by how often vehicles turn there; one that has to yield carries
/// half. Lanes that go the same way share what stands behind. Behind a road that leads to no light nobody waits.
fn pressure(city: &City, state: &State, turning: [f64; 3], junction: &Junction, phase: usize) -> f64 {
    let next =
        |to: usize| city.approached[to].and_then(|(i, side)| city.junctions[i].approaches[side].as_ref());
    let behind = |to: usize| -> f64 {
        let Some(approach) = next(to) else { return 0.0 };
        let lanes = approach.lanes.iter().filter(|&&lane| approach.ways[lane] != [false; 3]);
        let all = (0..3).filter(|&way| approach.lanes.iter().any(|&lane| approach.ways[lane][way]));
        let all: f64 = all.map(|way| turning[way]).sum();
        let of = |&lane: &usize| {
            let often: f64 = (0..3).map(|way| turning[way] * part(approach, lane, way, turning)).sum();
            standing(city, state, approach, lane) * often
        };
        if all > 0.0 { lanes.map(of).sum::<f64>() / all } else { 0.0 }
    };
    let links = under(junction, phase).filter(|link| link.share > 0.0);
    let link = |link: Under| {
        let (side, lane) = link.from;
        let Some(approach) = &junction.approaches[side] else { return 0.0 };
        // To several lanes of one road it is still one way.
        let alike =
            approach.links.iter().filter(|l| l.1 == lane && (l.2 as usize).min(2) == link.way).count();
        let lanes = approach.lanes.iter().filter(|&&lane| approach.ways[lane][link.way]).count();
        let behind = behind(link.to) / lanes.max(1) as f64;
        let carries = link.share * part(approach, lane, link.way, turning) / alike.max(1) as f64;
        carries * (standing(city, state, approach, lane) - behind)
    };
    links.map(link).sum()
}

/// The part of a lane's vehicles that goes this way.
fn part(approach: &Approach, lane: usize, way: usize, turning: [f64; 3]) -> f64 {
    let ways = approach.ways[lane];
    let all: f64 = (0..3).filter(|&w| ways[w]).map(|w| turning[w]).sum();
    match ways[way] {
        true if all > 0.0 => turning[way] / all,
        // A way that nobody is said to take, alone.
        true => 1.0 / ways.iter().filter(|w| **w).count() as f64,
        false => 0.0,
    }
}

/// Vehicles that stand on a lane before a junction, and their share of those further back: as many ways as it leads.
fn standing(city: &City, state: &State, approach: &Approach, lane: usize) -> f64 {
    let roads = &city.net.edges;
    let tail: f64 = approach.tail.iter().map(|&e| state.on_road(&roads[e], e).halting).sum();
    let count = |lane: usize| approach.ways[lane].iter().filter(|w| **w).count() as f64;
    let all: f64 = approach.lanes.iter().map(|&lane| count(lane)).sum();
    state.lanes[approach.edge][lane].halting + tail * count(lane) / all.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Net, Way};

    fn city() -> City {
        City::new(Net::parse(include_str!("../tests/nets/grid-2x2.net.xml")).unwrap()).unwrap()
    }

    /// Puts standing vehicles on a lane of a road.
    fn stand(city: &City, state: &mut State, road: &str, lane: usize, count: f64) {
        let road = city.net.edges.iter().position(|e| e.id == road).unwrap();
        state.lanes[road][lane].halting += count;
    }

    /// With one way to each side and a lane for left turns: x is worked out by hand.
    #[test]
    fn pressure_is_what_stands_before_minus_what_stands_behind_down_to_the_stop_line() {
        let city = city();
        let at = |node: &str| city.junctions.iter().position(|j| city.net.nodes[j.node].id == node).unwrap();
        let junction = &city.junctions[at("A0")];
        let turning = [0.2, 0.6, 0.2];
        let of = |state: &State, phase| pressure(&city, state, turning, junction, phase);
        let mut state = State::empty(&city);
        assert_eq!(of(&state, 0), 0.0);
        // Six before A0 from the west, on the lane to the right and straight on, and two who turn left.
        stand(&city, &mut state, "left0A0.140.00", 0, 6.0);
        stand(&city, &mut state, "left0A0.140.00", 1, 2.0);
        // Straight on and right have green, and who turns left yields: 6 + 2/2. Left turns alone: 2. All from the west: 8.
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        for (phase, expected) in [(0, 7.0), (1, 0.0), (2, 2.0), (6, 8.0)] {
            near(of(&state, phase), expected);
        }
        // Three further back: two of them for the lane that leads two ways.
        stand(&city, &mut state, "left0A0", 0, 3.0);
        near(of(&state, 0), 9.5);
        // Ten behind, in front of B0 where they turn left, as a fifth of those do who go there; three quarters of a lane lead there.
        stand(&city, &mut state, "A0B0.140.00", 1, 10.0);
        near(of(&state, 0), 9.5 - 0.75 * 0.2 * 10.0);
        // And three on the piece before that: two for the lane that goes straight on three times of four (0.6), and right once (0.2).
        stand(&city, &mut state, "A0B0", 0, 3.0);
        let behind = 0.2 * 11.0 + (0.75 * 0.6 + 0.25 * 0.2) * 2.0;
        near(of(&state, 0), 9.5 - 0.75 * behind);
        // Who has left the city is behind nobody.
        stand(&city, &mut state, "A0left0", 0, 50.0);
        near(of(&state, 0), 9.5 - 0.75 * behind);
    }

    /// The lane for left turns goes straight on as well: two lanes for one way, and what stands behind counts once.
    #[test]
    fn lanes_that_go_the_same_way_share_what_stands_behind() {
        let city = city();
        let mut junction = city.junctions.iter().find(|j| city.net.nodes[j.node].id == "A0").unwrap().clone();
        let west = junction.approaches[2].as_mut().unwrap();
        let straight = *west.links.iter().find(|l| l.2 == Way::Straight).unwrap();
        west.links.push((straight.0, 1, Way::Straight, straight.3));
        west.ways[1] = [false, true, true];
        let mut state = State::empty(&city);
        stand(&city, &mut state, "left0A0.140.00", 0, 6.0);
        stand(&city, &mut state, "left0A0.140.00", 1, 4.0);
        stand(&city, &mut state, "A0B0.140.00", 1, 10.0);
        // Both lanes go straight on three times of four; a quarter of the one turns right, of the other left, and yields.
        let behind = 0.2 * 10.0;
        let expected =
            0.25 * 6.0 + 0.75 * (6.0 - behind / 2.0) + 0.75 * (4.0 - behind / 2.0) + 0.5 * 0.25 * 4.0;
        let found = pressure(&city, &state, [0.2, 0.6, 0.2], &junction, 0);
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn cycles_with_left_turns_and_without() {
        let city = city();
        let plan = |text: &str| -> Vec<usize> {
            let cycle = Cycle::of(text).unwrap();
            (0..8).map(|decision| cycle.phase(&city.junctions[0], decision)).collect()
        };
        assert_eq!(plan("3"), [0, 0, 0, 2, 1, 1, 1, 3]);
        assert_eq!(plan("2/1"), [0, 0, 2, 1, 3, 0, 0, 2]);
        assert_eq!(plan("2+0"), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(plan("1/2+2"), [0, 2, 2, 1, 1, 3, 3, 0]);
        for wrong in ["", "0", "101", "2/", "/2", "2+", "2+x", "-1", "1+101", "1/2/3"] {
            let said = Cycle::of(wrong).unwrap_err().to_string();
            assert!(said.contains("fixed-cycle:3+0") && !said.contains('\n'), "{said}");
        }
    }
}
