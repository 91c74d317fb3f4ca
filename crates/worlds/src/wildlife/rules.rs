//! What happens in a step: collisions, then the capture; and how an episode is dealt.

use super::board::Board;
use crate::stream::Stream;

/// What every step costs the team, the capturing one included.
pub const STEP_COST: f64 = 0.05;

/// Room to work in, so that no step allocates. Between calls `crowd` is all zero and `deck` is 0, 1, 2, ...
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// The cell that each drone proposes, and where it ends up.
    pub next: Vec<u32>,
    back: Vec<bool>,
    crowd: Vec<u8>,
    deck: Vec<u32>,
}

impl Room {
    pub fn new(drones: usize, cells: usize) -> Room {
        Room {
            next: vec![0; drones],
            back: vec![false; drones],
            crowd: vec![0; cells],
            deck: (0..cells as u32).collect(),
        }
    }

    /// Resolves collisions among the cells proposed in `next` and counts the captors of the poacher.
    ///
    /// All drones that share a proposed cell fall back to their own cell at once, again and again until no two share
    /// one; the order of the drones plays no part. It ends: homes differ, so of the drones that share a cell at most
    /// one is at home already, and every round sends another one home.
    ///
    /// Gives how many drones are 4-adjacent to the poacher if one stands on its cell, and 0 if none does.
    pub fn settle(&mut self, board: &Board, home: &[u32], poacher: u32) -> u32 {
        let Room { next, back, crowd, .. } = self;
        // At most five drones can want one cell, so a byte counts them.
        for &cell in next.iter() {
            crowd[cell as usize] += 1;
        }
        loop {
            let mut any = false;
            // Decide for everybody before anybody moves.
            for ((back, &cell), &own) in back.iter_mut().zip(next.iter()).zip(home) {
                *back = cell != own && crowd[cell as usize] > 1;
                any |= *back;
            }
            if !any {
                break;
            }
            for ((&back, cell), &own) in back.iter().zip(next.iter_mut()).zip(home) {
                if back {
                    crowd[*cell as usize] -= 1;
                    crowd[own as usize] += 1;
                    *cell = own;
                }
            }
        }
        let captors = if crowd[poacher as usize] == 0 {
            0
        } else {
            board.moved[poacher as usize][1..].iter().map(|&cell| u32::from(crowd[cell as usize])).sum()
        };
        for &cell in next.iter() {
            crowd[cell as usize] = 0;
        }
        captors
    }

    /// Deals distinct cells to the poacher (given back) and to the drones, all deals equally likely: one word per cell.
    pub fn deal(&mut self, stream: &mut Stream, drones: &mut [u32]) -> u32 {
        let deck = &mut self.deck;
        let total = deck.len() as u32;
        let dealt = drones.len() + 1;
        for k in 0..dealt {
            let pick = k + stream.below(total - k as u32) as usize;
            deck.swap(k, pick);
        }
        let poacher = deck[0];
        drones.copy_from_slice(&deck[1..dealt]);
        // Put the deck back in order, so that a deal depends on the stream alone. A place beyond the dealt ones gives
        // its own number when it is first touched, so the dealt numbers name every place that changed.
        for &cell in drones.iter().chain([&poacher]) {
            deck[cell as usize] = cell;
        }
        for (k, card) in deck[..dealt].iter_mut().enumerate() {
            *card = k as u32;
        }
        poacher
    }
}

#[cfg(test)]
mod tests {
    use super::super::board::STEPS;
    use super::*;
    use crate::stream::Purpose;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The rule as it is written, on (row, col) pairs.
    fn by_the_book(side: i32, home: &[[i32; 2]], actions: &[usize]) -> Vec<[i32; 2]> {
        let mut next: Vec<[i32; 2]> = home
            .iter()
            .zip(actions)
            .map(|(h, &a)| [0, 1].map(|k| (h[k] + STEPS[a][k]).rem_euclid(side)))
            .collect();
        loop {
            let mut wanted = BTreeMap::<_, Vec<usize>>::new();
            for (i, &cell) in next.iter().enumerate() {
                wanted.entry(cell).or_default().push(i);
            }
            let sharing: Vec<usize> = wanted.into_values().filter(|w| w.len() > 1).flatten().collect();
            if sharing.is_empty() {
                return next;
            }
            for i in sharing {
                next[i] = home[i];
            }
        }
    }

    proptest! {
        #[test]
        fn collisions_follow_the_book(half in 1i32..5, crowded in 2usize..24, seed: u64) {
            let side = 2 * half + 1;
            let board = Board::new(side as usize).unwrap();
            let drones = crowded.min(board.cells() - 1);
            let mut stream = Stream::new(seed, Purpose::Audit, 0);
            let mut room = Room::new(drones, board.cells());
            let mut home = vec![0; drones];
            for _ in 0..20 {
                let poacher = room.deal(&mut stream, &mut home);
                let actions: Vec<usize> = home.iter().map(|_| stream.below(5) as usize).collect();
                for i in 0..drones {
                    room.next[i] = board.moved[home[i] as usize][actions[i]];
                }
                let captors = room.settle(&board, &home, poacher);
                let at: Vec<[i32; 2]> = home.iter().map(|&c| board.place[c as usize]).collect();
                let expected = by_the_book(side, &at, &actions);
                let found: Vec<[i32; 2]> = room.next.iter().map(|&c| board.place[c as usize]).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), drones);

                let p = board.place[poacher as usize];
                let on = found.contains(&p);
                let near = STEPS[1..].iter().filter(|s| {
                    found.contains(&[0, 1].map(|k| (p[k] + s[k]).rem_euclid(side)))
                });
                prop_assert_eq!(captors as usize, if on { near.count() } else { 0 });
                prop_assert!(room.crowd.iter().all(|&c| c == 0));
            }
        }

        #[test]
        fn a_deal_depends_on_the_stream_alone(drones in 2usize..9, seed: u64) {
            let mut room = Room::new(drones, 9);
            let mut cells = vec![0; drones];
            for index in 0..5 {
                let fresh = Room::new(drones, 9).deal(&mut Stream::new(seed, Purpose::World, index), &mut cells);
                let first = cells.clone();
                let poacher = room.deal(&mut Stream::new(seed, Purpose::World, index), &mut cells);
                prop_assert_eq!((poacher, &cells), (fresh, &first));
                prop_assert!(room.deck.iter().enumerate().all(|(k, &c)| k == c as usize));
                let distinct: BTreeSet<u32> = cells.iter().copied().chain([poacher]).collect();
                prop_assert_eq!(distinct.len(), drones + 1);
            }
        }
    }

    #[test]
    fn deals_are_uniform() {
        let mut room = Room::new(2, 9);
        let mut stream = Stream::new(3, Purpose::Audit, 0);
        let mut counts = BTreeMap::new();
        let mut cells = [0; 2];
        for _ in 0..50_400 {
            let poacher = room.deal(&mut stream, &mut cells);
            *counts.entry((poacher, cells)).or_insert(0u32) += 1;
        }
        // 9 * 8 * 7 deals, 100 each; a chi-square of 503 degrees of freedom stays below 503 + 5 sqrt(2 * 503).
        assert_eq!(counts.len(), 504);
        let chi: f64 = counts.values().map(|&c| (f64::from(c) - 100.0).powi(2) / 100.0).sum();
        assert!(chi < 662.0, "{chi}");
    }
}
