//! What agents see, and buffers for it.

use crate::surroundings::Surroundings;
use equimarl_group::{Group, Rep};
use equimarl_worlds::{Envs, Error, Result};

/// What is written of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// An image.
    Images,
    /// Own features, and edges to everybody who is heard.
    Surroundings,
    /// Own features alone.
    Features,
    /// A number that says which image it is.
    Ids,
}

impl Sight {
    /// By name; without one, what the world has.
    pub fn new(name: Option<&str>, envs: &dyn Envs) -> Result<Sight> {
        let spec = envs.spec();
        let mut there = vec![];
        // An observation is one or the other.
        if spec.image.is_some() {
            there.push(Sight::Images);
        } else if !spec.features.is_empty() {
            // What an agent cannot do without, if nobody talks to it, comes first.
            if Sight::surroundings(envs)?.is_some() {
                there.push(Sight::Surroundings);
            }
            there.push(Sight::Features);
        }
        if envs.exact().is_some() && envs.world(0).id(0).is_some() {
            there.push(Sight::Ids);
        }
        let found = match name {
            Some(name) => there.iter().find(|sight| sight.name() == name),
            None => there.first(),
        };
        found.copied().ok_or_else(|| {
            let all = there.iter().map(|s| format!("\"{}\"", s.name())).collect::<Vec<_>>().join(" or ");
            let (world, name) = (&spec.world, name.unwrap_or_default());
            Error::BadWorld(format!("{world} cannot be observed as \"{name}\"; use {all}"))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Sight::Images => "images",
            Sight::Surroundings => "surroundings",
            Sight::Features => "features",
            Sight::Ids => "ids",
        }
    }

    /// The shape of what one agent sees.
    pub fn shape(self, envs: &dyn Envs) -> Result<Vec<usize>> {
        let spec = envs.spec();
        Ok(match self {
            Sight::Images => spec.image.unwrap_or_default().to_vec(),
            Sight::Surroundings => vec![Sight::surroundings(envs)?.map_or(0, |all| all.len())],
            Sight::Features => vec![own(envs)?],
            Sight::Ids => vec![],
        })
    }

    /// Where what stands in surroundings, if there are any.
    pub fn surroundings(envs: &dyn Envs) -> Result<Option<Surroundings>> {
        Surroundings::of(envs.spec(), own(envs)?)
    }
}

/// How many features an agent has.
fn own(envs: &dyn Envs) -> Result<usize> {
    let spec = envs.spec();
    Ok(Rep::parse(&spec.group.parse::<Group>()?, &spec.features)?.dim())
}

/// A buffer for what all agents of all environments see.
pub(crate) enum Seen<'a> {
    Numbers(&'a mut [f32]),
    Ids(&'a mut [u64]),
}

impl<'a> Seen<'a> {
    /// The first numbers of it, which are taken off.
    pub fn take(&mut self, numbers: usize) -> Seen<'a> {
        match self {
            Seen::Numbers(all) => Seen::Numbers(take(all, numbers)),
            Seen::Ids(all) => Seen::Ids(take(all, numbers)),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Seen::Numbers(all) => all.len(),
            Seen::Ids(all) => all.len(),
        }
    }
}

/// The first of them, which are taken off.
pub(crate) fn take<'a, T>(all: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, rest) = std::mem::take(all).split_at_mut(count);
    *all = rest;
    first
}
