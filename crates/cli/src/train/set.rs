//! Single settings by name: `--set KEY=VALUE`.

use crate::registry;
use anyhow::{Context, Result, bail, ensure};
use equimarl_learn::TrainConfig;
use toml::Table;

/// Reads `KEY=VALUE`.
pub fn split(change: &str) -> Result<(&str, &str)> {
    let (key, value) = change.split_once('=').with_context(|| {
        format!("cannot read `--set {change}`; write a setting and its value, as in --set discount=0.95")
    })?;
    Ok((key.trim(), value.trim()))
}

/// The settings with one of them changed.
pub fn apply(config: &TrainConfig, key: &str, value: &str) -> Result<TrainConfig> {
    // They decide the defaults of all others, which were found before.
    let other =
        |what: &str| format!("--set cannot change the {what}, which decides other settings; use --{what}");
    ensure!(key != "preset", other("preset"));
    ensure!(key != "world" || value.starts_with('{'), other("world"));
    let value = quoted(key, value)?;
    let line = match key.split_once('.') {
        Some((table, key)) => format!("[{table}]\n{key} = {value}"),
        None => format!("{key} = {value}"),
    };
    let changed =
        TrainConfig::overlay(registry(), config, &line).with_context(|| format!("in --set {key}={value}"))?;
    ensure!(changed.world.name == config.world.name, other("world"));
    Ok(changed)
}

/// The value as in TOML. Shells take quotes away, so a plain word needs none.
fn quoted(key: &str, value: &str) -> Result<String> {
    if format!("x = {value}").parse::<Table>().is_ok() {
        return Ok(value.into());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if value.starts_with(|c: char| c.is_ascii_alphabetic()) && value.chars().all(plain) {
        return Ok(format!("\"{value}\""));
    }
    bail!("cannot read the value in --set {key}={value}; write a number such as 0.95, true, false, or a word")
}
