//! The rules once more, slow and obvious: a list of cars, a grid of cells, every sentence of the rules in its place.
//! Shares nothing with the fast world but the types it is compared in.

use super::{Arrival, Left, Vehicle};

/// A car with all it remembers.
#[derive(Clone, Copy, Debug)]
struct Car {
    at: Vehicle,
    entered: usize,
}

/// What a step gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub reward: f64,
    pub terminated: bool,
    pub truncated: bool,
    pub left: Vec<Left>,
}

/// The slow world.
#[derive(Clone, Debug)]
pub struct Oracle {
    rows: usize,
    cols: usize,
    step_limit: usize,
    now: usize,
    cars: Vec<Car>,
    waiting_outside_or_later: Vec<Arrival>,
}

type Cell = (i32, i32);

fn cell(v: &Vehicle) -> Cell {
    (v.row as i32, v.col as i32)
}

fn next(v: &Vehicle) -> Cell {
    (v.row as i32 + v.dr, v.col as i32 + v.dc)
}

/// The stop line and the second crossing cell, in its junction's block, of a lane with this direction.
fn crossings(v: &Vehicle) -> [(i32, i32); 2] {
    match (v.dr, v.dc) {
        (0, 1) => [(2, 2), (2, 4)],
        (0, -1) => [(4, 4), (4, 2)],
        (-1, 0) => [(4, 2), (2, 2)],
        _ => [(2, 4), (4, 4)],
    }
}

fn in_block(c: Cell) -> (i32, i32) {
    (c.0 % 8, c.1 % 8)
}

fn is_stop_line(v: &Vehicle, c: Cell) -> bool {
    in_block(c) == crossings(v)[0]
}

/// On its stop-line cell, or between its two crossing cells.
fn is_inside_junction(v: &Vehicle) -> bool {
    let [first, _] = crossings(v);
    let here = in_block(cell(v));
    here == first || here == (first.0 + v.dr, first.1 + v.dc)
}

impl Oracle {
    pub fn new(
        (rows, cols): (usize, usize),
        step_limit: usize,
        vehicles: &[Vehicle],
        schedule: &[Arrival],
    ) -> Oracle {
        Oracle {
            rows,
            cols,
            step_limit,
            now: 0,
            cars: vehicles.iter().map(|&at| Car { at, entered: 0 }).collect(),
            waiting_outside_or_later: schedule.to_vec(),
        }
    }

    pub fn vehicles(&self) -> Vec<Vehicle> {
        let mut all: Vec<Vehicle> = self.cars.iter().map(|car| car.at).collect();
        all.sort();
        all
    }

    fn in_world(&self, (row, col): Cell) -> bool {
        let (height, width) = (8 * self.rows as i32 - 1, 8 * self.cols as i32 - 1);
        (0..height).contains(&row) && (0..width).contains(&col)
    }

    fn taken(&self, c: Cell) -> bool {
        self.cars.iter().any(|car| cell(&car.at) == c)
    }

    fn enter(&mut self) {
        for row in 0..8 * self.rows - 1 {
            for col in 0..8 * self.cols - 1 {
                let direction = if row % 8 == 2 && col == 0 {
                    (0, 1)
                } else if row % 8 == 4 && col == 8 * self.cols - 2 {
                    (0, -1)
                } else if col % 8 == 2 && row == 8 * self.rows - 2 {
                    (-1, 0)
                } else if col % 8 == 4 && row == 0 {
                    (1, 0)
                } else {
                    continue;
                };
                let now = self.now;
                let waits = |a: &Arrival| a.0 as usize <= now && (a.1, a.2) == (row, col);
                let first = self.waiting_outside_or_later.iter().position(waits);
                if let Some(place) = first
                    && !self.taken((row as i32, col as i32))
                {
                    self.waiting_outside_or_later.remove(place);
                    let (dr, dc) = direction;
                    self.cars.push(Car {
                        at: Vehicle { row, col, dr, dc, waiting: 0, marked: false },
                        entered: now,
                    });
                }
            }
        }
    }

    pub fn step(&mut self, actions: &[usize]) -> Report {
        self.enter();
        let red = |v: &Vehicle, c: Cell| {
            let action = actions[c.0 as usize / 8 * self.cols + c.1 as usize / 8];
            is_stop_line(v, c) && (action == 0) == (v.dr == 0)
        };
        let claimed: Vec<Cell> =
            self.cars.iter().filter(|car| is_inside_junction(&car.at)).map(|car| next(&car.at)).collect();
        let barred =
            |v: &Vehicle| red(v, next(v)) || (is_stop_line(v, next(v)) && claimed.contains(&next(v)));
        // The least fixed point: nobody moves out until someone can.
        let mut moves_out = vec![false; self.cars.len()];
        let free = |c: Cell, moves_out: &[bool]| {
            let occupant = self.cars.iter().position(|car| cell(&car.at) == c);
            occupant.is_none_or(|k| moves_out[k])
        };
        loop {
            let mut changed = false;
            for (k, car) in self.cars.iter().enumerate() {
                let v = &car.at;
                let leaves = !self.in_world(next(v));
                let goes = leaves || (!v.marked && !barred(v) && free(next(v), &moves_out));
                if goes && !moves_out[k] {
                    moves_out[k] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut left = Vec::new();
        let mut stay = Vec::new();
        for (k, car) in self.cars.iter().enumerate() {
            let mut car = *car;
            let v = &mut car.at;
            if !self.in_world(next(v)) {
                left.push(Left {
                    waiting: u64::from(v.waiting),
                    travel: (self.now - car.entered + 1) as u64,
                });
                continue;
            }
            let held = barred(v) || !free(next(v), &moves_out);
            match (v.marked, held) {
                (false, false) => {
                    let (row, col) = next(v);
                    (v.row, v.col) = (row as usize, col as usize);
                }
                (false, true) => {
                    v.marked = true;
                    v.waiting += 1;
                }
                (true, true) => v.waiting += 1,
                (true, false) => {
                    v.marked = false;
                    v.waiting += 1;
                }
            }
            assert_eq!(moves_out[k], !held && !self.cars[k].at.marked);
            stay.push(car);
        }
        self.cars = stay;
        self.now += 1;
        let total: u32 = self.cars.iter().map(|car| car.at.waiting).sum();
        let reward = if total == 0 { 0.0 } else { -(f64::from(total) / self.cars.len() as f64) / 1000.0 };
        let terminated = self.cars.is_empty() && self.waiting_outside_or_later.is_empty();
        left.sort();
        Report { reward, terminated, truncated: !terminated && self.now == self.step_limit, left }
    }
}
