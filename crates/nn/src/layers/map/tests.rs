use super::*;
use crate::testing::Noise;
use equimarl_group::{Group, Rep};

const CASES: [(&str, &str, &str, &str); 11] = [
    ("D4", "3*regular", "2*regular", "fourier"),
    ("C4", "3*regular", "9*regular", "fourier"),
    ("C5", "2*regular", "3*regular", "fourier"),
    ("D3", "2*regular + regular", "regular", "fourier"),
    ("D8", "regular", "2*regular", "fourier"),
    ("C16", "2*regular", "regular", "fourier"),
    ("C2", "3*regular", "2*regular", "dense"),
    ("D4", "3*regular + rotation", "2*regular", "dense"),
    ("C1", "5*trivial", "4*trivial", "dense"),
    ("D8", "3*trivial + 2*rotation + 3*trivial + 2*rotation", "2*trivial + 3*rotation", "blocks"),
    ("C8", "trivial + 2*rotation + rotation(2)", "2*trivial + rotation + rotation(2)", "blocks"),
];

fn form(map: &Map) -> &'static str {
    match map.form {
        Form::Dense(_) => "dense",
        Form::Blocks(_) => "blocks",
        Form::Fourier(_) => "fourier",
    }
}

/// W x + b in f64 from the entries of W, with the gradients of its dot product with `pulls`: out, dx and those of coefficients.
fn oracle(space: &Space, coefficients: &[f32], x: &[f32], pulls: &[f32], relu: bool) -> [Vec<f64>; 3] {
    let (inputs, outputs) = (space.input().dim(), space.output().dim());
    let weights = space.ranks()[0];
    let mut out = vec![0.0; pulls.len()];
    let (mut dx, mut gradients) = (vec![0.0; x.len()], vec![0.0; coefficients.len()]);
    let wide = |v: f32| f64::from(v);
    for r in 0..x.len() / inputs {
        for o in 0..outputs {
            let entries = |i: usize| space.weight().terms(o * inputs + i);
            let entry = |i: usize| entries(i).map(|(c, s)| wide(coefficients[c]) * wide(s)).sum::<f64>();
            let bias = space.bias().terms(o).map(|(c, s)| wide(coefficients[weights + c]) * wide(s));
            let y = bias.sum::<f64>() + (0..inputs).map(|i| entry(i) * wide(x[r * inputs + i])).sum::<f64>();
            out[r * outputs + o] = if relu { y.max(0.0) } else { y };
            let d = wide(pulls[r * outputs + o]);
            space.bias().terms(o).for_each(|(c, s)| gradients[weights + c] += d * wide(s));
            for i in 0..inputs {
                dx[r * inputs + i] += d * entry(i);
                entries(i).for_each(|(c, s)| gradients[c] += d * wide(s) * wide(x[r * inputs + i]));
            }
        }
    }
    [out, dx, gradients]
}

#[test]
fn every_form_is_the_same_map() {
    for (group, input, output, expected) in CASES {
        let group: Group = group.parse().unwrap();
        let [input, output] = [input, output].map(|text| Rep::parse(&group, text).unwrap());
        let space = Space::new(&input, &output, None).unwrap();
        let map = Map::new(&space, 0..input.dim(), true).unwrap();
        assert_eq!(form(&map), expected, "{group}: {input} to {output}");
        let (mut noise, rows) = (Noise::new(17), 7);
        let coefficients = noise.normals(space.parameters());
        let (x, pulls) = (noise.normals(rows * input.dim()), noise.normals(rows * output.dim()));
        let (mut weights, mut saved, mut work) =
            (MapWeights::default(), MapWork::default(), LinearWork::default());
        map.realise(&coefficients, &mut weights).unwrap();
        let [mut out, mut positive] = [(); 2].map(|()| vec![f32::NAN; pulls.len()]);
        map.forward(&weights, &x, true, &mut saved, &mut positive).unwrap();
        map.forward(&weights, &x, false, &mut saved, &mut out).unwrap();
        let (mut dx, mut gradients) = (vec![f32::NAN; x.len()], vec![0.0; coefficients.len()]);
        let both = (&mut saved, &mut work);
        map.backward(&weights, (&x, &pulls), both, Some(&mut dx), &mut gradients).unwrap();
        let expected = oracle(&space, &coefficients, &x, &pulls, false);
        for (found, expected) in [&out, &dx, &gradients].into_iter().zip(&expected) {
            let size = expected.iter().fold(1.0f64, |m, y| m.max(y.abs()));
            for (a, b) in found.iter().zip(expected) {
                assert!((f64::from(*a) - b).abs() < 1e-5 * size, "{group}: {a} instead of {b}");
            }
        }
        let [above, ..] = oracle(&space, &coefficients, &x, &pulls, true);
        assert!(positive.iter().zip(&above).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4));
    }
}

/// The parts of messages: regular columns beside those of edges, without a bias.
#[test]
fn columns_have_a_form_of_their_own() {
    let group: Group = "D4".parse().unwrap();
    let [input, output] =
        ["2*regular + rotation + 3*regular", "2*regular"].map(|t| Rep::parse(&group, t).unwrap());
    let space = Space::new(&input, &output, None).unwrap();
    let forms = [0..16, 16..18, 18..42].map(|columns| form(&Map::new(&space, columns, false).unwrap()));
    assert_eq!(forms, ["fourier", "dense", "fourier"]);
}
