//! One rule for whatever a command writes: an output is never one of the inputs, two outputs are never the same file, nothing is
//! written into a run directory, and a file that this program did not make is not replaced without `--force`.

use anyhow::{Context, Result, bail};
use clap::Args;
use equimarl_files::{MARK, read_file};
use equimarl_learn::RunFolder;
use equimarl_nn::Metadata;
use equimarl_nn::model::Content;
use std::fs;
use std::path::{Component, Path, PathBuf};

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
    Html,
    Pdf,
    Png,
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
        if !force.force && path.symlink_metadata().is_ok() && !is_ours(path, *product) {
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
    // Other programs may have a config.toml, too, but no metrics beside it.
    let is_run = |folder: &&Path| RunFolder::at(folder).is_run() && RunFolder::at(folder).metrics().exists();
    let run = place.ancestors().skip(1).find(is_run);
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
    let mut at = PathBuf::new();
    for part in whole.components() {
        match part {
            // What was before leads through no links any more, so this is one folder up, also from one that is not there yet.
            Component::ParentDir => drop(at.pop()),
            part => at.push(part),
        }
        at = fs::canonicalize(&at).unwrap_or(at);
    }
    Ok(at)
}

/// Whether one path leads into the folder of the other, or to it.
pub fn is_inside(path: &Path, folder: &Path) -> Result<bool> {
    Ok(place(path)?.starts_with(place(folder)?))
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
        Product::Html => starts("<!doctype html>") && has(MARK),
        Product::Pdf => starts("%PDF") && has(MARK),
        Product::Png => bytes.starts_with(b"\x89PNG") && has(MARK),
        Product::Json => starts("{") && has(MARK),
    }
}
