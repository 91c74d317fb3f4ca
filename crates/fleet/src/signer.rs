//! Signatures: who sent a message, whatever the network says.
//!
//! ```text
//! signature = Ed25519(sender's key, domain tag || every byte of the message before the signature)
//! ```
//!
//! Public keys come from the fleet's file, never from the network.

use crate::error::{Error, Result};
use crate::member::Member;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::collections::BTreeMap;

/// Bytes of a signature.
pub const SIGNATURE: usize = 64;
/// A signature made for anything else is none of ours.
const DOMAIN: &[u8] = b"equimarl fleet message, version 1\n";

/// How messages of one member are signed and checked.
#[derive(Clone, Debug)]
pub enum Signer {
    /// Not at all: members in one process trust their memory.
    Open,
    /// With this member's key, and everybody's public keys.
    Signed(Box<Ring>),
}

/// A member's own key and the public keys of all.
#[derive(Clone, Debug)]
pub struct Ring {
    own: SigningKey,
    all: BTreeMap<Member, VerifyingKey>,
}

impl Ring {
    /// A key ring.
    pub fn new(own: SigningKey, all: BTreeMap<Member, VerifyingKey>) -> Ring {
        Ring { own, all }
    }
}

impl Signer {
    /// How many bytes a signature adds.
    pub fn overhead(&self) -> usize {
        match self {
            Signer::Open => 0,
            Signer::Signed(_) => SIGNATURE,
        }
    }

    /// Signs a message.
    pub fn signer(&self, mut message: Vec<u8>) -> Vec<u8> {
        if let Signer::Signed(ring) = self {
            let signature = ring.own.sign(&signed_bytes(&message));
            message.extend_from_slice(&signature.to_bytes());
        }
        message
    }

    /// Whether the message, signature included, is what `sender` signed.
    pub fn holds(&self, sender: Member, message: &[u8]) -> bool {
        let Signer::Signed(ring) = self else { return true };
        let Some((body, signature)) = message.split_last_chunk::<SIGNATURE>() else { return false };
        let Some(key) = ring.all.get(&sender) else { return false };
        // Strict: no other signature and no weak key passes for the same message.
        key.verify_strict(&signed_bytes(body), &Signature::from_bytes(signature)).is_ok()
    }
}

fn signed_bytes(body: &[u8]) -> Vec<u8> {
    [DOMAIN, body].concat()
}

/// Random bytes from the operating system.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::Failed(format!("the system gives no random numbers: {e}")))?;
    Ok(bytes)
}

/// A fresh signing key.
pub fn new_key() -> Result<SigningKey> {
    Ok(SigningKey::from_bytes(&random()?))
}

/// 32 bytes as 64 hexadecimal digits.
pub fn to_hex(bytes: &[u8; 32]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// 64 hexadecimal digits as 32 bytes.
pub fn from_hex(text: &str) -> Option<[u8; 32]> {
    let text = text.trim().as_bytes();
    let digit = |d: u8| char::from(d).to_digit(16).map(|d| d as u8);
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// A public key from its hexadecimal digits.
pub fn public_key(text: &str) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&from_hex(text)?).ok().filter(|key| !key.is_weak())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (Signer, Signer) {
        let keys = [new_key().unwrap(), new_key().unwrap()];
        let all: BTreeMap<_, _> =
            keys.iter().enumerate().map(|(i, k)| (Member::agent(i), k.verifying_key())).collect();
        let [a, b] = keys.map(|own| Signer::Signed(Box::new(Ring::new(own, all.clone()))));
        (a, b)
    }

    #[test]
    fn a_signature_holds_for_its_sender_and_every_byte() {
        let (a, b) = two();
        let sealed = a.signer(b"some message".to_vec());
        assert!(b.holds(Member::agent(0), &sealed));
        assert!(!b.holds(Member::agent(1), &sealed), "another sender");
        assert!(!b.holds(Member::WORLD, &sealed), "a sender without a key");
        for byte in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[byte] ^= 1;
            assert!(!b.holds(Member::agent(0), &changed), "byte {byte}");
        }
        assert!(!b.holds(Member::agent(0), b"short"));
    }

    #[test]
    fn signatures_of_other_domains_do_not_hold() {
        let key = new_key().unwrap();
        let all = BTreeMap::from([(Member::agent(0), key.verifying_key())]);
        let mut bytes = b"hello".to_vec();
        let signature = key.sign(&bytes);
        bytes.extend_from_slice(&signature.to_bytes());
        assert!(!Signer::Signed(Box::new(Ring::new(key, all))).holds(Member::agent(0), &bytes));
    }

    #[test]
    fn keys_go_through_text() {
        let key = new_key().unwrap().verifying_key();
        assert_eq!(public_key(&to_hex(key.as_bytes())), Some(key));
        assert!(from_hex("12").is_none() && from_hex(&"g".repeat(64)).is_none());
        // The neutral element signs everything.
        let weak = format!("01{}", "00".repeat(31));
        assert!(public_key(&weak).is_none());
    }
}
