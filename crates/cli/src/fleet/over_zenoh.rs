//! Members of a fleet over zenoh, one per process: agents and worlds.

use super::live::{Live, finish};
use super::run::{about, header};
use super::team::Team;
use super::{AgentArgs, WorldArgs};
use crate::stop::Stop;
use anyhow::{Context, Result, ensure};
use equimarl_fleet::device::{Device, free_name, new_signer, open, parse_agents, ready};
use equimarl_fleet::keys::{FileWatch, taken};
use equimarl_fleet::sensor::SensorConfig;
use equimarl_fleet::{Fleet, Host, House, Member, MessageLog, Moment, Zenoh, node};
use std::path::Path;
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
    let agents = match (&args.agents, args.agent) {
        (Some(list), _) => parse_agents(list).context("--agents")?,
        (None, Some(agent)) => vec![agent],
        (None, None) => anyhow::bail!("say which agent: --agent 0"),
    };
    ensure!(args.listen.is_none() || agents.len() == 1, "--listen is for one agent");
    ensure!(args.clock_error.abs() <= 1e7, "--clock-error is a time in milliseconds");
    if let Some(code) = prepared()? {
        return Ok(code);
    }
    let mut fleet = listening(&args.fleet, args.listen, Member::agent(agents[0]))?;
    let run = &mut fleet.config.run;
    run.period_ms = args.period.unwrap_or(run.period_ms);
    run.deadline_ms = args.deadline.unwrap_or(run.deadline_ms);
    run.greedy |= args.greedy;
    let team = Team::of(&fleet)?;
    let brain = (team.policy.clone(), team.fingerprint);
    let mut device = Device::new(fleet, brain, &mut *team.make()?, agents)?;
    device.file = Some(args.fleet.clone());
    device.faults = args.faults.faults(team.agents())?;
    device.fallback = args.faults.fallback(&team.spec)?;
    device.defence = args.robust.defence(&team)?;
    device.record = args.record.clone();
    device.stay = args.stay;
    device.ahead = (args.clock_error * 1e6) as i64;
    if let Some(command) = &args.sensor {
        let patience = Duration::from_millis(args.sensor_timeout);
        device.sensor = Some(SensorConfig::parse(command, patience).context("--sensor")?);
        device.schedule()?;
    }
    let stop = Stop::listen()?;
    let stop = if args.tied { stop.with_input() } else { stop };
    if let Some(warning) = args.robust.warning(&team).filter(|_| !args.quiet) {
        eprintln!("{warning}");
    }
    device.run(&|| stop.asked(), &|me, text| {
        if !args.quiet {
            eprintln!("{me}: {text}");
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `fleet world`.
pub fn world(args: &WorldArgs) -> Result<ExitCode> {
    if let Some(code) = prepared()? {
        return Ok(code);
    }
    let mut fleet = listening(&args.fleet, args.listen, Member::WORLD)?;
    fleet.config.run = args.plan.apply(fleet.config.run.clone());
    let team = Team::of(&fleet)?;
    // Before it says that it listens.
    ready(&fleet, Member::WORLD)?;
    if let Some(folder) = &args.record {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut live = Live::new(args.json, false);
    live.say(&format!(
        "listening on {}, waiting for {} agents",
        fleet.listens(Member::WORLD)?,
        team.agents()
    ));
    let file = Some(args.fleet.as_path());
    let what = Hosting { fleet: &fleet, file, team: &team, record: args.record.as_deref(), json: args.json };
    // What was said last must be on its way before the links are closed.
    host(&what, live, &mut |_, _| Ok(()), &mut || std::thread::sleep(Duration::from_millis(300)))
}

/// What is hosted.
pub struct Hosting<'a> {
    pub fleet: &'a Fleet,
    /// Its file, if newer ones are looked for.
    pub file: Option<&'a Path>,
    pub team: &'a Team,
    pub record: Option<&'a Path>,
    pub json: bool,
}

/// How long the first step waits after the last welcome: long beside a message, short beside a person.
const GRACE: Duration = Duration::from_millis(200);

/// Told about every step and every now and then.
pub type Tend<'a> = &'a mut dyn FnMut(&mut Live, Option<u32>) -> Result<()>;

pub fn host(what: &Hosting<'_>, live: Live, tend: Tend<'_>, farewell: &mut dyn FnMut()) -> Result<ExitCode> {
    let (team, plan) = (what.team, what.fleet.config.run.plan());
    let (me, mut fleet) = (Member::WORLD, what.fleet.clone());
    fleet.remember(me)?;
    let mut host = team.host(plan, fleet.signer(me)?)?.with_grace(GRACE);
    host.trust(fleet.signer(me)?, &|member| fleet.is_revoked(member));
    let mut live = live;
    let run = &what.fleet.config.run;
    let log = what.record.map(|folder| MessageLog::new(&free_name(folder, "world"))).transpose()?;
    if let Some(log) = &log {
        log.about(&header(what.team, run, "zenoh")?);
    }
    let stop = Stop::listen()?;
    let mut watch = what.file.map(|file| FileWatch::new(file, &fleet));
    let mut flushed = Instant::now();
    // Once around for every fleet file.
    let (ended, transport) = loop {
        let agents = (0..what.team.agents()).map(Member::agent);
        let peers: Vec<Member> = agents.filter(|&member| !fleet.is_revoked(member)).collect();
        let mut transport = open(&fleet, me, &peers, &House::default(), &|| stop.asked())?;
        let mut newer = None;
        let mut step = |host: &Host, moment: Option<Moment>| -> equimarl_fleet::Result<bool> {
            live.show(host);
            if let Some(log) = log.as_ref().filter(|_| flushed.elapsed() > Duration::from_millis(200)) {
                flushed = Instant::now();
                // Told at the end, if it still fails then.
                let _ = log.flush();
            }
            // The step that is being decided now.
            let step = moment.map(|_| host.place().step);
            tend(&mut live, step).map_err(|e| equimarl_fleet::Error::Failed(format!("{e:#}")))?;
            match watch.as_mut().map_or(Ok(None), |watch| watch.newer(&fleet)) {
                Ok(found) => newer = found,
                Err(why) => live.say(&format!("the fleet file is not used: {why}")),
            }
            Ok(!stop.asked() && newer.is_none())
        };
        let ended = node::run_host(&mut host, &mut transport, log.as_ref(), &mut step);
        let Some(next) = newer.filter(|_| ended.is_ok() && !host.over() && !stop.asked()) else {
            break (ended, transport);
        };
        next.remember(me)?;
        drop(transport);
        live.say(&taken(&next, watch.as_ref().and_then(FileWatch::age)));
        fleet = next;
        let signer = new_signer(&fleet, me, &|| stop.asked(), &mut |text| live.say(text))?;
        host.trust(signer, &|member| fleet.is_revoked(member));
    };
    // Everybody is told that it is over before the world is gone.
    farewell();
    drop(transport);
    live.close();
    if let Some(log) = &log {
        log.flush()?;
    }
    ended?;
    finish(&host, host.report().seconds(), false, about(what.team, run, "zenoh"), what.json)?;
    Ok(if stop.asked() { stop.code() } else { ExitCode::SUCCESS })
}
