//! The world and the network of a run.

use super::{Method, TrainConfig};
use crate::error::{Error, Result};
use crate::interface::{interface_under, told_interface};
use equimarl_group::{Group, Symmetry};
use equimarl_nn::{Interface, NetworkConfig, NetworkKind};
use equimarl_worlds::{Envs, Registry};

impl TrainConfig {
    /// The symmetry of the network and of augmentation.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn symmetry(&self) -> Result<Symmetry> {
        Ok(self.group.parse()?)
    }

    /// The group that the world is put under: that of its name, or the quarter turns (and mirrors) of SO2 and O2.
    ///
    /// # Errors
    /// If it is not one.
    pub fn group(&self) -> Result<Group> {
        Ok(self.symmetry()?.finite()?)
    }

    /// Environments of this run's world, none of them started.
    ///
    /// # Errors
    /// If there is no such world, or it does not have the symmetry.
    pub fn make(&self, registry: &Registry, count: usize) -> Result<Box<dyn Envs>> {
        let group = self.group()?;
        let world = registry.complete(&self.world)?;
        registry.get(&world.name)?.check_symmetry(&world.settings, &group)?;
        Ok(registry.make(&world, &group, count)?)
    }

    /// The network that this run trains.
    ///
    /// # Errors
    /// If the group does not act on the world.
    pub fn network(&self, registry: &Registry) -> Result<NetworkConfig> {
        let mut kind = self.method.kind();
        if kind == NetworkKind::Relaxed && self.penalty.is_infinite() {
            kind = NetworkKind::Equivariant;
        }
        let wide = self.method == Method::PlainWide;
        let none = kind.is_plain() && !wide;
        let symmetry = if none { Symmetry::Finite(Group::cyclic(1)?) } else { self.symmetry()? };
        if kind == NetworkKind::Relaxed && !symmetry.is_finite() {
            return Err(Error::BadConfig(format!(
                "the method `relaxed` needs a finite group, and {} is none; give --group D4, for example",
                symmetry.name()
            )));
        }
        let envs = registry.make(&self.world, &symmetry.finite()?, 1)?;
        let tokens = self.token_rep(kind)?;
        let made = |interface: Interface, kind| {
            NetworkConfig::under(Interface { tokens: tokens.clone(), ..interface }, kind, &symmetry)
        };
        let usual = |kind| -> Result<NetworkConfig> {
            Ok(made(interface_under(envs.spec(), kind, &symmetry)?, kind))
        };
        let config = match self.method {
            Method::Cause => made(told_interface(envs.spec(), kind, &symmetry)?, kind),
            Method::PlainWide => usual(NetworkKind::Equivariant)?.as_wide()?,
            _ => usual(kind)?,
        };
        config.symmetry()?;
        Ok(config)
    }

    /// How agents' tokens transform; empty without. A plain network gets the same numbers, of which nothing is said.
    fn token_rep(&self, kind: NetworkKind) -> Result<String> {
        let bad = |why: String| Err(Error::BadConfig(format!("`tokens` {why}")));
        match (self.tokens, kind) {
            (false, _) => Ok(String::new()),
            (_, kind) if kind.is_central() => {
                bad(format!("tell agents apart, and a {kind} network tells them apart by itself"))
            }
            _ if !self.symmetry()?.is_finite() => {
                bad(format!("have an element of a finite group, and this is {}; use D4, or none", self.group))
            }
            (_, kind) if kind.is_plain() && self.method != Method::PlainWide => {
                Ok(format!("{}*trivial", 1 + self.group()?.order()))
            }
            _ => Ok("trivial + regular".into()),
        }
    }
}
