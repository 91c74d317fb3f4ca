//! One rule for whatever a command writes: an output is never one of the inputs, two outputs are never the same file, nothing is
//! written into a run directory, and a file that this program did not make is not replaced without `--force`.

use anyhow::{Context, Result, bail};
use clap::Args;
use equimarl_files::{MARK, read_file};
use equimarl_learn::RunFolder;
use equimarl_nn::Metadata;
use equimarl_nn::model::Content;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug, Default)]
pub struct Force {
    /// Replace files that this program did not make.
    #[arg(long)]
    pub force: bool,
}

/// What an output is, and by which bytes it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    Svg,
    Gif,
    Json,
    /// Weights that were realised.
    Dense,
}

/// Files above this are not ours, whatever is in them; films are read at their beginning only.
const MOST: usize = 1 << 28;

/// Refuses outputs that would cost somebody a file. `outputs` are named by the flag that asked for them.
pub fn check(inputs: &[&Path], outputs: &[(&str, &Path, Product)], force: &Force) -> Result<()> {
    let mut seen: Vec<(PathBuf, &str)> = vec![];
    for (flag, path, product) in outputs {
        let place = place(path)?;
        for input in inputs {
            let same = place == self::place(input)? || same_file(path, input);
            if same {
                bail!("{flag} {} is what this command reads; choose another name", path.display());
            }
        }
        if let Some((_, other)) = seen.iter().find(|(p, _)| *p == place) {
            bail!("{other} and {flag} both are {}; one would replace the other", path.display());
        }
        check_place(flag, path, &place)?;
        if !force.force && path.exists() && !is_ours(path, *product) {
            bail!(
                "{} is there already, and was not made by this command; choose another name, or --force",
                path.display()
            );
        }
        seen.push((place, flag));
    }
    Ok(())
}

/// Run directories hold the run and nothing else.
fn check_place(flag: &str, path: &Path, place: &Path) -> Result<()> {
    let run = place.ancestors().skip(1).find(|folder| RunFolder::at(folder).is_run());
    match run {
        Some(run) => bail!(
            "{flag} {} lies in the run directory {}, which holds only the run; choose another folder",
            path.display(),
            run.display()
        ),
        None => Ok(()),
    }
}

/// The same for a folder of outputs.
pub fn check_folder(flag: &str, path: &Path) -> Result<()> {
    // As if a file in it were asked for: the folder itself must not be a run, either.
    let inside = place(path)?.join("file");
    check_place(flag, path, &inside)
}

/// Where a path leads, also if nothing is there yet.
fn place(path: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(path).with_context(|| format!("{}", path.display()))?;
    let mut missing: Vec<OsString> = vec![];
    for folder in whole.ancestors() {
        if let Ok(found) = fs::canonicalize(folder) {
            return Ok(missing.iter().rev().fold(found, |at, name| at.join(name)));
        }
        missing.push(folder.file_name().unwrap_or_default().into());
    }
    Ok(whole)
}

/// Two names of one file.
#[cfg(unix)]
fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    id(one).is_some() && id(one) == id(other)
}

#[cfg(not(unix))]
fn same_file(_one: &Path, _other: &Path) -> bool {
    false
}

/// Whether an earlier call of the same kind made this file.
fn is_ours(path: &Path, product: Product) -> bool {
    let Ok(bytes) = read_file(path, MOST) else { return false };
    let has = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    let starts = |text: &str| bytes.starts_with(text.as_bytes());
    match product {
        Product::Dense => Metadata::load(path).is_ok_and(|m| m.content == Content::Dense),
        Product::Svg => starts("<svg") && has(MARK),
        Product::Gif => starts("GIF8") && has(MARK),
        Product::Json => starts("{") && has(MARK),
    }
}
