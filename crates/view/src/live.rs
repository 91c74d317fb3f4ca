//! Episodes of worlds that do not save their state, such as those of a simulator: the server keeps the last few, and what the page
//! holds as their state is a ticket. They go on, and never back.

use crate::error::{Answer, Refusal};
use equimarl_worlds::Envs;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Each may have a simulator of its own.
const KEPT: usize = 2;

/// What the page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ticket {
    live: u64,
    step: u64,
}

impl Ticket {
    /// As the page has it.
    pub fn json(self) -> Value {
        json!(self)
    }
}

/// An episode under way.
pub(crate) struct Episode {
    ticket: Ticket,
    /// The world, as its title says it.
    world: String,
    /// Its environment.
    pub envs: Box<dyn Envs>,
}

impl Episode {
    /// After a step.
    pub fn stepped(&mut self) {
        self.ticket.step += 1;
    }

    /// What the page gets.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }
}

/// Episodes under way, the one used last at the end.
#[derive(Default)]
pub(crate) struct Live(Mutex<(u64, Vec<Episode>)>);

impl Live {
    /// Whether a state is a ticket.
    pub fn is_ticket(state: &Value) -> bool {
        state.get("live").is_some()
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Vec<Episode>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new episode in this environment, which was started. It takes the place of the oldest.
    pub fn begin(&self, world: String, envs: Box<dyn Envs>) -> Episode {
        let mut all = self.lock();
        all.0 += 1;
        Episode { ticket: Ticket { live: all.0, step: 0 }, world, envs }
    }

    /// The episode of a ticket, taken out while somebody works with it.
    pub fn take(&self, state: &Value, world: &str) -> Answer<Episode> {
        let ticket: Ticket = serde_json::from_value(state.clone())
            .map_err(|_| Refusal::bad("`state` is no ticket of an episode under way"))?;
        let mut all = self.lock();
        let found = all.1.iter().position(|e| e.ticket.live == ticket.live && e.world == world);
        let Some(at) = found else {
            return Err(Refusal::impossible(format!(
                "this episode is gone: of a world that does not save its state the last {KEPT} go on; begin a new one"
            )));
        };
        if all.1[at].ticket != ticket {
            return Err(Refusal::impossible(
                "this world does not save its state, so it cannot go back; begin a new episode",
            ));
        }
        Ok(all.1.remove(at))
    }

    /// Puts it back.
    pub fn put(&self, episode: Episode) {
        let mut all = self.lock();
        all.1.push(episode);
        if all.1.len() > KEPT {
            drop(all.1.remove(0));
        }
    }
}
