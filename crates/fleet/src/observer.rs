//! Somebody who watches a fleet, with a certificate of its own and no right to send (feature `zenoh`).
//!
//! Members put signed words about themselves to `fleet/ID/status/THEMSELVES` now and then. An observer's certificate may listen
//! to those and to who is up, and to nothing else; nothing that it puts is let in by anybody.

use crate::config::Fleet;
use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::{Header, MessageKind};
use crate::signer::Signer;
use crate::transport::{Ears, watch_status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What was heard of members last.
#[derive(Debug, Default)]
struct Heard {
    members: BTreeMap<Member, (Instant, Value)>,
    forged: u64,
}

/// Watches a fleet.
#[derive(Debug)]
pub struct Observer {
    fleet: Fleet,
    heard: Arc<Mutex<Heard>>,
    ears: Ears,
}

impl Observer {
    /// Connects to all members of a fleet, as its observer.
    ///
    /// # Errors
    /// If the observer's certificate is missing, or links are encrypted and the process was not started with
    /// [`crate::Zenoh::ENVIRONMENT`].
    pub fn open(fleet: &Fleet) -> Result<Observer> {
        let certificate = fleet.secret(Member::OBSERVER, crate::config::TLS_CERTIFICATE);
        if fleet.config.tls && !certificate.exists() {
            return Err(Error::BadFleet(format!(
                "{} is not there: a fleet that was made by an earlier version has no observer",
                certificate.display()
            )));
        }
        let (heard, verifier) = (Arc::new(Mutex::new(Heard::default())), fleet.verifier()?);
        let kept = heard.clone();
        let ears = watch_status(fleet, move |bytes| take(&kept, &verifier, bytes))?;
        Ok(Observer { fleet: fleet.clone(), heard, ears })
    }

    /// What is known of the fleet now.
    pub fn status(&self) -> Value {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let up = self.ears.up();
        let member = |member: Member| {
            let last = heard.members.get(&member);
            json!({
                "name": member.to_string(),
                "up": up.get(&member).copied().unwrap_or(false),
                "revoked": self.fleet.is_revoked(member),
                "age": last.map(|(when, _)| when.elapsed().as_secs_f64()),
                "status": last.map(|(_, status)| status.clone()),
            })
        };
        let mut members: Vec<Value> = vec![member(Member::WORLD)];
        members.extend((0..self.fleet.agents()).map(|i| member(Member::agent(i))));
        json!({ "live": true, "fleet": self.fleet.config.fleet, "forged": heard.forged, "members": members })
    }
}

/// Keeps what a member said of itself, if it was that member who said it.
fn take(heard: &Mutex<Heard>, verifier: &Signer, bytes: &[u8]) {
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let read = Header::read(bytes, verifier.overhead()).ok();
    let good = read.filter(|(header, _)| {
        header.kind == MessageKind::Status
            && header.receiver == Member::OBSERVER
            && verifier.holds(header.sender, bytes)
    });
    match good.and_then(|(header, payload)| Some((header.sender, serde_json::from_slice(payload).ok()?))) {
        Some((member, status)) => drop(heard.members.insert(member, (Instant::now(), status))),
        None => heard.forged += 1,
    }
}
