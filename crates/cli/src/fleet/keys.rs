//! `equimarl fleet keys`: what the machines of a fleet need. Making it needs no network.

use super::KeysArgs;
use super::team::Team;
use crate::network::model_file;
use crate::output::print;
use crate::outputs;
use anyhow::{Context, Result, bail, ensure};
use equimarl_files::create_file;
use equimarl_fleet::{Founding, Member, RunConfig, found, split_address};
use equimarl_nn::model::read_file;
use std::process::ExitCode;

pub const MODEL: &str = "model.safetensors";

pub fn run(args: &KeysArgs) -> Result<ExitCode> {
    let team = Team::load(&args.model, None, &args.size)?;
    ensure!(!team.policy.config().kind.is_central(), "a fleet needs a distributed network");
    let agents = team.agents();
    ensure!(agents <= 1000, "{agents} certificates are more than a fleet on machines needs; use in-process");
    let mut addresses: Vec<String> = (0..=agents).map(|i| format!("127.0.0.1:{}", 7400 + i)).collect();
    for text in &args.at {
        let parsed = text.split_once('=').and_then(|(who, at)| Some((who.parse::<Member>().ok()?, at)));
        let Some((member, address)) = parsed.filter(|(_, at)| split_address(at).is_some()) else {
            bail!("cannot read --at {text}; write for example agent-0=10.0.0.2:7400");
        };
        let index = member.index().map_or(0, |i| i + 1);
        ensure!(index <= agents, "{member} is not in this fleet; it has agent-0 to agent-{}", agents - 1);
        addresses[index] = address.into();
    }
    let what = Founding {
        fleet: args.name.clone(),
        model: MODEL.into(),
        world: team.world.clone(),
        run: args.plan.apply(RunConfig::default()),
        tls: !args.no_tls,
        addresses,
        years: args.years,
    };
    outputs::check_folder("--out", &args.out)?;
    let copy = args.out.join(MODEL);
    ensure!(!copy.exists(), "{} is there already; choose a new folder", copy.display());
    found(&args.out, &what)?;
    create_file(&copy, &read_file(model_file(&args.model)?)?)
        .with_context(|| format!("cannot write {}", copy.display()))?;
    let out = args.out.display();
    let mut text = format!("{out}/fleet.toml has a world and {agents} agents.\n");
    let authority = if what.tls { "authority.pem " } else { "" };
    text += &format!(
        "Every machine needs {out}/fleet.toml, {MODEL}, {authority}and its members' own folders in {out}/secrets.\n"
    );
    if what.tls {
        text += &format!(
            "Keep {out}/secrets/authority.key.pem away from all of them: who has it can make members.\n"
        );
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
