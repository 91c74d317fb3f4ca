//! The tokens of a learner's environments: those of the episodes that run now.

use equimarl_worlds::{Purpose, Stream, Token};

/// Episode k of environment e has tokens k n to k n + n - 1 of the environment's stream, for n agents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    seed: u64,
    order: usize,
    agents: usize,
    /// How many episodes each environment has begun before this one.
    begun: Vec<u64>,
    now: Vec<Vec<Token>>,
}

impl Tokens {
    /// For networks with tokens of a group of this order; 0 for networks without.
    pub fn new(seed: u64, order: usize, agents: usize, environments: usize) -> Tokens {
        let mut tokens =
            Tokens { seed, order, agents, begun: vec![0; environments], now: vec![vec![]; environments] };
        (0..environments).for_each(|e| tokens.draw(e));
        tokens
    }

    fn draw(&mut self, e: usize) {
        let agents = if self.order == 0 { 0 } else { self.agents };
        let stream = Stream::new(self.seed, Purpose::Token, e as u64);
        let first = u128::from(self.begun[e]) * self.agents as u128;
        let one = |agent: usize| Token::at(stream.clone(), first + agent as u128, self.order);
        self.now[e] = (0..agents).map(one).collect();
    }

    /// Those of an environment now.
    pub fn of(&self, e: usize) -> &[Token] {
        &self.now[e]
    }

    /// The next episode of an environment begins.
    pub fn next(&mut self, e: usize) {
        self.begun[e] += 1;
        self.draw(e);
    }

    /// What a checkpoint has to know; nothing for networks without.
    pub fn save(&self) -> Option<Vec<u64>> {
        (self.order > 0).then(|| self.begun.clone())
    }

    /// Goes on from a checkpoint; whether it is one of such a learner.
    pub fn load(&mut self, saved: Option<Vec<u64>>) -> bool {
        match (saved, self.order) {
            (None, 0) => true,
            (Some(begun), order) if order > 0 && begun.len() == self.begun.len() => {
                self.begun = begun;
                (0..self.begun.len()).for_each(|e| self.draw(e));
                true
            }
            _ => false,
        }
    }
}
