//! Encoding equal and turned images once changes nothing but the time it takes.

mod common;

use common::{
    Key, Random, Screen, State, batch, distance, everything, familiar, group, network, outputs, relative,
    world, worlds,
};
use equimarl_group::{Group, Plane};
use equimarl_nn::{Batch, Network, NetworkConfig, NetworkKind, Output, Sharing};
use std::collections::HashSet;

/// NetworkKind, group, world.
const CASES: [(NetworkKind, &str, &str); 9] = [
    (NetworkKind::Equivariant, "C2", "wildlife"),
    (NetworkKind::Equivariant, "C4", "wildlife"),
    (NetworkKind::Equivariant, "D1", "wildlife"),
    (NetworkKind::Equivariant, "D2", "wildlife"),
    (NetworkKind::Equivariant, "D4", "wildlife"),
    (NetworkKind::Equivariant, "C4", "traffic"),
    (NetworkKind::CentralEquivariant, "C4", "wildlife"),
    (NetworkKind::CentralEquivariant, "D4", "wildlife"),
    (NetworkKind::CentralEquivariant, "C4", "traffic"),
];

fn made((kind, name, place): (NetworkKind, &str, &str), seed: u64) -> (Network, Group, Plane, Screen) {
    let group = group(name);
    let (interface, scale) = world(place, &group);
    let network = network(&NetworkConfig::usual(interface, kind, &group), seed);
    let (plane, screen) = (Plane::new(&group).unwrap(), Screen::of(&network, scale));
    (network, group, plane, screen)
}

fn orbits(states: &[State], screen: Screen, group: &Group, plane: &Plane) -> usize {
    let keys = states.iter().flat_map(|s| &s.keys);
    let smallest = keys.map(|k| group.elements().map(|g| screen.turn(plane, g, k)).min().unwrap());
    smallest.collect::<HashSet<Key>>().len()
}

/// The promise is 1e-5 for results and gradients alike; the gradient's 1e-4 is relative to its length, for each
/// parameter on its own.
#[test]
fn all_ways_of_sharing_agree() {
    for (i, case) in CASES.into_iter().enumerate() {
        let (network, group, plane, screen) = made(case, 40 + i as u64);
        let mut random = Random::new(41 + i as u64);
        let agents = network.config().interface.agents;
        let states = familiar(screen, network.is_central(), agents, &mut random);
        let shared = |sharing: &Sharing| batch(&states, screen, sharing, &plane);
        let (none, distinct, orbit) =
            (shared(&Sharing::None), shared(&Sharing::Distinct), shared(&network.sharing()));

        let images = |b: &Batch| {
            let pixels = b.images.pixels().unwrap();
            pixels.len() / screen.pixels()
        };
        let keys: Vec<&Key> = states.iter().flat_map(|s| &s.keys).collect();
        assert_eq!(images(&none), keys.len());
        assert_eq!(images(&distinct), keys.iter().collect::<HashSet<_>>().len());
        assert_eq!(images(&orbit), orbits(&states, screen, &group, &plane));
        assert!(images(&orbit) < images(&distinct) && images(&distinct) < images(&none));

        let plain = everything(&network, &none, 42);
        for (how, batch) in [("distinct", distinct), ("orbits", orbit)] {
            let found = everything(&network, &batch, 42);
            assert!(distance(&found.0, &plain.0) < 1e-5, "{case:?}, {how}: logits");
            assert!(distance(&found.1, &plain.1) < 1e-5, "{case:?}, {how}: values");
            for ((name, _), (a, b)) in network.parameters().iter().zip(found.2.iter().zip(&plain.2)) {
                assert!(relative(a, b) < 1e-4, "{case:?}, {how}, {name}: {:e}", relative(a, b));
            }
        }
    }
}

/// To the bit: what other states are in the batch, and in which order, does not matter.
#[test]
fn a_state_has_the_same_bits_in_any_company() {
    for (i, case) in CASES.into_iter().enumerate() {
        let (network, _, plane, screen) = made(case, 60 + i as u64);
        let mut random = Random::new(61 + i as u64);
        let agents = network.config().interface.agents;
        let mut states = familiar(screen, network.is_central(), agents, &mut random);
        for sharing in [Sharing::None, Sharing::Distinct, network.sharing()] {
            states.reverse();
            let together = outputs(&network, &batch(&states, screen, &sharing, &plane));
            let mut apart = Output::default();
            for state in &states {
                let alone = batch(std::slice::from_ref(state), screen, &sharing, &plane);
                let alone = outputs(&network, &alone);
                apart.logits.extend(alone.logits);
                apart.values.extend(alone.values);
            }
            assert_eq!(together, apart, "{case:?}, {sharing:?}");
        }
    }
}

#[test]
fn plain_networks_share_equal_pictures_only() {
    let c1 = group("C1");
    let interface = worlds::wildlife(3, 7, &c1);
    let network = network(&NetworkConfig::usual(interface, NetworkKind::Plain, &c1), 80);
    assert_eq!(network.sharing(), Sharing::Distinct);
}
