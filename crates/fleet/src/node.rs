//! One member in its own process, against the clock.

use crate::agent::{Agent, Envelope, Workspace};
use crate::error::Result;
use crate::faults::{Delayed, Faults};
use crate::host::Host;
use crate::member::Member;
use crate::pool::Watch;
use crate::record::MessageLog;
use crate::transport::Transport;
use std::time::{Duration, Instant};

/// Nobody sleeps longer, so that a stop is heeded and a neighbour that went away is noticed.
const NAP: Duration = Duration::from_millis(20);

/// No more messages are taken at a time, so that a flood does not keep anybody from acting.
const AT_ONCE: usize = 256;

/// Sends envelopes through the faults.
fn post(
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
    let start = Instant::now();
    let (mut work, mut delayed, mut envelopes) = (Workspace::default(), Delayed::default(), vec![]);
    while !agent.over() && !stop() {
        let now = start.elapsed();
        if agent.place().is_none() {
            agent.settle(transport.settled());
        }
        let up = |member: Member| transport.alive(member);
        agent.poll(now, &up, &mut work, &mut envelopes)?;
        post(&mut envelopes, transport, faults, &mut delayed, log, now)?;
        let until = agent.deadline().into_iter().chain(delayed.next()).min();
        let mut wait = nap(start.elapsed(), until);
        // Everything that has arrived, before anything is decided.
        for _ in 0..AT_ONCE {
            let Some(bytes) = transport.receive(wait)? else { break };
            if let Some(log) = log {
                log.received(&bytes);
            }
            agent.receive(&bytes, start.elapsed(), &mut work, &mut envelopes)?;
            wait = Duration::ZERO;
            // Neighbours wait for what an observation made us say.
            post(&mut envelopes, transport, faults, &mut delayed, log, start.elapsed())?;
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
    let start = Instant::now();
    let (faults, mut delayed, mut envelopes) = (Faults::default(), Delayed::default(), vec![]);
    loop {
        let now = start.elapsed();
        let up = |member: Member| transport.alive(member);
        let went = host.poll(now, &up, &mut envelopes);
        let until = host.deadline(&up);
        post(&mut envelopes, transport, &faults, &mut delayed, log, now)?;
        went?;
        let moment = host.take_moment();
        if let (Some(log), Some(moment)) = (log, &moment) {
            log.moment(moment);
        }
        if !watch(host, moment)? || host.over() {
            return Ok(());
        }
        let mut wait = nap(start.elapsed(), until);
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
