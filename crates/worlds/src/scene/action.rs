//! How an agent's actions look, so that a page can draw how likely each of them is.

use serde::{Deserialize, Serialize};

/// What an action looks like around its agent, in the units of the scene. In JSON, for example, `{"arrow": [0, 1]}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ActionMark {
    /// The agent stays as it is.
    Stay,
    /// It goes this way, [x, y].
    Arrow([f32; 2]),
    /// It opens the way between two points, which are seen from the agent.
    Bar {
        /// One end.
        from: [f32; 2],
        /// The other end.
        to: [f32; 2],
    },
}
