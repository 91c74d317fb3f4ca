//! What is written is read back, and what was not written is refused with a reason.

use super::*;
use crate::testing::worlds;
use crate::{BatchBuilder, Cache, DenseModel, NetworkKind, Output, Sharing, Widths};
use serde_json::json;

/// Numbers that look random and are always the same.
pub(super) fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
}

fn networks() -> Vec<Network> {
    let mut all = vec![];
    for kind in NetworkKind::ALL {
        for group in if kind.is_plain() { vec!["C1"] } else { vec!["C2", "C4", "D4", "matrix[0 -1, 1 0]"] } {
            let group = group.parse().unwrap();
            let worlds = [worlds::wildlife(3, 7, &group), worlds::traffic(2, 2, &group)];
            for interface in worlds {
                let config = NetworkConfig::usual(interface, kind, &group);
                all.push(Network::init(&config, &mut numbers(1)).unwrap());
            }
        }
    }
    all
}

fn small() -> Network {
    let group = "C4".parse().unwrap();
    let widths = Widths { convolutions: [4, 4], rounds: vec![4, 4], hidden: vec![] };
    let interface = worlds::wildlife(3, 5, &group);
    let config = NetworkConfig {
        interface,
        kind: NetworkKind::Equivariant,
        group: "C4".into(),
        channels: String::new(),
        widths,
    };
    Network::init(&config, &mut numbers(2)).unwrap()
}

/// Logits and values of two random states.
fn outputs(network: &Network) -> Output {
    let interface = &network.config().interface;
    let image = if network.is_central() { interface.team_image } else { interface.image };
    let mut builder = BatchBuilder::new(Sharing::None);
    for state in 0..2 {
        if network.is_central() {
            builder.state(state, |_, key| *key);
            builder.blind_agents(interface.agents);
        } else {
            (0..3).for_each(|agent| builder.agent(3 * state + agent, |_, key| *key));
            builder.edge(0, 1, [1.0, 0.5]);
            builder.edge(2, 0, [-0.5, 0.25]);
        }
        builder.end_state();
    }
    let paint = |key: &u64, pixels: &mut [f32]| {
        let mut next = numbers(100 + key);
        pixels.iter_mut().for_each(|p| *p = next() as f32);
    };
    let batch = builder.finish(image.iter().product(), paint).unwrap();
    let mut cache = Cache::default();
    network.clone().forward(&batch, &mut cache).unwrap();
    cache.output().clone()
}

fn refused(bytes: &[u8]) -> String {
    let errors = [
        Network::from_bytes(bytes).map(drop),
        DenseModel::from_bytes(bytes).map(drop),
        Metadata::from_bytes(bytes).map(drop),
    ];
    for error in &errors[1..] {
        assert!(error.is_err());
    }
    match &errors[0] {
        Err(error @ Error::BadModel(_)) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// The file of `network` with other metadata, under a checksum that fits.
fn with_metadata(network: &Network, change: impl Fn(&mut Value)) -> Vec<u8> {
    let bytes = network.to_bytes(&Value::Null, &Value::Null).unwrap();
    let (mut metadata, entries) = unpack(&bytes).unwrap();
    change(&mut metadata);
    pack(&metadata, &entries).unwrap()
}

fn with_entries(network: &Network, change: impl Fn(&mut Entries)) -> Vec<u8> {
    let bytes = network.to_bytes(&Value::Null, &Value::Null).unwrap();
    let (metadata, mut entries) = unpack(&bytes).unwrap();
    change(&mut entries);
    pack(&metadata, &entries).unwrap()
}

#[test]
fn plans_are_what_is_built() {
    for network in networks() {
        let plan = network.config().plan().unwrap();
        assert_eq!(plan.layers.len(), network.layers().count());
        for (planned, (name, space)) in plan.layers.iter().zip(network.layers()) {
            assert_eq!(planned.name, name);
            // A relaxed network has the exact one's plan, and runs as a plain one that is as wide.
            if network.config().kind == NetworkKind::Relaxed {
                let dims = (planned.input.dim(), planned.output.dim());
                assert_eq!(dims, (space.input().dim(), space.output().dim()));
                continue;
            }
            assert_eq!((&planned.input, &planned.output), (space.input(), space.output()));
            assert_eq!(planned.input.to_string(), space.input().to_string());
            assert_eq!((planned.kernel, planned.ranks()), (space.kernel(), space.ranks()));
        }
        assert_eq!(plan.parameters(), network.values().len());
        let shapes: Shapes =
            network.dense().unwrap().tensors.into_iter().map(|(n, t)| (n, t.shape)).collect();
        assert_eq!(plan.realised(), shapes);
        let named: Shapes = network.named().into_iter().map(|(n, range)| (n, vec![range.len()])).collect();
        assert_eq!(plan.coefficients(), named);
    }
}

#[test]
fn a_loaded_network_is_the_saved_one() {
    for network in networks() {
        let extra = json!({ "seed": 3, "commit": "abc", "note": "näher\n\"heran\"" });
        let bytes = network.to_bytes(&Value::Null, &extra).unwrap();
        let (loaded, metadata) = Network::from_bytes(&bytes).unwrap();
        let bits = |n: &Network| -> Vec<(String, Vec<u32>)> {
            let bits = |v: Vec<f32>| v.into_iter().map(f32::to_bits).collect();
            n.parameters().into_iter().map(|(name, values)| (name, bits(values))).collect()
        };
        assert_eq!(bits(&loaded), bits(&network));
        assert_eq!(loaded.config(), network.config());
        assert_eq!(metadata.extra, extra);
        assert_eq!(metadata.parameters, network.values().len());
        assert_eq!(outputs(&loaded), outputs(&network));
        assert_eq!(loaded.to_bytes(&Value::Null, &extra).unwrap(), bytes);
        assert_eq!(Metadata::from_bytes(&bytes).unwrap(), metadata);
        assert_eq!(network.metadata(&Value::Null, &extra).unwrap(), metadata);

        let dense = network.dense().unwrap();
        let bytes = dense.to_bytes(&Value::Null, &extra).unwrap();
        let (same, metadata) = DenseModel::from_bytes(&bytes).unwrap();
        assert_eq!(same, dense);
        assert_eq!(same.to_bytes(&Value::Null, &extra).unwrap(), bytes);
        assert_eq!(metadata.content, Content::Dense);
    }
}

#[test]
fn equal_models_are_equal_files() {
    let one = json!({ "a": { "y": 1, "x": 2 }, "b": 3 });
    let mut other = serde_json::Map::new();
    other.insert("b".into(), json!(3));
    other.insert("a".into(), json!({ "x": 2, "y": 1 }));
    let bytes = small().to_bytes(&Value::Null, &one).unwrap();
    assert_eq!(bytes, small().to_bytes(&Value::Null, &Value::Object(other)).unwrap());
    assert_ne!(bytes, small().to_bytes(&Value::Null, &Value::Null).unwrap());
}

#[test]
fn files_appear_whole() {
    let folder = std::env::temp_dir().join(format!("equimarl-model-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.safetensors");
    std::fs::write(&path, "something else").unwrap();
    let network = small();
    network.save(&path, &Value::Null, &Value::Null).unwrap();
    let (loaded, _) = Network::load(&path).unwrap();
    assert_eq!(loaded.parameters(), network.parameters());
    let (dense, other) = (network.dense().unwrap(), folder.join("dense.safetensors"));
    dense.save(&other, &Value::Null, &Value::Null).unwrap();
    assert_eq!(DenseModel::from_bytes(&std::fs::read(&other).unwrap()).unwrap().0, dense);
    // No draft is left behind, also not by a save that fails.
    assert!(network.save(folder.join("missing").join("x"), &Value::Null, &Value::Null).is_err());
    assert!(matches!(network.save(&folder, &Value::Null, &Value::Null), Err(Error::File { .. })));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    // A folder, a file that is not there, one that is too large (sparse: it takes no space).
    assert!(matches!(Network::load(&folder), Err(Error::File { .. })));
    assert!(matches!(Network::load(folder.join("no")), Err(Error::File { .. })));
    std::fs::File::create(&path).unwrap().set_len(MAX_FILE as u64 + 1).unwrap();
    let error = Network::load(&path).unwrap_err().to_string();
    assert!(error.contains("model.safetensors: it has 67108865 bytes"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn other_files_are_refused_with_their_reason() {
    let network = small();
    let bytes = network.to_bytes(&Value::Null, &Value::Null).unwrap();
    for (bytes, part) in [
        (vec![], "not a safetensors file: it has 0 bytes"),
        (b"GIF89a and then some".to_vec(), "it is not a safetensors file"),
        (b"nonsense".to_vec(), "it is not a safetensors file"),
        (vec![0; 64], "not a safetensors file"),
        ([&(1u64 << 21).to_le_bytes()[..], &vec![b'{'; 1 << 21]].concat(), "its header claims 2097152 bytes"),
        (bytes[..bytes.len() - 4].to_vec(), "it may be cut off"),
        ([&bytes[..], &[0]].concat(), "follow; it may be cut off"),
    ] {
        let error = refused(&bytes);
        assert!(error.contains(part), "{error}");
    }
    let foreign = safetensors::serialize([("x", &Entry::numbers(&[1], &[1.0]).unwrap())], None).unwrap();
    assert!(refused(&foreign).contains("no `equimarl` metadata"));
    let error = Network::from_bytes(&network.dense().unwrap().to_bytes(&Value::Null, &Value::Null).unwrap());
    assert!(error.unwrap_err().to_string().contains("a dense export"));
    assert!(DenseModel::from_bytes(&bytes).unwrap_err().to_string().contains("export it as dense"));
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let network = small();
    let one = |values: &[f32]| Entry::numbers(&[values.len()], values).unwrap();
    static BYTES: [u8; 2] = [0; 2];
    for (bytes, part) in [
        (with_entries(&network, |e| drop(e.remove("value.bias"))), "`value.bias` is missing"),
        (
            with_entries(&network, |e| drop(e.insert("round3.bias".into(), one(&[0.0])))),
            "no tensor `round3.bias`",
        ),
        (with_entries(&network, |e| drop(e.insert("a\nb".into(), one(&[0.0])))), "no tensor `a b`"),
        (
            with_entries(&network, |e| drop(e.insert("value.bias".into(), one(&[0.0; 2])))),
            "shape [2] instead of [1]",
        ),
        (with_entries(&network, |e| drop(e.insert("round1.bias".into(), Entry::bytes(&BYTES)))), "32-bit"),
        (with_entries(&network, |e| drop(e.insert("value.bias".into(), one(&[f32::NAN])))), "not finite"),
    ] {
        let error = refused(&bytes);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn absurd_metadata_is_refused_before_anything_is_built() {
    let network = small();
    let set = |pointer: &'static str, value: Value| {
        let change = move |metadata: &mut Value| {
            *metadata.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
        };
        refused(&with_metadata(&network, change))
    };
    let huge = 1u64 << 60;
    for (error, part) in [
        (set("/format", json!(3)), "format version 3, and this equimarl reads up to 2"),
        (set("/format", json!("1")), "no format version"),
        (set("/format", json!(0)), "format 0, and the first one is 1"),
        (set("/parameters", json!(1)), "1 parameters"),
        (set("/representations/0/kernel", json!(5)), "conv1 differs"),
        (set("/representations", json!([])), "the last layer differs"),
        (set("/network/kind", json!("magic")), "unknown variant"),
        (set("/network/widths/rounds", json!([huge, 4])), "widths are between"),
        (set("/network/widths/rounds", json!([4096, 4096])), "weights, and we build at most"),
        (set("/network/widths/rounds", json!([4, 4, 4])), "representations"),
        (set("/network/widths/rounds", json!(vec![4; 17])), "1 to 16 message rounds"),
        (set("/network/widths/convolutions", json!([0, 4])), "widths are between"),
        (set("/network/interface/agents", json!(huge)), "1 to 1048576 agents"),
        (set("/network/interface/agents", json!(-1)), "does not fit"),
        (set("/network/interface/image", json!([huge, huge, 15])), "images have more"),
        (set("/network/interface/image", json!([1, 0, 15])), "too small for its filters"),
        (set("/network/interface/image", json!([0, 15, 15])), "at least one copy"),
        (set("/network/interface/image", json!([85000, 7, 7])), "too small for its filters"),
        (set("/network/interface/image", json!([18000, 15, 15])), "weights, and we build at most"),
        (set("/network/interface/world", json!("two\nlines")), "one line"),
        (set("/network/interface/actions", json!("16777216*trivial")), "weights, and we build at most"),
        (set("/network/interface/actions", json!("pixels(1400)")), "`pixels`"),
        (set("/network/interface/actions", json!("9999*tensor(trivial + trivial, regular)")), "`tensor`"),
        (set("/network/interface/actions", json!("rotation")), "not a permutation"),
        (set("/network/interface/actions", json!(vec!["trivial"; 65].join("+"))), "64 summands"),
        (set("/network/interface/actions", json!("trivial+".repeat(9000))), "65536 bytes"),
        (set("/network/interface/actions", json!("perm[0 1; 1 0]")), "2 generators"),
        (set("/network/group", json!("C3")), "does not map the square pixel grid"),
        (set("/network/group", json!("C2048")), "does not map the square pixel grid"),
        (set("/network/group", json!("C9999")), "too large"),
        (set("/network/group", json!(format!("perm[{}]", "0 ".repeat(100)))), "128 bytes"),
        (set("/network/group", json!("D4")), "perm"),
    ] {
        assert!(error.contains(part), "expected `{part}`: {error}");
    }
    let added = with_metadata(&network, |m| m["network"]["interface"]["colour"] = json!("red"));
    assert!(refused(&added).contains("unknown field `colour`"));
    let needed = with_metadata(&network, |m| m["requires"] = json!(["world", "rotor"]));
    assert!(refused(&needed).contains("needs `rotor`, which this equimarl does not know"));
    let more = with_metadata(&network, |m| m["rotor"] = json!("red"));
    let (_, metadata) = Network::from_bytes(&more).unwrap();
    assert_eq!(metadata.more["rotor"], "red");
    let first = with_metadata(&network, |m| (m["rotor"], m["format"]) = (json!("red"), json!(1)));
    assert!(refused(&first).contains("format 1 has no `rotor`"));
    let removed = with_metadata(&network, |m| drop(m.as_object_mut().unwrap().remove("software")));
    assert!(refused(&removed).contains("missing field `software`"));
}

#[test]
fn a_wrong_permutation_of_many_points_is_an_error_of_one_line() {
    // Written out as matrices, these would take gigabytes.
    let mut points: Vec<String> = (0..10_000).map(|i| i.to_string()).collect();
    points.rotate_left(1);
    let text = format!("perm[{}]", points.join(" "));
    let bytes = with_metadata(&small(), |m| m["network"]["interface"]["actions"] = json!(text));
    assert!(refused(&bytes).contains("is not a representation of C4"));
}

#[test]
fn offsets_near_the_largest_number_are_refused() {
    // Eight tensors without a gap, of 2^64 - 64 bytes in all: adding the header's length to their end would overflow.
    let part = (1u64 << 61) - 8;
    let mut header = serde_json::Map::new();
    let mut at = 0u64;
    for i in 0..8 {
        header.insert(
            format!("t{i}"),
            json!({ "dtype": "U8", "shape": [part], "data_offsets": [at, at + part] }),
        );
        at += part;
    }
    let header = Value::Object(header).to_string();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    refused(&bytes);
}

#[test]
fn what_cannot_be_loaded_is_not_saved() {
    let mut network = small();
    let mut values: Vec<Vec<f32>> = network.parameters().into_iter().map(|(_, v)| v).collect();
    values[0][0] = f32::INFINITY;
    network.set_parameters(values).unwrap();
    assert!(network.to_bytes(&Value::Null, &Value::Null).unwrap_err().to_string().contains("conv1.weight"));
    assert!(network.dense().unwrap().to_bytes(&Value::Null, &Value::Null).is_err());
    let large = json!({ "notes": "x".repeat(MAX_HEADER) });
    assert!(
        small()
            .to_bytes(&Value::Null, &large)
            .unwrap_err()
            .to_string()
            .contains("takes more than 1048576 bytes")
    );
    let mut dense = small().dense().unwrap();
    dense.tensors.remove("conv1.bias");
    assert!(dense.to_bytes(&Value::Null, &Value::Null).is_err());
}
