//! A whole fleet in one process: a fixed number of threads polls all agents, and time is simulated.
//!
//! Everybody who has mail is polled until nobody has any; then the clock jumps to the next thing that will happen: a
//! delayed message, a deadline, the world's period. So a study of losses and delays waits for nothing, and its result does
//! not depend on the machine or on the number of threads.

use crate::agent::{Agent, Envelope, Workspace};
use crate::error::Result;
use crate::faults::{Delayed, Faults};
use crate::host::{Host, Moment};
use crate::member::Member;
use crate::record::MessageLog;
use crate::transport::{Endpoint, Transport};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Below this many agents per thread, handing work over costs more than it saves.
const WORTH_A_THREAD: usize = 32;

/// Some agents, and all that is needed to poll them.
struct Crew {
    agents: Vec<(Agent, Endpoint)>,
    work: Workspace,
    faults: Faults,
    delayed: Delayed,
    log: Option<MessageLog>,
    envelopes: Vec<Envelope>,
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default)]
struct Swept {
    /// Whether anything was received, sent or decided.
    busy: bool,
    /// When something will happen if nothing arrives.
    next: Option<Duration>,
}

impl Swept {
    fn and(self, other: Swept) -> Swept {
        Swept { busy: self.busy || other.busy, next: earlier(self.next, other.next) }
    }
}

fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Crew {
    fn sweep(&mut self, now: Duration) -> Result<Swept> {
        let mut swept = Swept::default();
        while let (Some(envelope), Some((_, end))) = (self.delayed.due(now), self.agents.first_mut()) {
            swept.busy = true;
            end.send(envelope.to, envelope.bytes)?;
        }
        for (agent, end) in &mut self.agents {
            while let Some(bytes) = end.receive(Duration::ZERO)? {
                swept.busy = true;
                // A crashed agent hears nothing.
                if let Some(log) = self.log.as_ref().filter(|_| agent.alive()) {
                    log.received(&bytes);
                }
                agent.receive(&bytes, now, &mut self.work, &mut self.envelopes)?;
                end.set_alive(agent.alive());
            }
            let up = |member: Member| end.alive(member);
            agent.poll(now, &up, &mut self.work, &mut self.envelopes)?;
            for envelope in self.envelopes.drain(..) {
                swept.busy = true;
                if let Some(log) = &self.log {
                    log.sent(&envelope.bytes);
                }
                if let Some(envelope) = self.delayed.pass(&self.faults, envelope, now) {
                    end.send(envelope.to, envelope.bytes)?;
                }
            }
            swept.next = earlier(swept.next, agent.deadline());
        }
        swept.next = earlier(swept.next, self.delayed.next());
        Ok(swept)
    }
}

/// What watches a run; may stop it.
pub type Watch<'a> = &'a mut dyn FnMut(&Host, Option<Moment>) -> Result<bool>;

/// Runs a fleet to its end, or until the watcher says stop. `agents` in the order of their index.
///
/// # Errors
/// If a network or the host cannot go on, or the watcher says so.
pub fn run(
    host: &mut Host,
    agents: Vec<Agent>,
    faults: &Faults,
    log: Option<MessageLog>,
    threads: usize,
    watch: Watch<'_>,
) -> Result<()> {
    faults.check()?;
    let (mut end, ends) = crate::transport::in_process(agents.len());
    let threads = threads.clamp(1, agents.len().div_ceil(WORTH_A_THREAD).max(1));
    let share = agents.len().div_ceil(threads).max(1);
    let mut crews = vec![];
    let mut all = agents.into_iter().zip(ends).peekable();
    while all.peek().is_some() {
        crews.push(Crew {
            agents: all.by_ref().take(share).collect(),
            work: Workspace::default(),
            faults: faults.clone(),
            delayed: Delayed::default(),
            log: log.clone(),
            envelopes: vec![],
        });
    }
    if crews.len() < 2 {
        let mut sweep = |now| crews.iter_mut().try_fold(Swept::default(), |s, c| Ok(s.and(c.sweep(now)?)));
        return simulate(host, &mut end, &log, &mut sweep, watch);
    }
    std::thread::scope(|scope| {
        let mut workers: Vec<(Sender<Duration>, Receiver<Result<Swept>>)> = vec![];
        for mut crew in crews {
            let ((order, orders), (answer, answers)) = (channel(), channel());
            scope.spawn(move || {
                while let Ok(now) = orders.recv() {
                    if answer.send(crew.sweep(now)).is_err() {
                        break;
                    }
                }
            });
            workers.push((order, answers));
        }
        let mut sweep = |now| {
            let gone = |_| crate::Error::Failed("a thread of the pool has ended".into());
            for (order, _) in &workers {
                order.send(now).map_err(|_| crate::Error::Failed("a thread of the pool has ended".into()))?;
            }
            workers
                .iter()
                .try_fold(Swept::default(), |s, (_, answers)| Ok(s.and(answers.recv().map_err(gone)??)))
        };
        simulate(host, &mut end, &log, &mut sweep, watch)
        // The orders end here, and with them the threads.
    })
}

fn simulate(
    host: &mut Host,
    end: &mut Endpoint,
    log: &Option<MessageLog>,
    sweep: &mut dyn FnMut(Duration) -> Result<Swept>,
    watch: Watch<'_>,
) -> Result<()> {
    let mut now = Duration::ZERO;
    let mut envelopes = vec![];
    while !host.over() {
        let mut swept = sweep(now)?;
        while let Some(bytes) = end.receive(Duration::ZERO)? {
            swept.busy = true;
            if let Some(log) = log {
                log.received(&bytes);
            }
            host.receive(&bytes, &mut envelopes);
        }
        // The world goes on when nobody else does: then everybody has answered who will, and order decides nothing.
        if !swept.busy {
            let up = |member: Member| end.alive(member);
            host.poll(now, &up, &mut envelopes)?;
            swept.next = earlier(swept.next, host.deadline(&up));
        }
        let quiet = !swept.busy && envelopes.is_empty();
        for envelope in envelopes.drain(..) {
            if let Some(log) = log {
                log.sent(&envelope.bytes);
            }
            end.send(envelope.to, envelope.bytes)?;
        }
        if quiet {
            // Whatever is due at once has been done.
            now = match swept.next {
                Some(next) if next > now => next,
                _ => now + Duration::from_millis(1),
            };
        }
        if let Some(moment) = host.take_moment() {
            if let Some(log) = log {
                log.moment(&moment);
            }
            if !watch(host, Some(moment))? {
                return Ok(());
            }
        }
    }
    Ok(())
}
