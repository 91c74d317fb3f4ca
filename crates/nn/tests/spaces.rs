//! The weights themselves: what obeys the symmetry, nothing more and nothing less, for many groups and representations.

mod common;

use common::{PIXEL_GROUPS, Random, distance, group};
use equimarl_group::{Element, Plane, Rep};
use equimarl_nn::{MessageRound, Space};

fn random(space: &Space, seed: u64) -> [Vec<f32>; 2] {
    space.realise(&Random::new(seed).normals(space.parameters())).unwrap()
}

/// rho(g) W: every column turned.
fn turned(rep: &Rep, g: Element, w: &[f32]) -> Vec<f32> {
    let (columns, mut out) = (w.len() / rep.dim(), vec![0.0; w.len()]);
    for c in 0..columns {
        let column: Vec<f64> = w.iter().skip(c).step_by(columns).map(|v| f64::from(*v)).collect();
        for (to, y) in out.iter_mut().skip(c).step_by(columns).zip(rep.apply(g, &column)) {
            *to = y as f32;
        }
    }
    out
}

/// W rho(g): every row times the turned unit vectors.
fn turned_before(rep: &Rep, g: Element, w: &[f32]) -> Vec<f32> {
    let n = rep.dim();
    let unit = |c: usize| (0..n).map(|k| f64::from(u8::from(k == c))).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = (0..n).map(|c| rep.apply(g, &unit(c))).collect();
    let dot = |row: &[f32], column: &Vec<f64>| -> f64 {
        row.iter().zip(column).map(|(w, x)| f64::from(*w) * x).sum()
    };
    w.chunks_exact(n).flat_map(|row| columns.iter().map(move |c| dot(row, c) as f32)).collect()
}

/// As maps W rho_in(g) = rho_out(g) W; as filters the pixels turn as well. Entries are near 1.
#[test]
fn realised_weights_and_biases_obey_the_symmetry() {
    for (name, input, output, kernel) in [
        ("C4", "3*regular + rotation", "2*regular + rotation + quotient(C2)", None),
        ("D4", "pixels(3) + rotation", "rotation + sign + 2*trivial", None),
        ("C8", "regular + rotation", "regular + rotation(3)", None),
        ("D6", "2*rotation + regular", "rotation + rotation(2) + trivial", None),
        ("S4", "natural + trivial", "2*natural", None),
        ("C4 x C2", "regular + sign", "2*regular", None),
        ("perm[1 2 0 3; 0 1 3 2]", "2*natural", "regular", None),
        ("C2", "3*trivial", "2*regular", Some(4)),
        ("C4", "regular + rotation", "rotation + regular", Some(3)),
        ("D1", "2*regular", "regular + trivial", Some(2)),
        ("D2", "regular + trivial", "rotation + regular", Some(3)),
        ("D4", "2*regular", "2*regular", Some(5)),
        ("D4", "trivial + rotation", "regular + sign", Some(3)),
        ("matrix[0 -1, 1 0; 1 0, 0 -1]", "regular", "regular + trivial", Some(3)),
    ] {
        let group = group(name);
        let rep = |text: &str| Rep::parse(&group, text).unwrap();
        let space = Space::new(&rep(input), &rep(output), kernel).unwrap();
        let [w, b] = random(&space, 1);
        let k = kernel.unwrap_or(1);
        let pixel = |p: usize| -> Vec<f32> { w.iter().skip(p).step_by(k * k).copied().collect() };
        for g in group.elements() {
            let from = kernel.map(|k| Plane::new(&group).unwrap().gather(g, k));
            for p in 0..k * k {
                // Turning moves pixel `source` to p.
                let source = from.as_ref().map_or(p, |from| from[p]);
                let before = turned_before(space.input(), g, &pixel(p));
                let after = turned(space.output(), g, &pixel(source));
                assert!(distance(&before, &after) < 1e-5, "{name}, {input} -> {output}, element {g}");
            }
            let moved = turned(space.output(), g, &b);
            assert!(distance(&moved, &b) < 1e-5, "{name}, the bias of {output}, element {g}");
        }
    }
}

/// out[h] = x * (rot_h psi), and out[h] = sum_k in[k] * rot_h psi[h^-1 k], where psi is the filter of the identity: to
/// the bit, because every entry is one coefficient.
#[test]
fn filters_are_turned_copies_of_one() {
    for name in PIXEL_GROUPS {
        let group = group(name);
        let (plane, n) = (Plane::new(&group).unwrap(), group.order());
        let regular = Rep::regular(&group).unwrap();
        for k in [1, 2, 3, 4, 5, 7] {
            let area = k * k;
            let turned = |h: Element, psi: &[f32]| -> Vec<f32> {
                plane.gather(h, k).iter().map(|&from| psi[from]).collect()
            };
            let lifting = Space::new(&Rep::trivial(&group), &regular, Some(k)).unwrap();
            let [w, _] = random(&lifting, 5);
            for h in group.elements() {
                assert_eq!(&w[h * area..][..area], turned(h, &w[..area]), "{name}, lifting, {k} pixels");
            }
            let among = Space::new(&regular, &regular, Some(k)).unwrap();
            let [w, _] = random(&among, 6);
            let psi = |h: Element, k: Element| &w[(h * n + k) * area..][..area];
            for h in group.elements() {
                for k in group.elements() {
                    let source = group.mul(group.inverse(h), k);
                    assert_eq!(psi(h, k), turned(h, psi(0, source)), "{name}, group convolution");
                }
            }
            // And nothing else is tied: as many free numbers as the filter of the identity has.
            assert_eq!(lifting.ranks(), [area, 1]);
            assert_eq!(among.ranks(), [n * area, 1]);
        }
    }
}

/// A vector edge enters as row h = w U_h^-1.
#[test]
fn edge_weights_are_turned_copies_of_one_vector() {
    for name in PIXEL_GROUPS {
        let group = group(name);
        let (plane, n) = (Plane::new(&group).unwrap(), group.order());
        let rep = |text: &str| Rep::parse(&group, text).unwrap();
        let round = MessageRound::new(&rep("2*regular"), &rep("rotation"), &rep("3*regular")).unwrap();
        let (inputs, [w, _]) = (round.space().input().dim(), random(round.space(), 10));
        let row = |o: usize| &w[o * inputs + 2 * n..][..2];
        for o in 0..round.outputs() {
            let (first, h) = (row(o / n * n), o % n);
            let back = plane.matrix(group.inverse(h)).map(|r| r.map(|v| v as f32));
            let expected = [0, 1].map(|j| first[0] * back[0][j] + first[1] * back[1][j]);
            assert_eq!(row(o), expected, "{name}, row {o}");
        }
    }
}

/// With the trivial group the coefficients are the entries, in their order.
#[test]
fn without_symmetry_coefficients_are_the_weights() {
    let c1 = group("C1");
    let rep = |n| Rep::trivial(&c1).copies(n).unwrap();
    for (kernel, entries) in [(None, 6), (Some(4), 96)] {
        let space = Space::new(&rep(2), &rep(3), kernel).unwrap();
        assert_eq!(space.ranks(), [entries, 3]);
        let drawn = Random::new(7).normals(space.parameters());
        assert_eq!(space.realise(&drawn).unwrap().concat(), drawn);
    }
}

#[test]
fn spaces_without_invariant_outputs_have_no_bias() {
    let c4 = group("C4");
    let space = Space::new(&Rep::regular(&c4).unwrap(), &Rep::rotation(&c4, 1).unwrap(), None).unwrap();
    assert_eq!(space.ranks(), [2, 0]);
    assert_eq!(space.realise(&[0.5, 0.25]).unwrap()[1], [0.0; 2]);
    for wrong in [1, 3] {
        assert!(space.realise(&vec![0.5; wrong]).is_err());
    }
}
