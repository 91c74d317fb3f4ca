//! Encoding equal and turned pictures once changes nothing but the time it takes.

mod common;

use burn::tensor::Device;
use common::{Key, Random, Screen, State, batch, distance, everything, group, network, numbers, relative};
use equimarl_group::{Group, Plane};
use equimarl_nn::{Kind, Network, NetworkConfig, Setting, Sharing};
use std::collections::HashSet;

/// Kind, group, world, pixels per cell.
const CASES: [(Kind, &str, &str, usize); 9] = [
    (Kind::Equivariant, "C2", "wildlife", 3),
    (Kind::Equivariant, "C4", "wildlife", 3),
    (Kind::Equivariant, "D1", "wildlife", 3),
    (Kind::Equivariant, "D2", "wildlife", 3),
    (Kind::Equivariant, "D4", "wildlife", 3),
    (Kind::Equivariant, "C4", "traffic", 5),
    (Kind::CentralEquivariant, "C4", "wildlife", 3),
    (Kind::CentralEquivariant, "D4", "wildlife", 3),
    (Kind::CentralEquivariant, "C4", "traffic", 5),
];

fn made((kind, name, world, _): (Kind, &str, &str, usize), seed: u64) -> (Network, Group, Plane) {
    let group = group(name);
    let setting = match world {
        "wildlife" => Setting::wildlife(3, 7, &group).unwrap(),
        _ => Setting::traffic(2, 2, &group).unwrap(),
    };
    let config = NetworkConfig::paper(setting, kind, &group);
    let plane = Plane::new(&group).unwrap();
    (network(&config, seed, &Device::flex().autodiff()), group, plane)
}

/// Few pictures, again and again, turned: nearly empty ones as in the worlds (some look the same from several sides),
/// full ones, and the empty one.
fn states(screen: Screen, central: bool, agents: usize, random: &mut Random) -> Vec<State> {
    let turns = Plane::new(&group("D4")).unwrap();
    let mut pool: Vec<Key> = [0.03, 0.03, 0.06, 0.5, 0.5].map(|d| screen.random(d, random)).to_vec();
    pool.push(vec![0; pool[0].len()]);
    let pick = |random: &mut Random| {
        let key = &pool[random.below(pool.len())];
        screen.turn(&turns, random.below(8), key)
    };
    (0..16)
        .map(|_| {
            let mut state = match central {
                true => State::central(screen, agents, 0.0, random),
                false => State::random(screen, 1 + random.below(5), 0.0, random),
            };
            state.keys.iter_mut().for_each(|key| *key = pick(random));
            state
        })
        .collect()
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
        let (network, group, plane) = made(case, 40 + i as u64);
        let (screen, mut random) = (Screen::of(&network, case.3), Random::new(41 + i as u64));
        let agents = network.config().setting.agents;
        let states = states(screen, network.is_central(), agents, &mut random);
        let shared = |sharing: &Sharing| batch(&states, screen, sharing, &plane);
        let (none, distinct, orbit) =
            (shared(&Sharing::None), shared(&Sharing::Distinct), shared(&network.sharing()));

        let pictures = |b: &equimarl_nn::Batch| b.pictures.len() / screen.pixels();
        let keys: Vec<&Key> = states.iter().flat_map(|s| &s.keys).collect();
        assert_eq!(pictures(&none), keys.len());
        assert_eq!(pictures(&distinct), keys.iter().collect::<HashSet<_>>().len());
        assert_eq!(pictures(&orbit), orbits(&states, screen, &group, &plane));
        assert!(pictures(&orbit) < pictures(&distinct) && pictures(&distinct) < pictures(&none));

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
        let (network, _, plane) = made(case, 60 + i as u64);
        let (screen, mut random) = (Screen::of(&network, case.3), Random::new(61 + i as u64));
        let agents = network.config().setting.agents;
        let mut states = states(screen, network.is_central(), agents, &mut random);
        for sharing in [Sharing::None, Sharing::Distinct, network.sharing()] {
            states.reverse();
            let together = network.forward(&batch(&states, screen, &sharing, &plane));
            let (logits, values) = (numbers(together.logits), numbers(together.values));
            let (mut apart_logits, mut apart_values) = (vec![], vec![]);
            for state in &states {
                let alone = network.forward(&batch(std::slice::from_ref(state), screen, &sharing, &plane));
                apart_logits.extend(numbers(alone.logits));
                apart_values.extend(numbers(alone.values));
            }
            assert_eq!(logits, apart_logits, "{case:?}, {sharing:?}");
            assert_eq!(values, apart_values, "{case:?}, {sharing:?}");
        }
    }
}

#[test]
fn plain_networks_share_equal_pictures_only() {
    let c1 = group("C1");
    let setting = Setting::wildlife(3, 7, &c1).unwrap();
    let network = network(&NetworkConfig::paper(setting, Kind::Plain, &c1), 80, &Device::flex());
    assert_eq!(network.sharing(), Sharing::Distinct);
}
