//! Albums: batches collated from numbers say what batches built from keys say.

mod common;

use common::{Key, Random, Screen, State, batch, everything, familiar, group, network, outputs, world};
use equimarl_group::{Element, Plane};
use equimarl_nn::{Album, Batch, Network, NetworkConfig, NetworkKind, Observation, Sharing};

fn made(kind: NetworkKind, name: &str, place: &str, seed: u64) -> (Network, Screen, Plane) {
    let group = group(name);
    let (interface, scale) = world(place, &group);
    let network = network(&NetworkConfig::usual(interface, kind, &group), seed);
    let (screen, plane) = (Screen::of(&network, scale), Plane::new(&group).unwrap());
    (network, screen, plane)
}

/// What all rows of some states see.
fn looked(album: &mut Album<Key>, states: &[State], screen: Screen, plane: &Plane) -> Vec<Vec<Observation>> {
    let turn = |g: Element, key: &Key| screen.turn(plane, g, key);
    states.iter().map(|state| state.keys.iter().map(|key| album.look(key, turn)).collect()).collect()
}

/// Fills a batch with states by number.
fn collate(
    album: &mut Album<Key>,
    states: &[State],
    seen: &[Vec<Observation>],
    screen: Screen,
    batch: &mut Batch,
) {
    batch.clear();
    fill(album, states, seen, screen, batch);
}

fn fill(
    album: &mut Album<Key>,
    states: &[State],
    seen: &[Vec<Observation>],
    screen: Screen,
    batch: &mut Batch,
) {
    batch.group = match album.sharing() {
        Sharing::Orbits(group) => Some(group.clone()),
        _ => None,
    };
    for (state, seen) in states.iter().zip(seen) {
        let first = batch.agents();
        for &seen in seen {
            album.add(seen, batch, |key, image| screen.render(key, image)).unwrap();
        }
        for agent in 0..if state.blind > 0 { state.blind } else { state.keys.len() } {
            for &(_, from, vector) in state.edges.iter().filter(|e| e.0 == agent) {
                batch.graph.hear((first + from) as u32);
                batch.edges.extend(vector);
            }
            batch.graph.end_agent();
        }
        batch.end_state();
    }
}

fn parts(batch: &Batch) -> impl PartialEq + std::fmt::Debug + use<> {
    let pixels = batch.images.pixels().map(<[f32]>::to_vec);
    let rows = (batch.ids.clone(), batch.elements.clone(), batch.group.clone());
    (pixels, rows, batch.graph.clone(), batch.edges.clone(), batch.starts.clone())
}

/// One album and one batch, filled again and again: in the first filling images are new, later all are known, and
/// after `clear` they are new again. The parts of the batch are those of the builder, so results have the same bits.
#[test]
fn collated_batches_are_built_batches() {
    for (i, (kind, name, place)) in [
        (NetworkKind::Equivariant, "C4", "wildlife"),
        (NetworkKind::Equivariant, "D4", "traffic"),
        (NetworkKind::Plain, "C1", "wildlife"),
        (NetworkKind::CentralEquivariant, "C4", "traffic"),
    ]
    .into_iter()
    .enumerate()
    {
        let (network, screen, plane) = made(kind, name, place, 200 + i as u64);
        let agents = network.config().interface.agents;
        for sharing in [Sharing::None, Sharing::Distinct, network.sharing()] {
            let mut random = Random::new(210 + i as u64);
            let (mut album, mut filled) = (Album::new(sharing.clone(), screen.pixels()), Batch::default());
            let first = familiar(screen, kind.is_central(), agents, &mut random);
            let other = familiar(screen, kind.is_central(), agents, &mut random);
            for (round, states) in [&first, &other, &first, &first].into_iter().enumerate() {
                if round == 3 {
                    album.clear();
                }
                let seen = looked(&mut album, states, screen, &plane);
                collate(&mut album, states, &seen, screen, &mut filled);
                let what = format!("{kind} {place} under {name}, {sharing:?}, filling {round}");
                let built = batch(states, screen, &sharing, &plane);
                assert!(everything(&network, &filled, 7) == everything(&network, &built, 7), "{what}");
                assert_eq!(parts(&filled), parts(&built), "{what}");
            }
        }
    }
}

/// What images are made of says what their pixels say, to rounding: outputs and gradients, also of a batch that keeps its
/// images from one filling to the next.
#[test]
fn a_dictionary_says_what_pixels_say() {
    for (i, (kind, name, place)) in [
        (NetworkKind::Plain, "C1", "wildlife"),
        (NetworkKind::Equivariant, "C2", "wildlife"),
        (NetworkKind::Equivariant, "C4", "wildlife"),
        (NetworkKind::Equivariant, "D4", "wildlife"),
        (NetworkKind::Plain, "C1", "traffic"),
        (NetworkKind::Equivariant, "C4", "traffic"),
    ]
    .into_iter()
    .enumerate()
    {
        let (network, screen, plane) = made(kind, name, place, 240 + i as u64);
        let plan = network.dictionary().unwrap();
        let mut random = Random::new(250 + i as u64);
        for sharing in [Sharing::Distinct, network.sharing()] {
            let mut album = Album::new(sharing.clone(), screen.pixels()).with_dictionary(plan);
            for keep in [false, true] {
                let mut filled = Batch::default();
                filled.clear();
                for round in 0..3 {
                    let states = familiar(screen, false, 3, &mut random);
                    let seen = looked(&mut album, &states, screen, &plane);
                    if keep {
                        filled.next()
                    } else {
                        filled.clear()
                    }
                    fill(&mut album, &states, &seen, screen, &mut filled);
                    assert!(filled.images.pixels().is_none());
                    let built = batch(&states, screen, &sharing, &plane);
                    let (found, expected) =
                        (everything(&network, &filled, 7), everything(&network, &built, 7));
                    let what = format!("{kind} {place} under {name}, {sharing:?}, filling {round}");
                    for (a, b) in [(&found.0, &expected.0), (&found.1, &expected.1)] {
                        assert!(common::relative(a, b) < 1e-5, "{what}: {}", common::relative(a, b));
                    }
                    for (a, b) in found.2.iter().zip(&expected.2) {
                        assert!(common::relative(a, b) < 1e-5, "{what}: {}", common::relative(a, b));
                    }
                }
            }
        }
    }
}

/// Two batches that are filled in turns do not mix up their places.
#[test]
fn an_album_serves_several_batches_at_once() {
    let (network, screen, plane) = made(NetworkKind::Equivariant, "C4", "wildlife", 220);
    let states = familiar(screen, false, 3, &mut Random::new(221));
    let mut album = Album::new(network.sharing(), screen.pixels());
    let seen = looked(&mut album, &states, screen, &plane);
    let mut both = [Batch::default(), Batch::default()];
    both.iter_mut().for_each(Batch::clear);
    for (row, &seen) in seen.iter().flatten().enumerate() {
        let batch = &mut both[row % 2];
        album.add(seen, batch, |key, image| screen.render(key, image)).unwrap();
        batch.graph.end_agent();
        batch.end_state();
    }
    let keys: Vec<&Key> = states.iter().flat_map(|state| &state.keys).collect();
    for (b, filled) in both.iter().enumerate() {
        let alone: Vec<State> = keys.iter().skip(b).step_by(2).map(|key| lone(key)).collect();
        let built = batch(&alone, screen, &network.sharing(), &plane);
        assert_eq!(outputs(&network, filled), outputs(&network, &built));
    }
}

fn lone(key: &Key) -> State {
    State { keys: vec![key.clone()], ..State::default() }
}

/// Turning what was seen is seeing the turned image. An image that looks the same from several sides has several
/// elements, so features and not numbers are compared; for all others the numbers are equal as well.
#[test]
fn a_turned_row_is_a_look_at_the_turned_key() {
    for name in ["C2", "C4", "D4"] {
        let (network, screen, plane) = made(NetworkKind::Equivariant, name, "wildlife", 230);
        let group = group(name);
        let turn = |g: Element, key: &Key| screen.turn(&plane, g, key);
        let states = familiar(screen, false, 3, &mut Random::new(231));
        for sharing in [Sharing::Distinct, Sharing::Orbits(group.clone())] {
            let mut album = Album::new(sharing, screen.pixels());
            let (mut turned, mut looked, mut equal) = (vec![], vec![], 0);
            for key in states.iter().flat_map(|state| &state.keys) {
                let seen = album.look(key, turn);
                for g in group.elements() {
                    let found = album.turned(seen, g, turn);
                    let there = turn(g, key);
                    let direct = album.look(&there, turn);
                    assert_eq!(found.image, direct.image);
                    let sides = group.elements().filter(|&h| turn(h, key) == *key).count();
                    assert!(sides > 1 || found == direct, "{name}, element {g}");
                    equal += usize::from(sides == 1);
                    turned.push((found, there.clone()));
                    looked.push((direct, there));
                }
            }
            assert!(equal > 10, "{name}: most images have no symmetry of their own");
            let mut said = |rows: &[(Observation, Key)]| {
                let states: Vec<State> = rows.iter().map(|row| lone(&row.1)).collect();
                let seen: Vec<Vec<Observation>> = rows.iter().map(|row| vec![row.0]).collect();
                let mut batch = Batch::default();
                collate(&mut album, &states, &seen, screen, &mut batch);
                outputs(&network, &batch)
            };
            let (a, b) = (said(&turned), said(&looked));
            assert!(common::distance(&a.logits, &b.logits) < 1e-5, "{name}");
            assert!(common::distance(&a.values, &b.values) < 1e-5, "{name}");
            // And both are what one sees without any album.
            let states: Vec<State> = turned.iter().map(|row| lone(&row.1)).collect();
            let plain = outputs(&network, &batch(&states, screen, &Sharing::None, &plane));
            assert!(common::distance(&a.logits, &plain.logits) < 1e-5, "{name}");
            assert!(common::distance(&a.values, &plain.values) < 1e-5, "{name}");
        }
    }
}

/// An album that is full still works; cleared, it counts from the beginning.
#[test]
fn albums_fill_up() {
    let mut album: Album<u32> = Album::new(Sharing::Distinct, 1);
    let mut key = 0;
    while !album.is_full() {
        assert_eq!(album.look(&key, |_, key| *key), Observation { image: key, element: 0 });
        key += 1;
    }
    assert!(key > 1000);
    album.clear();
    assert!(!album.is_full());
    assert_eq!(album.look(&key, |_, key| *key).image, 0);
}
