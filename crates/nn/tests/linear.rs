//! Equivariant linear layers: y turns when x turns, for any representations, and W x + b is what it says.

mod common;

use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use common::{Random, group, numbers, relative, tensor};
use equimarl_group::{Rep, equivariance_error};
use equimarl_nn::{EquivariantLinear, EquivariantLinearConfig};

/// Groups with an input and an output representation. Permutations, signs, and those that need a dense basis.
const CASES: [(&str, &str, &str); 17] = [
    ("C1", "7*regular", "5*trivial"),
    ("C2", "3*regular + rotation", "4*regular"),
    ("C4", "3*regular + rotation + 3*regular", "5*regular"),
    ("C4", "4*regular", "perm[0 4 1 2 3]"),
    ("C4", "2*regular + sign", "rotation + quotient(C2)"),
    ("D1", "2*regular + rotation", "3*regular"),
    ("D2", "2*regular + rotation", "3*regular"),
    ("D4", "2*regular + rotation", "2*regular + sign"),
    ("D4", "pixels(3)", "rotation + trivial"),
    // From here on rotations are not signed permutations, so coefficients mix in every entry.
    ("C8", "2*regular + rotation", "regular + rotation(3)"),
    ("C3", "rotation + trivial", "2*regular"),
    ("D6", "2*rotation + regular", "rotation + rotation(2) + trivial"),
    ("C5", "2*rotation", "3*rotation"),
    ("S3", "2*natural + sign", "regular + natural"),
    ("S4", "natural + trivial", "2*natural"),
    ("C4 x C2", "regular + sign", "2*regular"),
    ("perm[1 2 0 3; 0 1 3 2]", "2*natural", "regular"),
];

fn layer((name, input, output): (&str, &str, &str), act: bool, random: &mut Random) -> EquivariantLinear {
    let group = group(name);
    let (input, output) = (Rep::parse(&group, input).unwrap(), Rep::parse(&group, output).unwrap());
    let act = act && output.is_permutation();
    let config = EquivariantLinearConfig::new(input, output);
    let config = if act { config.with_relu() } else { config };
    let mut layer = config.init(&mut || random.normal(), &Device::flex().autodiff()).unwrap();
    let [weight, bias] = layer.weights.coefficients();
    let bias = random.normals(bias.len());
    layer.weights.set([weight, bias]).unwrap();
    layer
}

fn acts(case: (&str, &str, &str)) -> bool {
    Rep::parse(&group(case.0), case.2).unwrap().is_permutation()
}

/// Inputs lie in [-1, 1] and weights keep the scale, so outputs are near 1. A sum of at most 30 terms in f32 is off by
/// at most 30 x 6e-8 times the sum of sizes (about 5), which is 1e-5.
#[test]
fn turning_the_input_turns_the_output() {
    let mut random = Random::new(1);
    for case in CASES {
        let layer = layer(case, true, &mut random);
        let space = layer.weights.space();
        let map = |x: &[f64]| {
            let x: Vec<f32> = x.iter().map(|v| *v as f32).collect();
            let y = layer.forward(tensor(&x, [1, x.len()], &Device::flex().autodiff()));
            numbers(y).into_iter().map(f64::from).collect()
        };
        let error = equivariance_error(map, space.input(), space.output()).unwrap();
        assert!(error < 1e-5, "{case:?}: {error:e}");
    }
}

/// The same with Burn's own matrix product; outputs to f32 rounding, gradients to 1e-4 and in truth much better.
#[test]
fn outputs_and_gradients_equal_those_of_plain_matrices() {
    let (mut random, device) = (Random::new(2), Device::flex().autodiff());
    for case in CASES {
        let layer = layer(case, true, &mut random);
        let [outputs, inputs] = layer.weights.space().shape();
        for rows in [1, 5, 67] {
            let values = random.normals(rows * inputs);
            let pull = tensor(&random.normals(rows * outputs), [rows, outputs], &device);
            let input = || tensor::<2>(&values, [rows, inputs], &device).require_grad();
            let (x, plain_x) = (input(), input());
            let y = layer.forward(x.clone());
            let (w, b) = layer.weights.realise();
            let z = plain_x.clone().matmul(w.transpose()) + b;
            let plain_y = if acts(case) { relu(z) } else { z };
            assert!(relative(&numbers(y.clone()), &numbers(plain_y.clone())) < 1e-5, "{case:?}");

            let ours = (y * pull.clone()).sum().backward();
            let plain = (plain_y * pull).sum().backward();
            let check = |what: &str, a: Vec<f32>, b: Vec<f32>| {
                assert!(relative(&a, &b) < 1e-5, "{case:?}, {rows} rows, {what}: {}", relative(&a, &b));
            };
            check("input", numbers(x.grad(&ours).unwrap()), numbers(plain_x.grad(&plain).unwrap()));
            for parameter in std::iter::once(&layer.weights.weight).chain(&layer.weights.bias) {
                let parameter = parameter.val();
                let of = |gradients| numbers::<1>(parameter.grad(gradients).unwrap());
                check("coefficients", of(&ours), of(&plain));
            }
        }
    }
}

/// Without a ReLU the loss is linear in every coefficient, so its slope is a difference of any width: in f64, by hand.
#[test]
fn gradients_are_slopes() {
    let mut random = Random::new(3);
    for case in CASES {
        let layer = layer(case, false, &mut random);
        let space = layer.weights.space();
        let [outputs, inputs] = space.shape();
        let (rows, device) = (4, Device::flex().autodiff());
        let x = random.normals(rows * inputs);
        let pull = random.normals(rows * outputs);
        let y = layer.forward(tensor(&x, [rows, inputs], &device));
        let gradients = (y * tensor(&pull, [rows, outputs], &device)).sum().backward();
        let found = numbers::<1>(layer.weights.weight.val().grad(&gradients).unwrap());
        let scale = found.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        for (c, found) in found.iter().enumerate() {
            let mut unit = vec![0.0; space.ranks()[0]];
            unit[c] = 1.0;
            let direction = space.realise(&unit);
            let mut slope = 0.0f64;
            for (x, pull) in x.chunks_exact(inputs).zip(pull.chunks_exact(outputs)) {
                for (row, pull) in direction.chunks_exact(inputs).zip(pull) {
                    let moved: f64 = row.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
                    slope += moved * f64::from(*pull);
                }
            }
            assert!((slope - f64::from(*found)).abs() < 1e-5 * f64::from(scale), "{case:?}, coefficient {c}");
        }
    }
}

#[test]
fn layers_without_invariant_outputs_have_no_bias() {
    let c4 = group("C4");
    let config = EquivariantLinearConfig::new(Rep::regular(&c4).unwrap(), Rep::rotation(&c4, 1).unwrap());
    let layer = config.init(&mut || 0.5, &Device::flex()).unwrap();
    assert!(layer.weights.bias.is_none());
    assert_eq!(layer.weights.space().ranks(), [2, 0]);
    let zero: Tensor<2> = Tensor::zeros([2, 4], &Device::flex());
    assert_eq!(numbers(layer.forward(zero)), [0.0; 4]);
}

#[test]
fn no_rows_are_fine() {
    let mut random = Random::new(4);
    let layer = layer(CASES[2], true, &mut random);
    let nothing: Tensor<2> = Tensor::zeros([0, layer.weights.space().shape()[1]], &Device::flex().autodiff());
    assert_eq!(layer.forward(nothing).dims(), [0, 20]);
}
