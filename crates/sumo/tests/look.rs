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
            let yields = &city.net.nodes[junction.node].yields;
            let own = city
                .net
                .links
                .iter()
                .filter(|l| l.light.as_ref().is_some_and(|(light, _)| *light == junction.light));
            let mut places = vec![usize::MAX; yields.len()];
            own.for_each(|l| places[l.request] = l.light.as_ref().unwrap().1);
            assert!(places.iter().all(|&p| p != usize::MAX), "{name} {}", junction.light);
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

/// Who drives on the left turns across others to the right.
#[test]
fn packed_nets_and_those_of_the_left_hand_are_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets/grid-2x2.net.xml");
    let grid = std::fs::read_to_string(path).unwrap();
    let hand = |value: &str| Net::parse(&grid.replacen("<net ", &format!("<net lefthand=\"{value}\" "), 1));
    assert!(hand("false").is_ok() && grid.contains("<net "));
    let error = hand("true").unwrap_err().to_string();
    assert!(error.contains("keep to the left"), "{error}");
    let packed = std::env::temp_dir().join(format!("equimarl-packed-{}.net.xml.gz", std::process::id()));
    std::fs::write(&packed, [0x1f, 0x8b, 8, 0, 255]).unwrap();
    let error = Net::read(&packed).unwrap_err().to_string();
    assert!(error.contains("gunzip") && error.contains(".net.xml.gz"), "{error}");
    std::fs::remove_file(packed).unwrap();
}

#[test]
fn files_that_are_no_nets_are_refused_with_a_reason() {
    let grid =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets/grid-2x2.net.xml"))
            .unwrap();
    let dark = grid.replace(" tl=\"", " nothing=\"");
    let error = City::new(Net::parse(&dark).unwrap()).unwrap_err().to_string();
    assert!(error.contains("no traffic lights") && error.contains("--tls.set A0,A1,B0 "), "{error}");
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

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets").join(format!("{name}.net.xml"));
    std::fs::read_to_string(path).unwrap()
}

/// A junction with pavements, cycle tracks, crossings and cars that turn back: agents see lanes for cars, and everybody gets a green
/// at some time.
#[test]
fn people_on_foot_and_bicycles_are_led_and_not_seen() {
    let city = city("walk");
    // The ends of roads have lights for those who turn back there; nobody has a choice at one.
    assert_eq!(city.junctions.len(), 1);
    let junction = &city.junctions[0];
    for approach in junction.approaches.iter().map(|a| a.as_ref().unwrap()) {
        assert_eq!(approach.lanes, [2]);
        assert!(approach.links.iter().all(|l| l.1 == 2) && approach.others.len() == 3);
    }
    assert_eq!(city.entries.len(), 4);
    assert_eq!(symmetry::group(&symmetry::turns(&city)), "C4");
    let states: Vec<&[u8]> = junction.phases.iter().flatten().map(|s| s.as_bytes()).collect();
    let ever = |place: usize| states.iter().any(|s| matches!(s[place], b'G' | b'g'));
    assert!((0..states[0].len()).all(ever), "somebody never goes");
    // In a phase for an axis, the crossings over the roads of the other axis are green.
    let crossings: Vec<usize> =
        city.net.crossings.iter().filter(|c| c.light.0 == junction.light).map(|c| c.light.1).collect();
    assert_eq!(crossings.len(), 4);
    for state in &states[..2] {
        assert_eq!(crossings.iter().filter(|&&place| state[place] == b'G').count(), 2);
    }
    for (crossing, state) in city.net.crossings.iter().flat_map(|c| states[..2].iter().map(move |s| (c, s))) {
        if crossing.light.0 != junction.light || state[crossing.light.1] != b'G' {
            continue;
        }
        for approach in junction.approaches.iter().flatten() {
            for link in approach.links.iter().filter(|l| crossing.edges.contains(&l.3)) {
                assert_ne!(state[link.0], b'G', "a car goes where people cross");
            }
            assert!(
                !crossing.edges.contains(&approach.edge) || approach.links.iter().all(|l| state[l.0] == b'r')
            );
        }
    }
}

/// Letters belong to the places that the net says, whatever the order of its links.
#[test]
fn links_are_known_by_their_places() {
    let grid = text_of("grid-2x2");
    let mirrored: Vec<String> = grid
        .lines()
        .map(|line| match line.contains("tl=\"A0\"") {
            false => line.into(),
            true => {
                let start = line.find("linkIndex=\"").unwrap() + 11;
                let end = start + line[start..].find('"').unwrap();
                let place: usize = line[start..end].parse().unwrap();
                format!("{}{}{}", &line[..start], 11 - place, &line[end..])
            }
        })
        .collect();
    let [usual, other] =
        [grid, mirrored.join("\n")].map(|text| City::new(Net::parse(&text).unwrap()).unwrap());
    for (a, b) in usual.junctions.iter().zip(&other.junctions) {
        let expected = a.phases.clone().map(|state| match a.light == "A0" {
            true => state.map(|s| s.chars().rev().collect()),
            false => state,
        });
        assert_eq!(b.phases, expected, "{}", a.light);
    }
    // It is still the same net.
    assert_eq!(symmetry::group(&symmetry::turns(&other)), "C4");
}

/// Roads beside each other, and junctions without lights: a change at one of them is seen.
#[test]
fn what_has_no_light_counts_too() {
    let text = text_of("parallel");
    let found = |text: &str| symmetry::turns(&City::new(Net::parse(text).unwrap()).unwrap());
    assert_eq!(symmetry::group(&found(&text)), "C4", "{}", symmetry::words(&found(&text)));
    let slower = |road: &str| {
        let change = |line: &str| match line.contains(&format!("<lane id=\"{road}_0\"")) {
            true => line.replace("speed=\"13.89\"", "speed=\"8.33\""),
            false => line.to_string(),
        };
        text.lines().map(change).collect::<Vec<_>>().join("\n")
    };
    for road in ["a1", "b1"] {
        let said = symmetry::words(&found(&slower(road)));
        assert!(said.contains("m/s: no turn") && said.contains(road), "{said}");
    }
    let kind =
        text.replace("<junction id=\"m2\" type=\"priority\"", "<junction id=\"m2\" type=\"allway_stop\"");
    let said = symmetry::words(&found(&kind));
    assert!(said.contains("of the kind allway_stop"), "{said}");
    let important = text.replace(
        "<edge id=\"in3\" from=\"m3\" to=\"c\" priority=\"-1\"",
        "<edge id=\"in3\" from=\"m3\" to=\"c\" priority=\"5\"",
    );
    let said = symmetry::words(&found(&important));
    assert!(said.contains("have the priorities"), "{said}");
    // At m2 nobody yields any more.
    let start = text.find("<junction id=\"m2\"").unwrap();
    let end = start + text[start..].find("</junction>").unwrap();
    let lines = text[start..end].lines().map(|line| match line.find("response=\"") {
        Some(at) => {
            let from = at + 10;
            let to = from + line[from..].find('"').unwrap();
            format!("{}{}{}", &line[..from], line[from..to].replace('1', "0"), &line[to..])
        }
        None => line.into(),
    });
    let calm = format!("{}{}{}", &text[..start], lines.collect::<Vec<_>>().join("\n"), &text[end..]);
    let said = symmetry::words(&found(&calm));
    assert!(said.contains("others have to yield"), "{said}");
}

/// A fifth approach is refused, with what to do about it.
#[test]
fn a_fifth_approach_is_refused_with_advice() {
    let grid = text_of("grid-2x2");
    let road = "<edge id=\"fifth\" from=\"A1\" to=\"A0\" priority=\"-1\"><lane id=\"fifth_0\" index=\"0\" speed=\"13.89\" length=\"90\" \
                shape=\"0.0,0.0 90.0,90.0\"/></edge>\n";
    let link = "<connection from=\"fifth\" to=\"A0B0\" fromLane=\"0\" toLane=\"0\" tl=\"A0\" linkIndex=\"12\" dir=\"s\" state=\"o\"/>\n";
    let at = |text: &str, part: &str| text.find(part).unwrap();
    let mut text = grid.replace("incLanes=\"", "incLanes=\"fifth_0 ");
    text.insert_str(at(&text, "<edge "), road);
    text.insert_str(at(&text, "<connection "), link);
    let error = Net::parse(&text).and_then(City::new).unwrap_err().to_string();
    for part in ["A0 has 5 approaches", "--tls.unset A0", "--remove-edges.explicit", "fifth"] {
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}

/// Lights that nobody drives keep their own programs, so these have to turn, too. Those of lights that agents drive do not matter.
#[test]
fn programs_of_lights_without_a_choice_count() {
    let text = text_of("walk");
    let found = |text: &str| symmetry::turns(&City::new(Net::parse(text).unwrap()).unwrap());
    // In the program of one light.
    let change = |light: &str, from: &str, to: &str| {
        let start = text.find(&format!("<tlLogic id=\"{light}\"")).unwrap();
        let end = start + text[start..].find("</tlLogic>").unwrap();
        let changed = text[start..end].replacen(from, to, 1);
        assert_ne!(changed, text[start..end]);
        format!("{}{changed}{}", &text[..start], &text[end..])
    };
    let changes = [
        ("duration=\"82\"", "duration=\"62\""),
        ("offset=\"0\"", "offset=\"20\""),
        ("offset=\"0\"", "offset=\"begin\""),
        ("state=\"y\"", "state=\"r\""),
        ("state=\"G\"", "state=\"G\" maxDur=\"90\""),
        ("type=\"static\"", "type=\"actuated\""),
        ("<phase duration=\"5\"  state=\"r\"/>", ""),
    ];
    for (from, to) in changes {
        let turns = found(&change("left0", from, to));
        let said = symmetry::words(&turns);
        assert_eq!(symmetry::group(&turns), "C1", "{to}: {said}");
        assert!(said.contains("keeps its own program") && said.contains("left0"), "{to}: {said}");
    }
    // Late by a whole cycle is not late.
    assert_eq!(symmetry::group(&found(&change("left0", "offset=\"0\"", "offset=\"90\""))), "C4");
    // Two opposite ones: half turns are left.
    let both = change("left0", "duration=\"82\"", "duration=\"62\"");
    let right = both.find("<tlLogic id=\"right0\"").unwrap();
    let both =
        format!("{}{}", &both[..right], both[right..].replacen("duration=\"82\"", "duration=\"62\"", 1));
    assert_eq!(symmetry::group(&found(&both)), "C2");
    for (from, to) in [("offset=\"0\"", "offset=\"20\""), ("duration=\"37\"", "duration=\"77\"")] {
        assert_eq!(symmetry::group(&found(&change("A0", from, to))), "C4");
    }
}

#[test]
fn lanes_that_cannot_be_driven_are_refused_in_a_line() {
    let grid = text_of("grid-2x2");
    for (from, to, part) in [
        ("speed=\"13.89\"", "speed=\"0\"", "is 0 m/s; it has to be more than 0"),
        ("speed=\"13.89\"", "speed=\"nan\"", "is NaN"),
        ("speed=\"13.89\"", "speed=\"-1\"", "is -1 m/s"),
        ("length=\"", "length=\"-", "it has to be more than 0"),
        ("x=\"", "x=\"inf\" q=\"", "is inf"),
    ] {
        let error = Net::parse(&grid.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}
