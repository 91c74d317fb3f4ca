//! What holds in every episode, and agreement with the slow world.

use super::*;
use crate::traffic::oracle::Oracle;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The fast world and the slow one agree in every field of every vehicle after every step, from any start.
    #[test]
    fn the_fast_world_is_the_slow_world(
        (rows, cols) in (1usize..4, 1usize..4),
        seed in any::<u64>(),
        density in prop_oneof![Just(0.0), Just(0.1), Just(0.4), Just(0.9), Just(1.0)],
        marks in prop_oneof![Just(0.0), Just(0.05), Just(0.5)],
        count in 0u32..60,
        change in prop_oneof![Just(0.0), Just(0.1), Just(1.0)],
    ) {
        let mut stream = stream(seed);
        let step_limit = 70;
        let mut fast = Traffic::new(TrafficOptions { rows, cols, step_limit, ..TrafficOptions::default() }).unwrap();
        let schedule = arrivals(&fast, count, 30, &mut stream);
        let vehicles = strewn(&fast, density, marks, &mut stream);
        let strewn = !vehicles.is_empty();
        fast.set_schedule(&schedule).unwrap();
        fast.set_vehicles(&vehicles).unwrap();
        let mut slow = Oracle::new((rows, cols), step_limit, &vehicles, &schedule);
        prop_assert_eq!(fast.vehicles(), slow.vehicles());
        let mut actions = vec![0; rows * cols];
        act(&mut actions, 1.0, &mut stream);
        for _ in 0..step_limit {
            act(&mut actions, change, &mut stream);
            let outcome = fast.apply(&actions, &());
            let report = slow.step(&actions);
            prop_assert_eq!(fast.vehicles(), slow.vehicles());
            prop_assert_eq!(outcome.reward, report.reward);
            prop_assert_eq!(outcome.end == End::Terminated, report.terminated);
            prop_assert_eq!(outcome.end == End::Truncated, report.truncated);
            let mut left = fast.left().to_vec();
            left.sort();
            let mut expected = report.left;
            if strewn {
                // Put in the middle of a lane, a vehicle counts as having driven there.
                left.iter_mut().for_each(|l| l.travel = 0);
                expected.iter_mut().for_each(|l| l.travel = 0);
                left.sort();
                expected.sort();
            }
            prop_assert_eq!(left, expected);
            if outcome.end != End::Running {
                break;
            }
        }
    }

    /// Whole random episodes: nobody is lost, nobody runs a red light, nobody moves more than one cell.
    #[test]
    fn episodes_keep_the_rules(
        (rows, cols) in (1usize..4, 1usize..4),
        seed in any::<u64>(),
        change in prop_oneof![Just(0.02), Just(0.2), Just(1.0)],
    ) {
        let mut stream = stream(seed);
        let mut w = world(rows, cols);
        w.reset(&mut stream).unwrap();
        let scheduled = w.pending();
        prop_assert_eq!(w.schedule().len(), scheduled);
        let mut actions = vec![0; rows * cols];
        for t in 0..100 {
            act(&mut actions, change, &mut stream);
            let before = w.clone();
            let outcome = w.apply(&actions, &());
            let later = w.schedule().iter().filter(|a| a.0 as usize > t).count();
            prop_assert_eq!(w.pending(), later + w.outside());
            prop_assert_eq!(scheduled, later + w.outside() + w.inside() + w.finished().vehicles as usize);
            prop_assert_eq!(w.inside(), w.vehicles().len());
            let total: u32 = w.vehicles().iter().map(|v| v.waiting).sum();
            let mean = if w.inside() == 0 { 0.0 } else { f64::from(total) / w.inside() as f64 };
            prop_assert_eq!(w.mean_waiting(), mean);
            prop_assert_eq!(w.phases(), actions.clone());
            followed(&before, &w)?;
            if outcome.end != End::Running {
                break;
            }
        }
    }

    /// Vehicles and arrivals given in another order are the same world with the same future.
    #[test]
    fn storage_order_means_nothing(seed in any::<u64>(), size in 1usize..4) {
        let mut stream = stream(seed);
        let mut a = world(size, 3);
        let mut schedule = arrivals(&a, 40, 40, &mut stream);
        let mut vehicles = strewn(&a, 0.5, 0.3, &mut stream);
        let mut b = a.clone();
        a.set_schedule(&schedule).unwrap();
        a.set_vehicles(&vehicles).unwrap();
        shuffle(&mut schedule, &mut stream);
        shuffle(&mut vehicles, &mut stream);
        b.set_vehicles(&vehicles).unwrap();
        b.set_schedule(&schedule).unwrap();
        let mut actions = vec![0; 3 * size];
        for _ in 0..60 {
            prop_assert!(a == b);
            act(&mut actions, 0.3, &mut stream);
            prop_assert_eq!(a.apply(&actions, &()), b.apply(&actions, &()));
        }
    }
}

/// Follows every vehicle through one step: lanes are first in, first out, so they match front to back.
fn followed(before: &Traffic, after: &Traffic) -> Result<(), TestCaseError> {
    let (height, width) = before.cells();
    let lanes = |w: &Traffic| {
        let mut lanes = std::collections::BTreeMap::<_, Vec<(usize, Vehicle)>>::new();
        for v in w.vehicles() {
            let (line, s) = match (v.dr, v.dc) {
                (0, 1) => (v.row, v.col),
                (0, _) => (v.row, width - 1 - v.col),
                (1, _) => (v.col, v.row),
                _ => (v.col, height - 1 - v.row),
            };
            lanes.entry((v.dr, v.dc, line)).or_default().push((s, v));
        }
        for lane in lanes.values_mut() {
            lane.sort_by_key(|(s, _)| std::cmp::Reverse(*s));
        }
        lanes
    };
    let old = lanes(before);
    for (key, new) in lanes(after) {
        let last = if key.0 == 0 { width } else { height } - 1;
        let mut old = old.get(&key).into_iter().flatten();
        let mut old = old.by_ref().filter(|(s, _)| *s != last);
        for (s, v) in &new {
            let (was, waited) = match old.next() {
                Some((was, v)) => (*was, v.waiting),
                None => (0, 0), // it has just entered
            };
            let moved = s - was;
            prop_assert!(moved <= 1);
            prop_assert_eq!(v.waiting, waited + 1 - moved as u32);
            prop_assert!(moved == 0 || !v.marked);
            if moved == 1 && s % 8 == 2 {
                let phase = after.phase(v.row / 8 * after.options().cols + v.col / 8);
                prop_assert_eq!(phase, usize::from(v.dr == 0), "ran a red light");
            }
        }
        prop_assert!(old.next().is_none());
    }
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_episode_and_a_reset_forgets() {
    let mut a = world(2, 3);
    a.reset(&mut stream(1)).unwrap();
    let mut b = world(2, 3);
    b.reset(&mut stream(2)).unwrap();
    run(&mut b, &[1; 6], 40);
    b.reset(&mut stream(1)).unwrap();
    assert!(a == b);
    b.reset(&mut stream(2)).unwrap();
    assert!(a != b);
}

#[test]
fn arrivals_come_with_their_probability() {
    let mut w = world(2, 2);
    let mut stream = stream(5);
    let mut total = 0;
    for _ in 0..1000 {
        w.reset(&mut stream).unwrap();
        total += w.pending();
    }
    // 800,000 draws at 0.1: five standard deviations are 1,342.
    assert!(total.abs_diff(80_000) < 1_342, "{total}");
    assert!(w.schedule().iter().all(|a| a.0 < 100));
    // The number of draws is fixed: one word per lane and step.
    let position = |p: f64| {
        let mut stream = super::stream(9);
        let mut w =
            Traffic::new(TrafficOptions { arrival_probability: p, ..TrafficOptions::default() }).unwrap();
        w.reset(&mut stream).unwrap();
        (w.pending(), stream.word())
    };
    assert_eq!((position(0.0).0, position(1.0).0), (0, 800));
    assert_eq!(position(0.0).1, position(1.0).1);
}

#[test]
fn a_hundred_by_a_hundred_junctions_run() {
    let mut w = world(100, 100);
    assert_eq!(w.cells(), (799, 799));
    let mut stream = stream(8);
    w.reset(&mut stream).unwrap();
    let scheduled = w.pending();
    let mut actions = vec![0; 10_000];
    for _ in 0..150 {
        act(&mut actions, 0.2, &mut stream);
        w.apply(&actions, &());
    }
    assert_eq!(scheduled, w.outside() + w.inside() + w.finished().vehicles as usize);
    assert_eq!(w.vehicles().len(), w.inside());
}
