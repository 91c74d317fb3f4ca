//! The XML that SUMO writes: elements with attributes and no text. Comments and declarations are passed over.

use equimarl_worlds::{Error, Result};

/// The start of an element, or its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Tag<'a> {
    /// The element's name.
    pub name: &'a str,
    /// Whether it is the end of an element that had others inside.
    pub ends: bool,
    /// Its attributes, in their order.
    pub attributes: Vec<(&'a str, String)>,
}

impl Tag<'_> {
    /// An attribute.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str())
    }

    /// An attribute that has to be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn need(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| bad(format!("<{}> has no `{key}`", self.name)))
    }

    /// A number that has to be there.
    ///
    /// # Errors
    /// If it is not, or is none.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Result<T> {
        let text = self.need(key)?;
        text.parse().map_err(|_| bad(format!("`{key}` of <{}> is `{text}`, which is no number", self.name)))
    }
}

fn bad(why: String) -> Error {
    Error::BadWorld(why)
}

/// All tags of a text, in their order.
///
/// # Errors
/// If it is not XML, saying what is wrong.
pub fn tags(text: &str) -> Result<Vec<Tag<'_>>> {
    let (mut found, mut rest) = (vec![], text);
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = after(comment, "-->")?;
        } else if rest.starts_with(['?', '!']) {
            rest = after(rest, ">")?;
        } else {
            let (tag, next) = tag(rest)?;
            found.push(tag);
            rest = next;
        }
    }
    if found.is_empty() {
        return Err(bad("it holds no XML".into()));
    }
    Ok(found)
}

fn after<'a>(text: &'a str, end: &str) -> Result<&'a str> {
    text.find(end).map(|at| &text[at + end.len()..]).ok_or_else(|| cut_off(text))
}

fn cut_off(text: &str) -> Error {
    let start: String = text.chars().take(30).collect();
    bad(format!("it is cut off after `<{start}`"))
}

/// One tag, which begins after its `<`, and what follows it.
fn tag(text: &str) -> Result<(Tag<'_>, &str)> {
    let (ends, text) = text.strip_prefix('/').map_or((false, text), |rest| (true, rest));
    let split = text.find([' ', '\t', '\n', '\r', '>', '/']).ok_or_else(|| cut_off(text))?;
    let (name, mut rest) = text.split_at(split);
    let mut attributes = vec![];
    loop {
        rest = rest.trim_start();
        if let Some(next) = rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>')) {
            return Ok((Tag { name, ends, attributes }, next));
        }
        let split = rest.find('=').ok_or_else(|| cut_off(text))?;
        let (key, value) = (rest[..split].trim_end(), rest[split + 1..].trim_start());
        let quote = value.chars().next().filter(|c| ['"', '\''].contains(c)).ok_or_else(|| cut_off(text))?;
        let end = value[1..].find(quote).ok_or_else(|| cut_off(text))?;
        attributes.push((key, plain(&value[1..=end])));
        rest = &value[end + 2..];
    }
}

/// Text with its entities replaced.
fn plain(text: &str) -> String {
    if !text.contains('&') {
        return text.into();
    }
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

/// Text as the value of an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sumo_writes_is_read() {
        let text = "<?xml version=\"1.0\"?>\n<!-- made by <x> --><net a=\"1\">\n <lane id='q &amp; r' b = \"2.5\"/></net>";
        let all = tags(text).unwrap();
        assert_eq!(
            all.iter().map(|t| (t.name, t.ends)).collect::<Vec<_>>(),
            [("net", false), ("lane", false), ("net", true)]
        );
        assert_eq!(all[1].get("id"), Some("q & r"));
        assert_eq!(all[1].number::<f64>("b").unwrap(), 2.5);
        assert!(all[1].number::<f64>("id").is_err() && all[1].need("c").is_err());
        assert_eq!(plain(&escaped("a<b>&\"c")), "a<b>&\"c");
    }

    #[test]
    fn every_start_of_a_text_is_read_or_refused() {
        let text = "<a b=\"c\"><!-- d --><e f='g'/></a>";
        for end in 0..text.len() {
            let _ = tags(&text[..end]);
        }
        for bad in ["", "no xml", "<a", "<a b", "<a b=", "<a b=c>", "<a b=\"c>", "<!-- a"] {
            assert!(tags(bad).is_err(), "{bad}");
        }
    }
}
