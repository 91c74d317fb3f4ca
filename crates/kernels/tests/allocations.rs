//! Training allocates nothing once its buffers have grown: packing, books, forward and backward passes on one thread.

mod common;

use common::allocations;
use equimarl_kernels::dictionary::{
    Atlas, Book, Cache, Coefficients, Gradients, Packed, Plan, Turns, Workspace,
};
use equimarl_kernels::encoder::{Config, Convolution};

fn pictures(plan: &Plan, width: usize, count: usize) -> Vec<f32> {
    let size = plan.picture_len();
    // Cells of five pixels, lit by a fixed rule.
    let lit = |picture: usize, i: usize| (picture * 31 + i / width / 5 * 7 + i % width / 5 * 3) % 11 < 2;
    (0..count * size).map(|i| if lit(i / size, i % size) { 1.0 } else { 0.0 }).collect()
}

#[test]
fn nothing_is_allocated_once_the_buffers_have_grown() {
    let conv = |channels, kernel, stride| Convolution { channels, kernel, stride };
    let (first, second) = (conv(32, 7, 2), conv(64, 5, 1));
    let config = Config { channels: 3, height: 35, width: 35, first, second };
    let multiply: Vec<u32> = (0..16).map(|i| (i / 4 + i % 4) % 4).collect();
    let turn = |g, n, at| (0..g).fold(at, |[i, j]: [usize; 2], _| [n - 1 - j, i]);
    let plan = Plan::new(config, &Turns::new(4, &multiply, [7, 5], turn).unwrap(), [8, 16]).unwrap();
    let pictures = pictures(&plan, config.width, 40);
    let [mut a1, b1, a2, b2] = plan.coefficient_lens().map(|len| vec![0.01; len]);
    let mut gradients = plan.coefficient_lens().map(|len| vec![0.0; len]);
    let dfeatures = vec![1.0; 40 * plan.features()];
    let (mut atlas, mut book) = (Atlas::new(&plan), Book::new(&plan));
    let (mut packed, mut cache, mut workspace) = (Packed::default(), Cache::default(), Workspace::default());
    let mut codes = vec![0; plan.positions()];
    let mut step = |pictures: &[f32]| {
        a1[0] += 0.01;
        plan.pack(Coefficients { a1: &a1, b1: &b1, a2: &a2, b2: &b2 }, &mut packed).unwrap();
        book.clear();
        for picture in pictures.chunks_exact(plan.picture_len()) {
            atlas.look(picture, &mut codes).unwrap();
            book.add(&atlas, &codes).unwrap();
            plan.forward(&packed, &book, &mut cache).unwrap();
        }
        let [a1, b1, a2, b2] = &mut gradients;
        let into = Gradients { a1, b1, a2, b2 };
        let dfeatures = &dfeatures[..cache.features().len()];
        plan.backward(&packed, &book, &cache, dfeatures, &mut workspace, into).unwrap();
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let allocated = pool.install(|| {
        step(&pictures);
        let before = allocations();
        for _ in 0..3 {
            step(&pictures);
            step(&pictures[..7 * plan.picture_len()]);
        }
        allocations() - before
    });
    assert_eq!(allocated, 0);
}
