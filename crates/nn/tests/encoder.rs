//! The fused encoder against the same encoder in plain Burn, and its symmetry.

mod common;

use burn::tensor::{Device, Tensor};
use common::{PIXEL_GROUPS, Random, distance, group, numbers, relative, tensor};
use equimarl_group::{Plane, Rep};
use equimarl_nn::{Encoder, EncoderConfig, Weights};

/// Channels and side of the pictures of small, wildlife and traffic encoders.
const PICTURES: [[usize; 2]; 4] = [[1, 15], [2, 17], [1, 21], [3, 35]];

fn encoder(name: &str, [channels, side]: [usize; 2], random: &mut Random) -> Encoder {
    let regular = Rep::regular(&group(name)).unwrap();
    let copies = |n: usize| regular.copies((n / regular.dim()).max(1)).unwrap();
    let config = EncoderConfig {
        picture: [channels, side, side],
        hidden: copies(8),
        features: copies(16),
        kernels: [7, 5],
        strides: [2, 1],
    };
    let mut encoder = config.init(&mut || random.normal(), &Device::flex().autodiff()).unwrap();
    let liven = |weights: &mut Weights, random: &mut Random| {
        let [weight, bias] = weights.coefficients();
        let bias = random.normals(bias.len()).into_iter().map(|v| 0.1 * v).collect();
        weights.set([weight, bias]).unwrap();
    };
    liven(&mut encoder.conv1.weights, random);
    liven(&mut encoder.conv2.weights, random);
    encoder
}

/// Random pictures; with `sparse` most pixels are zero, as in the worlds, so that many windows are alike.
fn pictures(count: usize, [channels, side]: [usize; 2], sparse: bool, random: &mut Random) -> Vec<f32> {
    let mut values = random.normals(count * channels * side * side);
    if sparse {
        values.iter_mut().for_each(|v| *v = if *v > 1.7 { 1.0 } else { 0.0 });
    }
    values
}

fn coefficients(encoder: &Encoder) -> Vec<Tensor<1>> {
    let layers = [&encoder.conv1.weights, &encoder.conv2.weights];
    layers.iter().flat_map(|w| std::iter::once(&w.weight).chain(&w.bias)).map(|p| p.val()).collect()
}

/// Both paths add the same products in other orders: a few f32 roundings. Where windows are alike, the two may pick
/// other equal maxima; their gradients are the same because the windows are.
#[test]
fn fused_and_plain_agree_in_outputs_and_gradients() {
    let mut random = Random::new(12);
    for name in PIXEL_GROUPS {
        for size in PICTURES {
            for sparse in [false, true] {
                let (encoder, device) = (encoder(name, size, &mut random), Device::flex().autodiff());
                let count = 5;
                let values = pictures(count, size, sparse, &mut random);
                let fused = encoder.forward(values.clone().into());
                let plain =
                    encoder.forward_plain(tensor(&values, [count, size[0], size[1], size[1]], &device));
                let what = format!("{name}, {size:?}, sparse {sparse}");
                assert!(relative(&numbers(fused.clone()), &numbers(plain.clone())) < 1e-5, "{what}");

                let pull = tensor(&random.normals(fused.dims().iter().product()), fused.dims(), &device);
                let ours = (fused * pull.clone()).sum().backward();
                let theirs = (plain * pull).sum().backward();
                for (i, parameter) in coefficients(&encoder).into_iter().enumerate() {
                    let of = |gradients| numbers(parameter.grad(gradients).unwrap());
                    let error = relative(&of(&ours), &of(&theirs));
                    assert!(error < 1e-4, "{what}, parameter {i}: {error:e}");
                }
            }
        }
    }
}

/// enc(g x) = L_g enc(x). Features are near 1; two sums of up to 16 x 25 products each: about 1e-6 of rounding.
#[test]
fn turned_pictures_have_permuted_features() {
    let mut random = Random::new(13);
    for name in PIXEL_GROUPS {
        let group = group(name);
        let plane = Plane::new(&group).unwrap();
        for size @ [_, side] in PICTURES {
            let encoder = encoder(name, size, &mut random);
            let x = pictures(3, size, false, &mut random);
            let y = numbers(encoder.forward(x.clone().into()));
            let width = y.len() / 3;
            for g in group.elements() {
                let gather = plane.gather(g, side);
                let channels = x.chunks_exact(side * side);
                let turned: Vec<f32> = channels.flat_map(|c| gather.iter().map(|&p| c[p])).collect();
                let found = numbers(encoder.forward(turned.into()));
                let n = group.order();
                let moved = |at: usize| {
                    let (row, c, h) = (at / width, at % width / n, at % n);
                    y[row * width + c * n + group.mul(group.inverse(g), h)]
                };
                let expected: Vec<f32> = (0..y.len()).map(moved).collect();
                let scale = y.iter().fold(1.0f32, |m, v| m.max(*v));
                let error = distance(&found, &expected) / f64::from(scale);
                assert!(error < 1e-5, "{name}, {size:?}, element {g}: {error:e}");
            }
        }
    }
}

#[test]
fn a_picture_has_the_same_bits_in_any_company() {
    let mut random = Random::new(14);
    let encoder = encoder("C4", [3, 35], &mut random);
    let x = pictures(9, [3, 35], false, &mut random);
    let together = numbers(encoder.forward(x.clone().into()));
    for (picture, row) in x.chunks_exact(3 * 35 * 35).zip(together.chunks_exact(16)) {
        assert_eq!(numbers(encoder.forward(picture.to_vec().into())), row);
    }
}

#[test]
fn no_pictures_are_fine() {
    let encoder = encoder("C4", [1, 21], &mut Random::new(15));
    let y = encoder.forward(vec![].into());
    assert_eq!(y.dims(), [0, 16]);
    let gradients = y.sum().backward();
    for parameter in coefficients(&encoder) {
        assert!(numbers(parameter.grad(&gradients).unwrap()).iter().all(|v| *v == 0.0));
    }
}
