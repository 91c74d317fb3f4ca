//! Policies that are not learned: something that sees the whole world and acts for every agent.

use crate::error::{Error, Result};
use crate::spec::Region;
use crate::stream::Stream;
use crate::world::{End, World};

/// A policy for the whole team.
pub trait Controller {
    /// The name that the command line knows it by.
    fn name(&self) -> &str;

    /// Episode number `episode` of `seed` begins; one that a simulator lost begins again.
    fn begin(&mut self, _seed: u64, _episode: u64) {}

    /// It is over.
    fn end(&mut self, _how: End) {}

    /// Writes one action per agent. Randomness comes from `stream`, never from `world`'s own stream, so that all
    /// controllers meet the same episodes.
    ///
    /// # Errors
    /// If it cannot act in this world.
    fn act(&mut self, world: &dyn World, stream: &mut Stream, actions: &mut [usize]) -> Result<()>;

    /// As [`Controller::act`] where agents act by vectors.
    ///
    /// # Errors
    /// If it cannot act in this world.
    fn act_vectors(&mut self, world: &dyn World, _stream: &mut Stream, _vectors: &mut [f64]) -> Result<()> {
        let (name, world) = (self.name(), &world.spec().world);
        Err(Error::BadWorld(format!("`{name}` chooses, and agents of {world} act by vectors")))
    }
}

/// One of the world's own controllers by its name, or `random`.
#[derive(Clone, Debug)]
pub struct Named(String);

impl Named {
    /// The controller with this name. It is asked for its actions once, in the world as it is: one that was just made and
    /// never reset must bear that.
    ///
    /// # Errors
    /// If this world has none, or the number after its colon is wrong or not taken.
    pub fn new(name: &str, world: &dyn World) -> Result<Named> {
        world.spec().check_controller(name)?;
        let named = Named(name.into());
        // Its number may be wrong, and what it computes once is computed now. Nothing of this is seen by episodes.
        let (spec, mut stream) = (world.spec(), Stream::new(0, crate::Purpose::Audit, 0));
        match spec.actions.vectors() {
            None => named.clone().act(world, &mut stream, &mut vec![0; spec.agents])?,
            Some(_) => {
                let mut vectors = vec![0.0; spec.agents * spec.actions.count()];
                named.clone().act_vectors(world, &mut stream, &mut vectors)?;
            }
        }
        Ok(named)
    }
}

impl Controller for Named {
    fn name(&self) -> &str {
        &self.0
    }

    fn act(&mut self, world: &dyn World, stream: &mut Stream, actions: &mut [usize]) -> Result<()> {
        match self.0.as_str() {
            "random" => {
                uniform(world, stream, actions);
                Ok(())
            }
            name => world.control(name, stream, actions),
        }
    }

    fn act_vectors(&mut self, world: &dyn World, stream: &mut Stream, vectors: &mut [f64]) -> Result<()> {
        match self.0.as_str() {
            "random" => {
                uniform_vectors(world, stream, vectors);
                Ok(())
            }
            name => world.control_vectors(name, stream, vectors),
        }
    }
}

/// Every agent takes one of the actions that it may take, all equally likely, independently: one word per agent.
pub fn uniform(world: &dyn World, stream: &mut Stream, actions: &mut [usize]) {
    let spec = world.spec();
    let choices = spec.actions.count();
    let mut seen = vec![];
    for (agent, action) in actions.iter_mut().enumerate() {
        if spec.legal.is_empty() {
            *action = stream.below(choices as u32) as usize;
            continue;
        }
        if seen.is_empty() {
            seen.resize(crate::GroupAction::new(spec).map_or(0, |acts| acts.features_dim()), 0.0);
        }
        world.observe(agent, &mut seen);
        let legal: Vec<usize> =
            (0..choices).filter(|&a| seen.get(spec.legal[a]).is_some_and(|x| *x > 0.5)).collect();
        let one = stream.below(legal.len().max(1) as u32) as usize;
        *action = legal.get(one).copied().unwrap_or(0);
    }
}

/// Every agent takes one of the vectors that it may do, independently. In a box all are equally likely. In a ball all
/// directions are, and lengths are as they are if all vectors of a disc are equally likely.
pub fn uniform_vectors(world: &dyn World, stream: &mut Stream, vectors: &mut [f64]) {
    let actions = &world.spec().actions;
    let Some((bound, region)) = actions.vectors() else { return };
    for vector in vectors.chunks_mut(actions.count().max(1)) {
        match region {
            Region::Box => vector.fill_with(|| bound * (2.0 * stream.unit() - 1.0)),
            Region::Ball => {
                vector.fill_with(|| stream.normal());
                let scale = bound * stream.unit().sqrt() / Region::Ball.size(vector).max(f64::MIN_POSITIVE);
                vector.iter_mut().for_each(|x| *x *= scale);
            }
        }
    }
}
