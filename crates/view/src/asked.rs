//! What a request says, field by field. What is not as it should be is refused in words that name the field and say what
//! would be right, for whoever typed it into the page.

use crate::error::{Answer, Refusal};
use serde_json::{Map, Value};

/// Longer values are cut where they are quoted.
const QUOTED: usize = 40;

/// The fields that were not read yet.
pub(crate) struct Fields {
    left: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// Of a request's body, which is a JSON object.
    pub fn of(body: &[u8]) -> Answer<Fields> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(left)) => Ok(Fields { left, known: vec![] }),
            _ => Err(Refusal::bad("the request is not a JSON object")),
        }
    }

    /// A field, if it is there.
    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.left.remove(key)
    }

    /// A field that may be anything; null is as good as nothing.
    pub fn any(&mut self, key: &'static str) -> Option<Value> {
        self.take(key).filter(|value| !value.is_null())
    }

    /// A whole number from 0 to `most`.
    pub fn whole(&mut self, key: &'static str, most: u64) -> Answer<Option<u64>> {
        let wanted = || format!("a whole number from 0 to {most}");
        self.read(key, wanted, |value| whole(value, most))
    }

    /// A number.
    pub fn number(&mut self, key: &'static str) -> Answer<Option<f64>> {
        self.read(key, || "a number".into(), Value::as_f64)
    }

    /// True or false; false if it is not there.
    pub fn flag(&mut self, key: &'static str) -> Answer<bool> {
        Ok(self.choice(key)?.unwrap_or(false))
    }

    /// True or false, if it is there.
    pub fn choice(&mut self, key: &'static str) -> Answer<Option<bool>> {
        self.read(key, || "true or false".into(), Value::as_bool)
    }

    /// A text.
    pub fn text(&mut self, key: &'static str) -> Answer<Option<String>> {
        self.read(key, || "a text".into(), |value| value.as_str().map(String::from))
    }

    /// A list of which `one` reads the entries.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        what: &str,
        one: impl Fn(&Value) -> Option<T>,
    ) -> Answer<Option<Vec<T>>> {
        let all = |value: &Value| value.as_array()?.iter().map(&one).collect();
        self.read(key, || format!("a list of {what}"), all)
    }

    /// Options by their names; none if it is not there.
    pub fn options(&mut self, key: &'static str) -> Answer<Map<String, Value>> {
        let wanted = || "an object with options and what they are set to".into();
        match self.take(key) {
            None => Ok(Map::new()),
            Some(Value::Object(options)) => Ok(options),
            Some(value) => Err(refused(key, wanted(), &value)),
        }
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        wanted: impl Fn() -> String,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Answer<Option<T>> {
        match self.any(key) {
            None => Ok(None),
            Some(value) => read(&value).map(Some).ok_or_else(|| refused(key, wanted(), &value)),
        }
    }

    /// Everything was read; what is left is unknown.
    pub fn done(self) -> Answer<()> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(key) => Err(Refusal::bad(format!(
                "there is no field {:?}; there are {}",
                cut(key),
                self.known.join(", ")
            ))),
        }
    }
}

/// A field that must be there.
pub(crate) fn needed<T>(key: &str, found: Option<T>) -> Answer<T> {
    found.ok_or_else(|| Refusal::bad(format!("`{key}` is missing")))
}

fn refused(key: &str, wanted: String, value: &Value) -> Refusal {
    Refusal::bad(must_be(key, &wanted, value))
}

/// The words for a value that is not what it must be.
pub(crate) fn must_be(key: &str, wanted: &str, value: &Value) -> String {
    format!("`{key}` must be {wanted}, not {}", cut(&value.to_string()))
}

/// A whole number from 0 to `most`; 1e3 is one, too.
pub(crate) fn whole(value: &Value, most: u64) -> Option<u64> {
    // Every double of this range that is whole is exact.
    const EXACT: f64 = (1u64 << 53) as f64;
    let short = || value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..=EXACT).contains(x)).map(|x| x as u64);
    value.as_u64().or_else(short).filter(|n| *n <= most)
}

/// A text, short enough to be quoted.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_numbers_are_whole_and_within_their_range() {
        for (value, read) in [(json!(0), Some(0)), (json!(100), Some(100)), (json!(1e2), Some(100))] {
            assert_eq!(whole(&value, 100), read);
        }
        for value in
            [json!(-1), json!(101), json!(1.5), json!(1e300), json!("7"), json!(null), json!(u64::MAX)]
        {
            assert_eq!(whole(&value, 100), None, "{value}");
        }
    }

    #[test]
    fn refusals_name_the_field_and_are_short() {
        let why = |body: &str| {
            let mut fields = Fields::of(body.as_bytes()).map_err(|r| r.why)?;
            fields.whole("seed", 9).map_err(|r| r.why)?;
            fields.done().map_err(|r| r.why)
        };
        assert_eq!(why("{\"seed\": 9}"), Ok(()));
        assert_eq!(why("{\"seed\": null}"), Ok(()));
        assert_eq!(why("{\"seed\": -4}").unwrap_err(), "`seed` must be a whole number from 0 to 9, not -4");
        assert_eq!(why("{\"sed\": 4}").unwrap_err(), "there is no field \"sed\"; there are seed");
        assert_eq!(why("[]").unwrap_err(), "the request is not a JSON object");
        let long = why(&json!({ "seed": "x".repeat(1000) }).to_string()).unwrap_err();
        assert!(long.len() < 120, "{long}");
    }
}
