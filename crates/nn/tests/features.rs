//! Networks for feature vectors: their equations, slopes, symmetry, files and bits.

mod common;

use common::features::{Edge, Scene, WORLDS, World, collate, reference_forward, refill, scenes};
use common::reference::Reference;
use common::{Random, distance, everything, group, outputs, pass, pulls, worlds};
use equimarl_group::Rep;
use equimarl_nn::{
    Batch, Cache, DenseModel, Interface, Network, NetworkConfig, NetworkKind, PolicyOutput, Scratch, Sent,
    Sharing,
};
use serde_json::json;

/// Six layers of f32 sums, each off by about 1e-7 of its size.
#[test]
fn outputs_are_those_of_the_equations() {
    for (i, world) in WORLDS.iter().enumerate() {
        let (network, scenes) = (world.network(400 + i as u64), scenes(world, &[4, 1, 7, 3], 410 + i as u64));
        check_equations(world, &network, &scenes);
    }
}

fn check_equations(world: &World, network: &Network, scenes: &[Scene]) {
    let (reference, output) = (Reference::new(network), outputs(network, &collate(scenes)));
    let (mut logits, mut values) = (vec![], vec![]);
    for scene in scenes {
        let (l, v) = reference_forward(&reference, scene);
        logits.extend(l);
        values.push(v);
    }
    for (found, expected) in [(&output.logits, &logits), (&output.values, &values)] {
        assert_eq!(found.len(), expected.len());
        let scale = expected.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
        for (f, e) in found.iter().zip(expected) {
            assert!((f64::from(*f) - e).abs() < 1e-5 * scale, "{world:?}: {f} is not {e}");
        }
    }
}

/// As tests/oracle.rs: the slope of the loss along a random direction of each parameter in turn.
#[test]
fn gradients_are_slopes() {
    for (i, world) in WORLDS.iter().enumerate() {
        let (network, scenes) = (world.network(420 + i as u64), scenes(world, &[5, 4, 6], 430 + i as u64));
        check_slopes(world, &network, &scenes, 440 + i as u64);
    }
}

fn check_slopes(world: &World, network: &Network, scenes: &[Scene], seed: u64) {
    const STEP: f64 = 1e-8;
    let batch = collate(scenes);
    let (_, _, gradients) = everything(network, &batch, 7);
    let (reference, pull) = (Reference::new(network), pulls(network, &batch, 7));
    let total = |reference: &Reference| {
        let (mut logits, mut sum) = (pull.logits.iter(), 0.0);
        for (scene, weight) in scenes.iter().zip(&pull.values) {
            let (l, v) = reference_forward(reference, scene);
            sum += l.iter().map(|l| l * f64::from(*logits.next().unwrap())).sum::<f64>();
            sum += v * f64::from(*weight);
        }
        sum
    };
    let mut random = Random::new(seed);
    for ((name, range), gradient) in network.named().into_iter().zip(&gradients) {
        let mut direction = vec![0.0; network.values().len()];
        direction[range.clone()].copy_from_slice(&random.normals(range.len()));
        let at = |amount| total(&reference.moved(network, &direction, amount));
        let slope = (at(STEP) - at(-STEP)) / (2.0 * STEP);
        let pairs = gradient.iter().zip(&direction[range]);
        let found: f64 = pairs.map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let scale = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        assert!(scale > 0.0, "{world:?}, {name} matters");
        assert!((found - slope).abs() < 1e-4 * scale, "{world:?}, {name}: {found}, {slope}");
    }
}

/// Every agent has its own token, and it enters every round.
#[test]
fn tokens_are_in_the_equations_and_their_slopes() {
    for (i, world) in WORLDS.iter().enumerate() {
        let tokens = "trivial + regular".to_string();
        let config =
            NetworkConfig::usual(Interface { tokens, ..world.interface() }, world.kind(), &world.group());
        let (network, width) = (common::network(&config, 900 + i as u64), 1 + world.group().order());
        assert_eq!(config.token_order().unwrap(), world.group().order());
        let (mut scenes, mut random) = (scenes(world, &[4, 1, 5], 910 + i as u64), Random::new(920));
        for scene in &mut scenes {
            scene.told = scene.agents.iter().map(|_| random.normals(width)).collect();
        }
        check_equations(world, &network, &scenes);
        check_slopes(world, &network, &scenes, 930 + i as u64);
    }
}

/// What leaves the symmetry is in the equations and their slopes as well.
#[test]
fn relaxed_networks_are_those_of_the_equations() {
    let mut seen = 0;
    for (i, world) in WORLDS.iter().enumerate().filter(|(_, world)| world.kind() == NetworkKind::Equivariant)
    {
        let config = NetworkConfig { kind: NetworkKind::Relaxed, ..world.config() };
        let (mut network, scenes) =
            (common::network(&config, 420 + i as u64), scenes(world, &[5, 4, 6], 430 + i as u64));
        let (rest, mut random) = (network.rest(), Random::new(970));
        network.values_mut()[rest].iter_mut().for_each(|d| *d = 0.1 * random.normal() as f32);
        assert!(network.asymmetry().iter().all(|(_, norm)| *norm > 0.01), "{:?}", network.asymmetry());
        check_equations(world, &network, &scenes);
        check_slopes(world, &network, &scenes, 960 + i as u64);
        seen += 1;
    }
    assert!(seen > 0);
}

/// The largest change of probabilities and values that transforming random scenes makes beyond what it should.
fn deviation(network: &Network, world: &World, name: &str, actions: &str, seed: u64) -> [f64; 2] {
    let group = group(name);
    let (reps, actions) = (world.reps(&group), Rep::parse(&group, actions).unwrap());
    let policy = network.policy().unwrap();
    let mut worst = [0.0f64; 2];
    for scene in scenes(world, &[4, 3, 5], seed) {
        let said = |scene: &Scene| policy.forward(&collate(std::slice::from_ref(scene))).unwrap();
        let before = said(&scene);
        for g in group.elements() {
            let after = said(&scene.turned(&reps, g));
            let rows = before.log_probabilities.chunks(actions.dim());
            for (old, new) in rows.zip(after.log_probabilities.chunks(actions.dim())) {
                let old: Vec<f64> = old.iter().map(|p| f64::from(*p).exp()).collect();
                for (expected, found) in actions.apply(g, &old).into_iter().zip(new) {
                    worst[0] = worst[0].max((expected - f64::from(*found).exp()).abs());
                }
            }
            worst[1] = worst[1].max(f64::from(before.values[0] - after.values[0]).abs());
        }
    }
    worst
}

#[test]
fn policies_turn_with_the_world() {
    for (i, world) in WORLDS.iter().enumerate() {
        let network = world.network(450 + i as u64);
        let found = deviation(&network, world, world.group, world.actions, 460 + i as u64);
        assert!(found.iter().all(|d| *d < 1e-5), "{world:?}: {found:?}");
    }
}

/// A check that finds nothing must be able to find something.
#[test]
fn plain_networks_do_not() {
    for world in &WORLDS[1..] {
        let [features, edge, lamp] = world.reps(&world.group()).map(|rep| format!("{}*trivial", rep.dim()));
        let mut interface = world.interface();
        (interface.features, interface.edge, interface.senders[0].features) = (features, edge, lamp);
        interface.actions = format!("{}*trivial", Rep::parse(&world.group(), world.actions).unwrap().dim());
        let config = NetworkConfig::usual(interface, NetworkKind::Plain, &group("C1"));
        let found = deviation(&common::network(&config, 470), world, world.group, world.actions, 471);
        assert!(found.iter().all(|d| *d > 1e-3), "{world:?}: {found:?}");
    }
}

/// Sums in another order: the same to rounding. And renaming agents renames what they do.
#[test]
fn the_order_of_neighbours_does_not_matter() {
    for (i, world) in WORLDS.iter().enumerate() {
        let network = world.network(480 + i as u64);
        for scene in scenes(world, &[5, 8], 490 + i as u64) {
            let mut other = scene.clone();
            other.edges.iter_mut().for_each(|edges| edges.reverse());
            let n = scene.agents.len();
            let to = |i: usize| n - 1 - i;
            let mut renamed = other.clone();
            renamed.agents.reverse();
            let agent = |(i, j, edge): &Edge, kind: usize| {
                (to(*i), if kind == 0 { to(*j) } else { *j }, edge.clone())
            };
            for kind in 0..3 {
                renamed.edges[kind] = other.edges[kind].iter().map(|e| agent(e, kind)).collect();
            }
            let [a, b, c] = [&scene, &other, &renamed]
                .map(|scene| outputs(&network, &collate(std::slice::from_ref(scene))));
            assert!(distance(&a.logits, &b.logits) < 1e-5, "{world:?}");
            assert!(distance(&a.values, &b.values) < 1e-5, "{world:?}");
            let rows = c.logits.chunks(network.actions()).rev().flatten().copied().collect::<Vec<f32>>();
            assert!(distance(&a.logits, &rows) < 1e-5, "{world:?}");
        }
    }
}

/// Equal vectors are there once, and a scene has the same bits in any company.
#[test]
fn equal_observations_are_encoded_once() {
    for (i, world) in WORLDS.iter().enumerate() {
        let (network, mut all) = (world.network(500 + i as u64), scenes(world, &[4, 2, 6], 510 + i as u64));
        all.extend(all.clone());
        let batch = collate(&all);
        let lamps: usize = all[..3]
            .iter()
            .map(|s| (0..s.lamps.len()).filter(|j| s.edges[1].iter().any(|e| e.1 == *j)).count())
            .sum();
        assert_eq!((batch.agents(), batch.vectors.len()), (24, 12));
        assert_eq!(batch.senders[0].vectors.len(), lamps);
        let together = outputs(&network, &batch);
        let (mut logits, mut values) = (vec![], vec![]);
        for scene in &all {
            let alone = outputs(&network, &collate(std::slice::from_ref(scene)));
            logits.extend(alone.logits);
            values.extend(alone.values);
        }
        assert_eq!((together.logits, together.values), (logits, values), "{world:?}");
    }
}

/// One agent on its own device says what the batched path says, to the bit.
#[test]
fn the_local_view_agrees_with_the_batched_path() {
    for (i, world) in WORLDS.iter().enumerate() {
        let network = world.network(520 + i as u64);
        let (policy, mut scratch) = (network.policy().unwrap(), Scratch::default());
        for scene in scenes(world, &[4, 7], 530 + i as u64) {
            let said = policy.forward(&collate(std::slice::from_ref(&scene))).unwrap();
            let mut features: Vec<Vec<f32>> = vec![vec![]; scene.agents.len()];
            for (x, out) in scene.agents.iter().zip(&mut features) {
                policy.encode_features(x, &mut scratch, out).unwrap();
            }
            assert_eq!(features[0].len(), policy.message_len(0));
            let mut lamps: Vec<Vec<f32>> = vec![vec![]; scene.lamps.len()];
            for (x, out) in scene.lamps.iter().zip(&mut lamps) {
                policy.encode_sender(0, x, &mut scratch, out).unwrap();
            }
            for l in 0..policy.rounds() {
                let sent = features.clone();
                for (i, out) in features.iter_mut().enumerate() {
                    let heard = |kind: usize, rows: &[Vec<f32>]| -> [Vec<f32>; 2] {
                        let edges = scene.heard(kind, i).flat_map(|e| e.2.clone()).collect();
                        [
                            edges,
                            scene
                                .heard(kind, i)
                                .flat_map(|e| rows.get(e.1).cloned().unwrap_or_default())
                                .collect(),
                        ]
                    };
                    let [agents, lamps, walls] = [heard(0, &sent), heard(1, &lamps), heard(2, &[])];
                    let [agents, lamps, walls] =
                        [&agents, &lamps, &walls].map(|[edges, features]| Sent { edges, features });
                    policy.round_among(l, &sent[i], agents, &[lamps, walls], &mut scratch, out).unwrap();
                }
                assert_eq!(features[0].len(), policy.message_len(l + 1));
            }
            let decisions: Vec<_> = features.iter().map(|f| policy.decide(f).unwrap()).collect();
            let local: Vec<f32> = decisions.iter().flat_map(|d| d.log_probabilities.clone()).collect();
            let value = decisions.iter().map(|d| d.value).sum::<f32>() / decisions.len() as f32;
            assert_eq!((&local, value), (&said.log_probabilities, said.values[0]), "{world:?}");
        }
    }
}

/// What an agent cannot hear within so many rounds does not matter, to the bit; a lamp is heard where an agent hears it.
#[test]
fn only_what_is_heard_matters() {
    let world = &WORLDS[1];
    let (network, mut random) = (world.network(540), Random::new(541));
    let (mut near, mut far) = (0, 0);
    for mut scene in scenes(world, &[6; 12], 542) {
        scene.edges.iter_mut().for_each(|edges| edges.retain(|_| random.uniform() < 0.4));
        let logits = |scene: &Scene| outputs(&network, &collate(std::slice::from_ref(scene))).logits;
        let before = logits(&scene);
        // Whether each agent hears each within two rounds, by way of one other at most; a lamp's word is one round old.
        let hears = |i: usize, j: usize| scene.edges[0].iter().any(|e| (e.0, e.1) == (i, j));
        for changed in 0..scene.lamps.len() {
            let sees = |i: usize| scene.heard(1, i).any(|e| e.1 == changed);
            let mut other = scene.clone();
            other.lamps[changed] = random.normals(2);
            let after = logits(&other);
            for i in 0..6 {
                let reach = sees(i) || (0..6).any(|j| hears(i, j) && sees(j));
                let same = before[i * 5..][..5] == after[i * 5..][..5];
                assert!(reach || same, "agent {i} cannot hear lamp {changed}");
                near += usize::from(reach && !same);
                far += usize::from(!reach);
            }
        }
        for changed in 0..6 {
            let mut other = scene.clone();
            other.agents[changed] = random.normals(4);
            let after = logits(&other);
            for i in 0..6 {
                let reach =
                    i == changed || hears(i, changed) || (0..6).any(|j| hears(i, j) && hears(j, changed));
                let same = before[i * 5..][..5] == after[i * 5..][..5];
                assert!(reach || same, "agent {i} cannot hear agent {changed}");
                near += usize::from(reach && !same);
                far += usize::from(!reach);
            }
        }
    }
    assert!(near > 50 && far > 50, "the graphs have both: {near} within reach changed, {far} beyond");
}

/// Large enough that kernels share their work.
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (i, world) in WORLDS.iter().enumerate() {
        let (network, scenes) = (world.network(550 + i as u64), scenes(world, &[8; 100], 560 + i as u64));
        let (policy, batch) = (network.policy().unwrap(), collate(&scenes));
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (everything(&network, &batch, 570), policy.forward(&batch).unwrap()))
        };
        let one = run(1);
        assert!(one.0.2.iter().flatten().all(|g| g.is_finite()));
        for threads in [2, 3] {
            assert!(run(threads) == one, "{world:?}: other bits with {threads} threads");
        }
    }
}

/// Larger, smaller, nothing: what a cache and a batch held before does not matter, nor which network used the cache.
#[test]
fn used_memory_gives_the_bits_of_fresh_memory() {
    let (mut shared, mut said, mut batch) =
        (Cache::default(), PolicyOutput::default(), Batch::with_senders(2));
    for (i, world) in WORLDS.iter().enumerate() {
        let mut network = world.network(580 + i as u64);
        let (mut own, policy) = (Cache::default(), network.policy().unwrap());
        for sizes in [&[3, 2][..], &[7; 9], &[1], &[], &[4, 0, 2], &[7; 9]] {
            let scenes = scenes(world, sizes, 590 + i as u64);
            refill(&mut batch, &scenes);
            let fresh = pass(&mut network.clone(), &collate(&scenes), &mut Cache::default(), 591);
            assert!(pass(&mut network, &batch, &mut own, 591) == fresh, "{world:?}, {sizes:?}");
            assert!(pass(&mut network, &batch, &mut shared, 591) == fresh, "{world:?}, {sizes:?}");
            policy.forward_in(&batch, &mut shared, &mut said).unwrap();
            assert_eq!(said.values, fresh.0.values);
        }
    }
}

/// A world without senders and without edges is one too, also if its agents never hear anybody.
#[test]
fn nobody_needs_to_be_heard() {
    let interface = Interface { senders: vec![], ..WORLDS[1].interface() };
    let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group("C4"));
    let network = common::network(&config, 600);
    let policy = network.policy().unwrap();
    let mut batch = Batch::default();
    let mut random = Random::new(601);
    for _ in 0..3 {
        batch.see(&random.normals(4)).unwrap();
        batch.end_agent();
    }
    batch.end_state();
    let (logits, _, gradients) = everything(&network, &batch, 602);
    assert!(logits.iter().all(|l| l.is_finite()));
    for ((name, _), gradient) in network.named().iter().zip(&gradients) {
        // No message was sent, so nothing is learned about messages; everything else is.
        assert_eq!(gradient.iter().all(|g| *g == 0.0), name.contains("message"), "{name}");
    }
    // The round of the paper's interface is enough for such a world.
    let (mut scratch, mut own, mut mixed) = (Scratch::default(), vec![], vec![]);
    policy.encode_features(&batch.vectors.values()[..4], &mut scratch, &mut own).unwrap();
    for l in 0..policy.rounds() {
        policy.round(l, &own, &[], &[], &mut scratch, &mut mixed).unwrap();
        std::mem::swap(&mut own, &mut mixed);
    }
    let said = policy.forward(&batch).unwrap();
    assert_eq!(policy.decide(&own).unwrap().log_probabilities, said.log_probabilities[..5]);
}

/// An action that a feature forbids has no probability, whether states are looked at together or by one agent, and nothing is
/// learned about it; turned observations forbid the turned actions.
#[test]
fn forbidden_actions_are_never_taken() {
    let interface = Interface {
        world: "locks".into(),
        agents: 3,
        actions: "regular".into(),
        features: "2*regular".into(),
        legal: vec![4, 5, 6, 7],
        ..Interface::default()
    };
    let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group("C4"));
    let network = common::network(&config, 630);
    let policy = network.policy().unwrap();
    let mut random = Random::new(631);
    for mask in 0..16u32 {
        let may: Vec<f32> = (0..4).map(|a| if mask >> a & 1 == 1 { 1.0 } else { 0.0 }).collect();
        let own = random.normals(4);
        let seen = |turn: usize| -> Vec<f32> {
            let shifted = |v: &[f32]| (0..4).map(|a| v[(a + 4 - turn) % 4]).collect::<Vec<f32>>();
            [shifted(&own), shifted(&may)].concat()
        };
        let batch = |turn: usize| {
            let mut batch = Batch::default();
            batch.see(&seen(turn)).unwrap();
            batch.end_agent();
            batch.end_state();
            batch
        };
        let said = policy.forward(&batch(0)).unwrap().log_probabilities;
        // Who may do nothing keeps all: its world decides what happens.
        let free = |a: usize| mask == 0 || may[a] > 0.5;
        assert!((0..4).all(|a| if free(a) { said[a] > -50.0 } else { said[a] < -1e8 }), "{mask}: {said:?}");
        assert!((said.iter().map(|l| l.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
        let turned = policy.forward(&batch(1)).unwrap().log_probabilities;
        assert!((0..4).all(|a| (turned[(a + 1) % 4] - said[a]).abs() < 1e-4 || !free(a)));
        let (mut scratch, mut features, mut mixed) = (Scratch::default(), vec![], vec![]);
        policy.encode_features(&seen(0), &mut scratch, &mut features).unwrap();
        for l in 0..policy.rounds() {
            policy.round(l, &features, &[], &[], &mut scratch, &mut mixed).unwrap();
            std::mem::swap(&mut features, &mut mixed);
        }
        assert_eq!(policy.decide_among(&features, &seen(0)).unwrap().log_probabilities, said);
    }
}

#[test]
fn models_are_saved_loaded_and_exported() {
    for (i, world) in WORLDS.iter().enumerate() {
        let (network, scenes) = (world.network(610 + i as u64), scenes(world, &[4, 3], 620 + i as u64));
        let (batch, extra) = (collate(&scenes), json!({ "seed": 1 }));
        let bytes = network.to_bytes(&serde_json::Value::Null, &extra).unwrap();
        let (loaded, metadata) = Network::from_bytes(&bytes).unwrap();
        assert_eq!(loaded.config(), network.config());
        assert_eq!(loaded.parameters(), network.parameters());
        assert_eq!(loaded.to_bytes(&serde_json::Value::Null, &extra).unwrap(), bytes);
        assert_eq!(outputs(&loaded, &batch), outputs(&network, &batch));
        let named: Vec<&str> = network.layers().map(|(name, _)| name).collect();
        let listed: Vec<&str> = metadata.representations.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(named, listed);
        for ((_, space), record) in network.layers().zip(&metadata.representations) {
            assert_eq!(
                (space.input().to_string(), space.output().to_string()),
                (record.input.clone(), record.output.clone())
            );
            assert_eq!(space.ranks(), record.ranks);
        }

        let dense = network.dense().unwrap();
        let (same, _) =
            DenseModel::from_bytes(&dense.to_bytes(&serde_json::Value::Null, &extra).unwrap()).unwrap();
        assert_eq!(same, dense);
    }
}

#[test]
fn layers_have_names_and_sizes() {
    let (world, c4) = (&WORLDS[1], group("C4"));
    let network = world.network(630);
    let layers: Vec<String> = network
        .layers()
        .map(|(name, space)| format!("{name}: {} -> {}", space.input(), space.output()))
        .collect();
    let own = "32*regular + rotation";
    assert_eq!(
        layers,
        [
            "features1: 2*trivial + rotation -> 32*regular",
            "features2: 32*regular -> 32*regular",
            "lamp.features1: rotation -> 32*regular",
            "lamp.features2: 32*regular -> 32*regular",
            &format!("round1.message: {own} + 32*regular -> 32*regular"),
            &format!("round1.lamp.message: {own} + 32*regular -> 32*regular"),
            &format!("round1.wall.message: {own} -> 32*regular"),
            "round1.update: 32*regular + 32*regular + 32*regular + 32*regular -> 32*regular",
            &format!("round2.message: {own} + 32*regular -> 32*regular"),
            &format!("round2.lamp.message: {own} + 32*regular -> 32*regular"),
            &format!("round2.wall.message: {own} -> 32*regular"),
            "round2.update: 32*regular + 32*regular + 32*regular + 32*regular -> 32*regular",
            "policy: 32*regular -> perm[0 4 1 2 3]",
            "value: 32*regular -> trivial",
        ]
    );
    // A map between n and m regular ones has 4 n m coefficients, from the trivial and to it n, and two from the plane.
    let wide = 4 * 32 * 32;
    let encoders = (32 * 2 + 32 * 2 + 32) + (wide + 32) + (32 * 2 + 32) + (wide + 32);
    let round = 2 * (2 * wide + 32 * 2 + 32) + (wide + 32 * 2 + 32) + (4 * wide + 32);
    let heads = (32 * 5 + 2) + (32 + 1);
    assert_eq!(network.values().len(), encoders + 2 * round + heads);
    assert_eq!((network.sharing(), network.actions()), (Sharing::Distinct, 5));
    assert_eq!(network.group(), &c4);
    assert!(network.dictionary().is_none());
}

/// Files of the first version say nothing of features, and have other names; ours say nothing of features where there are
/// none.
#[test]
fn interfaces_of_the_first_version_are_read() {
    let c4 = group("C4");
    let config = NetworkConfig::usual(worlds::wildlife(3, 7, &c4), NetworkKind::Equivariant, &c4);
    assert_eq!(config, NetworkConfig::usual(config.interface.clone(), NetworkKind::Equivariant, &c4));
    let text = serde_json::to_value(&config).unwrap();
    let first = json!({
        "setting": {
            "world": "wildlife", "agents": 3, "picture": [1, 21, 21], "actions": "perm[0 4 1 2 3]",
            "central_picture": [3, 21, 21], "central_heads": vec!["perm[0 4 1 2 3]"; 3],
        },
        "kind": "equivariant",
        "group": "C4",
        "widths": { "convolutions": [16, 32], "rounds": [64, 64], "hidden": [] },
    });
    assert_eq!(serde_json::from_value::<NetworkConfig>(first).unwrap(), config);
    let now = json!({
        "interface": {
            "world": "wildlife", "agents": 3, "image": [1, 21, 21], "actions": "perm[0 4 1 2 3]",
            "team_image": [3, 21, 21], "team_heads": vec!["perm[0 4 1 2 3]"; 3],
        },
        "kind": "equivariant",
        "group": "C4",
        "widths": { "convolutions": [16, 32], "rounds": [64, 64], "hidden": [] },
    });
    assert_eq!(text, now);
    assert_eq!(serde_json::from_value::<NetworkConfig>(now).unwrap(), config);
    let config = WORLDS[1].config();
    let text = serde_json::to_value(&config).unwrap();
    assert_eq!(
        text["interface"]["senders"],
        json!([{ "name": "lamp", "features": "rotation" }, { "name": "wall" }])
    );
    assert_eq!(serde_json::from_value::<NetworkConfig>(text).unwrap(), config);
}
