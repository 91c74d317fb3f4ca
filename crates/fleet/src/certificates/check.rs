//! Is this certificate the member's own? TLS refuses a wrong one silently, far away and again and again; here it is said once.

use crate::config::{Fleet, TLS_CERTIFICATE, TLS_KEY};
use crate::error::{Error, Result};
use crate::member::Member;
use rcgen::{KeyPair, PublicKeyData};
use std::path::Path;
use x509_parser::pem::{Pem, parse_x509_pem};

/// Refuses a certificate that is not this member's, not of the fleet's authority, not of its key, or not good today.
///
/// # Errors
/// With the file and the reason.
pub(crate) fn check(fleet: &Fleet, me: Member) -> Result<()> {
    if !fleet.config.tls {
        return Ok(());
    }
    let (path, authority_path) = (fleet.secret(me, TLS_CERTIFICATE), fleet.authority());
    let bad = |why: String| Err(Error::BadFleet(format!("{}: {why}", path.display())));
    let (own, authority) = (read(&path)?, read(&authority_path)?);
    let (Ok(own), Ok(authority)) = (own.parse_x509(), authority.parse_x509()) else {
        return bad(format!("this or {} is no certificate", authority_path.display()));
    };
    if own.verify_signature(Some(authority.public_key())).is_err() {
        return bad(format!("it was not made by the authority of {}", authority_path.display()));
    }
    let (name, expected) = (
        own.subject().iter_common_name().next().and_then(|n| n.as_str().ok()).unwrap_or("nobody"),
        fleet.certificate_name(me),
    );
    if name != expected {
        return bad(format!("it is the certificate of {name}, and this is {expected}"));
    }
    if !own.validity().is_valid() || !authority.validity().is_valid() {
        return bad(format!(
            "it is not good today: it is from {} to {}",
            own.validity().not_before,
            own.validity().not_after
        ));
    }
    let key_path = fleet.secret(me, TLS_KEY);
    let text = std::fs::read_to_string(&key_path).map_err(|why| Error::file(&key_path, why))?;
    let fits = |key: KeyPair| key.subject_public_key_info() == own.public_key().raw;
    if !KeyPair::from_pem(&text).is_ok_and(fits) {
        return bad(format!("{} is not its key", key_path.display()));
    }
    Ok(())
}

fn read(path: &Path) -> Result<Pem> {
    let bytes = std::fs::read(path).map_err(|why| Error::file(path, why))?;
    match parse_x509_pem(&bytes) {
        Ok((_, pem)) => Ok(pem),
        Err(_) => Err(Error::BadFleet(format!("{}: this is no certificate", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::founding::{Founding, found};
    use crate::keys::{Change, change};
    use std::fs;
    use std::path::PathBuf;

    fn made(name: &str) -> (Fleet, PathBuf) {
        let folder =
            std::env::temp_dir().join(format!("equimarl-certificates-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let what = Founding {
            fleet: "yard".into(),
            model: "none".into(),
            world: equimarl_worlds::builtin().usual("wildlife").unwrap(),
            run: Default::default(),
            tls: true,
            addresses: (0..4).map(|i| format!("127.0.0.1:{}", 7400 + i)).collect(),
            years: 1,
        };
        (found(&folder, &what).unwrap(), folder)
    }

    #[test]
    fn a_wrong_certificate_is_refused_in_a_line() {
        let ((fleet, here), (other, there)) = (made("here"), made("there"));
        let (me, neighbour) = (Member::agent(0), Member::agent(1));
        for member in fleet.members().chain([Member::OBSERVER]) {
            check(&fleet, member).unwrap();
        }
        let own = fs::read(fleet.secret(me, TLS_CERTIFICATE)).unwrap();
        let refused = |part: &str| {
            let error = check(&fleet, me).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
            fs::write(fleet.secret(me, TLS_CERTIFICATE), &own).unwrap();
            check(&fleet, me).unwrap();
        };
        fs::write(fleet.secret(me, TLS_CERTIFICATE), "what?").unwrap();
        refused("this is no certificate");
        fs::copy(other.secret(me, TLS_CERTIFICATE), fleet.secret(me, TLS_CERTIFICATE)).unwrap();
        refused("it was not made by the authority of");
        fs::copy(fleet.secret(neighbour, TLS_CERTIFICATE), fleet.secret(me, TLS_CERTIFICATE)).unwrap();
        refused("it is the certificate of agent-1, and this is agent-0");
        let key = fs::read(fleet.secret(me, TLS_KEY)).unwrap();
        fs::copy(fleet.secret(neighbour, TLS_KEY), fleet.secret(me, TLS_KEY)).unwrap();
        assert!(check(&fleet, me).unwrap_err().to_string().contains("tls.key.pem is not its key"));
        fs::write(fleet.secret(me, TLS_KEY), key).unwrap();
        // The new file is there, and the old certificate still is.
        let renewed = change(&here.join("fleet.toml"), me, Change::Renew { years: 1 }).unwrap();
        check(&renewed, me).unwrap();
        fs::write(fleet.secret(me, TLS_CERTIFICATE), &own).unwrap();
        let error = check(&renewed, me).unwrap_err().to_string();
        assert!(error.contains("it is the certificate of agent-0, and this is agent-0+1"), "{error}");
        let _ = (fs::remove_dir_all(here), fs::remove_dir_all(there));
    }
}
