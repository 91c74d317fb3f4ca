use super::*;
use crate::testing::Noise;
use proptest::prelude::*;

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.sum()
}

proptest! {
    #[test]
    fn rows_scatter_as_the_adjoint_of_the_gather(
        distinct in 1usize..6, count in 0usize..12, channels in 1usize..4, order in 1usize..6, seed: u64,
    ) {
        let mut noise = Noise::new(seed);
        // Row g of the table turns by g: a cyclic group's regular representation.
        let table = (0..order * order).map(|i| ((i / order + i % order) % order) as u32);
        let perms = Permutations::new(order, table.collect()).unwrap();
        let width = channels * order;
        let ids: Vec<u32> = (0..count).map(|_| noise.below(distinct) as u32).collect();
        let turns: Vec<u32> = (0..count).map(|_| noise.below(order) as u32).collect();
        let (f, dout) = (noise.whole(distinct * width, 9), noise.whole(count * width, 9));
        let (mut out, mut df) = (vec![9.0; count * width], vec![9.0; distinct * width]);
        gather_rows_permuted(&f, width, &perms, &ids, &turns, &mut out).unwrap();
        scatter_rows_permuted(&dout, width, &perms, &ids, &turns, &mut df).unwrap();
        for (at, &x) in out.iter().enumerate() {
            let (r, c, h) = (at / width, at % width / order, at % order);
            let from = (h + turns[r] as usize) % order;
            prop_assert_eq!(x, f[ids[r] as usize * width + c * order + from]);
        }
        prop_assert_eq!(dot(&out, &dout), dot(&f, &df));
        gather_rows(&f, width, &ids, &mut out).unwrap();
        scatter_rows(&dout, width, &ids, &mut df).unwrap();
        for (at, &x) in out.iter().enumerate() {
            prop_assert_eq!(x, f[ids[at / width] as usize * width + at % width]);
        }
        prop_assert_eq!(dot(&out, &dout), dot(&f, &df));
    }
}

#[test]
fn wrong_sizes_and_indices_are_errors() {
    assert!(Permutations::new(2, vec![0, 0]).is_err());
    assert!(Permutations::new(2, vec![0, 2]).is_err());
    assert!(Permutations::new(2, vec![0, 1, 1]).is_err());
    assert!(Permutations::new(0, vec![]).is_err());
    assert!(gather_rows(&[0.0; 4], 2, &[2], &mut [0.0; 2]).is_err());
    assert!(gather_rows(&[0.0; 4], 0, &[], &mut []).is_err());
    assert!(scatter_rows(&[0.0; 4], 2, &[0], &mut [0.0; 2]).is_err());
    let perms = Permutations::new(2, vec![0, 1]).unwrap();
    let mut out = [0.0; 2];
    let beyond = gather_rows_permuted(&[0.0; 2], 2, &perms, &[0], &[1], &mut out);
    assert!(beyond.is_err());
    let odd = gather_rows_permuted(&[0.0; 3], 3, &perms, &[0], &[0], &mut [0.0; 3]);
    assert!(odd.is_err());
}
