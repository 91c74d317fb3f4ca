//! The eight networks by name: their sizes, and the representations of their worlds.

mod common;

use common::{Random, Screen, State, batch, everything, group, network};
use equimarl_group::{Group, Plane, Rep};
use equimarl_nn::{Kind, Network, NetworkConfig, Setting, Sharing};

fn wildlife(drones: usize, group: &Group) -> Setting {
    Setting::wildlife(drones, 7, group).unwrap()
}

fn traffic(group: &Group) -> Setting {
    Setting::traffic(2, 2, group).unwrap()
}

#[test]
fn parameter_counts_are_those_of_the_specification() {
    use Kind::*;
    let cases = [
        (Plain, "C1", "wildlife", 3, 26_694),
        (Plain, "C1", "traffic", 4, 28_067),
        (Equivariant, "C4", "wildlife", 3, 25_891),
        (Equivariant, "C4", "wildlife", 4, 25_891),
        (Equivariant, "C4", "traffic", 4, 26_578),
        (Equivariant, "C2", "wildlife", 3, 25_276),
        (Equivariant, "C2", "traffic", 4, 26_218),
        (Equivariant, "D4", "wildlife", 3, 23_144),
        (Equivariant, "C1", "wildlife", 3, 26_694),
        (Equivariant, "C1", "traffic", 4, 28_067),
        (CentralPlain, "C1", "wildlife", 3, 27_760),
        (CentralPlain, "C1", "wildlife", 4, 29_829),
        (CentralPlain, "C1", "traffic", 4, 25_961),
        (CentralEquivariant, "C4", "wildlife", 3, 26_903),
        (CentralEquivariant, "C4", "wildlife", 4, 27_457),
        (CentralEquivariant, "C4", "traffic", 4, 26_675),
    ];
    for (kind, name, world, agents, count) in cases {
        let group = group(name);
        let setting = if world == "wildlife" { wildlife(agents, &group) } else { traffic(&group) };
        let config = NetworkConfig::paper(setting, kind, &group);
        let mut random = Random::new(20);
        let network = Network::init(&config, &mut || random.normal()).unwrap();
        assert_eq!(network.values().len(), count, "{kind} {world} {agents} under {name}");
        let listed: usize = network.parameters().iter().map(|(_, values)| values.len()).sum();
        assert_eq!(listed, count, "what is listed is what is counted");
    }
}

/// The actions are derived from the plane; the specification writes them down.
#[test]
fn actions_turn_as_the_specification_says() {
    let (c2, c4, d4) = (group("C2"), group("C4"), group("D4"));
    assert_eq!(wildlife(3, &c4).actions, "perm[0 4 1 2 3]");
    assert_eq!(wildlife(3, &c2).actions, "perm[0 3 4 1 2]");
    assert_eq!(wildlife(3, &d4).actions, "perm[0 4 1 2 3; 0 1 4 3 2]"); // the mirror swaps 2 and 4
    assert_eq!(wildlife(3, &d4).central_heads, vec![wildlife(3, &d4).actions; 3]);
    assert_eq!(traffic(&c4).actions, "perm[1 0]");
    assert_eq!(traffic(&c2).actions, "2*trivial");
    assert_eq!(traffic(&d4).actions, "perm[1 0; 0 1]");
    assert_eq!(traffic(&group("C1")).actions, "2*trivial");
}

/// For 2 x 2 and the quarter turn old index k goes to [5,4,1,0,7,6,3,2][k].
#[test]
fn the_central_traffic_head_moves_junctions_and_phases() {
    let c4 = group("C4");
    let heads = traffic(&c4).central_heads;
    let head = Rep::parse(&c4, &heads[0]).unwrap();
    let goes_to = [5, 4, 1, 0, 7, 6, 3, 2];
    for (k, to) in goes_to.into_iter().enumerate() {
        let mut old = [0.0; 8];
        old[k] = 1.0;
        let new = head.apply(c4.generators()[0], &old);
        assert_eq!(new.iter().position(|v| *v == 1.0), Some(to), "index {k}");
    }
    assert_eq!(heads, ["perm[3 2 7 6 1 0 5 4]"]); // the same as a gather
}

#[test]
fn pictures_have_the_sizes_of_their_worlds() {
    let c4 = group("C4");
    assert_eq!(wildlife(4, &c4).picture, [1, 21, 21]);
    assert_eq!(wildlife(4, &c4).central_picture, [4, 21, 21]);
    assert_eq!(traffic(&c4).picture, [3, 35, 35]);
    assert_eq!(traffic(&c4).central_picture, [3, 75, 75]);
    assert_eq!(Setting::traffic(1, 3, &group("C2")).unwrap().central_picture, [3, 35, 115]);
}

/// The trivial group makes the plain network: as many numbers, in the same order, and the same bits out and back.
#[test]
fn without_symmetry_the_equivariant_network_is_the_plain_one() {
    let c1 = group("C1");
    let plane = Plane::new(&c1).unwrap();
    for (setting, scale) in [(wildlife(3, &c1), 3), (traffic(&c1), 5)] {
        let plain = network(&NetworkConfig::paper(setting.clone(), Kind::Plain, &c1), 21);
        let mut trivial = network(&NetworkConfig::paper(setting, Kind::Equivariant, &c1), 22);
        let values: Vec<Vec<f32>> = plain.parameters().into_iter().map(|p| p.1).collect();
        trivial.set_parameters(values).unwrap();
        assert_eq!(trivial.parameters(), plain.parameters());
        assert_eq!(trivial.dense().unwrap().tensors, plain.dense().unwrap().tensors);

        let (screen, mut random) = (Screen::of(&plain, scale), Random::new(23));
        let states: Vec<State> = (2..6).map(|n| State::random(screen, n, 0.3, &mut random)).collect();
        let batch = batch(&states, screen, &Sharing::None, &plane);
        assert_eq!(everything(&plain, &batch, 24), everything(&trivial, &batch, 24));
    }
}

/// Any widths: floor(n / sqrt |G|) group channels for n plain ones.
#[test]
fn widths_are_divided_by_the_root_of_the_order() {
    let d4 = group("D4");
    let mut config = NetworkConfig::paper(wildlife(2, &d4), Kind::Equivariant, &d4);
    config.widths.convolutions = [3, 9];
    config.widths.rounds = vec![20, 6, 3];
    let network = Network::init(&config, &mut || 0.1).unwrap();
    let outputs: Vec<String> =
        network.layers().map(|(name, space)| format!("{name} {}", space.output())).collect();
    let expected =
        ["conv1 regular", "conv2 3*regular", "round1 7*regular", "round2 2*regular", "round3 regular"];
    assert_eq!(outputs[..5], expected);
}
