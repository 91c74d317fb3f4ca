//! What people may change in a scene, and how they say it.
//!
//! A scene says what can be held; an edit says what was done to it. Where a thing can go, and to which cell it snaps, is
//! the world's business alone.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a shape is moved or pressed by. Shapes with the same handle are one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handle {
    /// The world's own word for the thing, for example `drone 2`. It means the thing in this state: where things have no
    /// name of their own, such as vehicles, the same one may have another id in the next state. So whoever drags applies
    /// each edit to the state in which the drag began.
    pub id: String,
    /// Whether it can be moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drag: bool,
    /// Whether it can be pressed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub press: bool,
}

impl Handle {
    /// A thing that can be moved.
    pub fn drag(id: impl Into<String>) -> Handle {
        Handle { id: id.into(), drag: true, press: false }
    }

    /// A thing that can be pressed.
    pub fn press(id: impl Into<String>) -> Handle {
        Handle { id: id.into(), drag: false, press: true }
    }
}

/// Something that somebody did to a thing in a scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The [`Handle::id`] of the thing.
    pub id: String,
    /// Where it was moved, [x, y] in the scene; nowhere if it was pressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<[f32; 2]>,
}

impl Edit {
    /// The thing was moved to a point of the scene.
    pub fn moved(id: impl Into<String>, to: [f32; 2]) -> Edit {
        Edit { id: id.into(), to: Some(to) }
    }

    /// The thing was pressed.
    pub fn pressed(id: impl Into<String>) -> Edit {
        Edit { id: id.into(), to: None }
    }

    /// Where it was moved.
    ///
    /// # Errors
    /// If it was pressed, or moved to no point at all.
    pub fn target(&self) -> Result<[f32; 2]> {
        match self.to {
            Some(to) if to.iter().all(|v| v.is_finite()) => Ok(to),
            Some(_) => Err(Error::BadEdit(format!("{} cannot be moved: there is no such place", self.id))),
            None => Err(Error::BadEdit(format!("{} can be moved, not pressed", self.id))),
        }
    }

    /// Refuses a move of what can only be pressed.
    ///
    /// # Errors
    /// If it was moved.
    pub fn must_press(&self) -> Result<()> {
        match self.to {
            None => Ok(()),
            Some(_) => Err(Error::BadEdit(format!("{} can be pressed, not moved", self.id))),
        }
    }

    /// The number n of an id `kind n`, such as `drone 2`; none for other ids.
    pub fn number(&self, kind: &str) -> Option<usize> {
        let text = self.id.strip_prefix(kind)?.strip_prefix(' ')?;
        // One thing, one id: neither `+2` nor `02`.
        text.parse().ok().filter(|n: &usize| n.to_string() == text)
    }

    /// The refusal of a move, with its reason.
    pub fn refused(&self, [row, col]: [usize; 2], why: &str) -> Error {
        Error::BadEdit(format!("{} cannot be moved to row {row}, column {col}: {why}", self.id))
    }

    /// The refusal of a move to a point outside of `what` the thing lives in.
    pub fn outside(&self, what: &str) -> Error {
        Error::BadEdit(format!("{} cannot be moved there: that is outside of {what}", self.id))
    }

    /// The refusal of an id that the world does not know. `known` says which ones it does.
    pub fn unknown(&self, known: &str) -> Error {
        let start: String = self.id.chars().take(40).collect();
        Error::BadEdit(format!("there is no {start:?} here to move or press; there is {known}"))
    }
}

/// The cell [row, column] nearest to a point of a picture that shows `rows` x `cols` cells with `margin` around them; none
/// if the point is outside of the picture.
pub fn cell_at([x, y]: [f32; 2], [rows, cols]: [usize; 2], margin: f32) -> Option<[usize; 2]> {
    let along = |v: f32, cells: usize| {
        let inside = cells > 0 && v >= 0.0 && v <= cells as f32 + 2.0 * margin;
        // A point in the left margin is before the first cell, and the cast makes it 0.
        inside.then(|| ((v - margin) as usize).min(cells - 1))
    };
    Some([along(y, rows)?, along(x, cols)?])
}
