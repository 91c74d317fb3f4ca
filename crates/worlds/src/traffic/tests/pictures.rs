//! Pictures pixel by pixel, painting in place, and painting after turning.

use super::*;
use crate::action::GroupAction;
use crate::traffic::JunctionKey;

/// A picture drawn in a text file; lines that begin with `# ` are remarks.
fn drawn(text: &str) -> Vec<f32> {
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    lines
        .flat_map(str::chars)
        .map(|c| match c {
            '.' => 0.0,
            '+' => 0.1,
            'o' => 0.5,
            '#' => 1.0,
            other => panic!("{other} is no pixel"),
        })
        .collect()
}

fn pixels(shape: Option<[usize; 3]>) -> usize {
    shape.unwrap().iter().product()
}

fn painted(world: &Traffic, key: JunctionKey) -> Vec<f32> {
    let mut picture = vec![f32::NAN; pixels(world.spec().image)];
    key.paint(&mut picture);
    let mut by_id = vec![f32::NAN; picture.len()];
    world.paint(key.0.into(), &mut by_id);
    assert!(by_id == picture);
    picture
}

#[test]
fn an_empty_junction_is_as_drawn() {
    let text = include_str!("../../../testdata/traffic-empty-phase0.txt");
    let w = world(1, 1);
    assert_eq!(w.spec().image, Some([3, 35, 35]));
    let mut seen = vec![f32::NAN; 3 * 35 * 35];
    w.observe(0, &mut seen);
    assert!(seen == drawn(text));
    assert!(painted(&w, w.key(0)) == drawn(text));
    let mut whole = vec![f32::NAN; 3 * 35 * 35];
    w.render_world(&mut whole);
    assert!(whole == drawn(text));
    whole.fill(f32::NAN);
    w.team_image(&mut whole);
    assert!(whole == drawn(text));
}

#[test]
fn a_busy_junction_is_as_drawn() {
    let text = include_str!("../../../testdata/traffic-busy-phase1.txt");
    let cars = [
        (2, 0, 0, 1),
        (2, 1, 0, 1),
        (2, 4, 0, 1),
        (4, 6, 0, -1),
        (4, 4, 0, -1),
        (4, 3, 0, -1),
        (6, 2, -1, 0),
        (5, 2, -1, 0),
        (2, 2, -1, 0),
        (0, 2, -1, 0),
        (0, 4, 1, 0),
        (3, 4, 1, 0),
        (6, 4, 1, 0),
    ];
    // The same block in a larger world, as its junction at (1, 0), with waiting and marks that nobody sees.
    let mut w = world(2, 2);
    let vehicles: Vec<Vehicle> =
        cars.iter().map(|&(r, c, dr, dc)| vehicle(8 + r, c, dr, dc, 3, r == 2)).collect();
    w.set_vehicles(&vehicles).unwrap();
    w.set_phases(&[0, 0, 1, 0]).unwrap();
    assert_eq!(w.key(2).phase(), 1);
    assert!(painted(&w, w.key(2)) == drawn(text));
    let empty = include_str!("../../../testdata/traffic-empty-phase0.txt");
    assert!(painted(&w, w.key(3)) == drawn(empty));
}

#[test]
fn repainting_is_painting() {
    let mut w = world(2, 2);
    let mut stream = stream(4);
    let mut actions = [0; 4];
    for _ in 0..4 {
        w.reset(&mut stream).unwrap();
        let mut keys: Vec<JunctionKey> = (0..4).map(|j| w.key(j)).collect();
        let mut pictures: Vec<Vec<f32>> = keys.iter().map(|&k| painted(&w, k)).collect();
        for _ in 0..200 {
            act(&mut actions, 0.3, &mut stream);
            w.apply(&actions, &());
            for j in 0..4 {
                let key = w.key(j);
                w.repaint(keys[j].0.into(), key.0.into(), &mut pictures[j]);
                assert_eq!(w.id(j), Some(key.0.into()));
                keys[j] = key;
                assert!(pictures[j] == painted(&w, key));
            }
        }
    }
}

/// Turns square pictures pixel by pixel.
fn turn(acts: &GroupAction, g: usize, side: usize, picture: &[f32]) -> Vec<f32> {
    let gather = acts.plane().unwrap().gather(g, side);
    picture.chunks_exact(side * side).flat_map(|channel| gather.iter().map(|&p| channel[p])).collect()
}

#[test]
fn painting_commutes_with_turning() {
    let mut stream = stream(6);
    for size in 1..4 {
        let mut w = world(size, size);
        w.reset(&mut stream).unwrap();
        let mut actions = vec![0; size * size];
        let acts = GroupAction::new(w.spec()).unwrap();
        let shape = w.world_shape();
        assert_eq!(w.spec().team_image, Some(shape));
        for _ in 0..60 {
            act(&mut actions, 0.3, &mut stream);
            w.apply(&actions, &());
            let mut whole = vec![f32::NAN; pixels(Some(shape))];
            w.render_world(&mut whole);
            for g in acts.group.elements() {
                let turned = w.transformed(g).unwrap();
                for agent in 0..w.agents() {
                    let key = w.key(agent);
                    let image = JunctionKey(w.transform_id(g, key.0.into()) as u32);
                    assert_eq!(turned.key(acts.agent(g, agent)), image);
                    assert!(painted(&w, image) == turn(&acts, g, 35, &painted(&w, key)));
                }
                let mut image = vec![f32::NAN; pixels(Some(shape))];
                turned.render_world(&mut image);
                assert!(image == turn(&acts, g, shape[2], &whole));
            }
        }
    }
}

#[test]
fn the_worlds_picture_is_made_of_the_junctions_pictures() {
    let mut w = world(2, 3);
    let mut stream = stream(7);
    w.set_vehicles(&strewn(&w, 0.5, 0.5, &mut stream)).unwrap();
    w.set_phases(&[0, 1, 1, 0, 0, 1]).unwrap();
    let shape = w.world_shape();
    assert_eq!(shape, [3, 75, 115]);
    let [_, height, width] = shape;
    let mut whole = vec![f32::NAN; pixels(Some(shape))];
    w.render_world(&mut whole);
    for agent in 0..6 {
        let block = painted(&w, w.key(agent));
        let (top, left) = (40 * (agent / 3), 40 * (agent % 3));
        for (k, pixel) in block.iter().enumerate() {
            let (channel, i, j) = (k / 1225, k / 35 % 35, k % 35);
            let at = (channel * height + top + i) * width + left + j;
            assert_eq!(whole[at], *pixel);
        }
    }
    // The gap cells between them: a lane, and the vehicles on it.
    for v in w.vehicles().iter().filter(|v| v.col % 8 == 7) {
        let centre = (2 * height + 5 * v.row + 2) * width + 5 * v.col + 2;
        assert_eq!(whole[centre], 1.0);
    }
    assert_eq!(whole[(5 * 2) * width + 35], 0.5);
    assert_eq!(whole[(5 * 3) * width + 35], 0.0);
}
