//! When to stop: at a signal, or when whoever started this process has gone.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// Who was asked to stop does so by itself in this time, or is ended.
const PATIENCE: Duration = Duration::from_millis(2500);
/// Writing a checkpoint to a slow disk may take longer.
const WRITING: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(20);

/// Whether somebody wants this process to stop. Clones know the same.
#[derive(Clone)]
pub struct Stop {
    /// The number of the last signal; 0 until then.
    signal: Arc<AtomicUsize>,
    /// Standard input has ended.
    alone: Arc<AtomicBool>,
    writing: Arc<AtomicBool>,
}

impl Stop {
    /// Listens to signals from now on: they do not end the process any more.
    pub fn listen() -> Result<Stop> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            // Whoever asks twice means it.
            let asked = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register_conditional_shutdown(number, 128 + number, asked.clone())
                .and_then(|_| signal_hook::flag::register(number, asked))
                .and_then(|_| signal_hook::flag::register_usize(number, signal.clone(), number as usize))
                .context("cannot listen to signals")?;
        }
        Ok(Stop { signal, alone: Default::default(), writing: Default::default() })
    }

    /// Also stops when standard input ends, as it does when its writer dies, however that happened.
    pub fn with_input(self) -> Stop {
        let alone = self.alone.clone();
        spawn(move || {
            let mut rest = [0u8; 64];
            while std::io::stdin().read(&mut rest).is_ok_and(|n| n > 0) {}
            alone.store(true, Relaxed);
        });
        self
    }

    /// Whether somebody asked.
    pub fn asked(&self) -> bool {
        self.signal.load(Relaxed) != 0 || self.alone.load(Relaxed)
    }

    /// The program stops, and writes down where it is; that is given the time it takes.
    pub fn writing(&self) {
        self.writing.store(true, Relaxed);
    }

    /// What shells expect of a program that ended by a signal.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.number())
    }

    fn number(&self) -> u8 {
        match self.signal.load(Relaxed) as u8 {
            0 => 1,
            number => 128 + number,
        }
    }

    /// Ends the process soon after it was asked, wherever it is. To be used where everything that matters is on the disk at any
    /// time, such as in training: files are whole there or have not their name yet.
    pub fn insist(&self, last_words: impl Fn() + Send + 'static) {
        let stop = self.clone();
        spawn(move || {
            while !stop.asked() {
                sleep(TICK);
            }
            sleep(PATIENCE);
            if stop.writing.load(Relaxed) {
                sleep(WRITING);
            }
            last_words();
            std::process::exit(stop.number().into());
        });
    }
}
