//! Times of the kernels at the sizes of the paper's networks.
//!
//! `cargo run --release -p equimarl-kernels --example kernel_times [repetitions]`

use equimarl_kernels::Level;
use equimarl_kernels::adam::{Adam, clip_global_norm};
use equimarl_kernels::encoder::{
    Activations, Config, Convolution, Encoder, Gradients, Packed, Scratch, Weights, Workspace,
};
use equimarl_kernels::messages::{self, Graph, Round};
use equimarl_kernels::realise::Realisation;
use equimarl_kernels::{linear, softmax};
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
        encoder
            .backward(&packed, &pictures, &saved, &dfeatures, &mut workspace, gradients)
            .expect("lengths fit");
    });
    let (first, second) = (encoder.hidden_size(), encoder.pooled_size());
    let flops = 2.0 * (n1 * first.0 * first.1 + n2 * second.0 * second.1) as f64;
    println!(
        "{name:22} {level:10} {images:3} images  pack {:6.1} us  forward {forward:7.3} ms {:6.1} GFLOP/s  backward {backward:7.3} ms  one {:6.1} us",
        pack * 1e3,
        flops * images as f64 / forward / 1e6,
        one * 1e3,
        level = level.to_string(),
    );
}

/// The small kernels at the sizes of the equivariant wildlife network, in microseconds.
fn small(agents: usize, repetitions: usize) {
    let round = Round::new(64, 2, 64).expect("valid sizes");
    let offsets = (0..=agents as u32).map(|i| 2 * i).collect();
    let next = |i: u32| [(i + 1) % agents as u32, (i + 2) % agents as u32];
    let graph = Graph::new(offsets, (0..agents as u32).flat_map(next).collect()).expect("a ring");
    let (w, b) = (noise(64 * round.inputs(), 1), noise(64, 2));
    let (edges, features, dout) = (noise(agents * 4, 3), noise(agents * 64, 4), noise(agents * 64, 5));
    let (mut packed, mut saved) = (linear::Packed::default(), messages::Activations::default());
    let (mut workspace, mut out) = (messages::Workspace::default(), vec![0.0; agents * 64]);
    let forward = median(repetitions, || {
        round.linear().pack(&w, &b, &mut packed).expect("lengths fit");
        round.forward(&graph, &edges, &features, &packed, &mut saved, &mut out).expect("lengths fit");
    });
    let (mut df, mut dw, mut db) = (vec![0.0; agents * 64], vec![0.0; w.len()], vec![0.0; 64]);
    let backward = median(repetitions, || {
        let into = messages::Gradients { features: &mut df, w: &mut dw, b: &mut db };
        round.backward(&graph, &packed, &saved, &dout, &mut workspace, into).expect("lengths fit");
    });
    // The second filter of a C4 network: orbits of four entries.
    let index = (0..51_200).map(|i| i * 7919 % 12_800).collect();
    let orbits = Realisation::new(12_800, (0..=51_200).collect(), index, vec![1.0; 51_200])
        .expect("indices are in range");
    let in_order = orbits.in_order((0..51_200).map(Some));
    let (c, mut entries, mut dc) = (noise(12_800, 6), vec![0.0; 51_200], vec![0.0; 12_800]);
    let gather = median(repetitions, || in_order.run(&c, &mut entries).expect("lengths fit"));
    let scatter = median(repetitions, || orbits.add_adjoint(&entries, &mut dc).expect("lengths fit"));
    let (mut p, mut m, mut v) = (noise(26_000, 7), vec![0.0; 26_000], vec![0.0; 26_000]);
    let mut g = noise(26_000, 8);
    let adam = median(repetitions, || {
        clip_global_norm(&mut [&mut g], 1.0);
        Adam::default().step(10, 1e-3, &g, &mut p, &mut m, &mut v).expect("lengths fit");
    });
    println!(
        "round of {agents} agents {:.1} us forward {:.1} us backward; orbits {:.1} us gather {:.1} us scatter; clip and Adam {:.1} us",
        forward * 1e3,
        backward * 1e3,
        gather * 1e3,
        scatter * 1e3,
        adam * 1e3,
    );
}

/// One decision of one wildlife agent: encode, two rounds with two neighbours, policy.
fn decision(repetitions: usize) {
    let encoder = Encoder::new(paper(1, 21, 32, 64)).expect("the paper's sizes are valid");
    let [n1, m1, n2, m2] = encoder.weight_lens();
    let (w1, b1, w2, b2) = (noise(n1, 1), noise(m1, 2), noise(n2, 3), noise(m2, 4));
    let weights = Weights { w1: &w1, b1: &b1, w2: &w2, b2: &b2 };
    let (mut packed, mut scratch) = (Packed::default(), Scratch::default());
    encoder.pack(weights, &mut packed).expect("lengths fit");
    let (round, head) = (Round::new(64, 2, 64).expect("valid"), linear::Linear::new(64, 5).expect("valid"));
    let (mut mix, mut policy) = (linear::Packed::default(), linear::Packed::default());
    round.linear().pack(&noise(64 * 130, 5), &noise(64, 6), &mut mix).expect("lengths fit");
    head.pack(&noise(320, 7), &noise(5, 8), &mut policy).expect("lengths fit");
    let (picture, edges, received) = (noise(441, 9), noise(4, 10), noise(128, 11));
    let (mut own, mut next, mut input) = (vec![0.0; 64], vec![0.0; 64], Vec::new());
    let (mut logits, mut log_probabilities) = ([0.0; 5], [0.0; 5]);
    let time = median(repetitions, || {
        encoder.encode(&packed, &picture, &mut scratch, &mut own).expect("lengths fit");
        for _ in 0..2 {
            round.one(&own, &edges, &received, &mix, &mut input, &mut next).expect("lengths fit");
            std::mem::swap(&mut own, &mut next);
        }
        head.forward(&policy, &own, false, &mut logits).expect("lengths fit");
        softmax::log_softmax(&logits, 5, &mut log_probabilities).expect("lengths fit");
    });
    println!("one wildlife decision: {:.1} us", time * 1e3);
}

fn paper(channels: usize, side: usize, first: usize, second: usize) -> Config {
    Config {
        channels,
        height: side,
        width: side,
        first: Convolution { channels: first, kernel: 7, stride: 2 },
        second: Convolution { channels: second, kernel: 5, stride: 1 },
    }
}

fn main() {
    let repetitions = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(51);
    let cases = [
        ("wildlife plain", 60, paper(1, 21, 16, 32)),
        ("wildlife C4", 60, paper(1, 21, 32, 64)),
        ("wildlife C4 orbits", 12, paper(1, 21, 32, 64)),
        ("wildlife D4", 60, paper(1, 21, 40, 88)),
        ("wildlife C2", 60, paper(1, 21, 22, 44)),
        ("traffic plain", 80, paper(3, 35, 16, 32)),
        ("traffic C4", 80, paper(3, 35, 32, 64)),
        ("central traffic C4", 20, paper(3, 75, 32, 64)),
    ];
    for threads in [1, 2] {
        println!("{threads} thread(s)");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool starts");
        pool.install(|| {
            small(60, repetitions);
            decision(repetitions);
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
