//! One member in its own process, against the clock.

use crate::agent::{Agent, Letter, Workspace};
use crate::error::Result;
use crate::faults::{Delayed, Faults};
use crate::host::Host;
use crate::member::Member;
use crate::pool::Watch;
use crate::record::Tap;
use crate::transport::Transport;
use std::time::{Duration, Instant};

/// Nobody sleeps longer, so that a stop is heeded and a neighbour that went away is noticed.
const NAP: Duration = Duration::from_millis(20);

/// No more messages are taken at a time, so that a flood does not keep anybody from acting.
const AT_ONCE: usize = 256;

/// Sends letters through the faults.
fn post(
    letters: &mut Vec<Letter>,
    transport: &mut dyn Transport,
    faults: &Faults,
    delayed: &mut Delayed,
    tap: Option<&Tap>,
    now: Duration,
) -> Result<()> {
    for letter in letters.drain(..) {
        if let Some(tap) = tap {
            tap.sent(&letter.bytes);
        }
        if let Some(letter) = delayed.pass(faults, letter, now) {
            transport.send(letter.to, letter.bytes)?;
        }
    }
    while let Some(letter) = delayed.due(now) {
        transport.send(letter.to, letter.bytes)?;
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
    tap: Option<&Tap>,
    stop: &dyn Fn() -> bool,
    watch: &mut dyn FnMut(&Agent),
) -> Result<()> {
    faults.check()?;
    let start = Instant::now();
    let (mut work, mut delayed, mut letters) = (Workspace::default(), Delayed::default(), vec![]);
    while !agent.over() && !stop() {
        let now = start.elapsed();
        if agent.place().is_none() {
            agent.settle(transport.settled());
        }
        let up = |member: Member| transport.alive(member);
        agent.poll(now, &up, &mut work, &mut letters)?;
        post(&mut letters, transport, faults, &mut delayed, tap, now)?;
        let until = agent.deadline().into_iter().chain(delayed.next()).min();
        let mut wait = nap(start.elapsed(), until);
        // Everything that has arrived, before anything is decided.
        for _ in 0..AT_ONCE {
            let Some(bytes) = transport.receive(wait)? else { break };
            if let Some(tap) = tap {
                tap.received(&bytes);
            }
            agent.receive(&bytes, start.elapsed(), &mut work, &mut letters)?;
            wait = Duration::ZERO;
            // Neighbours wait for what an observation made us say.
            post(&mut letters, transport, faults, &mut delayed, tap, start.elapsed())?;
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
    tap: Option<&Tap>,
    watch: Watch<'_>,
) -> Result<()> {
    let start = Instant::now();
    let (faults, mut delayed, mut letters) = (Faults::default(), Delayed::default(), vec![]);
    loop {
        let now = start.elapsed();
        let up = |member: Member| transport.alive(member);
        let went = host.poll(now, &up, &mut letters);
        let until = host.deadline(&up);
        post(&mut letters, transport, &faults, &mut delayed, tap, now)?;
        went?;
        let moment = host.take_moment();
        if let (Some(tap), Some(moment)) = (tap, &moment) {
            tap.moment(moment);
        }
        if !watch(host, moment)? || host.over() {
            return Ok(());
        }
        let mut wait = nap(start.elapsed(), until);
        for _ in 0..AT_ONCE {
            let Some(bytes) = transport.receive(wait)? else { break };
            if let Some(tap) = tap {
                tap.received(&bytes);
            }
            host.receive(&bytes, &mut letters);
            wait = Duration::ZERO;
        }
        host.flooded(transport.lost());
    }
}
