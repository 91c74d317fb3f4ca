//! The fleet file: one small TOML that every member reads.
//!
//! ```toml
//! fleet = "yard"
//! model = "model.safetensors"
//! tls = true
//!
//! [world]
//! name = "wildlife"
//! drones = 3
//! grid = 7
//!
//! [run]
//! episodes = 20
//!
//! [[member]]
//! name = "world"
//! address = "10.0.0.1:7400"
//! public_key = "(64 hexadecimal digits)"
//! ```
//!
//! Paths are relative to the file. A member's secrets are in `secrets/NAME/`, and only on that member's machine.

use crate::error::{Error, Result};
use crate::host::RunPlan;
use crate::member::Member;
use crate::signer::{Ring, Signer, from_hex, public_key};
use ed25519_dalek::SigningKey;
use equimarl_nn::Choice;
use equimarl_worlds::WorldConfig;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A fleet file is small; a larger one is a mistake.
const MAX_FILE: u64 = 4 << 20;

/// What a fleet file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetConfig {
    /// The fleet's name, part of every key on the network.
    pub fleet: String,
    /// Which of the fleet's files this is: newer ones have higher numbers.
    #[serde(default)]
    pub number: u64,
    /// The public key of who says who belongs to the fleet; empty in files of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub authority: String,
    /// Its signature over the members and the number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// The model file.
    pub model: PathBuf,
    /// Whether links are encrypted and both ends show certificates. Messages are signed in any case.
    #[serde(default = "yes")]
    pub tls: bool,
    /// The world. Which settings it has, the program that makes it knows.
    pub world: WorldConfig,
    /// What is run.
    #[serde(default)]
    pub run: RunConfig,
    /// All members.
    #[serde(rename = "member")]
    pub members: Vec<MemberConfig>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// How many episodes.
    pub episodes: u32,
    /// Their seed.
    pub seed: u64,
    /// Whether agents take their greedy action instead of drawing one.
    pub greedy: bool,
    /// Milliseconds that an agent waits for its neighbours in a round.
    pub deadline_ms: u64,
    /// The least milliseconds between two steps.
    pub period_ms: u64,
    /// Seconds that the world waits for its agents.
    pub gather_s: u64,
    /// When step 0 begins for agents with sensors of their own: seconds since the beginning of 1970.
    pub epoch_s: u64,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberConfig {
    /// `world`, `agent-0`, `agent-1`, ...
    pub name: String,
    /// Where it listens: host and port.
    pub address: String,
    /// Its public key: 64 hexadecimal digits.
    pub public_key: String,
    /// How often it got new keys.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renewed: u32,
    /// Whether it is excluded.
    #[serde(default, skip_serializing_if = "is_false")]
    pub revoked: bool,
}

impl MemberConfig {
    /// The name in its certificate: another one with every renewal, so that an old certificate is nobody's.
    pub fn certificate_name(&self) -> String {
        match self.renewed {
            0 => self.name.clone(),
            n => format!("{}+{n}", self.name),
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

fn yes() -> bool {
    true
}

impl Default for RunConfig {
    fn default() -> RunConfig {
        let plan = RunPlan::default();
        RunConfig {
            episodes: plan.episodes,
            seed: plan.seed,
            greedy: false,
            deadline_ms: plan.deadline.as_millis() as u64,
            period_ms: 0,
            gather_s: plan.gather.as_secs(),
            epoch_s: 0,
        }
    }
}

impl RunConfig {
    /// The plan that these numbers make.
    pub fn plan(&self) -> RunPlan {
        RunPlan {
            episodes: self.episodes,
            seed: self.seed,
            choice: if self.greedy { Choice::Greedy } else { Choice::Sampled },
            deadline: Duration::from_millis(self.deadline_ms),
            period: Duration::from_millis(self.period_ms),
            gather: Duration::from_secs(self.gather_s),
        }
    }
}

/// A fleet file and the folder that it is in.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// What it says.
    pub config: FleetConfig,
    folder: PathBuf,
    addresses: BTreeMap<Member, String>,
    /// Where a member listens that others reach under another address.
    listens: BTreeMap<Member, String>,
}

impl Fleet {
    /// Reads and checks a fleet file.
    ///
    /// # Errors
    /// With the file and the reason.
    pub fn load(path: &Path) -> Result<Fleet> {
        let found = std::fs::metadata(path).map_err(|why| Error::file(path, why))?;
        if !found.is_file() || found.len() > MAX_FILE {
            return Err(Error::BadFleet(format!("{}: this is no fleet file", path.display())));
        }
        let text = std::fs::read_to_string(path).map_err(|why| Error::file(path, why))?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Fleet::parse(&text, folder).map_err(|e| Error::BadFleet(format!("{}: {e}", path.display())))
    }

    /// Checks the text of a fleet file in `folder`.
    ///
    /// # Errors
    /// With the reason.
    pub fn parse(text: &str, folder: PathBuf) -> Result<Fleet> {
        let config = toml::from_str(text).map_err(|e| Error::BadFleet(place(text, &e)))?;
        Fleet::new(config, folder)
    }

    /// Checks a fleet whose files are in `folder`.
    ///
    /// # Errors
    /// With the reason.
    pub fn new(config: FleetConfig, folder: PathBuf) -> Result<Fleet> {
        let bad = |why: String| Err(Error::BadFleet(why));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if config.fleet.is_empty() || config.fleet.len() > 64 || !config.fleet.chars().all(plain) {
            return bad(format!("the fleet's name `{}` must be letters, digits, - and _", config.fleet));
        }
        let (mut addresses, mut keys) = (BTreeMap::new(), BTreeSet::new());
        for member in &config.members {
            let who: Member = member.name.parse().map_err(Error::BadFleet)?;
            if who == Member::OBSERVER {
                return bad("observers are no members; they need nothing but a certificate".into());
            }
            if split_address(&member.address).is_none() {
                return bad(format!("{who} has the address `{}`; write host:port", member.address));
            }
            if public_key(&member.public_key).is_none() {
                return bad(format!("the public key of {who} is none; fleet keys makes good ones"));
            }
            if !keys.insert(member.public_key.to_lowercase()) {
                return bad(format!("{who} has another member's public key"));
            }
            if addresses.insert(who, member.address.clone()).is_some() {
                return bad(format!("{who} is there twice"));
            }
        }
        let agents = addresses.len().saturating_sub(1);
        let complete = (0..agents).all(|i| addresses.contains_key(&Member::agent(i)));
        if !addresses.contains_key(&Member::WORLD) || agents == 0 || !complete {
            return bad("members must be world and agent-0, agent-1, ... without gaps".into());
        }
        crate::keys::check(&config)?;
        Ok(Fleet { config, folder, addresses, listens: BTreeMap::new() })
    }

    /// The same fleet, at the same places, with other members.
    pub(crate) fn with_members(&self, config: FleetConfig) -> Result<Fleet> {
        let fleet = Fleet::new(config, self.folder.clone())?;
        Ok(Fleet { listens: self.listens.clone(), ..fleet })
    }

    /// The name in a member's certificate.
    pub fn certificate_name(&self, member: Member) -> String {
        let name = member.to_string();
        let found = self.config.members.iter().find(|m| m.name == name);
        found.map_or(name, MemberConfig::certificate_name)
    }

    /// The number of agents.
    pub fn agents(&self) -> usize {
        self.addresses.len() - 1
    }

    /// Everybody.
    pub fn members(&self) -> impl Iterator<Item = Member> + '_ {
        self.addresses.keys().copied()
    }

    /// Where a member is found.
    pub fn address(&self, member: Member) -> Result<&str> {
        match self.addresses.get(&member) {
            Some(address) => Ok(address),
            None => Err(Error::BadFleet(format!(
                "{member} is not in this fleet; it has agent-0 to agent-{}",
                self.agents() - 1
            ))),
        }
    }

    /// Lets a member listen elsewhere than where others look for it: behind address translation, or on all interfaces.
    ///
    /// # Errors
    /// If this is no address, or nobody's.
    pub fn listen(&mut self, member: Member, address: &str) -> Result<()> {
        self.address(member)?;
        if split_address(address).is_none() {
            return Err(Error::BadFleet(format!("`{address}` is nowhere to listen; write host:port")));
        }
        self.listens.insert(member, address.into());
        Ok(())
    }

    /// Where a member listens.
    pub fn listens(&self, member: Member) -> Result<&str> {
        match self.listens.get(&member) {
            Some(address) => Ok(address),
            None => self.address(member),
        }
    }

    /// The model file.
    pub fn model(&self) -> PathBuf {
        self.folder.join(&self.config.model)
    }

    /// The certificate of the fleet's own authority.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// A file among a member's secrets.
    pub fn secret(&self, member: Member, file: &str) -> PathBuf {
        secret(&self.folder, member, file)
    }

    /// Everybody's public keys, for one who only listens.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn verifier(&self) -> Result<Signer> {
        let key = |m: &MemberConfig| Some((m.name.parse().ok()?, public_key(&m.public_key)?));
        let all = self.config.members.iter().filter(|m| !m.revoked).filter_map(key).collect();
        // It signs with a key that nobody knows.
        Ok(Signer::Signed(Box::new(Ring::new(crate::signer::new_key()?, all))))
    }

    /// A member's key and everybody's public keys.
    ///
    /// # Errors
    /// If the key is not there, or is not the one whose public half the fleet file has.
    pub fn signer(&self, member: Member) -> Result<Signer> {
        self.address(member)?;
        if self.is_revoked(member) {
            return Err(Error::BadFleet(format!(
                "{member} is revoked by number {} of the fleet file; `fleet keys --renew {member}` lets it in again",
                self.config.number
            )));
        }
        let path = self.secret(member, SIGNING_KEY);
        let text = std::fs::read_to_string(&path).map_err(|why| Error::file(&path, why))?;
        let Some(bytes) = from_hex(&text) else {
            return Err(Error::BadFleet(format!("{}: this is no signing key", path.display())));
        };
        let own = SigningKey::from_bytes(&bytes);
        let key = |m: &MemberConfig| Some((m.name.parse().ok()?, public_key(&m.public_key)?));
        let members = self.config.members.iter().filter(|m| !m.revoked);
        let all: BTreeMap<Member, _> = members.filter_map(key).collect();
        if all.get(&member) != Some(&own.verifying_key()) {
            return Err(Error::BadFleet(format!(
                "{}: its public half is not the key that the fleet file has for {member}",
                path.display()
            )));
        }
        Ok(Signer::Signed(Box::new(Ring::new(own, all))))
    }
}

/// The file with a member's signing key.
pub const SIGNING_KEY: &str = "signing.key";
/// The file with a member's TLS key.
#[cfg(feature = "zenoh")]
pub const TLS_KEY: &str = "tls.key.pem";
/// The file with a member's certificate.
#[cfg(feature = "zenoh")]
pub const TLS_CERTIFICATE: &str = "tls.pem";

/// A file among a member's secrets.
pub(crate) fn secret(folder: &Path, member: Member, file: &str) -> PathBuf {
    folder.join("secrets").join(member.to_string()).join(file)
}

/// Host and port of an address.
pub fn split_address(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let port: u16 = port.parse().ok().filter(|&p| p != 0)?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').filter(|h| h.contains(':'))?,
        None => host,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    (!host.is_empty() && host.chars().all(plain)).then_some((host, port))
}

/// What is wrong where, in a line: toml's own text draws it over several.
fn place(text: &str, wrong: &toml::de::Error) -> String {
    let before = wrong.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let number = before.matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default().trim();
    let line: String = line.chars().filter(|c| !c.is_control()).take(60).collect();
    let what = wrong.message().trim_end().replace('\n', " ");
    match line.is_empty() {
        true => what,
        false => format!("line {} (`{line}`): {what}", number + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signer::{new_key, to_hex};

    fn text(members: &[(&str, &str)]) -> String {
        let mut text =
            "fleet = \"yard\"\nmodel = \"m\"\n[world]\nname = \"wildlife\"\ndrones = 2\ngrid = 7\n"
                .to_string();
        for (name, address) in members {
            let key = to_hex(new_key().unwrap().verifying_key().as_bytes());
            text +=
                &format!("[[member]]\nname = \"{name}\"\naddress = \"{address}\"\npublic_key = \"{key}\"\n");
        }
        text
    }

    const GOOD: [(&str, &str); 3] =
        [("world", "10.0.0.1:7400"), ("agent-0", "host.lan:1"), ("agent-1", "[::1]:7402")];

    #[test]
    fn a_good_file_is_read() {
        let fleet = Fleet::parse(&text(&GOOD), "here".into()).unwrap();
        assert_eq!(fleet.agents(), 2);
        assert_eq!(fleet.address(Member::agent(0)).unwrap(), "host.lan:1");
        assert_eq!(fleet.config.run, RunConfig::default());
        assert!(fleet.config.tls);
        assert!(fleet.address(Member::agent(2)).unwrap_err().to_string().contains("agent-0 to agent-1"));
        let again = Fleet::parse(&toml::to_string(&fleet.config).unwrap(), "here".into()).unwrap();
        assert_eq!(again.config, fleet.config);
    }

    #[test]
    fn a_file_of_the_first_house_is_read_and_its_keys_fit() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/first-house/fleet/yard/fleet.toml");
        let fleet = Fleet::load(Path::new(path)).unwrap();
        assert_eq!((fleet.agents(), fleet.config.tls, fleet.config.run.episodes), (3, false, 2));
        let world = equimarl_worlds::builtin().complete(&fleet.config.world).unwrap();
        assert_eq!(world, equimarl_worlds::builtin().usual("wildlife").unwrap());
        fleet.members().for_each(|member| drop(fleet.signer(member).unwrap()));
    }

    #[test]
    fn options_that_a_world_does_not_have_are_refused_by_who_makes_it() {
        let fleet = Fleet::parse(&text(&GOOD).replace("grid", "gird"), PathBuf::new()).unwrap();
        let error = equimarl_worlds::builtin().complete(&fleet.config.world).unwrap_err().to_string();
        assert!(error.contains("no option `gird`"), "{error}");
        // A world that this program does not know is no reason not to read a fleet file.
        Fleet::parse(&text(&GOOD).replace("wildlife", "harbour"), PathBuf::new()).unwrap();
    }

    #[test]
    fn wrong_files_are_refused_with_the_reason() {
        let good = text(&GOOD);
        let gap = text(&[GOOD[0], GOOD[1], ("agent-2", "h:2")]);
        let twice = text(&[GOOD[0], GOOD[1], GOOD[1]]);
        let cases = [
            (good.replace("yard", "a/b"), "letters, digits"),
            (good.replace("yard", "**"), "letters, digits"),
            (good.replace("grid = 7", "grid = [7]"), "`world.grid` must be"),
            (good.replace("grid = 7", "grid = 7\ngrid = 8"), "grid"),
            (good.replace("name = \"wildlife\"", ""), "missing field `name`"),
            (good.replace("[world]", "[world]\n[planet]"), "planet"),
            (good.replace("10.0.0.1:7400", "10.0.0.1"), "host:port"),
            (good.replace("10.0.0.1:7400", "a;b:7"), "host:port"),
            (good.replace("public_key = \"", "public_key = \"0"), "public key"),
            (gap, "without gaps"),
            (twice, "twice"),
            (text(&GOOD[1..]), "without gaps"),
        ];
        for (text, why) in cases {
            let error = Fleet::parse(&text, PathBuf::new()).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }
}
