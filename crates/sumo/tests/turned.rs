//! Symmetry in the real SUMO: turned cities, what junctions see and may do there, and audits. Without one these tests say so and
//! pass, unless `EQUIMARL_SUMO=required`.

mod common;

use common::{Temp, files, of_files, run, settings, stream, sumo, world};
use equimarl_sumo::{Declared, Options, Sumo, SumoDefinition, TripInfo, demand, symmetry};
use equimarl_worlds::{Definition, Edges, GroupAction, Settings, World};

/// At light load and without driver noise a turned city with turned demand and turned phases has the same trips.
#[test]
fn turned_cities_have_the_same_trips() {
    if sumo().is_none() {
        return;
    }
    let light = settings().with("noise", 0.0).with("flow", 200.0);
    let mut city = world(&light);
    city.reset(&mut stream(5)).unwrap();
    let found = city.city().unwrap().clone();
    let options = Options::of(&light).unwrap();
    let trips = demand::draw(&found, &options.flow, &mut stream(5));
    let choose = |step: usize, agent: usize| (step / 2 * 3 + agent * 5) % 8;
    city.begin_with(trips.clone(), 8).unwrap();
    let rewards = run(&mut city, choose);
    let first: Vec<TripInfo> = city.trips().to_vec();
    assert!(first.len() > 80, "{}", first.len());
    for (k, turn) in symmetry::turns(&found).into_iter().enumerate() {
        let turn = turn.unwrap();
        let mut back = [0; 4];
        turn.junctions.iter().enumerate().for_each(|(i, &to)| back[to] = i);
        city.begin_with(demand::turned(&trips, &turn), 8).unwrap();
        let turned = run(&mut city, |step, agent| symmetry::turned_phase(k + 1, choose(step, back[agent])));
        let same = first.iter().zip(city.trips()).filter(|(a, b)| a == b).count();
        println!("{} quarter turns: {same} of {} trips are the same", k + 1, first.len());
        assert_eq!((same, city.trips().len()), (first.len(), first.len()));
        for (a, b) in rewards.iter().zip(&turned) {
            assert!((a.reward - b.reward).abs() < 1e-9);
        }
    }
}

/// What junctions of a turned city see, may do and hear is what they saw, turned, at every decision. A green that stays for longer than
/// a decision makes masks that change.
#[test]
fn turned_cities_see_and_may_do_the_same() {
    if sumo().is_none() {
        return;
    }
    let light = settings().with("noise", 0.0).with("flow", 300.0).with("min_green", 12usize);
    let [mut one, mut two] = [world(&light), world(&light)];
    one.reset(&mut stream(5)).unwrap();
    let found = one.city().unwrap().clone();
    let acts = GroupAction::new(one.spec()).unwrap();
    assert!(acts.is_global());
    let trips = demand::draw(&found, &Options::of(&light).unwrap().flow, &mut stream(5));
    let (mut masked, mut seen) = (0, 0);
    for (k, turn) in symmetry::turns(&found).into_iter().enumerate() {
        let turn = turn.unwrap();
        let g =
            acts.group.elements().find(|&g| (0..4).all(|i| acts.agent(g, i) == turn.junctions[i])).unwrap();
        assert!((0..8).all(|a| acts.action(g, a) == symmetry::turned_phase(k + 1, a)));
        one.begin_with(trips.clone(), 8).unwrap();
        two.begin_with(demand::turned(&trips, &turn), 8).unwrap();
        for step in 0..=30 {
            for agent in 0..4 {
                let to = acts.agent(g, agent);
                let [mut here, mut there, mut expected] = [(); 3].map(|()| vec![0.0; acts.features_dim()]);
                one.observe(agent, &mut here);
                two.observe(to, &mut there);
                acts.features(g, None, &here, &mut expected);
                // Sums over vehicles may be in another order.
                let off = expected.iter().zip(&there).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(off < 1e-5, "{} quarter turns, step {step}, junction {agent}: {off}", k + 1);
                seen += usize::from(here[16..20].iter().any(|x| *x > 0.0));
                let legal = one.spec().legal.clone();
                for phase in 0..8 {
                    let may = one.legal(agent, phase);
                    assert_eq!(may, two.legal(to, acts.action(g, phase)));
                    assert_eq!(may, here[legal[phase]] == 1.0);
                    masked += usize::from(!may);
                }
                let hears = |world: &Sumo, agent: usize| {
                    let mut edges = Edges::default();
                    world.neighbours(agent, &mut edges);
                    edges.iter().map(|(j, v)| (j, v.to_vec())).collect::<Vec<_>>()
                };
                let mut turned: Vec<(usize, Vec<f32>)> = hears(&one, agent)
                    .into_iter()
                    .map(|(j, v)| {
                        let mut to = vec![0.0; v.len()];
                        acts.edge(g, &v, &mut to);
                        (acts.agent(g, j), to)
                    })
                    .collect();
                turned.sort_by_key(|edge| edge.0);
                let there = hears(&two, to);
                assert_eq!(turned.len(), 2);
                assert_eq!(there.len(), 2);
                for ((i, v), (j, w)) in turned.iter().zip(&there) {
                    assert!(i == j && v.iter().zip(w).all(|(a, b)| (a - b).abs() < 1e-6), "{v:?} {w:?}");
                }
            }
            if step == 30 {
                break;
            }
            let (mut actions, mut turned) = ([0; 4], [0; 4]);
            for agent in 0..4 {
                actions[agent] = (step / 2 * 3 + agent * 5) % 8;
                turned[acts.agent(g, agent)] = acts.action(g, actions[agent]);
            }
            let a = one.step(&actions, &mut stream(0)).unwrap();
            let b = two.step(&turned, &mut stream(0)).unwrap();
            assert!(a.end == b.end && (a.reward - b.reward).abs() < 1e-9);
        }
    }
    // There was something to see, and something that was not allowed.
    assert!(seen > 100 && masked > 1000, "{seen} {masked}");
}

/// Where there is nothing to check, or not all of it can be, an audit says so.
#[test]
fn audits_say_what_they_did_not_check() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("unchecked");
    let audit = |settings: &Settings, group: &str| {
        SumoDefinition.audit(settings, &group.parse().unwrap(), 300, 1).unwrap().unwrap()
    };
    let with_routes = audit(&of_files(&files(&install, &folder, 0.5)), "C2");
    assert!(
        with_routes.text.contains("not checked: the vehicles of ") && with_routes.holds,
        "{}",
        with_routes.text
    );
    assert!(with_routes.text.contains(": exact tier") && with_routes.report["statistical"].is_null());
    let net = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nets/removed.net.xml");
    let no_turn = audit(&settings().with("net", net), "C1");
    assert!(no_turn.text.contains("there is nothing to check"), "{}", no_turn.text);
    let refused = audit(&settings().with("net", net), "C4");
    assert!(!refused.holds && refused.text.contains("has three approaches"), "{}", refused.text);
    for found in [&with_routes, &no_turn, &refused] {
        let said = found.report["not_checked"].as_array().unwrap();
        assert_eq!(said.is_empty(), found.text.contains("has three approaches") && !found.holds);
    }
}

/// Without an approach from the east there is no phase for it. What is chosen all the same changes nothing.
#[test]
fn a_t_junction_may_not_do_what_it_has_not() {
    if sumo().is_none() {
        return;
    }
    let net = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nets/removed.net.xml");
    let mut city = world(&settings().with("net", net));
    city.reset(&mut stream(1)).unwrap();
    let junctions = city.city().unwrap().junctions.clone();
    let agent = junctions.iter().position(|j| j.light == "A1").unwrap();
    let mask = |city: &Sumo| {
        let mut seen = vec![0.0; 4 * equimarl_sumo::PER_APPROACH + 17];
        city.observe(agent, &mut seen);
        city.spec().legal.iter().map(|&k| seen[k]).collect::<Vec<f32>>()
    };
    let may: Vec<f32> = (0..8).map(|p| if [0, 2, 4].contains(&p) { 0.0 } else { 1.0 }).collect();
    assert_eq!(mask(&city), may);
    for (chosen, shown) in [(1, 1), (0, 1), (4, 1), (7, 7), (2, 7)] {
        city.step(&vec![chosen; junctions.len()], &mut stream(0)).unwrap();
        assert_eq!(city.hold(agent), shown, "{chosen}");
        assert_eq!(mask(&city), may);
    }
}

/// A green stays for `min_green` seconds at least: ten after the first choice, five after a change (three of yellow, two of red),
/// ten more with every decision.
#[test]
fn a_green_stays_as_long_as_it_has_to() {
    if sumo().is_none() {
        return;
    }
    for (seconds, waits) in [(5, [0, 0]), (6, [0, 1]), (12, [1, 1]), (16, [1, 2])] {
        let mut city = world(&settings().with("min_green", seconds as usize));
        city.reset(&mut stream(1)).unwrap();
        assert!((0..8).all(|phase| city.legal(0, phase)));
        let mut now = 0;
        city.step(&[now; 4], &mut stream(0)).unwrap();
        for (change, wait) in [waits[0], waits[1], waits[1]].into_iter().enumerate() {
            let next = [1, 4, 3][change];
            for _ in 0..wait {
                assert!((0..8).all(|phase| city.legal(0, phase) == (phase == now)), "{seconds} s");
                city.step(&[next; 4], &mut stream(0)).unwrap();
                assert_eq!(city.hold(0), now, "{seconds} s");
            }
            assert!((0..8).all(|phase| city.legal(0, phase)), "{seconds} s");
            city.step(&[next; 4], &mut stream(0)).unwrap();
            assert_eq!(city.hold(0), next, "{seconds} s");
            now = next;
        }
    }
}

/// An even city is not refuted, and what makes it uneven is: demand, and lanes inside of a junction, which nobody looks at.
#[test]
fn audits_refute_what_is_uneven_and_nothing_else() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("audit");
    let net = folder.0.join("slow.net.xml");
    Options::of(&settings()).unwrap().generate(&install, &net).unwrap();
    let text = std::fs::read_to_string(&net).unwrap();
    // All ways from the north at the junction in the south-west.
    let inside = ["<lane id=\":A0_0_", "<lane id=\":A0_1_", "<lane id=\":A0_2_"];
    let slow = text.lines().map(|line| match inside.iter().any(|id| line.contains(id)) {
        false => line.to_string(),
        true => {
            let start = line.find("speed=\"").unwrap() + 7;
            let end = start + line[start..].find('"').unwrap();
            format!("{}0.50{}", &line[..start], &line[end..])
        }
    });
    let slow = slow.collect::<Vec<_>>().join("\n");
    assert_ne!(slow, text.trim_end());
    std::fs::write(&net, slow).unwrap();
    let audit = |settings: &Settings, steps: usize, seed: u64| {
        let found = SumoDefinition.audit(settings, &"C4".parse().unwrap(), steps, seed).unwrap().unwrap();
        println!("{}", found.text);
        let refuted = found.report["statistical"]["refuted"].as_bool().unwrap();
        assert!(found.text.contains("all quarter turns"), "{}", found.text);
        assert_eq!(refuted, found.text.contains("the most uneven road"));
        (refuted, found)
    };
    for seed in 0..2 {
        let (refuted, found) = audit(&settings(), 480, seed);
        assert!(!refuted && found.holds, "{}", found.text);
        let (refuted, found) = audit(&settings().with("tilt", 0.4), 600, seed);
        assert!(refuted && !found.holds && found.text.contains("the law of the demand"), "{}", found.text);
    }
    // Thirty episodes: one slow approach of sixteen is less than uneven demand everywhere.
    let (refuted, found) = audit(&settings().with("net", net.to_str().unwrap()), 900, 0);
    assert!(refuted && !found.holds, "{}", found.text);
    assert!(found.report["elements"].as_array().unwrap().iter().all(|e| e["same_trips"] != e["trips"]));
    assert!(
        found.text.contains("the first that differs is vehicle")
            && found.text.contains("here; turned it comes in"),
        "{}",
        found.text
    );
}

/// The groups that are found for grids that netgenerate makes, at several sizes and with other lanes.
#[test]
fn generated_grids_have_the_symmetry_that_is_declared() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("grids");
    for (rows, cols, lanes, turns, group) in [
        (3, 3, 1, 1, "C4"),
        (4, 4, 1, 1, "C4"),
        (2, 3, 1, 1, "C2"),
        (2, 2, 3, 0, "C4"),
        (3, 3, 2, 1, "C4"),
        (1, 1, 1, 1, "C4"),
    ] {
        let settings = settings()
            .with("rows", rows as usize)
            .with("cols", cols as usize)
            .with("lanes", lanes as usize)
            .with("turn_lanes", turns as usize);
        let options = Options::of(&settings).unwrap();
        let path = folder.0.join(format!("{rows}{cols}{lanes}{turns}.net.xml"));
        options.generate(&install, &path).unwrap();
        let city = equimarl_sumo::City::new(equimarl_sumo::Net::read(&path).unwrap()).unwrap();
        let found = symmetry::turns(&city);
        println!("{rows} x {cols}, {lanes} + {turns} lanes: {}", symmetry::words(&found));
        assert_eq!(symmetry::group(&found), group, "{}", symmetry::words(&found));
        assert_eq!(SumoDefinition.symmetries(&settings).largest, group);
        // What was declared before there was a net is what the net has.
        let declared = Declared::new(&options, &group.parse().unwrap()).unwrap();
        declared.check(&city).unwrap();
        assert_eq!(declared.neighbours, city.neighbours);
        let moves = declared.spec.agent_moves.clone().unwrap();
        let quarter = if group == "C4" { 0 } else { 1 };
        assert_eq!(moves[0], found[quarter].as_ref().unwrap().junctions);
    }
}
