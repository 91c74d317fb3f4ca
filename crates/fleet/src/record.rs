//! A record of who said what to whom and when: one line of JSON per message and per step.
//!
//! Messages and steps say when they were written by the machine's clock (`at`, seconds since 1970), so that the records of several
//! processes of one machine can be laid side by side: what was late, and at whose end.

use crate::error::{Error, Result};
use crate::host::Moment;
use crate::message::{Header, MessageKind};
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

/// Listens to the messages of a process. Clones write to the same file.
#[derive(Clone, Debug)]
pub struct MessageLog {
    file: Arc<Mutex<BufWriter<File>>>,
    start: Instant,
}

impl MessageLog {
    /// Writes to a new file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: &Path) -> Result<MessageLog> {
        let file = File::create(path).map_err(|why| Error::file(path, why))?;
        Ok(MessageLog { file: Arc::new(Mutex::new(BufWriter::new(file))), start: Instant::now() })
    }

    /// A message was sent.
    pub fn sent(&self, bytes: &[u8]) {
        self.message("sent", bytes);
    }

    /// A message arrived, whatever it is.
    pub fn received(&self, bytes: &[u8]) {
        self.message("received", bytes);
    }

    fn message(&self, what: &str, bytes: &[u8]) {
        let Some(header) = Header::peek(bytes) else {
            return self.line(&json!({ "what": what, "at": now(), "kind": "none", "bytes": bytes.len() }));
        };
        self.line(&json!({
            "what": what,
            "at": now(),
            "kind": header.kind.name(),
            "from": header.sender.to_string(),
            "to": header.receiver.to_string(),
            "episode": header.place.episode,
            "step": header.place.step,
            "round": (header.kind == MessageKind::Features).then_some(header.round),
            "bytes": bytes.len(),
        }));
    }

    /// A step was taken.
    pub fn moment(&self, moment: &Moment) {
        let said: Vec<_> = moment
            .said
            .iter()
            .map(|said| said.as_ref().map(|a| json!({ "p": a.log_probabilities, "missed": a.missed })))
            .collect();
        self.line(&json!({
            "what": "step",
            "at": now(),
            "ms": self.start.elapsed().as_secs_f64() * 1e3,
            "episode": moment.place.episode,
            "step": moment.place.step,
            "edges": moment.edges,
            "actions": match moment.actions.is_vectors() {
                false => json!(moment.actions.choices),
                true => json!(moment.actions.vectors),
            },
            "said": said,
        }));
    }

    /// What this record is of, for whoever checks it.
    pub fn about(&self, about: &serde_json::Value) {
        self.line(&json!({ "what": "run", "about": about }));
    }

    fn line(&self, value: &serde_json::Value) {
        // A full disk must not stop a fleet. What is missing from a record is found when it is checked.
        if let Ok(mut file) = self.file.lock() {
            let _ = writeln!(file, "{value}");
        }
    }

    /// Writes out what is still in memory.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn flush(&self) -> Result<()> {
        match self.file.lock() {
            Ok(mut file) => {
                file.flush().map_err(|why| Error::Failed(format!("cannot write the record: {why}")))
            }
            Err(_) => Ok(()),
        }
    }
}

/// The machine's clock, to a microsecond.
fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |t| t.as_micros() as f64 / 1e6)
}
