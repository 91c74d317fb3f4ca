//! What equivariance is, in two images: a state and the same state turned, with what a trained team wants to do in each.
//!
//! `cargo run --release --example turned -- docs/images` trains two small teams (some seconds) and writes
//! `turned-equivariant.svg` and `turned-plain.svg`.

use equimarl_learn::{Method, TrainConfig, Trainer, observe};
use equimarl_nn::{Policy, Sharing};
use equimarl_render::save_svg;
use equimarl_worlds::scene::{Colour, Item, Scene, Shape};
use equimarl_worlds::{EnvBatch, Exact, GroupAction, Wildlife, World, builtin, wildlife::STEPS};
use std::path::PathBuf;

const GAP: f32 = 1.2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let registry = builtin();
    let mut world = Wildlife::new(3, 7)?.under(&"C4".parse()?)?;
    for method in [Method::Equivariant, Method::Plain] {
        let preset = TrainConfig::preset(&registry, "paper", registry.usual("wildlife")?, method)?;
        let config = TrainConfig { steps: 16_000, seed: 1, ..preset };
        let mut trainer = Trainer::new(&registry, &config)?;
        while !trainer.is_finished() {
            trainer.iterate()?;
        }
        let policy = trainer.network().policy()?;
        world.place(&[[1, 1], [2, 4], [5, 2]], [3, 2], 0)?;
        let acts = GroupAction::new(world.spec())?;
        let turn = acts.group.generators()[0];
        let turned = world.transformed(turn)?;
        let (here, there) = (probabilities(&policy, &world)?, probabilities(&policy, &turned)?);
        let differs = |agent: usize, action: usize| {
            (here[agent][action] - there[agent][acts.action(turn, action)]).abs()
        };
        let largest =
            (0..3).flat_map(|i| (0..5).map(move |a| (i, a))).map(|(i, a)| differs(i, a)).fold(0.0, f32::max);
        let scene = beside(&with_wishes(&world, &here)?, &with_wishes(&turned, &there)?);
        let scene =
            scene.caption(format!("{method}: turned by 90 degrees, probabilities change by {largest:.1e}"));
        let path = folder.join(format!("turned-{method}.svg"));
        save_svg(&scene, &path)?;
        println!("{}: {largest:.1e}", path.display());
    }
    Ok(())
}

/// What each drone wants.
fn probabilities(policy: &Policy, world: &Wildlife) -> Result<Vec<Vec<f32>>, Box<dyn std::error::Error>> {
    let said = policy.forward(&observe(&EnvBatch::of(world, 1), policy.config(), &Sharing::Distinct)?)?;
    let rows = said.log_probabilities.chunks(policy.actions());
    Ok(rows.map(|row| row.iter().map(|p| p.exp()).collect()).collect())
}

/// The world with an arrow for every move, as long as it is likely.
fn with_wishes(world: &Wildlife, wishes: &[Vec<f32>]) -> equimarl_worlds::Result<Scene> {
    let mut scene = World::scene(world)?;
    // The middle of the field is the middle of the image.
    let [width, height] = scene.size();
    let grid = world.grid() as f32;
    for ([row, col], wishes) in world.drones().zip(wishes) {
        let at = [width / 2.0 + col as f32 + 0.5 - grid / 2.0, height / 2.0 + row as f32 + 0.5 - grid / 2.0];
        for (&[dr, dc], &p) in STEPS.iter().zip(wishes).skip(1).filter(|(_, p)| **p > 0.02) {
            let point = |ahead: f32, aside: f32| {
                [at[0] + ahead * dc as f32 - aside * dr as f32, at[1] + ahead * dr as f32 + aside * dc as f32]
            };
            let (tip, wide) = (0.5 + 0.8 * p, 0.03 + 0.05 * p);
            let neck = tip - 0.18;
            let arrow = [(0.4, wide), (neck, wide), (neck, wide + 0.1), (tip, 0.0)];
            let back = arrow.iter().rev().skip(1).map(|&(a, s)| point(a, -s));
            let outline: Vec<[f32; 2]> = arrow.iter().map(|&(a, s)| point(a, s)).chain(back).collect();
            scene.add("wish", Shape::Polygon(outline), Colour::BLUE);
        }
    }
    Ok(scene)
}

/// Two images side by side, with an arrow between them.
fn beside(left: &Scene, right: &Scene) -> Scene {
    let [width, height] = left.size();
    let shift = width + GAP;
    let mut scene = Scene::new(2.0 * width + GAP, height);
    for (part, dx) in [(left, 0.0), (right, shift)] {
        for item in part.items() {
            scene.push(moved(item, dx));
        }
    }
    let (x, y) = (width + GAP / 2.0, height / 2.0);
    let ink = Colour::INK;
    scene.add("turn", Shape::Line { from: [x - 0.45, y], to: [x + 0.2, y], width: 0.09 }, ink);
    scene.add("turn", Shape::Polygon(vec![[x + 0.5, y], [x + 0.15, y - 0.22], [x + 0.15, y + 0.22]]), ink);
    scene
}

fn moved(item: &Item, dx: f32) -> Item {
    let by = |[x, y]: [f32; 2]| [x + dx, y];
    let shape = match item.shape.clone() {
        Shape::Rect { corner, size, radius } => Shape::Rect { corner: by(corner), size, radius },
        Shape::Circle { centre, radius } => Shape::Circle { centre: by(centre), radius },
        Shape::Polygon(points) => Shape::Polygon(points.into_iter().map(by).collect()),
        Shape::Line { from, to, width } => Shape::Line { from: by(from), to: by(to), width },
        Shape::Label { centre, height, text } => Shape::Label { centre: by(centre), height, text },
    };
    Item { shape, ..item.clone() }
}
