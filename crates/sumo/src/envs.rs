//! Several cities side by side, each in a SUMO of its own. All are told to go on before any is waited for, so they run at
//! the same time on as many cores as there are.

use crate::world::Sumo;
use equimarl_worlds::{Envs, Error, Outcome, Purpose, Result, Resumed, Spec, Stream, StreamState, World};
use serde_json::{Value, json};
use std::sync::Arc;

/// Environments in SUMO.
pub struct SumoEnvs {
    worlds: Vec<Sumo>,
    streams: Vec<Stream>,
}

impl SumoEnvs {
    /// These cities, of which there is at least one.
    pub fn new(worlds: Vec<Sumo>) -> SumoEnvs {
        let streams = (0..worlds.len() as u64).map(|e| Stream::new(0, Purpose::World, e)).collect();
        SumoEnvs { worlds, streams }
    }

    /// The cities.
    pub fn worlds_mut(&mut self) -> &mut [Sumo] {
        &mut self.worlds
    }
}

impl Envs for SumoEnvs {
    fn spec(&self) -> &Arc<Spec> {
        self.worlds[0].spec()
    }

    fn len(&self) -> usize {
        self.worlds.len()
    }

    fn world(&self, e: usize) -> &dyn World {
        &self.worlds[e]
    }

    fn start(&mut self, e: usize, stream: Stream) -> Result<()> {
        self.streams[e] = stream;
        self.restart(e)
    }

    fn restart(&mut self, e: usize) -> Result<()> {
        self.worlds[e].reset(&mut self.streams[e])
    }

    fn step_one(&mut self, e: usize, actions: &[usize]) -> Result<Outcome> {
        self.worlds[e].step(actions, &mut self.streams[e])
    }

    fn step(&mut self, actions: &[usize], outcomes: &mut [Outcome]) -> Result<()> {
        let agents = self.spec().agents;
        if actions.len() != agents * self.worlds.len() || outcomes.len() != self.worlds.len() {
            return Err(Error::BadWorld("every environment takes one action per junction".into()));
        }
        for (world, actions) in self.worlds.iter_mut().zip(actions.chunks_exact(agents)) {
            world.begin_step(actions)?;
        }
        for (world, outcome) in self.worlds.iter_mut().zip(outcomes) {
            *outcome = world.finish_step()?;
        }
        Ok(())
    }

    fn save(&self) -> Value {
        let streams: Vec<StreamState> = self.streams.iter().map(Stream::save).collect();
        json!({ "streams": streams })
    }

    fn load(&mut self, state: &Value) -> Result<Resumed> {
        let bad = |why: String| Error::BadState(why);
        let saved: Vec<StreamState> = serde_json::from_value(state["streams"].clone())
            .map_err(|e| bad(format!("it has no list of streams: {e}")))?;
        if saved.len() != self.worlds.len() {
            return Err(bad(format!("it has {} streams, these are {}", saved.len(), self.worlds.len())));
        }
        self.streams = saved.iter().map(Stream::load).collect::<Result<_>>()?;
        (0..self.worlds.len()).try_for_each(|e| self.restart(e))?;
        Ok(Resumed::Episode)
    }
}
