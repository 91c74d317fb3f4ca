//! A gradient step of training allocates nothing once its buffers have grown. Here, because a counting allocator is
//! `unsafe`, and this crate is the room for that.

use equimarl_learn::{Method, TrainConfig, Trainer, WorldConfig};
use equimarl_worlds::{Symmetric, Traffic, TrafficOptions, Wildlife};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of the last of some iterations with so many passes over each rollout. The learning rate is so small that no
/// weight ever changes: rollouts are the same whatever the number of passes, and so are their own allocations.
fn allocations<W: Symmetric>(config: &TrainConfig, world: &W, epochs: usize) -> Vec<usize> {
    let config = TrainConfig { epochs, learning_rate: 1e-30, decay: false, ..config.clone() };
    let mut trainer = Trainer::new(&config, world, |_| 0.0).unwrap();
    let mut count = || {
        let before = COUNT.load(Ordering::Relaxed);
        trainer.iterate().unwrap();
        COUNT.load(Ordering::Relaxed) - before
    };
    for _ in 0..30 {
        count();
    }
    (0..10).map(|_| count()).collect()
}

fn compare<W: Symmetric>(config: &TrainConfig, world: &W) {
    let (one, six) = (allocations(config, world, 1), allocations(config, world, 6));
    // A buffer that meets a larger minibatch than ever before grows; most iterations have none.
    let same = one.iter().zip(&six).filter(|(a, b)| a == b).count();
    assert!(
        same >= 7,
        "{} {:?}: {one:?} allocations with 1 pass, {six:?} with 6",
        config.method,
        config.world
    );
}

#[test]
fn updates_allocate_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for method in [Method::Equivariant, Method::Plain] {
            let config = TrainConfig::preset("paper", WorldConfig::wildlife(), method).unwrap();
            compare(&config, &Wildlife::new(3, 7).unwrap().under(&config.group().unwrap()).unwrap());
            let config = TrainConfig::preset("paper", WorldConfig::traffic(), method).unwrap();
            let city = Traffic::new(TrafficOptions::default()).unwrap();
            compare(&config, &city.under(&config.group().unwrap()).unwrap());
        }
    });
}
