//! The world and the network of a run.

use super::{Method, TrainConfig};
use crate::error::Result;
use crate::interface::{interface, told_interface};
use equimarl_group::Group;
use equimarl_nn::{NetworkConfig, NetworkKind};
use equimarl_worlds::{Envs, Registry};

impl TrainConfig {
    /// The group of the world and of augmentation.
    ///
    /// # Errors
    /// If it is not one.
    pub fn group(&self) -> Result<Group> {
        Ok(self.group.parse()?)
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
        let group = if kind.is_plain() && !wide { Group::cyclic(1)? } else { self.group()? };
        let envs = registry.make(&self.world, &group, 1)?;
        Ok(match self.method {
            Method::Cause => NetworkConfig::usual(told_interface(envs.spec(), kind)?, kind, &group),
            Method::PlainWide => {
                let exact = NetworkKind::Equivariant;
                NetworkConfig::usual(interface(envs.spec(), exact)?, exact, &group).as_wide()?
            }
            _ => NetworkConfig::usual(interface(envs.spec(), kind)?, kind, &group),
        })
    }
}
