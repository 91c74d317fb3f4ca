//! Networks for worlds that are not quite symmetric: relaxed weights, and networks that are told why.

mod common;

use common::{Random, Screen, State, batch, group, network, outputs, world};
use equimarl_group::{Group, Plane, Rep};
use equimarl_nn::{Network, NetworkConfig, NetworkKind, Scratch, Sharing};
use serde_json::json;

fn config(kind: NetworkKind, name: &str, place: &str) -> (NetworkConfig, usize) {
    let (interface, scale) = world(place, &group(name));
    (NetworkConfig::usual(interface, kind, &group(name)), scale)
}

/// A team's state, turned by g with everything in it; the wind turns or stays.
fn turned(state: &State, screen: Screen, group: &Group, g: usize, cause: bool) -> State {
    let plane = Plane::new(group).unwrap();
    let turn = |[a, b]: [f32; 2]| {
        let m = plane.matrix(g).map(|row| row.map(|v| v as f32));
        [m[0][0] * a + m[0][1] * b, m[1][0] * a + m[1][1] * b]
    };
    State {
        keys: state.keys.iter().map(|key| screen.turn(&plane, g, key)).collect(),
        edges: state.edges.iter().map(|&(i, j, v)| (i, j, turn(v))).collect(),
        blind: 0,
        cause: match (&state.cause[..], cause) {
            (&[a, b], true) => turn([a, b]).to_vec(),
            (other, _) => other.to_vec(),
        },
    }
}

/// The largest difference between logits of the turned state and turned logits, over all elements; and how far logits are apart.
fn errors(network: &Network, scale: usize, told: bool, cause: bool) -> (f32, f32) {
    let config = network.config();
    let group: Group = config.group.parse().unwrap();
    let (screen, mut random) = (Screen::of(network, scale), Random::new(5));
    let mut state = State::random(screen, 3, 0.3, &mut random);
    state.cause = if told { vec![0.0, 0.8] } else { vec![] };
    let plane = Plane::new(&group).unwrap();
    let actions = Rep::parse(&group, &config.interface.actions).unwrap();
    let say = |state: &State| {
        outputs(network, &batch(std::slice::from_ref(state), screen, &Sharing::None, &plane)).logits
    };
    let here = say(&state);
    let spread = here.iter().fold(0.0f32, |m, l| m.max(l.abs()));
    let mut worst = 0.0f32;
    for g in group.elements() {
        let there = say(&turned(&state, screen, &group, g, cause));
        let moves = actions.matrix(g);
        for (found, logits) in there.chunks(5).zip(here.chunks(5)) {
            for (to, found) in found.iter().enumerate() {
                let expected: f64 = (0..5).map(|from| moves[(to, from)] * f64::from(logits[from])).sum();
                worst = worst.max((f64::from(*found) - expected).abs() as f32);
            }
        }
    }
    (worst, spread)
}

#[test]
fn what_is_told_turns_along_exactly_and_breaks_when_it_stays() {
    for name in ["C4", "D4"] {
        let (config, scale) = config(NetworkKind::Equivariant, name, "wind");
        let network = network(&config, 3);
        let (joint, spread) = errors(&network, scale, true, true);
        assert!(spread > 0.3, "a team that does not care would pass anything: {spread}");
        assert!(joint < 1e-5 * spread.max(1.0), "{name}: {joint}");
        let (fixed, _) = errors(&network, scale, true, false);
        assert!(fixed > 0.05, "{name}: {fixed}");
    }
}

#[test]
fn relaxed_weights_start_as_the_exact_ones_and_leave_the_symmetry_with_the_rest() {
    for place in ["wildlife", "traffic"] {
        let (exact, scale) = config(NetworkKind::Equivariant, "C4", place);
        let relaxed = NetworkConfig { kind: NetworkKind::Relaxed, ..exact.clone() };
        let draw = |config: &NetworkConfig| {
            let mut random = Random::new(4);
            Network::init(config, &mut || random.normal()).unwrap()
        };
        let (exact, mut relaxed) = (draw(&exact), draw(&relaxed));
        assert_eq!(exact.values(), &relaxed.values()[..exact.values().len()]);
        assert_eq!(relaxed.rest(), exact.values().len()..relaxed.values().len());
        assert_eq!(
            exact.dense().unwrap().tensors,
            relaxed.dense().unwrap().tensors,
            "the same weights, to the bit"
        );
        assert!(relaxed.asymmetry().iter().all(|(_, norm)| *norm == 0.0));
        if place == "wildlife" {
            let mut random = Random::new(6);
            common::lively(&mut relaxed, &mut random);
            let rest = relaxed.rest();
            relaxed.values_mut()[rest.clone()].fill(0.0);
            let (error, spread) = errors(&relaxed, scale, false, true);
            assert!(spread > 0.3 && error < 1e-4 * spread, "{error} of {spread}");
            relaxed.values_mut()[rest].iter_mut().for_each(|d| *d = 0.1 * random.normal() as f32);
            assert!(errors(&relaxed, scale, false, true).0 > 0.1);
            assert!(relaxed.asymmetry().iter().all(|(_, norm)| *norm > 0.01), "{:?}", relaxed.asymmetry());
        }
    }
}

#[test]
fn relaxed_networks_are_saved_and_read() {
    let (config, _) = config(NetworkKind::Relaxed, "C4", "wind");
    let network = network(&config, 9);
    let bytes = network.to_bytes(&json!(null), &json!({})).unwrap();
    let (same, metadata) = Network::from_bytes(&bytes).unwrap();
    assert_eq!((same.parameters(), same.config()), (network.parameters(), network.config()));
    assert_eq!(metadata.parameters, network.values().len());
    assert_eq!(same.dense().unwrap().tensors, network.dense().unwrap().tensors);
    // As wide as the plain network beside it, coefficient by coefficient.
    let plain = Network::init(&config.as_wide().unwrap(), &mut || 0.1).unwrap();
    assert_eq!(plain.values().len(), network.values().len());
}

/// What one agent computes from what it hears is what the batch says, to the bit.
#[test]
fn one_agent_that_is_told_says_what_the_team_says() {
    let (config, scale) = config(NetworkKind::Equivariant, "C4", "wind");
    let network = network(&config, 11);
    let (screen, mut random) = (Screen::of(&network, scale), Random::new(12));
    let mut state = State::random(screen, 2, 0.3, &mut random);
    state.edges = vec![(0, 1, [1.0, 0.0]), (1, 0, [-1.0, 0.0])];
    state.cause = vec![0.5, 0.0];
    let plane = Plane::new(&group("C4")).unwrap();
    let policy = network.policy().unwrap();
    let said = policy.forward(&batch(&[state.clone()], screen, &Sharing::None, &plane)).unwrap();
    let (mut scratch, mut image) = (Scratch::default(), vec![0.0; screen.pixels()]);
    let mut rows: Vec<Vec<f32>> = vec![vec![]; 2];
    screen.render(&state.keys[0], &mut image);
    let error = policy.encode(&image, &mut scratch, &mut rows[0]).unwrap_err().to_string();
    assert!(error.contains("must be told"), "{error}");
    for wrong in [&[0.5][..], &[0.5, 0.0, 0.0]] {
        scratch.tell(wrong);
        let error = policy.encode(&image, &mut scratch, &mut rows[0]).unwrap_err().to_string();
        assert!(error.contains("must be told"), "{error}");
    }
    scratch.tell(&state.cause);
    for (key, row) in state.keys.iter().zip(&mut rows) {
        screen.render(key, &mut image);
        policy.encode(&image, &mut scratch, row).unwrap();
        assert_eq!(row.len(), policy.message_len(0));
    }
    for l in 0..policy.rounds() {
        let mut next = vec![vec![]; 2];
        for &(i, j, edge) in &state.edges {
            policy.round(l, &rows[i], &edge, &rows[j], &mut scratch, &mut next[i]).unwrap();
        }
        rows = next;
    }
    let alone: Vec<f32> = rows.iter().flat_map(|row| policy.decide(row).unwrap().log_probabilities).collect();
    assert_eq!(alone, said.log_probabilities);
}
