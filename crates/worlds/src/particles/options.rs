//! The options that all particle worlds have.

use super::arena::{Arena, Part, Shape};
use super::bodies::Integrator;
use crate::error::{Error, Result};
use crate::settings::{Opt, Settings};
use crate::spec::Region;

/// More bodies than this would need more memory than any machine for experiments of this kind has.
pub(crate) const MOST_BODIES: usize = 100_000;
/// Where everybody hears everybody, more edges than this would fill any memory.
pub(crate) const MOST_HEARD: usize = 1 << 24;
const LONGEST: usize = 1_000_000;

/// What all particle worlds are set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Common {
    pub integrator: Integrator,
    pub arena: Arena,
    /// How far agents hear, if not everybody.
    pub radius: Option<f64>,
    pub step_limit: usize,
    /// Whether agents act by vectors, and not by mpe2's five choices.
    pub continuous: bool,
}

impl Common {
    /// The vectors that agents may do if they act by vectors: mpe2's are a box, and in a disc nothing has corners.
    pub fn region(&self) -> Region {
        match self.arena.shape {
            Shape::Square => Region::Box,
            Shape::Disc => Region::Ball,
        }
    }
}

impl Default for Common {
    fn default() -> Common {
        Common {
            integrator: Integrator::PositionFirst,
            arena: Arena { shape: Shape::Square, half: 1.0, part: Part::Everywhere },
            radius: None,
            step_limit: 25,
            continuous: false,
        }
    }
}

/// Their declaration.
pub(crate) fn options() -> Vec<Opt> {
    vec![
        Opt::new("radius", "all", "R", "how far agents hear and see: `all`, or a distance"),
        Opt::new(
            "arena",
            "square",
            "SHAPE",
            "where episodes start, and which vectors agents may do: `square` as in mpe2, or `disc`, which every turn leaves as it is",
        ),
        Opt::new(
            "integrator",
            "position-first",
            "WAY",
            "what a step changes first: `position-first` as in mpe2, or `velocity-first` as in the original MPE",
        ),
        Opt::new("step_limit", 25usize, "T", "steps of an episode"),
        Opt::new("actions", "discrete", "KIND", "`discrete`, mpe2's five choices, or `continuous`: vectors")
            .added_later("discrete"),
        Opt::new(
            "start",
            "everywhere",
            "PART",
            "the part of the arena where episodes start: `everywhere`, `left`, `right` (the same, mirrored), `inner` (half the size) or `outer`",
        )
        .added_later("everywhere"),
    ]
}

/// A radius is written in one way: 1, not 1.0.
pub(crate) fn canonical(settings: Settings) -> Settings {
    match settings.text("radius").map(radius) {
        Ok(Ok(Some(radius))) => settings.with("radius", radius.to_string().as_str()),
        _ => settings,
    }
}

impl Common {
    pub fn of(settings: &Settings) -> Result<Common> {
        let step_limit = settings.whole("step_limit")?;
        if step_limit == 0 || step_limit > LONGEST {
            return Err(Error::BadWorld(format!(
                "`step_limit` is {step_limit}; an episode has 1 to {LONGEST} steps"
            )));
        }
        Ok(Common {
            integrator: integrator(settings.text("integrator")?)?,
            arena: Arena {
                shape: shape(settings.text("arena")?)?,
                half: 1.0,
                part: part(settings.text("start")?)?,
            },
            radius: radius(settings.text("radius")?)?,
            step_limit,
            continuous: match settings.text("actions")? {
                "discrete" => false,
                "continuous" => true,
                other => {
                    return Err(Error::BadWorld(format!(
                        "`actions` is discrete or continuous, not `{other}`"
                    )));
                }
            },
        })
    }
}

pub(super) fn integrator(name: &str) -> Result<Integrator> {
    match name {
        "position-first" => Ok(Integrator::PositionFirst),
        "velocity-first" => Ok(Integrator::VelocityFirst),
        _ => Err(Error::BadWorld(format!(
            "`integrator` is position-first (mpe2) or velocity-first (the original MPE), not `{name}`"
        ))),
    }
}

pub(super) fn shape(name: &str) -> Result<Shape> {
    match name {
        "square" => Ok(Shape::Square),
        "disc" => Ok(Shape::Disc),
        _ => Err(Error::BadWorld(format!("`arena` is square or disc, not `{name}`"))),
    }
}

fn part(name: &str) -> Result<Part> {
    match name {
        "everywhere" => Ok(Part::Everywhere),
        "left" => Ok(Part::Left),
        "right" => Ok(Part::Right),
        "inner" => Ok(Part::Inner),
        "outer" => Ok(Part::Outer),
        _ => {
            Err(Error::BadWorld(format!("`start` is everywhere, left, right, inner or outer, not `{name}`")))
        }
    }
}

fn radius(text: &str) -> Result<Option<f64>> {
    if text == "all" {
        return Ok(None);
    }
    let radius = text.parse().ok().filter(|r: &f64| r.is_finite() && *r > 0.0);
    radius.map(Some).ok_or_else(|| {
        Error::BadWorld(format!(
            "`radius` is `all`, or a distance above 0 from which agents hear, not `{text}`"
        ))
    })
}
