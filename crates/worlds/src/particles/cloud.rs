//! Points of the plane, and who is near: by trying all of them, or through a grid of cells if there are many.
//!
//! Both ways find the same points. Cells cover a square; points outside of it belong to the cells at its rim. That never
//! brings points closer in cells than they are, so what is searched is always enough.

use super::Vector;

/// Fewer points than this are tried one by one.
const FEW: usize = 16;

/// Points, and a grid if there are many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cloud {
    /// Where they are. After a change, [`Cloud::settle`].
    pub points: Vec<Vector>,
    grid: Grid,
}

/// Cells of a square around the origin. `items[starts[c]..starts[c + 1]]` are the points in cell c.
#[derive(Clone, Debug, Default)]
struct Grid {
    half: f64,
    cell: f64,
    /// Cells per unit of length.
    per_unit: f64,
    side: usize,
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Cloud {
    /// So many points at the origin, most of which will be within `half` of it in both coordinates.
    pub fn new(count: usize, half: f64) -> Cloud {
        // Four cells per point: most are empty, and few points are tried in vain.
        let side = if count < FEW { 0 } else { (2.0 * (count as f64).sqrt()).ceil() as usize };
        let cell = 2.0 * half / side.max(1) as f64;
        let grid = Grid { half, cell, per_unit: 1.0 / cell, side, ..Grid::default() };
        let mut cloud = Cloud { points: vec![[0.0; 2]; count], grid };
        cloud.settle();
        cloud
    }

    /// Sorts the points into their cells.
    pub fn settle(&mut self) {
        let Grid { side, starts, items, .. } = &mut self.grid;
        if *side == 0 {
            return;
        }
        starts.clear();
        starts.resize(*side * *side + 1, 0);
        items.resize(self.points.len(), 0);
        for p in 0..self.points.len() {
            let cell = self.grid.cell_of(self.points[p]);
            self.grid.starts[cell + 1] += 1;
        }
        let starts = &mut self.grid.starts;
        (1..starts.len()).for_each(|c| starts[c] += starts[c - 1]);
        // Filled from the back, so that the starts end where they began.
        for p in (0..self.points.len()).rev() {
            let cell = self.grid.cell_of(self.points[p]);
            let end = &mut self.grid.starts[cell + 1];
            *end -= 1;
            self.grid.items[*end as usize] = p as u32;
        }
        self.grid.starts.remove(0);
        self.grid.starts.push(self.points.len() as u32);
    }

    /// Calls `visit(j, x - x_j, its squared length)` for every point with a squared distance of at most `reach`^2 from x, in
    /// any order.
    #[inline]
    pub fn near(&self, at: Vector, reach: f64, mut visit: impl FnMut(usize, Vector, f64)) {
        let mut look = |j: usize, p: Vector| {
            let d = [at[0] - p[0], at[1] - p[1]];
            let squared = d[0] * d[0] + d[1] * d[1];
            if squared <= reach * reach {
                visit(j, d, squared);
            }
        };
        let grid = &self.grid;
        if grid.side == 0 {
            self.points.iter().enumerate().for_each(|(j, &p)| look(j, p));
            return;
        }
        let [left, right] = [at[0] - reach, at[0] + reach].map(|x| grid.along(x));
        let [bottom, top] = [at[1] - reach, at[1] + reach].map(|y| grid.along(y));
        for row in bottom..=top {
            // Cells of a row lie side by side.
            let (from, to) = (grid.starts[row * grid.side + left], grid.starts[row * grid.side + right + 1]);
            for &j in &grid.items[from as usize..to as usize] {
                look(j as usize, self.points[j as usize]);
            }
        }
    }

    /// The squared distance from x to the nearest point; infinite if there is none.
    pub fn nearest(&self, at: Vector) -> f64 {
        let squared = |p: &Vector| (at[0] - p[0]).powi(2) + (at[1] - p[1]).powi(2);
        let grid = &self.grid;
        if grid.side == 0 {
            return self.points.iter().map(squared).fold(f64::INFINITY, f64::min);
        }
        let (col, row) = (grid.along(at[0]), grid.along(at[1]));
        let mut least = f64::INFINITY;
        for ring in 0..grid.side {
            // What is not searched yet is at least so many cells away.
            if ring > 1 && least <= ((ring - 1) as f64 * grid.cell * (1.0 - 1e-12)).powi(2) {
                break;
            }
            let clip = |at: usize| (at.saturating_sub(ring), (at + ring).min(grid.side - 1));
            let ((left, right), (bottom, top)) = (clip(col), clip(row));
            for r in bottom..=top {
                let whole = r.abs_diff(row) == ring;
                for c in left..=right {
                    if whole || c.abs_diff(col) == ring {
                        let cell = r * grid.side + c;
                        let items = grid.starts[cell] as usize..grid.starts[cell + 1] as usize;
                        let points = grid.items[items].iter().map(|&j| &self.points[j as usize]);
                        least = points.map(squared).fold(least, f64::min);
                    }
                }
            }
        }
        least
    }

    /// Whether there is a grid.
    pub fn has_grid(&self) -> bool {
        self.grid.side > 0
    }
}

impl Grid {
    /// The cell of a coordinate: a cast takes what is too small to 0.
    fn along(&self, x: f64) -> usize {
        (((x + self.half) * self.per_unit) as usize).min(self.side - 1)
    }

    fn cell_of(&self, [x, y]: Vector) -> usize {
        self.along(y) * self.side + self.along(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, Stream};

    #[test]
    fn cells_find_what_trying_all_finds() {
        for (count, seed) in [(1, 1), (15, 2), (16, 3), (100, 4), (1000, 5)] {
            let mut stream = Stream::new(seed, Purpose::Audit, 0);
            let mut cloud = Cloud::new(count, 2.0);
            for (k, p) in cloud.points.iter_mut().enumerate() {
                // Some far outside of the cells, some in a corner of one.
                let scale = [1.0, 1.0, 30.0, 0.01][k % 4];
                *p = [0; 2].map(|_| scale * (4.0 * stream.unit() - 2.0));
            }
            cloud.settle();
            for _ in 0..200 {
                let scale = if stream.below(4) == 0 { 40.0 } else { 3.0 };
                let at = [0; 2].map(|_| scale * (2.0 * stream.unit() - 1.0));
                let reach = stream.unit() * [0.1, 1.0, 10.0][stream.below(3) as usize];
                let distance = |p: &Vector| (at[0] - p[0]).powi(2) + (at[1] - p[1]).powi(2);
                let mut found = vec![];
                cloud.near(at, reach, |j, _, _| found.push(j));
                found.sort_unstable();
                let all = |j: &usize| distance(&cloud.points[*j]) <= reach * reach;
                assert_eq!(
                    found,
                    (0..count).filter(all).collect::<Vec<_>>(),
                    "{count} points, {at:?}, {reach}"
                );
                let least = cloud.points.iter().map(distance).fold(f64::INFINITY, f64::min);
                assert_eq!(cloud.nearest(at), least, "{count} points, {at:?}");
            }
        }
    }
}
