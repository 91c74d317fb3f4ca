//! Times of the dictionary encoder next to the dense one, at the sizes of the paper's networks and on pictures like those of
//! its worlds, on one thread.
//!
//! `cargo run --release -p equimarl-kernels --example dictionary_times [repetitions] [case]`

use equimarl_kernels::Level;
use equimarl_kernels::dictionary::{
    Atlas, Book, Cache, Coefficients, Gradients, Packed, Plan, Turns, Workspace,
};
use equimarl_kernels::encoder::{self, Config, Convolution, Encoder};
use std::time::Instant;

/// Deterministic numbers.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn floats(&mut self, len: usize, size: f32) -> Vec<f32> {
        (0..len).map(|_| (self.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0) * size).collect()
    }
}

/// Median milliseconds of `repetitions` calls.
fn median(repetitions: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Roads on a grid of 7 x 7 cells of five pixels: the road, the vehicles on it (of 12% of the cells) and the traffic light.
fn crossings(noise: &mut Noise, count: usize) -> Vec<f32> {
    let mut out = Vec::new();
    for _ in 0..count {
        let mut picture = vec![0.0; 3 * 35 * 35];
        let road = |i: usize, j: usize| i == 2 || i == 4 || j == 2 || j == 4;
        let green = noise.below(2);
        for (i, j) in (0..49).map(|cell| (cell / 7, cell % 7)).filter(|&(i, j)| road(i, j)) {
            let lit = noise.below(100) < 12;
            let light = (i, j) == (3 + green, 3) || (i == 3 && j == 2 + 2 * green);
            for (y, x) in (0..25).map(|pixel| (i * 5 + pixel / 5, j * 5 + pixel % 5)) {
                picture[y * 35 + x] = 1.0;
                picture[35 * 35 + y * 35 + x] = if lit { 1.0 } else { 0.0 };
                picture[2 * 35 * 35 + y * 35 + x] = if light { 1.0 } else { 0.0 };
            }
        }
        out.extend(picture);
    }
    out
}

/// An empty field with oneself in the middle and one other somewhere: 13 distinct pictures.
fn fields(noise: &mut Noise, count: usize) -> Vec<f32> {
    let mut out = Vec::new();
    for _ in 0..count {
        let mut picture = vec![0.0; 21 * 21];
        let other = noise.below(13);
        for (at, value) in [([9, 9], 0.5), ([other / 4 * 4 + 2, other % 4 * 4 + 2], 1.0)] {
            for (y, x) in (0..9).map(|pixel| (at[0] + pixel / 3, at[1] + pixel % 3)) {
                picture[y * 21 + x] = value;
            }
        }
        out.extend(picture);
    }
    out
}

fn turns(order: usize) -> Turns {
    // Elements up to 3 are quarter turns (half turns if there are two), those from 4 on mirror columns first.
    let step = if order == 2 { 2 } else { 1 };
    let product = |g: usize, h: usize| match order {
        8 => (g / 4 + h / 4) % 2 * 4 + if g < 4 { g + h } else { g + 4 - h % 4 } % 4,
        _ => (g + h) % order,
    };
    let table: Vec<u32> = (0..order * order).map(|i| product(i / order, i % order) as u32).collect();
    Turns::new(order, &table, [7, 5], |g, n, [i, j]| {
        let at = if g >= 4 { [i, n - 1 - j] } else { [i, j] };
        (0..g % 4 * step).fold(at, |[i, j], _| [n - 1 - j, i])
    })
    .expect("a group")
}

fn case(
    name: &str,
    pictures: &[f32],
    (order, c1, c2): (usize, usize, usize),
    level: Level,
    repetitions: usize,
) {
    let (channels, side) = if name.starts_with("wildlife") { (1, 21) } else { (3, 35) };
    let config = Config {
        channels,
        height: side,
        width: side,
        first: Convolution { channels: c1 * order, kernel: 7, stride: 2 },
        second: Convolution { channels: c2 * order, kernel: 5, stride: 1 },
    };
    let mut noise = Noise(7);
    let plan = Plan::with_level(config, &turns(order), [c1, c2], level).expect("valid sizes");
    let images = pictures.len() / plan.picture_len();
    let dfeatures = noise.floats(images * plan.features(), 1.0);

    let sizes = plan.coefficient_lens();
    let (a1, b1) = (noise.floats(sizes[0], 0.1), noise.floats(sizes[1], 0.1));
    let (a2, b2) = (noise.floats(sizes[2], 0.05), noise.floats(sizes[3], 0.1));
    let coefficients = Coefficients { a1: &a1, b1: &b1, a2: &a2, b2: &b2 };
    let (mut atlas, mut book) = (Atlas::new(&plan), Book::new(&plan));
    let (mut packed, mut cache, mut workspace) = (Packed::default(), Cache::default(), Workspace::default());
    let mut codes = vec![0; images * plan.positions()];
    let mut look = || {
        let pictures = pictures.chunks_exact(plan.picture_len());
        for (picture, codes) in pictures.zip(codes.chunks_exact_mut(plan.positions())) {
            atlas.look(picture, codes).expect("lengths fit");
        }
    };
    let fresh = Instant::now();
    look();
    let fresh = fresh.elapsed().as_secs_f64() * 1e3;
    let look = median(repetitions, look);
    let fill = median(repetitions, || {
        book.clear();
        for codes in codes.chunks_exact(plan.positions()) {
            book.add(&atlas, codes).expect("codes fit");
        }
    });
    let pack = median(repetitions, || plan.pack(coefficients, &mut packed).expect("lengths fit"));
    let mut gradients = sizes.map(|len| vec![0.0; len]);
    let mut forwards = Vec::new();
    median(repetitions, || {
        // New weights, so that everything is computed again.
        plan.pack(coefficients, &mut packed).expect("lengths fit");
        let start = Instant::now();
        plan.forward(&packed, &book, &mut cache).expect("the same plan");
        forwards.push(start.elapsed().as_secs_f64() * 1e3);
    });
    forwards.sort_by(f64::total_cmp);
    let forward = forwards[forwards.len() / 2];
    let backward = median(repetitions, || {
        let [a1, b1, a2, b2] = &mut gradients;
        let into = Gradients { a1, b1, a2, b2 };
        plan.backward(&packed, &book, &cache, &dfeatures, &mut workspace, into).expect("the same plan");
    });

    let dense = Encoder::with_level(config, level).expect("valid sizes");
    let lens = dense.weight_lens();
    let w = [0.1, 0.1, 0.05, 0.1];
    let [w1, b1, w2, b2] = [0, 1, 2, 3].map(|i| noise.floats(lens[i], w[i]));
    let (mut packed, mut saved) = (encoder::Packed::default(), encoder::Activations::default());
    let weights = encoder::Weights { w1: &w1, b1: &b1, w2: &w2, b2: &b2 };
    dense.pack(weights, &mut packed).expect("lengths fit");
    let mut features = vec![0.0; dfeatures.len()];
    let dense_forward = median(repetitions.div_ceil(4), || {
        dense.forward(&packed, pictures, &mut saved, &mut features).expect("lengths fit");
    });
    let [mut g1, mut h1, mut g2, mut h2] = lens.map(|len| vec![0.0; len]);
    let mut workspace = encoder::Workspace::default();
    let dense_backward = median(repetitions.div_ceil(4), || {
        let into = encoder::Gradients { w1: &mut g1, b1: &mut h1, w2: &mut g2, b2: &mut h2 };
        dense.backward(&packed, pictures, &saved, &dfeatures, &mut workspace, into).expect("lengths fit");
    });
    println!(
        "{name:15} {images} images, {} patches, {} rows, {} windows, {level}",
        book.patches(),
        book.rows(),
        book.windows()
    );
    println!(
        "  look {:5.1} us a picture (new {:6.1})  book {fill:6.3} ms  pack {pack:6.3} ms  forward {forward:6.3} ms  backward {backward:6.3} ms  together {:6.3} ms; dense forward {dense_forward:7.3} ms backward {dense_backward:7.3} ms",
        look * 1e3 / images as f64,
        fresh * 1e3 / images as f64,
        fill + pack + forward + backward
    );
}

fn main() {
    let repetitions = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(51);
    let mut noise = Noise(3);
    let (traffic, wildlife) = (crossings(&mut noise, 80), fields(&mut noise, 60));
    // The worst case: nothing repeats.
    let random = noise.floats(80 * 3 * 35 * 35, 1.0);
    let only = std::env::args().nth(2);
    let cases = [
        ("traffic C4", &traffic, (4, 8, 16)),
        ("traffic plain", &traffic, (1, 16, 32)),
        ("traffic D4", &traffic, (8, 5, 11)),
        ("noise C4", &random, (4, 8, 16)),
        ("noise plain", &random, (1, 16, 32)),
        ("wildlife C4", &wildlife, (4, 8, 16)),
        ("wildlife plain", &wildlife, (1, 16, 32)),
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a small pool starts");
    pool.install(|| {
        for level in Level::available().into_iter().skip(1).rev() {
            for (name, pictures, sizes) in cases {
                if only.as_ref().is_none_or(|only| only == name) {
                    case(name, pictures, sizes, level, repetitions);
                }
            }
        }
    });
}
