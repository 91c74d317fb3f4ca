//! Networks under SO(2) and O(2): what they are made of, what they refuse, and their gradients as a whole.

use equimarl_group::Symmetry;
use equimarl_nn::{Batch, Cache, Interface, Network, NetworkConfig, NetworkKind, SenderKind, Squash, Widths};

/// A small source of numbers that look normal enough.
fn dice(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut unit = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    move || (0..12).map(|_| unit()).sum::<f64>() - 6.0
}

fn interface(senders: &[(&str, &str)]) -> Interface {
    let kind =
        |(name, features): &(&str, &str)| SenderKind { name: (*name).into(), features: (*features).into() };
    Interface {
        world: "particles".into(),
        agents: 3,
        actions: "rotation".into(),
        vectors: Some(Squash::Ball),
        features: "2*rotation".into(),
        senders: senders.iter().map(kind).collect(),
        ..Interface::default()
    }
}

fn spread() -> Interface {
    interface(&[("landmark", "")])
}

fn tag() -> Interface {
    interface(&[("prey", "rotation"), ("obstacle", "")])
}

fn under(interface: Interface, symmetry: &str) -> NetworkConfig {
    NetworkConfig::under(interface, NetworkKind::Equivariant, &symmetry.parse().unwrap())
}

fn init(config: &NetworkConfig) -> equimarl_nn::Result<Network> {
    Network::init(config, &mut dice(1))
}

#[test]
fn they_have_as_many_parameters_as_plain_ones() {
    for interface in [spread(), tag()] {
        let c1 = Symmetry::Finite("C1".parse().unwrap());
        let plain = NetworkConfig::under(interface.clone(), NetworkKind::Plain, &c1);
        let plain = init(&plain).unwrap().values().len() as f64;
        for symmetry in ["SO2", "O2"] {
            let found = init(&under(interface.clone(), symmetry)).unwrap().values().len() as f64;
            assert!((found / plain - 1.0).abs() < 0.1, "{symmetry}: {found}, plain {plain}");
        }
    }
}

#[test]
fn channels_are_said_in_the_language_of_representations() {
    let channels = |text: &str| NetworkConfig { channels: text.into(), ..under(spread(), "O2") };
    let network = init(&channels("4*freq0 + 8*freq1 + 4*freq2")).unwrap();
    let (_, last) = network.layers().find(|(name, _)| *name == "policy").unwrap();
    assert_eq!(last.input().dim(), 4 + 2 * 8 + 2 * 4);
    assert!(init(&channels("4*freq0 + 2*sign + 4*freq1")).is_ok());
    for (text, part) in [
        ("4*freq3", "has no channels called `freq3`"),
        ("regular", "has no channels called `regular`"),
        ("4*freq0 + ", "has no channels called ``"),
        ("4096*freq0", "more than twice the width"),
    ] {
        let error = init(&channels(text)).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
    let error = init(&NetworkConfig { channels: "8*freq1".into(), ..under(spread(), "D4") }).unwrap_err();
    assert!(error.to_string().contains("`channels` are for SO2 and O2"), "{error}");
}

#[test]
fn what_cannot_turn_is_refused() {
    let refused = |interface: Interface, symmetry: &str, part: &str| {
        let error = init(&under(interface, symmetry)).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    refused(
        Interface { vectors: None, actions: "5*trivial".into(), ..spread() },
        "O2",
        "no permutation of choices",
    );
    refused(Interface { features: "regular".into(), ..spread() }, "O2", "no channels called `regular`");
    refused(
        Interface { features: "rotation(3)".into(), ..spread() },
        "O2",
        "no channels called `rotation(3)`",
    );
    refused(Interface { features: "sign + rotation".into(), ..spread() }, "SO2", "no channels called `sign`");
    // Nothing that agents know of themselves has a direction, so their first features have none.
    refused(Interface { features: "3*trivial".into(), ..spread() }, "O2", "would always be 0");
    let plain = NetworkConfig { kind: NetworkKind::Plain, ..under(spread(), "O2") };
    assert!(init(&plain).unwrap_err().to_string().contains("its group is C1, not O2"));
}

/// Three agents that hear each other and a landmark each.
fn batch() -> Batch {
    let (mut normal, mut batch) = (dice(9), Batch::with_senders(1));
    let mut some = |n: usize| (0..n).map(|_| normal() as f32).collect::<Vec<f32>>();
    for _ in 0..2 {
        for agent in 0..3u32 {
            batch.see(&some(4)).unwrap();
            for other in (0..3).filter(|&other| other != agent) {
                batch.hear(other, &some(2));
            }
            batch.senders[0].hear(0, &some(2));
            batch.end_agent();
        }
        batch.end_state();
    }
    batch
}

/// Along some directions, what the gradient promises is what the outputs do.
#[test]
fn gradients_of_the_whole_network_are_its_slopes() {
    for symmetry in ["SO2", "O2"] {
        let mut config = under(spread(), symmetry);
        config.widths = Widths { convolutions: [0, 0], rounds: vec![16, 16], hidden: vec![16] };
        let (mut network, mut normal) = (init(&config).unwrap(), dice(3));
        network.enliven(1.0, &mut normal);
        let (batch, mut cache) = (batch(), Cache::default());
        network.forward(&batch, &mut cache).unwrap();
        let pulls: Vec<f32> = (0..cache.output().logits.len()).map(|_| normal() as f32).collect();
        let values: Vec<f32> = (0..cache.output().values.len()).map(|_| normal() as f32).collect();
        let (_, gradient) = cache.output_gradient();
        (gradient.logits, gradient.values) = (pulls.clone(), values.clone());
        let mut gradients = vec![0.0; network.values().len()];
        network.backward(&batch, &mut cache, &mut gradients).unwrap();
        let start = network.values().to_vec();
        let mut loss = |way: &[f32], step: f32| -> f64 {
            for ((value, start), way) in network.values_mut().iter_mut().zip(&start).zip(way) {
                *value = start + step * way;
            }
            network.forward(&batch, &mut cache).unwrap();
            let out = cache.output();
            let sum = |a: &[f32], b: &[f32]| {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
            };
            sum(&out.logits, &pulls) + sum(&out.values, &values)
        };
        let size = gradients.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        for _ in 0..5 {
            // Half along the gradient, half anywhere.
            let way: Vec<f32> = gradients
                .iter()
                .map(|g| *g / size as f32 + (normal() / (start.len() as f64).sqrt()) as f32)
                .collect();
            let promised: f64 = way.iter().zip(&gradients).map(|(w, g)| f64::from(*w) * f64::from(*g)).sum();
            let slope = (loss(&way, 1e-3) - loss(&way, -1e-3)) / 2e-3;
            assert!((slope - promised).abs() < 1e-2 * size, "{symmetry}: {slope} instead of {promised}");
        }
    }
}

#[test]
fn a_model_file_brings_it_back() {
    let mut network = init(&under(tag(), "O2")).unwrap();
    let mut normal = dice(4);
    network.values_mut().iter_mut().for_each(|w| *w += 0.1 * normal() as f32);
    let file = std::env::temp_dir().join(format!("turning-{}.safetensors", std::process::id()));
    network.save(&file, &serde_json::Value::Null, &serde_json::Value::Null).unwrap();
    let (again, _) = Network::load(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(again.config(), network.config());
    assert!(again.values() == network.values());
}
