//! Somebody who watches a fleet, with a certificate of its own and no right to send (feature `zenoh`).
//!
//! Members put signed words about themselves to `fleet/ID/status/THEMSELVES` now and then. An observer's certificate may listen
//! to those and to who is up, and to nothing else; nothing that it puts is let in by anybody.

use crate::config::Fleet;
use crate::error::{Error, Result};
use crate::keys::FileWatch;
use crate::member::Member;
use crate::message::{Header, MessageKind};
use crate::signer::Signer;
use crate::transport::{Ears, watch_status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What was heard of members last.
#[derive(Debug)]
struct Heard {
    members: BTreeMap<Member, (Instant, Value)>,
    forged: u64,
    verifier: Signer,
}

/// Watches a fleet.
#[derive(Debug)]
pub struct Observer {
    fleet: Mutex<(Fleet, Option<FileWatch>)>,
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
                "{} is not there: copy it from where the fleet was made; fleets of earlier versions have no observer",
                certificate.display()
            )));
        }
        let heard = Heard { members: BTreeMap::new(), forged: 0, verifier: fleet.verifier()? };
        let heard = Arc::new(Mutex::new(heard));
        let kept = heard.clone();
        let ears = watch_status(fleet, move |bytes| take(&kept, bytes))?;
        Ok(Observer { fleet: Mutex::new((fleet.clone(), None)), heard, ears })
    }

    /// The same observer, which takes newer fleet files from here as members do.
    pub fn following(self, file: &Path) -> Observer {
        let mut known = lock(&self.fleet);
        known.1 = Some(FileWatch::new(file, &known.0));
        drop(known);
        self
    }

    /// What is known of the fleet now.
    pub fn status(&self) -> Value {
        let mut held = lock(&self.fleet);
        let (fleet, watch) = &mut *held;
        let newer = watch.as_mut().map_or(Ok(None), |watch| watch.newer(fleet));
        let mut heard = lock(&self.heard);
        // A file that is not used changes nothing here; members say why.
        if let Ok(Some(newer)) = newer
            && let Ok(verifier) = newer.verifier()
        {
            (heard.verifier, *fleet) = (verifier, newer);
        }
        let up = self.ears.up();
        let member = |member: Member| {
            let last = heard.members.get(&member);
            json!({
                "name": member.to_string(),
                "up": up.get(&member).copied().unwrap_or(false),
                "revoked": fleet.is_revoked(member),
                "age": last.map(|(when, _)| when.elapsed().as_secs_f64()),
                "status": last.map(|(_, status)| status.clone()),
            })
        };
        let mut members: Vec<Value> = vec![member(Member::WORLD)];
        members.extend((0..fleet.agents()).map(|i| member(Member::agent(i))));
        json!({
            "live": true,
            "fleet": fleet.config.fleet,
            "number": fleet.config.number,
            "forged": heard.forged,
            "members": members,
        })
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps what a member said of itself, if it was that member who said it.
fn take(heard: &Mutex<Heard>, bytes: &[u8]) {
    let mut heard = lock(heard);
    let verifier = &heard.verifier;
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
