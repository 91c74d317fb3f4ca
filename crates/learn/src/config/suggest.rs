//! A mistyped setting is named with the nearest one that exists.

use crate::error::Error;
use equimarl_worlds::nearest;

/// Names the key and the nearest one that exists.
pub(super) fn unknown(key: &str, known: impl IntoIterator<Item = impl AsRef<str>>) -> Error {
    let wanted = key.rsplit('.').next().unwrap_or(key);
    let known: Vec<String> = known.into_iter().map(|k| k.as_ref().to_string()).collect();
    let hint = match nearest(wanted, known.iter().map(String::as_str)) {
        Some(k) => format!("; did you mean `{k}`?"),
        None => format!("; there are {}", known.join(", ")),
    };
    Error::BadConfig(format!("there is no setting `{key}`{hint}"))
}
