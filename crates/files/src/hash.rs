//! FNV-1a with 64 bits: tells files, settings and messages apart. Against mistakes, not against malice.

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of some bytes.
///
/// ```
/// assert_eq!(equimarl_files::fnv1a(b"foobar"), 0x85944171f73967e8);
/// ```
pub fn fnv1a(bytes: &[u8]) -> u64 {
    fnv1a_after(START, bytes)
}

/// The hash of what came before and these bytes. Every step is a bijection of the state, so a single changed byte always
/// changes the hash.
///
/// ```
/// use equimarl_files::{fnv1a, fnv1a_after};
/// assert_eq!(fnv1a_after(fnv1a(b"foo"), b"bar"), fnv1a(b"foobar"));
/// ```
pub fn fnv1a_after(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}
