use super::*;
use crate::testing::{Noise, check_gradients};
use equimarl_group::{Turn, Types};

fn channels(zero: usize, sign: usize, one: usize, two: usize) -> Channels {
    Channels { zero, sign, one, two }
}

fn shapes() -> Vec<GateShape> {
    let shape = |symmetry, input, to| GateShape::new(&symmetry, input, to, 5).unwrap();
    vec![
        shape(Symmetry::O2, channels(3, 0, 4, 2), channels(2, 0, 3, 2)),
        shape(Symmetry::O2, channels(1, 2, 4, 2), channels(2, 2, 3, 1)),
        shape(Symmetry::O2, channels(0, 0, 2, 0), channels(3, 1, 2, 3)),
        shape(Symmetry::O2, channels(0, 1, 1, 0), channels(1, 1, 1, 1)),
        shape(Symmetry::So2, channels(2, 0, 3, 2), channels(2, 0, 3, 3)),
        shape(Symmetry::So2, channels(1, 0, 1, 0), channels(1, 0, 1, 1)),
    ]
}

/// The equations of the file, in f64 and with complex numbers written out.
pub(in crate::layers) fn oracle(shape: &GateShape, parameters: &[f64], y: &[f64]) -> Vec<f64> {
    type C = [f64; 2];
    let times = |a: C, b: C| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    let conj = |a: C| [a[0], -a[1]];
    let (from, to) = (shape.from, shape.to);
    let eps = 1.0f64;
    let (i, gate) = (shape.invariants(), Gate::new(shape).unwrap());
    let spaces: Vec<&Space> = gate.spaces().collect();
    let mut all = vec![];
    for row in y.chunks(from.dim()) {
        let complex = |at: usize| [row[at], row[at + 1]];
        let z: Vec<C> = (0..from.one).map(|k| complex(from.zero + from.sign + 2 * k)).collect();
        let w: Vec<C> = (0..from.two).map(|k| complex(from.zero + from.sign + 2 * (from.one + k))).collect();
        let t = &row[from.zero..from.zero + from.sign];
        let size = |a: C| (a[0] * a[0] + a[1] * a[1] + eps * eps).sqrt();
        let unit = |all: &[C]| all.iter().map(|&a| a.map(|x| x / size(a))).collect::<Vec<C>>();
        let (n, m) = (unit(&z), unit(&w));
        let mut inv: Vec<f64> = row[..from.zero].to_vec();
        inv.extend(t.iter().map(|t| (t * t + eps * eps).sqrt()));
        inv.extend(z.iter().chain(&w).map(|&a| size(a)));
        for (vectors, units) in [(&z, &n), (&w, &m)] {
            for k in 1..vectors.len() {
                let product = times(vectors[k - 1], conj(units[k]));
                inv.push(product[0]);
                if shape.symmetry == Symmetry::So2 {
                    inv.push(product[1]);
                }
            }
        }
        assert_eq!(inv.len(), i);
        let dense = |x: &[f64], at: usize, space: &Space| -> Vec<f64> {
            let sum = |terms: &mut dyn Iterator<Item = (usize, f32)>, at: usize| -> f64 {
                terms.map(|(c, s)| parameters[at + c] * f64::from(s)).sum()
            };
            let weight = |k: usize, j: usize| sum(&mut space.weight().terms(k * x.len() + j), at);
            let bias = |k: usize| sum(&mut space.bias().terms(k), at + space.ranks()[0]);
            let y = |k: usize| bias(k) + (0..x.len()).map(|j| weight(k, j) * x[j]).sum::<f64>();
            (0..space.output().dim()).map(y).collect()
        };
        let hidden: Vec<f64> = dense(&inv, 0, spaces[0]).into_iter().map(|x| x.max(0.0)).collect();
        let scales = dense(&hidden, spaces[0].parameters(), spaces[1]);
        let mut next = scales.into_iter();
        let mut take = || next.next().unwrap();
        all.extend((0..to.zero).map(|_| take().max(0.0)));
        for k in 0..to.sign {
            let mut sum = 0.0;
            if from.sign > 0 {
                sum += take() * t[k] / (t[k] * t[k] + eps * eps).sqrt();
            }
            if from.one > 1 {
                sum += take() * times(n[k % n.len()], conj(n[(k + 1) % n.len()]))[1];
            }
            all.push(sum);
        }
        for k in 0..to.one {
            let own = take();
            let mut sum = n[k].map(|x| own * x);
            if from.two > 0 {
                let (by, q) = (take(), times(m[k % m.len()], conj(n[k])));
                sum = [sum[0] + by * q[0], sum[1] + by * q[1]];
            }
            all.extend(sum);
        }
        for k in 0..to.two {
            let mut sum = [0.0; 2];
            if from.two > 0 {
                let by = take();
                sum = m[k].map(|x| by * x);
            }
            let (by, p) = (take(), times(n[k % n.len()], n[(k + 1) % n.len()]));
            all.extend([sum[0] + by * p[0], sum[1] + by * p[1]]);
        }
        assert!(next.next().is_none());
    }
    all
}

/// What a gate makes of these rows.
fn run(
    shape: &GateShape,
    parameters: &[f32],
    y: &[f32],
    work: &mut GateWork,
) -> (Gate, GateWeights, Vec<f32>) {
    let (gate, mut weights) = (Gate::new(shape).unwrap(), GateWeights::default());
    gate.realise(parameters, &mut weights).unwrap();
    let mut out = vec![0.0; y.len() / shape.from.dim() * shape.to.dim()];
    gate.forward(&weights, y, work, &mut out).unwrap();
    (gate, weights, out)
}

#[test]
fn gradients_are_those_of_the_equation() {
    for (case, shape) in shapes().iter().enumerate() {
        let mut noise = Noise::new(51 + case as u64);
        let count = Gate::new(shape).unwrap().parameters();
        let (parameters, y) = (noise.normals(count), noise.normals(3 * shape.from.dim()));
        let mut work = GateWork::default();
        let (gate, weights, out) = run(shape, &parameters, &y, &mut work);
        let pulls = noise.normals(out.len());
        let (mut dy, mut gradients) = (vec![0.0; y.len()], vec![0.0; count]);
        gate.backward(&weights, &y, &mut work, &pulls, &mut dy, &mut gradients).unwrap();
        check_gradients(
            &[&parameters, &y],
            &[&gradients, &dy],
            |[parameters, y]| oracle(shape, parameters, y),
            (&out, &pulls),
        );
    }
}

/// f(R y) = R f(y) for random angles and mirrors; what is turned is large enough to be seen.
#[test]
fn outputs_turn_by_every_angle() {
    for (case, shape) in shapes().iter().enumerate() {
        let mut noise = Noise::new(71 + case as u64);
        let parameters = noise.normals(Gate::new(shape).unwrap().parameters());
        let y = noise.normals(shape.from.dim());
        let types = |c: Channels| {
            let all = [(c.zero, "freq0"), (c.sign, "sign"), (c.one, "freq1"), (c.two, "freq2")];
            let text: Vec<String> =
                all.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n}*{name}")).collect();
            Types::parse(&shape.symmetry, &text.join(" + ")).unwrap()
        };
        let turned = |c: Channels, turn: Turn, v: &[f32]| -> Vec<f32> {
            let matrix = types(c).matrix(turn);
            matrix
                .chunks(v.len())
                .map(|row| row.iter().zip(v).map(|(a, b)| a * f64::from(*b)).sum::<f64>() as f32)
                .collect()
        };
        let (_, _, here) = run(shape, &parameters, &y, &mut GateWork::default());
        let size = here.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        assert!(size > 0.3, "{size}");
        for _ in 0..50 {
            let turn = shape.symmetry.any_turn(&mut || noise.uniform());
            let (_, _, there) =
                run(shape, &parameters, &turned(shape.from, turn, &y), &mut GateWork::default());
            for (a, b) in turned(shape.to, turn, &here).iter().zip(&there) {
                assert!((a - b).abs() < 1e-5 * size.max(1.0), "case {case}, {turn}: {a} instead of {b}");
            }
        }
    }
}

#[test]
fn frequency_2_comes_out_of_frequency_1() {
    let shape = GateShape::new(&Symmetry::O2, channels(0, 0, 2, 0), channels(1, 0, 2, 2), 4).unwrap();
    let mut noise = Noise::new(5);
    let parameters = noise.normals(Gate::new(&shape).unwrap().parameters());
    let (_, _, out) = run(&shape, &parameters, &noise.normals(4), &mut GateWork::default());
    assert!(out[5..].iter().any(|x| x.abs() > 1e-2), "{out:?}");
}

#[test]
fn nothing_turns_where_nothing_points() {
    let shape = &shapes()[0];
    let parameters = Noise::new(5).normals(Gate::new(shape).unwrap().parameters());
    let mut work = GateWork::default();
    let y = vec![0.0; shape.from.dim()];
    let (gate, weights, out) = run(shape, &parameters, &y, &mut work);
    assert!(out[shape.to.zero..].iter().all(|x| *x == 0.0), "{out:?}");
    let (mut dy, mut gradients) = (y.clone(), vec![0.0; parameters.len()]);
    gate.backward(&weights, &y, &mut work, &vec![1.0; out.len()], &mut dy, &mut gradients).unwrap();
    assert!(dy.iter().chain(&gradients).all(|x| x.is_finite()));
}

#[test]
fn channels_that_nothing_reaches_are_refused() {
    for (input, to, part) in [
        (channels(2, 0, 0, 0), channels(1, 0, 1, 0), "frequency 1"),
        (channels(2, 0, 0, 1), channels(1, 0, 1, 0), "frequency 1"),
        (channels(2, 0, 0, 0), channels(1, 0, 0, 1), "frequency 2"),
        (channels(2, 0, 0, 0), channels(1, 1, 0, 0), "signs"),
        (channels(2, 0, 1, 0), channels(0, 0, 0, 0), "at least one channel"),
    ] {
        let error = GateShape::new(&Symmetry::O2, input, to, 4).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(GateShape::new(&Symmetry::O2, channels(0, 0, 1, 0), channels(1, 0, 1, 1), 4).is_ok());
}
