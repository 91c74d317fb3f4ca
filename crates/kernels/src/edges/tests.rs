use super::*;
use crate::testing::{Noise, deviation};
use proptest::prelude::*;

struct Case {
    lists: Vec<Vec<usize>>,
    graph: Graph,
    columns: Columns,
    own: Vec<f32>,
    edges: Vec<f32>,
    sent: Option<Vec<f32>>,
    dmeans: Vec<f32>,
}

/// Whole numbers, and 0, 1, 2 or 4 edges per agent: everything is exact, also on which side of zero a sum is.
fn case(seed: u64, agents: usize, senders: usize, width: usize, tell: bool) -> Case {
    let mut noise = Noise::new(seed);
    let count = |noise: &mut Noise| if senders == 0 { 0 } else { [0, 1, 2, 4][noise.below(4)] };
    let lists: Vec<Vec<usize>> =
        (0..agents).map(|_| (0..count(&mut noise)).map(|_| noise.below(senders)).collect()).collect();
    let mut graph = Graph::default();
    for list in &lists {
        list.iter().for_each(|&j| graph.hear(j as u32));
        graph.end_agent();
    }
    let columns = Columns { stride: width + 3, first: 2, width };
    let edges = noise.whole(graph.edges() * width, 4);
    Case {
        own: noise.whole(agents * width, 4),
        sent: tell.then(|| noise.whole(senders * width, 4)),
        dmeans: noise.whole(agents * columns.stride, 4),
        lists,
        graph,
        columns,
        edges,
    }
}

/// Means, and the gradients of own, edges and sent, straight from the definition.
fn oracle(case: &Case) -> [Vec<f64>; 4] {
    let Columns { stride, first, width } = case.columns;
    let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| f64::from(x)).collect() };
    let mut means = vec![7.0; case.lists.len() * stride];
    let mut edges = vec![0.0; case.edges.len()];
    let mut own = vec![0.0; case.own.len()];
    let mut sent = vec![0.0; case.sent.as_ref().map_or(0, Vec::len)];
    let mut e = 0;
    for (i, list) in case.lists.iter().enumerate() {
        (0..width).for_each(|k| means[i * stride + first + k] = 0.0);
        for &j in list {
            for k in 0..width {
                let mut z = wide(&case.own)[i * width + k] + wide(&case.edges)[e * width + k];
                if let Some(sent) = &case.sent {
                    z += f64::from(sent[j * width + k]);
                }
                means[i * stride + first + k] += z.max(0.0) / list.len() as f64;
                if z > 0.0 {
                    let g = f64::from(case.dmeans[i * stride + first + k]) / list.len() as f64;
                    edges[e * width + k] = g;
                    own[i * width + k] += g;
                    if case.sent.is_some() {
                        sent[j * width + k] += g;
                    }
                }
            }
            e += 1;
        }
    }
    [means, own, edges, sent]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn agrees_with_the_oracle(
        agents in 0usize..7, senders in 0usize..5, width in 1usize..20, tell: bool, seed: u64,
    ) {
        let case = case(seed, agents, senders, width, tell);
        let (mut messages, mut means) = (case.edges.clone(), vec![7.0; agents * case.columns.stride]);
        forward(&case.graph, case.columns, &case.own, case.sent.as_deref(), &mut messages, &mut means).unwrap();
        let nan = |len| vec![f32::NAN; len];
        let (mut own, mut edges) = (nan(case.own.len()), nan(case.edges.len()));
        let mut sent = nan(case.sent.as_ref().map_or(0, Vec::len));
        let gradients = Gradients {
            own: &mut own,
            edges: &mut edges,
            sent: case.sent.is_some().then_some(&mut sent[..]),
        };
        backward(&case.graph, case.columns, &messages, &case.dmeans, gradients).unwrap();
        for (found, expected) in [&means, &own, &edges, &sent].into_iter().zip(oracle(&case)) {
            prop_assert_eq!(deviation(found, &expected), 0.0);
        }
        // In halves, with the ReLU in between: the same bits.
        let (mut rows, mut again) = (case.edges.clone(), vec![7.0; agents * case.columns.stride]);
        halves::sum(&case.graph, width, &case.own, case.sent.as_deref(), &mut rows).unwrap();
        rows.iter_mut().for_each(|z| *z = z.max(0.0));
        halves::mean(&case.graph, case.columns, &rows, &mut again).unwrap();
        prop_assert_eq!(&again, &means);
        let (mut dz, mut down, mut back) = (nan(rows.len()), nan(own.len()), nan(sent.len()));
        halves::mean_backward(&case.graph, case.columns, &case.dmeans, &mut dz).unwrap();
        dz.iter_mut().zip(&rows).for_each(|(d, m)| *d = if *m > 0.0 { *d } else { 0.0 });
        let tells = case.sent.is_some().then_some(&mut back[..]);
        halves::sum_backward(&case.graph, width, Gradients { own: &mut down, edges: &mut dz, sent: tells }).unwrap();
        prop_assert_eq!((&down, &dz, &back), (&own, &edges, &sent));
        // One agent after the other: the same bits.
        let mut e = 0;
        for (i, list) in case.lists.iter().enumerate() {
            let mut messages = case.edges[e * width..][..list.len() * width].to_vec();
            let sent = case.sent.as_ref().map(|s| -> Vec<f32> {
                list.iter().flat_map(|&j| s[j * width..][..width].to_vec()).collect()
            });
            let mut mean = vec![f32::NAN; width];
            one(&case.own[i * width..][..width], sent.as_deref(), &mut messages, &mut mean).unwrap();
            prop_assert_eq!(&mean, &means[i * case.columns.stride + 2..][..width]);
            let mut rows = case.edges[e * width..][..list.len() * width].to_vec();
            halves::sum_one(&case.own[i * width..][..width], sent.as_deref(), &mut rows).unwrap();
            rows.iter_mut().for_each(|z| *z = z.max(0.0));
            halves::mean_one(&rows, &mut mean).unwrap();
            prop_assert_eq!(&mean, &means[i * case.columns.stride + 2..][..width]);
            e += list.len();
        }
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let graph = Graph::new(vec![0, 1, 1], vec![1]).unwrap();
    let columns = Columns { stride: 2, first: 0, width: 2 };
    let run = |columns, own: usize, sent: usize, messages: usize, means: usize| {
        let (own, sent) = (vec![0.0; own], vec![0.0; sent]);
        forward(&graph, columns, &own, Some(&sent), &mut vec![0.0; messages], &mut vec![0.0; means])
    };
    assert!(run(columns, 4, 4, 2, 4).is_ok());
    assert!(run(columns, 3, 4, 2, 4).is_err());
    assert!(run(columns, 4, 3, 2, 4).is_err());
    assert!(run(columns, 4, 2, 2, 4).is_err(), "the graph names sender 1");
    assert!(run(columns, 4, 4, 4, 4).is_err());
    assert!(run(columns, 4, 4, 2, 5).is_err());
    assert!(run(Columns { first: 1, ..columns }, 4, 4, 2, 4).is_err());
    assert!(run(Columns { first: usize::MAX, ..columns }, 4, 4, 2, 4).is_err());
    assert!(run(Columns { width: 0, ..columns }, 0, 0, 0, 4).is_err());
    assert!(one(&[], None, &mut [], &mut []).is_err());
    assert!(one(&[0.0; 2], Some(&[0.0; 4]), &mut [0.0; 2], &mut [0.0; 2]).is_err());
}

/// A ReLU must not hide a number that is none.
#[test]
fn what_is_not_a_number_shows() {
    let mut mean = [0.0];
    one(&[f32::NAN], None, &mut [1.0], &mut mean).unwrap();
    assert!(mean[0].is_nan());
}
