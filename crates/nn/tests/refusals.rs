//! What does not make an equivariant network does not build, and says what would.

mod common;

use common::{group, worlds};
use equimarl_group::Rep;
use equimarl_nn::{
    Encoder, EncoderConfig, Interface, Linear, MessageRound, Network, NetworkConfig, NetworkKind, Space,
};

/// The error's text, with all the words that it must have.
fn refused<T: std::fmt::Debug>(result: equimarl_nn::Result<T>, words: &[&str]) {
    let error = result.map(|_| ()).unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "`{error}` does not say `{word}`");
    }
    assert!(!error.contains('\n'), "one line: {error}");
}

fn rep(name: &str, text: &str) -> Rep {
    Rep::parse(&group(name), text).unwrap()
}

fn encoder(
    hidden: Rep,
    features: Rep,
    side: [usize; 2],
    kernels: [usize; 2],
    strides: [usize; 2],
) -> equimarl_nn::Result<Encoder> {
    Encoder::new(&EncoderConfig { image: [1, side[0], side[1]], hidden, features, kernels, strides })
}

#[test]
fn a_relu_needs_permutations() {
    for (name, output) in [
        ("C4", "rotation"),
        ("D4", "regular + rotation"),
        ("C4", "sign"),
        ("C8", "rotation"),
        ("D4", "sign + trivial"),
    ] {
        let bad = output.split(" + ").find(|t| *t != "regular" && *t != "trivial").unwrap();
        let (input, output) = (rep(name, "2*regular"), rep(name, output));
        let words = ["ReLU", bad, name, "regular, quotient or trivial"];
        let both = [input.clone(), output.clone()];
        refused(Linear::new(&input, &both, true), &words);
        assert!(Linear::new(&input, &both, false).is_ok(), "without a ReLU it is fine");
        refused(MessageRound::new(&input, &rep(name, "rotation"), &output), &words);
        refused(encoder(output.clone(), input.clone(), [21; 2], [7, 5], [2, 1]), &words);
        refused(encoder(input, output, [21; 2], [7, 5], [2, 1]), &words);
    }
}

#[test]
fn sizes_that_a_stride_cuts_off_are_refused_with_ones_that_work() {
    let regular = rep("C4", "regular");
    let encoder = |side, kernels, strides| encoder(regular.clone(), regular.clone(), side, kernels, strides);
    refused(encoder([22; 2], [7, 5], [2, 1]), &["stride 2", "22", "21, 23"]);
    refused(encoder([21, 22], [7, 5], [2, 1]), &["22"]);
    refused(encoder([22, 21], [7, 5], [2, 1]), &["22"]);
    refused(encoder([5; 2], [7, 5], [2, 1]), &["size 5", "kernel 7"]);
    refused(encoder([13; 2], [7, 5], [2, 1]), &["size 4", "kernel 5"]); // the first convolution leaves 4 pixels
    // The second convolution's stride counts as well: 8 pixels, 5 x 5 filters, stride 2.
    refused(encoder([21; 2], [7, 5], [2, 2]), &["stride 2", "7, 9"]);
    refused(encoder([21; 2], [7, 5], [0, 1]), &["stride"]);
    refused(encoder([21; 2], [0, 5], [2, 1]), &["kernel"]);
    for size in [21, 23] {
        assert!(encoder([size; 2], [7, 5], [2, 1]).is_ok());
    }
}

#[test]
fn empty_bases_are_refused() {
    for (name, input, output) in
        [("C4", "trivial", "rotation"), ("D4", "trivial", "sign"), ("C8", "rotation", "rotation(2)")]
    {
        let words = ["only equivariant map", "zero", input, output];
        refused(Space::new(&rep(name, input), &rep(name, output), None), &words);
        refused(Linear::new(&rep(name, input), &[rep(name, input), rep(name, output)], false), &words);
    }
    let mixed = Space::new(&rep("C4", "regular"), &rep("D4", "regular"), None);
    refused(mixed, &["different groups", "C4", "D4"]);
}

#[test]
fn pictures_turn_under_six_groups_only() {
    for name in ["C8", "C3", "D3", "S3", "C2 x C2"] {
        let regular = rep(name, "regular");
        let words = ["C1, C2, C4, D1, D2 and D4"];
        refused(Space::new(&rep(name, "trivial"), &regular, Some(3)), &["pixel", words[0]]);
        refused(encoder(regular.clone(), regular, [21; 2], [7, 5], [2, 1]), &["pixel", words[0]]);
    }
}

fn paper(kind: NetworkKind, name: &str) -> NetworkConfig {
    let group = group(name);
    NetworkConfig::usual(worlds::wildlife(3, 7, &group), kind, &group)
}

fn init(config: &NetworkConfig) -> equimarl_nn::Result<Network> {
    Network::init(config, &mut || 0.1)
}

#[test]
fn networks_with_wrong_groups_are_refused() {
    let with = |kind, group: &str| {
        let mut config = paper(kind, "C1");
        config.group = group.into();
        init(&config)
    };
    refused(with(NetworkKind::Plain, "C4"), &["plain", "C1", "C4"]);
    refused(with(NetworkKind::CentralPlain, "D4"), &["central-plain", "C1", "D4"]);
    refused(with(NetworkKind::Equivariant, "C8"), &["C8", "C1, C2, C4, D1, D2 and D4"]);
    refused(with(NetworkKind::Equivariant, "Q8"), &["Q"]);
    refused(with(NetworkKind::Equivariant, ""), &["group"]);
    // The actions were written for D4, which has two generators.
    let mut config = paper(NetworkKind::Equivariant, "D4");
    config.group = "C4".into();
    refused(init(&config), &["generator"]);
}

#[test]
fn networks_with_wrong_widths_are_refused() {
    let with = |change: &dyn Fn(&mut NetworkConfig)| {
        let mut config = paper(NetworkKind::Equivariant, "D4");
        change(&mut config);
        init(&config)
    };
    refused(with(&|c| c.widths.convolutions = [2, 32]), &["width", "3", "4096"]); // 2 / sqrt(8) is no channel
    refused(with(&|c| c.widths.convolutions[1] = 0), &["width"]);
    refused(with(&|c| c.widths.rounds[0] = 5000), &["width", "4096"]);
    refused(with(&|c| c.widths.rounds[1] = usize::MAX), &["width"]);
    refused(with(&|c| c.widths.rounds = vec![]), &["rounds"]);
    refused(with(&|c| c.widths.rounds = vec![8; 17]), &["rounds", "16"]);
    refused(with(&|c| c.widths.hidden = vec![64]), &["hidden"]);
    assert!(with(&|c| c.widths.convolutions = [3, 3]).is_ok());
    let mut central = paper(NetworkKind::CentralEquivariant, "C4");
    central.widths.rounds = vec![64];
    refused(init(&central), &["rounds"]);
    central.widths.rounds = vec![];
    central.widths.hidden = vec![];
    refused(init(&central), &["hidden"]);
}

#[test]
fn networks_with_wrong_heads_or_pictures_are_refused() {
    let central = |change: &dyn Fn(&mut Interface)| {
        let mut config = paper(NetworkKind::CentralEquivariant, "C4");
        change(&mut config.interface);
        init(&config)
    };
    refused(central(&|s| drop(s.team_heads.pop())), &["3 agents", "10 logits"]);
    refused(central(&|s| s.team_heads = vec![]), &["0 logits"]);
    refused(central(&|s| s.team_heads[0] = "2*trivial".into()), &["12 logits"]);
    refused(central(&|s| s.agents = 4), &["4 agents"]);
    refused(central(&|s| s.agents = 0), &["agents"]);
    refused(central(&|s| s.agents = usize::MAX), &["agents"]);
    refused(central(&|s| s.actions = "perm[1 2 0]".into()), &["perm[1 2 0]", "C4"]); // a third of a turn
    refused(central(&|s| s.actions = "nonsense".into()), &["nonsense"]);
    refused(central(&|s| s.team_image = [0, 21, 21]), &[]);
    refused(central(&|s| s.team_image = [3, 22, 22]), &["21, 23"]);
    refused(central(&|s| s.team_image = [3, usize::MAX, usize::MAX]), &["images"]);
    // A city that is not square has no quarter turn.
    let c4 = group("C4");
    let city = NetworkConfig::usual(worlds::traffic(2, 3, &c4), NetworkKind::CentralEquivariant, &c4);
    refused(init(&city), &["C4", "6 agents"]);
    let local = NetworkConfig {
        kind: NetworkKind::Equivariant,
        widths: paper(NetworkKind::Equivariant, "C4").widths,
        ..city
    };
    assert!(init(&local).is_ok(), "local networks do not mind");
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let mut network = init(&paper(NetworkKind::Equivariant, "C4")).unwrap();
    let values: Vec<Vec<f32>> = network.parameters().into_iter().map(|p| p.1).collect();
    refused(network.set_parameters(values[..values.len() - 1].to_vec()), &["coefficients"]);
    let mut more = values.clone();
    more.push(vec![1.0]);
    refused(network.set_parameters(more), &["more parameters"]);
    let mut longer = values.clone();
    longer[0].push(0.0);
    refused(network.set_parameters(longer), &["coefficients"]);
    assert_eq!(
        network.parameters().into_iter().map(|p| p.1).collect::<Vec<_>>(),
        values,
        "nothing has changed"
    );
    assert!(network.set_parameters(values).is_ok());
}

#[test]
fn kinds_have_names() {
    for kind in NetworkKind::ALL {
        assert_eq!(kind.name().parse::<NetworkKind>().unwrap(), kind);
    }
    refused(
        "equivarient".parse::<NetworkKind>(),
        &["equivarient", "equivariant, plain, central-equivariant, central-plain"],
    );
}
