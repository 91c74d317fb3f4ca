//! What the worlds' own terminal views share. Redrawing in place is the caller's business.

/// Text in a terminal colour, or as it is.
pub(crate) fn tinted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
}
