//! What a junction sees.

use crate::city::{City, Junction, LANES};
use crate::state::State;

/// What a junction sees of its approaches: per lane and approach, then per approach. Numbers of one kind stand together, from
/// the east, north, west and south.
pub(crate) fn look(city: &City, state: &State, junction: &Junction, out: &mut [f32]) {
    for (side, approach) in junction.approaches.iter().enumerate() {
        let Some(approach) = approach else { continue };
        let mut put = |kind: usize, x: f64| out[kind * 4 + side] += x as f32;
        for (k, &number) in approach.lanes.iter().enumerate() {
            let (lane, on) =
                (&city.net.edges[approach.edge].lanes[number], &state.lanes[approach.edge][number]);
            let at = k.min(LANES - 1) * 9;
            // As parts of what fits on the lane: a vehicle and its gap take 7.5 m.
            let room = (lane.length / 7.5).max(1.0);
            // Lanes beyond the last count with it.
            if k < LANES {
                put(at, 1.0);
                (0..3).for_each(|way| put(at + 1 + way, f64::from(u8::from(approach.ways[number][way]))));
                put(at + 7, if on.vehicles > 0.0 { on.speed / on.vehicles } else { 1.0 });
                put(at + 8, if on.first.is_finite() { 1.0 - on.first / lane.length } else { 0.0 });
            }
            put(at + 4, on.vehicles / room);
            put(at + 5, on.halting / room);
            put(at + 6, (on.waiting / 100.0).min(3.0));
        }
        let at = LANES * 9;
        put(at, 1.0);
        for &edge in &approach.tail {
            let road = &city.net.edges[edge];
            let room: f64 = road.for_cars().map(|k| road.lanes[k].length / 7.5).sum();
            let on = state.on_road(road, edge);
            put(at + 1, on.vehicles / room.max(1.0));
            put(at + 2, on.halting / room.max(1.0));
        }
    }
}
