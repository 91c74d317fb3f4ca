//! The law of the demand: how many vehicles come in where, and which ways they take.

use equimarl_sumo::{City, Net, demand, demand::Flow};
use equimarl_worlds::{Purpose, Stream};
use std::path::Path;

fn city() -> City {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets/grid-3x3.net.xml");
    City::new(Net::read(&path).unwrap()).unwrap()
}

const HOURS: usize = 10;
const FLOW: Flow = Flow { per_hour: 350.0, tilt: 0.0, main_road: 1.0, turning: 0.2, seconds: 3600 * HOURS };

/// Counts at each entry: one draw per second, so binomial. No count is further off than five deviations, which happens once in
/// 1.7 million counts; there are 48.
#[test]
fn as_many_come_in_as_tilt_and_main_road_say() {
    let city = city();
    assert_eq!(city.entries.len(), 12);
    for (tilt, main_road) in [(0.0, 1.0), (0.4, 1.0), (0.0, 3.0), (1.0, 2.0)] {
        let flow = Flow { tilt, main_road, ..FLOW };
        let trips = demand::draw(&city, &flow, &mut Stream::new(3, Purpose::World, 0));
        for &entry in &city.entries {
            let name = &city.net.edges[entry].id;
            // `left1` is the western end of the middle row, `top1` the northern one of the middle column.
            let east_west = name.starts_with("left") || name.starts_with("right");
            let middle = name.starts_with("left1") || name.starts_with("right1");
            let per_hour = 350.0
                * if east_west { 1.0 + tilt } else { 1.0 - tilt }
                * if middle { main_road } else { 1.0 };
            let p: f64 = per_hour / 3600.0;
            let draws = flow.seconds as f64;
            let count = trips.iter().filter(|t| t.edges[0] == entry).count() as f64;
            let off = (count - draws * p).abs();
            println!("{name}: {count} of {:.0}", draws * p);
            assert!(off <= 5.0 * (draws * p * (1.0 - p)).sqrt(), "{name}: {count} and not {:.0}", draws * p);
        }
    }
}

/// At the first junction a fifth turns left, a fifth right; in every second as many come in as in any other.
#[test]
fn vehicles_turn_as_often_as_said_and_come_at_any_time() {
    let city = city();
    let trips = demand::draw(&city, &FLOW, &mut Stream::new(4, Purpose::World, 0));
    let all = trips.len() as f64;
    let near = |count: usize, p: f64| (count as f64 - all * p).abs() <= 5.0 * (all * p * (1.0 - p)).sqrt();
    let ways = trips.iter().map(|t| {
        let of = |edge: usize| {
            let [a, b] = [city.net.edges[edge].from, city.net.edges[edge].to].map(|n| city.net.nodes[n].at);
            [b[0] - a[0], b[1] - a[1]]
        };
        // An entry is two roads, because lanes for left turns begin on the way.
        let ([ax, ay], [bx, by]) = (of(t.edges[1]), of(t.edges[2]));
        let across = ax * by - ay * bx;
        if across.abs() < 1.0 { 0.0 } else { across.signum() }
    });
    let ways: Vec<f64> = ways.collect();
    for (way, p) in [(0.0, 0.6), (1.0, 0.2), (-1.0, 0.2)] {
        let count = ways.iter().filter(|w| **w == way).count();
        assert!(near(count, p), "{way}: {count} of {all}");
    }
    for part in 0..4 {
        let quarter = FLOW.seconds / 4;
        assert!(near(trips.iter().filter(|t| t.depart / quarter == part).count(), 0.25));
    }
}
