//! Members of a fleet over zenoh, one per process: agents and worlds.

use super::live::{Live, finish};
use super::run::{about, header};
use super::team::Team;
use super::{AgentArgs, WorldArgs};
use crate::stop::Stop;
use anyhow::{Context, Result};
use equimarl_fleet::{Agent, Fleet, Member, MessageLog, Moment, Zenoh, node};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Starts this program anew, as the same process where that exists, with the environment that zenoh needs.
pub fn prepared() -> Result<Option<ExitCode>> {
    if Zenoh::prepared() {
        return Ok(None);
    }
    let (name, value) = Zenoh::ENVIRONMENT;
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.args(std::env::args_os().skip(1)).env(name, value);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        Err(command.exec()).context("cannot start this program anew")
    }
    #[cfg(not(unix))]
    {
        let status = command.status().context("cannot start this program anew")?;
        Ok(Some(ExitCode::from(status.code().unwrap_or(1) as u8)))
    }
}

fn listening(fleet: &Path, listen: Option<std::net::SocketAddr>, me: Member) -> Result<Fleet> {
    let mut fleet = Fleet::load(fleet)?;
    if let Some(listen) = listen {
        fleet.listen(me, &listen.to_string())?;
    }
    Ok(fleet)
}

/// `fleet agent`.
pub fn agent(args: &AgentArgs) -> Result<ExitCode> {
    if let Some(code) = prepared()? {
        return Ok(code);
    }
    let me = Member::agent(args.agent);
    let fleet = listening(&args.fleet, args.listen, me)?;
    let signer = fleet.signer(me)?;
    let team = Team::of(&fleet)?;
    let faults = args.faults.faults(team.agents())?;
    let fallback = args.faults.fallback(&team.spec)?;
    let mut peers: Vec<Member> = team.may_meet(args.agent)?.into_iter().map(Member::agent).collect();
    peers.push(Member::WORLD);
    let log = match &args.record {
        Some(folder) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            Some(MessageLog::new(&free_name(folder, &me.to_string()))?)
        }
        None => None,
    };
    let stop = Stop::listen()?;
    let stop = if args.tied { stop.with_input() } else { stop };
    let mut transport = Zenoh::open(&fleet, me, &peers)?;
    let say = |text: &str| {
        if !args.quiet {
            eprintln!("{me}: {text}");
        }
    };
    say(&format!("listening on {}, asking the world to be let in", fleet.listens(me)?));
    loop {
        let mut agent = Agent::new(args.agent, team.policy.clone(), team.fingerprint, signer.clone())?;
        agent = agent.with_fallback(fallback);
        let (mut joined, mut flushed) = (false, Instant::now());
        node::run_agent(&mut agent, &mut transport, &faults, log.as_ref(), &|| stop.asked(), &mut |agent| {
            if agent.joined() && !joined {
                joined = true;
                say("joined");
            }
            if let Some(log) = log.as_ref().filter(|_| flushed.elapsed() > Duration::from_millis(500)) {
                flushed = Instant::now();
                // Told at the end, if it still fails then.
                let _ = log.flush();
            }
        })?;
        if let Some(log) = &log {
            log.flush()?;
        }
        say(if agent.over() { "the run is over" } else { "stopped" });
        if !args.stay || stop.asked() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// A process that was started again does not write over what it wrote before.
fn free_name(folder: &Path, name: &str) -> PathBuf {
    let names = std::iter::once(format!("{name}.jsonl")).chain((2..).map(|n| format!("{name}.{n}.jsonl")));
    names.map(|name| folder.join(name)).find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
}

/// `fleet world`.
pub fn world(args: &WorldArgs) -> Result<ExitCode> {
    if let Some(code) = prepared()? {
        return Ok(code);
    }
    let mut fleet = listening(&args.fleet, args.listen, Member::WORLD)?;
    fleet.config.run = args.plan.apply(fleet.config.run.clone());
    let team = Team::of(&fleet)?;
    if let Some(folder) = &args.record {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut live = Live::new(args.json, false);
    live.say(&format!(
        "listening on {}, waiting for {} agents",
        fleet.listens(Member::WORLD)?,
        team.agents()
    ));
    let what = Hosting { fleet: &fleet, team: &team, record: args.record.as_deref(), json: args.json };
    // What was said last must be on its way before the links are closed.
    host(&what, live, &mut |_, _| Ok(()), &mut || std::thread::sleep(Duration::from_millis(300)))
}

/// What is hosted.
pub struct Hosting<'a> {
    pub fleet: &'a Fleet,
    pub team: &'a Team,
    pub record: Option<&'a Path>,
    pub json: bool,
}

/// Told about every step and every now and then.
pub type Tend<'a> = &'a mut dyn FnMut(&mut Live, Option<u32>) -> Result<()>;

pub fn host(what: &Hosting<'_>, live: Live, tend: Tend<'_>, farewell: &mut dyn FnMut()) -> Result<ExitCode> {
    let (team, plan) = (what.team, what.fleet.config.run.plan());
    let signer = what.fleet.signer(Member::WORLD)?;
    let mut host = team.host(plan, signer)?;
    let mut live = live;
    let run = &what.fleet.config.run;
    let log = what.record.map(|folder| MessageLog::new(&free_name(folder, "world"))).transpose()?;
    if let Some(log) = &log {
        log.about(&header(what.team, run, "zenoh")?);
    }
    let agents: Vec<Member> = (0..what.team.agents()).map(Member::agent).collect();
    let mut transport = Zenoh::open(what.fleet, Member::WORLD, &agents)?;
    let stop = Stop::listen()?;
    let mut flushed = Instant::now();
    let ended =
        node::run_host(&mut host, &mut transport, log.as_ref(), &mut |host, moment: Option<Moment>| {
            live.show(host);
            if let Some(log) = log.as_ref().filter(|_| flushed.elapsed() > Duration::from_millis(200)) {
                flushed = Instant::now();
                // Told at the end, if it still fails then.
                let _ = log.flush();
            }
            // The step that is being decided now.
            let step = moment.map(|_| host.place().step);
            tend(&mut live, step).map_err(|e| equimarl_fleet::Error::Failed(format!("{e:#}")))?;
            Ok(!stop.asked())
        });
    // Everybody is told that it is over before the world is gone.
    farewell();
    live.close();
    if let Some(log) = &log {
        log.flush()?;
    }
    ended?;
    finish(&host, host.report().seconds(), false, about(what.team, run, "zenoh"), what.json)?;
    Ok(if stop.asked() { stop.code() } else { ExitCode::SUCCESS })
}
