//! The symmetry of nets is found by looking at them.

use equimarl_sumo::{City, Net, symmetry};
use std::path::Path;

fn city(name: &str) -> City {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets").join(format!("{name}.net.xml"));
    City::new(Net::read(&path).unwrap()).unwrap()
}

#[test]
fn grids_have_the_turns_that_their_shape_has_and_changed_ones_have_not() {
    for (name, group, part) in [
        ("grid-2x2", "C4", "all quarter turns"),
        ("grid-3x3", "C4", "all quarter turns"),
        ("grid-2x3", "C2", "half turns map the net to itself"),
        ("removed", "C1", "has three approaches: no turn"),
        ("extra", "C1", "have 2 and 1 lanes: no turn"),
    ] {
        let found = symmetry::turns(&city(name));
        assert_eq!((symmetry::group(&found), name), (group, name), "{}", symmetry::words(&found));
        assert!(symmetry::words(&found).contains(part), "{name}: {}", symmetry::words(&found));
    }
}

/// Turns compose: twice a quarter turn is a half turn, for junctions and roads.
#[test]
fn turns_are_a_group() {
    let city = city("grid-3x3");
    let [one, two, three] = symmetry::turns(&city).map(Result::unwrap);
    for (a, b) in [(&one.junctions, &two.junctions), (&one.edges, &two.edges)] {
        assert!((0..a.len()).all(|i| a[a[i]] == b[i]));
    }
    for (a, b) in [(&one.edges, &three.edges), (&one.junctions, &three.junctions)] {
        assert!((0..a.len()).all(|i| b[a[i]] == i));
    }
    // The corners go round counter-clockwise; rows run down from the north-west.
    assert_eq!(one.junctions, [6, 3, 0, 7, 4, 1, 8, 5, 2]);
}

#[test]
fn a_junction_has_the_phases_of_its_approaches() {
    let grid = city("grid-2x2");
    for junction in &grid.junctions {
        assert!(junction.phases.iter().all(Option::is_some));
        // netgenerate numbers links clockwise from the north, each approach from the right.
        assert_eq!(junction.phases[1].as_deref(), Some("GGgrrrGGgrrr"));
        assert_eq!(junction.phases[2].as_deref(), Some("rrrrrGrrrrrG"));
        assert_eq!(junction.phases[5].as_deref(), Some("GGGrrrrrrrrr"));
    }
    assert_eq!(grid.neighbours, [vec![1, 2], vec![0, 3], vec![0, 3], vec![1, 2]]);
    assert_eq!(grid.entries.len(), 8);
    let removed = city("removed");
    let name = |j: &equimarl_sumo::Junction| j.light.clone();
    let odd: Vec<_> = removed.junctions.iter().filter(|j| j.approaches.iter().any(Option::is_none)).collect();
    assert_eq!(odd.iter().map(|j| name(j)).collect::<Vec<_>>(), ["A1", "B1"]);
    // A1 has nothing from the east, B1 nothing from the west: no phase for both sides of that axis, nor for that side.
    for (junction, side) in odd.iter().zip([0, 2]) {
        let has: Vec<bool> = junction.phases.iter().map(Option::is_some).collect();
        let expected: Vec<bool> = (0..8).map(|p| ![0, 2, 4 + side].contains(&p)).collect();
        assert_eq!(has, expected, "{}", junction.light);
    }
}

/// No two links that cross have the right of way at the same time: where two do, one yields.
#[test]
fn phases_are_safe() {
    for name in ["grid-3x3", "removed", "extra"] {
        let city = city(name);
        for junction in &city.junctions {
            // The net numbers the links of a junction in the order of their places.
            let mut places: Vec<usize> =
                junction.approaches.iter().flatten().flat_map(|a| a.links.iter().map(|l| l.0)).collect();
            places.sort_unstable();
            let yields = &city.net.nodes[junction.node].yields;
            assert_eq!(yields.len(), places.len(), "{name} {}", junction.light);
            for state in junction.phases.iter().flatten().map(String::as_bytes) {
                for (a, row) in yields.iter().enumerate() {
                    for (b, _) in row.iter().enumerate().filter(|(_, must)| **must) {
                        let [a, b] = [a, b].map(|k| state[places[k]]);
                        assert!(!(a == b'G' && matches!(b, b'G' | b'g')), "{name} {}", junction.light);
                    }
                }
            }
        }
    }
}

#[test]
fn files_that_are_no_nets_are_refused_with_a_reason() {
    let grid =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets/grid-2x2.net.xml"))
            .unwrap();
    let dark = grid.replace(" tl=\"", " nothing=\"");
    let error = City::new(Net::parse(&dark).unwrap()).unwrap_err().to_string();
    assert!(error.contains("no traffic lights"), "{error}");
    for (text, part) in [
        ("", "it holds no XML"),
        ("<routes/>", "it is no road net"),
        (&grid[..grid.len() / 2], ""),
        (&grid.replace("fromLane=\"1\"", "fromLane=\"7\""), "names a lane that is not there"),
        (&grid.replace("length=\"", "length=\"x"), "which is no number"),
        (&grid.replace("shape=\"", "shape=\"q "), "is no point of a shape"),
    ] {
        let error = Net::parse(text).and_then(City::new).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let error = Net::read(Path::new("/nowhere.net.xml")).unwrap_err().to_string();
    assert!(error.contains("/nowhere.net.xml"), "{error}");
}
