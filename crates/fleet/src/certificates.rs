//! A private authority and one certificate per member (feature `zenoh`), and everybody's signing keys.

use crate::config::{
    Fleet, FleetConfig, MemberConfig, RunConfig, SIGNING_KEY, TLS_CERTIFICATE, TLS_KEY, secret, split_address,
};
use crate::error::{Error, Result};
use crate::member::Member;
use crate::signer::{new_key, random, to_hex};
use equimarl_worlds::WorldConfig;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

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
        });
        keys.push(key);
    }
    let fleet = Fleet::new(config.clone(), folder.to_path_buf())?;
    let authority = what.tls.then(|| authority(what)).transpose()?;
    if let Some(authority) = &authority {
        write(&fleet.authority(), authority.pem().as_bytes(), false)?;
        write(&folder.join("secrets/authority.key.pem"), authority.key().serialize_pem().as_bytes(), true)?;
    }
    for ((member, address), key) in members.iter().zip(&keys) {
        write(&secret(folder, *member, SIGNING_KEY), to_hex(key.as_bytes()).as_bytes(), true)?;
        if let Some(authority) = &authority {
            let (certificate, key) = certificate(*member, address, what, authority)?;
            write(&secret(folder, *member, TLS_KEY), key.as_bytes(), true)?;
            write(&secret(folder, *member, TLS_CERTIFICATE), certificate.as_bytes(), false)?;
        }
    }
    let text =
        toml::to_string(&config).map_err(|e| Error::BadFleet(format!("cannot write the fleet: {e}")))?;
    let head = "# Every member reads this file. Each machine also needs the model, authority.pem and its own\n\
                # folder under secrets/, and nobody else's.\n";
    write(&file, format!("{head}{text}").as_bytes(), false)?;
    Ok(fleet)
}

fn wrong(e: rcgen::Error) -> Error {
    Error::BadFleet(format!("cannot make a certificate: {e}"))
}

fn authority(what: &Founding) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = named(&format!("equimarl fleet {}", what.fleet), what)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().map_err(wrong)?).map_err(wrong)
}

/// A certificate that names the member and the address where it listens, and its key.
fn certificate(
    member: Member,
    address: &str,
    what: &Founding,
    authority: &CertifiedIssuer<'static, KeyPair>,
) -> Result<(String, String)> {
    let mut params = named(&member.to_string(), what)?;
    let Some((host, _)) = split_address(address) else {
        return Err(Error::BadFleet(format!("{member} has the address `{address}`; write host:port")));
    };
    params.subject_alt_names = vec![match host.parse() {
        Ok(ip) => SanType::IpAddress(ip),
        Err(_) => SanType::DnsName(host.try_into().map_err(wrong)?),
    }];
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().map_err(wrong)?;
    let certificate = params.signed_by(&key, authority).map_err(wrong)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn named(name: &str, what: &Founding) -> Result<CertificateParams> {
    let mut params = CertificateParams::default();
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    params.distinguished_name = names;
    params.serial_number = Some(SerialNumber::from_slice(&random::<16>()?));
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs() / 86_400) as i64;
    // From yesterday, because clocks differ.
    let day = |days: i64| {
        let (year, month, day) = civil(days);
        rcgen::date_time_ymd(year, month, day)
    };
    params.not_before = day(days - 1);
    params.not_after = day(days + 365 * i64::from(what.years.clamp(1, 100)));
    Ok(params)
}

/// The date of a day counted from 1970-01-01, by counting whole eras of 400 years.
fn civil(days: i64) -> (i32, u8, u8) {
    let z = days + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u8, day as u8)
}

/// Writes a new file; a secret one only its owner may read.
fn write(path: &Path, bytes: &[u8], private: bool) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_454), (2026, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
    }
}
