//! Who drives where: vehicles with their routes, drawn anew for every episode from its stream.
//!
//! At every entry a vehicle comes in each second with the same probability, and at every junction it goes straight on, right
//! or left with the same probabilities until it leaves the net. So the law of the demand has every turn that the net has.
//! `tilt` and a main road break that by a known amount.

use crate::city::City;
use crate::net::Way;
use crate::symmetry::Turn;
use crate::xml::escaped;
use equimarl_worlds::Stream;
use std::fmt::Write;

/// No route is longer: who drives in circles leaves the net at last.
const LONGEST: usize = 400;

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Vehicles per hour and entry.
    pub per_hour: f64,
    /// Entries from east and west have 1 + tilt of it, those from north and south 1 - tilt.
    pub tilt: f64,
    /// How many times as much comes along the east-west road in the middle.
    pub main_road: f64,
    /// The probability of a right turn, and of a left one, at a junction that has all three ways.
    pub turning: f64,
    /// Vehicles come in for so many seconds.
    pub seconds: usize,
}

/// A vehicle: when it comes, and its roads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Its number.
    pub id: usize,
    /// In seconds.
    pub depart: usize,
    /// Its roads.
    pub edges: Vec<usize>,
}

/// Draws the vehicles of an episode.
pub fn draw(city: &City, flow: &Flow, stream: &mut Stream) -> Vec<Trip> {
    let rates: Vec<f64> = city.entries.iter().map(|&e| rate(city, flow, e)).collect();
    let mut trips: Vec<Trip> = vec![];
    for depart in 0..flow.seconds {
        for (&entry, &rate) in city.entries.iter().zip(&rates) {
            let each = rate / 3600.0;
            let more = stream.unit() < each.fract();
            for _ in 0..each as usize + usize::from(more) {
                trips.push(Trip { id: trips.len(), depart, edges: route(city, flow.turning, entry, stream) });
            }
        }
    }
    trips
}

/// Vehicles per hour at an entry.
fn rate(city: &City, flow: &Flow, entry: usize) -> f64 {
    let nodes = &city.net.nodes;
    let edge = &city.net.edges[entry];
    let ([x, y], [to_x, to_y]) = (nodes[edge.from].at, nodes[edge.to].at);
    let east_west = (x - to_x).abs() > (y - to_y).abs();
    let centre = city.centre()[1];
    // The middle road is the one whose entries are nearest to the middle, the southern one of two.
    let off = |y: f64| (y - centre + 1.0).abs();
    let is_row = |e: &&usize| {
        let edge = &city.net.edges[**e];
        let (a, b) = (nodes[edge.from].at, nodes[edge.to].at);
        (a[0] - b[0]).abs() > (a[1] - b[1]).abs()
    };
    let nearest = city
        .entries
        .iter()
        .filter(is_row)
        .map(|&e| off(nodes[city.net.edges[e].from].at[1]))
        .fold(f64::MAX, f64::min);
    let main = if east_west && off(y) <= nearest + 0.5 { flow.main_road } else { 1.0 };
    flow.per_hour * main * if east_west { 1.0 + flow.tilt } else { 1.0 - flow.tilt }
}

/// Two entries that a turn exchanges and whose rates differ, in words.
pub fn uneven(city: &City, flow: &Flow, turn: &Turn) -> Option<String> {
    city.entries.iter().find_map(|&e| {
        let (here, there) = (rate(city, flow, e), rate(city, flow, turn.edges[e]));
        let name = |e: usize| &city.net.edges[e].id;
        ((here - there).abs() > 1e-9).then(|| {
            format!(
                "{here:.0} vehicles per hour come in at {}, and {there:.0} at {}",
                name(e),
                name(turn.edges[e])
            )
        })
    })
}

fn route(city: &City, turning: f64, entry: usize, stream: &mut Stream) -> Vec<usize> {
    let mut edges = vec![entry];
    while edges.len() < LONGEST {
        let here = edges[edges.len() - 1];
        let lane = |(edge, lane): (usize, usize)| &city.net.edges[edge].lanes[lane];
        // Nobody drives back, and cars keep to lanes for cars.
        let links =
            city.net.after(here).filter(|l| l.way != Way::Back && lane(l.from).cars && lane(l.to).cars);
        let mut ways: Vec<(Way, usize)> = links.map(|l| (l.way, l.to.0)).collect();
        ways.sort_unstable();
        ways.dedup();
        let weight = |way: Way| if way == Way::Straight { 1.0 - 2.0 * turning } else { turning };
        let total: f64 = ways.iter().map(|w| weight(w.0)).sum();
        let mut left = if ways.len() > 1 { stream.unit() * total } else { 0.0 };
        let chosen = ways.iter().find(|w| {
            left -= weight(w.0);
            left < 0.0
        });
        let Some(&(_, next)) = chosen.or(ways.last()) else { break };
        edges.push(next);
    }
    edges
}

/// The same vehicles in the turned net.
pub fn turned(trips: &[Trip], turn: &Turn) -> Vec<Trip> {
    let edges = |trip: &Trip| trip.edges.iter().map(|&e| turn.edges[e]).collect();
    trips.iter().map(|t| Trip { edges: edges(t), ..t.clone() }).collect()
}

/// As a file for SUMO, for an episode that begins at a second. `noise` is how imperfectly people drive, from 0 to 1.
pub fn routes(city: &City, trips: &[Trip], begin: usize, noise: f64) -> String {
    // Without noise all are the same: the deviation of their wishes is part of it.
    let deviation = 0.2 * noise;
    let mut text = format!(
        "<routes>\n<vType id=\"car\" sigma=\"{noise}\" speedDev=\"{deviation}\" carFollowModel=\"Krauss\"/>\n"
    );
    for trip in trips {
        let edges: Vec<String> = trip.edges.iter().map(|&e| escaped(&city.net.edges[e].id)).collect();
        let _ = writeln!(
            text,
            "<vehicle id=\"{}\" type=\"car\" depart=\"{}\" departLane=\"best\" departSpeed=\"max\"><route edges=\"{}\"/></vehicle>",
            trip.id,
            begin + trip.depart,
            edges.join(" ")
        );
    }
    text + "</routes>\n"
}
