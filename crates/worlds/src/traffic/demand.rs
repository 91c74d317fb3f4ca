//! How much arrives where. Rows and columns, or one road, may have more than others: that breaks the symmetry of what arrives, by
//! a known amount, and of nothing else.
//!
//! ```text
//! P(a vehicle arrives at lane l in a step) = p (1 + tilt)   if l runs along a row
//!                                          = p (1 - tilt)   if it runs along a column
//!                                            times `main_road` if l is the main road
//! ```
//!
//! The **total variation** between the arrivals of one step and the turned ones is exact: lanes are independent, and those that
//! have the same probability before and after the turn are alike, so only their numbers count.

use super::lanes::{Lane, Map};
use super::{Traffic, TrafficOptions};
use crate::error::{Error, Result};
use crate::world::Exact;
use equimarl_group::Element;

/// The probability of an arrival at a lane.
pub(super) fn probability(options: &TrafficOptions, lane: Lane, main: bool) -> f64 {
    let tilted = if lane.is_row() { 1.0 + options.tilt } else { 1.0 - options.tilt };
    options.arrival_probability * tilted * if main { options.main_road } else { 1.0 }
}

pub(super) fn check(options: &TrafficOptions) -> Result<()> {
    let TrafficOptions { tilt, main_road, arrival_probability, .. } = *options;
    let bad = |why: String| Err(Error::BadWorld(why));
    // A tilt towards the columns is what a quarter turn makes of one towards the rows.
    if !(-1.0..=1.0).contains(&tilt) {
        return bad(format!("tilt is from 0, all roads alike, to 1, arrivals along rows only; got {tilt}"));
    }
    if !(main_road.is_finite() && main_road >= 0.0) {
        return bad(format!(
            "main_road is how many times the usual demand the main road has; got {main_road}"
        ));
    }
    let most = arrival_probability * (1.0 + tilt.abs()) * main_road.max(1.0);
    if most > 1.0 {
        return bad(format!(
            "with a tilt of {tilt} and a main road of {main_road} vehicles would arrive with a probability of {most} per step, above 1"
        ));
    }
    Ok(())
}

/// The total variation between independent arrivals with the probabilities `pairs[k].0` and those with `pairs[k].1`.
pub(super) fn variation(pairs: &[(f64, f64)]) -> f64 {
    let mut classes: Vec<((f64, f64), usize)> = vec![];
    for pair in pairs {
        match classes.iter_mut().find(|(known, _)| known == pair) {
            Some((_, count)) => *count += 1,
            None => classes.push((*pair, 1)),
        }
    }
    // Lanes that stay as likely say nothing.
    classes.retain(|((p, q), _)| p != q);
    let mut sides = vec![(1.0, 1.0)];
    for ((p, q), n) in classes {
        let counts: Vec<(f64, f64)> = (0..=n).map(|k| (binomial(n, k, p), binomial(n, k, q))).collect();
        sides = sides.iter().flat_map(|(a, b)| counts.iter().map(move |(x, y)| (a * x, b * y))).collect();
    }
    0.5 * sides.iter().map(|(a, b)| (a - b).abs()).sum::<f64>()
}

fn binomial(n: usize, k: usize, p: f64) -> f64 {
    let ways = (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
    ways * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
}

impl Traffic {
    /// How likely a vehicle arrives, by lane.
    pub(super) fn demand(&self) -> impl Iterator<Item = f64> + '_ {
        let (map, options) = (self.map, &self.options);
        (0..map.lanes()).map(move |l| probability(options, map.lane(l), l == self.main))
    }

    /// The total variation between what g makes of the arrivals of one step, and the arrivals of this city, or of the one whose tilt
    /// and main road were transformed along.
    pub(super) fn arrivals_vary(&self, g: Element, along: bool) -> Result<f64> {
        let map: Map = self.map;
        let mut moved = vec![0.0; map.lanes()];
        for (lane, p) in self.demand().enumerate() {
            moved[map.lane_index(self.acts.lane(g, map, map.lane(lane))?)] = p;
        }
        let mut there = self.clone();
        if along {
            there.transform_cause(g);
        }
        Ok(variation(&there.demand().zip(moved).collect::<Vec<_>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all 2^8 patterns of one step, one by one.
    fn by_patterns(pairs: &[(f64, f64)]) -> f64 {
        let chance = |pattern: usize, side: fn(&(f64, f64)) -> f64| {
            let lane = |k: usize| if pattern >> k & 1 == 1 { side(&pairs[k]) } else { 1.0 - side(&pairs[k]) };
            (0..pairs.len()).map(lane).product::<f64>()
        };
        let differ = |pattern| (chance(pattern, |p| p.0) - chance(pattern, |p| p.1)).abs();
        0.5 * (0..1usize << pairs.len()).map(differ).sum::<f64>()
    }

    #[test]
    fn counts_say_as_much_as_patterns() {
        for tilt in [0.1, 0.2, 0.4, 0.8] {
            let (a, b) = (0.1 * (1.0 + tilt), 0.1 * (1.0 - tilt));
            let pairs: Vec<_> = [(a, b), (b, a)].repeat(4);
            assert!((variation(&pairs) - by_patterns(&pairs)).abs() < 1e-12);
        }
        let mixed = [(0.3, 0.1), (0.1, 0.1), (0.1, 0.3), (0.2, 0.5)];
        assert!((variation(&mixed) - by_patterns(&mixed)).abs() < 1e-12);
    }

    /// One row lane and one column lane, by hand: with a = 0.15 and b = 0.05 the patterns (row, column) have the probabilities
    /// 11: ab, 10: a(1 - b), 01: (1 - a)b, 00: (1 - a)(1 - b); the turn exchanges 10 and 01, so the variation is
    /// |a(1 - b) - (1 - a)b| = a - b.
    #[test]
    fn two_lanes_by_hand() {
        assert!((variation(&[(0.15, 0.05), (0.05, 0.15)]) - 0.1).abs() < 1e-15);
        // One lane alone: |p - q|.
        assert!((variation(&[(0.4, 0.1)]) - 0.3).abs() < 1e-15);
        assert_eq!(variation(&[(0.4, 0.4)]), 0.0);
    }

    #[test]
    fn the_tilts_of_the_usual_city() {
        // To three digits, as they were worked out before there was code.
        for (tilt, expected) in [(0.1, 0.062), (0.2, 0.124), (0.4, 0.246), (0.8, 0.481)] {
            let world = Traffic::new(TrafficOptions { tilt, ..TrafficOptions::default() }).unwrap();
            let found: Vec<f64> = (0..4).map(|g| world.arrivals_vary(g, false).unwrap()).collect();
            assert_eq!((found[0], found[2]), (0.0, 0.0), "nothing, and the half turn");
            assert!((found[1] - expected).abs() < 6e-4, "{tilt}: {found:?}");
            assert!((found[1] - found[3]).abs() < 1e-15);
        }
    }

    #[test]
    fn a_main_road_has_no_turn() {
        let world = Traffic::new(TrafficOptions { main_road: 3.0, ..TrafficOptions::default() }).unwrap();
        // Two lanes differ, 0.3 and 0.1: by hand as above.
        for g in 1..4 {
            assert!((world.arrivals_vary(g, false).unwrap() - 0.2).abs() < 1e-12);
            assert_eq!(world.arrivals_vary(g, true).unwrap(), 0.0, "the road turns along");
        }
    }
}
