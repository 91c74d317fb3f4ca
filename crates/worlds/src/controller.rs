//! Policies that are not learned: something that sees the whole world and acts for every agent.

use crate::stream::Stream;
use crate::world::World;

/// A policy for the whole team, written by hand or computed.
pub trait Controller<W: World> {
    /// The name that the command line knows it by.
    fn name(&self) -> &str;
    /// Called once when an episode has started, before its first step.
    fn start(&mut self, _world: &W) {}
    /// Writes one action per agent. Randomness comes from `stream`, never from `world`'s own stream, so that all
    /// controllers meet the same episodes.
    fn act(&mut self, world: &W, stream: &mut Stream, actions: &mut [usize]);
}

/// Every agent takes one of its actions, all equally likely, independently: one word per agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl<W: World> Controller<W> for Uniform {
    fn name(&self) -> &str {
        "random"
    }

    fn act(&mut self, world: &W, stream: &mut Stream, actions: &mut [usize]) {
        let choices = world.actions() as u32;
        for action in actions {
            *action = stream.below(choices) as usize;
        }
    }
}
