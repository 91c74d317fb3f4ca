//! The same numbers as the dense encoder.

use super::*;

#[test]
fn it_equals_the_dense_encoder() {
    for (label, case) in cases(false) {
        let (found, expected) = (run(&case, Level::best()), dense(&case));
        for (i, (found, expected)) in found.all().zip(expected.all()).enumerate() {
            assert!(found.iter().any(|&x| x != 0.0), "{label}: {i} is zero");
            let error = deviation(found, &wide(expected));
            assert!(error < 1e-5, "{label}: {i} is off by {error}");
        }
    }
}

#[test]
fn whole_numbers_equal_the_dense_encoder_exactly_ties_included() {
    for (label, case) in cases(true) {
        let expected = dense(&case);
        for level in Level::available() {
            assert_eq!(run(&case, level), expected, "{label}, {level}");
        }
    }
}

#[test]
fn levels_agree() {
    let best = Level::available();
    for (label, case) in cases(false).into_iter().step_by(4) {
        let found: Vec<Found> = best.iter().map(|&level| run(&case, level)).collect();
        for (i, (a, b)) in found[0].all().zip(found[found.len() - 1].all()).enumerate() {
            assert!(deviation(a, &wide(b)) < 1e-5, "{label}: {i}");
        }
        // All levels but the portable one.
        for pair in found[1..].windows(2) {
            assert!(pair[0].bits() == pair[1].bits(), "{label}");
        }
    }
}

#[test]
fn numbers_that_are_not_finite_do_not_hide() {
    let mut case = case(17, GROUPS[2].1, SMALL, 3, Kind::Tiles(3), false);
    let size = case.pictures.len() / 3;
    case.pictures[size..].fill(0.0);
    for bad in [f32::NAN, f32::INFINITY] {
        for i in 0..4 {
            let mut case = case.clone();
            let last = case.coefficients[i].len() - 1;
            case.coefficients[i][last] = bad;
            assert!(
                run(&case, Level::best()).features.iter().all(|x| x.is_nan()),
                "{bad} in coefficient {i}"
            );
        }
        let mut case = case.clone();
        case.pictures[size + size / 4] = bad;
        let (found, count) = (run(&case, Level::best()).features, case.dfeatures.len() / 3);
        assert!(found[count..2 * count].iter().all(|x| x.is_nan()), "{bad} in a picture");
        assert!(found[..count].iter().chain(&found[2 * count..]).all(|x| x.is_finite()));
    }
    // Finite numbers whose product is not.
    case.coefficients[0].fill(1e30);
    case.coefficients[2].fill(1e30);
    assert!(run(&case, Level::best()).features.iter().any(|x| x.is_nan()));
}
