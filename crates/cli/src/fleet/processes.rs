//! `fleet run --transport zenoh`: the whole fleet as processes of this machine.

use super::keys::MODEL;
use super::live::Live;
use super::over_zenoh::{Hosting, host, prepared};
use super::run;
use super::run::new_folder;
use super::team::Team;
use anyhow::{Context, Result, ensure};
use equimarl_fleet::{Founding, RunConfig, found};
use equimarl_nn::model::{read_file, write_file};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The processes of all agents. They end with this one.
struct Processes {
    folder: PathBuf,
    arguments: Vec<String>,
    /// The first and the last agent of each process.
    crews: Vec<(usize, usize)>,
    children: Vec<Child>,
}

impl Processes {
    fn start(&self, crew: usize) -> Result<Child> {
        let (first, last) = self.crews[crew];
        let program = std::env::current_exe().context("cannot find this program")?;
        Command::new(program)
            .args(["fleet", "agent", "--quiet", "--tied", "--fleet"])
            .arg(self.folder.join("fleet.toml"))
            .arg(format!("--agents={first}-{last}"))
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start an agent")
    }

    /// Starts again who died.
    fn tend(&mut self, live: &mut Live) -> Result<()> {
        for crew in 0..self.children.len() {
            if let Some(status) = self.children[crew].try_wait().context("cannot watch an agent")? {
                let name = match self.crews[crew] {
                    (first, last) if first == last => format!("agent-{first}"),
                    (first, last) => format!("the process of agents {first} to {last}"),
                };
                // An error that it said itself will come again.
                ensure!(status.code() != Some(2), "{name} cannot run");
                live.say(&format!("{name} died ({status}); starting it again"));
                self.children[crew] = self.start(crew)?;
            }
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_secs(2);
        for child in &mut self.children {
            drop(child.stdin.take());
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            // It may be gone already; there is nothing else to do.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// `fleet run --transport zenoh`.
pub fn run(args: &run::Args, team: &Team) -> Result<ExitCode> {
    if let Some(code) = prepared()? {
        return Ok(code);
    }
    ensure!(args.threads.is_none(), "--threads belongs to --transport in-process");
    let agents = team.agents();
    let count = args.processes.unwrap_or(agents);
    ensure!((1..=agents).contains(&count), "--processes must be between 1 and {agents}, not {count}");
    ensure!(
        count <= 64,
        "{count} processes are too many for one machine; use --processes or --transport in-process"
    );
    ensure!(
        agents <= 1000,
        "{agents} agents are too many for one machine's network; use --transport in-process"
    );
    args.faults.faults(agents)?;
    args.faults.fallback(&team.spec)?;
    // Its agents say nothing themselves.
    if let Some(warning) = args.robust.warning(team).filter(|_| !args.quiet && !args.json) {
        eprintln!("{warning}");
    }
    let folder = private_folder()?;
    let mut arguments = args.faults.arguments();
    arguments.push(format!("--robust={}", args.robust.name()));
    if let Some(record) = &args.record {
        new_folder(record)?;
        arguments.push(format!("--record={}", record.display()));
    }
    let crews = (0..count).map(|i| (i * agents / count, (i + 1) * agents / count - 1)).collect();
    let mut processes = Processes { folder: folder.clone(), arguments, crews, children: vec![] };
    let what = Founding {
        fleet: format!("run-{}", std::process::id()),
        model: MODEL.into(),
        world: team.world.clone(),
        run: args.plan.apply(RunConfig::default()),
        tls: !args.no_tls,
        addresses: free_addresses(agents + 1)?,
        years: 1,
    };
    let fleet = found(&folder, &what)?;
    write_file(folder.join(MODEL), &read_file(&team.file)?)?;
    for crew in 0..count {
        processes.children.push(processes.start(crew)?);
    }
    let live = Live::new(args.quiet || args.json, false);
    let what = Hosting { fleet: &fleet, file: None, team, record: args.record.as_deref(), json: args.json };
    let mut processes = Some(processes);
    let mut looked = Instant::now();
    let shared = std::cell::RefCell::new(&mut processes);
    let mut tend = |live: &mut Live, step: Option<u32>| -> Result<()> {
        let mut guard = shared.borrow_mut();
        let Some(processes) = guard.as_mut() else { return Ok(()) };
        for crash in args.crash.iter().filter(|c| Some(c.step) == step) {
            let crew = processes.crews.iter().position(|&(_, last)| crash.agent <= last).unwrap_or(0);
            processes.children[crew].kill().context("cannot kill an agent")?;
            processes.children[crew].wait().context("cannot kill an agent")?;
        }
        if step.is_none() || looked.elapsed() > Duration::from_millis(20) {
            looked = Instant::now();
            processes.tend(live)?;
        }
        Ok(())
    };
    host(&what, live, &mut tend, &mut || drop(shared.borrow_mut().take()))
}

/// A new folder that only we can read.
fn private_folder() -> Result<PathBuf> {
    let random: [u8; 8] = equimarl_fleet::signer::random()?;
    let name: String = random.iter().map(|b| format!("{b:02x}")).collect();
    let folder = std::env::temp_dir().join(format!("equimarl-fleet-{name}"));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Addresses on this machine that nobody listens on.
fn free_addresses(count: usize) -> Result<Vec<String>> {
    let open = |_| TcpListener::bind("127.0.0.1:0").context("cannot find a free port");
    let listeners: Result<Vec<TcpListener>> = (0..count).map(open).collect();
    listeners?.iter().map(|l| Ok(l.local_addr()?.to_string())).collect()
}
