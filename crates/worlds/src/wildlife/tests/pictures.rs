//! Rendered observations against pictures drawn by hand, and against themselves.

use super::*;
use crate::batch::{Canvas, EnvBatch};
use proptest::prelude::*;

/// A file of test data: a line `grid G drone R C poacher R C`, then the picture, `1` for a glyph.
fn drawn(text: &str) -> (usize, [usize; 2], [usize; 2], Vec<f32>) {
    let (head, picture) = text.split_once('\n').unwrap();
    let numbers: Vec<usize> = head.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [grid, r, c, pr, pc] = numbers[..] else { panic!("{head}") };
    let pixel = |p: char| f32::from(u8::from(p == '1'));
    let pixels = picture.lines().flat_map(|row| row.chars().map(pixel));
    (grid, [r, c], [pr, pc], pixels.collect())
}

#[test]
fn pictures_are_the_ones_drawn_by_hand() {
    for text in [
        include_str!("../../../testdata/wildlife-3-corner.txt"),
        include_str!("../../../testdata/wildlife-3-same-cell.txt"),
        include_str!("../../../testdata/wildlife-5-border.txt"),
        include_str!("../../../testdata/wildlife-7-beside.txt"),
        include_str!("../../../testdata/wildlife-7-wrapped.txt"),
    ] {
        let (grid, drone, poacher, expected) = drawn(text);
        let elsewhere = [(drone[0] + 1) % grid, drone[1]];
        let world = placed(grid, &[elsewhere, drone], poacher, 0);
        assert_eq!(world.spec().image, Some([1, 3 * grid, 3 * grid]));
        let mut picture = vec![7.0; pixels(&world)];
        world.observe(1, &mut picture);
        assert_eq!(picture, expected, "{text}");
        picture.fill(7.0);
        world.paint(world.id(1).unwrap(), &mut picture);
        assert_eq!(picture, expected, "{text}");
        // The team's image is all of theirs.
        assert_eq!(world.spec().team_image, Some([2, 3 * grid, 3 * grid]));
        let mut team = vec![7.0; 2 * pixels(&world)];
        world.team_image(&mut team);
        assert_eq!(team[pixels(&world)..], expected, "{text}");
    }
}

#[test]
fn repainting_is_rendering() {
    for grid in [3, 5, 7] {
        let world = Wildlife::new(2, grid).unwrap();
        let mut fresh = vec![0.0; pixels(&world)];
        let mut painted = vec![0.0; pixels(&world)];
        for old in 0..world.ids() as u64 {
            for new in 0..world.ids() as u64 {
                world.paint(old, &mut painted);
                world.repaint(old, new, &mut painted);
                world.paint(new, &mut fresh);
                assert_eq!(painted, fresh, "{grid}: from {old} to {new}");
            }
        }
    }
}

#[test]
fn different_ids_are_different_pictures() {
    let world = Wildlife::new(2, 7).unwrap();
    let pictures: std::collections::BTreeSet<Vec<u32>> = (0..49)
        .map(|id| {
            let mut picture = vec![0.0f32; pixels(&world)];
            world.paint(id, &mut picture);
            picture.iter().map(|p| p.to_bits()).collect()
        })
        .collect();
    assert_eq!(pictures.len(), 49);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_canvas_stays_complete(drones in 2usize..6, half in 1usize..4, count in 1usize..5, seed: u64) {
        let world = Wildlife::new(drones, 2 * half + 1).unwrap();
        let mut batch = EnvBatch::new(&world, count, seed, Purpose::World).unwrap();
        let mut stream = Stream::new(seed, Purpose::Action, 0);
        let mut pictures = vec![0.0; Canvas::len_for(batch.worlds())];
        let mut canvas = Canvas::paint(batch.worlds(), &mut pictures);
        let mut outcomes = vec![Outcome { reward: 0.0, end: End::Running }; count];
        let mut actions = vec![0; count * drones];
        let pixels = pixels(&world);
        let mut fresh = vec![0.0; pixels];
        let mut ids = vec![0; count * drones];
        for _ in 0..150 {
            actions.fill_with(|| stream.below(5) as usize);
            batch.step(&actions, &mut outcomes, |_, _| {}).unwrap();
            canvas.update(batch.worlds(), &mut pictures);
            batch.ids(&mut ids);
            prop_assert_eq!(canvas.ids(), ids.iter().map(|&id| Some(id)).collect::<Vec<_>>());
            for (&id, picture) in ids.iter().zip(pictures.chunks(pixels)) {
                world.paint(id, &mut fresh);
                prop_assert_eq!(picture, &fresh[..]);
            }
        }
    }
}
