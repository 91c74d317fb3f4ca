//! What people see while something takes long: nothing for a moment, then how far it is.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(50);
/// Who is done by then needs no words.
const FIRST: Duration = Duration::from_secs(1);
/// Between plain lines, where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Says on standard error that something goes on, until it is dropped.
pub struct Waiting {
    done: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// For `what` ("solving"), of which there are so many parts, if that is known.
    pub fn for_(what: impl Into<String>, of: Option<u64>) -> Waiting {
        let (what, done, over) = (what.into(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, end) = (done.clone(), over.clone());
        let live = std::io::stderr().is_terminal();
        let thread = spawn(move || {
            let (start, mut next) = (Instant::now(), FIRST);
            while !end.load(Relaxed) {
                if start.elapsed() >= next {
                    next = start.elapsed() + if live { 2 * TICK } else { BETWEEN_LINES };
                    let text = line(&what, seen.load(Relaxed), of, start.elapsed());
                    let (before, after) = if live { ("\r\x1b[K", "") } else { ("", "\n") };
                    // Nobody to tell is no reason to stop.
                    let _ = write!(std::io::stderr(), "{before}{text}{after}");
                }
                sleep(TICK);
            }
            if live {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        });
        Waiting { done, over, thread: Some(thread) }
    }

    /// So many parts are done.
    pub fn at(&self, done: u64) {
        self.done.store(done, Relaxed);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only writes; if that failed, there is nothing to tell.
            let _ = thread.join();
        }
    }
}

fn line(what: &str, done: u64, of: Option<u64>, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match of {
        None => format!("{what}, {seconds:.0} s so far"),
        Some(of) if done == 0 => format!("{what}: none of {} yet, {seconds:.0} s so far", grouped(of)),
        Some(of) => {
            let left = seconds / done as f64 * of.saturating_sub(done) as f64;
            format!("{what}: {} of {}, {} left", grouped(done), grouped(of), duration(left))
        }
    }
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Seconds for people: 8 s, 3 min, 5 h, 2 days.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "?".into(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s if s < 2.0 * 86_400.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_how_far_it_is() {
        let s = Duration::from_secs;
        assert_eq!(line("solving", 0, None, s(12)), "solving, 12 s so far");
        assert_eq!(line("playing", 0, Some(1000), s(2)), "playing: none of 1,000 yet, 2 s so far");
        assert_eq!(line("playing", 250, Some(1000), s(2)), "playing: 250 of 1,000, 6 s left");
        assert_eq!(
            line("playing", 1, Some(10u64.pow(12)), s(1)),
            "playing: 1 of 1,000,000,000,000, 11574074 days left"
        );
        assert_eq!(grouped(0), "0");
        assert_eq!(duration(3.0 * 3600.0), "3 h");
    }
}
