//! Keys that change while a fleet runs: members are revoked and get new keys by a new fleet file with a higher number.
//!
//! The authority signs who belongs to the fleet (names, addresses, keys, who is revoked) and the number; `[run]` and `[world]` are
//! everybody's own. A member takes a newer file while it runs, refuses an older one, and remembers the highest number that it
//! has seen, so that an old file does not count after a start either.

#[cfg(feature = "zenoh")]
use crate::certificates::{certificate, issuer};
use crate::config::{Fleet, FleetConfig, SIGNING_KEY, secret};
#[cfg(feature = "zenoh")]
use crate::config::{TLS_CERTIFICATE, TLS_KEY};
use crate::error::{Error, Result};
use crate::member::Member;
use crate::signer::{from_hex, new_key, public_key, to_hex};
use ed25519_dalek::{Signature, Signer as _, SigningKey};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The file with the key that signs fleet files.
pub(crate) const AUTHORITY_KEY: &str = "authority.signing.key";
/// The file in which a member remembers the highest number that it has seen.
const SEEN: &str = "number";
/// The file beside the authority's keys that has the highest number of a file that was made.
const MADE: &str = "authority.number";
/// How often a member looks for a new fleet file.
const LOOK: Duration = Duration::from_millis(300);
/// A signature made for anything else is none of ours.
const DOMAIN: &str = "equimarl fleet members, version 1\n";

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A member is excluded.
    Revoke,
    /// A member gets new keys; the old ones are worth nothing any more.
    Renew {
        /// How long its new certificate is good.
        years: u32,
    },
}

/// What the authority signs: who belongs to the fleet.
fn signed(config: &FleetConfig) -> Vec<u8> {
    let mut text = format!("{DOMAIN}{}\n{}\n{}\n", config.fleet, config.number, config.tls);
    for m in &config.members {
        text += &format!(
            "{} {} {} {} {}\n",
            m.name,
            m.address,
            m.public_key.to_lowercase(),
            m.renewed,
            m.revoked
        );
    }
    text.into_bytes()
}

/// Signs who belongs to the fleet.
pub(crate) fn sign(config: &mut FleetConfig, key: &SigningKey) {
    config.authority = to_hex(key.verifying_key().as_bytes());
    config.signature = key.sign(&signed(config)).to_bytes().iter().map(|b| format!("{b:02x}")).collect();
}

/// Refuses a fleet whose members are not what its authority signed. Files of earlier versions have no authority, and nothing
/// changes in them.
pub(crate) fn check(config: &FleetConfig) -> Result<()> {
    let bad = |why: &str| Err(Error::BadFleet(why.into()));
    if config.authority.is_empty() {
        let changed = config.number > 0 || config.members.iter().any(|m| m.revoked || m.renewed > 0);
        return if changed { bad("nobody has signed this fleet file") } else { Ok(()) };
    }
    let Some(key) = public_key(&config.authority) else { return bad("the authority's key is none") };
    let (front, back) = config.signature.split_at_checked(64).unwrap_or_default();
    let halves = (from_hex(front), from_hex(back));
    let (Some(front), Some(back)) = halves else { return bad("the signature of the authority is none") };
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&front);
    bytes[32..].copy_from_slice(&back);
    match key.verify_strict(&signed(config), &Signature::from_bytes(&bytes)) {
        Ok(()) => Ok(()),
        Err(_) => bad(
            "its members are not what the fleet's authority signed; copy the file again from where it was made",
        ),
    }
}

/// Revokes or renews a member: writes its new keys and a new fleet file with the next number.
///
/// # Errors
/// If the authority's keys are not there, or there is no such member.
pub fn change(file: &Path, member: Member, change: Change) -> Result<Fleet> {
    let fleet = Fleet::load(file)?;
    if member == Member::OBSERVER {
        // It has a certificate and no entry: nothing that it could sign counts anywhere.
        return Err(Error::BadFleet(
            "the observer is not among the members that the authority signs, so it is neither revoked nor renewed; a new fleet \
             shuts it out"
                .into(),
        ));
    }
    fleet.address(member)?;
    let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
    if fleet.config.authority.is_empty() {
        return Err(Error::BadFleet(format!(
            "{} was made by an earlier version, whose members cannot be changed; make a new fleet",
            file.display()
        )));
    }
    let path = folder.join("secrets").join(AUTHORITY_KEY);
    let text = fs::read_to_string(&path).map_err(|why| Error::file(&path, why))?;
    let authority = from_hex(&text).map(|bytes| SigningKey::from_bytes(&bytes));
    let authority = authority.filter(|key| to_hex(key.verifying_key().as_bytes()) == fleet.config.authority);
    let Some(authority) = authority else {
        return Err(Error::BadFleet(format!(
            "{}: this is not the key of the fleet's authority",
            path.display()
        )));
    };
    // Two files with one number would be two fleets: members keep to the first that they see, and refuse the other.
    let counter = folder.join("secrets").join(MADE);
    let (number, made) = (fleet.config.number, read_number(&counter));
    if number < made {
        return Err(Error::BadFleet(format!(
            "{} has number {number}, and number {made} has been made: change the newest one",
            file.display()
        )));
    }
    let mut config = fleet.config.clone();
    config.number += 1;
    let name = member.to_string();
    for found in config.members.iter_mut().filter(|m| m.name == name) {
        match change {
            Change::Revoke if found.revoked => {
                return Err(Error::BadFleet(format!("{name} is revoked already")));
            }
            Change::Revoke => found.revoked = true,
            Change::Renew { years } => {
                found.revoked = false;
                found.renewed += 1;
                let key = new_key()?;
                found.public_key = to_hex(key.verifying_key().as_bytes());
                if fleet.config.tls {
                    new_certificate(&fleet, &folder, member, &found.certificate_name(), years)?;
                }
                replace(&secret(&folder, member, SIGNING_KEY), to_hex(key.as_bytes()).as_bytes(), true)?;
            }
        }
    }
    sign(&mut config, &authority);
    let fleet = Fleet::new(config, folder)?;
    replace(file, crate::founding::text(&fleet.config)?.as_bytes(), false)?;
    // Last: a counter that is behind does no harm, and one that is ahead would refuse the file that is there.
    replace(&counter, format!("{}\n", fleet.config.number).as_bytes(), false)?;
    Ok(fleet)
}

#[cfg(feature = "zenoh")]
fn new_certificate(fleet: &Fleet, folder: &Path, member: Member, name: &str, years: u32) -> Result<()> {
    let path = folder.join("secrets/authority.key.pem");
    let key = fs::read_to_string(&path).map_err(|why| Error::file(&path, why))?;
    let issuer = issuer(&fleet.config.fleet, &key)?;
    let (certificate, key) = certificate((member, name), fleet.address(member)?, years, &issuer)?;
    replace(&secret(folder, member, TLS_KEY), key.as_bytes(), true)?;
    replace(&secret(folder, member, TLS_CERTIFICATE), certificate.as_bytes(), false)
}

#[cfg(not(feature = "zenoh"))]
fn new_certificate(_: &Fleet, _: &Path, _: Member, _: &str, _: u32) -> Result<()> {
    Err(Error::BadFleet(
        "certificates come with the network part of this program: build it with `--features zenoh`".into(),
    ))
}

fn read_number(path: &Path) -> u64 {
    fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Writes a file in one step: whoever reads it meanwhile reads the old one or the new one, whole.
fn replace(path: &Path, bytes: &[u8], private: bool) -> Result<()> {
    let draft = path.with_extension("draft");
    let _ = fs::remove_file(&draft);
    crate::founding::write(&draft, bytes, private)?;
    fs::rename(&draft, path).map_err(|why| Error::file(path, why))
}

impl Fleet {
    /// Refuses a file that is older than one that this member has seen, and remembers its number.
    ///
    /// # Errors
    /// If it is older.
    pub fn remember(&self, me: Member) -> Result<()> {
        let path = self.secret(me, SEEN);
        let seen = read_number(&path);
        let number = self.config.number;
        if number < seen {
            return Err(Error::BadFleet(format!(
                "this fleet file has number {number}, and {me} has seen number {seen}: old ones are not used"
            )));
        }
        if number > seen {
            replace(&path, format!("{number}\n").as_bytes(), false)?;
        }
        Ok(())
    }

    /// Whether a member is excluded.
    pub fn is_revoked(&self, member: Member) -> bool {
        let name = member.to_string();
        self.config.members.iter().any(|m| m.revoked && m.name == name)
    }

    /// The same fleet with the members of a newer file, or why that is not taken.
    ///
    /// # Errors
    /// If it is another fleet's, another authority's, or not newer.
    pub fn follow(&self, newer: Fleet) -> Result<Fleet> {
        let (old, new) = (&self.config, &newer.config);
        if new.fleet != old.fleet || new.authority != old.authority || new.tls != old.tls {
            return Err(Error::BadFleet("it is of another fleet or authority".into()));
        }
        if new.number <= old.number {
            return Err(Error::BadFleet(format!(
                "it has number {}, and number {} is in use: old ones are not used",
                new.number, old.number
            )));
        }
        if newer.agents() != self.agents() {
            return Err(Error::BadFleet("it has another number of agents".into()));
        }
        let mut config = old.clone();
        (config.number, config.signature) = (new.number, new.signature.clone());
        config.members = new.members.clone();
        self.with_members(config)
    }
}

/// Looks for newer fleet files.
#[derive(Debug)]
pub struct FileWatch {
    path: PathBuf,
    stamp: Option<(SystemTime, u64)>,
    looked: Instant,
}

impl FileWatch {
    /// Watches this file from now on. It may have changed between when this fleet was loaded from it and now, and whoever took a
    /// stamp here without looking would never know. So it is read once, before anybody waits for an answer: if it is not this
    /// fleet, the first look reads it whatever its stamp is.
    pub fn new(path: &Path, fleet: &Fleet) -> FileWatch {
        let now = stamp(path);
        let same = fs::read_to_string(path)
            .ok()
            .and_then(|text| toml::from_str::<FleetConfig>(&text).ok())
            .is_some_and(|found| is_same(&found, &fleet.config));
        FileWatch { path: path.into(), stamp: now.filter(|_| same), looked: Instant::now() }
    }

    /// A newer fleet, if the file is one now; an error if it has changed and is not used. Looks now and then only.
    ///
    /// # Errors
    /// If the file is not used; the fleet stays as it was.
    pub fn newer(&mut self, fleet: &Fleet) -> Result<Option<Fleet>> {
        if self.looked.elapsed() < LOOK {
            return Ok(None);
        }
        self.looked = Instant::now();
        let now = stamp(&self.path);
        if now.is_none() || now == self.stamp {
            return Ok(None);
        }
        self.stamp = now;
        let found = Fleet::load(&self.path)?;
        if is_same(&found.config, &fleet.config) {
            return Ok(None);
        }
        fleet.follow(found).map(Some)
    }

    /// How long ago the file that was looked at last was written, by the clock of this machine: how long keys that are revoked
    /// stayed in use. Nothing if nobody knows.
    pub fn age(&self) -> Option<Duration> {
        self.stamp?.0.elapsed().ok()
    }
}

fn is_same(a: &FleetConfig, b: &FleetConfig) -> bool {
    a.number == b.number && a.signature == b.signature
}

/// What a member says when it has taken a newer fleet file and closed the links that it had under the older one.
pub fn taken(fleet: &Fleet, age: Option<Duration>) -> String {
    let number = fleet.config.number;
    match age {
        Some(age) => format!(
            "the fleet file has number {number} now; its links were closed {:.2} s after it was written",
            age.as_secs_f64()
        ),
        None => format!("the fleet file has number {number} now; its links were closed"),
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::founding::{Founding, found};

    fn made(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("equimarl-keys-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let what = Founding {
            fleet: "yard".into(),
            model: "none".into(),
            world: equimarl_worlds::builtin().usual("wildlife").unwrap(),
            run: Default::default(),
            tls: false,
            addresses: (0..4).map(|i| format!("127.0.0.1:{}", 7400 + i)).collect(),
            years: 1,
        };
        found(&folder, &what).unwrap();
        folder
    }

    #[test]
    fn members_are_revoked_and_renewed_by_signed_files_with_higher_numbers() {
        let folder = made("change");
        let file = folder.join("fleet.toml");
        let (a, b) = (Member::agent(1), Member::agent(2));
        let first = Fleet::load(&file).unwrap();
        let old = fs::read(&file).unwrap();
        let before = first.signer(a).unwrap();
        let sealed = before.signer(b"hello".to_vec());
        assert_eq!(first.config.number, 0);
        let second = change(&file, b, Change::Revoke).unwrap();
        assert_eq!((second.config.number, second.is_revoked(b), second.is_revoked(a)), (1, true, false));
        assert!(second.signer(b).unwrap_err().to_string().contains("revoked"));
        let signed_by_b = first.signer(b).unwrap().signer(b"hello".to_vec());
        assert!(first.signer(a).unwrap().holds(b, &signed_by_b));
        assert!(!second.signer(a).unwrap().holds(b, &signed_by_b), "its key is gone");
        assert!(change(&file, b, Change::Revoke).unwrap_err().to_string().contains("already"));
        let error = change(&file, Member::OBSERVER, Change::Revoke).unwrap_err().to_string();
        assert!(error.contains("a new fleet shuts it out") && !error.contains('\n'), "{error}");
        let third = change(&file, a, Change::Renew { years: 1 }).unwrap();
        assert_eq!(third.config.number, 2);
        assert!(!third.signer(Member::WORLD).unwrap().holds(a, &sealed), "the old key");
        let fresh = third.signer(a).unwrap().signer(b"hello".to_vec());
        assert!(third.signer(Member::WORLD).unwrap().holds(a, &fresh));
        // A newer file is taken once, an older one never, not even after a start.
        let again = first.follow(Fleet::load(&file).unwrap()).unwrap();
        assert_eq!(again.config, third.config);
        again.remember(a).unwrap();
        fs::write(&file, &old).unwrap();
        let replayed = Fleet::load(&file).unwrap();
        assert!(third.follow(replayed.clone()).unwrap_err().to_string().contains("number 2 is in use"));
        let error = replayed.remember(a).unwrap_err().to_string();
        assert_eq!(
            error,
            "this fleet file has number 0, and agent-1 has seen number 2: old ones are not used"
        );
        // Nor is it changed: there would be two files with one number.
        let error = change(&file, a, Change::Revoke).unwrap_err().to_string();
        assert!(
            error.contains("has number 0, and number 2 has been made") && !error.contains('\n'),
            "{error}"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_revocation_between_loading_and_watching_is_seen() {
        let folder = made("between");
        let file = folder.join("fleet.toml");
        let loaded = Fleet::load(&file).unwrap();
        change(&file, Member::agent(2), Change::Revoke).unwrap();
        let mut watch = FileWatch::new(&file, &loaded);
        assert!(watch.newer(&loaded).unwrap().is_none(), "it looks now and then only");
        std::thread::sleep(LOOK);
        let newer = watch.newer(&loaded).unwrap().expect("it is newer than what was loaded");
        assert!(newer.is_revoked(Member::agent(2)));
        // What is in use already is no news.
        std::thread::sleep(LOOK);
        assert!(FileWatch { stamp: None, ..watch }.newer(&newer).unwrap().is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn changed_members_are_not_believed_and_a_changed_run_is() {
        let folder = made("signed");
        let file = folder.join("fleet.toml");
        let text = fs::read_to_string(&file).unwrap();
        let run = text.replace("episodes = 20", "episodes = 7");
        assert_ne!(run, text);
        assert_eq!(Fleet::parse(&run, folder.clone()).unwrap().config.run.episodes, 7);
        for (from, to) in [
            ("127.0.0.1:7402", "127.0.0.1:7999"),
            ("number = 0", "number = 9"),
            ("name = \"agent-2\"", "revoked = true\nname = \"agent-2\""),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let error = Fleet::parse(&changed, folder.clone()).unwrap_err().to_string();
            assert!(error.contains("not what the fleet's authority signed"), "{error}");
        }
        // Another authority signs another fleet.
        let mut other = Fleet::load(&file).unwrap().config;
        other.number = 5;
        sign(&mut other, &new_key().unwrap());
        let other = Fleet::new(other, folder.clone()).unwrap();
        assert!(
            Fleet::load(&file)
                .unwrap()
                .follow(other)
                .unwrap_err()
                .to_string()
                .contains("another fleet or authority")
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
