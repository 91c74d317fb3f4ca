//! `equimarl view`: a page in the browser with runs, episodes and symmetry.

use crate::output::print;
use crate::registry;
use anyhow::Result;
use clap::Args as ClapArgs;
use equimarl_fleet::audit::Recording;
use equimarl_view::{FleetPage, FleetSource, Options, Server, USUAL_PORT};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(ClapArgs)]
#[command(after_help = "\
The page shows runs while they learn, plays teams, and sets a world beside its turned twin. Without any run it plays
untrained teams. It is served to this machine only, and asks nobody else for anything.

Examples:
  equimarl view runs
  equimarl view runs/a/model.safetensors --port 0
  equimarl view --fleet yard/fleet.toml
  equimarl view --fleet-record log")]
pub struct Args {
    /// A folder of runs, a run, or a model file [default: runs, if there is such a folder].
    #[arg(value_name = "RUNS_DIR | RUN | MODEL")]
    what: Option<PathBuf>,
    /// Show a fleet that runs, as its observer: the fleet file. It needs authority.pem and secrets/observer beside it.
    #[arg(long, value_name = "FILE", conflicts_with = "what")]
    fleet: Option<PathBuf>,
    /// Play back a fleet that was recorded: the folder of `fleet run --record`.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["what", "fleet"])]
    fleet_record: Option<PathBuf>,
    /// The port; 0 for any free one [default: 7878, or any free one].
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Listen on another address than this machine's own. Whoever can reach it can then look, unless a firewall helps.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    address: IpAddr,
    /// Another name by which browsers may ask for the page, for example box.lan or box.lan:8000.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let usual = Path::new("runs");
    let what = args.what.clone().or_else(|| usual.is_dir().then(|| usual.into()));
    let options = Options {
        registry: registry().clone(),
        what: what.clone(),
        address: args.address,
        port: args.port,
        allow_hosts: args.allow_host.clone(),
    };
    if let Some(source) = fleet(args)? {
        let page = FleetPage::bind(&options, source)?;
        print(&format!("{}\n", page.url()))?;
        warn(args, "look at this fleet");
        eprintln!("showing a fleet; Ctrl-C ends");
        page.run()?;
        return Ok(ExitCode::SUCCESS);
    }
    let server = Server::bind(&options)?;
    print(&format!("{}\n", server.url()))?;
    warn(args, "look at these runs and play their models");
    match what {
        Some(what) => eprintln!("showing {}; Ctrl-C ends", what.display()),
        None => eprintln!("no runs yet, so only untrained teams can be played; Ctrl-C ends"),
    }
    if args.port.is_none() && !server.url().ends_with(&format!(":{USUAL_PORT}/")) {
        eprintln!("port {USUAL_PORT} is taken, so another one was chosen");
    }
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

fn warn(args: &Args, may: &str) {
    if !args.address.is_loopback() {
        eprintln!(
            "warning: everybody who can reach {} can {may}; the page answers to the names given with --allow-host",
            args.address
        );
    }
}

/// What is known of the fleet that was asked for, if one was.
fn fleet(args: &Args) -> Result<Option<FleetSource>> {
    if let Some(folder) = &args.fleet_record {
        let story = Recording::load(folder)?.story();
        return Ok(Some(Arc::new(move || story.clone())));
    }
    match &args.fleet {
        None => Ok(None),
        #[cfg(feature = "zenoh")]
        Some(file) => {
            crate::fleet::prepare()?;
            let observer = equimarl_fleet::Observer::open(&equimarl_fleet::Fleet::load(file)?)?;
            let observer = observer.following(file);
            Ok(Some(Arc::new(move || observer.status())))
        }
        #[cfg(not(feature = "zenoh"))]
        Some(_) => crate::fleet::no_network(),
    }
}
