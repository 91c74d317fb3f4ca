//! A picture as a list of simple shapes, in units of cells, whatever the resolution.
//!
//! x grows to the right and y downwards. Shapes are painted in their order, the first one at the bottom.

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Colour(pub u8, pub u8, pub u8);

// Colours that people with any colour vision tell apart (after Okabe and Ito), and greys.
pub(super) const BLUE: Colour = Colour(0, 114, 178);
pub(super) const SKY: Colour = Colour(86, 180, 233);
pub(super) const GREEN: Colour = Colour(0, 158, 115);
pub(super) const VERMILLION: Colour = Colour(213, 94, 0);
pub(super) const WHITE: Colour = Colour(255, 255, 255);
pub(super) const INK: Colour = Colour(33, 43, 54);
pub(super) const PAPER: Colour = Colour(252, 252, 250);

impl Colour {
    /// This colour for t = 0, the other for t = 1, and what lies between.
    pub fn mix(self, other: Colour, t: f32) -> Colour {
        let between = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * t).round() as u8;
        Colour(between(self.0, other.0), between(self.1, other.1), between(self.2, other.2))
    }
}

/// The shapes that pictures are made of. Points are [x, y].
#[derive(Clone, Debug, PartialEq)]
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

/// A shape, what it stands for, and its colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it stands for, for example `drone`: the class of the element in an SVG.
    pub name: &'static str,
    /// The shape.
    pub shape: Shape,
    /// The colour inside, or of the line or text.
    pub fill: Colour,
    /// The colour and width of the outline. Lines and labels have none.
    pub rim: Option<(Colour, f32)>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    width: f32,
    height: f32,
    items: Vec<Item>,
}

impl Scene {
    /// An empty picture of this size, in cells.
    pub fn new(width: f32, height: f32) -> Scene {
        Scene { width: width.max(1.0), height: height.max(1.0), items: Vec::new() }
    }

    /// Width and height, captions included.
    pub fn size(&self) -> [f32; 2] {
        [self.width, self.height]
    }

    /// All shapes, the lowest first.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// How many shapes stand for `name`.
    pub fn count(&self, name: &str) -> usize {
        self.items.iter().filter(|item| item.name == name).count()
    }

    /// Puts a shape on top.
    pub fn add(&mut self, name: &'static str, shape: Shape, fill: Colour) {
        self.items.push(Item { name, shape, fill, rim: None });
    }

    /// Puts a shape with an outline on top.
    pub fn add_rimmed(&mut self, name: &'static str, shape: Shape, fill: Colour, rim: Colour, width: f32) {
        self.items.push(Item { name, shape, fill, rim: Some((rim, width)) });
    }

    /// The picture with a line of text below it. Frames of one film need the same number of lines.
    pub fn caption(mut self, text: impl Into<String>) -> Scene {
        let text = text.into();
        let strip = 0.075 * self.width;
        let letters = text.chars().count().max(1) as f32;
        // A letter with its space is at most as wide as it is high.
        let height = (0.4 * strip).min(0.95 * self.width / letters);
        let centre = [self.width / 2.0, self.height + 0.4 * strip];
        self.height += strip;
        self.add("caption", Shape::Label { centre, height, text }, INK);
        self
    }

    /// Pixels per cell such that no side is longer than `side` pixels and no cell larger than `cell`.
    pub(super) fn scale(&self, side: f32, cell: f32) -> f32 {
        cell.min(side / self.width.max(self.height))
    }
}
