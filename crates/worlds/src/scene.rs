//! A picture of a world as plain data: a list of simple shapes, in units of cells, whatever the resolution.
//!
//! x grows to the right and y downwards. Shapes are painted in their order, the first one at the bottom. Drawing is
//! another crate's job (`equimarl-render`, or a page that gets the scene as JSON); here is only what there is to draw,
//! where the agents stand, and what people may move or press.
//!
//! ```
//! use equimarl_worlds::scene::{Colour, Handle, Scene, Shape};
//! let mut scene = Scene::new(3.0, 2.0);
//! let disc = Shape::Circle { centre: [1.5, 1.0], radius: 0.4 };
//! scene.thing("Robot 0 at its dock", Handle::drag("robot 0"), |scene| scene.add("robot", disc, Colour::BLUE));
//! let text = serde_json::to_string(&scene).unwrap();
//! assert!(text.contains(r##""fill":"#0072b2""##));
//! assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), scene);
//! ```

mod action;
mod colour;
mod edit;
mod shape;
mod visible;

#[cfg(test)]
mod tests;

pub use action::ActionMark;
pub use colour::Colour;
pub use edit::{Edit, Handle, cell_at};
pub use shape::Shape;
pub use visible::visible;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A longer side says that something went wrong, and numbers near the largest `f32` cannot be drawn.
const MAX_SIDE: f32 = 1e6;

/// A shape, what it stands for, and its colours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// What it stands for, for example `drone`: the class of the element in an SVG.
    pub name: Cow<'static, str>,
    /// The shape.
    pub shape: Shape,
    /// The colour inside, or of the line or text.
    pub fill: Colour,
    /// The colour and width of the outline. Lines and labels have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rim: Option<(Colour, f32)>,
    /// What it is, in words: for a tooltip, and for people who do not see the picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How people may change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Handle>,
}

/// Where an agent stands, so that a page can draw its links, its wishes and a selection around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentMark {
    /// Its middle.
    pub at: [f32; 2],
    /// A circle of this radius holds its glyph.
    pub radius: f32,
}

/// A rectangle of a picture whose opposite edges are joined: what leaves it on one side comes in on the other, so that a
/// page can say and show it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torus {
    /// The corner nearest to the origin.
    pub corner: [f32; 2],
    /// Width and height.
    pub size: [f32; 2],
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Plain")]
pub struct Scene {
    size: [f32; 2],
    items: Vec<Item>,
    /// Where each agent stands, in the order of agents; empty if the scene does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentMark>,
    /// Where opposite edges are joined, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torus: Option<Torus>,
}

/// A scene as JSON has it, its size not checked yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    size: [f32; 2],
    items: Vec<Item>,
    #[serde(default)]
    agents: Vec<AgentMark>,
    #[serde(default)]
    torus: Option<Torus>,
}

impl From<Plain> for Scene {
    fn from(Plain { size: [width, height], items, agents, torus }: Plain) -> Scene {
        Scene { items, agents, torus, ..Scene::new(width, height) }
    }
}

impl Scene {
    /// An empty picture of this size, in cells.
    pub fn new(width: f32, height: f32) -> Scene {
        let side = |v: f32| if v.is_nan() { 1.0 } else { v.clamp(1.0, MAX_SIDE) };
        let size = [width, height].map(side);
        Scene { size, items: Vec::new(), agents: Vec::new(), torus: None }
    }

    /// Width and height, captions included.
    pub fn size(&self) -> [f32; 2] {
        self.size
    }

    /// All shapes, the lowest first.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// How many shapes stand for `name`.
    pub fn count(&self, name: &str) -> usize {
        self.items.iter().filter(|item| item.name == name).count()
    }

    /// Puts an item on top.
    pub fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// Puts a shape on top.
    pub fn add(&mut self, name: impl Into<Cow<'static, str>>, shape: Shape, fill: Colour) {
        self.push(Item { name: name.into(), shape, fill, rim: None, title: None, handle: None });
    }

    /// Puts a shape with an outline on top.
    pub fn add_rimmed(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        shape: Shape,
        fill: Colour,
        rim: Colour,
        width: f32,
    ) {
        let rim = Some((rim, width));
        self.push(Item { name: name.into(), shape, fill, rim, title: None, handle: None });
    }

    /// Puts what `draw` adds on top, as one thing that people may change: each of its shapes has the handle, the first
    /// one the title.
    pub fn thing(&mut self, title: impl Into<String>, handle: Handle, draw: impl FnOnce(&mut Scene)) {
        let first = self.items.len();
        draw(self);
        let Some(shapes) = self.items.get_mut(first..) else { return };
        for item in shapes.iter_mut() {
            item.handle = Some(handle.clone());
        }
        if let Some(item) = shapes.first_mut() {
            item.title = Some(title.into());
        }
    }

    /// The picture with a line of text below it. Frames of one film need the same number of lines.
    pub fn caption(mut self, text: impl Into<String>) -> Scene {
        let text = text.into();
        let [width, above] = self.size;
        let strip = 0.075 * width;
        let letters = text.chars().count().max(1) as f32;
        // A letter with its space is at most as wide as it is high.
        let height = (0.4 * strip).min(0.95 * width / letters);
        let centre = [width / 2.0, above + 0.4 * strip];
        self.size = [width, above + strip];
        self.add("caption", Shape::Label { centre, height, text }, Colour::INK);
        self
    }

    /// Pixels per cell such that no side is longer than `side` pixels and no cell larger than `cell`.
    pub fn scale(&self, side: f32, cell: f32) -> f32 {
        let [width, height] = self.size;
        cell.min(side / width.max(height))
    }
}
