//! Cases, and both encoders run on them.

mod checks;
mod dense;
mod stable;

use super::*;
use crate::encoder::{self, Config, Convolution, Encoder};
use crate::testing::{Noise, deviation, on_threads};
use crate::{Error, Level};

/// (flip, quarter turns) of each element: a column mirror first, then the turns.
const GROUPS: [(&str, &[(usize, usize)]); 6] = [
    ("C1", &[(0, 0)]),
    ("C2", &[(0, 0), (0, 2)]),
    ("C4", &[(0, 0), (0, 1), (0, 2), (0, 3)]),
    ("D1", &[(0, 0), (1, 0)]),
    ("D2", &[(0, 0), (0, 2), (1, 0), (1, 2)]),
    ("D4", &[(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]),
];

fn turns(group: &[(usize, usize)], kernels: [usize; 2]) -> Turns {
    let order = group.len();
    // turn^a flip^f turn^b flip^e = turn^(a +- b) flip^(f + e): a flip reverses the turns behind it.
    let multiply = |(f, a): (usize, usize), (e, b): (usize, usize)| {
        let product = ((f + e) % 2, if f == 0 { a + b } else { a + 4 - b } % 4);
        group.iter().position(|&g| g == product).unwrap() as u32
    };
    let table: Vec<u32> = (0..order * order).map(|i| multiply(group[i / order], group[i % order])).collect();
    Turns::new(order, &table, kernels, |g, n, [i, j]| {
        let (flip, quarter) = group[g];
        let at = if flip == 1 { [i, n - 1 - j] } else { [i, j] };
        (0..quarter).fold(at, |[i, j], _| [n - 1 - j, i])
    })
    .unwrap()
}

#[derive(Clone)]
struct Case {
    config: Config,
    turns: Turns,
    channels: [usize; 2],
    pictures: Vec<f32>,
    /// a1, b1, a2, b2
    coefficients: [Vec<f32>; 4],
    dfeatures: Vec<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Few values in cells of so many pixels.
    Tiles(usize),
    Random,
}

#[derive(Debug, Clone, Copy)]
struct Sizes {
    picture: [usize; 3],
    kernels: [usize; 2],
    strides: [usize; 2],
    channels: [usize; 2],
}

const SMALL: Sizes = Sizes { picture: [2, 17, 17], kernels: [4, 3], strides: [1, 1], channels: [2, 3] };
const PAPER: Sizes = Sizes { picture: [3, 35, 35], kernels: [7, 5], strides: [2, 1], channels: [5, 11] };

fn pictures(noise: &mut Noise, count: usize, [channels, height, width]: [usize; 3], kind: Kind) -> Vec<f32> {
    let mut out = Vec::new();
    for _ in 0..count * channels {
        match kind {
            Kind::Random => out.extend(noise.floats(height * width)),
            Kind::Tiles(cell) => {
                let across = width.div_ceil(cell);
                let cells: Vec<f32> = (0..height.div_ceil(cell) * across)
                    .map(|_| [0.0, 0.0, -0.0, 1.0, 2.0][noise.below(5)])
                    .collect();
                out.extend((0..height * width).map(|i| cells[i / width / cell * across + i % width / cell]));
            }
        }
    }
    out
}

fn case(seed: u64, group: &[(usize, usize)], sizes: Sizes, count: usize, kind: Kind, whole: bool) -> Case {
    let (order, [c1, c2]) = (group.len(), sizes.channels);
    let conv = |i: usize| Convolution {
        channels: sizes.channels[i] * order,
        kernel: sizes.kernels[i],
        stride: sizes.strides[i],
    };
    let [channels, height, width] = sizes.picture;
    let config = Config { channels, height, width, first: conv(0), second: conv(1) };
    let mut noise = Noise::new(seed);
    let pictures = pictures(&mut noise, count, sizes.picture, kind);
    let mut numbers = |len: usize, size: f32| -> Vec<f32> {
        if whole { noise.whole(len, 2) } else { noise.floats(len).into_iter().map(|x| x * size).collect() }
    };
    let (patch, depth) = (channels * sizes.kernels[0].pow(2), c1 * order * sizes.kernels[1].pow(2));
    let scale = |depth: usize| (3.0 / depth as f32).sqrt();
    Case {
        coefficients: [
            numbers(c1 * patch, scale(patch)),
            numbers(c1, 0.1),
            numbers(c2 * depth, scale(depth)),
            numbers(c2, 0.1),
        ],
        dfeatures: numbers(count * c2 * order, 1.0),
        turns: turns(group, sizes.kernels),
        channels: sizes.channels,
        config,
        pictures,
    }
}

/// For both filters the coefficient of every entry of the dense weights, by the definitions.
fn indices(case: &Case) -> [Vec<usize>; 2] {
    let (order, [c1, c2]) = (case.turns.order(), case.channels);
    let turns = &case.turns;
    let [a, b] = turns.kernels().map(|k| k * k);
    let mut first = Vec::new();
    for (c, h) in (0..c1 * order).map(|k| (k / order, k % order)) {
        for (x, tap) in (0..case.config.channels * a).map(|i| (i / a, i % a)) {
            let tap = turns.send(0, turns.inverse(h))[tap] as usize;
            first.push((c * case.config.channels + x) * a + tap);
        }
    }
    let mut second = Vec::new();
    for (o, u) in (0..c2 * order).map(|k| (k / order, k % order)) {
        for (i, j) in (0..c1 * order).map(|k| (k / order, k % order)) {
            for tap in 0..b {
                let j = turns.times(turns.inverse(u), j);
                let tap = turns.send(1, turns.inverse(u))[tap] as usize;
                second.push(((o * c1 + i) * order + j) * b + tap);
            }
        }
    }
    [first, second]
}

#[derive(Debug, Clone, PartialEq)]
struct Found {
    features: Vec<f32>,
    gradients: [Vec<f32>; 4],
}

impl Found {
    fn all(&self) -> impl Iterator<Item = &Vec<f32>> {
        std::iter::once(&self.features).chain(&self.gradients)
    }

    fn bits(&self) -> Vec<u32> {
        self.all().flatten().map(|x| x.to_bits()).collect()
    }
}

/// By the dense kernel, with gradients folded into coefficients.
fn dense(case: &Case) -> Found {
    let encoder = Encoder::new(case.config).unwrap();
    let order = case.turns.order();
    let [first, second] = indices(case);
    let [a1, b1, a2, b2] = &case.coefficients;
    let w1: Vec<f32> = first.iter().map(|&i| a1[i]).collect();
    let w2: Vec<f32> = second.iter().map(|&i| a2[i]).collect();
    let repeat = |b: &[f32]| -> Vec<f32> { b.iter().flat_map(|&b| vec![b; order]).collect() };
    let (b1, b2) = (repeat(b1), repeat(b2));
    let (mut packed, mut saved) = (encoder::Packed::default(), encoder::Activations::default());
    encoder.pack(encoder::Weights { w1: &w1, b1: &b1, w2: &w2, b2: &b2 }, &mut packed).unwrap();
    let mut features = vec![0.0; case.dfeatures.len()];
    encoder.forward(&packed, &case.pictures, &mut saved, &mut features).unwrap();
    let [mut g1, mut h1, mut g2, mut h2] = encoder.weight_lens().map(|len| vec![0.0; len]);
    let into = encoder::Gradients { w1: &mut g1, b1: &mut h1, w2: &mut g2, b2: &mut h2 };
    let mut workspace = encoder::Workspace::default();
    encoder.backward(&packed, &case.pictures, &saved, &case.dfeatures, &mut workspace, into).unwrap();
    let fold = |from: &[f32], index: &mut dyn Iterator<Item = usize>, len: usize| {
        let mut out = vec![0.0f64; len];
        from.iter().zip(index).for_each(|(&x, i)| out[i] += f64::from(x));
        out.into_iter().map(|x| x as f32).collect::<Vec<f32>>()
    };
    let gradients = [
        fold(&g1, &mut first.into_iter(), a1.len()),
        fold(&h1, &mut (0..h1.len()).map(|i| i / order), case.coefficients[1].len()),
        fold(&g2, &mut second.into_iter(), a2.len()),
        fold(&h2, &mut (0..h2.len()).map(|i| i / order), case.coefficients[3].len()),
    ];
    Found { features, gradients }
}

fn plan(case: &Case, level: Level) -> Plan {
    Plan::with_level(case.config, &case.turns, case.channels, level).unwrap()
}

fn packed(plan: &Plan, case: &Case) -> Packed {
    let [a1, b1, a2, b2] = &case.coefficients;
    let mut packed = Packed::default();
    plan.pack(Coefficients { a1, b1, a2, b2 }, &mut packed).unwrap();
    packed
}

fn add(plan: &Plan, case: &Case, atlas: &mut Atlas, book: &mut Book) {
    let mut codes = vec![0; plan.positions()];
    for picture in case.pictures.chunks_exact(plan.picture_len()) {
        atlas.look(picture, &mut codes).unwrap();
        book.add(atlas, &codes).unwrap();
    }
}

fn backward(plan: &Plan, case: &Case, packed: &Packed, book: &Book, cache: &Cache) -> [Vec<f32>; 4] {
    let mut gradients = plan.coefficient_lens().map(|len| vec![f32::NAN; len]);
    let [a1, b1, a2, b2] = &mut gradients;
    let into = Gradients { a1, b1, a2, b2 };
    plan.backward(packed, book, cache, &case.dfeatures, &mut Workspace::default(), into).unwrap();
    gradients
}

fn run_in(case: &Case, level: Level, atlas: &mut Atlas) -> Found {
    let plan = plan(case, level);
    let packed = packed(&plan, case);
    let (mut book, mut cache) = (Book::new(&plan), Cache::default());
    add(&plan, case, atlas, &mut book);
    plan.forward(&packed, &book, &mut cache).unwrap();
    let gradients = backward(&plan, case, &packed, &book, &cache);
    Found { features: cache.features().to_vec(), gradients }
}

fn run(case: &Case, level: Level) -> Found {
    run_in(case, level, &mut Atlas::new(&plan(case, level)))
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// Every group, kind of picture and some odd sizes.
fn cases(whole: bool) -> Vec<(String, Case)> {
    let mut list = Vec::new();
    let sizes = [
        (SMALL, 6),
        (Sizes { strides: [2, 2], channels: [3, 9], ..SMALL }, 6),
        (Sizes { kernels: [3, 4], picture: [1, 14, 19], channels: [1, 1], ..SMALL }, 6),
        (Sizes { channels: [17, 25], ..SMALL }, 3),
        (PAPER, 3),
    ];
    let kinds = [Kind::Tiles(3), Kind::Tiles(5), Kind::Random];
    for (name, group) in GROUPS {
        for (i, (sizes, count)) in sizes.into_iter().enumerate() {
            for kind in kinds {
                // Whole numbers stay exact only with whole pixels.
                if whole && kind == Kind::Random {
                    continue;
                }
                let seed = 100 + list.len() as u64;
                let label = format!("{name}, sizes {i}, {kind:?}, seed {seed}");
                list.push((label, case(seed, group, sizes, count, kind, whole)));
            }
        }
    }
    list
}
