//! What tells agents apart that see the same: a random number and a random group element, drawn anew for every agent and episode.
//!
//! ```text
//! token        (x, h)      x uniform in [-1, 1), h uniform in the group
//! transformed  (x, g h)
//! in numbers   x, and h in the regular representation: 1 at place h, 0 elsewhere
//! ```
//!
//! Networks that see tokens are equivariant in states and tokens together. Since the law of tokens does not change under the group,
//! neither does the law of what such a team does; but a greedy team is not held by symmetries of what it sees any more. The number
//! breaks ties between agents, and the element those within one.

use crate::action::GroupAction;
use crate::stream::{Purpose, Stream};
use equimarl_group::Element;

/// The token of an agent in an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    /// The number.
    pub number: f32,
    /// The group element.
    pub element: Element,
}

impl Token {
    /// Words of a stream that a token takes.
    const WORDS: u128 = 2;

    /// The token of an agent in episode `episode` of what is played with a seed: whoever knows these knows it, and no message has
    /// to carry it. `order` is that of the group.
    pub fn of(seed: u64, episode: u64, agent: usize, order: usize) -> Token {
        let stream = Stream::new(seed, Purpose::EvaluationToken, episode);
        Token::at(stream, agent as u128, order)
    }

    /// Those of a whole team; none for networks without (order 0).
    pub fn team(seed: u64, episode: u64, agents: usize, order: usize) -> Vec<Token> {
        let agents = if order == 0 { 0 } else { agents };
        (0..agents).map(|agent| Token::of(seed, episode, agent, order)).collect()
    }

    /// Token number `place` of a stream.
    pub fn at(mut stream: Stream, place: u128, order: usize) -> Token {
        stream.seek(Token::WORDS * place);
        let number = (2.0 * stream.unit() - 1.0) as f32;
        Token { number, element: stream.below(order.max(1) as u32) as Element }
    }

    /// It in numbers, one more than the group has elements.
    pub fn write(self, out: &mut [f32]) {
        out.fill(0.0);
        for (at, value) in [(0, self.number), (1 + self.element, 1.0)] {
            if let Some(place) = out.get_mut(at) {
                *place = value;
            }
        }
    }

    /// The tokens of a transformed state: agents take theirs along to where they go. Elements of another group than the world's
    /// stay as they are.
    pub fn transformed(tokens: &[Token], acts: &GroupAction, g: Element) -> Vec<Token> {
        let mut all = tokens.to_vec();
        for (agent, token) in tokens.iter().enumerate() {
            if let Some(place) = all.get_mut(acts.agent(g, agent)) {
                *place = token.times(acts, g);
            }
        }
        all
    }

    /// (x, g h).
    pub fn times(self, acts: &GroupAction, g: Element) -> Token {
        let known = acts.turn(g).is_none() && self.element < acts.group.order();
        let element = if known { acts.group.mul(g, self.element) } else { self.element };
        Token { element, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_depend_on_seed_episode_and_agent_alone() {
        let team = Token::team(3, 5, 4, 8);
        assert_eq!(team[2], Token::of(3, 5, 2, 8));
        assert_ne!(team, Token::team(3, 6, 4, 8));
        assert_ne!(team, Token::team(4, 5, 4, 8));
        assert!(Token::team(3, 5, 4, 0).is_empty());
        let mut numbers = [7.0; 9];
        team[0].write(&mut numbers);
        assert_eq!((numbers[0], numbers[1 + team[0].element]), (team[0].number, 1.0));
        assert_eq!(numbers[1..].iter().sum::<f32>(), 1.0);
    }

    #[test]
    fn numbers_and_elements_are_uniform() {
        let (mut counts, mut sum) = ([0; 8], 0.0);
        for episode in 0..4000 {
            let token = Token::of(1, episode, 0, 8);
            counts[token.element] += 1;
            sum += f64::from(token.number);
            assert!((-1.0..1.0).contains(&token.number));
        }
        // Five standard deviations.
        assert!(counts.iter().all(|&n: &i32| (n - 500).abs() < 105), "{counts:?}");
        assert!((sum / 4000.0).abs() < 5.0 * (1.0 / 3.0f64 / 4000.0).sqrt(), "{sum}");
    }
}
