//! Times of the encoder at the sizes of the paper's networks.
//!
//! `cargo run --release -p equimarl-kernels --example kernel_times [repetitions]`

use equimarl_kernels::Level;
use equimarl_kernels::encoder::{
    Activations, Config, Convolution, Encoder, Gradients, Packed, Scratch, Weights, Workspace,
};
use std::time::Instant;

/// Deterministic numbers between -1 and 1.
fn noise(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
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

fn case(name: &str, images: usize, config: Config, level: Level, repetitions: usize) {
    let encoder = Encoder::with_level(config, level).expect("the paper's sizes are valid");
    let [n1, m1, n2, m2] = encoder.weight_lens();
    let scale =
        |len: usize, seed, by: f32| -> Vec<f32> { noise(len, seed).into_iter().map(|x| x * by).collect() };
    let (w1, b1) = (scale(n1, 1, 0.1), scale(m1, 2, 0.1));
    let (w2, b2) = (scale(n2, 3, 0.05), scale(m2, 4, 0.1));
    let pictures = noise(images * encoder.picture_len(), 5);
    let dfeatures = noise(images * encoder.features(), 6);
    let mut features = vec![0.0; images * encoder.features()];
    let (mut packed, mut saved) = (Packed::default(), Activations::default());
    let (mut scratch, mut workspace) = (Scratch::default(), Workspace::default());
    let weights = Weights { w1: &w1, b1: &b1, w2: &w2, b2: &b2 };
    let (mut g1, mut h1) = (vec![0.0; n1], vec![0.0; m1]);
    let (mut g2, mut h2) = (vec![0.0; n2], vec![0.0; m2]);
    let pack = median(repetitions, || encoder.pack(weights, &mut packed).expect("lengths fit"));
    let forward = median(repetitions, || {
        encoder.forward(&packed, &pictures, &mut saved, &mut features).expect("lengths fit");
    });
    let one = median(repetitions, || {
        let (picture, features) = (&pictures[..encoder.picture_len()], &mut features[..encoder.features()]);
        encoder.encode(&packed, picture, &mut scratch, features).expect("lengths fit");
    });
    let backward = median(repetitions, || {
        let gradients = Gradients { w1: &mut g1, b1: &mut h1, w2: &mut g2, b2: &mut h2 };
        encoder.backward(&pictures, &w2, &saved, &dfeatures, &mut workspace, gradients).expect("lengths fit");
    });
    let flops = encoder.forward_flops() as f64;
    println!(
        "{name:22} {level:10} {images:3} images  pack {:6.1} us  forward {forward:7.3} ms {:6.1} GFLOP/s  backward {backward:7.3} ms  one {:6.1} us",
        pack * 1e3,
        flops * images as f64 / forward / 1e6,
        one * 1e3,
        level = level.to_string(),
    );
}

fn main() {
    let repetitions = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(51);
    let config = |channels, side, first, second| Config {
        channels,
        height: side,
        width: side,
        first: Convolution { channels: first, kernel: 7, stride: 2 },
        second: Convolution { channels: second, kernel: 5, stride: 1 },
    };
    let cases = [
        ("wildlife plain", 60, config(1, 21, 16, 32)),
        ("wildlife C4", 60, config(1, 21, 32, 64)),
        ("wildlife C4 orbits", 12, config(1, 21, 32, 64)),
        ("wildlife D4", 60, config(1, 21, 40, 88)),
        ("wildlife C2", 60, config(1, 21, 22, 44)),
        ("traffic plain", 80, config(3, 35, 16, 32)),
        ("traffic C4", 80, config(3, 35, 32, 64)),
        ("central traffic C4", 20, config(3, 75, 32, 64)),
    ];
    for threads in [1, 2] {
        println!("{threads} thread(s)");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool starts");
        pool.install(|| {
            for level in Level::available().into_iter().rev() {
                // The portable path is for correctness; its times on two threads say nothing new.
                if threads > 1 && level != Level::best() {
                    continue;
                }
                for (name, images, config) in cases {
                    case(name, images, config, level, repetitions);
                }
            }
        });
    }
}
