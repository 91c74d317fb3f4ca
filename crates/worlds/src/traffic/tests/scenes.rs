//! What the world looks like, and how people change it by hand.

use super::*;
use crate::scene::{ActionMark, Edit, Item, Scene, Shape};
use proptest::prelude::*;

/// A city with some traffic.
fn city(rows: usize, cols: usize) -> Traffic {
    let mut world = world(rows, cols);
    world.reset(&mut stream(0)).unwrap();
    let (mut actions, mut stream) = (vec![0; rows * cols], stream(1));
    for _ in 0..60 {
        act(&mut actions, 0.5, &mut stream);
        world.apply(&actions, &());
    }
    world
}

/// The middle of a cell in the picture.
fn middle(row: usize, col: usize) -> [f32; 2] {
    [col as f32 + 0.9, row as f32 + 0.9]
}

#[test]
fn every_vehicle_and_light_is_in_the_picture() {
    for (rows, cols) in [(1, 1), (2, 2), (3, 2)] {
        let world = city(rows, cols);
        let scene = world.scene().unwrap();
        assert!(rows == 1 || world.inside() > 5);
        assert_eq!(scene.count("vehicle"), world.inside());
        assert_eq!(scene.count("brake"), world.vehicles().iter().filter(|v| v.marked).count());
        assert_eq!((scene.count("red"), scene.count("green")), (2 * rows * cols, 2 * rows * cols));
        assert_eq!(scene.agents.len(), rows * cols);
        let text = serde_json::to_string(&scene).unwrap();
        assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), scene);
    }
    assert_eq!(city(2, 3).scene().unwrap().count("link"), 7);
}

#[test]
fn lanes_in_the_picture_are_lanes_of_the_world() {
    let world = city(2, 3);
    let mut lanes = 0;
    for item in world.scene().unwrap().items().iter().filter(|item| item.name == "lane") {
        let Shape::Rect { corner: [x, y], size: [w, h], .. } = item.shape else { panic!("{item:?}") };
        for k in 0..w.max(h) as usize {
            let (dx, dy) = if w > h { (k, 0) } else { (0, k) };
            assert!(world.is_lane((y - 0.4) as usize + dy, (x - 0.4) as usize + dx));
        }
        lanes += 1;
    }
    assert_eq!(lanes, 10);
}

#[test]
fn a_tilt_and_a_main_road_are_seen() {
    let made = |tilt: f64, main_road: f64| {
        Traffic::new(TrafficOptions { tilt, main_road, ..TrafficOptions::default() }).unwrap()
    };
    let captions = |world: &Traffic| -> Vec<String> {
        let scene = world.scene().unwrap();
        let caption = |item: &Item| match &item.shape {
            Shape::Label { text, .. } if item.name == "caption" => Some(text.clone()),
            _ => None,
        };
        scene.items().iter().filter_map(caption).collect()
    };
    // The corner of the lane that does not look as the others do.
    let main = |world: &Traffic| -> Vec<[f32; 2]> {
        let scene = world.scene().unwrap();
        let lanes: Vec<&Item> = scene.items().iter().filter(|item| item.name == "lane").collect();
        assert_eq!(lanes.len(), 8);
        let usual = |item: &&&Item| lanes.iter().filter(|other| other.fill == item.fill).count() < 4;
        let corner = |item: &&Item| match item.shape {
            Shape::Rect { corner, .. } => corner,
            _ => panic!("{item:?}"),
        };
        lanes.iter().filter(usual).map(corner).collect()
    };
    let usual = made(0.0, 1.0);
    assert_eq!((captions(&usual), main(&usual)), (vec![], vec![]));
    assert_eq!(usual.scene().unwrap().size(), [15.8, 15.8]);
    assert_eq!(usual.terminal(false).unwrap().lines().count(), 15);

    let tilted = made(0.4, 1.0);
    assert_eq!((captions(&tilted), main(&tilted)), (vec!["tilt 0.4: more along rows".into()], vec![]));
    assert!(tilted.terminal(false).unwrap().ends_with("\ntilt 0.4: more along rows\n"));
    // A quarter turn to the left takes row 2 to column 2, if the road is turned along.
    let both = made(0.4, 3.0);
    assert_eq!(captions(&both), ["tilt 0.4: more along rows; main road: 3 times the demand"]);
    assert_eq!(main(&both), [[0.4, 2.45]]);
    let text = both.terminal(false).unwrap();
    let marked: Vec<usize> =
        text.lines().enumerate().filter(|(_, l)| l.contains("= =")).map(|(k, _)| k).collect();
    assert_eq!(marked, [2], "{text}");
    assert!(text.ends_with("main road: 3 times the demand (=)\n"), "{text}");
    let mut turned = both.transformed(1).unwrap();
    assert_eq!((captions(&turned), main(&turned)), (captions(&both), main(&both)));
    turned.transform_cause(1);
    assert_eq!(captions(&turned), ["tilt 0.4: more along columns; main road: 3 times the demand"]);
    assert_eq!(main(&turned), [[2.45, 0.4]]);
    let far =
        Traffic::new(TrafficOptions { rows: 13, cols: 13, tilt: 0.4, ..TrafficOptions::default() }).unwrap();
    assert_eq!(captions(&far), ["tilt 0.4: more along rows"]);
    assert!(far.terminal(false).unwrap().ends_with("\ntilt 0.4: more along rows\n"));
}

#[test]
fn a_red_light_is_on_the_stop_line() {
    let mut world = city(1, 1);
    for (phase, stopped) in [(0, [[2.4, 2.9], [5.4, 4.9]]), (1, [[2.9, 5.4], [4.9, 2.4]])] {
        world.set_phases(&[phase]).unwrap();
        let scene = world.scene().unwrap();
        let bars = scene.items().iter().filter(|item| item.name == "red");
        for (item, stop) in bars.zip(stopped) {
            let Shape::Line { from, to, .. } = item.shape else { panic!("{item:?}") };
            let middle = [0, 1].map(|k| (from[k] + to[k]) / 2.0);
            assert!((0..2).all(|k| (middle[k] - stop[k]).abs() < 0.2), "{middle:?} is not {stop:?}");
        }
    }
}

#[test]
fn cities_are_drawn_from_afar_or_refused() {
    let far = city(100, 100).scene().unwrap();
    assert_eq!((far.count("block"), far.count("green"), far.agents.len()), (10_000, 10_000, 10_000));
    assert!(far.items().iter().all(|item| item.handle.is_none() && item.title.is_none()));
    let error = city(1, 200).scene().unwrap_err().to_string();
    assert!(error.contains("7 x 1599 cells"), "{error}");
}

#[test]
fn the_terminal_shows_every_vehicle() {
    let world = city(2, 3);
    let plain = world.terminal(false).unwrap();
    assert_eq!(plain.lines().count(), 15);
    assert_eq!(plain.chars().filter(|c| "▶▷◀◁▲△▼▽".contains(*c)).count(), world.inside());
    assert!((0..6).all(|junction| plain.contains(&junction.to_string())));
    let far = city(100, 100).terminal(false).unwrap();
    assert_eq!(far.chars().filter(|c| "│─".contains(*c)).count(), 10_000);
    assert!(city(1, 200).terminal(true).unwrap().contains("cut off"));
}

#[test]
fn actions_are_bars_along_the_lanes_that_get_green() {
    let marks = super::super::scene::action_marks();
    let names: Vec<&str> = marks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["columns green", "rows green"]);
    for (phase, (_, mark)) in marks.iter().enumerate() {
        let mut world = world(1, 1);
        world.set_phases(&[phase]).unwrap();
        let scene = world.scene().unwrap();
        let ActionMark::Bar { from, to } = *mark else { panic!("{mark:?}") };
        let upright = from[0] == to[0];
        // The red bars lie across the other lanes: upright ones stop the rows.
        for item in scene.items().iter().filter(|item| item.name == "red") {
            let Shape::Line { from, to, .. } = item.shape else { panic!("{item:?}") };
            assert_eq!(from[0] == to[0], upright);
        }
    }
}

#[test]
fn what_can_be_changed_is_whole_and_says_what_it_is() {
    let mut world = world(1, 2);
    world.set_vehicles(&[vehicle(2, 5, 0, 1, 3, true), vehicle(0, 4, 1, 0, 0, false)]).unwrap();
    world.set_phases(&[0, 1]).unwrap();
    let scene = world.scene().unwrap();
    let parts = |id: &str, drag: bool| {
        let held = |item: &&Item| {
            item.handle.as_ref().is_some_and(|h| h.id == id && (h.drag, h.press) == (drag, !drag))
        };
        scene.items().iter().filter(held).cloned().collect::<Vec<_>>()
    };
    let titles = |parts: Vec<Item>| parts.into_iter().filter_map(|item| item.title).collect::<Vec<_>>();
    // Two red bars and two gates of two posts.
    assert_eq!(parts("light 1", false).len(), 6);
    assert_eq!(titles(parts("light 0", false)), ["Junction 0: columns have green"]);
    assert_eq!(titles(parts("light 1", false)), ["Junction 1: rows have green"]);
    assert_eq!((parts("vehicle 0", true).len(), parts("vehicle 1", true).len()), (1, 2));
    assert_eq!(titles(parts("vehicle 1", true)), ["Vehicle at row 2, column 5, waited 3"]);
    let held = scene.items().iter().filter(|item| item.handle.is_some()).count();
    assert_eq!(held, 15);
    // A junction is pressed at its lights; it says the same of itself.
    let junctions = scene.items().iter().filter(|item| item.name == "junction").cloned().collect();
    assert_eq!(titles(junctions), ["Junction 0: columns have green", "Junction 1: rows have green"]);
}

#[test]
fn vehicles_can_be_moved_and_lights_switched() {
    let mut world = world(2, 2);
    world.set_vehicles(&[vehicle(2, 5, 0, 1, 3, true), vehicle(0, 4, 1, 0, 1, false)]).unwrap();
    let drive = |world: &mut Traffic, row: usize, col: usize| {
        let own = world.vehicles().iter().position(|v| v.waiting == 3).unwrap();
        world.edit(&Edit::moved(format!("vehicle {own}"), middle(row, col))).unwrap();
        let vehicles = world.vehicles();
        assert!(vehicles.len() == 2 && vehicles.contains(&vehicle(0, 4, 1, 0, 1, false)));
        vehicles.into_iter().find(|v| v.waiting == 3).unwrap()
    };
    // Along its lane, to another lane of its direction, and onto a crossing, where its own lane goes before the other.
    for (row, col) in [(2, 9), (10, 0), (2, 4)] {
        assert_eq!(drive(&mut world, row, col), vehicle(row, col, 0, 1, 3, true));
    }
    // A lane of another direction turns it.
    for (row, col, dr, dc) in [(12, 14, 0, -1), (6, 10, -1, 0), (14, 12, 1, 0), (10, 1, 0, 1)] {
        assert_eq!(drive(&mut world, row, col), vehicle(row, col, dr, dc, 3, true));
    }
    assert_eq!(world.mean_waiting(), 2.0);

    world.edit(&Edit::pressed("light 2")).unwrap();
    assert_eq!(world.phases(), [0, 0, 1, 0]);
    world.edit(&Edit::pressed("light 2")).unwrap();
    assert_eq!(world.phases(), [0; 4]);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut world = world(1, 1);
    let known = "here to move or press; there is light 0 to 0, and";
    assert_eq!(
        world.edit(&Edit::pressed("vehicle 0")).unwrap_err().to_string(),
        format!("there is no \"vehicle 0\" {known} no vehicle")
    );
    world.set_vehicles(&[vehicle(2, 5, 0, 1, 3, true), vehicle(0, 4, 1, 0, 0, false)]).unwrap();
    let before = world.save();
    for (edit, why) in [
        (
            Edit::moved("vehicle 1", middle(0, 4)),
            "vehicle 1 cannot be moved to row 0, column 4: another vehicle is there",
        ),
        (
            Edit::moved("vehicle 1", middle(3, 3)),
            "vehicle 1 cannot be moved to row 3, column 3: no lane runs there",
        ),
        (
            Edit::moved("vehicle 1", [2.9, 8.0]),
            "vehicle 1 cannot be moved there: that is outside of the city",
        ),
        (Edit::moved("vehicle 1", [2.9, f32::INFINITY]), "vehicle 1 cannot be moved: there is no such place"),
        (Edit::pressed("vehicle 1"), "vehicle 1 can be moved, not pressed"),
        (Edit::moved("light 0", middle(2, 2)), "light 0 can be pressed, not moved"),
        (Edit::pressed("light 1"), &format!("there is no \"light 1\" {known} vehicle 0 to 1")),
        (
            Edit::moved("vehicle 2", middle(2, 2)),
            &format!("there is no \"vehicle 2\" {known} vehicle 0 to 1"),
        ),
        (Edit::moved("drone 0", middle(2, 2)), &format!("there is no \"drone 0\" {known} vehicle 0 to 1")),
    ] {
        assert_eq!(world.edit(&edit).unwrap_err().to_string(), why);
        assert_eq!(world.save(), before);
    }
}

proptest! {
    /// Whatever people do, the state stays one that can be saved, loaded, drawn and played on, and no vehicle gets lost.
    #[test]
    fn random_edits_leave_a_state(
        rows in 1usize..4, cols in 1usize..4, density in 0.0..0.9f64, seed in 0u64..1000,
        edits in prop::collection::vec((0usize..3, 0usize..30, prop::option::weighted(0.8, [-1f32..26.0, -1f32..26.0])), 1..40),
    ) {
        let mut world = world(rows, cols);
        let mut stream = stream(seed);
        world.reset(&mut stream).unwrap();
        let vehicles = strewn(&world, density, 0.3, &mut stream);
        world.set_vehicles(&vehicles).unwrap();
        let (inside, pending, waiting) = (world.inside(), world.pending(), world.mean_waiting());
        let mut actions = vec![0; rows * cols];
        for (what, number, to) in edits {
            let id = format!("{} {number}", ["vehicle", "light", "drone"][what]);
            let before = world.clone();
            let edited = world.edit(&Edit { id, to });
            if edited.is_err() {
                prop_assert!(world == before);
            } else {
                prop_assert!(what == usize::from(to.is_none()));
            }
            prop_assert_eq!((world.inside(), world.pending(), world.mean_waiting()), (inside, pending, waiting));
            prop_assert!(Traffic::restore(&world.save()).unwrap() == world);
        }
        prop_assert_eq!(world.scene().unwrap().count("vehicle"), inside);
        for _ in 0..10 {
            act(&mut actions, 0.5, &mut stream);
            world.apply(&actions, &());
        }
    }
}
