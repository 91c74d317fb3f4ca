//! A file of named tensors with one JSON object beside them: safetensors, made strict.
//!
//! Equal contents are equal bytes: tensors stand in the order of their names, and all metadata is one JSON text with
//! sorted keys under the single key `equimarl`. The text starts with a checksum of everything that matters, so damage
//! is found and not run. (It is no signature: whoever can change a file can change its checksum.)

use crate::error::{Error, Result};
use equimarl_files::{fnv1a, fnv1a_after as more};
use safetensors::tensor::{Dtype, Metadata, View};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The largest file that we read or write, in bytes.
pub const MAX_FILE: usize = 64 << 20;
/// The largest header that we parse, in bytes.
pub const MAX_HEADER: usize = 1 << 20;
/// The only key of the header's metadata.
const KEY: &str = "equimarl";
const BEFORE_CHECKSUM: &str = "{\"checksum\":\"";
const AFTER_CHECKSUM: &str = "\",";
const CHECKSUM_DIGITS: usize = 16;

/// One tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Cow<'a, [u8]>,
}

impl<'a> Entry<'a> {
    /// Numbers of any shape, row-major.
    ///
    /// # Errors
    /// If the shape is not that of so many numbers.
    pub fn numbers(shape: &[usize], values: &[f32]) -> Result<Entry<'static>> {
        if shape.iter().try_fold(1usize, |n, &x| n.checked_mul(x)) != Some(values.len()) {
            return Err(Error::BadNetwork(format!(
                "{} numbers do not have the shape {shape:?}",
                values.len()
            )));
        }
        let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Ok(Entry { dtype: Dtype::F32, shape: shape.to_vec(), data: Cow::Owned(data) })
    }

    /// A list of bytes.
    pub fn bytes(data: &'a [u8]) -> Entry<'a> {
        Entry { dtype: Dtype::U8, shape: vec![data.len()], data: Cow::Borrowed(data) }
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers, if these are 32-bit floating point ones.
    pub fn as_numbers(&self) -> Option<Vec<f32>> {
        let number = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        (self.dtype == Dtype::F32).then(|| self.data.chunks_exact(4).map(number).collect())
    }

    /// The bytes, if these are bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        (self.dtype == Dtype::U8).then_some(&self.data)
    }
}

impl View for &Entry<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.data)
    }

    fn data_len(&self) -> usize {
        self.data.len()
    }
}

/// Tensors by name.
pub type Entries<'a> = BTreeMap<String, Entry<'a>>;

/// The bytes of a file with these tensors. `metadata` is an object with at least one key.
///
/// # Errors
/// If it is not, or the file would be larger than what [`unpack`] reads.
pub fn pack(metadata: &Value, entries: &Entries) -> Result<Vec<u8>> {
    let mut metadata = metadata.clone();
    metadata.sort_all_objects();
    let text = metadata.to_string();
    let Some(rest) = text.strip_prefix('{').filter(|rest| rest.starts_with('"')) else {
        return Err(Error::BadNetwork("the metadata of a model file is an object that is not empty".into()));
    };
    let size = entries.values().map(|e| e.data.len()).fold(rest.len(), usize::saturating_add);
    if size > MAX_FILE {
        return Err(too_large(size));
    }
    let sum = checksum(rest, entries);
    let text = format!("{BEFORE_CHECKSUM}{sum:0CHECKSUM_DIGITS$x}{AFTER_CHECKSUM}{rest}");
    let header = HashMap::from([(KEY.to_string(), text)]);
    let bytes = safetensors::serialize(entries, Some(header))
        .map_err(|e| Error::BadNetwork(format!("cannot write the model: {}", one_line(&e.to_string()))))?;
    // What we write we can read.
    if bytes.len() > MAX_FILE {
        return Err(too_large(bytes.len()));
    }
    header_of(&bytes).map_err(|_| {
        Error::BadNetwork(format!("the model's description takes more than {MAX_HEADER} bytes"))
    })?;
    Ok(bytes)
}

/// The metadata and tensors of a file that [`pack`] made.
///
/// # Errors
/// [`Error::BadModel`] if it is anything else, or not what it was when it was written.
pub fn unpack(bytes: &[u8]) -> Result<(Value, Entries<'_>)> {
    if bytes.len() > MAX_FILE {
        return bad(format!("it has {} bytes, and models have at most {MAX_FILE}", bytes.len()));
    }
    let (header, data) = header_of(bytes)?;
    let header = std::str::from_utf8(header).map_err(|_| not_safetensors("its header is not text"))?;
    let header: Metadata = serde_json::from_str(header).map_err(not_safetensors)?;
    if header.data_len() != data.len() {
        return bad(format!(
            "its header describes {} bytes of tensors, and {} follow; it may be cut off",
            header.data_len(),
            data.len()
        ));
    }
    let keys = header.metadata().as_ref();
    let Some(text) = keys.and_then(|keys| keys.get(KEY)) else {
        return bad(format!("it has no `{KEY}` metadata, so equimarl did not write it"));
    };
    if keys.is_some_and(|keys| keys.len() > 1) {
        return bad(format!("it has metadata besides `{KEY}`, so equimarl did not write it"));
    }
    let mut entries = Entries::new();
    for (name, info) in header.tensors() {
        let (from, to) = info.data_offsets;
        let Some(data) = data.get(from..to) else {
            return bad(format!("the tensor `{}` lies outside the file", one_line(&name)));
        };
        let entry = Entry { dtype: info.dtype, shape: info.shape.clone(), data: Cow::Borrowed(data) };
        entries.insert(name, entry);
    }
    Ok((metadata(text, &entries)?, entries))
}

/// The header and what follows it, by their lengths alone.
fn header_of(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return bad(format!("it is not a safetensors file: it has {} bytes", bytes.len()));
    };
    // Any eight bytes are a length, so what follows tells whether they were meant as one.
    if rest.first() != Some(&b'{') {
        return Err(not_safetensors("it does not begin like one"));
    }
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER as u64 {
        return bad(format!("its header claims {length} bytes, and models have at most {MAX_HEADER}"));
    }
    match rest.split_at_checked(length as usize) {
        Some(parts) => Ok(parts),
        None => {
            bad(format!("its header claims {length} bytes, and {} follow; it may be cut off", rest.len()))
        }
    }
}

/// Checks the checksum and parses what it covers.
fn metadata(text: &str, entries: &Entries) -> Result<Value> {
    let parts = text.strip_prefix(BEFORE_CHECKSUM).and_then(|text| {
        let (digits, rest) = text.split_at_checked(CHECKSUM_DIGITS)?;
        Some((digits, rest.strip_prefix(AFTER_CHECKSUM)?))
    });
    let Some((digits, rest)) = parts else {
        return bad("its metadata does not start with a checksum".into());
    };
    if digits != format!("{:0CHECKSUM_DIGITS$x}", checksum(rest, entries)) {
        return bad("its checksum does not fit, so it is damaged or was changed".into());
    }
    serde_json::from_str(&format!("{{{rest}"))
        .map_err(|e| Error::BadModel(format!("its metadata is not JSON: {}", one_line(&e.to_string()))))
}

/// FNV-1a, 64 bits, over the metadata after the checksum and each tensor's name, a zero byte, and its data, in the order
/// of names.
fn checksum(metadata: &str, entries: &Entries) -> u64 {
    let start = fnv1a(metadata.as_bytes());
    entries.iter().fold(start, |sum, (name, entry)| more(more(more(sum, name.as_bytes()), &[0]), &entry.data))
}

/// Text from a file, for an error message: one short line.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 120;
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        line.push_str("...");
    }
    line
}

fn not_safetensors(why: impl ToString) -> Error {
    Error::BadModel(format!("it is not a safetensors file: {}", one_line(&why.to_string())))
}

fn too_large(size: usize) -> Error {
    Error::BadNetwork(format!("the model would take {size} bytes, and files have at most {MAX_FILE}"))
}

pub(super) fn bad<T>(why: String) -> Result<T> {
    Err(Error::BadModel(why))
}
