//! What one sees of a sweep: a bar for all runs and one for each process; plain lines where there is no terminal.

use equimarl_lab::engine::local::Note;
use equimarl_lab::{Folder, RunStatus};
use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Plain lines come at most this often, unless something failed.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

pub struct Watch<'a> {
    folder: &'a Folder,
    quiet: bool,
    live: bool,
    total: ProgressBar,
    bars: Vec<ProgressBar>,
    done: usize,
    all: usize,
    last: Instant,
}

/// The time that is left; nothing until the first run has ended, because nobody knows.
fn left(estimate: Duration) -> String {
    if estimate.is_zero() { String::new() } else { format!("{:#} left", HumanDuration(estimate)) }
}

impl<'a> Watch<'a> {
    pub fn new(folder: &'a Folder, indices: &[usize], workers: usize, quiet: bool) -> Watch<'a> {
        let live = !quiet && std::io::stderr().is_terminal();
        let group = MultiProgress::new();
        let bar = |length: u64, template: &str| {
            let bar = if live { group.add(ProgressBar::new(length)) } else { ProgressBar::hidden() };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        };
        let total = bar(indices.len() as u64, "{bar:24} {pos} of {len} runs  {left}");
        total.set_style(total.style().with_key("left", |state: &ProgressState, to: &mut dyn Write| {
            let _ = to.write_str(&left(state.eta()));
        }));
        total.tick();
        let bars = (0..workers).map(|_| bar(1, "  {bar:22} {percent:>3}%  {msg}")).collect();
        if !quiet {
            let before = folder.sweep.runs.len() - indices.len();
            eprintln!(
                "sweep {}: {} runs to make, {before} made before or left out, {workers} at once, in {}",
                folder.sweep.name,
                indices.len(),
                folder.path.display()
            );
        }
        Watch { folder, quiet, live, total, bars, done: 0, all: indices.len(), last: Instant::now() }
    }

    pub fn hear(&mut self, note: Note) {
        match note {
            Note::Begins { worker, index } => {
                let run = &self.folder.sweep.runs[index];
                self.bars[worker].set_length(run.config.steps);
                self.bars[worker].set_position(0);
                self.bars[worker].set_message(run.name.clone());
            }
            Note::Says { worker, line } => {
                if let Some(steps) = line["steps"].as_u64() {
                    self.bars[worker].set_position(steps);
                }
            }
            Note::Ends { index, status, .. } => {
                let name = &self.folder.sweep.runs[index].name;
                if status.is_done() || matches!(status, RunStatus::Failed(_)) {
                    self.done += 1;
                    self.total.inc(1);
                }
                if let RunStatus::Failed(why) = &status {
                    self.say(&format!("failed: {index} {name}: {why}"));
                } else if !self.live && (self.last.elapsed() >= BETWEEN_LINES || self.done == self.all) {
                    self.last = Instant::now();
                    self.say(&format!("{} of {} runs; the last was {name}", self.done, self.all));
                }
            }
        }
    }

    fn say(&self, text: &str) {
        match (self.quiet, self.live) {
            (true, _) => {}
            (_, true) => self.total.suspend(|| eprintln!("{text}")),
            _ => eprintln!("{text}"),
        }
    }

    pub fn close(&self) {
        self.bars.iter().chain([&self.total]).for_each(ProgressBar::finish_and_clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_not_said() {
        assert_eq!(left(Duration::ZERO), "");
        assert_eq!(left(Duration::from_secs(120)), "2m left");
    }
}
