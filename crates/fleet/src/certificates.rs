//! A private authority and one certificate per member (feature `zenoh`).

mod check;

pub(crate) use check::check;

use crate::config::split_address;
use crate::error::{Error, Result};
use crate::founding::Founding;
use crate::member::Member;
use crate::signer::random;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use std::time::{SystemTime, UNIX_EPOCH};

/// Who signs certificates.
pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;

fn wrong(e: rcgen::Error) -> Error {
    Error::BadFleet(format!("cannot make a certificate: {e}"))
}

pub(crate) fn authority(what: &Founding) -> Result<Authority> {
    let params = authority_params(&what.fleet, what.years)?;
    CertifiedIssuer::self_signed(params, KeyPair::generate().map_err(wrong)?).map_err(wrong)
}

fn authority_params(fleet: &str, years: u32) -> Result<CertificateParams> {
    let mut params = named(&format!("equimarl fleet {fleet}"), years)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

/// The authority of a fleet again, from its key: it has the same name, so what it signs is its own.
pub(crate) fn issuer(fleet: &str, key: &str) -> Result<Issuer<'static, KeyPair>> {
    Ok(Issuer::new(authority_params(fleet, 1)?, KeyPair::from_pem(key).map_err(wrong)?))
}

/// A certificate that names the member and the address where it listens, and its key.
pub(crate) fn certificate(
    (member, name): (Member, &str),
    address: &str,
    years: u32,
    authority: &Issuer<'static, KeyPair>,
) -> Result<(String, String)> {
    let mut params = named(name, years)?;
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

fn named(name: &str, years: u32) -> Result<CertificateParams> {
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
    params.not_after = day(days + 365 * i64::from(years.clamp(1, 100)));
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
