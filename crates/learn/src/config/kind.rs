//! A setting of the wrong kind is refused in plain words, not in those of the TOML reader.

use crate::error::{Error, Result};
use toml::Value;

/// Floating point numbers up to here are exact.
const EXACT: f64 = (1u64 << 53) as f64;

/// The new value of a setting, if it is of the same kind as the old one. 1e5 is a whole number, too.
pub(super) fn of_kind(key: &str, old: &Value, new: Value) -> Result<Value> {
    let kind = match (old, &new) {
        (Value::Integer(_), Value::Integer(0..))
        | (Value::Float(_), Value::Float(_) | Value::Integer(_))
        | (Value::Boolean(_), Value::Boolean(_))
        | (Value::String(_), Value::String(_)) => return Ok(new),
        (Value::Integer(_), Value::Float(x)) if x.fract() == 0.0 && (0.0..=EXACT).contains(x) => {
            return Ok(Value::Integer(*x as i64));
        }
        // An option of a world may be a name or a number, such as a radius that can be `all`.
        (Value::String(_), Value::Integer(_) | Value::Float(_)) if key.starts_with("world.") => {
            return Ok(Value::String(new.to_string()));
        }
        (Value::Integer(_), _) => "a whole number from 0 on",
        (Value::Float(_), _) => "a number",
        (Value::Boolean(_), _) => "true or false",
        (Value::String(_), _) => "a name in quotes",
        _ => "a table, as in [world] with its name below it",
    };
    // Long values may take several lines.
    let found = new.to_string();
    let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(Error::BadConfig(format!("`{key}` must be {kind}, not {found}")))
}
