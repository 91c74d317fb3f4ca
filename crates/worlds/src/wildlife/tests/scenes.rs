//! What the world looks like, and how people change it by hand.

use super::*;
use crate::scene::{ActionMark, Edit, Scene, Shape};
use proptest::prelude::*;

/// The middle of a cell in the picture.
fn middle(row: usize, col: usize) -> [f32; 2] {
    [col as f32 + 0.9, row as f32 + 0.9]
}

/// A world in a random state.
fn random(team: usize, grid: usize, seed: u64) -> Wildlife {
    let mut world = Wildlife::new(team, grid).unwrap();
    world.reset(&mut Stream::new(seed, Purpose::Audit, 0)).unwrap();
    world
}

#[test]
fn every_drone_and_the_poacher_are_in_the_picture() {
    for (team, grid) in [(2, 3), (4, 7), (12, 9)] {
        let world = random(team, grid, 7);
        let scene = world.scene().unwrap();
        assert_eq!((scene.count("drone"), scene.count("poacher")), (team, 1));
        assert_eq!(scene.count("number"), team);
        for (mark, [row, col]) in scene.agents.iter().zip(world.drones()) {
            assert_eq!(mark.at, middle(row, col));
        }
        let text = serde_json::to_string(&scene).unwrap();
        assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), scene);
    }
}

#[test]
fn links_are_those_of_the_communication_graph() {
    // On the torus the first and the last are adjacent; they do not hear each other.
    let world = placed(7, &[[0, 0], [4, 0], [6, 6]], [3, 3], 0);
    assert_eq!(world.scene().unwrap().count("link"), 1);
    assert!(world.terminal(false).unwrap().contains("links: 0-1\n"));
}

#[test]
fn arrows_show_what_the_drones_wanted() {
    let world = random(4, 7, 7);
    assert_eq!(world.scene().unwrap().count("heading"), 0);
    // Too few actions, or ones that do not exist, are no reason to fail: the picture is for looking.
    for (actions, arrows) in [(&[0, 1, 2, 3][..], 3), (&[4], 1), (&[9, 9, 9, 9], 0)] {
        assert_eq!(world.scene_after(actions).unwrap().count("heading"), arrows);
    }
}

#[test]
fn a_field_too_large_to_see_is_refused() {
    let error = Wildlife::new(400_000, 681).unwrap().scene().unwrap_err().to_string();
    assert!(error.contains("400000"), "{error}");
    let far = random(30, 103, 1).scene().unwrap();
    assert_eq!((far.count("drone"), far.agents.len()), (30, 30));
    assert!(far.items().iter().all(|item| item.handle.is_none() && item.title.is_none()));
}

#[test]
fn the_terminal_shows_every_drone() {
    for (team, grid) in [(3, 7), (11, 9)] {
        let world = random(team, grid, 7);
        let plain = world.terminal(false).unwrap();
        assert!(plain.contains('x') && !plain.contains('\x1b'));
        assert!((0..team).all(|i| plain.split([' ', '│', 'x']).any(|word| word == i.to_string())), "{plain}");
        let widths: Vec<usize> = plain.lines().take(grid + 2).map(|l| l.chars().count()).collect();
        assert!(widths.iter().all(|&w| w == widths[0]), "{plain}");
        assert!(world.terminal(true).unwrap().contains("\x1b["));
    }
    let plain = placed(3, &[[0, 0], [0, 1]], [0, 0], 1).terminal(false).unwrap();
    assert!(plain.contains("│x0  1  · │"), "{plain}");
    assert!(random(4, 101, 7).terminal(false).unwrap().lines().count() < 40);
}

#[test]
fn actions_point_where_they_lead() {
    let marks = super::super::scene::action_marks();
    let names: Vec<&str> = marks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["stay", "down", "right", "up", "left"]);
    for (action, (_, mark)) in marks.iter().enumerate() {
        let mut world = placed(5, &[[2, 2], [0, 0]], [4, 4], 0);
        let mut by_hand = world.clone();
        let [dx, dy] = match mark {
            ActionMark::Stay => [0.0, 0.0],
            ActionMark::Arrow(way) => *way,
            ActionMark::Bar { .. } => panic!("{mark:?}"),
        };
        let [x, y] = world.scene().unwrap().agents[0].at;
        by_hand.edit(&Edit::moved("drone 0", [x + dx, y + dy])).unwrap();
        world.apply(&[action, 0], &0);
        assert!(world.drones().eq(by_hand.drones()));
    }
}

#[test]
fn what_can_be_moved_is_whole_and_says_what_it_is() {
    let scene = placed(7, &[[0, 1], [4, 0]], [3, 3], 0).scene().unwrap();
    let parts = |id: &str| {
        let held = |item: &&crate::scene::Item| {
            item.handle.as_ref().is_some_and(|h| h.id == id && h.drag && !h.press)
        };
        scene.items().iter().filter(held).cloned().collect::<Vec<_>>()
    };
    // Four arms, four rotors, a body and a number; a diamond and a cross.
    assert_eq!((parts("drone 1").len(), parts("poacher").len()), (10, 3));
    let titles = |id: &str| parts(id).into_iter().filter_map(|item| item.title).collect::<Vec<_>>();
    assert_eq!(titles("drone 1"), ["Drone 1 at row 4, column 0"]);
    assert_eq!(titles("poacher"), ["Poacher at row 3, column 3"]);
    let held = scene.items().iter().filter(|item| item.handle.is_some()).count();
    assert_eq!(held, 23);
}

#[test]
fn a_scene_says_that_its_edges_are_joined() {
    let mut world = placed(7, &[[3, 0], [5, 5]], [2, 2], 0);
    let scene = world.scene().unwrap();
    let torus = scene.torus.unwrap();
    // Left of the first column is the last one: a period away from where the step leads.
    let [x, y] = scene.agents[0].at;
    world.apply(&[4, 0], &0);
    assert_eq!(world.scene().unwrap().agents[0].at, [x - 1.0 + torus.size[0], y]);
    assert!(x - 1.0 < torus.corner[0]);
    let text = serde_json::to_string(&scene).unwrap();
    assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), scene);
}

/// The points of the wind's arrows: tails first, tips in the middle of the list.
fn arrows(scene: &Scene) -> Vec<Vec<[f32; 2]>> {
    let arrow = |item: &crate::scene::Item| match &item.shape {
        Shape::Polygon(points) if item.name == "wind" => Some(points.clone()),
        _ => None,
    };
    scene.items().iter().filter_map(arrow).collect()
}

fn labels(scene: &Scene) -> Vec<String> {
    let label = |item: &crate::scene::Item| match &item.shape {
        Shape::Label { text, .. } if item.name == "caption" => Some(text.clone()),
        _ => None,
    };
    scene.items().iter().filter_map(label).collect()
}

#[test]
fn the_wind_is_seen_in_the_picture_and_in_the_terminal() {
    let calm = random(3, 7, 7);
    let drawn = calm.scene().unwrap();
    assert_eq!((drawn.count("wind"), drawn.count("caption"), drawn.size()), (0, 0, [7.8, 7.8]));
    assert!(!calm.terminal(false).unwrap().contains("wind"));
    for grid in [3, 5, 7, 9, 11, 103] {
        for (from, blows, arrow) in [
            ("north", [0.0, 1.0], '↓'),
            ("east", [-1.0, 0.0], '←'),
            ("south", [0.0, -1.0], '↑'),
            ("west", [1.0, 0.0], '→'),
        ] {
            let mut long = vec![];
            for strength in [0.2, 0.8] {
                let world = random(3, grid, 7).in_wind(Wind::new(strength, from).unwrap()).unwrap();
                let scene = world.scene().unwrap();
                let words = format!("wind {strength} from the {from}");
                assert_eq!(labels(&scene).join("|"), words);
                assert!(world.terminal(false).unwrap().contains(&format!("\n{arrow} {words}\n")));
                // They begin beside the field, on the side that it comes from, and point away from it.
                let (arrows, side) = (arrows(&scene), grid as f32);
                assert_eq!(arrows.len(), 2);
                for points in &arrows {
                    let tail = [0, 1].map(|k| (points[0][k] + points[6][k]) / 2.0);
                    let way = [0, 1].map(|k| points[3][k] - tail[k]);
                    long.push(way[0].hypot(way[1]));
                    for k in 0..2 {
                        assert!((way[k] - blows[k] * long[long.len() - 1]).abs() < 1e-4, "{way:?}");
                        if blows[k] != 0.0 {
                            let edge = if blows[k] > 0.0 { 0.08 } else { side + 0.72 };
                            assert!((tail[k] - edge).abs() < 1e-3, "{tail:?}");
                        }
                        assert!((0.0..=side + 0.8).contains(&points[3][k]));
                    }
                }
                // The field is where it was, and what can be held as well.
                assert_eq!(scene.agents, random(3, grid, 7).scene().unwrap().agents);
                assert!(scene.size()[1] > side + 0.8);
            }
            assert!(long[2] > long[0] && long[3] > long[1], "stronger is longer: {long:?}");
        }
    }
}

#[test]
fn a_wind_that_is_drawn_says_so_and_turns_with_what_is_turned_along() {
    let mut world = Wildlife::new(3, 7).unwrap().in_wind(Wind::new(0.4, "any").unwrap()).unwrap();
    let mut sides = std::collections::BTreeSet::new();
    for index in 0..40 {
        world.reset(&mut Stream::new(1, Purpose::Audit, index)).unwrap();
        sides.insert(labels(&world.scene().unwrap()).join(""));
    }
    let words =
        ["east", "north", "south", "west"].map(|from| format!("wind 0.4 from the {from} in this episode"));
    assert!(sides.iter().eq(&words), "{sides:?}");

    let world = random(3, 7, 7).in_wind(Wind::new(0.4, "west").unwrap()).unwrap();
    // A quarter turn to the left: what blew to the right blows up.
    let fixed = world.transformed(1).unwrap();
    let mut along = fixed.clone();
    along.transform_cause(1);
    assert_eq!(labels(&fixed.scene().unwrap()), ["wind 0.4 from the west"]);
    assert_eq!(labels(&along.scene().unwrap()), ["wind 0.4 from the south"]);
    assert_eq!(arrows(&fixed.scene().unwrap()), arrows(&world.scene().unwrap()));
    let turn = |[x, y]: [f32; 2]| [y, 7.8 - x];
    let mut turned: Vec<[f32; 2]> = arrows(&world.scene().unwrap()).concat().into_iter().map(turn).collect();
    let mut found = arrows(&along.scene().unwrap()).concat();
    for all in [&mut turned, &mut found] {
        all.sort_by(|a, b| a.map(|v| (v * 1e3).round()).partial_cmp(&b.map(|v| (v * 1e3).round())).unwrap());
    }
    assert!(
        turned.iter().zip(&found).all(|(a, b)| (0..2).all(|k| (a[k] - b[k]).abs() < 1e-4)),
        "{turned:?} {found:?}"
    );
}

#[test]
fn drones_and_the_poacher_can_be_moved() {
    let mut world = placed(7, &[[0, 0], [4, 0]], [3, 3], 12);
    let mut moved = |id: &str, to: [f32; 2]| world.edit(&Edit::moved(id, to)).map(|()| world.clone());
    let drone = |world: Wildlife, k: usize| world.drones().nth(k).unwrap();
    assert_eq!(drone(moved("drone 0", middle(2, 5)).unwrap(), 0), [2, 5]);
    // Anywhere in a cell, and in the margin beside it.
    assert_eq!(drone(moved("drone 1", [5.45, 4.35]).unwrap(), 1), [3, 5]);
    assert_eq!(moved("poacher", [0.05, 7.7]).unwrap().poacher(), [6, 0]);
    // Onto a drone, which is how a capture begins.
    assert_eq!(moved("poacher", middle(2, 5)).unwrap().poacher(), [2, 5]);
    assert_eq!(world.steps(), 12);
}

#[test]
fn a_step_beyond_the_border_is_the_other_side() {
    let mut world = placed(5, &[[0, 0], [2, 4]], [3, 3], 0);
    let [x, y] = world.scene().unwrap().agents[0].at;
    world.edit(&Edit::moved("drone 0", [x - 1.0, y])).unwrap();
    world.edit(&Edit::moved("drone 0", [x + 4.0, y - 1.0])).unwrap();
    world.edit(&Edit::moved("drone 1", [5.9, 2.9])).unwrap();
    assert_eq!(world.drones().collect::<Vec<_>>(), [[4, 4], [2, 0]]);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut world = placed(7, &[[0, 0], [4, 2]], [3, 3], 0);
    let before = world.save();
    for (edit, why) in [
        (
            Edit::moved("drone 0", middle(4, 2)),
            "drone 0 cannot be moved to row 4, column 2: drone 1 is there",
        ),
        (Edit::moved("drone 0", [9.0, 1.0]), "drone 0 cannot be moved there: that is outside of the field"),
        (Edit::moved("poacher", [1.0, -0.7]), "poacher cannot be moved there: that is outside of the field"),
        (Edit::moved("drone 0", [f32::NAN, 1.0]), "drone 0 cannot be moved: there is no such place"),
        (Edit::pressed("drone 0"), "drone 0 can be moved, not pressed"),
        (
            Edit::moved("drone 2", middle(1, 1)),
            "there is no \"drone 2\" here to move or press; there is the poacher, and drone 0 to 1",
        ),
        (
            Edit::pressed("light 0"),
            "there is no \"light 0\" here to move or press; there is the poacher, and drone 0 to 1",
        ),
    ] {
        assert_eq!(world.edit(&edit).unwrap_err().to_string(), why);
        assert_eq!(world.save(), before);
    }
}

proptest! {
    /// Whatever people do, the state stays one that can be saved, loaded, drawn and played.
    #[test]
    fn random_edits_leave_a_state(
        team in 2usize..12, half in 2usize..5, seed: u64,
        edits in prop::collection::vec((0usize..15, prop::option::of([-3f32..15.0, -3f32..15.0])), 1..40),
    ) {
        let grid = 2 * half + 1;
        let mut world = random(team, grid, seed);
        for (who, to) in edits {
            let id = if who == 13 { "poacher".into() } else if who == 14 { "light 1".into() } else { format!("drone {who}") };
            let before = world.save();
            let edited = world.edit(&Edit { id, to });
            if edited.is_err() {
                prop_assert_eq!(world.save(), before);
            } else {
                prop_assert!(to.is_some() && who != 14);
            }
            let mut loaded = Wildlife::new(team, grid).unwrap();
            prop_assert!(loaded.load(&world.save()).is_ok());
            prop_assert!(loaded.same_state(&world));
        }
        let scene = world.scene().unwrap();
        prop_assert_eq!(scene.agents.len(), team);
        let mut stream = Stream::new(seed, Purpose::Audit, 1);
        let actions = random_actions(&world, &mut stream);
        world.apply(&actions, &0);
    }

    /// Moving a drone to where a scene shows another cell is what placing it there is.
    #[test]
    fn moving_is_placing(seed: u64, row in 0usize..7, col in 0usize..7, dx in -0.49f32..0.49, dy in -0.49f32..0.49) {
        let mut world = random(3, 7, seed);
        let mut drones: Vec<[usize; 2]> = world.drones().collect();
        drones[1] = [row, col];
        let mut other = world.clone();
        let placed = other.place(&drones, world.poacher(), world.steps());
        let [x, y] = middle(row, col);
        let moved = world.edit(&Edit::moved("drone 1", [x + dx, y + dy]));
        prop_assert_eq!(moved.is_ok(), placed.is_ok());
        prop_assert!(world.same_state(&other));
    }
}
