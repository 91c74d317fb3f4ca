//! Figures as SVG: curves with bands, intervals, dashed references. One small library for reports, the live page and the
//! demo.
//!
//! A [`Chart`] or [`Intervals`] gives a picture that stands alone (`svg`), on white paper, or one for a page (`inline`),
//! which takes the page's colours: text is `currentColor`, and curves have the classes `fig-c0`, `fig-c1`, ... for which
//! [`dark_rules`] gives brighter colours. Text is text, colours are safe for colour-blind readers, and title and description
//! are there for those who cannot see.

mod axis;
mod chart;
mod colour;
mod frame;
mod intervals;
mod learning;
mod markup;
mod series;
#[cfg(test)]
mod tests;

pub use axis::Scale;
pub use chart::{Chart, Reference};
pub use colour::{Colour, dark_rules};
pub use intervals::{Beyond, Intervals, Row};
pub use learning::{Measure, learning_curves};
pub use markup::escape;
pub use series::{Point, Series};
