//! Whole networks: turning the state turns the policies and leaves the value, and plain networks do not.

mod common;

use common::{Key, Random, Screen, State, batch, group, network, outputs, world, worlds};
use equimarl_group::{Element, Group, Plane, Rep};
use equimarl_kernels::softmax::log_softmax;
use equimarl_nn::{Network, NetworkConfig, NetworkKind, Sharing};

/// Action probabilities, one row per agent, and the team's value.
fn policy(network: &Network, state: &State, screen: Screen, plane: &Plane) -> (Vec<f32>, f32) {
    let output = outputs(network, &batch(std::slice::from_ref(state), screen, &Sharing::None, plane));
    let mut log = vec![0.0; output.logits.len()];
    log_softmax(&output.logits, network.actions(), &mut log).unwrap();
    (log.into_iter().map(f32::exp).collect(), output.values[0])
}

/// Where g moves the junctions of an n x n city.
fn junctions(plane: &Plane, g: Element, n: usize) -> Vec<usize> {
    (0..n * n).map(|i| plane.pixel(g, n, [i / n, i % n])).map(|[row, col]| row * n + col).collect()
}

/// The largest change of probabilities and value that turning `states` random states makes beyond what it should.
fn deviation(network: &Network, group: &Group, place: &str, seed: u64) -> [f64; 2] {
    let plane = Plane::new(group).unwrap();
    let (wild, interface) = (place == "wildlife", &network.config().interface);
    // What the group does to an agent's actions, also for a network that does not know it.
    let (turning, scale) = world(place, group);
    let (screen, rep) = (Screen::of(network, scale), Rep::parse(group, &turning.actions).unwrap());
    let mut random = Random::new(seed);
    let mut worst = [0.0f64; 2];
    for _ in 0..3 {
        let state = match network.is_central() {
            true => State::central(screen, interface.agents, 0.3, &mut random),
            false => State::random(screen, interface.agents, 0.3, &mut random),
        };
        let (before, value) = policy(network, &state, screen, &plane);
        for g in group.elements() {
            let to: Vec<usize> = if wild { (0..interface.agents).collect() } else { junctions(&plane, g, 2) };
            let turned = state.turned(screen, &plane, g);
            let turned = if network.is_central() { turned } else { turned.renamed(&to) };
            let (after, new_value) = policy(network, &turned, screen, &plane);
            for (i, row) in before.chunks_exact(rep.dim()).enumerate() {
                let wide: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
                let found = &after[to[i] * rep.dim()..][..rep.dim()];
                for (expected, found) in rep.apply(g, &wide).into_iter().zip(found) {
                    worst[0] = worst[0].max((expected - f64::from(*found)).abs());
                }
            }
            worst[1] = worst[1].max(f64::from(value - new_value).abs());
        }
    }
    worst
}

fn made(kind: NetworkKind, name: &str, place: &str, seed: u64) -> Network {
    let group = group(name);
    network(&NetworkConfig::usual(world(place, &group).0, kind, &group), seed)
}

/// The promise of the specification is 1e-5 in f32; probabilities are at most 1, values a few.
#[test]
fn equivariant_networks_turn_with_the_world() {
    for kind in [NetworkKind::Equivariant, NetworkKind::CentralEquivariant] {
        for (name, world) in [("C4", "wildlife"), ("D4", "wildlife"), ("C2", "wildlife"), ("C4", "traffic")]
            .into_iter()
            .chain([("D1", "wildlife"), ("D2", "traffic"), ("C2", "traffic"), ("D4", "traffic")])
        {
            let network = made(kind, name, world, 30);
            let found = deviation(&network, &group(name), world, 31);
            assert!(found.iter().all(|d| *d < 1e-5), "{kind} {world} under {name}: {found:?}");
        }
    }
}

#[test]
fn groups_of_matrices_work_as_well() {
    let name = "matrix[0 -1, 1 0]";
    for (kind, world) in
        [(NetworkKind::Equivariant, "wildlife"), (NetworkKind::CentralEquivariant, "traffic")]
    {
        let network = made(kind, name, world, 32);
        let found = deviation(&network, &group(name), world, 33);
        assert!(found.iter().all(|d| *d < 1e-5), "{kind} {world} under {name}: {found:?}");
    }
}

/// A check that finds nothing must be able to find something.
#[test]
fn plain_networks_do_not() {
    for kind in [NetworkKind::Plain, NetworkKind::CentralPlain] {
        for world in ["wildlife", "traffic"] {
            let network = made(kind, "C1", world, 34);
            let found = deviation(&network, &group("C4"), world, 35);
            assert!(found.iter().all(|d| *d > 1e-3), "{kind} {world}: {found:?}");
        }
    }
    // Nor is a network under half turns one under quarter turns.
    let network = made(NetworkKind::Equivariant, "C2", "wildlife", 36);
    assert!(deviation(&network, &group("C4"), "wildlife", 37)[0] > 1e-3);
}

/// A city that is not square has no quarter turn, but its half turn is fine for a central network.
#[test]
fn half_turns_of_a_rectangular_city() {
    let c2 = group("C2");
    let interface = worlds::traffic(1, 2, &c2);
    let [channels, height, width] = interface.team_image;
    let config = NetworkConfig::usual(interface, NetworkKind::CentralEquivariant, &c2);
    let network = network(&config, 38);
    let mut random = Random::new(39);
    let image = random.normals(channels * height * width);
    // A half turn is the pixels in reverse order, in each channel.
    let turned: Vec<f32> = image.chunks_exact(height * width).flat_map(|c| c.iter().rev().copied()).collect();
    let output = |image: &Vec<f32>| {
        let mut builder = equimarl_nn::BatchBuilder::new(Sharing::None);
        builder.state(Key::new(), |_, key| key.clone());
        builder.blind_agents(2);
        builder.end_state();
        let batch = builder.finish(image.len(), |_, to| to.copy_from_slice(image)).unwrap();
        let output = outputs(&network, &batch);
        (output.logits, output.values[0])
    };
    let ((a, value), (b, new_value)) = (output(&image), output(&turned));
    // The junctions change places, the phases stay.
    for (old, new) in [(0, 2), (1, 3), (2, 0), (3, 1)] {
        assert!((a[old] - b[new]).abs() < 1e-5, "{a:?} {b:?}");
    }
    assert!((value - new_value).abs() < 1e-5);
}
