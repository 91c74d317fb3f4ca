//! What runs on a device: one agent of a fleet or several, each with its links, until it is told to stop (feature `zenoh`).

use crate::agent::Agent;
use crate::certificates::check;
use crate::config::Fleet;
use crate::defence::Defence;
use crate::error::{Error, Result};
use crate::fallback::Fallback;
use crate::faults::Faults;
use crate::field::{self, Field, FieldReport, Schedule};
use crate::keys::{FileWatch, taken};
use crate::member::Member;
use crate::node;
use crate::record::MessageLog;
use crate::sensor::{SensorConfig, SensorProcess};
use crate::signer::Signer;
use crate::transport::{House, Zenoh};
use crate::world::may_meet;
use equimarl_nn::Policy;
use equimarl_worlds::Envs;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long to try to listen where one listened before.
const REOPEN: Duration = Duration::from_secs(5);
/// How long a record may stay in memory.
const FLUSH: Duration = Duration::from_millis(500);

/// Some agents of a fleet on one machine.
pub struct Device {
    /// The fleet that they belong to.
    pub fleet: Fleet,
    /// Its file, which is watched for newer ones.
    pub file: Option<PathBuf>,
    /// Their network.
    pub policy: Arc<Policy>,
    /// Which model file it is from.
    pub fingerprint: u64,
    /// Which agents, without repetition.
    pub agents: Vec<usize>,
    /// Whom each agent of the fleet may ever meet.
    pub meets: Vec<Vec<usize>>,
    /// What a cut-off agent does.
    pub fallback: Fallback,
    /// What an agent does against neighbours that lie.
    pub defence: Defence,
    /// Lost and late messages on purpose.
    pub faults: Faults,
    /// Where every message is written down.
    pub record: Option<PathBuf>,
    /// Whether to wait for the next run when one is over.
    pub stay: bool,
    /// Their own sensors; without, a world shows them what they see. `{agent}` in it is the agent's index.
    pub sensor: Option<SensorConfig>,
    /// How far the clock is ahead on purpose, in nanoseconds.
    pub ahead: i64,
}

impl Device {
    /// Agents of a fleet with this network, in the world of these environments.
    ///
    /// # Errors
    /// If an agent is asked for twice or is not in the fleet, or the world says nonsense.
    pub fn new(
        fleet: Fleet,
        (policy, fingerprint): (Arc<Policy>, u64),
        envs: &mut dyn Envs,
        agents: Vec<usize>,
    ) -> Result<Device> {
        for (at, &agent) in agents.iter().enumerate() {
            fleet.address(Member::agent(agent))?;
            if agents[..at].contains(&agent) {
                return Err(Error::BadFleet(format!("{} is asked for twice", Member::agent(agent))));
            }
        }
        if agents.is_empty() {
            return Err(Error::BadFleet("no agent is asked for".into()));
        }
        let meets = may_meet(envs)?;
        if meets.len() != fleet.agents() {
            let (there, here) = (fleet.agents(), meets.len());
            return Err(Error::BadFleet(format!("the fleet has {there} agents and its world {here}")));
        }
        Ok(Device {
            fleet,
            file: None,
            policy,
            fingerprint,
            agents,
            meets,
            fallback: Fallback::default(),
            defence: Defence::default(),
            faults: Faults::default(),
            record: None,
            stay: false,
            sensor: None,
            ahead: 0,
        })
    }

    /// Runs all agents, each in a thread of its own, until they are done or `stop` says so; what one of them fails with ends all.
    ///
    /// # Errors
    /// If one of them cannot go on.
    pub fn run(&self, stop: &(dyn Fn() -> bool + Sync), say: &(dyn Fn(Member, &str) + Sync)) -> Result<()> {
        let house = House::new(self.agents.iter().map(|&i| Member::agent(i)));
        let (failed, first) = (AtomicBool::new(false), Mutex::new(None));
        let stopped = || stop() || failed.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            for &index in &self.agents {
                let (house, failed, first, stopped) = (&house, &failed, &first, &stopped);
                scope.spawn(move || {
                    if let Err(error) = self.one(index, house, stopped, say) {
                        failed.store(true, Ordering::Relaxed);
                        if let Ok(mut first) = first.lock() {
                            first.get_or_insert(error);
                        }
                    }
                });
            }
        });
        match first.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn peers(&self, index: usize, fleet: &Fleet) -> Vec<Member> {
        let others = self.meets[index].iter().map(|&i| Member::agent(i));
        let mut peers: Vec<Member> = others.filter(|&member| !fleet.is_revoked(member)).collect();
        if self.sensor.is_none() {
            peers.push(Member::WORLD);
        }
        peers
    }

    fn one(
        &self,
        index: usize,
        house: &House,
        stop: &dyn Fn() -> bool,
        say: &dyn Fn(Member, &str),
    ) -> Result<()> {
        let me = Member::agent(index);
        let mut fleet = self.fleet.clone();
        let log = match &self.record {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(|why| Error::file(folder, why))?;
                Some(MessageLog::new(&free_name(folder, &me.to_string()))?)
            }
            None => None,
        };
        let mut signer = ready(&fleet, me)?;
        let seen = RefCell::new(self.file.as_deref().map(|file| FileWatch::new(file, &fleet)));
        let mut flush = Flush { log: log.as_ref(), last: Instant::now() };
        let fresh = |signer: &Signer| -> Result<Agent> {
            let agent = Agent::new(index, self.policy.clone(), self.fingerprint, signer.clone())?;
            Ok(agent.with_fallback(self.fallback).with_defence(self.defence.clone()))
        };
        let at = fleet.listens(me)?;
        let mut body = match &self.sensor {
            Some(sensor) => {
                say(me, &format!("listening on {at}, with sensors of its own"));
                let schedule = self.schedule()?;
                let sensor = sensor.clone().of(index).within(schedule.period);
                Some((schedule, SensorProcess::start(sensor, &self.policy)?))
            }
            None => {
                say(me, &format!("listening on {at}, asking the world to be let in"));
                None
            }
        };
        let mut agent = fresh(&signer)?;
        if let Some((schedule, _)) = &body {
            let run = &fleet.config.run;
            let terms = schedule.terms(fleet.agents(), run.seed, run.greedy, run.plan().deadline);
            agent = agent.in_field(schedule.run(&fleet.config.fleet, self.fingerprint), terms);
        }
        let (mut joined, mut total) = (false, FieldReport::default());
        // Once around for every fleet file: links are closed and opened anew, and what the agent knows stays.
        loop {
            let mut transport = open(&fleet, me, &self.peers(index, &fleet), house, stop)?;
            let newer = RefCell::new(None);
            let interrupted = || {
                let waits = newer.borrow().is_none();
                if let Some(watch) = seen.borrow_mut().as_mut().filter(|_| waits) {
                    match watch.newer(&fleet) {
                        Ok(found) => *newer.borrow_mut() = found,
                        Err(why) => say(me, &format!("the fleet file is not used: {why}")),
                    }
                }
                stop() || newer.borrow().is_some()
            };
            match &mut body {
                Some((schedule, body)) => {
                    let field = Field {
                        schedule: *schedule,
                        faults: &self.faults,
                        log: log.as_ref(),
                        stop: &interrupted,
                        say: &mut |text| say(me, text),
                        watch: &mut |_, _| flush.now_and_then(),
                    };
                    total.add(&field::run(&mut agent, body, &mut transport, field)?);
                }
                None => {
                    let log = log.as_ref();
                    node::run_agent(
                        &mut agent,
                        &mut transport,
                        &self.faults,
                        log,
                        &interrupted,
                        &mut |agent| {
                            if agent.joined() && !joined {
                                joined = true;
                                say(me, "joined");
                            }
                            flush.now_and_then();
                        },
                    )?;
                }
            }
            if let Some(next) = newer.into_inner().filter(|_| !stop()) {
                next.remember(me)?;
                // Closed before anything else: who is revoked may say nothing more, even while new keys are waited for.
                drop(transport);
                say(me, &taken(&next, seen.borrow().as_ref().and_then(FileWatch::age)));
                fleet = next;
                signer = new_signer(&fleet, me, stop, &mut |text| say(me, text))?;
                agent.trust(signer.clone());
                continue;
            }
            if body.is_some() {
                say(me, &summary(&total));
                return flush.end();
            }
            say(me, if agent.over() { "the run is over" } else { "stopped" });
            if !self.stay || stop() {
                return flush.end();
            }
            (agent, joined) = (fresh(&signer)?, false);
        }
    }

    /// When steps begin for agents with sensors of their own.
    ///
    /// # Errors
    /// If the fleet file's period and deadline do not fit.
    pub fn schedule(&self) -> Result<Schedule> {
        let run = &self.fleet.config.run;
        let ms = Duration::from_millis;
        let epoch = Duration::from_secs(run.epoch_s);
        let schedule = Schedule::new(epoch, ms(run.period_ms), ms(run.deadline_ms), self.policy.rounds())?;
        Ok(Schedule { ahead: self.ahead, ..schedule })
    }
}

/// The keys of a member that is about to begin, if it may: with a fleet file that is not old and a certificate of its own.
///
/// # Errors
/// With the reason.
pub fn ready(fleet: &Fleet, me: Member) -> Result<Signer> {
    fleet.remember(me)?;
    let signer = fleet.signer(me)?;
    check(fleet, me)?;
    Ok(signer)
}

/// Opens the links of a member. Its port may be in use for a moment by the links that it had before.
pub fn open(
    fleet: &Fleet,
    me: Member,
    peers: &[Member],
    house: &House,
    stop: &dyn Fn() -> bool,
) -> Result<Zenoh> {
    let start = Instant::now();
    loop {
        match Zenoh::open_in(fleet, me, peers, house) {
            Err(Error::Network(_)) if start.elapsed() < REOPEN && !stop() => {
                std::thread::sleep(Duration::from_millis(50));
            }
            result => return result,
        }
    }
}

/// The keys of a new fleet file. A member's own new key and certificate may come a little later than the file.
///
/// # Errors
/// If the member is revoked, or it is told to stop before its keys have come.
pub fn new_signer(
    fleet: &Fleet,
    me: Member,
    stop: &dyn Fn() -> bool,
    say: &mut dyn FnMut(&str),
) -> Result<Signer> {
    let mut told = false;
    loop {
        match fleet.signer(me).and_then(|signer| check(fleet, me).map(|()| signer)) {
            Err(why) if !fleet.is_revoked(me) && !stop() => {
                if !told {
                    told = true;
                    say(&format!("waiting for its new keys: {why}"));
                }
                std::thread::sleep(Duration::from_millis(200));
            }
            result => return result,
        }
    }
}

fn summary(report: &FieldReport) -> String {
    let FieldReport { decided, held, missed, expected, refused, micros } = *report;
    let mean = micros as f64 / 1e3 / decided.max(1) as f64;
    format!(
        "stopped: {decided} steps decided {mean:.1} ms after they began, {held} held still, {missed} of {expected} messages \
         missed, {refused} observations refused"
    )
}

/// Writes a record out now and then.
struct Flush<'a> {
    log: Option<&'a MessageLog>,
    last: Instant,
}

impl Flush<'_> {
    fn now_and_then(&mut self) {
        if let Some(log) = self.log.filter(|_| self.last.elapsed() > FLUSH) {
            self.last = Instant::now();
            // Told at the end, if it still fails then.
            let _ = log.flush();
        }
    }

    fn end(&self) -> Result<()> {
        self.log.map_or(Ok(()), MessageLog::flush)
    }
}

/// A process that was started again does not write over what it wrote before.
pub fn free_name(folder: &Path, name: &str) -> PathBuf {
    let names = std::iter::once(format!("{name}.jsonl")).chain((2..).map(|n| format!("{name}.{n}.jsonl")));
    names.map(|name| folder.join(name)).find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
}

/// Reads `0-15`, `3` or `0,2,5-7`.
///
/// # Errors
/// If it is something else, or an agent is in it twice.
pub fn parse_agents(text: &str) -> Result<Vec<usize>> {
    let bad =
        || Error::BadFleet(format!("cannot read the agents `{text}`; write for example 0-15 or 0,2,5-7"));
    let mut agents = vec![];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&i| i < 100_000).ok_or_else(bad);
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(bad());
        }
        for agent in first..=last {
            if agents.contains(&agent) {
                return Err(Error::BadFleet(format!("agent {agent} is in `{text}` twice")));
            }
            agents.push(agent);
        }
    }
    Ok(agents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_numbers_and_ranges() {
        assert_eq!(parse_agents("0-3").unwrap(), [0, 1, 2, 3]);
        assert_eq!(parse_agents("7").unwrap(), [7]);
        assert_eq!(parse_agents("0, 2,5-6").unwrap(), [0, 2, 5, 6]);
        for wrong in ["", "a", "3-1", "1-", "-1", "0-99999999999", "1,,2"] {
            let error = parse_agents(wrong).unwrap_err().to_string();
            assert!(error.contains("0,2,5-7") && !error.contains('\n'), "{error}");
        }
        assert_eq!(parse_agents("0-3,2").unwrap_err().to_string(), "agent 2 is in `0-3,2` twice");
    }
}
