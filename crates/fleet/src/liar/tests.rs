use super::net::{Lies, Net, Rules, State};
use super::search::Search;
use equimarl_learn::interface;
use equimarl_nn::{Clip, MessageRanges, Network, NetworkConfig, NetworkKind, Scratch, Sent};
use equimarl_worlds::{Purpose, Stream, builtin};

fn stream(seed: u64) -> Stream {
    Stream::new(seed, Purpose::Weights, 3)
}

fn normals(chance: &mut Stream, count: usize, scale: f64) -> Vec<f64> {
    (0..count).map(|_| scale * chance.normal()).collect()
}

/// Agent 1 hears three others, one of which is the liar; with so few numbers all corners of what may be said can be tried.
#[test]
fn under_trimming_the_search_finds_what_trying_every_corner_finds() {
    const WIDTH: usize = 6;
    let (mut exact, mut least) = (0, f64::INFINITY);
    for seed in 0..40 {
        let chance = &mut stream(seed);
        let round = (normals(chance, WIDTH * 2 * WIDTH, 1.0), normals(chance, WIDTH, 0.3));
        let head = (normals(chance, 4 * WIDTH, 1.0), normals(chance, 4, 0.3));
        let net = Net::of(vec![round, head]);
        let encoded = (0..4).map(|_| normals(chance, WIDTH, 0.7).iter().map(|x| x.abs()).collect()).collect();
        let heard = vec![vec![], vec![(0, vec![]), (2, vec![]), (3, vec![])], vec![], vec![]];
        let state = State { heard, encoded };
        let bounds = vec![vec![[0.0, 2.0]; WIDTH]];
        let rules = Rules { clip: Some(bounds.clone()), trimmed: true };
        let honest = net.forward(&state, None, &rules);
        let search =
            Search { net: &net, state: &state, honest: &honest, rules: &rules, liar: 0, bounds: &bounds };
        let corner = |bits: usize| -> Lies {
            let number = |k: usize| if bits >> k & 1 == 1 { 2.0 } else { 0.0 };
            vec![vec![(0..WIDTH).map(number).collect(); 4]]
        };
        let best = (0..1 << WIDTH).map(|bits| search.harm(&corner(bits))).fold(f64::NEG_INFINITY, f64::max);
        let quiet = search.harm(&vec![vec![honest.features[0][0].clone(); 4]]);
        let (found, _) = search.worst(vec![], chance);
        // What the truth costs is not harm.
        let share = (found - quiet) / (best - quiet).max(1e-12);
        exact += usize::from(share > 0.999);
        least = least.min(share);
    }
    assert!(exact >= 34 && least > 0.5, "{exact} of 40, at least {least}");
}

/// A network as agents have it, its ranges, and a state in which everybody hears three others or more.
fn team() -> (Network, Clip, State, Vec<Vec<[f64; 2]>>) {
    let usual = builtin().usual("wildlife").unwrap().with("drones", 5usize);
    let group = "C4".parse().unwrap();
    let envs = builtin().make(&usual, &group, 1).unwrap();
    let setting = interface(envs.spec(), NetworkKind::Equivariant).unwrap();
    let mut chance = stream(5);
    let network =
        Network::init(&NetworkConfig::usual(setting, NetworkKind::Equivariant, &group), &mut || {
            chance.normal()
        });
    let mut network = network.unwrap();
    // The last layer starts small, so that all actions are alike; here they should not be.
    let parameters =
        network.parameters().into_iter().map(|(name, values)| match name.starts_with("policy") {
            true => values.iter().map(|v| v * 100.0).collect(),
            false => values,
        });
    network.set_parameters(parameters.collect::<Vec<Vec<f32>>>()).unwrap();
    let policy = network.policy().unwrap();
    // One range for the four turns of each channel.
    let rounds = (0..policy.rounds()).map(|l| vec![[0.0, 1.0]; policy.message_len(l) / 4]).collect();
    let clip = Clip::new(&policy, &MessageRanges { seen: 1, rounds }).unwrap();
    let bounds = (0..policy.rounds()).map(|l| {
        clip.bounds(l, policy.message_len(l)).into_iter().map(|range| range.map(f64::from)).collect()
    });
    let bounds = bounds.collect();
    let mut state = State::default();
    for i in 0..5 {
        let features = normals(&mut chance, policy.message_len(0), 0.6);
        // Numbers that both precisions have.
        state.encoded.push(features.into_iter().map(|x| (x.abs() as f32).into()).collect());
        let near = (0..5).filter(|&j| j != i && (i > 1 || j != 4));
        let edge = |j: usize| vec![j as f64 - i as f64, (i * j % 3) as f64];
        state.heard.push(near.map(|j| (j, edge(j))).collect());
    }
    (network, clip, state, bounds)
}

#[test]
fn the_study_trims_and_clips_as_agents_do() {
    let (network, clip, state, bounds) = team();
    let policy = network.policy().unwrap();
    let net = Net::new(&network, policy.rounds(), 2).unwrap();
    let mut chance = stream(9);
    let agents = state.encoded.len();
    let lies: Lies =
        bounds.iter().map(|of| (0..agents).map(|_| normals(&mut chance, of.len(), 3.0)).collect()).collect();
    for (liar, trimmed) in [(None, true), (Some(2), true), (Some(2), false)] {
        let rules = Rules { clip: Some(bounds.clone()), trimmed };
        let studied = net.forward(&state, liar.map(|liar| (liar, &lies)), &rules);
        let narrow = |x: &Vec<f64>| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let mut features: Vec<Vec<f32>> = state.encoded.iter().map(narrow).collect();
        let (mut scratch, mut out) = (Scratch::default(), vec![]);
        for (l, lies) in lies.iter().enumerate() {
            let mut after = vec![];
            for i in 0..agents {
                let (mut edges, mut said) = (vec![], vec![]);
                for (j, edge) in &state.heard[i] {
                    let lie = liar.filter(|liar| liar == j).map(|_| narrow(&lies[i]));
                    let mut message = lie.unwrap_or_else(|| features[*j].clone());
                    clip.clip(l, &mut message);
                    said.extend(message);
                    edges.extend(narrow(edge));
                }
                let own = &features[i];
                match trimmed {
                    true => {
                        let sent = Sent { edges: &edges, features: &said };
                        policy.round_trimmed(l, own, sent, &[], &mut scratch, &mut out).unwrap();
                    }
                    false => policy.round(l, own, &edges, &said, &mut scratch, &mut out).unwrap(),
                }
                after.push(out.clone());
            }
            features = after;
        }
        for (of, studied) in features.iter().zip(&studied.log_probabilities) {
            let decision = policy.decide(of).unwrap();
            for (p, q) in decision.log_probabilities.iter().zip(studied) {
                assert!((f64::from(*p) - q).abs() < 1e-3 * (1.0 + q.abs()), "{liar:?} {trimmed}: {p} {q}");
            }
        }
    }
}

#[test]
fn no_simple_lie_is_worse_than_the_worst_case() {
    let (network, _, state, bounds) = team();
    let net = Net::new(&network, bounds.len(), 2).unwrap();
    for (clipping, trimmed) in [(false, false), (true, false), (true, true)] {
        let rules = Rules { clip: clipping.then(|| bounds.clone()), trimmed };
        let honest = net.forward(&state, None, &rules);
        let search =
            Search { net: &net, state: &state, honest: &honest, rules: &rules, liar: 1, bounds: &bounds };
        let mut chance = stream(11);
        let of = |make: &mut dyn FnMut(usize, usize) -> f64| -> Lies {
            let round = |(l, of): (usize, &Vec<[f64; 2]>)| {
                let mut row = || (0..of.len()).map(|k| make(l, k)).collect::<Vec<f64>>();
                (0..5).map(|_| row()).collect()
            };
            bounds.iter().enumerate().map(round).collect()
        };
        let zeros = of(&mut |_, _| 0.0);
        let noise = of(&mut |_, _| chance.normal().clamp(0.0, 1.0));
        let other = of(&mut |l, k| honest.features[l][3][k].clamp(0.0, 1.0));
        let (found, lies) = search.worst(vec![zeros.clone(), noise.clone()], &mut chance);
        assert_eq!(found, search.harm(&lies));
        for simple in [zeros, noise, other] {
            assert!(found >= search.harm(&simple), "{clipping} {trimmed}");
        }
    }
}
