//! Representations: homomorphisms, conventions, the parser, errors that teach.

mod common;

use common::{conjugated_rep, groups, signed_rep};
use equimarl_group::{Group, Rep, Subgroup};
use proptest::prelude::*;

fn group(name: &str) -> Group {
    name.parse().unwrap()
}

proptest! {
    #[test]
    fn they_are_homomorphisms((rep, pick) in groups().prop_flat_map(|g| {
        (prop_oneof![signed_rep(g.clone()), conjugated_rep(g)], any::<[usize; 2]>())
    })) {
        let g = rep.group().clone();
        let [a, b] = pick.map(|p| p % g.order());
        let difference = rep.matrix(a) * rep.matrix(b) - rep.matrix(g.mul(a, b));
        // Products of well-conditioned matrices of at most a few dozen rows: rounding stays near 1e-14.
        prop_assert!(difference.amax() < 1e-11);
        let v: Vec<f64> = (0..rep.dim()).map(|i| (i as f64).sin()).collect();
        let by_matrix = rep.matrix(a) * nalgebra::DVector::from_vec(v.clone());
        prop_assert!(rep.apply(a, &v).iter().zip(by_matrix.iter()).all(|(x, y)| (x - y).abs() < 1e-12));
        prop_assert!((rep.character(a) - rep.matrix(a).trace()).abs() < 1e-9);
    }

    #[test]
    fn duals_tensors_and_restrictions_have_the_right_characters((a, b, pick) in groups().prop_flat_map(|g| {
        (conjugated_rep(g.clone()), conjugated_rep(g.clone()), 0..g.order())
    })) {
        let g = a.group().clone();
        let (dual, tensor) = (a.dual().unwrap(), a.tensor(&b).unwrap());
        let sub = Subgroup::generated(&g, &[pick]).unwrap();
        let restricted = a.restrict(&sub).unwrap();
        for x in g.elements() {
            prop_assert!((dual.character(x) - a.character(g.inverse(x))).abs() < 1e-9);
            prop_assert!((tensor.character(x) - a.character(x) * b.character(x)).abs() < 1e-9);
            let both = a.matrix(x).kronecker(&b.matrix(x));
            prop_assert!((tensor.matrix(x) - both).amax() < 1e-12);
        }
        for h in sub.group().elements() {
            prop_assert_eq!(restricted.matrix(h), a.matrix(sub.inclusion(h)));
        }
    }

    #[test]
    fn printing_gives_back_what_was_parsed(rep in groups().prop_flat_map(|g| {
        prop_oneof![signed_rep(g.clone()), conjugated_rep(g)]
    })) {
        let again = Rep::parse(rep.group(), &rep.to_string()).unwrap();
        prop_assert_eq!(again.to_string(), rep.to_string());
        prop_assert_eq!(again, rep);
    }

    #[test]
    fn the_parser_never_panics(text in ".{0,40}") {
        let _ = Rep::parse(&group("D4"), &text);
    }

    #[test]
    fn the_parser_never_panics_on_near_misses(
        parts in prop::collection::vec(prop::sample::select(vec![
            "regular", "rotation", "trivial", "sign", "perm[", "matrix[", "quotient(", "pixels(", "dual(", "tensor(",
            "<", ">", "C2", "D4", "r2", "m", "]", ")", "(", ",", ";", "*", "+", "-", " ", "0", "1", "2", "3", "99",
            "4000000000", "18446744073709551616", "nan", "inf", "1e400", "é", "natural",
        ]), 0..14),
        name in prop::sample::select(vec!["C4", "D4", "S4", "C4 x C2", "C1"]),
    ) {
        let _ = Rep::parse(&group(name), &parts.concat());
    }
}

#[test]
fn the_conventions_of_the_quarter_turn() {
    let c4 = group("C4");
    let r = c4.generators()[0];
    // U_g = [[0, -1], [1, 0]]: down (1, 0) becomes right (0, 1).
    assert_eq!(Rep::rotation(&c4, 1).unwrap().apply(r, &[1.0, 0.0]), [0.0, 1.0]);
    // (L_g f)[h] = f[g^-1 h]: what stood at h stands at gh.
    assert_eq!(Rep::regular(&c4).unwrap().apply(r, &[1.0, 2.0, 3.0, 4.0]), [4.0, 1.0, 2.0, 3.0]);
    // perm[0 4 1 2 3] sends action 1 -> 2 -> 3 -> 4 -> 1.
    let actions = Rep::parse(&c4, "perm[0 4 1 2 3]").unwrap();
    assert_eq!(actions.apply(r, &[9.0, 1.0, 0.0, 0.0, 0.0]), [9.0, 0.0, 1.0, 0.0, 0.0]);
    // np.rot90([[1, 2], [3, 4]]) = [[2, 4], [1, 3]].
    assert_eq!(Rep::pixels(&c4, 2).unwrap().apply(r, &[1.0, 2.0, 3.0, 4.0]), [2.0, 4.0, 1.0, 3.0]);
    // The mirror is left-right: [[1, 2], [3, 4]] -> [[2, 1], [4, 3]].
    let d4 = group("D4");
    let m = d4.generators()[1];
    assert_eq!(Rep::pixels(&d4, 2).unwrap().apply(m, &[1.0, 2.0, 3.0, 4.0]), [2.0, 1.0, 4.0, 3.0]);
    assert_eq!(Rep::rotation(&d4, 1).unwrap().apply(m, &[1.0, 1.0]), [1.0, -1.0]);
    // The other mirror has no name, and turns the plane by its matrix.
    let mirror: Group = "matrix[-1 0, 0 1]".parse().unwrap();
    assert_eq!(Rep::rotation(&mirror, 1).unwrap().apply(1, &[1.0, 1.0]), [-1.0, 1.0]);
    // Composition is the same everywhere: the action permutation of wildlife under D4 is a representation.
    assert!(Rep::parse(&d4, "perm[0 4 1 2 3; 0 1 4 3 2]").is_ok());
}

#[test]
fn kinds_are_recognised() {
    let kinds = |g: &str, text: &str| {
        let rep = Rep::parse(&group(g), text).unwrap();
        (rep.is_permutation(), rep.is_signed_permutation(), rep.is_orthogonal())
    };
    assert_eq!(kinds("C4", "8*regular + quotient(C2)"), (true, true, true));
    assert_eq!(kinds("C4", "regular + rotation"), (false, true, true));
    assert_eq!(kinds("C8", "rotation"), (false, false, true));
    assert_eq!(kinds("C2", "matrix[1 1, 0 -1]"), (false, false, false));
    assert_eq!(kinds("C4", "matrix[0 -1, 1 0]"), (false, true, true));
}

#[test]
fn multiplicities_of_the_trivial_representation() {
    let count = |g: &str, text: &str| Rep::parse(&group(g), text).unwrap().trivial_multiplicity();
    assert_eq!(count("C4", "3*regular + rotation + trivial"), 4);
    assert_eq!(count("S5", "natural"), 1);
    assert_eq!(count("S5", "tensor(natural, natural)"), 2);
    assert_eq!(count("D4", "pixels(5)"), 6);
    assert_eq!(count("D4", "sign"), 0);
}

#[test]
fn bad_representations_say_what_is_wrong() {
    for (g, text, part) in [
        ("C4", "3*banana", "no representation is called `banana`; there are trivial, sign, regular"),
        ("C4", "", "expected a representation, found the end"),
        ("C4", "regular +", "found the end"),
        ("C4", "regular rotation", "did not expect `rotation`"),
        ("C4", "0*regular", "at least 1"),
        ("C4", "99999999999*regular", "dimensions, and the limit is"),
        ("C4", "3 regular", "expected `*`"),
        ("C4", "quotient(C3)", "C4 has no subgroup of this name"),
        ("C4", "perm[1 2 0]", "rho(r) rho(r3) = perm[1 2 0] but rho(r r3) = rho(e) = perm[0 1 2]"),
        ("C4", "perm[1 2 3 4]", "4 is too large"),
        ("C1", "perm[1 0]", "rho(e) rho(e) = perm[1 0] but rho(e e) = rho(e) = perm[0 1]"),
        ("D4", "perm[0 4 1 2 3]", "gives 1 generators, but D4 has 2 (r, m)"),
        // Wildlife's turn with the mirror of the wrong axis: it swaps 1 and 2.
        ("D4", "perm[0 4 1 2 3; 0 2 1 3 4]", "is not a representation of D4: rho("),
        ("C2", "matrix[1 1, 0 1]", "rho(r) rho(r) = [1 2, 0 1] but rho(r r) = rho(e) = perm[0 1]"),
        ("C3", "sign", "its generator has odd order"),
        ("S3", "rotation", "needs C_n or D_n, not S3"),
        ("matrix[0 -1, 1 0]", "rotation", "by the name C4"),
        ("C4", "natural", "C_n and D_n have `rotation`"),
        ("C8", "pixels(3)", "C8 does not map the square pixel grid to itself"),
        ("C2 x C2", "pixels(3)", "for half turn and mirror write D2"),
        ("C4", "pixels(0)", "at least one pixel"),
        ("C4", "pixels(100000)", "too large"),
        ("C4", "matrix[inf]", "not finite"),
        ("C4", "tensor(regular)", "expected `,`"),
    ] {
        let error = Rep::parse(&group(g), text).unwrap_err().to_string();
        assert!(error.contains(part), "{g}: {text}: {error}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn different_groups_do_not_mix() {
    let (a, b) = (Rep::regular(&group("C4")).unwrap(), Rep::regular(&group("C2")).unwrap());
    assert!(a.clone().plus(&b).unwrap_err().to_string().contains("different groups, C4 and C2"));
    assert!(a.tensor(&b).is_err());
    assert!(equimarl_group::Basis::linear(&a, &b).is_err());
}
