//! `equimarl-agent`: one agent of a fleet or several, and nothing else. No trainer, no renderer, no page is linked.
//!
//! ```text
//! equimarl-agent --fleet FILE --agents 0-3 [--sensor COMMAND] [--period MS] [--deadline MS] [--stay] [--quiet]
//! ```

use equimarl_fleet::device::{Device, parse_agents};
use equimarl_fleet::sensor::SensorConfig;
use equimarl_fleet::{Defence, Fleet, Zenoh};
use equimarl_nn::model::{fnv1a, read_file};
use equimarl_nn::{Clip, Network};
use equimarl_worlds::builtin;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

const USAGE: &str = "usage: equimarl-agent --fleet FILE --agents 0-3 [--sensor COMMAND] [--sensor-timeout MS] [--period MS] \
                     [--deadline MS] [--greedy] [--robust off|clip|trimmed] [--stay] [--quiet]";

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Failure> {
    let (mut file, mut agents, mut sensor) = (PathBuf::from("fleet.toml"), None, None);
    let (mut period, mut deadline, mut patience) = (None, None, 2000u64);
    let (mut greedy, mut stay, mut quiet, mut robust) = (false, false, false, "clip".to_string());
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value; {USAGE}"));
        match name.as_str() {
            "--fleet" => file = value()?.into(),
            "--agents" | "--agent" => agents = Some(parse_agents(&value()?)?),
            "--sensor" => sensor = Some(value()?),
            "--sensor-timeout" => patience = value()?.parse()?,
            "--period" => period = Some(value()?.parse()?),
            "--deadline" => deadline = Some(value()?.parse()?),
            "--robust" => robust = value()?,
            "--greedy" => greedy = true,
            "--stay" => stay = true,
            "--quiet" => quiet = true,
            other => return Err(format!("there is no option {other}; {USAGE}").into()),
        }
    }
    let agents = agents.ok_or(USAGE)?;
    if !["off", "clip", "trimmed"].contains(&robust.as_str()) {
        return Err(format!("there is no --robust {robust}; {USAGE}").into());
    }
    if !Zenoh::prepared() {
        return start_anew();
    }
    let mut fleet = Fleet::load(&file)?;
    let run = &mut fleet.config.run;
    run.period_ms = period.unwrap_or(run.period_ms);
    run.deadline_ms = deadline.unwrap_or(run.deadline_ms);
    run.greedy |= greedy;
    let bytes = read_file(fleet.model())?;
    let (network, metadata) = Network::from_bytes(&bytes)?;
    let policy = Arc::new(network.policy()?);
    let registry = builtin();
    let mut envs = registry.make(&registry.complete(&fleet.config.world)?, network.group(), 1)?;
    drop(network);
    let clip = metadata.messages.map(|ranges| Clip::new(&policy, &ranges)).transpose()?.map(Arc::new);
    if clip.is_none() && robust != "off" && !quiet {
        eprintln!("the model file has no message ranges, so what neighbours say is not clipped");
    }
    if robust == "trimmed" && !policy.can_trim() {
        return Err(Defence::CANNOT_TRIM.into());
    }
    let mut device = Device::new(fleet, (policy, fnv1a(&bytes)), &mut *envs, agents)?;
    drop(bytes);
    device.defence = Defence { clip: clip.filter(|_| robust != "off"), trimmed: robust == "trimmed" };
    device.file = Some(file);
    device.stay = stay;
    if let Some(command) = sensor {
        device.sensor = Some(SensorConfig::parse(&command, Duration::from_millis(patience))?);
        device.schedule()?;
    }
    device.run(&|| false, &|me, text| {
        if !quiet {
            eprintln!("{me}: {text}");
        }
    })?;
    Ok(())
}

/// Starts this program anew with the environment that zenoh needs.
fn start_anew() -> Result<(), Failure> {
    let (name, value) = Zenoh::ENVIRONMENT;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(name, value);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        Err(command.exec().into())
    }
    #[cfg(not(unix))]
    {
        std::process::exit(command.status()?.code().unwrap_or(1))
    }
}
