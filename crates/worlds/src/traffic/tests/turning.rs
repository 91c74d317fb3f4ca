//! The world is exactly symmetric, and says so when it is not.

use super::*;
use crate::world::{Edge, Symmetric};

/// One step from here and from every turned copy; compares all that the definition of symmetry names.
fn check_step(w: &Traffic, actions: &[usize]) -> Traffic {
    let mut next = w.clone();
    let outcome = next.step(actions, &());
    let mut turned_actions = vec![0; actions.len()];
    let (mut edges, mut turned_edges) = (Vec::new(), Vec::new());
    for g in w.symmetry().group.elements() {
        for (agent, &action) in actions.iter().enumerate() {
            turned_actions[w.turn_agent(g, agent)] = w.turn_action(g, action);
        }
        let mut turned = w.turned(g).unwrap();
        assert_eq!(turned.step(&turned_actions, &()), outcome);
        assert!(turned == next.turned(g).unwrap());
        for agent in 0..w.agents() {
            let image = w.turn_agent(g, agent);
            assert_eq!(turned.observation_key(image), w.turn_key(g, &next.observation_key(agent)));
            w.neighbours(agent, &mut edges);
            for edge in &mut edges {
                let [dr, dc] = edge.vector.map(|x| x as i32);
                *edge = Edge {
                    from: w.turn_agent(g, edge.from),
                    vector: w.symmetry().plane.vector(g, [dr, dc]).map(|x| x as f32),
                };
            }
            edges.sort_by_key(|edge| edge.from);
            turned.neighbours(image, &mut turned_edges);
            assert_eq!(edges, turned_edges);
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
            w.reset(&mut stream);
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
    w.reset(&mut stream);
    run(&mut w, &[0, 1, 0, 1, 0, 1, 0, 1, 0], 50);
    let group = w.symmetry().group.clone();
    for g in group.elements() {
        for h in group.elements() {
            let once = w.turned(group.mul(g, h)).unwrap();
            assert!(w.turned(h).unwrap().turned(g).unwrap() == once);
        }
    }
    // The quarter turn takes the corner junction 0 to the bottom left and swaps the phases.
    let turn = group.generators()[0];
    assert_eq!(w.turn_agent(turn, 0), 6);
    assert_eq!(w.turn_agent(turn, 1), 3);
    assert_eq!([0, 1].map(|a| w.turn_action(turn, a)), [1, 0]);
}

#[test]
fn a_turned_vehicle_is_where_the_picture_says() {
    let mut w = world(2, 2);
    w.set_vehicles(&[vehicle(2, 0, 0, 1, 5, true)]).unwrap();
    let turn = w.symmetry().group.generators()[0];
    // (dr, dc) -> (-dc, dr), cell (i, j) -> (14 - j, i)
    let turned = w.turned(turn).unwrap();
    assert_eq!(turned.vehicles(), [vehicle(14, 2, -1, 0, 5, true)]);
}

#[test]
fn reflections_are_refused_with_the_lane_and_its_image() {
    let w = world(2, 2).under(&"D4".parse().unwrap()).unwrap();
    let group = w.symmetry().group.clone();
    for g in group.elements() {
        assert_eq!(w.turned(g).is_ok(), g < 4, "{}", group.element_name(g));
    }
    let mirror = group.generators()[1];
    let error = w.turned(mirror).unwrap_err().to_string();
    assert!(error.contains("row 2 running to growing columns"), "{error}");
    assert!(error.contains("onto row 2 running to falling columns"), "{error}");
}

#[test]
fn the_quarter_turn_needs_as_many_rows_as_columns() {
    let w = world(2, 3);
    assert_eq!(w.symmetry().group.name(), "C2");
    let w = w.under(&"C4".parse().unwrap()).unwrap();
    let turn = w.symmetry().group.generators()[0];
    let error = w.turned(turn).unwrap_err().to_string();
    assert!(error.contains("2 x 3 junctions into 3 x 2"), "{error}");
    assert!(w.turned(2).is_ok());
    // Junctions still have images, in the turned world, all different.
    let mut images: Vec<usize> = (0..6).map(|a| w.turn_agent(turn, a)).collect();
    images.sort_unstable();
    assert_eq!(images, [0, 1, 2, 3, 4, 5]);
    assert!(world(2, 2).under(&"C3".parse().unwrap()).is_err());
}

#[test]
fn neighbours_are_the_orthogonal_junctions() {
    let w = world(2, 3);
    let mut edges = Vec::new();
    w.neighbours(4, &mut edges);
    let found: Vec<_> = edges.iter().map(|e| (e.from, e.vector)).collect();
    assert_eq!(found, [(1, [1.0, 0.0]), (3, [0.0, 1.0]), (5, [0.0, -1.0])]);
    world(1, 1).neighbours(0, &mut edges);
    assert!(edges.is_empty());
}
