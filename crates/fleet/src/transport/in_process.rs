//! Members in one process: a channel each.

use super::Transport;
use crate::error::{Error, Result};
use crate::member::Member;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A member's end of the in-process transport.
#[derive(Debug)]
pub struct Endpoint {
    me: Member,
    hub: Arc<Hub>,
    mail: Receiver<Vec<u8>>,
}

#[derive(Debug)]
struct Hub {
    world: Sender<Vec<u8>>,
    agents: Vec<Sender<Vec<u8>>>,
    up: Vec<AtomicBool>,
}

/// The ends of the world and of all agents.
pub fn in_process(agents: usize) -> (Endpoint, Vec<Endpoint>) {
    let (world, world_mail) = channel();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..agents).map(|_| channel()).unzip();
    let up = (0..agents).map(|_| AtomicBool::new(true)).collect();
    let hub = Arc::new(Hub { world, agents: senders, up });
    let end = |me, mail| Endpoint { me, hub: hub.clone(), mail };
    let ends = receivers.into_iter().enumerate().map(|(i, mail)| end(Member::agent(i), mail)).collect();
    (end(Member::WORLD, world_mail), ends)
}

impl Endpoint {
    /// Says whether this member is up.
    pub fn set_alive(&self, up: bool) {
        if let Some(flag) = self.me.index().and_then(|i| self.hub.up.get(i)) {
            flag.store(up, Ordering::Relaxed);
        }
    }
}

impl Transport for Endpoint {
    fn send(&mut self, to: Member, bytes: Vec<u8>) -> Result<()> {
        let sender = match to.index() {
            None => Some(&self.hub.world),
            Some(index) => self.hub.agents.get(index),
        };
        // A receiver that is gone is like any other that does not listen.
        if let Some(sender) = sender {
            let _ = sender.send(bytes);
        }
        Ok(())
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>> {
        if wait.is_zero() {
            return Ok(self.mail.try_recv().ok());
        }
        match self.mail.recv_timeout(wait) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Error::Network("everybody else is gone".into())),
        }
    }

    fn alive(&self, member: Member) -> bool {
        match member.index() {
            None => true,
            Some(index) => self.hub.up.get(index).is_some_and(|up| up.load(Ordering::Relaxed)),
        }
    }
}
