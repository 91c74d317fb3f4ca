//! A new fleet: everybody's signing keys, certificates for encrypted links, and the fleet file.

#[cfg(feature = "zenoh")]
use crate::certificates::{authority, certificate};
use crate::config::{Fleet, FleetConfig, MemberConfig, RunConfig, SIGNING_KEY, secret};
#[cfg(feature = "zenoh")]
use crate::config::{TLS_CERTIFICATE, TLS_KEY};
use crate::error::{Error, Result};
use crate::keys::AUTHORITY_KEY;
use crate::member::Member;
use crate::signer::{new_key, to_hex};
use equimarl_worlds::WorldConfig;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// What to make keys for.
#[derive(Clone, Debug)]
pub struct Founding {
    /// The fleet's name.
    pub fleet: String,
    /// The model file, relative to the folder.
    pub model: String,
    /// The world.
    pub world: WorldConfig,
    /// What is run.
    pub run: RunConfig,
    /// Whether links are encrypted.
    pub tls: bool,
    /// Where the world and then the agents listen.
    pub addresses: Vec<String>,
    /// How long certificates are good.
    pub years: u32,
}

/// Makes a fleet: keys, certificates and the fleet file, in `folder`.
///
/// # Errors
/// If an address is none, or files cannot be written or are there already.
pub fn found(folder: &Path, what: &Founding) -> Result<Fleet> {
    let file = folder.join("fleet.toml");
    if file.exists() {
        return Err(Error::BadFleet(format!(
            "{} is there already; its keys are in use, so choose another folder",
            file.display()
        )));
    }
    let members: Vec<(Member, &String)> =
        std::iter::once(Member::WORLD).chain((0..).map(Member::agent)).zip(&what.addresses).collect();
    let mut config = FleetConfig {
        fleet: what.fleet.clone(),
        number: 0,
        authority: String::new(),
        signature: String::new(),
        model: what.model.clone().into(),
        tls: what.tls,
        world: what.world.clone(),
        run: what.run.clone(),
        members: vec![],
    };
    let mut keys = vec![];
    for (member, address) in &members {
        let key = new_key()?;
        config.members.push(MemberConfig {
            name: member.to_string(),
            address: address.to_string(),
            public_key: to_hex(key.verifying_key().as_bytes()),
            renewed: 0,
            revoked: false,
        });
        keys.push(key);
    }
    let authority = new_key()?;
    crate::keys::sign(&mut config, &authority);
    let fleet = Fleet::new(config.clone(), folder.to_path_buf())?;
    if what.tls {
        write_certificates(&fleet, folder, what, &members)?;
    }
    for ((member, _), key) in members.iter().zip(&keys) {
        write(&secret(folder, *member, SIGNING_KEY), to_hex(key.as_bytes()).as_bytes(), true)?;
    }
    write(&folder.join("secrets").join(AUTHORITY_KEY), to_hex(authority.as_bytes()).as_bytes(), true)?;
    write(&file, text(&config)?.as_bytes(), false)?;
    Ok(fleet)
}

/// The text of a fleet file.
pub(crate) fn text(config: &FleetConfig) -> Result<String> {
    let text =
        toml::to_string(config).map_err(|e| Error::BadFleet(format!("cannot write the fleet: {e}")))?;
    let head = "# Every member reads this file. Each machine also needs the model, authority.pem and its own\n\
                # folder under secrets/, and nobody else's. Change [run] as you like; members are signed.\n";
    Ok(format!("{head}{text}"))
}

#[cfg(feature = "zenoh")]
fn write_certificates(
    fleet: &Fleet,
    folder: &Path,
    what: &Founding,
    members: &[(Member, &String)],
) -> Result<()> {
    let authority = authority(what)?;
    write(&fleet.authority(), authority.pem().as_bytes(), false)?;
    write(&folder.join("secrets/authority.key.pem"), authority.key().serialize_pem().as_bytes(), true)?;
    for (member, address) in members {
        let name = member.to_string();
        let (certificate, key) = certificate((*member, &name), address, what.years, &authority)?;
        write(&secret(folder, *member, TLS_KEY), key.as_bytes(), true)?;
        write(&secret(folder, *member, TLS_CERTIFICATE), certificate.as_bytes(), false)?;
    }
    // Who watches listens nowhere, so its address says nothing.
    let who = Member::OBSERVER;
    let (certificate, key) = certificate((who, &who.to_string()), "127.0.0.1:1", what.years, &authority)?;
    write(&secret(folder, who, TLS_KEY), key.as_bytes(), true)?;
    write(&secret(folder, who, TLS_CERTIFICATE), certificate.as_bytes(), false)?;
    Ok(())
}

#[cfg(not(feature = "zenoh"))]
fn write_certificates(_: &Fleet, _: &Path, _: &Founding, _: &[(Member, &String)]) -> Result<()> {
    Err(Error::BadFleet(
        "certificates for encrypted links come with the network part of this program: build it with `--features zenoh`, or \
         leave links open with --no-tls (messages are signed all the same)"
            .into(),
    ))
}

/// Writes a new file; a secret one only its owner may read.
pub(crate) fn write(path: &Path, bytes: &[u8], private: bool) -> Result<()> {
    let failed = |why| Error::file(path, why);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if private { 0o600 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = private;
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)
}
