//! Figures: curves with bands, intervals, dashed references. One small library for reports, the live page and the demo.
//!
//! A [`Chart`] or [`Intervals`] gives a [`Drawing`], which is written as a picture that stands alone on white paper (`svg`, `pdf`,
//! `png`) or as one for a page (`inline`), which takes the page's colours: text is `currentColor`, and curves have the classes
//! `fig-c0`, `fig-c1`, ... for which [`dark_rules`] gives brighter colours. In SVG text is text; in PDF it is outlines, so no
//! font is needed. Colours are safe for colour-blind readers, and title and description are there for those who cannot see.

mod axis;
mod chart;
mod colour;
mod drawing;
mod font;
mod frame;
mod intervals;
mod learning;
mod paint;
mod pdf;
mod png;
mod series;
mod svg;
#[cfg(test)]
mod tests;

pub use axis::Scale;
pub use chart::{Chart, Reference};
pub use colour::{Colour, dark_rules};
pub use drawing::Drawing;
pub use intervals::{Beyond, Intervals, Row};
pub(crate) use learning::{Along, curves_along, lengths};
pub use learning::{Measure, learning_curves};
pub use series::{Point, Series};
pub use svg::escape;
