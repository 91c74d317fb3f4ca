//! One member in its own process, against the clock.

use crate::agent::{Agent, Envelope, Workspace};
use crate::error::Result;
use crate::faults::{Delayed, Faults};
use crate::host::Host;
use crate::member::Member;
use crate::pool::Watch;
use crate::record::MessageLog;
use crate::transport::Transport;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Nobody sleeps longer, so that a stop is heeded and a neighbour that went away is noticed.
const NAP: Duration = Duration::from_millis(20);

/// How often those who watch are told.
const BEAT: Duration = Duration::from_millis(250);

/// No more messages are taken at a time, so that a flood does not keep anybody from acting.
pub(crate) const AT_ONCE: usize = 256;

/// The time since this process first asked for it: one clock for all that a member does, however often it is interrupted.
pub(crate) fn clock() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Tells those who watch how it is going, now and then.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    last: Option<Duration>,
}

impl Pulse {
    /// Publishes what `status` says, if it is time to.
    pub fn beat(&mut self, transport: &mut dyn Transport, status: impl FnOnce() -> Vec<u8>) {
        let now = clock();
        if self.last.is_none_or(|last| now.saturating_sub(last) >= BEAT) {
            self.last = Some(now);
            transport.publish(status());
        }
    }
}

/// Sends envelopes through the faults.
pub(crate) fn post(
    envelopes: &mut Vec<Envelope>,
    transport: &mut dyn Transport,
    faults: &Faults,
    delayed: &mut Delayed,
    log: Option<&MessageLog>,
    now: Duration,
) -> Result<()> {
    for envelope in envelopes.drain(..) {
        if let Some(log) = log {
            log.sent(&envelope.bytes);
        }
        if let Some(envelope) = delayed.pass(faults, envelope, now) {
            transport.send(envelope.to, envelope.bytes)?;
        }
    }
    while let Some(envelope) = delayed.due(now) {
        transport.send(envelope.to, envelope.bytes)?;
    }
    Ok(())
}

fn nap(now: Duration, until: Option<Duration>) -> Duration {
    until.map_or(NAP, |until| until.saturating_sub(now).clamp(Duration::from_micros(1), NAP))
}

/// Runs an agent until its run is over, or `stop` says so. `watch` is told whenever it was woken.
///
/// # Errors
/// If its network or the transport cannot go on.
pub fn run_agent(
    agent: &mut Agent,
    transport: &mut dyn Transport,
    faults: &Faults,
    log: Option<&MessageLog>,
    stop: &dyn Fn() -> bool,
    watch: &mut dyn FnMut(&Agent),
) -> Result<()> {
    faults.check()?;
    let (mut work, mut delayed, mut envelopes) = (Workspace::default(), Delayed::default(), vec![]);
    while !agent.over() && !stop() {
        let now = clock();
        if agent.place().is_none() {
            agent.settle(transport.settled());
        }
        let up = |member: Member| transport.alive(member);
        agent.poll(now, &up, &mut work, &mut envelopes)?;
        post(&mut envelopes, transport, faults, &mut delayed, log, now)?;
        let until = agent.deadline().into_iter().chain(delayed.next()).min();
        let mut wait = nap(clock(), until);
        // Everything that has arrived, before anything is decided.
        for _ in 0..AT_ONCE {
            let Some(bytes) = transport.receive(wait)? else { break };
            if let Some(log) = log {
                log.received(&bytes);
            }
            agent.receive(&bytes, clock(), &mut work, &mut envelopes)?;
            wait = Duration::ZERO;
            // Neighbours wait for what an observation made us say.
            post(&mut envelopes, transport, faults, &mut delayed, log, clock())?;
        }
        agent.flooded(transport.lost());
        watch(agent);
    }
    Ok(())
}

/// Runs a world host until all episodes are over, or the watcher says stop: it is told about every step, and now and then
/// when there is none.
///
/// # Errors
/// If the host or the transport cannot go on, or the watcher says so.
pub fn run_host(
    host: &mut Host,
    transport: &mut dyn Transport,
    log: Option<&MessageLog>,
    watch: Watch<'_>,
) -> Result<()> {
    let (faults, mut delayed, mut envelopes) = (Faults::default(), Delayed::default(), vec![]);
    let (mut pulse, mut last) = (Pulse::default(), None);
    loop {
        let now = clock();
        let up = |member: Member| transport.alive(member);
        let went = host.poll(now, &up, &mut envelopes);
        let until = host.deadline(&up);
        post(&mut envelopes, transport, &faults, &mut delayed, log, now)?;
        went?;
        let moment = host.take_moment();
        if let Some(moment) = &moment {
            last = Some(moment.actions.clone());
        }
        pulse.beat(transport, || host.status(last.as_ref()));
        if let (Some(log), Some(moment)) = (log, &moment) {
            log.moment(moment);
        }
        if !watch(host, moment)? || host.over() {
            return Ok(());
        }
        let mut wait = nap(clock(), until);
        for _ in 0..AT_ONCE {
            let Some(bytes) = transport.receive(wait)? else { break };
            if let Some(log) = log {
                log.received(&bytes);
            }
            host.receive(&bytes, &mut envelopes);
            wait = Duration::ZERO;
        }
        host.flooded(transport.lost());
    }
}
