//! The eight networks by name: their sizes.

mod common;

use common::{Random, Screen, State, batch, everything, group, network, worlds};
use equimarl_group::{Group, Plane};
use equimarl_nn::{Interface, Network, NetworkConfig, NetworkKind, Sharing};

fn wildlife(drones: usize, group: &Group) -> Interface {
    worlds::wildlife(drones, 7, group)
}

fn traffic(group: &Group) -> Interface {
    worlds::traffic(2, 2, group)
}

#[test]
fn parameter_counts_are_those_of_the_specification() {
    use NetworkKind::*;
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
        let interface = if world == "wildlife" { wildlife(agents, &group) } else { traffic(&group) };
        let config = NetworkConfig::usual(interface, kind, &group);
        let mut random = Random::new(20);
        let network = Network::init(&config, &mut || random.normal()).unwrap();
        assert_eq!(network.values().len(), count, "{kind} {world} {agents} under {name}");
        let listed: usize = network.parameters().iter().map(|(_, values)| values.len()).sum();
        assert_eq!(listed, count, "what is listed is what is counted");
    }
}

/// The trivial group makes the plain network: as many numbers, in the same order, and the same bits out and back.
#[test]
fn without_symmetry_the_equivariant_network_is_the_plain_one() {
    let c1 = group("C1");
    let plane = Plane::new(&c1).unwrap();
    for (interface, scale) in [(wildlife(3, &c1), 3), (traffic(&c1), 5)] {
        let plain = network(&NetworkConfig::usual(interface.clone(), NetworkKind::Plain, &c1), 21);
        let mut trivial = network(&NetworkConfig::usual(interface, NetworkKind::Equivariant, &c1), 22);
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
    let mut config = NetworkConfig::usual(wildlife(2, &d4), NetworkKind::Equivariant, &d4);
    config.widths.convolutions = [3, 9];
    config.widths.rounds = vec![20, 6, 3];
    let network = Network::init(&config, &mut || 0.1).unwrap();
    let outputs: Vec<String> =
        network.layers().map(|(name, space)| format!("{name} {}", space.output())).collect();
    let expected =
        ["conv1 regular", "conv2 3*regular", "round1 7*regular", "round2 2*regular", "round3 regular"];
    assert_eq!(outputs[..5], expected);
}
