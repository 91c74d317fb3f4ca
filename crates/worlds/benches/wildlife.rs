//! Environment steps of the wildlife world on one core, random actions drawn from a stream included.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use equimarl_worlds::{Canvas, End, EnvBatch, Outcome, Purpose, Stream, Wildlife, wildlife};

const WORLDS: usize = 16;

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("wildlife");
    group.throughput(Throughput::Elements(WORLDS as u64));
    for drones in [3, 4, 48] {
        let world = Wildlife::new(drones, 7).unwrap();
        let mut batch = EnvBatch::new(&world, WORLDS, 1, Purpose::World).unwrap();
        let mut stream = Stream::new(1, Purpose::Action, 0);
        let mut actions = vec![0; WORLDS * drones];
        let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; WORLDS];
        let mut ids = vec![0; WORLDS * drones];
        group.bench_function(format!("ids-{drones}"), |b| {
            b.iter(|| {
                actions.fill_with(|| stream.below(wildlife::MOVES as u32) as usize);
                batch.step(&actions, &mut outcomes, |_, _| {}).unwrap();
                batch.ids(&mut ids);
            });
        });
        let mut images = vec![0.0; Canvas::len_for(batch.worlds())];
        let mut canvas = Canvas::paint(batch.worlds(), &mut images);
        group.bench_function(format!("images-{drones}"), |b| {
            b.iter(|| {
                actions.fill_with(|| stream.below(wildlife::MOVES as u32) as usize);
                batch.step(&actions, &mut outcomes, |_, _| {}).unwrap();
                canvas.update(batch.worlds(), &mut images);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
