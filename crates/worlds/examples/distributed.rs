//! What can drones reach that know only what they see and what they are told?
//!
//! The optimum of `equimarl solve wildlife` knows where everybody is. A drone of a real team knows where the poacher is as seen from
//! itself and, of those in reach of its messages, where they are. This looks for the best *rule* for such drones:
//!
//! ```text
//! team      falls into parts that hear each other, directly or through one another
//! part      acts by table: cells of its members around the poacher -> their joint move; one table per size of a part, the same
//!           for everybody, without memory and without chance
//! V(s)      = -0.05 + after(s moved by its tables),  after = reward of a capture, else the mean of V over the poacher's moves
//! improve   in every entry of a table the move with the largest sum over states of  occupancy(s) Q(s, move)
//! ```
//!
//! Improving all entries at once may make things worse, because others change as well, so half of the entries change at a time and the
//! best tables are kept. What is found can be reached by a distributed team, so it is a *lower* bound of the best distributed return; the
//! optimum is an upper one. Values are exact for the hundred steps of an episode, and the best tables also play in the world itself.
//! Nothing here is shared with the solver.
//!
//! ```text
//! cargo run --release -p equimarl-worlds --example distributed -- 3 30      # drones, rounds of improvement
//! ```

use equimarl_worlds::{End, Exact, Purpose, Stream, Wildlife, World};
use std::collections::HashMap;

const SIDE: i32 = 7;
const CELLS: usize = 49;
const STEPS: [[i32; 2]; 5] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];
const LIMIT: usize = 100;
const COST: f64 = 0.05;

fn place(cell: usize) -> [i32; 2] {
    [cell as i32 / SIDE, cell as i32 % SIDE]
}

fn cell(at: [i32; 2]) -> usize {
    (at[0].rem_euclid(SIDE) * SIDE + at[1].rem_euclid(SIDE)) as usize
}

fn moved(from: usize, step: usize) -> usize {
    let ([r, c], [dr, dc]) = (place(from), STEPS[step]);
    cell([r + dr, c + dc])
}

fn around(from: usize, poacher: usize) -> usize {
    let ([r, c], [pr, pc]) = (place(from), place(poacher));
    cell([r - pr, c - pc])
}

fn digits(mut joint: usize, count: usize) -> Vec<usize> {
    (0..count)
        .map(|_| {
            let digit = joint % 5;
            joint /= 5;
            digit
        })
        .collect()
}

fn joint(digits: impl DoubleEndedIterator<Item = usize>) -> usize {
    digits.rev().fold(0, |sum, digit| 5 * sum + digit)
}

/// Where drones end: all that share a cell go back at once, again until no two share one.
fn settle(home: &[usize], wanted: &[usize]) -> Vec<usize> {
    let mut next = wanted.to_vec();
    loop {
        let back: Vec<usize> = (0..next.len())
            .filter(|&i| next[i] != home[i] && next.iter().filter(|&&c| c == next[i]).count() > 1)
            .collect();
        if back.is_empty() {
            return next;
        }
        back.into_iter().for_each(|i| next[i] = home[i]);
    }
}

/// The parts of a team that hear each other, through any number of others.
fn parts(team: &[usize]) -> Vec<Vec<usize>> {
    let mut of: Vec<usize> = (0..team.len()).collect();
    for i in 0..team.len() {
        for j in 0..i {
            let ([a, b], [c, d]) = (place(team[i]), place(team[j]));
            if (a - c).pow(2) + (b - d).pow(2) < 18 {
                let (keep, gone) = (of[i].min(of[j]), of[i].max(of[j]));
                of.iter_mut().filter(|p| **p == gone).for_each(|p| *p = keep);
            }
        }
    }
    let found = (0..team.len()).map(|p| (0..team.len()).filter(|&i| of[i] == p).collect::<Vec<_>>());
    found.filter(|part| !part.is_empty()).collect()
}

/// All sets of some cells, and which one a team is.
struct Sets {
    members: Vec<Vec<usize>>,
    index: HashMap<Vec<usize>, usize>,
}

impl Sets {
    fn new(size: usize) -> Sets {
        let mut members: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..size {
            members = members
                .iter()
                .flat_map(|m| {
                    let from = m.last().map_or(0, |&last| last + 1);
                    (from..CELLS).map(|c| m.iter().copied().chain([c]).collect())
                })
                .collect();
        }
        let index = members.iter().cloned().enumerate().map(|(i, m)| (m, i)).collect();
        Sets { members, index }
    }

    /// The set of these cells, and the order that sorts them.
    fn find(&self, cells: &[usize]) -> (usize, Vec<usize>) {
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_unstable_by_key(|&i| cells[i]);
        let sorted: Vec<usize> = order.iter().map(|&i| cells[i]).collect();
        (self.index[&sorted], order)
    }
}

/// A part of a team in a state: which entry of its table it looks up, and who its members are, in the order of the entry.
struct Entry {
    size: usize,
    key: usize,
    who: Vec<usize>,
}

struct Model {
    drones: usize,
    teams: Sets,
    keys: Vec<Sets>,
    /// The set on which each joint move of a set ends.
    next: Vec<u32>,
    /// Per set and place of the poacher: the reward of a capture there, or nothing.
    capture: Vec<f32>,
    /// Per set and place of the poacher: its parts.
    entries: Vec<Vec<Entry>>,
}

type Tables = Vec<Vec<u16>>;

impl Model {
    fn new(drones: usize) -> Model {
        let teams = Sets::new(drones);
        let keys: Vec<Sets> = (0..=drones).map(Sets::new).collect();
        let joints = 5usize.pow(drones as u32);
        let (mut next, mut capture, mut entries) = (vec![], vec![], vec![]);
        for team in &teams.members {
            for j in 0..joints {
                let wanted: Vec<usize> =
                    team.iter().zip(digits(j, drones)).map(|(&c, step)| moved(c, step)).collect();
                next.push(teams.find(&settle(team, &wanted)).0 as u32);
            }
            let parts = parts(team);
            for poacher in 0..CELLS {
                let beside = (1..5).filter(|&s| team.contains(&moved(poacher, s))).count();
                let caught = team.contains(&poacher) && beside > 0;
                capture.push(if caught { 1.0 + beside as f32 } else { 0.0 });
                entries.push(
                    parts
                        .iter()
                        .map(|part| {
                            let seen: Vec<usize> = part.iter().map(|&i| around(team[i], poacher)).collect();
                            let (key, order) = keys[part.len()].find(&seen);
                            Entry { size: part.len(), key, who: order.into_iter().map(|i| part[i]).collect() }
                        })
                        .collect(),
                );
            }
        }
        Model { drones, teams, keys, next, capture, entries }
    }

    fn joints(&self) -> usize {
        5usize.pow(self.drones as u32)
    }

    fn states(&self) -> usize {
        self.capture.len()
    }

    /// What the tables do in a state.
    fn act(&self, tables: &Tables, state: usize) -> usize {
        let mut steps = vec![0; self.drones];
        for part in &self.entries[state] {
            for (&i, step) in part.who.iter().zip(digits(tables[part.size][part.key].into(), part.size)) {
                steps[i] = step;
            }
        }
        joint(steps.into_iter())
    }

    fn after(&self, value: &[f64]) -> Vec<f64> {
        (0..self.states())
            .map(|s| {
                let (set, poacher) = (s / CELLS, s % CELLS);
                match self.capture[s] {
                    0.0 => (0..5).map(|m| value[set * CELLS + moved(poacher, m)]).sum::<f64>() / 5.0,
                    reward => reward.into(),
                }
            })
            .collect()
    }

    fn follow(&self, state: usize, joint: usize) -> usize {
        self.next[state / CELLS * self.joints() + joint] as usize * CELLS + state % CELLS
    }

    /// V after the hundred steps of an episode, of joint moves that are given or of the best ones.
    fn value(&self, moves: Option<&[usize]>) -> Vec<f64> {
        let mut value = vec![0.0; self.states()];
        for _ in 0..LIMIT {
            let after = self.after(&value);
            for (s, v) in value.iter_mut().enumerate() {
                *v = match moves {
                    Some(moves) => after[self.follow(s, moves[s])],
                    None => (0..self.joints()).map(|j| after[self.follow(s, j)]).fold(f64::MIN, f64::max),
                } - COST;
            }
        }
        value
    }

    fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.states()).filter(|s| !self.teams.members[s / CELLS].contains(&(s % CELLS)))
    }

    fn mean(&self, value: &[f64]) -> f64 {
        let (sum, count) = self.starts().fold((0.0, 0.0), |(sum, n), s| (sum + value[s], n + 1.0));
        sum / count
    }

    /// How often each state is seen in an episode.
    fn occupancy(&self, moves: &[usize]) -> Vec<f64> {
        let mut now = vec![0.0; self.states()];
        let count = self.starts().count() as f64;
        self.starts().for_each(|s| now[s] = 1.0 / count);
        let mut all = vec![0.0; self.states()];
        for _ in 0..LIMIT {
            let mut then = vec![0.0; self.states()];
            for s in 0..self.states() {
                if now[s] == 0.0 {
                    continue;
                }
                all[s] += now[s];
                let reached = self.follow(s, moves[s]);
                if self.capture[reached] == 0.0 {
                    let (set, poacher) = (reached / CELLS, reached % CELLS);
                    (0..5).for_each(|m| then[set * CELLS + moved(poacher, m)] += now[s] / 5.0);
                }
            }
            now = then;
        }
        all
    }

    /// The sum of what each move of each entry leads to, over the states that look it up, while everybody else does what the moves say.
    fn worth(&self, moves: &[usize], weight: &[f64], after: &[f64]) -> Vec<Vec<f64>> {
        let mut worth: Vec<Vec<f64>> =
            (0..=self.drones).map(|k| vec![0.0; self.keys[k].members.len() * 5usize.pow(k as u32)]).collect();
        for s in (0..self.states()).filter(|&s| weight[s] > 0.0) {
            let usual = digits(moves[s], self.drones);
            for part in &self.entries[s] {
                let options = 5usize.pow(part.size as u32);
                let row = &mut worth[part.size][part.key * options..][..options];
                let mut steps = usual.clone();
                for (option, sum) in row.iter_mut().enumerate() {
                    part.who.iter().zip(digits(option, part.size)).for_each(|(&i, step)| steps[i] = step);
                    *sum += weight[s] * after[self.follow(s, joint(steps.iter().copied()))];
                }
            }
        }
        worth
    }

    /// Takes the best move of some entries.
    fn improve(&self, tables: &mut Tables, worth: &[Vec<f64>], mut chosen: impl FnMut() -> bool) {
        for (size, table) in tables.iter_mut().enumerate().skip(1) {
            let options = 5usize.pow(size as u32);
            for (key, entry) in table.iter_mut().enumerate() {
                let row = &worth[size][key * options..][..options];
                let best = (0..options)
                    .fold(usize::from(*entry), |b, o| if row[o] > row[b] + 1e-12 { o } else { b });
                if chosen() {
                    *entry = best as u16;
                }
            }
        }
    }
}

/// The tables in the world itself.
fn play(model: &Model, tables: &Tables, episodes: u64) -> equimarl_worlds::Result<(f64, f64)> {
    let mut world = Wildlife::new(model.drones, SIDE as usize)?;
    let (mut sum, mut squares) = (0.0, 0.0);
    for episode in 0..episodes {
        let mut chance = Stream::new(1, Purpose::Audit, episode);
        World::reset(&mut world, &mut chance)?;
        let mut total = 0.0;
        loop {
            let cell_of = |[r, c]: [usize; 2]| r * SIDE as usize + c;
            let cells: Vec<usize> = world.drones().map(cell_of).collect();
            let (set, order) = model.teams.find(&cells);
            let steps = digits(model.act(tables, set * CELLS + cell_of(world.poacher())), model.drones);
            let mut actions = vec![0; model.drones];
            order.iter().zip(steps).for_each(|(&i, step)| actions[i] = step);
            let drawn = world.draw(&mut chance);
            let outcome = world.apply(&actions, &drawn);
            total += outcome.reward;
            if outcome.end != End::Running {
                break;
            }
        }
        (sum, squares) = (sum + total, squares + total * total);
    }
    let n = episodes as f64;
    Ok((sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt()))
}

fn main() -> equimarl_worlds::Result<()> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    let (drones, rounds) = (*numbers.first().unwrap_or(&2), *numbers.get(1).unwrap_or(&30));
    if !(2..=3).contains(&drones) {
        eprintln!("2 or 3 drones; more take too much memory");
        std::process::exit(2);
    }
    let model = Model::new(drones);
    let whole = |s: usize| model.entries[s].len() == 1;
    let best = model.value(None);
    println!("{drones} drones, all of them know everything: {:.4}", model.mean(&best));

    // To begin with, everybody counts on others to do what is best for the team.
    let after = model.after(&best);
    let moves: Vec<usize> = (0..model.states())
        .map(|s| {
            (0..model.joints()).fold(0, |b, j| {
                if after[model.follow(s, j)] > after[model.follow(s, b)] + 1e-12 { j } else { b }
            })
        })
        .collect();
    let mut tables: Tables = (0..=drones).map(|k| vec![0u16; model.keys[k].members.len()]).collect();
    model.improve(&mut tables, &model.worth(&moves, &vec![1.0; model.states()], &after), || true);
    let mut kept = (f64::MIN, tables.clone());
    let mut lot = Stream::new(1, Purpose::Audit, u64::MAX);
    for round in 0..=rounds {
        let moves: Vec<usize> = (0..model.states()).map(|s| model.act(&tables, s)).collect();
        let value = model.value(Some(&moves));
        let mean = model.mean(&value);
        let seen = model.occupancy(&moves);
        let apart = (0..model.states()).filter(|&s| !whole(s)).map(|s| seen[s]).sum::<f64>()
            / seen.iter().sum::<f64>();
        println!("round {round}: {mean:.4}, {:.1}% of steps with somebody out of reach", 100.0 * apart);
        if mean > kept.0 {
            kept = (mean, tables.clone());
        }
        let worth = model.worth(&moves, &seen, &model.after(&value));
        model.improve(&mut tables, &worth, || lot.below(2) == 0);
    }
    let (mean, error) = play(&model, &kept.1, 20_000)?;
    println!(
        "the best rule that was found: {:.4}; played in the world, 20,000 episodes: {mean:.4} +- {error:.4}",
        kept.0
    );
    Ok(())
}
