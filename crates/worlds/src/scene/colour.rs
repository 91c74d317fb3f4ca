//! Colours, and the ones that have a name here.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt::{self, Display, Formatter};

/// A colour: red, green, blue. As text and in JSON it is as in a web page, `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    // Colours that people with any colour vision tell apart (after Okabe and Ito), and greys.
    /// For agents.
    pub const BLUE: Colour = Colour(0, 114, 178);
    /// For links between agents.
    pub const SKY: Colour = Colour(86, 180, 233);
    /// For what may go.
    pub const GREEN: Colour = Colour(0, 158, 115);
    /// For what is sought, or has to stop.
    pub const VERMILLION: Colour = Colour(213, 94, 0);
    /// White.
    pub const WHITE: Colour = Colour(255, 255, 255);
    /// For text and outlines.
    pub const INK: Colour = Colour(33, 43, 54);
    /// What every scene is painted on.
    pub const PAPER: Colour = Colour(252, 252, 250);

    /// This colour for t = 0, the other for t = 1, and what lies between.
    pub fn mix(self, other: Colour, t: f32) -> Colour {
        let between = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * t).round() as u8;
        Colour(between(self.0, other.0), between(self.1, other.1), between(self.2, other.2))
    }

    /// The colour that [`Colour`] is shown as, `#rrggbb`.
    fn parse(text: &str) -> Option<Colour> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
        let digit = |k: usize| char::from(digits.as_bytes()[k]).to_digit(16);
        let byte = |k: usize| Some((digit(k)? * 16 + digit(k + 1)?) as u8);
        Some(Colour(byte(0)?, byte(2)?, byte(4)?))
    }
}

impl Display for Colour {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

impl Serialize for Colour {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Colour {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Colour, D::Error> {
        let text = String::deserialize(from)?;
        Colour::parse(&text)
            .ok_or_else(|| de::Error::custom(format!("{text:?} is no colour; one looks like \"#0072b2\"")))
    }
}
