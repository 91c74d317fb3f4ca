//! The shapes that scenes are made of.

use serde::{Deserialize, Serialize};

/// A shape. Points are [x, y]. In JSON, for example, `{"circle": {"centre": [1.5, 2.5], "radius": 0.4}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// A rectangle with rounded corners.
    Rect {
        /// The corner nearest to the origin.
        corner: [f32; 2],
        /// Width and height.
        size: [f32; 2],
        /// The radius of the rounding.
        radius: f32,
    },
    /// A disc.
    Circle {
        /// Its middle.
        centre: [f32; 2],
        /// Its radius.
        radius: f32,
    },
    /// A filled polygon.
    Polygon(Vec<[f32; 2]>),
    /// A line with round ends.
    Line {
        /// One end.
        from: [f32; 2],
        /// The other end.
        to: [f32; 2],
        /// How thick it is.
        width: f32,
    },
    /// A short text.
    Label {
        /// Its middle.
        centre: [f32; 2],
        /// The height of a capital letter.
        height: f32,
        /// What it says.
        text: String,
    },
}
