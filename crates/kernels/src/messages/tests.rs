use super::*;
use crate::testing::{Noise, deviation, on_threads};
use proptest::prelude::*;

struct Case {
    graph: Graph,
    lists: Vec<Vec<usize>>,
    size: (usize, usize, usize),
    edges: Vec<f32>,
    features: Vec<f32>,
    w: Vec<f32>,
    b: Vec<f32>,
    dout: Vec<f32>,
}

fn case(seed: u64, agents: usize, size: (usize, usize, usize), whole: bool) -> Case {
    let mut noise = Noise::new(seed);
    let lists: Vec<Vec<usize>> = (0..agents)
        .map(|i| {
            // Only 0, 1 or 3 neighbours, so that weights are powers of two and whole numbers stay exact.
            let count = [0, 1, 3][noise.below(3)].min(agents - 1);
            let count = if count == 2 { 1 } else { count };
            (0..count).map(|k| (i + 1 + k) % agents).collect()
        })
        .collect();
    let mut offsets = vec![0];
    for list in &lists {
        offsets.push(offsets[offsets.len() - 1] + list.len() as u32);
    }
    let flat: Vec<u32> = lists.iter().flatten().map(|&j| j as u32).collect();
    let (f, e, o) = size;
    let count = flat.len();
    let mut numbers = |len| match whole {
        true => noise.whole(len, 4),
        false => noise.floats(len),
    };
    Case {
        lists,
        size,
        edges: numbers(count * e),
        features: numbers(agents * f),
        w: numbers((2 * f + e) * o),
        b: numbers(o),
        dout: numbers(agents * o),
        graph: Graph::new(offsets, flat).unwrap(),
    }
}

/// out, df, dw, db
fn run(case: &Case, level: Level) -> [Vec<f32>; 4] {
    let (f, e, o) = case.size;
    let round = Round::with_level(f, e, o, level).unwrap();
    let (mut packed, mut saved) = (Packed::default(), Activations::default());
    round.linear().pack(&case.w, &case.b, &mut packed).unwrap();
    let mut out = vec![f32::NAN; case.dout.len()];
    round.forward(&case.graph, &case.edges, &case.features, &packed, &mut saved, &mut out).unwrap();
    let mut dz = case.dout.clone();
    linear::relu_backward(&out, &mut dz).unwrap();
    let mut df = vec![f32::NAN; case.features.len()];
    let (mut dw, mut db) = (vec![f32::NAN; case.w.len()], vec![f32::NAN; o]);
    let gradients = Gradients { features: &mut df, w: &mut dw, b: &mut db };
    let mut workspace = Workspace::default();
    round.backward(&case.graph, &packed, &saved, &dz, &mut workspace, gradients).unwrap();
    [out, df, dw, db]
}

/// The definition, in f64.
fn outputs(case: &Case, features: &[f64], w: &[f64], b: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (f, e, o) = case.size;
    let mut edge = 0;
    let (mut out, mut inputs) = (Vec::new(), Vec::new());
    for (i, list) in case.lists.iter().enumerate() {
        let a = 1.0 / (1.0 + list.len() as f64);
        let mut input = features[i * f..][..f].to_vec();
        input.resize(2 * f + e, 0.0);
        for &j in list {
            for k in 0..e {
                input[f + k] += a * f64::from(case.edges[edge * e + k]);
            }
            for k in 0..f {
                input[f + e + k] += a * features[j * f + k];
            }
            edge += 1;
        }
        for k in 0..o {
            let row = &w[k * input.len()..][..input.len()];
            let z: f64 = b[k] + row.iter().zip(&input).map(|(w, x)| w * x).sum::<f64>();
            out.push(z.max(0.0));
        }
        inputs.push(input);
    }
    (out, inputs)
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

fn oracle(case: &Case) -> [Vec<f64>; 4] {
    let (f, e, o) = case.size;
    let (w, b) = (wide(&case.w), wide(&case.b));
    let (out, inputs) = outputs(case, &wide(&case.features), &w, &b);
    let (mut df, mut dw, mut db) = (vec![0.0; case.features.len()], vec![0.0; w.len()], vec![0.0; o]);
    let width = 2 * f + e;
    for (i, list) in case.lists.iter().enumerate() {
        let a = 1.0 / (1.0 + list.len() as f64);
        for k in 0..o {
            if out[i * o + k] <= 0.0 {
                continue;
            }
            let g = f64::from(case.dout[i * o + k]);
            db[k] += g;
            for c in 0..width {
                dw[k * width + c] += g * inputs[i][c];
            }
            for c in 0..f {
                df[i * f + c] += g * w[k * width + c];
                for &j in list {
                    df[j * f + c] += a * g * w[k * width + f + e + c];
                }
            }
        }
    }
    [out, df, dw, db]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn agrees_with_the_oracle_exactly_on_whole_numbers(
        agents in 1usize..40, f in 1usize..20, e in 0usize..4, o in 1usize..20, seed: u64,
    ) {
        let case = case(seed, agents, (f, e, o), true);
        let expected = oracle(&case);
        for level in Level::available() {
            for (found, expected) in run(&case, level).iter().zip(&expected) {
                prop_assert_eq!(deviation(found, expected), 0.0, "{}", level);
            }
        }
    }
}

#[test]
fn agrees_with_the_oracle_on_fractions() {
    let case = case(11, 60, (64, 2, 64), false);
    for level in Level::available() {
        for (found, expected) in run(&case, level).iter().zip(&oracle(&case)) {
            assert!(deviation(found, expected) < 1e-5, "{level}");
        }
    }
}

#[test]
fn the_oracles_gradient_is_a_finite_difference() {
    let case = case(12, 7, (5, 2, 6), false);
    let [_, df, dw, db] = oracle(&case);
    let (features, w, b) = (wide(&case.features), wide(&case.w), wide(&case.b));
    let loss = |features: &[f64], w: &[f64], b: &[f64]| -> f64 {
        let (out, _) = outputs(&case, features, w, b);
        out.iter().zip(&case.dout).map(|(y, &g)| y * f64::from(g)).sum()
    };
    let step = 1e-6;
    for (which, gradient) in [&df, &dw, &db].into_iter().enumerate() {
        for at in 0..gradient.len() {
            let at_shift = |by: f64| {
                let mut all = [features.clone(), w.clone(), b.clone()];
                all[which][at] += by;
                loss(&all[0], &all[1], &all[2])
            };
            let slope = (at_shift(step) - at_shift(-step)) / (2.0 * step);
            assert!((slope - gradient[at]).abs() < 1e-6, "{which} {at}");
        }
    }
}

#[test]
fn same_bits_on_any_number_of_threads_and_vector_width() {
    let case = case(13, 350, (64, 2, 64), false);
    let one = on_threads(1, || run(&case, Level::best()));
    assert_eq!(one, on_threads(2, || run(&case, Level::best())));
    for &level in &Level::available()[1..] {
        assert_eq!(one, run(&case, level));
    }
}

#[test]
fn an_agent_alone_computes_its_row_of_the_batch() {
    let case = case(14, 40, (22, 2, 22), false);
    let [batch, ..] = run(&case, Level::best());
    let (f, e, o) = case.size;
    let round = Round::new(f, e, o).unwrap();
    let mut packed = Packed::default();
    round.linear().pack(&case.w, &case.b, &mut packed).unwrap();
    let (mut input, mut out) = (Vec::new(), vec![0.0; o]);
    let mut edge = 0;
    for (i, list) in case.lists.iter().enumerate() {
        let own = &case.features[i * f..][..f];
        let edges = &case.edges[edge * e..][..list.len() * e];
        let received: Vec<f32> = list.iter().flat_map(|&j| case.features[j * f..][..f].to_vec()).collect();
        round.one(own, edges, &received, &packed, &mut input, &mut out).unwrap();
        assert_eq!(out, batch[i * o..][..o]);
        edge += list.len();
    }
}

#[test]
fn strangers_do_not_matter() {
    let mut case = case(15, 12, (16, 2, 16), false);
    let [before, ..] = run(&case, Level::best());
    let changed = 5;
    for x in &mut case.features[changed * 16..][..16] {
        *x += 3.0;
    }
    let [after, ..] = run(&case, Level::best());
    for (i, list) in case.lists.iter().enumerate() {
        if i != changed && !list.contains(&changed) {
            assert_eq!(before[i * 16..][..16], after[i * 16..][..16]);
        }
    }
}

#[test]
fn a_graph_that_grows_is_the_graph_at_once() {
    let case = case(16, 20, (6, 0, 3), true);
    let mut graph = Graph::new(vec![0, 1], vec![0]).unwrap();
    graph.clear();
    for list in &case.lists {
        list.iter().for_each(|&j| graph.hear(j as u32));
        graph.end_agent();
    }
    assert_eq!(graph, case.graph);
    // Somebody who is not there is found when the graph is used.
    graph.hear(20 + 1);
    graph.end_agent();
    let (round, mut packed) = (Round::new(6, 0, 3).unwrap(), Packed::default());
    round.linear().pack(&[0.0; 36], &[0.0; 3], &mut packed).unwrap();
    let mut out = vec![0.0; 21 * 3];
    let found = round.forward(&graph, &[], &[0.0; 126], &packed, &mut Activations::default(), &mut out);
    assert!(matches!(found, Err(Error::Index { name: "neighbours", .. })), "{found:?}");
}

#[test]
fn wrong_graphs_and_sizes_are_errors() {
    assert_eq!(Graph::new(vec![], vec![]), Err(Error::Offsets { at: 0 }));
    assert_eq!(Graph::new(vec![1], vec![0]), Err(Error::Offsets { at: 0 }));
    assert_eq!(Graph::new(vec![0, 2, 1], vec![0]), Err(Error::Offsets { at: 2 }));
    assert_eq!(Graph::new(vec![0, 1], vec![]), Err(Error::Offsets { at: 1 }));
    assert!(Graph::new(vec![0, 1], vec![1]).is_err());
    assert!(Round::new(0, 2, 4).is_err() && Round::new(usize::MAX, 2, 4).is_err());
    let graph = Graph::new(vec![0, 1, 2], vec![1, 0]).unwrap();
    let round = Round::new(3, 2, 4).unwrap();
    let (mut packed, mut saved) = (Packed::default(), Activations::default());
    round.linear().pack(&[0.0; 32], &[0.0; 4], &mut packed).unwrap();
    let mut out = [0.0; 8];
    let mut forward = |edges: &[f32], features: &[f32]| {
        round.forward(&graph, edges, features, &packed, &mut saved, &mut out)
    };
    assert!(forward(&[0.0; 3], &[0.0; 6]).is_err());
    assert!(forward(&[0.0; 4], &[0.0; 5]).is_err());
    assert!(forward(&[0.0; 4], &[0.0; 6]).is_ok());
    let (mut df, mut dw, mut db) = ([0.0; 6], [0.0; 32], [0.0; 4]);
    let gradients = Gradients { features: &mut df, w: &mut dw, b: &mut db };
    let other = Activations::default();
    let mut workspace = Workspace::default();
    let result = round.backward(&graph, &packed, &other, &[0.0; 8], &mut workspace, gradients);
    assert_eq!(result, Err(Error::Foreign { name: "saved" }));
}
