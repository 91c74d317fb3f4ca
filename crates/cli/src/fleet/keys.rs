//! `equimarl fleet keys`: what the machines of a fleet need. Making it needs no network.

use super::KeysArgs;
use super::team::Team;
use crate::network::model_file;
use crate::output::print;
use crate::outputs;
use anyhow::{Context, Result, bail, ensure};
use equimarl_files::create_file;
use equimarl_fleet::keys::{Change, change};
use equimarl_fleet::{Founding, Member, RunConfig, found, split_address};
use equimarl_nn::model::read_file;
use std::process::ExitCode;

pub const MODEL: &str = "model.safetensors";

pub fn run(args: &KeysArgs) -> Result<ExitCode> {
    let (model, out) = match (&args.model, &args.out, &args.revoke, &args.renew) {
        (_, _, Some(member), _) => return changed(args, member, Change::Revoke),
        (_, _, _, Some(member)) => return changed(args, member, Change::Renew { years: args.years }),
        (Some(model), Some(out), ..) => (model, out),
        _ => bail!("say which team: --model RUN --out FOLDER"),
    };
    let team = Team::load(model, None, &args.size)?;
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
    outputs::check_folder("--out", out)?;
    let copy = out.join(MODEL);
    ensure!(!copy.exists(), "{} is there already; choose a new folder", copy.display());
    found(out, &what)?;
    create_file(&copy, &read_file(model_file(model)?)?)
        .with_context(|| format!("cannot write {}", copy.display()))?;
    let out = out.display();
    let mut text = format!("{out}/fleet.toml has a world and {agents} agents.\n");
    let authority = if what.tls { "authority.pem " } else { "" };
    text += &format!(
        "Every machine needs {out}/fleet.toml, {MODEL}, {authority}and its members' own folders in {out}/secrets.\n"
    );
    text +=
        &format!("Keep {out}/secrets/authority.* away from all of them: who has those can make members.\n");
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// `--revoke` and `--renew`.
fn changed(args: &KeysArgs, member: &str, what: Change) -> Result<ExitCode> {
    let member: Member = member.parse().map_err(anyhow::Error::msg)?;
    ensure!(
        member != Member::WORLD || what != Change::Revoke,
        "a fleet without its world is none; use --renew world"
    );
    let fleet = change(&args.fleet, member, what)?;
    let (file, number) = (args.fleet.display(), fleet.config.number);
    print(&match what {
        Change::Revoke => {
            format!("{file} has number {number}: {member} is revoked. Copy it to every machine.\n")
        }
        Change::Renew { .. } => format!(
            "{file} has number {number}: {member} has new keys. Copy it to every machine, and secrets/{member} to {member}'s.\n"
        ),
    })?;
    Ok(ExitCode::SUCCESS)
}
