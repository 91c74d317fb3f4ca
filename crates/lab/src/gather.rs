//! Finds runs: run directories, folders of sweeps, whatever lies below a folder, files of records.

use crate::error::{Error, Result};
use crate::grid::Sweep;
use crate::record::{Lines, Record};
use equimarl_learn::RunFolder;
use equimarl_learn::folder::{CONFIG, METRICS};
use equimarl_worlds::Registry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Folders below a given one are looked into this deep.
const DEEP: usize = 6;

/// A run that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The sweep that it belongs to: what `sweep.toml` says, or the name of the folder or file that it was found in.
    pub sweep: String,
    /// Where: a run directory, or a file of records and the number of its line.
    pub place: String,
    /// The run.
    pub record: Record,
}

/// The name of a sweep that chooses learning rates ends like this.
pub const RATES: &str = "-rates";

impl Found {
    /// Whether it was made to choose a learning rate.
    pub fn for_choosing(&self) -> bool {
        self.sweep.ends_with(RATES)
    }

    /// Where it really is, however its place was spelled.
    pub(crate) fn really(&self) -> (PathBuf, &str) {
        let (path, line) = self.place.rsplit_once(" line ").unwrap_or((&self.place, ""));
        (fs::canonicalize(path).unwrap_or_else(|_| path.into()), line)
    }

    /// Whether it ended otherwise than another with the same settings and seed. Of the same code, equal runs end with the same bits.
    fn differs(&self, used: &Found) -> bool {
        let both = self.record.summary.is_some() && used.record.summary.is_some();
        both && self.record.curve != used.record.curve
    }

    /// Why a run is left out if another with the same settings and seed is used.
    pub(crate) fn repeats(&self, used: &Found) -> String {
        let other = if self.differs(used) { " (with another curve)" } else { "" };
        format!("{} has the same settings and seed{other}, and counts", used.place)
    }
}

/// Runs, and whatever else was found: nothing is dropped in silence.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The runs, in the order of their places; each settings' run once, a finished one before others. (Twice if it was made to
    /// choose a learning rate and also to be reported.)
    pub runs: Vec<Found>,
    /// Runs that do not count, and why.
    pub left_out: Vec<(Found, String)>,
    /// Places and why they cannot be read.
    pub unreadable: Vec<(String, String)>,
    /// What readers must be told of what was left out.
    pub notes: Vec<String>,
}

/// All runs at these places: a run directory, a folder with runs somewhere below, or a file of records (`.jsonl`).
///
/// # Errors
/// If a place is not there or is something else, or there is no run that counts. A run that is broken does not stop the others: it is
/// listed.
pub fn gather(registry: &Registry, places: &[PathBuf]) -> Result<Gathered> {
    let mut found = Gathered::default();
    for place in places {
        if place.is_dir() {
            let before = found.size();
            let home = Home { sweep: name_of(place), failed: None, grid: None };
            look(registry, place, &home, DEEP, &mut found);
            if found.size() == before {
                return Err(Error::Bad(format!(
                    "{} holds no runs: no folder below it has a {CONFIG}, and no .jsonl file has records",
                    place.display()
                )));
            }
        } else if is_records(place) {
            found.add_records(registry, place);
        } else if place.exists() {
            return Err(Error::Bad(format!(
                "{} is neither a folder with runs nor a .jsonl file of records",
                place.display()
            )));
        } else {
            return Err(Error::Bad(format!("there is no {}", place.display())));
        }
    }
    found.leave_out_repeated();
    if found.runs.is_empty() {
        return Err(Error::Bad(found.nothing()));
    }
    Ok(found)
}

/// What a folder's runs have in common.
#[derive(Clone)]
struct Home {
    sweep: String,
    /// The folder with the reasons of failed runs.
    failed: Option<PathBuf>,
    /// The hashes of the settings that the sweep has, if it is one.
    grid: Option<Rc<BTreeSet<String>>>,
}

impl Home {
    /// Of a folder with the file of a sweep, and the sweep itself if it can be read.
    fn of_sweep(
        registry: &Registry,
        folder: &Path,
        file: &Path,
        found: &mut Gathered,
    ) -> (Home, Option<Sweep>) {
        let sweep = match Sweep::read(registry, file) {
            Ok(sweep) => Some(sweep),
            Err(e) => {
                let why = format!("nobody knows which runs belong to this sweep: {e}");
                found.unreadable.push((file.display().to_string(), why));
                None
            }
        };
        let hashes = |sweep: &Sweep| sweep.runs.iter().map(|run| run.config.hash(registry)).collect();
        let home = Home {
            sweep: sweep_name(folder).unwrap_or_else(|| name_of(folder)),
            failed: Some(folder.join("failed")),
            grid: sweep.as_ref().map(hashes).map(Rc::new),
        };
        (home, sweep)
    }

    /// Why a run of this name failed, if somebody noted it.
    fn reason(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.failed.as_ref()?.join(format!("{name}.txt"))).ok()?;
        Some(text.trim().to_string())
    }

    /// Whether a run with these settings belongs here: a sweep may have been made smaller, and its folder still has them.
    fn holds(&self, hash: &str) -> bool {
        self.grid.as_ref().is_none_or(|grid| grid.contains(hash))
    }
}

/// The name of the sweep whose folder this is: what its `sweep.toml` says, or the folder's own name.
pub fn sweep_name(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("sweep.toml")).ok()?;
    let name = text.parse::<toml::Table>().ok().and_then(|t| Some(t.get("name")?.as_str()?.to_string()));
    Some(name.unwrap_or_else(|| name_of(folder)))
}

fn name_of(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A file of records; the curve of a single run is none.
fn is_records(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "jsonl") && path.file_name().is_some_and(|n| n != METRICS)
}

/// What stands in a folder, in the order of names, files first: what is nearer counts if a run is there twice.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort_by_cached_key(|path| (path.is_dir(), path.clone()));
    Ok(paths)
}

fn look(registry: &Registry, folder: &Path, home: &Home, deep: usize, found: &mut Gathered) {
    if RunFolder::at(folder).is_run() {
        return found.add_run(registry, folder, home);
    }
    let paths = match entries(folder) {
        Ok(paths) => paths,
        Err(e) => return found.unreadable.push((folder.display().to_string(), e.to_string())),
    };
    let file = folder.join("sweep.toml");
    let begin = (found.runs.len(), found.left_out.len());
    let (home, sweep) = match file.exists() {
        true => Home::of_sweep(registry, folder, &file, found),
        false => (home.clone(), None),
    };
    for path in paths {
        // A sweep's notes on its jobs are no runs.
        if file.exists() && path.file_name().is_some_and(|n| n == "slurm") {
            continue;
        }
        if path.is_dir() && deep > 0 {
            look(registry, &path, &home, deep - 1, found);
        } else if is_records(&path) && path.is_file() {
            found.add_records(registry, &path);
        }
    }
    if let Some(sweep) = sweep {
        found.add_kept(registry, &sweep, begin.0);
        let outside = found.left_out[begin.1..].iter().filter(|(_, why)| why == OUTSIDE).count();
        if outside > 0 {
            found.notes.push(format!(
                "{}: {} outside of the grid of its sweep.toml, and left out.",
                folder.display(),
                if outside == 1 { "1 run lies".into() } else { format!("{outside} runs lie") }
            ));
        }
    }
}

const OUTSIDE: &str = "it lies outside of the grid of its sweep";

impl Gathered {
    /// Everything that was found.
    fn size(&self) -> usize {
        self.runs.len() + self.left_out.len() + self.unreadable.len()
    }

    fn add_run(&mut self, registry: &Registry, folder: &Path, home: &Home) {
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let place = folder.display().to_string();
        let record = match Record::of_run(registry, folder, &name, home.reason(&name)) {
            Ok(record) => record,
            Err(e) => return self.unreadable.push((place, e.to_string())),
        };
        let inside = home.holds(&record.config_hash);
        let run = Found { sweep: home.sweep.clone(), place, record };
        match inside {
            true => self.runs.push(run),
            false => self.left_out.push((run, OUTSIDE.into())),
        }
    }

    fn add_records(&mut self, registry: &Registry, file: &Path) {
        let lines = self.read(registry, file);
        self.add_lines(file, &name_of(file), lines);
    }

    /// The records of a file; what is wrong with it is listed.
    fn read(&mut self, registry: &Registry, file: &Path) -> Vec<(usize, Record)> {
        let place = file.display().to_string();
        match Record::read_all(registry, file) {
            Err(e) => self.unreadable.push((place, e.to_string())),
            Ok(Lines { records, broken }) => {
                if records.is_empty() && broken.is_empty() {
                    self.unreadable.push((place.clone(), "there is no record in it".into()));
                }
                let line = |(i, why): (usize, String)| (format!("{place} line {i}"), why);
                self.unreadable.extend(broken.into_iter().map(line));
                return records;
            }
        }
        vec![]
    }

    /// Of several records of one run in one file, the last one counts: it may have failed before.
    fn add_lines(&mut self, file: &Path, sweep: &str, lines: Vec<(usize, Record)>) {
        let last: BTreeMap<String, usize> =
            lines.iter().map(|(i, record)| (record.config_hash.clone(), *i)).collect();
        for (i, record) in lines {
            let later = last.get(&record.config_hash).copied().unwrap_or(i);
            let run = Found { sweep: sweep.into(), place: format!("{} line {i}", file.display()), record };
            match later == i {
                true => self.runs.push(run),
                false => self.left_out.push((run, format!("line {later} is a later record of the same run"))),
            }
        }
    }

    /// The runs of a sweep that were made before and kept elsewhere, as far as they are not finished here: those that were found
    /// from number `begin` on are.
    fn add_kept(&mut self, registry: &Registry, sweep: &Sweep, begin: usize) {
        let Some(Ok(files)) = sweep.kept.as_ref().map(|kept| entries(kept)) else { return };
        let mut wanted: BTreeSet<String> = sweep.runs.iter().map(|run| run.config.hash(registry)).collect();
        for here in self.runs[begin..].iter().filter(|f| f.record.summary.is_some()) {
            wanted.remove(&here.record.config_hash);
        }
        for file in files.into_iter().filter(|file| is_records(file)) {
            let mut lines = self.read(registry, &file);
            lines.retain(|(_, record)| wanted.contains(&record.config_hash));
            self.add_lines(&file, &sweep.name, lines);
        }
    }

    /// The same settings and seed at several places are one run.
    fn leave_out_repeated(&mut self) {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        // Finished ones before others, and sound ones before damaged ones. A stable sort: among equals the first place stays.
        order.sort_by_key(|i| {
            let record = &self.runs[*i].record;
            (record.summary.is_none(), record.damage.is_some())
        });
        let mut used: BTreeMap<(String, bool), usize> = BTreeMap::new();
        let mut instead = vec![None; self.runs.len()];
        for i in order {
            let key = (self.runs[i].record.config_hash.clone(), self.runs[i].for_choosing());
            let first = *used.entry(key).or_insert(i);
            instead[i] = (first != i).then_some(first);
        }
        let all = std::mem::take(&mut self.runs);
        let (mut repeated, mut others) = (0, 0);
        for (run, instead) in all.iter().zip(instead) {
            match instead.map(|first| &all[first]) {
                None => self.runs.push(run.clone()),
                // A place that was named twice.
                Some(first) if first.really() == run.really() => {}
                Some(first) => {
                    repeated += 1;
                    others += usize::from(run.differs(first));
                    self.left_out.push((run.clone(), run.repeats(first)));
                }
            }
        }
        if repeated > 0 {
            let mut note = format!(
                "{} left out, because the same settings and seed were found at another place that counts; the list at the end says \
                 where.",
                if repeated == 1 { "1 run is".into() } else { format!("{repeated} runs are") }
            );
            if others > 0 {
                note += &format!(
                    " Of these, {others} had another learning curve, made by other code or on another machine."
                );
            }
            self.notes.push(note);
        }
    }

    /// Leaves out runs of other seeds, and says so; those that were made to choose a learning rate stay.
    ///
    /// # Errors
    /// If nothing is left.
    pub fn only_seeds(&mut self, seeds: &[u64]) -> Result<()> {
        let before = self.runs.len();
        self.runs.retain(|run| run.for_choosing() || seeds.contains(&run.record.config.seed));
        let left_out = before - self.runs.len();
        if self.runs.iter().all(Found::for_choosing) {
            return Err(Error::Bad(format!("none of the {before} runs has one of these seeds")));
        }
        if left_out > 0 {
            self.notes
                .push(format!("{left_out} runs have other seeds than were asked for, and are left out"));
        }
        Ok(())
    }

    /// That there is no run that counts, and why.
    fn nothing(&self) -> String {
        // What a file system says names the place already.
        let named = |(place, why): &(String, String)| match why.starts_with(place.as_str()) {
            true => why.clone(),
            false => format!("{place}: {why}"),
        };
        let mut all = self
            .unreadable
            .iter()
            .map(named)
            .chain(self.left_out.iter().map(|(f, why)| format!("{}: {why}", f.place)));
        let first = all.next().unwrap_or_else(|| "there are no runs".into());
        let more = all.count();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("there is nothing to report: {first}{more}")
    }
}
