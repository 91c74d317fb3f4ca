//! Bases: ranks, residuals, agreement of the three methods, the realise/adjoint pair, the paper's numbers.

mod common;

use common::{groups, pairs, signed_rep};
use equimarl_group::{
    Basis, Group, Method, Rep, assert_equivariant, compare, equivariance_error, strided_size,
};
use proptest::prelude::*;

fn rep(group: &str, text: &str) -> Rep {
    Rep::parse(&group.parse().unwrap(), text).unwrap()
}

fn random(n: usize, seed: u64) -> Vec<f64> {
    (0..n).map(|i| ((i as f64 + 1.0) * (seed % 1000) as f64 * 0.618).sin()).collect()
}

/// y = W x for a row-major weight.
fn multiply(weight: &[f64], x: &[f64]) -> Vec<f64> {
    weight.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn all_methods_agree((input, output) in pairs()) {
        let found = compare(&input, &output, None).unwrap();
        prop_assert_eq!(found.rank(), found.rank_by_characters());
        prop_assert!(found.residual() < 1e-12, "residual {:e}", found.residual());
        if let Some(angle) = found.max_angle() {
            prop_assert!(angle < 1e-6, "angle {angle:e}");
        }
    }

    #[test]
    fn all_methods_agree_on_filters(
        (input, output) in prop::sample::select(vec!["C1", "C2", "C4", "D1", "D2", "D4"]).prop_flat_map(|g| {
            let g: Group = g.parse().unwrap();
            let small = |g: &Group| signed_rep(g.clone()).prop_filter("small", |r| {
                r.terms().iter().all(|t| t.atom.dim() <= 5)
            });
            (small(&g), small(&g))
        }),
        k in 1usize..=6,
    ) {
        // Keeps the dense cross-checks, cubic in the entries of a pair, quick.
        let largest = |r: &Rep| r.terms().iter().map(|t| t.atom.dim()).max().unwrap();
        prop_assume!(largest(&input) * largest(&output) * k * k <= 300);
        let found = compare(&input, &output, Some(k)).unwrap();
        prop_assert_eq!(found.rank(), found.rank_by_characters());
        prop_assert!(found.residual() < 1e-12);
        if let Some(angle) = found.max_angle() {
            prop_assert!(angle < 1e-6, "angle {angle:e}");
        }
    }

    #[test]
    fn realised_maps_commute((input, output) in pairs(), seed in any::<u64>()) {
        prop_assume!(input.dim() * output.dim() <= 10_000);
        let basis = Basis::solve(&input, &output, None, None).unwrap();
        let mut weight = vec![0.0; basis.size()];
        basis.realise(&random(basis.rank(), seed), &mut weight);
        // At most a few hundred products of numbers near 1: rounding stays far below 1e-11.
        let error = equivariance_error(|x| multiply(&weight, x), &input, &output).unwrap();
        prop_assert!(error < 1e-11, "{error:e}");
    }

    #[test]
    fn realise_and_adjoint_are_adjoint((input, output) in pairs(), seed in any::<u64>()) {
        prop_assume!(input.dim() * output.dim() <= 10_000);
        let basis = Basis::solve(&input, &output, None, None).unwrap();
        let (c, w) = (random(basis.rank(), seed), random(basis.size(), seed ^ 77));
        let (mut realised, mut adjoint) = (vec![0.0; basis.size()], vec![0.0; basis.rank()]);
        basis.realise(&c, &mut realised);
        basis.adjoint(&w, &mut adjoint);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        prop_assert!((dot(&realised, &w) - dot(&c, &adjoint)).abs() < 1e-10);
        // Orthonormal: realising keeps lengths, and the adjoint undoes it.
        basis.adjoint(&realised, &mut adjoint);
        prop_assert!(c.iter().zip(&adjoint).all(|(a, b)| (a - b).abs() < 1e-11));
    }

    #[test]
    fn the_expansion_is_the_same_map((input, output) in pairs(), seed in any::<u64>()) {
        prop_assume!(input.dim() * output.dim() <= 2_000);
        let basis = Basis::solve(&input, &output, None, None).unwrap();
        let (c, mut weight) = (random(basis.rank(), seed), vec![0.0; basis.size()]);
        basis.realise(&c, &mut weight);
        let sparse = basis.expansion();
        for (range, entry) in sparse.start.windows(2).zip(&weight) {
            let terms = range[0] as usize..range[1] as usize;
            prop_assert!(!basis.is_orbit() || terms.len() <= 1);
            let sum: f64 = terms.map(|t| c[sparse.coefficient[t] as usize] * f64::from(sparse.scale[t])).sum();
            prop_assert!((sum - entry).abs() < 1e-5);
        }
    }

    #[test]
    fn invariant_vectors_stay((rep, seed) in groups().prop_flat_map(|g| (signed_rep(g), any::<u64>()))) {
        let basis = Basis::invariant(&rep).unwrap();
        prop_assert_eq!(basis.rank(), rep.trivial_multiplicity());
        let mut bias = vec![0.0; rep.dim()];
        basis.realise(&random(basis.rank(), seed), &mut bias);
        for g in rep.group().elements() {
            prop_assert_eq!(rep.apply(g, &bias), bias.clone());
        }
    }
}

#[test]
fn the_ranks_of_the_paper() {
    let actions = "perm[0 4 1 2 3]";
    for (input, output, kernel, rank) in [
        ("trivial", "regular", Some(7), 49),
        ("regular", "regular", Some(5), 100),
        ("regular", "regular", None, 4),
        ("rotation", "regular", None, 2),
        ("regular", actions, None, 5),
        ("regular", "perm[1 0]", None, 2),
        ("regular", "trivial", None, 1),
    ] {
        let (input, output) = (rep("C4", input), rep("C4", output));
        for method in [Method::Orbit, Method::Projector, Method::Symmetrizer] {
            let basis = Basis::solve(&input, &output, kernel, Some(method)).unwrap();
            assert_eq!(basis.rank(), rank, "{input} -> {output} by {method:?}");
        }
    }
}

/// The convolution conventions, straight from their definition: out\[h\] = sum_k in\[k\] * rot_h psi\[h^-1 k\].
#[test]
fn group_convolution_filters_are_turned_copies() {
    for name in ["C4", "D4", "D2", "C2"] {
        let regular = rep(name, "regular");
        let group = regular.group().clone();
        let (n, k) = (group.order(), 5);
        let basis = Basis::filter(&regular, &regular, k).unwrap();
        let mut weight = vec![0.0; basis.size()];
        basis.realise(&random(basis.rank(), 3), &mut weight);
        let filter = |h: usize, j: usize| &weight[(h * n + j) * k * k..][..k * k];
        let pixels = Rep::pixels(&group, k).unwrap();
        for h in group.elements() {
            for j in group.elements() {
                let psi = filter(0, group.mul(group.inverse(h), j));
                assert_eq!(pixels.apply(h, psi), filter(h, j), "{name}");
            }
        }
    }
}

/// A whole convolution with stride, as a map on pictures, tested with the public assertion.
#[test]
fn a_lifting_convolution_is_equivariant_on_pictures() {
    let (size, k, stride) = (9, 3, 2);
    let out = strided_size(size, k, stride).unwrap();
    let group: Group = "D4".parse().unwrap();
    let basis = Basis::filter(&Rep::trivial(&group), &Rep::regular(&group).unwrap(), k).unwrap();
    let mut weight = vec![0.0; basis.size()];
    basis.realise(&random(basis.rank(), 5), &mut weight);
    let convolution = |x: &[f64]| -> Vec<f64> {
        let at = |h: usize, i: usize, j: usize| -> f64 {
            let pixel = |p: usize| x[(i * stride + p / k) * size + j * stride + p % k];
            (0..k * k).map(|p| weight[h * k * k + p] * pixel(p)).sum()
        };
        (0..8 * out * out).map(|o| at(o / (out * out), o / out % out, o % out)).collect()
    };
    let pictures = Rep::pixels(&group, size).unwrap();
    let maps = Rep::regular(&group).unwrap().tensor(&Rep::pixels(&group, out).unwrap()).unwrap();
    assert_equivariant!(convolution, &pictures, &maps, 1e-12);
}

#[test]
#[should_panic(expected = "not equivariant under C4")]
fn the_assertion_catches_a_broken_map() {
    let regular = rep("C4", "regular");
    assert_equivariant!(|x| vec![x[0], 0.0, 0.0, 0.0], &regular, &regular, 1e-9);
}

#[test]
fn a_map_of_the_wrong_size_is_an_error() {
    let regular = rep("C4", "regular");
    let error = equivariance_error(|_| vec![0.0], &regular, &regular).unwrap_err().to_string();
    assert!(error.contains("the map gives 1 numbers, but `regular` has dimension 4"), "{error}");
}

#[test]
fn an_empty_basis_names_the_characters() {
    let error = Basis::linear(&rep("C2", "2*trivial"), &rep("C2", "sign")).unwrap_err().to_string();
    assert!(error.contains("from `2*trivial` to `sign` of C2 is zero"), "{error}");
    assert!(error.contains("(e: 2, r: 2) and (e: 1, r: -1) are orthogonal"), "{error}");
    assert!(Basis::filter(&rep("C2", "trivial"), &rep("C2", "sign"), 1).is_err());
    // Filters of more than one pixel can tell the two sides apart.
    assert_eq!(Basis::filter(&rep("C2", "trivial"), &rep("C2", "sign"), 2).unwrap().rank(), 2);
    assert_eq!(Basis::invariant(&rep("C4", "rotation")).unwrap().rank(), 0);
}

#[test]
fn large_pairs_use_orbits_or_say_how_large() {
    let large = rep("S6", "regular");
    assert_eq!(Basis::linear(&large, &large).unwrap().rank(), 720);
    let dense = rep("D40", "regular + rotation");
    assert_eq!(Basis::linear(&rep("D40", "rotation"), &dense).unwrap().rank(), 2 + 1);
    let skewed = rep("C6", "tensor(rotation, tensor(regular, regular))");
    let error = Basis::linear(&skewed, &skewed).unwrap_err().to_string();
    assert!(error.contains("5184 entries, and the limit is 1024"), "{error}");
    let filters = Basis::filter(&rep("C4", "regular"), &rep("C4", "regular"), 5000).unwrap_err();
    assert!(filters.to_string().contains("too large"));
}

#[test]
fn other_groups_have_no_filters() {
    let error = Basis::filter(&rep("C6", "regular"), &rep("C6", "regular"), 3).unwrap_err().to_string();
    assert!(error.contains("C6 does not map the square pixel grid to itself"), "{error}");
    assert!(Basis::filter(&rep("C4", "regular"), &rep("C4", "regular"), 0).is_err());
}

#[test]
fn strides_that_break_the_symmetry_are_refused() {
    assert_eq!(strided_size(35, 7, 2).unwrap(), 15);
    let error = strided_size(36, 7, 2).unwrap_err().to_string();
    assert!(error.contains("(size - kernel) mod stride = 1") && error.contains("35, 37"), "{error}");
    assert!(strided_size(3, 7, 2).is_err() && strided_size(7, 7, 0).is_err());
}

#[test]
fn bases_are_deterministic() {
    let (input, output) = (rep("C8", "rotation + regular"), rep("C8", "2*regular"));
    let realised = || {
        let basis = Basis::linear(&input, &output).unwrap();
        let mut weight = vec![0.0; basis.size()];
        basis.realise(&random(basis.rank(), 1), &mut weight);
        weight
    };
    assert_eq!(realised(), realised());
}
