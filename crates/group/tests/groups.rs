//! Groups: axioms, families, closure, subgroups, the parser.

mod common;

use common::groups;
use equimarl_group::{Error, Group, Subgroup};
use proptest::prelude::*;

proptest! {
    #[test]
    fn axioms_hold(group in groups(), seed in any::<[usize; 3]>()) {
        let n = group.order();
        let [a, b, c] = seed.map(|s| s % n);
        prop_assert_eq!(group.mul(a, group.mul(b, c)), group.mul(group.mul(a, b), c));
        prop_assert_eq!(group.mul(a, 0), a);
        prop_assert_eq!(group.mul(0, a), a);
        prop_assert_eq!(group.mul(a, group.inverse(a)), 0);
        prop_assert_eq!(n % group.order_of(a), 0, "Lagrange");
    }

    #[test]
    fn classes_partition_the_group(group in groups()) {
        let classes = group.conjugacy_classes();
        let mut all: Vec<usize> = classes.concat();
        all.sort_unstable();
        prop_assert_eq!(all, group.elements().collect::<Vec<_>>());
        for class in &classes {
            prop_assert_eq!(group.order() % class.len(), 0);
            prop_assert!(class.iter().all(|&g| group.order_of(g) == group.order_of(class[0])));
        }
        prop_assert_eq!(group.is_abelian(), classes.len() == group.order());
    }

    #[test]
    fn subgroups_are_groups(group in groups(), picks in any::<[usize; 2]>()) {
        let generators = picks.map(|p| p % group.order());
        let sub = Subgroup::generated(&group, &generators).unwrap();
        prop_assert_eq!(group.order() % sub.group().order(), 0, "Lagrange");
        for a in sub.group().elements() {
            for b in sub.group().elements() {
                prop_assert_eq!(
                    sub.inclusion(sub.group().mul(a, b)),
                    group.mul(sub.inclusion(a), sub.inclusion(b))
                );
            }
        }
    }

    #[test]
    fn names_read_back(group in groups()) {
        let again: Group = group.name().parse().unwrap();
        prop_assert_eq!(&again, &group);
        for g in group.elements() {
            prop_assert_eq!(group.element(group.element_name(g)), Some(g));
        }
    }

    #[test]
    fn a_spoiled_table_is_refused(group in groups(), at in any::<[usize; 2]>(), shift in 1usize..100) {
        let n = group.order();
        prop_assume!(n > 1 && shift % n != 0);
        let [a, b] = at.map(|i| i % n);
        let mut table: Vec<Vec<usize>> =
            group.elements().map(|g| group.elements().map(|h| group.mul(g, h)).collect()).collect();
        prop_assert!(Group::from_table("copy", &table).is_ok());
        // One changed entry makes a row with a repetition, which no group has.
        table[a][b] = (table[a][b] + shift) % n;
        prop_assert!(matches!(Group::from_table("spoiled", &table), Err(Error::NotAGroup(_))));
    }

    #[test]
    fn the_parser_never_panics(text in ".{0,40}") {
        let _ = text.parse::<Group>();
    }

    #[test]
    fn the_parser_never_panics_on_near_misses(text in "[CDSxperm matrix0-9\\[\\]();,.+<>-]{0,40}") {
        let _ = text.parse::<Group>();
    }
}

#[test]
fn the_families_have_their_orders_and_generators() {
    for (name, order, generators) in [
        ("C1", 1, 1),
        ("C7", 7, 1),
        ("D1", 2, 2),
        ("D12", 24, 2),
        ("S5", 120, 2),
        ("S6", 720, 2),
        ("C4 x C2", 8, 2),
    ] {
        let group: Group = name.parse().unwrap();
        assert_eq!((group.order(), group.generators().len()), (order, generators), "{name}");
        assert_eq!(group.to_string(), name);
    }
    // A mirror turns turns around: m r m = r^-1.
    let d5: Group = "D5".parse().unwrap();
    let (r, m) = (d5.generators()[0], d5.generators()[1]);
    assert_eq!(d5.mul(d5.mul(m, r), m), d5.inverse(r));
    assert_eq!("S4".parse::<Group>().unwrap().conjugacy_classes().len(), 5);
}

#[test]
fn the_same_group_by_permutations_matrices_and_name() {
    let matrices: Group = "matrix[0 -1, 1 0; 1 0, 0 -1]".parse().unwrap();
    let permutations: Group = "perm[1 2 3 0; 3 2 1 0]".parse().unwrap();
    let d4: Group = "D4".parse().unwrap();
    let signature = |g: &Group| {
        let mut orders: Vec<usize> = g.elements().map(|e| g.order_of(e)).collect();
        orders.sort_unstable();
        (orders, g.conjugacy_classes().len())
    };
    assert_eq!(signature(&matrices), signature(&d4));
    assert_eq!(signature(&permutations), signature(&d4));
}

#[test]
fn bad_groups_say_what_is_wrong() {
    for (text, part) in [
        ("Q7", "no family of groups is called `Q`; write C4"),
        ("O3", "no family of groups is called `O`; write C4"),
        ("O2", "is no finite group"),
        ("SO2", "is no finite group"),
        ("", "write C4"),
        ("C", "write C4"),
        ("C0", "has no elements"),
        ("C99999999999999999999", "write C4"),
        ("C5000", "5000 elements, and the limit is 2048"),
        ("S7", "7 points, and the limit is 6"),
        ("S6 x S6", "518400 elements, and the limit is 2048"),
        ("C4 C2", "did not expect"),
        ("(C4", "expected `)`"),
        ("perm[0 0]", "0 is there twice"),
        ("perm[0 2]", "2 is too large"),
        ("perm[0 1; 0 1 2]", "all need the same number"),
        ("perm[]", "at least one permutation"),
        ("matrix[2]", "determinant 2"),
        ("matrix[1 0, 0]", "needs 2 numbers in each row"),
        ("matrix[nan]", "not a number below 1000"),
        // S8 has 40,320 elements; a shear and a turn by an unrelated angle never come back.
        ("perm[1 2 3 4 5 6 7 0; 1 0 2 3 4 5 6 7]", "more than 2048 elements, and the limit is 2048"),
        ("matrix[1 1, 0 1]", "more than 2048 elements"),
        ("matrix[0.6 -0.8, 0.8 0.6]", "more than 2048 elements"),
    ] {
        let error = text.parse::<Group>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn named_subgroups_sit_where_they_should() {
    let d4: Group = "D4".parse().unwrap();
    let c2 = Subgroup::named(&d4, "C2").unwrap();
    assert_eq!(d4.element_name(c2.inclusion(1)), "r2");
    let d2 = Subgroup::named(&d4, "D2").unwrap();
    assert_eq!(*d2.group(), "D2".parse().unwrap());
    assert_eq!(Subgroup::named(&d4, "<r2, m>").unwrap().group().order(), 4);
    assert!(Subgroup::named(&d4, "C3").unwrap_err().to_string().contains("D4 has no subgroup of this name"));
    assert!(Subgroup::named(&d4, "<q>").unwrap_err().to_string().contains("D4 has no element `q`"));
    let product: Group = "C4 x C2".parse().unwrap();
    assert_eq!(Subgroup::named(&product, "<(r2, e), (e, r)>").unwrap().group().order(), 4);
}
