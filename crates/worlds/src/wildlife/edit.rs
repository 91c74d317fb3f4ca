//! Moving drones and the poacher by hand.

use super::Wildlife;
use super::scene::MARGIN;
use crate::error::Result;
use crate::scene::{Edit, cell_at};

/// Moves a drone or the poacher to the nearest cell. A step beyond the picture leads to the other side, as on any torus.
///
/// # Errors
/// If there is no such drone, or another one stands there; then nothing changes.
pub(super) fn edit(world: &mut Wildlife, edit: &Edit) -> Result<()> {
    let team = world.team();
    let drone = edit.number("drone").filter(|&drone| drone < team);
    if drone.is_none() && edit.id != "poacher" {
        return Err(edit.unknown(&format!("the poacher, and drone 0 to {}", team - 1)));
    }
    let grid = world.grid();
    let to = edit.target()?.map(|v| around(v, grid as f32));
    let Some(at @ [row, col]) = cell_at(to, [grid, grid], MARGIN) else {
        return Err(edit.outside("the field"));
    };
    let cell = (row * grid + col) as u32;
    let Some(drone) = drone else {
        // A drone may be on the poacher's cell.
        world.poacher = cell;
        return Ok(());
    };
    if let Some(other) = (0..team).find(|&other| other != drone && world.drones[other] == cell) {
        return Err(edit.refused(at, &format!("drone {other} is there")));
    }
    world.drones[drone] = cell;
    Ok(())
}

/// The same place of the torus for a point up to one cell beyond the border, and the point itself for others. What the
/// picture shows belongs to the cells at its border.
fn around(v: f32, side: f32) -> f32 {
    let (inside, beyond) = (0.0..=side + 2.0 * MARGIN, MARGIN - 1.0..=MARGIN + side + 1.0);
    if inside.contains(&v) || !beyond.contains(&v) {
        v
    } else if v < 0.0 {
        v + side
    } else {
        v - side
    }
}
