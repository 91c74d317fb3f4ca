//! The world is exactly symmetric, and its group acts as the conventions say.

use super::*;
use crate::action::GroupAction;
use crate::audit::audit;

#[test]
fn every_size_and_group_is_exactly_symmetric() {
    for (drones, grid, group, steps) in [
        (3, 7, "D4", 20_000),
        (2, 7, "C4", 5_000),
        (4, 7, "C2", 5_000),
        (5, 5, "D2", 5_000),
        (2, 3, "D4", 5_000),
        (8, 3, "D1", 5_000),
        (12, 9, "D4", 3_000),
        (3, 7, "C1", 1_000),
    ] {
        let group: Group = group.parse().unwrap();
        let world = Wildlife::new(drones, grid).unwrap().under(&group).unwrap();
        let report = audit(&world, steps, 5);
        assert!(report.holds, "{drones} drones, grid {grid}, {group}: {report:?}");
        assert_eq!(report.elements.len(), group.order());
    }
}

#[test]
fn turning_is_a_group_action() {
    let mut world = Wildlife::new(4, 5).unwrap();
    world.reset(&mut Stream::new(1, Purpose::World, 0)).unwrap();
    let acts = GroupAction::new(world.spec()).unwrap();
    let group = acts.group.clone();
    assert!(world.transformed(group.identity()).unwrap().same_state(&world));
    for g in group.elements() {
        for h in group.elements() {
            let gh = group.mul(g, h);
            let twice = world.transformed(h).unwrap().transformed(g).unwrap();
            assert!(twice.same_state(&world.transformed(gh).unwrap()));
            for a in 0..MOVES {
                assert_eq!(acts.action(g, acts.action(h, a)), acts.action(gh, a));
                assert_eq!(world.transform_chance(gh, &a), acts.action(gh, a));
            }
            for id in 0..25 {
                let twice = world.transform_id(g, world.transform_id(h, id));
                assert_eq!(twice, world.transform_id(gh, id));
            }
        }
    }
}

/// The action that moves a lone drone in the turned world where the turned drone should be, found by trying.
#[test]
fn the_environment_itself_gives_the_permutation_of_actions() {
    let world = placed(7, &[[2, 3], [6, 6]], [6, 0], 0);
    let acts = GroupAction::new(world.spec()).unwrap();
    let group = acts.group.clone();
    let derived = |g: usize| -> Vec<usize> {
        let image = |a: usize| {
            let mut stepped = world.clone();
            stepped.apply(&[a, 0], &0);
            let wanted = stepped.transformed(g).unwrap();
            let reaches = |b: &usize| {
                let mut turned = world.transformed(g).unwrap();
                turned.apply(&[*b, 0], &0);
                turned.same_state(&wanted)
            };
            let found: Vec<usize> = (0..MOVES).filter(reaches).collect();
            assert_eq!(found.len(), 1);
            found[0]
        };
        (0..MOVES).map(image).collect()
    };
    for g in group.elements() {
        let table: Vec<usize> = (0..MOVES).map(|a| acts.action(g, a)).collect();
        assert_eq!(derived(g), table);
    }
    // The quarter turn sends 1 -> 2 -> 3 -> 4 -> 1, the mirror swaps 2 and 4.
    let [turn, mirror] = group.generators() else { panic!("D4 has two generators") };
    assert_eq!(derived(*turn), [0, 2, 3, 4, 1]);
    assert_eq!(derived(*mirror), [0, 1, 4, 3, 2]);
}
