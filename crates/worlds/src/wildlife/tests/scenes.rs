//! What the world looks like, and how people change it by hand.

use super::*;
use crate::scene::{ActionMark, Edit, Scene};
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
