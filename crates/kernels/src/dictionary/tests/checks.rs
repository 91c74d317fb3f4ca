//! Wrong sizes are errors.

use super::*;

#[test]
fn wrong_sizes_are_errors() {
    let case = case(18, GROUPS[2].1, SMALL, 2, Kind::Tiles(3), false);
    let plan = plan(&case, Level::best());
    let mut packed = Packed::default();
    let (mut atlas, mut book, mut cache) = (Atlas::new(&plan), Book::new(&plan), Cache::default());
    assert_eq!(plan.forward(&packed, &book, &mut cache), Err(Error::Foreign { name: "packed" }));
    for i in 0..4 {
        let mut wrong = case.coefficients.clone();
        wrong[i].pop();
        let [a1, b1, a2, b2] = &wrong;
        assert!(plan.pack(Coefficients { a1, b1, a2, b2 }, &mut packed).is_err());
    }
    let [a1, b1, a2, b2] = &case.coefficients;
    plan.pack(Coefficients { a1, b1, a2, b2 }, &mut packed).unwrap();
    // An empty book is fine.
    plan.forward(&packed, &book, &mut cache).unwrap();
    assert!(cache.features().is_empty());

    let picture = &case.pictures[..plan.picture_len()];
    let mut codes = vec![0; plan.positions()];
    assert!(atlas.look(&picture[1..], &mut codes).is_err());
    assert!(atlas.look(picture, &mut codes[1..]).is_err());
    assert!(book.add(&atlas, &codes).is_err(), "no window 0 yet");
    atlas.look(picture, &mut codes).unwrap();
    assert!(book.add(&atlas, &codes[1..]).is_err());
    book.add(&atlas, &codes).unwrap();
    for bad in [(atlas.windows() as u32) << 4, codes[0] | 15] {
        let mut codes = codes.clone();
        codes[3] = bad;
        assert!(matches!(book.add(&atlas, &codes), Err(Error::Index { at: 3, .. })));
    }
    assert_eq!(book.images(), 1);
    let mut gradients = plan.coefficient_lens().map(|len| vec![0.0; len]);
    let mut workspace = Workspace::default();
    let mut back = |cache: &Cache, dfeatures: &[f32], gradients: &mut [Vec<f32>; 4]| {
        let [a1, b1, a2, b2] = gradients;
        plan.backward(&packed, &book, cache, dfeatures, &mut workspace, Gradients { a1, b1, a2, b2 })
    };
    let dfeatures = vec![1.0; plan.features()];
    assert_eq!(back(&cache, &dfeatures, &mut gradients), Err(Error::Foreign { name: "cache" }));
    plan.forward(&packed, &book, &mut cache).unwrap();
    back(&cache, &dfeatures, &mut gradients).unwrap();
    assert!(back(&cache, &dfeatures[1..], &mut gradients).is_err());
    for i in 0..4 {
        let mut wrong = gradients.clone();
        wrong[i].push(0.0);
        assert!(back(&cache, &dfeatures, &mut wrong).is_err());
    }
    // Another atlas, or the same after it was cleared, gives codes of other things.
    let other = Atlas::new(&plan);
    assert_eq!(book.add(&other, &codes), Err(Error::Foreign { name: "atlas" }));
    atlas.clear();
    assert_eq!(book.add(&atlas, &codes), Err(Error::Foreign { name: "atlas" }));
    // Things of a plan with another group.
    let none = super::plan(&super::case(18, GROUPS[0].1, SMALL, 2, Kind::Tiles(3), false), Level::best());
    assert_eq!(none.forward(&packed, &book, &mut cache), Err(Error::Foreign { name: "packed" }));
    assert_eq!(plan.forward(&packed, &Book::new(&none), &mut cache), Err(Error::Foreign { name: "book" }));
    assert_eq!(Book::new(&none).add(&atlas, &codes), Err(Error::Foreign { name: "atlas" }));
}

#[test]
fn plans_and_groups_are_checked() {
    let case = case(19, GROUPS[2].1, SMALL, 1, Kind::Tiles(3), false);
    let new = |config, channels| Plan::new(config, &case.turns, channels).map(|_| ());
    assert!(new(case.config, case.channels).is_ok());
    assert!(new(case.config, [3, 3]).is_err() && new(case.config, [2, 2]).is_err());
    assert!(new(case.config, [0, 3]).is_err() && new(case.config, [usize::MAX, 3]).is_err());
    let mut config = case.config;
    config.first.kernel = 5;
    assert!(matches!(new(config, case.channels), Err(Error::Group { .. })));
    let wide = Turns::new(1, &[0], [1, 9], |_, _, at| at).unwrap();
    let conv = |kernel| Convolution { channels: 1, kernel, stride: 1 };
    let config = Config { channels: 1, height: 9, width: 9, first: conv(1), second: conv(9) };
    assert!(matches!(Plan::new(config, &wide, [1, 1]), Err(Error::TooLarge { .. })));

    let same = |_: usize, _: usize, at: [usize; 2]| at;
    let group = |order, table: &[u32]| Turns::new(order, table, [2, 2], same).map(|_| ());
    assert!(group(2, &[0, 1, 1, 0]).is_ok());
    for (order, table) in [
        (0, vec![]),
        (17, vec![0; 289]),
        (2, vec![0, 1, 1]),
        (2, vec![0, 1, 1, 2]),
        (2, vec![1, 0, 0, 1]),
        (2, vec![0, 1, 1, 1]),
        (3, vec![0, 1, 2, 1, 0, 1, 2, 1, 0]),
    ] {
        assert!(group(order, &table).is_err(), "{table:?}");
    }
    let swap = |at: fn([usize; 2]) -> [usize; 2]| {
        Turns::new(2, &[0, 1, 1, 0], [2, 2], move |g, _, p| if g == 1 { at(p) } else { p }).map(|_| ())
    };
    assert!(swap(|[i, j]| [i, 1 - j]).is_ok());
    assert!(swap(|[i, j]| [i, j + 1]).is_err());
    assert!(swap(|[i, _]| [i, 0]).is_err());
    assert!(swap(|[i, j]| [1 - j, i]).is_err());
}
