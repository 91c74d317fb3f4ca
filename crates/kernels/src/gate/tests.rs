use super::*;
use crate::testing::Noise;

const SHAPES: [(Counts, Counts, bool); 3] = [
    (Counts { zero: 3, sign: 0, one: 4, two: 2 }, Counts { zero: 2, sign: 0, one: 3, two: 2 }, true),
    (Counts { zero: 2, sign: 2, one: 4, two: 2 }, Counts { zero: 2, sign: 2, one: 3, two: 1 }, true),
    (Counts { zero: 2, sign: 0, one: 3, two: 0 }, Counts { zero: 9, sign: 0, one: 3, two: 3 }, false),
];

/// Invariants, output, and the gradients of scales and rows.
fn run(gate: &Gate, [y, o, dout, di]: [&[f32]; 4]) -> [Vec<f32>; 4] {
    let (count, mut saved) = (y.len() / gate.from.dim(), Saved::default());
    let (mut i, mut out) = (vec![0.0; count * gate.invariants()], vec![0.0; count * gate.to.dim()]);
    let (mut d_o, mut dy) = (vec![0.0; o.len()], vec![0.0; y.len()]);
    gate.look(y, &mut saved, &mut i).unwrap();
    gate.scale(o, &mut saved, &mut out).unwrap();
    gate.scale_back(dout, &mut saved, &mut d_o).unwrap();
    gate.look_back(di, &mut saved, &mut dy).unwrap();
    [i, out, d_o, dy]
}

/// The equations themselves are checked against f64 where gates are layers (equimarl-nn): here that a row is the same in any
/// company, and on every level.
#[test]
fn a_row_has_the_same_bits_in_any_company_on_any_level() {
    let mut noise = Noise::new(3);
    for (from, to, mirrors) in SHAPES {
        let best = Gate::new(from, to, mirrors);
        let count = 19;
        let sizes = [from.dim(), best.scales(), to.dim(), best.invariants()];
        let data = sizes.map(|size| noise.floats(count * size));
        let all = run(&best, data.each_ref().map(Vec::as_slice));
        for level in Level::available() {
            let gate = Gate::with_level(from, to, mirrors, level);
            assert!(run(&gate, data.each_ref().map(Vec::as_slice)) == all, "{level}");
        }
        for r in 0..count {
            let mut k = 0;
            let row = data.each_ref().map(|all| {
                k += 1;
                &all[r * sizes[k - 1]..][..sizes[k - 1]]
            });
            let one = run(&best, row);
            let widths = [best.invariants(), to.dim(), best.scales(), from.dim()];
            for ((one, all), width) in one.iter().zip(&all).zip(widths) {
                assert_eq!(one, &all[r * width..][..width]);
            }
        }
    }
}

#[test]
fn rows_of_another_length_are_refused() {
    let (from, to, mirrors) = SHAPES[0];
    let (gate, mut saved) = (Gate::new(from, to, mirrors), Saved::default());
    assert!(gate.look(&vec![0.0; from.dim() + 1], &mut saved, &mut []).is_err());
    let mut i = vec![0.0; gate.invariants()];
    gate.look(&vec![0.0; from.dim()], &mut saved, &mut i).unwrap();
    assert!(gate.scale(&[], &mut saved, &mut []).is_err());
    assert!(gate.scale_back(&vec![0.0; to.dim()], &mut saved, &mut vec![0.0; gate.scales()]).is_err());
    assert!(gate.look_back(&i.clone(), &mut saved, &mut vec![0.0; from.dim()]).is_err());
    let other = Gate::new(SHAPES[1].0, to, mirrors);
    assert!(other.scale(&vec![0.0; other.scales()], &mut saved, &mut vec![0.0; to.dim()]).is_err());
}

#[test]
fn outputs_from_nothing_are_refused() {
    let counts = |zero, sign, one, two| Counts { zero, sign, one, two };
    for (from, to) in [
        (counts(1, 0, 0, 0), counts(0, 0, 1, 0)),
        (counts(1, 0, 0, 0), counts(0, 0, 0, 1)),
        (counts(1, 1, 2, 0), counts(0, 2, 1, 0)),
    ] {
        let gate = Gate::new(from, to, true);
        let (y, mut i) = (vec![0.5; from.dim()], vec![0.0; gate.invariants()]);
        assert!(gate.look(&y, &mut Saved::default(), &mut i).is_err());
    }
}
