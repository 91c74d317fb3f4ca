//! The loader meets mutated files: it refuses them in one line or loads the network that was saved. It never panics and
//! never takes much memory. On its own in this file, so that the peak of the process is the loader's.

mod common;

use common::worlds;
use equimarl_nn::model::{Entries, pack, unpack};
use equimarl_nn::{
    Batch, BatchBuilder, Cache, DenseModel, Error, Interface, Metadata, Network, NetworkConfig, NetworkKind,
    Output, SenderKind, Sharing, Widths,
};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

const CASES: u64 = 20_000;
/// What a test of this kind may take at its peak: the largest group has a table of 16 MB.
const MOST_MEMORY: u64 = 256 << 20;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.word() % n.max(1) as u64) as usize
    }

    fn number(&mut self) -> f64 {
        self.word() as f64 / u64::MAX as f64 * 2.0 - 1.0
    }
}

fn small(kind: NetworkKind, dice: &mut Dice) -> Network {
    let group = "C4".parse().unwrap();
    let (rounds, hidden) = if kind.is_central() { (vec![], vec![4]) } else { (vec![4, 4], vec![]) };
    let config = NetworkConfig {
        interface: worlds::wildlife(2, 5, &group),
        kind,
        group: "C4".into(),
        channels: String::new(),
        widths: Widths { convolutions: [4, 4], rounds, hidden },
    };
    Network::init(&config, &mut || dice.number()).unwrap()
}

/// One that sees feature vectors.
fn small_features(dice: &mut Dice) -> Network {
    let kind = |name: &str, features: &str| SenderKind { name: name.into(), features: features.into() };
    let interface = Interface {
        world: "made-up".into(),
        agents: 2,
        actions: "perm[0 4 1 2 3]".into(),
        features: "trivial + rotation".into(),
        edge: "rotation".into(),
        senders: vec![kind("lamp", "sign + trivial"), kind("wall", "")],
        ..Interface::default()
    };
    let widths = Widths { convolutions: [0, 0], rounds: vec![4, 4], hidden: vec![4] };
    let config = NetworkConfig {
        interface,
        kind: NetworkKind::Equivariant,
        group: "C4".into(),
        channels: String::new(),
        widths,
    };
    Network::init(&config, &mut || dice.number()).unwrap()
}

fn feature_batch() -> Batch {
    let (mut batch, mut dice) = (Batch::with_senders(2), Dice(9));
    let mut numbers = |n: usize| (0..n).map(|_| dice.number() as f32).collect::<Vec<f32>>();
    for agent in 0..2 {
        batch.see(&numbers(3)).unwrap();
        batch.hear(1 - agent, &numbers(2));
        let lamp = batch.senders[0].vectors.id(&numbers(2)).unwrap();
        batch.senders[0].hear(lamp, &numbers(2));
        batch.senders[1].hear(0, &numbers(2));
        batch.end_agent();
    }
    batch.end_state();
    batch
}

fn outputs(network: &Network) -> Output {
    let interface = &network.config().interface;
    if interface.sees_features() {
        let mut cache = Cache::default();
        network.clone().forward(&feature_batch(), &mut cache).unwrap();
        return cache.output().clone();
    }
    let mut builder = BatchBuilder::new(Sharing::None);
    let mut pixels = interface.image;
    if network.is_central() {
        pixels = interface.team_image;
        builder.state(0, |_, key| *key);
        builder.blind_agents(interface.agents);
    } else {
        (0..2).for_each(|key| builder.agent(key, |_, key| *key));
        builder.edge(0, 1, [1.0, 0.5]);
    }
    builder.end_state();
    let paint = |key: &u64, pixels: &mut [f32]| {
        let mut dice = Dice(*key);
        pixels.iter_mut().for_each(|p| *p = dice.number() as f32);
    };
    let mut cache = Cache::default();
    let batch = builder.finish(pixels.iter().product(), paint).unwrap();
    network.clone().forward(&batch, &mut cache).unwrap();
    cache.output().clone()
}

/// A text that a field could hold if someone wanted harm.
fn nasty_text(dice: &mut Dice) -> &'static str {
    let texts = [
        "",
        "C1",
        "C2",
        "D4",
        "C2048",
        "S6",
        "C4 x C4",
        "rotation",
        "rotation + rotation + trivial",
        "lamp",
        "D4 x D4 x D4",
        "matrix[0 -1, 1 0]",
        "perm[1 2 3 0]",
        "regular",
        "4096*regular",
        "16777216*trivial",
        "pixels(1000)",
        "tensor(regular, regular)",
        "5*trivial",
        "9999999*dual(regular + regular)",
        "perm[0 4 1 2 3]",
        "perm[1 0 2 3 4]",
        "quotient(C2) + 3*trivial",
        "plain",
        "central-equivariant",
        "conv1",
        "dense",
        "\u{0}\n",
        "matrix[1e308 1e308, 1e308 1e308]",
    ];
    texts[dice.below(texts.len())]
}

/// Any value of that kind.
fn nasty(dice: &mut Dice) -> Value {
    match dice.below(8) {
        0 => json!(nasty_text(dice)),
        1 => json!([0, 1, 2, 3, 5, 7, 15, 17, 21, 64][dice.below(10)]),
        2 => json!(1u64 << dice.below(64)),
        3 => json!(-(dice.below(1 << 30) as i64)),
        4 => json!(dice.number() * 1e300),
        5 => Value::Null,
        6 => json!(vec![dice.below(5000); dice.below(40)]),
        _ => json!({ "x": dice.below(9) }),
    }
}

/// Changes one thing somewhere in a JSON value.
fn change(value: &mut Value, dice: &mut Dice) {
    let deeper = dice.below(8) > 0;
    match value {
        Value::Object(map) if deeper && !map.is_empty() => {
            let key = map.keys().nth(dice.below(map.len())).cloned().unwrap_or_default();
            match dice.below(12) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert("another".into(), nasty(dice))),
                _ => change(&mut map[&key], dice),
            }
        }
        Value::Array(list) if deeper && !list.is_empty() => {
            let at = dice.below(list.len());
            match dice.below(12) {
                0 => drop(list.remove(at)),
                1 => list.insert(at, nasty(dice)),
                2 => {
                    let other = dice.below(list.len());
                    list.swap(at, other);
                }
                _ => change(&mut list[at], dice),
            }
        }
        Value::Number(n) if dice.below(2) == 0 => {
            *value = json!(n.as_i64().unwrap_or(0).saturating_add(dice.below(5) as i64 - 2));
        }
        Value::String(text) if dice.below(2) == 0 && !text.is_empty() => {
            let at = dice.below(text.chars().count());
            let other = char::from(b' ' + dice.below(95) as u8);
            *text = text.chars().enumerate().map(|(i, c)| if i == at { other } else { c }).collect();
        }
        Value::String(text) if dice.below(4) > 0 => *text = nasty_text(dice).into(),
        other => *other = nasty(dice),
    }
}

fn header_len(bytes: &[u8]) -> usize {
    u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
}

/// A mutated file; the headers get most of it, because there is most to break.
fn mutated(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let place = |dice: &mut Dice| {
        let end = if dice.below(4) > 0 { 8 + header_len(bytes) } else { bytes.len() };
        dice.below(end)
    };
    match dice.below(10) {
        0 => (0..1 + dice.below(4)).for_each(|_| out[place(dice)] ^= 1 << dice.below(8)),
        1 => out.truncate(place(dice)),
        2 => {
            let (at, count) = (place(dice), 1 + dice.below(16));
            let more: Vec<u8> = (0..count).map(|_| dice.word() as u8).collect();
            out.splice(at..at, more);
        }
        3 => {
            let at = place(dice);
            out.drain(at..bytes.len().min(at + 1 + dice.below(16)));
        }
        4 => {
            let shift = 1u64 << dice.below(64);
            let claimed = header_len(bytes) as u64;
            let claimed = if dice.below(2) == 0 { claimed.wrapping_add(shift) } else { shift };
            out[..8].copy_from_slice(&claimed.to_le_bytes());
        }
        5 => {
            // The header as JSON: names, shapes, types and offsets of tensors, and the metadata as a text.
            let (header, data) = bytes[8..].split_at(header_len(bytes));
            let mut header: Value = serde_json::from_slice(header).unwrap();
            (0..1 + dice.below(2)).for_each(|_| change(&mut header, dice));
            let header = header.to_string();
            out = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat();
        }
        6 => {
            // Tensors renamed or exchanged, under a checksum that fits.
            let (metadata, mut entries) = unpack(bytes).unwrap();
            let names: Vec<String> = entries.keys().cloned().collect();
            let (a, b) = (&names[dice.below(names.len())], &names[dice.below(names.len())]);
            let taken = entries.remove(a).unwrap();
            if let Some(other) = entries.insert(b.clone(), taken)
                && dice.below(2) == 0
            {
                // Two tensors of one shape may change places: that is another network, and a valid file.
                if other.shape() != entries[b].shape() {
                    entries.insert(a.clone(), other);
                }
            }
            out = pack(&metadata, &entries).unwrap();
        }
        _ => {
            // What the metadata says, under a checksum that fits.
            let (mut metadata, entries) = unpack(bytes).unwrap();
            // Most of what can be asked for is in the network.
            let part = if dice.below(2) == 0 { &mut metadata["network"] } else { &mut metadata };
            (0..1 + dice.below(2)).for_each(|_| change(part, dice));
            // Metadata that is not an object at all cannot be written; then the file stays as it is.
            out = pack(&metadata, &entries).unwrap_or(out);
        }
    }
    out
}

fn same_numbers(a: &[u8], b: &[u8]) -> bool {
    let numbers = |entries: &Entries| -> Vec<(String, Vec<u32>)> {
        let bits = |e: &equimarl_nn::model::Entry| {
            e.as_numbers().unwrap_or_default().into_iter().map(f32::to_bits).collect()
        };
        entries.iter().map(|(name, entry)| (name.clone(), bits(entry))).collect()
    };
    match (unpack(a), unpack(b)) {
        (Ok((_, a)), Ok((_, b))) => numbers(&a) == numbers(&b),
        _ => false,
    }
}

/// The most memory that this process ever had, where the system says so.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

#[test]
fn mutated_model_files_are_refused_or_the_same() {
    let mut dice = Dice(1);
    let [local, central] =
        [NetworkKind::Equivariant, NetworkKind::CentralEquivariant].map(|kind| small(kind, &mut dice));
    let networks = [local, central, small_features(&mut dice)];
    let files: Vec<(usize, bool, Vec<u8>)> = (0..3)
        .flat_map(|i| {
            let extra = json!({ "seed": 1, "commit": "abcdef", "steps": [1, 2, 3], "score": 0.1 });
            let coefficients = networks[i].to_bytes(&Value::Null, &extra).unwrap();
            [
                (i, false, coefficients),
                (i, true, networks[i].dense().unwrap().to_bytes(&Value::Null, &extra).unwrap()),
            ]
        })
        .collect();
    let expected = networks.each_ref().map(outputs);
    let (mut refused, mut unchanged, mut loaded) = (0, 0, 0);
    for case in 0..CASES {
        let mut dice = Dice(1000 + case);
        let (index, dense, bytes) = &files[dice.below(files.len())];
        let other = mutated(bytes, &mut dice);
        if other == *bytes {
            unchanged += 1;
            continue;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let summary = Metadata::from_bytes(&other).map(drop);
            if *dense {
                return (summary, DenseModel::from_bytes(&other).map(|_| None));
            }
            (summary, Network::from_bytes(&other).map(|(network, _)| Some(network)))
        }));
        let Ok((summary, found)) = outcome else { panic!("case {case} panicked") };
        match found {
            Err(Error::BadModel(why)) => {
                assert!(why.lines().count() == 1 && why.len() < 1000, "case {case}: {why}");
                refused += 1;
            }
            Err(other) => panic!("case {case}: {other:?}"),
            Ok(network) => {
                assert!(summary.is_ok(), "case {case}");
                assert!(same_numbers(&other, bytes), "case {case}: other numbers were loaded");
                // Other images are possible (the encoder takes any size); on the same ones it acts the same.
                if let Some(network) = network
                    && network.config().interface.image == networks[*index].config().interface.image
                    && network.config().interface.team_image == networks[*index].config().interface.team_image
                {
                    assert_eq!(outputs(&network), expected[*index], "case {case}");
                }
                loaded += 1;
            }
        }
    }
    println!(
        "{refused} refused, {loaded} loaded and the same, {unchanged} not changed, peak {:?} bytes",
        peak()
    );
    assert!(refused + loaded >= 10_000, "{refused} refused, {loaded} loaded");
    assert!(refused > 9 * loaded, "{refused} refused, {loaded} loaded");
    if let Some(bytes) = peak() {
        assert!(bytes < MOST_MEMORY, "the loader took {bytes} bytes");
    }
}
