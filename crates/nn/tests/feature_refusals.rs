//! Worlds and batches of feature vectors that make no network: one line that says what was wrong.

mod common;

use common::features::{WORLDS, collate, scenes};
use common::{group, outputs, pulls, world, worlds};
use equimarl_nn::{
    Batch, Cache, Network, NetworkConfig, NetworkKind, Result, Scratch, SenderKind, Sent, Widths,
};

fn refused<T: std::fmt::Debug>(result: Result<T>, words: &[&str]) {
    let error = result.map(|_| ()).unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "`{error}` does not say `{word}`");
    }
    assert!(!error.contains('\n'), "one line: {error}");
    assert!(error.len() < 400, "a short one: {error}");
}

/// The C4 world with something changed.
fn with(change: impl Fn(&mut NetworkConfig)) -> Result<Network> {
    let mut config = WORLDS[1].config();
    change(&mut config);
    Network::init(&config, &mut || 0.1)
}

#[test]
fn pictures_and_features_do_not_mix_yet() {
    assert!(with(|_| {}).is_ok());
    refused(with(|c| c.interface.image = [1, 21, 21]), &["image", "not yet both"]);
    for kind in [NetworkKind::CentralEquivariant, NetworkKind::CentralPlain] {
        refused(with(|c| c.kind = kind), &[kind.name(), "feature vectors", "equivariant or a plain"]);
    }
    let c4 = group("C4");
    let mut paper = NetworkConfig::usual(worlds::wildlife(3, 7, &c4), NetworkKind::Equivariant, &c4);
    paper.interface.senders = vec![SenderKind { name: "lamp".into(), features: String::new() }];
    refused(Network::init(&paper, &mut || 0.1), &["hear only each other", "`lamp`"]);
    // Neither of the two.
    refused(
        with(|c| (c.interface.features, c.interface.senders) = (String::new(), vec![])),
        &["see neither"],
    );
}

#[test]
fn groups_need_the_plane_only_where_it_is_used() {
    let c5 = |edge: &str| {
        let mut config = WORLDS[3].config();
        config.interface.edge = edge.into();
        Network::init(&config, &mut || 0.1)
    };
    assert!(c5("rotation").is_ok());
    refused(c5(""), &["C5", "C1, C2, C4, D1, D2 and D4"]);
    refused(with(|c| c.kind = NetworkKind::Plain), &["plain", "C1", "C4"]);
    let mut large = WORLDS[3].config();
    large.group = "C300".into();
    refused(Network::init(&large, &mut || 0.1), &["300 elements", "256"]);
}

#[test]
fn representations_that_do_not_fit_are_refused() {
    for (text, words) in [
        ("nonsense", &["nonsense"][..]),
        ("rotation + ", &["representation"]),
        ("perm[1 2 0]", &["perm[1 2 0]"]), // a third of a turn
        ("tensor(regular, regular)", &["`tensor`", "agent's features"]),
        ("pixels(1400)", &["`pixels`"]),
        ("16777216*trivial", &["16777216 numbers", "4096"]),
        ("matrix[0 -2, 0.5 0]", &["orthogonal"]),
    ] {
        refused(with(|c| c.interface.features = text.into()), words);
    }
    refused(with(|c| c.interface.features = vec!["trivial"; 65].join("+")), &["64 summands"]);
    refused(with(|c| c.interface.features = "trivial+".repeat(900)), &["4096 bytes"]);
    refused(with(|c| c.interface.edge = "pixels(9)".into()), &["`pixels`", "edge vector"]);
    refused(
        with(|c| c.interface.senders[0].features = "dual(rotation)".into()),
        &["`dual`", "features of lamp"],
    );
    // What would have to be solved for as a large dense matrix: so many rotations written as one.
    let rotations = |blocks: usize| {
        let (sin, cos) = (std::f64::consts::TAU / 128.0).sin_cos();
        let entry = |r: usize, c: usize| match (r / 2 == c / 2, r % 2, c % 2) {
            (false, ..) => "0".into(),
            (true, 0, 1) => format!("{:.17}", -sin),
            (true, 1, 0) => format!("{sin:.17}"),
            _ => format!("{cos:.17}"),
        };
        let row = |r: usize| (0..2 * blocks).map(|c| entry(r, c)).collect::<Vec<String>>().join(" ");
        let text = (0..2 * blocks).map(row).collect::<Vec<_>>().join(", ");
        let mut config = WORLDS[3].config();
        (config.group, config.interface.actions) = ("C128".into(), "trivial".into());
        (config.interface.features, config.interface.senders) = (format!("matrix[{text}]"), vec![]);
        (config.widths.hidden, config.widths.rounds) = (vec![12], vec![12]);
        Network::init(&config, &mut || 0.1)
    };
    assert!(rotations(1).is_ok());
    refused(rotations(5), &["10 numbers", "C128", "at most 8"]);
}

#[test]
fn names_of_senders_are_checked() {
    for (name, words) in [
        ("", &["lower-case"][..]),
        ("Lamp", &["lower-case", "`Lamp`"]),
        ("la.mp", &["lower-case"]),
        ("two\nlines", &["lower-case", "`two lines`"]),
        ("round2", &["`round2`", "layers"]),
        ("features", &["`features`", "layers"]),
        ("value", &["layers"]),
        ("wall", &["two kinds", "`wall`"]),
        (&"x".repeat(65), &["1 to 64"]),
    ] {
        refused(with(|c| c.interface.senders[0].name = name.into()), words);
    }
    for name in ["lamp-2", "rounds", "depot"] {
        assert!(with(|c| c.interface.senders[0].name = name.into()).is_ok());
    }
    let many = || (0..17).map(|i| SenderKind { name: format!("k{i}"), features: String::new() }).collect();
    refused(with(|c| c.interface.senders = many()), &["at most 16", "17"]);
}

#[test]
fn widths_that_do_not_fit_are_refused() {
    assert_eq!(
        WORLDS[1].config().widths,
        Widths { convolutions: [0, 0], rounds: vec![64; 2], hidden: vec![64; 2] }
    );
    for change in [
        (|w: &mut Widths| w.convolutions = [16, 32]) as fn(&mut Widths),
        |w| w.hidden = vec![],
        |w| w.hidden = vec![8; 17],
        |w| w.rounds = vec![],
        |w| w.rounds = vec![8; 17],
    ] {
        refused(with(|c| change(&mut c.widths)), &["1 to 16 hidden layers", "no convolutions"]);
    }
    refused(with(|c| c.widths.hidden[1] = 1), &["width of 1", "C4"]);
    refused(with(|c| c.widths.hidden[0] = usize::MAX), &["widths are between"]);
    refused(with(|c| c.widths.rounds = vec![4096, 4096]), &["weights, and we build at most"]);
    let deep = |w: &mut Widths| (w.hidden, w.rounds) = (vec![8], vec![4, 12, 8]);
    assert!(with(|c| deep(&mut c.widths)).is_ok());
}

/// Batches can be filled by hand: whatever they say, there is an error and not a panic.
#[test]
fn batches_that_contradict_themselves_are_refused() {
    let world = &WORLDS[1];
    let mut network = world.network(700);
    // All kinds are heard in these.
    let made = || {
        let mut scenes = scenes(world, &[4, 5, 4, 3], 701);
        scenes.retain(|s| s.edges.iter().all(|e| !e.is_empty()));
        assert!(!scenes.is_empty());
        collate(&scenes)
    };
    assert!(network.forward(&made(), &mut Cache::default()).is_ok());
    let changes: [&dyn Fn(&mut Batch); 16] = [
        &|b| b.ids[0] = 1000,
        &|b| b.elements[0] = 1000,
        &|b| {
            let _ = b.ids.pop();
        },
        &|b| {
            let _ = b.edges.pop();
        },
        &|b| b.graph.hear(0),
        &|b| b.graph.end_agent(),
        &|b| b.end_agent(),
        &|b| b.starts[1] = 1000,
        &|b| {
            let _ = b.senders.pop();
        },
        &|b| b.senders.push(Default::default()),
        &|b| {
            let _ = b.senders[0].edges.pop();
        },
        &|b| b.senders[1].graph.end_agent(),
        &|b| b.senders[0].graph.clear(),
        &|b| b.senders[0].vectors.clear(),
        &|b| {
            b.vectors.clear();
            b.vectors.id(&[1.0; 3]).unwrap();
        },
        &|b| assert_eq!(b.senders[1].vectors.id(&[1.0]).unwrap(), 0),
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut wrong = made();
        change(&mut wrong);
        let found = network.forward(&wrong, &mut Cache::default());
        assert!(found.is_err(), "change {i}");
        // Also after a forward pass that fitted.
        let (batch, mut cache) = (made(), Cache::default());
        let mut gradients = vec![0.0; network.values().len()];
        network.forward(&batch, &mut cache).unwrap();
        *cache.output_gradient().1 = pulls(&network, &batch, 702);
        assert!(network.backward(&wrong, &mut cache, &mut gradients).is_err(), "change {i}");
        network.forward(&batch, &mut cache).unwrap();
        network.backward(&batch, &mut cache, &mut gradients).unwrap();
    }
    let mut three = made();
    three.vectors.clear();
    three.vectors.id(&[1.0; 3]).unwrap();
    refused(
        network.forward(&three, &mut Cache::default()),
        &["features of agents are 3 numbers", "made for 4"],
    );
    let mut gradients = vec![0.0; network.values().len()];
    assert!(
        network.backward(&made(), &mut Cache::default(), &mut gradients).is_err(),
        "nothing went forward"
    );
}

/// What belongs to networks that look at images, and the other way round.
#[test]
fn the_other_kind_of_observation_is_refused() {
    let (c4, scenes) = (group("C4"), scenes(&WORLDS[1], &[3], 710));
    let mut images =
        common::network(&NetworkConfig::usual(world("wildlife", &c4).0, NetworkKind::Equivariant, &c4), 711);
    let features = WORLDS[1].network(712);
    assert!(images.forward(&collate(&scenes), &mut Cache::default()).is_err());
    let (mut scratch, mut out) = (Scratch::default(), vec![]);
    let [a, b] = [images.policy().unwrap(), features.policy().unwrap()];
    refused(a.encode_features(&[0.0; 4], &mut scratch, &mut out), &["images, not feature vectors"]);
    refused(a.encode_sender(0, &[0.0; 2], &mut scratch, &mut out), &["images, not feature vectors"]);
    refused(a.round_among(0, &[0.0; 64], Sent::default(), &[], &mut scratch, &mut out), &["images"]);
    refused(b.encode(&[0.0; 441], &mut scratch, &mut out), &["feature vectors, not pictures"]);
    refused(b.encode_features(&[0.0; 5], &mut scratch, &mut out), &["5 features", "made for 4"]);
    refused(b.encode_sender(0, &[0.0; 3], &mut scratch, &mut out), &["3 features", "made for 2"]);
    refused(b.encode_sender(1, &[0.0; 3], &mut scratch, &mut out), &["`wall` has no features"]);
    refused(b.encode_sender(2, &[0.0; 3], &mut scratch, &mut out), &["no kind 2"]);
    // It has two kinds of senders besides the agents.
    refused(b.round(0, &[0.0; 128], &[], &[], &mut scratch, &mut out), &["2 other kinds"]);
    let both = [Sent::default(); 2];
    refused(b.round_among(2, &[0.0; 128], both[0], &both, &mut scratch, &mut out), &["no round 2"]);
    refused(b.round_among(0, &[0.0; 12], both[0], &both, &mut scratch, &mut out), &["12 features"]);
    let half = Sent { edges: &[1.0], features: &[] };
    assert!(b.round_among(0, &[0.0; 128], half, &both, &mut scratch, &mut out).is_err());
    assert!(b.round_among(0, &[0.0; 128], both[0], &both, &mut scratch, &mut out).is_ok());
}

/// A ReLU or a mean must not hide a number that is none.
#[test]
fn what_is_not_a_number_shows() {
    let world = &WORLDS[1];
    let mut scene = scenes(world, &[4], 720).remove(0);
    // Everybody hears one of each kind.
    scene.lamps = vec![vec![0.5, 1.0]];
    for (kind, edges) in scene.edges.iter_mut().enumerate() {
        *edges = (0..4).map(|i| (i, if kind == 0 { (i + 1) % 4 } else { 0 }, vec![1.0, i as f32])).collect();
    }
    let (network, batch) = (world.network(721), collate(&[scene.clone()]));
    for (name, range) in network.named() {
        let mut broken = network.clone();
        broken.values_mut()[range.start] = f32::NAN;
        let output = outputs(&broken, &batch);
        let mut numbers = output.logits.iter().chain(&output.values);
        match name.starts_with("policy") || name.starts_with("value") {
            true => assert!(numbers.any(|y| y.is_nan()), "{name}"),
            false => assert!(numbers.all(|y| y.is_nan()), "{name}"),
        }
    }
    scene.lamps[0][0] = f32::NAN;
    let output = outputs(&network, &collate(&[scene]));
    assert!(output.logits.iter().all(|y| y.is_nan()));
}
