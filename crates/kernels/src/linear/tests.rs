use super::*;
use crate::testing::{Noise, deviation, on_threads};
use proptest::prelude::*;

struct Case {
    x: Vec<f32>,
    w: Vec<f32>,
    b: Vec<f32>,
    dout: Vec<f32>,
}

fn case(noise: &mut Noise, count: usize, inputs: usize, outputs: usize, whole: bool) -> Case {
    let mut numbers = |len| match whole {
        true => noise.whole(len, 8),
        false => noise.floats(len),
    };
    Case {
        x: numbers(count * inputs),
        w: numbers(inputs * outputs),
        b: numbers(outputs),
        dout: numbers(count * outputs),
    }
}

/// out, dx, dw, db
fn run(plan: Linear, case: &Case, relu: bool) -> [Vec<f32>; 4] {
    let mut packed = Packed::default();
    plan.pack(&case.w, &case.b, &mut packed).unwrap();
    let mut out = vec![f32::NAN; case.dout.len()];
    plan.forward(&packed, &case.x, relu, &mut out).unwrap();
    let mut dz = case.dout.clone();
    if relu {
        relu_backward(&out, &mut dz).unwrap();
    }
    let mut dx = vec![f32::NAN; case.x.len()];
    let (mut dw, mut db) = (vec![f32::NAN; case.w.len()], vec![f32::NAN; case.b.len()]);
    let gradients = Gradients { w: &mut dw, b: &mut db };
    plan.backward(&packed, &case.x, &dz, &mut Workspace::default(), Some(&mut dx), gradients).unwrap();
    [out, dx, dw, db]
}

fn oracle(case: &Case, inputs: usize, relu: bool) -> [Vec<f64>; 4] {
    let outputs = case.b.len();
    let count = case.x.len() / inputs;
    let mut out = vec![0.0; count * outputs];
    let mut dx = vec![0.0; case.x.len()];
    let (mut dw, mut db) = (vec![0.0; case.w.len()], vec![0.0; outputs]);
    for r in 0..count {
        for o in 0..outputs {
            let mut z = f64::from(case.b[o]);
            for i in 0..inputs {
                z += f64::from(case.w[o * inputs + i]) * f64::from(case.x[r * inputs + i]);
            }
            let open = !relu || z > 0.0;
            out[r * outputs + o] = if open { z } else { 0.0 };
            let g = if open { f64::from(case.dout[r * outputs + o]) } else { 0.0 };
            db[o] += g;
            for i in 0..inputs {
                dw[o * inputs + i] += g * f64::from(case.x[r * inputs + i]);
                dx[r * inputs + i] += g * f64::from(case.w[o * inputs + i]);
            }
        }
    }
    [out, dx, dw, db]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn agrees_with_the_oracle(
        count in 0usize..80, inputs in 1usize..70, outputs in 1usize..70, relu: bool, seed: u64,
    ) {
        // Whole numbers with ReLU: rounding must not decide which side of zero a sum is on.
        let case = case(&mut Noise::new(seed), count, inputs, outputs, relu);
        let expected = oracle(&case, inputs, relu);
        let tolerance = if relu { 0.0 } else { 1e-5 };
        for level in Level::available() {
            let found = run(Linear::with_level(inputs, outputs, level).unwrap(), &case, relu);
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!(deviation(found, expected) <= tolerance, "{level}");
            }
        }
    }
}

#[test]
fn same_bits_on_any_number_of_threads_and_vector_width() {
    let case = case(&mut Noise::new(5), 350, 130, 64, false);
    let levels = Level::available();
    let plan = Linear::new(130, 64).unwrap();
    let one = on_threads(1, || run(plan, &case, true));
    assert_eq!(one, on_threads(2, || run(plan, &case, true)));
    for &level in &levels[1..] {
        assert_eq!(one, run(Linear::with_level(130, 64, level).unwrap(), &case, true));
    }
}

#[test]
fn a_row_alone_is_the_row_in_a_batch() {
    let mut case = case(&mut Noise::new(6), 77, 31, 22, false);
    let plan = Linear::new(31, 22).unwrap();
    let [batch, dbatch, ..] = run(plan, &case, true);
    let (x, dout) = (case.x.clone(), case.dout.clone());
    for r in 0..77 {
        case.x = x[r * 31..][..31].to_vec();
        case.dout = dout[r * 22..][..22].to_vec();
        let [alone, dalone, ..] = run(plan, &case, true);
        assert_eq!(alone, batch[r * 22..][..22]);
        assert_eq!(dalone, dbatch[r * 31..][..31]);
    }
}

#[test]
fn wrong_sizes_are_errors() {
    assert!(Linear::new(0, 3).is_err());
    assert!(Linear::new(usize::MAX, 3).is_err());
    let plan = Linear::new(2, 3).unwrap();
    let mut packed = Packed::default();
    let mut out = [0.0; 3];
    let unfilled = plan.forward(&packed, &[0.0; 2], false, &mut out);
    assert_eq!(unfilled, Err(Error::Foreign { name: "packed" }));
    assert!(plan.pack(&[0.0; 5], &[0.0; 3], &mut packed).is_err());
    plan.pack(&[0.0; 6], &[0.0; 3], &mut packed).unwrap();
    assert!(plan.forward(&packed, &[0.0; 3], false, &mut out).is_err());
    assert!(plan.forward(&packed, &[0.0; 4], false, &mut out).is_err());
    let other = Linear::new(3, 3).unwrap();
    assert!(other.forward(&packed, &[0.0; 3], false, &mut out).is_err());
    assert!(relu_backward(&[0.0], &mut [0.0; 2]).is_err());
}

#[test]
fn weights_from_coefficients_are_those_that_are_packed() {
    // Entry e of a 31 x 22 matrix is plus or minus coefficient 7 e mod 50; three biases share a coefficient.
    let (inputs, outputs, free) = (31, 22, 60);
    let entries = inputs * outputs;
    let index: Vec<u32> = (0..entries as u32).map(|e| 7 * e % 50).collect();
    let scale: Vec<f32> = (0..entries).map(|e| if e % 3 == 0 { -1.0 } else { 1.0 }).collect();
    let weight = Realisation::new(free, (0..=entries as u32).collect(), index, scale).unwrap();
    let bias: Vec<u32> = (0..outputs as u32).map(|o| 50 + o / 3).collect();
    let bias = Realisation::new(free, (0..=outputs as u32).collect(), bias, vec![1.0; outputs]).unwrap();
    let coefficients = Noise::new(8).floats(free);
    let (mut w, mut b) = (vec![0.0; entries], vec![0.0; outputs]);
    weight.realise(&coefficients, &mut w).unwrap();
    bias.realise(&coefficients, &mut b).unwrap();
    for level in Level::available() {
        let plan = Linear::with_level(inputs, outputs, level).unwrap();
        let (mut straight, mut packed) = (Packed::default(), Packed::default());
        let realiser = plan.realiser(&weight, &bias).unwrap();
        plan.realise(&realiser, &coefficients, &mut straight).unwrap();
        plan.pack(&w, &b, &mut packed).unwrap();
        for (a, b) in [(&straight.forward, &packed.forward), (&straight.backward, &packed.backward)] {
            for (a, b) in a.iter().zip(b.iter()) {
                assert_eq!((a.weights, a.bias), (b.weights, b.bias));
            }
        }
        assert!(plan.realise(&realiser, &coefficients[1..], &mut straight).is_err());
    }
}
