use super::*;
use crate::testing::{Noise, deviation, on_threads};

/// Two runs; the same block in two places; and an input that nobody reads.
fn blocks() -> Vec<Block> {
    vec![
        Block { outputs: 9, runs: vec![0, 40], run: 5, places: vec![[0, 3]] },
        Block { outputs: 17, runs: vec![0], run: 11, places: vec![[5, 12], [17, 29]] },
        Block { outputs: 3, runs: vec![0], run: 1, places: vec![[30, 0]] },
    ]
}

const SIZES: [usize; 2] = [46, 46];

fn plain(count: usize, at: usize, of: usize) -> Realisation {
    let starts = (0..=count as u32).collect();
    Realisation::new(of, starts, (at as u32..(at + count) as u32).collect(), vec![1.0; count]).unwrap()
}

/// out, dx, dw, db
fn run(level: Level, w: &[f32], x: &[f32], dout: &[f32]) -> [Vec<f32>; 4] {
    let plan = Blocks::with_level(SIZES[0], SIZES[1], blocks(), level).unwrap();
    let (entries, biases) = (plan.entries(), plan.biases());
    let weight = plain(entries, 0, w.len());
    let realiser = plan.realiser(&weight, &plain(biases, entries, w.len())).unwrap();
    let mut packed = Packed::default();
    plan.realise(&realiser, w, &mut packed).unwrap();
    let (mut out, mut dx) = (vec![f32::NAN; dout.len()], vec![f32::NAN; x.len()]);
    plan.forward(&packed, x, &mut out).unwrap();
    let (mut dw, mut db) = (vec![f32::NAN; entries], vec![f32::NAN; biases]);
    let gradients = Gradients { w: &mut dw, b: &mut db };
    plan.backward(&packed, x, dout, &mut Workspace::default(), Some(&mut dx), gradients).unwrap();
    [out, dx, dw, db]
}

/// The equation, entry by entry.
fn oracle(w: &[f32], x: &[f32], dout: &[f32]) -> [Vec<f64>; 4] {
    let entries = blocks().iter().map(|b| b.outputs * b.depth()).sum::<usize>();
    let (mut out, mut dx) = (vec![0.0; dout.len()], vec![0.0; x.len()]);
    let mut dw = vec![0.0; w.len()];
    for r in 0..x.len() / SIZES[0] {
        let (mut at, mut bias) = (0, entries);
        for block in blocks() {
            for [from, to] in block.places {
                for o in 0..block.outputs {
                    let y = r * SIZES[1] + to + o;
                    out[y] += f64::from(w[bias + o]);
                    dw[bias + o] += f64::from(dout[y]);
                    for (j, run) in block.runs.iter().enumerate() {
                        for i in 0..block.run {
                            let e = at + (j * block.outputs + o) * block.run + i;
                            let column = r * SIZES[0] + from + run + i;
                            out[y] += f64::from(w[e]) * f64::from(x[column]);
                            dw[e] += f64::from(dout[y]) * f64::from(x[column]);
                            dx[column] += f64::from(dout[y]) * f64::from(w[e]);
                        }
                    }
                }
            }
            at += block.outputs * block.run * block.runs.len();
            bias += block.outputs;
        }
    }
    let db = dw.split_off(entries);
    [out, dx, dw, db]
}

#[test]
fn all_levels_and_threads_follow_the_equation() {
    let mut noise = Noise::new(5);
    for count in [0, 1, 7, 33, 100] {
        let entries = blocks().iter().map(|b| b.outputs * (b.depth() + 1)).sum();
        let (w, x) = (noise.floats(entries), noise.floats(count * SIZES[0]));
        let dout = noise.floats(count * SIZES[1]);
        let expected = oracle(&w, &x, &dout);
        let found: Vec<_> = Level::available().into_iter().map(|level| run(level, &w, &x, &dout)).collect();
        for found in &found {
            for (found, expected) in found.iter().zip(&expected) {
                assert!(deviation(found, expected) < 1e-5);
            }
        }
        // AVX2 and AVX-512 agree to the bit, and so do all numbers of threads.
        assert!(found[1..].windows(2).all(|pair| pair[0] == pair[1]));
        let best = Level::best();
        assert!(on_threads(3, || run(best, &w, &x, &dout)) == run(best, &w, &x, &dout));
    }
}

/// A row alone is the same row in company.
#[test]
fn rows_do_not_depend_on_each_other() {
    let mut noise = Noise::new(6);
    let entries = blocks().iter().map(|b| b.outputs * (b.depth() + 1)).sum();
    let (w, x) = (noise.floats(entries), noise.floats(40 * SIZES[0]));
    let dout = vec![0.0; 40 * SIZES[1]];
    let [all, ..] = run(Level::best(), &w, &x, &dout);
    for (x, all) in x.chunks(SIZES[0]).zip(all.chunks(SIZES[1])) {
        assert_eq!(run(Level::best(), &w, x, &dout[..SIZES[1]])[0], all);
    }
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let block = |outputs, from, to| Block { outputs, runs: vec![0], run: 2, places: vec![[from, to]] };
    assert!(Blocks::new(4, 4, vec![block(2, 0, 0), block(2, 2, 2)]).is_ok());
    for wrong in [
        vec![block(2, 0, 0)],                 // an output that nobody writes
        vec![block(2, 0, 0), block(2, 2, 1)], // one that two write
        vec![block(2, 0, 0), block(2, 1, 2)], // an input that two read
        vec![block(2, 0, 0), block(2, 3, 2)], // beyond the row
        vec![block(4, usize::MAX, 0)],
        vec![],
    ] {
        assert!(Blocks::new(4, 4, wrong).is_err());
    }
    let plan = Blocks::new(2, 2, vec![block(2, 0, 0)]).unwrap();
    assert!(plan.forward(&Packed::default(), &[0.0; 2], &mut [0.0; 2]).is_err());
    assert!(plan.realiser(&plain(3, 0, 3), &plain(2, 0, 3)).is_err());
}

/// Enough work for several tasks: more rows of weights than one takes, and rows for all threads.
#[test]
fn threads_change_nothing_where_work_is_shared() {
    let mut noise = Noise::new(7);
    let (size, count) = ([60, 70], 600);
    let plan = Blocks::new(
        size[0],
        size[1],
        vec![Block { outputs: 70, runs: vec![0], run: 60, places: vec![[0, 0]] }],
    )
    .unwrap();
    let (entries, biases) = (plan.entries(), plan.biases());
    let (w, x) = (noise.floats(entries + biases), noise.floats(count * size[0]));
    let dout = noise.floats(count * size[1]);
    let realiser = plan.realiser(&plain(entries, 0, w.len()), &plain(biases, entries, w.len())).unwrap();
    let mut packed = Packed::default();
    plan.realise(&realiser, &w, &mut packed).unwrap();
    let all = || {
        let (mut out, mut dx) = (vec![f32::NAN; dout.len()], vec![f32::NAN; x.len()]);
        plan.forward(&packed, &x, &mut out).unwrap();
        let (mut dw, mut db) = (vec![f32::NAN; entries], vec![f32::NAN; biases]);
        let gradients = Gradients { w: &mut dw, b: &mut db };
        plan.backward(&packed, &x, &dout, &mut Workspace::default(), Some(&mut dx), gradients).unwrap();
        [out, dx, dw, db]
    };
    let one = on_threads(1, all);
    assert!(one.iter().flatten().all(|x| x.is_finite()));
    assert_eq!(on_threads(3, all), one);
    let row: f32 = w[entries] + (0..60).map(|i| w[i] * x[i]).sum::<f32>();
    assert!((one[0][0] - row).abs() < 1e-4);
    // Weights of another instruction set are foreign.
    for level in Level::available().into_iter().filter(|l| l.lanes() != Level::best().lanes()) {
        let block = Block { outputs: 70, runs: vec![0], run: 60, places: vec![[0, 0]] };
        let other = Blocks::with_level(60, 70, vec![block], level).unwrap();
        assert!(other.forward(&packed, &x, &mut vec![0.0; dout.len()]).is_err());
    }
}
