//! The world is exactly symmetric, and says so when it is not.

use super::*;
use crate::action::GroupAction;
use crate::world::Edges;
use equimarl_group::Group;

fn acts(world: &Traffic) -> GroupAction {
    GroupAction::new(world.spec()).unwrap()
}

fn group(world: &Traffic) -> Group {
    world.spec().group.parse().unwrap()
}

fn edges(world: &Traffic, agent: usize) -> Vec<(usize, Vec<f32>)> {
    let mut edges = Edges::default();
    world.neighbours(agent, &mut edges);
    edges.iter().map(|(from, vector)| (from, vector.to_vec())).collect()
}

/// One step from here and from every turned copy; compares all that the definition of symmetry names.
fn check_step(w: &Traffic, actions: &[usize]) -> Traffic {
    let mut next = w.clone();
    let outcome = next.apply(actions, &());
    let mut turned_actions = vec![0; actions.len()];
    let acts = acts(w);
    for g in acts.group.elements() {
        for (agent, &action) in actions.iter().enumerate() {
            turned_actions[acts.agent(g, agent)] = acts.action(g, action);
        }
        let mut turned = w.transformed(g).unwrap();
        assert_eq!(turned.apply(&turned_actions, &()), outcome);
        assert!(turned == next.transformed(g).unwrap());
        for agent in 0..w.agents() {
            let image = acts.agent(g, agent);
            assert_eq!(turned.id(image), next.id(agent).map(|id| w.transform_id(g, id)));
            let mut expected = edges(w, agent);
            for (from, vector) in &mut expected {
                let plane = acts.plane().unwrap();
                let dr_dc = [vector[0], vector[1]].map(|x| x as i32);
                let by_plane = plane.vector(g, dr_dc).map(|x| x as f32);
                let mut by_declaration = [0.0; 2];
                acts.edge(g, vector, &mut by_declaration);
                assert_eq!(by_plane, by_declaration);
                (*from, *vector) = (acts.agent(g, *from), by_plane.to_vec());
            }
            expected.sort_by_key(|(from, _)| *from);
            assert_eq!(expected, edges(&turned, image));
        }
    }
    next
}

#[test]
fn exactly_symmetric_over_many_random_steps() {
    let sizes = [(1, 1), (2, 2), (3, 3), (4, 4), (2, 3), (4, 1)];
    let mut steps = 0;
    for (k, &(rows, cols)) in sizes.iter().enumerate() {
        let mut stream = stream(k as u64);
        let mut actions = vec![0; rows * cols];
        let mut episode = 0;
        let mut done = 0;
        while done < 4_000 {
            let mut w = world(rows, cols);
            w.reset(&mut stream).unwrap();
            if episode % 2 == 1 {
                let vehicles = strewn(&w, 0.7, 0.2, &mut stream);
                w.set_vehicles(&vehicles).unwrap();
            }
            let change = [0.05, 0.3, 1.0][episode % 3];
            for _ in 0..120 {
                act(&mut actions, change, &mut stream);
                w = check_step(&w, &actions);
            }
            done += 120;
            episode += 1;
        }
        steps += done;
    }
    assert!(steps >= 20_000);
}

#[test]
fn turning_is_an_action_of_the_group() {
    let mut stream = stream(11);
    let mut w = world(3, 3);
    w.reset(&mut stream).unwrap();
    run(&mut w, &[0, 1, 0, 1, 0, 1, 0, 1, 0], 50);
    let acts = acts(&w);
    let group = acts.group.clone();
    for g in group.elements() {
        for h in group.elements() {
            let once = w.transformed(group.mul(g, h)).unwrap();
            assert!(w.transformed(h).unwrap().transformed(g).unwrap() == once);
        }
    }
    // The quarter turn takes the corner junction 0 to the bottom left and swaps the phases.
    let turn = group.generators()[0];
    assert_eq!(acts.agent(turn, 0), 6);
    assert_eq!(acts.agent(turn, 1), 3);
    assert_eq!([0, 1].map(|a| acts.action(turn, a)), [1, 0]);
}

#[test]
fn a_turned_vehicle_is_where_the_picture_says() {
    let mut w = world(2, 2);
    w.set_vehicles(&[vehicle(2, 0, 0, 1, 5, true)]).unwrap();
    let turn = group(&w).generators()[0];
    // (dr, dc) -> (-dc, dr), cell (i, j) -> (14 - j, i)
    let turned = w.transformed(turn).unwrap();
    assert_eq!(turned.vehicles(), [vehicle(14, 2, -1, 0, 5, true)]);
}

#[test]
fn reflections_are_refused_with_the_lane_and_its_image() {
    let w = world(2, 2).under(&"D4".parse().unwrap()).unwrap();
    let group = group(&w);
    for g in group.elements() {
        assert_eq!(w.transformed(g).is_ok(), g < 4, "{}", group.element_name(g));
    }
    let mirror = group.generators()[1];
    let error = w.transformed(mirror).unwrap_err().to_string();
    assert!(error.contains("row 2 running to growing columns"), "{error}");
    assert!(error.contains("onto row 2 running to falling columns"), "{error}");
}

#[test]
fn the_quarter_turn_needs_as_many_rows_as_columns() {
    let w = world(2, 3);
    assert_eq!(w.spec().group, "C2");
    assert!(acts(&w).is_global());
    let w = w.under(&"C4".parse().unwrap()).unwrap();
    let turn = group(&w).generators()[0];
    let error = w.transformed(turn).unwrap_err().to_string();
    assert!(error.contains("2 x 3 junctions into 3 x 2"), "{error}");
    assert!(w.transformed(2).is_ok());
    // Junctions still have images, in the turned world, all different.
    let mut images: Vec<usize> = (0..6).map(|a| w.acts.junction(turn, w.map, a)).collect();
    images.sort_unstable();
    assert_eq!(images, [0, 1, 2, 3, 4, 5]);
    // But they are not junctions of this world, so the turn is one of what a junction sees only.
    assert!(!acts(&w).is_global());
    assert!(world(2, 2).under(&"C3".parse().unwrap()).is_err());
}

#[test]
fn neighbours_are_the_orthogonal_junctions() {
    let w = world(2, 3);
    let expected = [(1, [1.0, 0.0]), (3, [0.0, 1.0]), (5, [0.0, -1.0])];
    assert_eq!(edges(&w, 4), expected.map(|(from, vector)| (from, vector.to_vec())));
    // What was heard before is forgotten.
    let mut heard = Edges::default();
    w.neighbours(4, &mut heard);
    world(1, 1).neighbours(0, &mut heard);
    assert_eq!(heard, Edges::default());
}
