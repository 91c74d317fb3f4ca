use super::*;
use crate::testing::{Noise, deviation, on_threads};
use proptest::prelude::*;

#[derive(Clone)]
struct Case {
    config: Config,
    pictures: Vec<f32>,
    weights: [Vec<f32>; 4],
    dfeatures: Vec<f32>,
}

fn conv(channels: usize, kernel: usize, stride: usize) -> Convolution {
    Convolution { channels, kernel, stride }
}

fn case(seed: u64, images: usize, config: Config, whole: bool) -> Case {
    let encoder = Encoder::new(config).unwrap();
    let mut noise = Noise::new(seed);
    let [n1, m1, n2, m2] = encoder.weight_lens();
    let pictures = images * encoder.picture_len();
    let mut numbers = |len: usize, size: f32| match whole {
        true => noise.whole(len, 2),
        false => noise.floats(len).into_iter().map(|x| x * size).collect(),
    };
    let depth = |n: usize, m: usize| (3.0 * m as f32 / n as f32).sqrt();
    Case {
        config,
        pictures: numbers(pictures, 1.0),
        weights: [numbers(n1, depth(n1, m1)), numbers(m1, 0.1), numbers(n2, depth(n2, m2)), numbers(m2, 0.1)],
        dfeatures: numbers(images * m2, 1.0),
    }
}

struct Found {
    features: Vec<f32>,
    gradients: [Vec<f32>; 4],
    saved: Activations,
}

fn run(case: &Case, level: Level) -> Found {
    let encoder = Encoder::with_level(case.config, level).unwrap();
    let [w1, b1, w2, b2] = &case.weights;
    let (mut packed, mut saved) = (Packed::default(), Activations::default());
    encoder.pack(Weights { w1, b1, w2, b2 }, &mut packed).unwrap();
    let mut features = vec![f32::NAN; case.dfeatures.len()];
    encoder.forward(&packed, &case.pictures, &mut saved, &mut features).unwrap();
    let mut gradients = encoder.weight_lens().map(|len| vec![f32::NAN; len]);
    let [dw1, db1, dw2, db2] = &mut gradients;
    let into = Gradients { w1: dw1, b1: db1, w2: dw2, b2: db2 };
    let mut workspace = Workspace::default();
    encoder.backward(&packed, &case.pictures, &saved, &case.dfeatures, &mut workspace, into).unwrap();
    Found { features, gradients, saved }
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// A convolution by its definition: `x` is \[input\]\[row\]\[column\], so is the result. Calls `visit(output, input, weight)`
/// with the index of every term, so that the same loop serves forward and backward.
fn terms(
    (inputs, height, width): (usize, usize, usize),
    conv: Convolution,
    mut visit: impl FnMut(usize, usize, usize),
) -> (usize, usize) {
    let (k, s) = (conv.kernel, conv.stride);
    let (rows, columns) = ((height - k) / s + 1, (width - k) / s + 1);
    for o in 0..conv.channels {
        for y in 0..rows {
            for x in 0..columns {
                for i in 0..inputs {
                    for ky in 0..k {
                        for kx in 0..k {
                            let output = (o * rows + y) * columns + x;
                            let input = (i * height + y * s + ky) * width + x * s + kx;
                            visit(output, input, ((o * inputs + i) * k + ky) * k + kx);
                        }
                    }
                }
            }
        }
    }
    (rows, columns)
}

/// One image by definition in f64: features, the maxima's pixels, the hidden picture.
fn image(
    config: Config,
    weights: &[Vec<f64>; 4],
    picture: &[f64],
) -> (Vec<f64>, Vec<Option<usize>>, Vec<f64>) {
    let layer = |size, conv: Convolution, w: &[f64], b: &[f64], x: &[f64]| {
        let (rows, columns) = terms(size, conv, |_, _, _| ());
        let area = rows * columns;
        let mut out: Vec<f64> = (0..conv.channels * area).map(|i| b[i / area]).collect();
        terms(size, conv, |o, i, k| out[o] += w[k] * x[i]);
        for x in &mut out {
            *x = x.max(0.0);
        }
        (out, rows, columns)
    };
    let size = (config.channels, config.height, config.width);
    let (hidden, rows, columns) = layer(size, config.first, &weights[0], &weights[1], picture);
    let size = (config.first.channels, rows, columns);
    let (out, rows, columns) = layer(size, config.second, &weights[2], &weights[3], &hidden);
    let (mut features, mut at) = (Vec::new(), Vec::new());
    for plane in out.chunks(rows * columns) {
        let largest = plane.iter().copied().fold(0.0, f64::max);
        features.push(largest);
        let first = plane.iter().position(|&x| x == largest);
        at.push(first.filter(|_| largest > 0.0));
    }
    (features, at, hidden)
}

struct Expected {
    features: Vec<f64>,
    at: Vec<Option<usize>>,
    gradients: [Vec<f64>; 4],
}

fn oracle(case: &Case) -> Expected {
    let config = case.config;
    let weights = case.weights.each_ref().map(|w| wide(w));
    let mut gradients = weights.clone().map(|w| vec![0.0; w.len()]);
    let (mut features, mut at) = (Vec::new(), Vec::new());
    let picture_len = config.channels * config.height * config.width;
    let size = (config.channels, config.height, config.width);
    let (rows, columns) = terms(size, config.first, |_, _, _| ());
    let area = rows * columns;
    let hidden_size = (config.first.channels, rows, columns);
    let pictures = case.pictures.chunks(picture_len);
    for (picture, df) in pictures.zip(case.dfeatures.chunks(config.second.channels)) {
        let picture = wide(picture);
        let (f, maxima, hidden) = image(config, &weights, &picture);
        let (rows, columns) = terms(hidden_size, config.second, |_, _, _| ());
        let mut dout = vec![0.0; config.second.channels * rows * columns];
        for (k, at) in maxima.iter().enumerate() {
            if let Some(at) = at {
                dout[k * rows * columns + at] = f64::from(df[k]);
                gradients[3][k] += f64::from(df[k]);
            }
        }
        let mut dhidden = vec![0.0; hidden.len()];
        terms(hidden_size, config.second, |o, i, k| {
            gradients[2][k] += dout[o] * hidden[i];
            dhidden[i] += dout[o] * weights[2][k];
        });
        for (i, d) in dhidden.iter_mut().enumerate() {
            if hidden[i] <= 0.0 {
                *d = 0.0;
            }
            gradients[1][i / area] += *d;
        }
        terms(size, config.first, |o, i, k| {
            gradients[0][k] += dhidden[o] * picture[i];
        });
        features.extend(f);
        at.extend(maxima);
    }
    Expected { features, at, gradients }
}

fn small() -> impl Strategy<Value = Config> {
    let layer = || (1usize..35, 1usize..4, 1usize..3);
    (1usize..4, 0usize..6, 0usize..6, layer(), layer()).prop_map(|(channels, h, w, first, second)| {
        let first = conv(first.0, first.1, first.2);
        let second = conv(second.0, second.1, second.2);
        let least = (second.kernel - 1) * first.stride + first.kernel;
        Config { channels, height: least + h, width: least + w, first, second }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn agrees_with_the_oracle_exactly_on_whole_numbers(
        config in small(), images in 0usize..12, seed: u64,
    ) {
        let case = case(seed, images, config, true);
        let expected = oracle(&case);
        for level in Level::available() {
            let found = run(&case, level);
            prop_assert_eq!(deviation(&found.features, &expected.features), 0.0, "{}", level);
            prop_assert!(found.saved.maxima().eq(expected.at.iter().copied()), "{}", level);
            for (found, expected) in found.gradients.iter().zip(&expected.gradients) {
                prop_assert_eq!(deviation(found, expected), 0.0, "{}", level);
            }
        }
    }
}

fn paper(channels: usize, side: usize, first: usize, second: usize) -> Config {
    Config { channels, height: side, width: side, first: conv(first, 7, 2), second: conv(second, 5, 1) }
}

#[test]
fn agrees_with_the_oracle_at_the_papers_sizes() {
    for (images, config) in [
        (3, paper(1, 21, 16, 32)),
        (3, paper(1, 21, 32, 64)),
        (2, paper(1, 21, 40, 88)),
        (2, paper(1, 21, 22, 44)),
        (2, paper(3, 35, 32, 64)),
    ] {
        let case = case(20, images, config, false);
        let expected = oracle(&case);
        for level in Level::available() {
            let found = run(&case, level);
            assert!(deviation(&found.features, &expected.features) < 1e-5);
            for (found, expected) in found.gradients.iter().zip(&expected.gradients) {
                assert!(deviation(found, expected) < 1e-5, "{level}");
            }
        }
    }
}

#[test]
fn the_oracles_gradient_is_a_finite_difference() {
    let config = Config { channels: 2, height: 9, width: 8, first: conv(3, 3, 2), second: conv(4, 2, 1) };
    let case = case(21, 3, config, false);
    let expected = oracle(&case);
    let picture_len = 2 * 9 * 8;
    let loss = |weights: &[Vec<f64>; 4]| -> f64 {
        let pictures = case.pictures.chunks(picture_len);
        let parts = pictures.zip(case.dfeatures.chunks(4)).map(|(picture, df)| {
            let (f, ..) = image(config, weights, &wide(picture));
            f.iter().zip(df).map(|(f, &d)| f * f64::from(d)).sum::<f64>()
        });
        parts.sum()
    };
    let weights = case.weights.each_ref().map(|w| wide(w));
    let step = 1e-6;
    for (which, gradient) in expected.gradients.iter().enumerate() {
        assert!(gradient.iter().any(|g| *g != 0.0));
        for (at, gradient) in gradient.iter().enumerate() {
            let shifted = |by: f64| {
                let mut weights = weights.clone();
                weights[which][at] += by;
                loss(&weights)
            };
            let slope = (shifted(step) - shifted(-step)) / (2.0 * step);
            assert!((slope - gradient).abs() < 1e-6, "{which} {at}: {slope} {gradient}");
        }
    }
}

#[test]
fn same_bits_on_any_number_of_threads_and_vector_width() {
    let case = case(22, 21, paper(1, 21, 22, 44), false);
    let one = on_threads(1, || run(&case, Level::best()));
    for threads in [2, 3] {
        let more = on_threads(threads, || run(&case, Level::best()));
        assert_eq!(one.features, more.features);
        assert_eq!(one.gradients, more.gradients);
    }
    for &level in &Level::available()[1..] {
        let other = run(&case, level);
        assert_eq!(one.features, other.features, "{level}");
        assert_eq!(one.gradients, other.gradients, "{level}");
    }
}

#[test]
fn an_image_alone_is_the_image_in_a_batch() {
    let mut case = case(23, 13, paper(1, 21, 32, 64), false);
    let batch = run(&case, Level::best());
    let encoder = Encoder::new(case.config).unwrap();
    let [w1, b1, w2, b2] = case.weights.clone();
    let mut packed = Packed::default();
    let weights = Weights { w1: &w1, b1: &b1, w2: &w2, b2: &b2 };
    encoder.pack(weights, &mut packed).unwrap();
    let mut scratch = Scratch::default();
    let pictures = case.pictures.clone();
    for (i, picture) in pictures.chunks(encoder.picture_len()).enumerate() {
        let mut features = vec![f32::NAN; 64];
        encoder.encode(&packed, picture, &mut scratch, &mut features).unwrap();
        assert_eq!(features, batch.features[i * 64..][..64]);
        case.pictures = picture.to_vec();
        case.dfeatures.truncate(64);
        assert_eq!(run(&case, Level::best()).features, features);
    }
}

#[test]
fn buffers_can_be_reused_for_batches_of_other_sizes() {
    let config = paper(1, 21, 8, 9);
    let encoder = Encoder::new(config).unwrap();
    let (mut packed, mut saved) = (Packed::default(), Activations::default());
    let mut workspace = Workspace::default();
    for images in [9, 2, 12, 0, 3] {
        let case = case(images as u64, images, config, false);
        let [w1, b1, w2, b2] = &case.weights;
        encoder.pack(Weights { w1, b1, w2, b2 }, &mut packed).unwrap();
        let mut features = vec![f32::NAN; images * 9];
        encoder.forward(&packed, &case.pictures, &mut saved, &mut features).unwrap();
        let mut gradients = encoder.weight_lens().map(|len| vec![f32::NAN; len]);
        let [dw1, db1, dw2, db2] = &mut gradients;
        let into = Gradients { w1: dw1, b1: db1, w2: dw2, b2: db2 };
        encoder.backward(&packed, &case.pictures, &saved, &case.dfeatures, &mut workspace, into).unwrap();
        let fresh = run(&case, Level::best());
        assert_eq!((features, gradients), (fresh.features, fresh.gradients));
    }
}

#[test]
fn a_value_that_is_not_a_number_does_not_hide() {
    for level in Level::available() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut case = case(24, 2, paper(1, 21, 8, 8), false);
            case.pictures[200] = bad;
            let found = run(&case, level);
            assert!(found.features[..8].iter().all(|x| x.is_nan()), "{level} {bad}");
            assert!(found.features[8..].iter().all(|x| x.is_finite()));
        }
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let good = paper(1, 21, 8, 8);
    let too_small = Encoder::new(paper(1, 14, 8, 8)).unwrap_err();
    let kernel = Error::Kernel { layer: "second", kernel: 5, height: 4, width: 4 };
    assert_eq!(too_small, kernel);
    assert!(Encoder::new(paper(1, 6, 8, 8)).is_err());
    assert!(Encoder::new(paper(0, 21, 8, 8)).is_err());
    assert!(Encoder::new(paper(1, usize::MAX, 8, 8)).is_err());
    assert!(Encoder::new(paper(1, 21, usize::MAX, 8)).is_err());
    assert!(Encoder::new(paper(1, 21, 8, usize::MAX / 2)).is_err());
    let mut still = good;
    still.first.stride = 0;
    assert!(Encoder::new(still).is_err());
    let mut huge = good;
    huge.second.kernel = usize::MAX;
    assert!(Encoder::new(huge).is_err());

    let encoder = Encoder::new(good).unwrap();
    let case = case(25, 2, good, false);
    let [w1, b1, w2, b2] = &case.weights;
    let weights = Weights { w1, b1, w2, b2 };
    let (mut packed, mut saved) = (Packed::default(), Activations::default());
    let mut features = [0.0; 16];
    let foreign = encoder.forward(&packed, &case.pictures, &mut saved, &mut features);
    assert_eq!(foreign, Err(Error::Foreign { name: "packed" }));
    let short = Weights { w1: &w1[1..], ..weights };
    assert!(encoder.pack(short, &mut packed).is_err());
    encoder.pack(weights, &mut packed).unwrap();
    let cut = &case.pictures[1..];
    assert!(encoder.forward(&packed, cut, &mut saved, &mut features).is_err());
    let room = &mut features[1..];
    assert!(encoder.forward(&packed, &case.pictures, &mut saved, room).is_err());
    let mut scratch = Scratch::default();
    let picture = &case.pictures[..441];
    assert!(encoder.encode(&packed, picture, &mut scratch, &mut features).is_err());
    let mut gradients = encoder.weight_lens().map(|len| vec![0.0; len]);
    let [dw1, db1, dw2, db2] = &mut gradients;
    let into = Gradients { w1: dw1, b1: db1, w2: dw2, b2: db2 };
    let mut workspace = Workspace::default();
    let empty = Activations::default();
    let foreign = encoder.backward(&packed, &case.pictures, &empty, &case.dfeatures, &mut workspace, into);
    assert_eq!(foreign, Err(Error::Foreign { name: "saved" }));
}

#[test]
fn weights_from_coefficients_are_those_that_are_packed() {
    let config = paper(2, 21, 5, 11);
    for level in Level::available() {
        let encoder = Encoder::with_level(config, level).unwrap();
        let mut noise = Noise::new(27);
        let coefficients = [noise.floats(40), noise.floats(90)];
        let lens = encoder.weight_lens();
        let parts: Vec<Realisation> = lens
            .iter()
            .enumerate()
            .map(|(i, &len)| {
                let free = coefficients[i / 2].len();
                let index = (0..len).map(|_| noise.below(free) as u32).collect();
                Realisation::new(free, (0..=len as u32).collect(), index, noise.whole(len, 1)).unwrap()
            })
            .collect();
        let mut dense = lens.map(|len| vec![0.0; len]);
        for (i, dense) in dense.iter_mut().enumerate() {
            parts[i].realise(&coefficients[i / 2], dense).unwrap();
        }
        let (mut straight, mut packed) = (Packed::default(), Packed::default());
        let realiser = encoder.realiser([&parts[0], &parts[1]], [&parts[2], &parts[3]]).unwrap();
        encoder.realise(&realiser, [&coefficients[0], &coefficients[1]], &mut straight).unwrap();
        let [w1, b1, w2, b2] = &dense;
        encoder.pack(Weights { w1, b1, w2, b2 }, &mut packed).unwrap();
        for (a, b) in [(&straight.first, &packed.first), (&straight.second, &packed.second)] {
            for (a, b) in a.iter().zip(b.iter()) {
                assert_eq!((a.weights, a.bias), (b.weights, b.bias));
            }
        }
        assert_eq!(straight.w2, packed.w2);
        assert!(encoder.realiser([&parts[1], &parts[1]], [&parts[2], &parts[3]]).is_err());
    }
}
