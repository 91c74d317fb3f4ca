//! Bits that do not depend on what else there is or was.

use super::*;

#[test]
fn tiles_repeat_and_turned_pictures_have_turned_features() {
    for (name, group) in GROUPS {
        let case = case(3, group, PAPER, 1, Kind::Tiles(5), false);
        let plan = plan(&case, Level::best());
        let (side, order) = (35, group.len());
        let (mut atlas, mut book, mut cache) = (Atlas::new(&plan), Book::new(&plan), Cache::default());
        add(&plan, &case, &mut atlas, &mut book);
        let known = (atlas.patches(), atlas.windows());
        assert!(known.0 > 1);
        let whole = turns(group, [side, 1]);
        for g in 1..order {
            let mut turned = case.clone();
            for (i, &pixel) in case.pictures.iter().enumerate() {
                let to = whole.send(0, g)[i % (side * side)] as usize;
                turned.pictures[i / (side * side) * side * side + to] = pixel;
            }
            add(&plan, &turned, &mut atlas, &mut book);
        }
        // Nothing is new in a turned picture, and its features are the same numbers elsewhere.
        assert_eq!((atlas.patches(), atlas.windows()), known, "{name}");
        plan.forward(&packed(&plan, &case), &book, &mut cache).unwrap();
        let count = plan.features();
        for g in 1..order {
            for k in 0..count {
                let from = k / order * order + case.turns.times(case.turns.inverse(g), k % order);
                assert_eq!(cache.features()[g * count + k], cache.features()[from], "{name}, {g}, {k}");
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_what_the_atlas_has_seen() {
    for (name, group) in GROUPS {
        for (kind, others) in [(Kind::Tiles(3), 50), (Kind::Random, 5)] {
            let case = case(11, group, SMALL, 8, kind, false);
            let expected = run(&case, Level::best()).bits();
            let plan = plan(&case, Level::best());
            let mut atlas = Atlas::new(&plan);
            for seed in 0..3 {
                let mut noise = Noise::new(1000 + seed);
                let mut before = case.clone();
                before.pictures = pictures(&mut noise, others, SMALL.picture, kind);
                // The same windows in another order, too.
                before.pictures.extend(case.pictures.iter().rev());
                add(&plan, &before, &mut atlas, &mut Book::new(&plan));
                let found = run_in(&case, Level::best(), &mut atlas).bits();
                assert!(found == expected, "{name}, {kind:?}, seed {seed}");
            }
            atlas.clear();
            assert_eq!((atlas.patches(), atlas.windows()), (0, 0));
            assert!(run_in(&case, Level::best(), &mut atlas).bits() == expected, "{name}: cleared");
        }
    }
}

#[test]
fn equal_hashes_change_nothing_but_frames() {
    for (name, group) in GROUPS {
        let sizes = Sizes { picture: [1, 13, 13], ..SMALL };
        let case = case(12, group, sizes, 4, Kind::Tiles(3), true);
        let plan = plan(&case, Level::best());
        let mut atlas = Atlas::new(&plan);
        atlas.collide();
        // Whole numbers: exact whatever the frames.
        assert_eq!(run_in(&case, Level::best(), &mut atlas), dense(&case), "{name}");
        let mut plain = Atlas::new(&plan);
        add(&plan, &case, &mut plain, &mut Book::new(&plan));
        assert_eq!((atlas.patches(), atlas.windows()), (plain.patches(), plain.windows()), "{name}");
        // And frames still do not depend on history.
        let reversed = Case { pictures: case.pictures.iter().rev().copied().collect(), ..case.clone() };
        let mut other = Atlas::new(&plan);
        other.collide();
        add(&plan, &reversed, &mut other, &mut Book::new(&plan));
        let noisy = Case {
            coefficients: super::case(13, group, sizes, 4, Kind::Tiles(3), false).coefficients,
            ..case
        };
        let bits = [&mut atlas, &mut other].map(|atlas| run_in(&noisy, Level::best(), atlas).bits());
        assert!(bits[0] == bits[1], "{name}");
    }
}

#[test]
fn features_do_not_depend_on_the_other_pictures_nor_on_when_they_came() {
    for (name, group) in GROUPS {
        let case = case(14, group, SMALL, 7, Kind::Tiles(3), false);
        let plan = plan(&case, Level::best());
        let packed = packed(&plan, &case);
        let expected = run(&case, Level::best());
        let (mut atlas, mut book, mut cache) = (Atlas::new(&plan), Book::new(&plan), Cache::default());
        let (mut alone, mut own) = (Book::new(&plan), Cache::default());
        let mut codes = vec![0; plan.positions()];
        for (i, picture) in case.pictures.chunks_exact(plan.picture_len()).enumerate() {
            atlas.look(picture, &mut codes).unwrap();
            assert_eq!(book.add(&atlas, &codes), Ok(i as u32));
            alone.clear();
            alone.add(&atlas, &codes).unwrap();
            plan.forward(&packed, &alone, &mut own).unwrap();
            plan.forward(&packed, &book, &mut cache).unwrap();
            let so_far = &expected.features[..(i + 1) * plan.features()];
            assert_eq!(cache.features(), so_far, "{name}, picture {i}");
            assert_eq!(own.features(), &so_far[i * plan.features()..], "{name}, picture {i} alone");
        }
        let gradients = backward(&plan, &case, &packed, &book, &cache);
        assert!(Found { features: cache.features().to_vec(), gradients }.bits() == expected.bits(), "{name}");
        assert_eq!(cache.maxima().count(), case.dfeatures.len());
    }
}

#[test]
fn a_cache_notices_new_weights_and_a_cleared_book() {
    let case = case(15, GROUPS[2].1, SMALL, 5, Kind::Tiles(3), false);
    let plan = plan(&case, Level::best());
    let (mut atlas, mut book, mut cache) = (Atlas::new(&plan), Book::new(&plan), Cache::default());
    let mut weights = packed(&plan, &case);
    add(&plan, &case, &mut atlas, &mut book);
    plan.forward(&weights, &book, &mut cache).unwrap();
    let mut other = case.clone();
    other.coefficients.iter_mut().flatten().for_each(|x| *x = 0.5 - *x);
    other.pictures.reverse();
    let [a1, b1, a2, b2] = &other.coefficients;
    plan.pack(Coefficients { a1, b1, a2, b2 }, &mut weights).unwrap();
    book.clear();
    assert_eq!((book.images(), book.patches(), book.windows(), book.rows()), (0, 0, 0, 0));
    add(&plan, &other, &mut atlas, &mut book);
    plan.forward(&weights, &book, &mut cache).unwrap();
    assert_eq!(cache.features(), run(&other, Level::best()).features);
}

#[test]
fn threads_do_not_change_bits() {
    for (name, group) in [GROUPS[0], GROUPS[2], GROUPS[5]] {
        for kind in [Kind::Tiles(3), Kind::Random] {
            let sizes = Sizes { channels: [3, 160 / group.len()], ..SMALL };
            let case = case(16, group, sizes, 60, kind, false);
            let expected = on_threads(1, || run(&case, Level::best()));
            if kind == Kind::Random {
                // Nothing repeats, so there are enough maxima in different windows for several chunks.
                assert!(active(&case) > 2048, "{name}");
            }
            for threads in [2, 3] {
                let found = on_threads(threads, || run(&case, Level::best()));
                assert!(found.bits() == expected.bits(), "{name}, {kind:?}, {threads} threads");
            }
        }
    }
}

/// Pairs of a picture and a position that hold a maximum.
fn active(case: &Case) -> usize {
    let plan = plan(case, Level::best());
    let (mut atlas, mut book, mut cache) = (Atlas::new(&plan), Book::new(&plan), Cache::default());
    add(&plan, case, &mut atlas, &mut book);
    plan.forward(&packed(&plan, case), &book, &mut cache).unwrap();
    let places = cache.maxima().enumerate().filter_map(|(k, at)| Some((k / plan.features(), at?)));
    places.collect::<std::collections::BTreeSet<_>>().len()
}
