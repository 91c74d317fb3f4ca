//! The declaration of a world: what agents see, do and hear, how the group acts on each, and what is worth measuring.
//!
//! Everything else reads it: networks are built from it, audits check it, trainers, reports, pages and fleets take names
//! and units from it. It is plain data, stored in run folders as `spec.json`.

use crate::error::{Error, Result};
use crate::scene::ActionMark;
use equimarl_group::{Element, Group, Plane};
use serde::{Deserialize, Serialize};

/// What a world is, for everybody who is not the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The world's name.
    pub world: String,
    /// The version of its rules.
    pub version: u32,
    /// The number of agents.
    pub agents: usize,
    /// The symmetry group, by its name.
    pub group: String,
    /// How the group turns pixels, as a representation; empty for the way in which plane symmetries do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plane: String,
    /// Where each generator of the group sends the agents, by number: in the transformed world, agent `agent_moves[g][i]`
    /// is where agent i is taken. An agent that carries its place with it, such as a drone, keeps its number; one that is a
    /// place, such as a junction, becomes the one that is there. Nothing if the group acts on what one agent sees and not
    /// on the whole world: local networks may have such a symmetry, but the world has not.
    pub agent_moves: Option<Vec<Vec<usize>>>,
    /// Channels, height and width of what an agent sees, if that is an image.
    pub image: Option<[usize; 3]>,
    /// The same for the whole state, for networks that decide for all agents at once.
    pub team_image: Option<[usize; 3]>,
    /// What an agent sees if that is a vector: its representation, for example `3*trivial + 2*rotation`. Vectors of the
    /// plane (`rotation`) are (row, column), that is (down, right): `r` turns them counter-clockwise, as seen with rows
    /// running down, and the mirror `m` negates the column.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub features: String,
    /// For each action, the number among the features that says whether the agent may take it now: it may if that is above
    /// a half. Networks give no other action any probability. Empty if all actions can always be taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub legal: Vec<usize>,
    /// Senders: things that are heard and do not act, such as landmarks. They are numbered after the agents, kind by kind,
    /// and have no identity: networks know the kind of one, its edge vector and its features, which stay the same in all
    /// message rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub senders: Vec<Senders>,
    /// The representation of edge vectors; empty for vectors (down, right) of the plane.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub edge: String,
    /// What an agent can do.
    pub actions: Actions,
    /// What is measured besides return and length, by [`crate::World::measure`].
    pub measures: Vec<Measure>,
    /// Those of them, by name, that hide failures if nobody looks: they are shown wherever something is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// Values of what is shown first that count as milestones on the way.
    pub thresholds: Vec<f64>,
    /// Controllers that come with the world, besides `random`, for [`crate::World::control`]. One that takes a number after
    /// a colon is declared with it: `fixed-cycle:STEPS`.
    pub controllers: Vec<String>,
    /// Those of them that reports show beside learned teams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Which agents may ever be neighbours.
    pub links: Links,
    /// What an agent of a fleet may do instead of deciding when it hears nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// What breaks the symmetry, if that is known: its representation. Everybody knows its value ([`crate::World::cause`]), and
    /// a network that is told turns with it exactly.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Whether it differs between episodes: then every network must be told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cause_varies: bool,
}

/// A kind of things that are heard and do not act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Senders {
    /// What they are: lower-case letters, digits and dashes.
    pub kind: String,
    /// How many there are.
    pub count: usize,
    /// The representation of what is heard of each besides where it is; empty for nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub features: String,
}

/// What an agent can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Actions {
    /// One of several choices.
    Choice {
        /// What each of them is called.
        names: Vec<String>,
        /// How the group permutes them: a representation.
        rep: String,
        /// What each of them looks like in a scene; empty if the world does not say.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        marks: Vec<ActionMark>,
    },
    /// A vector.
    Vector {
        /// What each of its numbers is called.
        names: Vec<String>,
        /// How the group acts on it: a representation.
        rep: String,
        /// How large it may be.
        bound: f64,
        /// Of what shape all vectors are that it may be.
        region: Region,
    },
}

/// The vectors that an agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// Those whose length is within the bound: every turn leaves that as it is.
    Ball,
    /// Those whose numbers are within the bound, each for itself: only quarter turns and mirrors leave that as it is.
    Box,
}

impl Actions {
    /// How many choices there are, or how many numbers a vector has.
    pub fn count(&self) -> usize {
        self.names().len()
    }

    /// What they are called.
    pub fn names(&self) -> &[String] {
        let (Actions::Choice { names, .. } | Actions::Vector { names, .. }) = self;
        names
    }

    /// How the group permutes choices, or acts on vectors.
    pub fn rep(&self) -> &str {
        let (Actions::Choice { rep, .. } | Actions::Vector { rep, .. }) = self;
        rep
    }

    /// What each choice looks like; empty if the world does not say.
    pub fn marks(&self) -> &[ActionMark] {
        match self {
            Actions::Choice { marks, .. } => marks,
            Actions::Vector { .. } => &[],
        }
    }

    /// The bound and the region of vectors; nothing for choices.
    pub fn vectors(&self) -> Option<(f64, Region)> {
        match self {
            Actions::Choice { .. } => None,
            Actions::Vector { bound, region, .. } => Some((*bound, *region)),
        }
    }

    /// Refuses vectors that are not finite, or larger than they may be; rounding of f32 is forgiven.
    ///
    /// # Errors
    /// If one is, saying which; or if agents choose.
    pub fn check_vectors(&self, all: &[f64]) -> Result<()> {
        let Some((bound, region)) = self.vectors() else {
            return Err(Error::BadWorld("agents of this world choose; they do not act by vectors".into()));
        };
        for (agent, vector) in all.chunks(self.count().max(1)).enumerate() {
            let size = region.size(vector);
            if !(size.is_finite() && size <= bound * (1.0 + 1e-6)) {
                return Err(Error::BadWorld(format!(
                    "agent {agent} acts by {vector:?}; vectors are finite and {} {bound}",
                    match region {
                        Region::Ball => "not longer than",
                        Region::Box => "have numbers within",
                    }
                )));
            }
        }
        Ok(())
    }
}

impl Region {
    /// What is within the bound if the vector is in this region.
    pub fn size(self, vector: &[f64]) -> f64 {
        match self {
            Region::Ball => vector.iter().map(|x| x * x).sum::<f64>().sqrt(),
            // Written so that what is not a number stays one.
            Region::Box => {
                vector.iter().fold(0.0f64, |m, x| if m.is_nan() || x.abs() <= m { m } else { x.abs() })
            }
        }
    }
}

/// Something that is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// Its name in metrics, summaries and reports.
    pub name: String,
    /// In words, for axes and tables: `mean waiting time`.
    pub title: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// When it is taken.
    pub over: Over,
    /// Whether it is what people look at first, instead of the return. At most one is.
    #[serde(default)]
    pub first: bool,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
    /// Neither: it only describes.
    Neither,
}

/// When something is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// After every step; an episode has the mean.
    Steps,
    /// After the last step of an episode.
    Episode,
}

/// Which agents may ever be neighbours: those need a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// Any two.
    All,
    /// Those that are neighbours at the start.
    Fixed,
}

/// What an agent may do instead of deciding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// Its name on the command line.
    pub name: String,
    /// It takes its actions in turn, each for so many steps.
    pub cycle: u32,
}

impl Spec {
    /// A world without anything to see. Its group leaves agents their numbers, which is right for bodies that carry their
    /// places with them, and wrong for places: see [`Spec::agent_moves`].
    pub fn new(world: &str, agents: usize, group: &Group, actions: Actions) -> Spec {
        let still = group.generators().iter().map(|_| (0..agents).collect()).collect();
        Spec {
            world: world.into(),
            version: 1,
            agents,
            group: group.name().into(),
            plane: String::new(),
            agent_moves: Some(still),
            image: None,
            team_image: None,
            features: String::new(),
            legal: vec![],
            senders: vec![],
            edge: String::new(),
            actions,
            measures: vec![],
            alarms: vec![],
            thresholds: vec![],
            controllers: vec![],
            references: vec![],
            links: Links::All,
            fallbacks: vec![],
            cause: String::new(),
            cause_varies: false,
        }
    }

    /// The number of senders.
    pub fn sender_count(&self) -> usize {
        self.senders.iter().map(|s| s.count).sum()
    }

    /// The kind of sender `who`, counted from the agents on.
    pub fn sender_kind(&self, who: usize) -> Option<usize> {
        let mut at = who.checked_sub(self.agents)?;
        self.senders.iter().position(|s| {
            let here = at < s.count;
            at = at.saturating_sub(if here { 0 } else { s.count });
            here
        })
    }

    /// The measure that people look at first, if it is not the return.
    pub fn first_measure(&self) -> Option<(usize, &Measure)> {
        self.measures.iter().enumerate().find(|(_, m)| m.first)
    }

    /// Refuses a controller that is not there, and a number after the colon for one that takes none.
    ///
    /// # Errors
    /// If it is refused, saying which controllers there are.
    pub fn check_controller(&self, controller: &str) -> Result<()> {
        let (name, number) = parts(controller);
        let own = self.controllers.iter().map(|declared| parts(declared));
        let all: Vec<(&str, Option<&str>)> = [("random", None)].into_iter().chain(own).collect();
        match (all.iter().find(|(other, _)| *other == name), number) {
            (Some((_, Some(_))), _) | (Some(_), None) => Ok(()),
            (Some(_), Some(_)) => Err(Error::BadWorld(format!(
                "the controller `{name}` of {} takes no number: write {name} instead of {controller}",
                self.world
            ))),
            (None, _) => {
                let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
                let list = match names.split_last() {
                    Some((last, [])) => last.to_string(),
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => String::new(),
                };
                Err(Error::BadWorld(format!("{} has no controller `{controller}`; use {list}", self.world)))
            }
        }
    }
}

/// The name of a controller, and what follows after a colon.
fn parts(controller: &str) -> (&str, Option<&str>) {
    controller.split_once(':').map_or((controller, None), |(name, number)| (name, Some(number)))
}

/// A permutation of `n` things per generator, as a representation; `to(g, k)` is where g sends k. Without generators that
/// move anything it is so many trivial ones.
///
/// ```
/// use equimarl_group::{Group, Plane};
/// use equimarl_worlds::permutation;
/// let group: Group = "C4".parse()?;
/// assert_eq!(permutation(&group, 3, |_, k| k), "3*trivial");
/// assert_eq!(permutation(&group, 2, |_, k| 1 - k), "perm[1 0]");
/// # Ok::<(), equimarl_group::Error>(())
/// ```
pub fn permutation(group: &Group, n: usize, to: impl Fn(Element, usize) -> usize) -> String {
    let lists: Vec<Vec<usize>> = group
        .generators()
        .iter()
        .map(|&g| {
            let mut gather = vec![0; n];
            (0..n).for_each(|k| gather[to(g, k)] = k);
            gather
        })
        .collect();
    if lists.iter().all(|list| list.is_sorted()) {
        return format!("{n}*trivial");
    }
    let text = |list: &Vec<usize>| list.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    format!("perm[{}]", lists.iter().map(text).collect::<Vec<_>>().join("; "))
}

/// How the group permutes moves by these vectors (down, right): a move goes to the move by the turned vector.
///
/// # Errors
/// If a turned vector is none of them.
pub fn moves(group: &Group, vectors: &[[i32; 2]]) -> Result<String> {
    let plane = Plane::new(group)?;
    for g in group.elements() {
        for &v in vectors {
            let image = plane.vector(g, v);
            if !vectors.contains(&image) {
                let name = group.element_name(g);
                return Err(Error::BadWorld(format!(
                    "{name} turns the move by {v:?} into one by {image:?}, which is none of {vectors:?}"
                )));
            }
        }
    }
    let find = |v: [i32; 2]| vectors.iter().position(|w| *w == v).unwrap_or(0);
    Ok(permutation(group, vectors.len(), |g, k| find(plane.vector(g, vectors[k]))))
}

/// The representation of a vector (down, right), for a group that turns the plane.
pub fn plane(group: &Group) -> &'static str {
    if equimarl_group::Rep::rotation(group, 1).is_ok() { "rotation" } else { "natural" }
}

/// A declaration with what people call the world: the content of `spec.json` in run folders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// Its name and size, for people.
    pub title: String,
    /// Its name and size, short.
    pub label: String,
    /// The symmetry that networks usually get.
    pub usual_group: String,
    /// Where it lives, if that is not the program that comes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<Home>,
    /// The declaration.
    #[serde(flatten)]
    pub spec: Spec,
}

/// Where a world lives that a program does not have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Home {
    /// What people are told: `Python`.
    pub program: String,
    /// What that program wants to know when it meets the world again.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub note: serde_json::Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::builtin;
    use crate::traffic::{Traffic, TrafficOptions};
    use crate::wildlife::Wildlife;
    use crate::world::World;

    #[test]
    fn declarations_survive_files() {
        let wide = TrafficOptions { cols: 3, ..TrafficOptions::default() };
        let local = Traffic::new(wide).unwrap().under(&"C4".parse().unwrap()).unwrap();
        let mut own = Wildlife::new(3, 7).unwrap().spec().as_ref().clone();
        own.image = None;
        own.features = "trivial + rotation".into();
        own.edge = "rotation".into();
        own.plane = "rotation".into();
        own.senders = vec![Senders { kind: "pier".into(), count: 2, features: "trivial".into() }];
        let mut all = vec![local.spec().as_ref().clone(), own];
        let registry = builtin();
        for name in registry.names() {
            let world = registry.usual(name).unwrap();
            let group = registry.usual_group(&world).unwrap().parse().unwrap();
            all.push(registry.make(&world, &group, 1).unwrap().spec().as_ref().clone());
        }
        assert_eq!(all[0].agent_moves, None);
        for spec in all {
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<Spec>(&text).unwrap(), spec, "{text}");
        }
    }

    #[test]
    fn senders_are_numbered_after_the_agents_kind_by_kind() {
        let kind = |kind: &str, count| Senders { kind: kind.into(), count, features: String::new() };
        let mut spec = Wildlife::new(2, 5).unwrap().spec().as_ref().clone();
        spec.senders = vec![kind("pier", 2), kind("wreck", 0), kind("buoy", 1)];
        assert_eq!(spec.sender_count(), 3);
        let kinds: Vec<Option<usize>> = (0..6).map(|who| spec.sender_kind(who)).collect();
        assert_eq!(kinds, [None, None, Some(0), Some(0), Some(2), None]);
    }

    #[test]
    fn controllers_take_a_number_if_they_say_so() {
        let mut spec = Wildlife::new(2, 5).unwrap().spec().as_ref().clone();
        spec.controllers = vec!["circle:STEPS".into(), "still".into()];
        for good in ["random", "circle", "circle:6", "still"] {
            spec.check_controller(good).unwrap();
        }
        for (bad, part) in [
            (
                "random:5",
                "the controller `random` of wildlife takes no number: write random instead of random:5",
            ),
            ("still:", "`still` of wildlife takes no number"),
            ("square", "wildlife has no controller `square`; use random, circle or still"),
            ("", "use random, circle or still"),
        ] {
            let error = spec.check_controller(bad).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        spec.controllers.clear();
        let error = spec.check_controller("circle").unwrap_err().to_string();
        assert!(error.ends_with("; use random"), "{error}");
    }

    #[test]
    fn moves_turn_like_vectors_or_are_refused() {
        let group: Group = "C4".parse().unwrap();
        let compass = [[1, 0], [0, 1], [-1, 0], [0, -1]];
        assert_eq!(moves(&group, &compass).unwrap(), "perm[3 0 1 2]");
        let error = moves(&group, &compass[..3]).unwrap_err().to_string();
        assert!(error.contains("turns the move by"), "{error}");
        assert!(moves(&"C3".parse().unwrap(), &compass).is_err());
    }
}
