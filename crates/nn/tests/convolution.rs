//! Lifting and group convolutions: the equations of the symmetry, filter by filter and on pictures.

mod common;

use burn::tensor::{Device, Tensor};
use common::{PIXEL_GROUPS, Random, distance, group, numbers, relative, tensor};
use equimarl_group::{Element, Plane, Rep};
use equimarl_nn::{EquivariantConvolution, EquivariantConvolutionConfig, max_over_group, max_over_space};

const SIDE: usize = 11;

fn layer(input: &Rep, output: &Rep, [kernel, stride]: [usize; 2], relu: bool) -> EquivariantConvolution {
    let mut random = Random::new(5);
    let config =
        EquivariantConvolutionConfig { input: input.clone(), output: output.clone(), kernel, stride, relu };
    let device = Device::flex().autodiff();
    let mut layer = config.init([SIDE, SIDE], &mut || random.normal(), &device).unwrap();
    let [weight, bias] = layer.weights.coefficients();
    let bias = random.normals(bias.len());
    layer.weights.set([weight, bias]).unwrap();
    layer
}

/// Turns the pixels of every channel and mixes channels by the representation.
fn turn(rep: &Rep, plane: &Plane, g: Element, side: usize, maps: &[f32]) -> Vec<f32> {
    let (area, gather) = (side * side, plane.gather(g, side));
    let mut out = vec![0.0; maps.len()];
    for (maps, out) in maps.chunks_exact(rep.dim() * area).zip(out.chunks_exact_mut(rep.dim() * area)) {
        for (p, &from) in gather.iter().enumerate() {
            let channels: Vec<f64> = (0..rep.dim()).map(|c| f64::from(maps[c * area + from])).collect();
            for (c, v) in rep.apply(g, &channels).into_iter().enumerate() {
                out[c * area + p] = v as f32;
            }
        }
    }
    out
}

/// out[h] = x * (rot_h psi), and out[h] = sum_k in[k] * rot_h psi[h^-1 k], where psi is the filter of the identity.
#[test]
fn filters_are_turned_copies_of_one() {
    for name in PIXEL_GROUPS {
        let group = group(name);
        let (plane, n) = (Plane::new(&group).unwrap(), group.order());
        let regular = Rep::regular(&group).unwrap();
        for k in [1, 2, 3, 4, 5, 7] {
            let area = k * k;
            let turned = |h: Element, psi: &[f32]| -> Vec<f32> {
                plane.gather(h, k).iter().map(|&from| psi[from]).collect()
            };
            let lifting = layer(&Rep::trivial(&group), &regular, [k, 1], true);
            let w = numbers(lifting.weights.realise().0);
            for h in group.elements() {
                assert_eq!(&w[h * area..][..area], turned(h, &w[..area]), "{name}, lifting, {k} pixels");
            }
            let among = layer(&regular, &regular, [k, 1], true);
            let w = numbers(among.weights.realise().0);
            let psi = |h: Element, k: Element| &w[(h * n + k) * area..][..area];
            for h in group.elements() {
                for k in group.elements() {
                    let source = group.mul(group.inverse(h), k);
                    assert_eq!(psi(h, k), turned(h, psi(0, source)), "{name}, group convolution");
                }
            }
            // And nothing else is tied: as many free numbers as the filter of the identity has.
            assert_eq!(lifting.weights.space().ranks(), [area, 1]);
            assert_eq!(among.weights.space().ranks(), [n * area, 1]);
        }
    }
}

/// Outputs are near 1 and sums have at most 16 x 25 terms: 400 x 6e-8 times 1 stays near 2e-5 at the very worst, and
/// rounding errors of random sign near 20 x 6e-8.
#[test]
fn turning_the_input_turns_every_map_and_moves_channels() {
    let mut random = Random::new(6);
    for name in PIXEL_GROUPS {
        let group = group(name);
        let plane = Plane::new(&group).unwrap();
        let rep = |text: &str| Rep::parse(&group, text).unwrap();
        let layers = [
            ("3*trivial", "2*regular", [3, 2], true),
            ("trivial", "3*regular", [7, 2], true),
            ("2*regular", "2*regular", [5, 1], true),
            ("2*regular", "regular + trivial", [2, 3], true),
            ("regular", "trivial", [4, 1], true),
            ("regular + rotation", "rotation + regular", [3, 1], false),
        ];
        for (input, output, sizes, relu) in layers {
            let (input, output) = (rep(input), rep(output));
            let layer = layer(&input, &output, sizes, relu);
            let device = Device::flex().autodiff();
            let apply = |x: &[f32]| {
                let y = layer.forward(tensor(x, [2, input.dim(), SIDE, SIDE], &device));
                (y.dims()[2], numbers(y))
            };
            let x = random.normals(2 * input.dim() * SIDE * SIDE);
            let (side, y) = apply(&x);
            assert_eq!(side, (SIDE - sizes[0]) / sizes[1] + 1);
            for g in group.elements() {
                let (_, turned_first) = apply(&turn(&input, &plane, g, SIDE, &x));
                let error = distance(&turned_first, &turn(&output, &plane, g, side, &y));
                assert!(error < 1e-5, "{name}, {input} -> {output}, element {g}: {error:e}");
            }
        }
    }
}

/// A group that is given by matrices is the same group, with its elements in another order.
#[test]
fn groups_of_matrices_turn_pictures_too() {
    let group = group("matrix[0 -1, 1 0; 1 0, 0 -1]");
    assert_eq!(group.order(), 8);
    let plane = Plane::new(&group).unwrap();
    let (trivial, regular) = (Rep::trivial(&group), Rep::regular(&group).unwrap());
    let layer = layer(&trivial, &regular, [3, 2], true);
    let x = Random::new(7).normals(SIDE * SIDE);
    let device = Device::flex().autodiff();
    let apply = |x: &[f32]| numbers(layer.forward(tensor(x, [1, 1, SIDE, SIDE], &device)));
    let y = apply(&x);
    for g in group.elements() {
        let turned = apply(&turn(&trivial, &plane, g, SIDE, &x));
        assert!(distance(&turned, &turn(&regular, &plane, g, 5, &y)) < 1e-5);
    }
}

/// With the trivial group the coefficients are the filter, in the order of its entries.
#[test]
fn without_symmetry_coefficients_are_the_filter() {
    let c1 = group("C1");
    let rep = |n| Rep::trivial(&c1).copies(n).unwrap();
    let layer = layer(&rep(2), &rep(3), [4, 1], true);
    let [weight, bias] = layer.weights.coefficients();
    let (w, b) = layer.weights.realise();
    assert_eq!((numbers(w), numbers(b)), (weight, bias));
}

/// Gradients by the realised filter and Burn's convolution equal those by the same filter as a free tensor, summed
/// over the entries that each coefficient sets.
#[test]
fn gradients_are_sums_over_orbits() {
    let d4 = group("D4");
    let regular = Rep::regular(&d4).unwrap();
    let layer = layer(&regular, &regular, [3, 2], true);
    let device = Device::flex().autodiff();
    let mut random = Random::new(8);
    let x = tensor(&random.normals(3 * 8 * SIDE * SIDE), [3, 8, SIDE, SIDE], &device);
    let y = layer.forward(x.clone());
    let pull = tensor(&random.normals(y.dims().iter().product()), y.dims(), &device);
    let gradients = (y * pull.clone()).sum().backward();
    let found = numbers::<1>(layer.weights.weight.val().grad(&gradients).unwrap());

    let free = layer.weights.realise().0.detach().require_grad();
    let bias = layer.weights.realise().1.detach().reshape([8]);
    let options = burn::tensor::ops::ConvOptions::new([2, 2], [0, 0], [1, 1], 1);
    let filter = free.clone().reshape([8, 8, 3, 3]);
    let z = burn::tensor::module::conv2d(x, filter, Some(bias), options);
    let gradients = (burn::tensor::activation::relu(z) * pull).sum().backward();
    let dense = numbers(free.grad(&gradients).unwrap());
    let space = layer.weights.space();
    let sums: Vec<f32> = (0..space.ranks()[0])
        .map(|c| {
            let mut unit = vec![0.0; space.ranks()[0]];
            unit[c] = 1.0;
            space.realise(&unit).iter().zip(&dense).map(|(s, d)| s * d).sum()
        })
        .collect();
    assert!(relative(&found, &sums) < 1e-5);
}

#[test]
fn max_over_space_permutes_and_max_over_the_group_forgets() {
    let d4 = group("D4");
    let plane = Plane::new(&d4).unwrap();
    let rep = Rep::parse(&d4, "3*regular").unwrap();
    let x = Random::new(9).normals(2 * 24 * 16);
    let pooled = |x: &[f32]| -> Tensor<2> { max_over_space(tensor(x, [2, 24, 4, 4], &Device::flex())) };
    let y = numbers(pooled(&x));
    let forgotten = numbers(max_over_group(pooled(&x), &rep).unwrap());
    assert_eq!(forgotten.len(), 2 * 3);
    for g in d4.elements() {
        let turned = pooled(&turn(&rep, &plane, g, 4, &x));
        let expected: Vec<f32> = (y.chunks_exact(24))
            .flat_map(|row| rep.apply(g, &row.iter().map(|v| f64::from(*v)).collect::<Vec<_>>()))
            .map(|v| v as f32)
            .collect();
        assert_eq!(numbers(turned.clone()), expected); // maxima do not round
        assert_eq!(numbers(max_over_group(turned, &rep).unwrap()), forgotten);
    }
    let refused = ["rotation", "regular + trivial", "sign", "2*regular"];
    for text in refused {
        assert!(max_over_group(pooled(&x), &Rep::parse(&d4, text).unwrap()).is_err(), "{text}");
    }
}
