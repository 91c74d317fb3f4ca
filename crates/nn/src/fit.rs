//! Does this model fit this world? Asked in one way by whoever trains, plays or deploys.

use crate::config::NetworkConfig;
use crate::error::{Error, Result};
use equimarl_group::{Group, Rep};
use std::fmt;

/// What a network has to fit, as a world declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldShape<'a> {
    /// The world's name.
    pub world: &'a str,
    /// The number of agents.
    pub agents: usize,
    /// Channels, height and width of what an agent sees, if that is an image.
    pub image: Option<[usize; 3]>,
    /// The same for the whole state.
    pub team_image: Option<[usize; 3]>,
    /// The number of actions of one agent.
    pub actions: usize,
}

/// What agents see and hear, in numbers. Of representations only the dimensions are here: a plain network knows nothing of the
/// world's group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Senses<'a> {
    /// Numbers of an agent's feature vector; 0 if it sees an image.
    pub features: usize,
    /// Numbers of an edge vector.
    pub edge: usize,
    /// The kinds of senders that do not act, in their order: what they are called, and numbers of what is seen of each
    /// besides where it is.
    pub senders: Vec<(&'a str, usize)>,
}

impl fmt::Display for Senses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.features {
            0 => write!(f, "an image")?,
            features => write!(f, "{features} numbers")?,
        }
        write!(f, ", with edges of {}", self.edge)?;
        self.senders.iter().try_for_each(|(kind, dim)| write!(f, ", and {dim} of each {kind}"))
    }
}

impl NetworkConfig {
    /// What the agents see and hear that this network was made for.
    ///
    /// # Errors
    /// If the config does not say how its group acts on that.
    pub fn senses(&self) -> Result<Senses<'_>> {
        let (own, group) = (&self.interface, self.carrier()?);
        let dim = |group: &Group, text: &str| -> Result<usize> {
            if text.is_empty() { Ok(0) } else { Ok(Rep::parse(group, text)?.dim()) }
        };
        let senders = own.senders.iter().map(|s| Ok((s.name.as_str(), dim(&group, &s.features)?)));
        Ok(Senses {
            features: dim(&group, &own.features)?,
            edge: self.edge_rep(&group)?.dim(),
            senders: senders.collect::<Result<_>>()?,
        })
    }

    /// Refuses a world whose agents see or hear other things than this network was made for. Sizes of images are
    /// [`NetworkConfig::check_world`]'s.
    ///
    /// # Errors
    /// If features, edges or kinds of senders differ.
    ///
    /// ```
    /// use equimarl_nn::{NetworkKind, NetworkConfig, SenderKind, Senses, Interface};
    /// let interface = Interface {
    ///     world: "harbour".into(),
    ///     agents: 3,
    ///     actions: "regular".into(),
    ///     features: "trivial + rotation".into(),
    ///     senders: vec![SenderKind { name: "pier".into(), features: "2*trivial".into() }],
    ///     ..Interface::default()
    /// };
    /// let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &"C4".parse()?);
    /// let senses = Senses { features: 3, edge: 2, senders: vec![("pier", 2)] };
    /// config.check_senses(&senses)?;
    /// assert!(config.check_senses(&Senses { senders: vec![], ..senses }).is_err());
    /// # Ok::<(), equimarl_nn::Error>(())
    /// ```
    pub fn check_senses(&self, found: &Senses<'_>) -> Result<()> {
        let wanted = self.senses()?;
        if *found == wanted {
            return Ok(());
        }
        Err(Error::Mismatch(format!(
            "this model was made for agents that see {wanted}, and agents of this world see {found}"
        )))
    }

    /// Refuses a world that this network was not made for.
    ///
    /// # Errors
    /// If what agents see or do differs, or a central network was made for another team.
    ///
    /// ```
    /// use equimarl_nn::{NetworkKind, NetworkConfig, Interface, WorldShape};
    /// let group = "C4".parse()?;
    /// let interface = Interface {
    ///     world: "pond".into(),
    ///     agents: 3,
    ///     image: [1, 21, 21],
    ///     actions: "perm[0 4 1 2 3]".into(), // stay, down, right, up, left
    ///     ..Interface::default()
    /// };
    /// let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group);
    /// let shape =
    ///     WorldShape { world: "pond", agents: 3, image: Some([1, 21, 21]), team_image: None, actions: 5 };
    /// config.check_world(&shape)?;
    /// config.check_world(&WorldShape { agents: 30, ..shape })?; // a team of any size
    /// assert!(config.check_world(&WorldShape { image: Some([1, 27, 27]), ..shape }).is_err());
    /// # Ok::<(), equimarl_nn::Error>(())
    /// ```
    pub fn check_world(&self, found: &WorldShape<'_>) -> Result<()> {
        let own = &self.interface;
        if found.world != own.world {
            return Err(Error::Mismatch(format!(
                "this model was made for the world `{}`, and this is `{}`",
                own.world, found.world
            )));
        }
        let (central, actions) = (self.kind.is_central(), self.actions()?);
        let (image, wanted) = match central {
            true => (found.team_image, own.team_image),
            false => (found.image, own.image),
        };
        let image = image.unwrap_or_default();
        if image == wanted && found.actions != actions {
            return Err(Error::Mismatch(format!(
                "this model was made for agents with {actions} actions (or numbers of a vector), and here they have {}",
                found.actions
            )));
        }
        if image != wanted {
            let size = if central { "; a central network is made for one size" } else { "" };
            return Err(Error::Mismatch(format!(
                "this model sees images of {wanted:?} and has {actions} actions; the world has {image:?} and {}{size}",
                found.actions
            )));
        }
        if central && found.agents != own.agents {
            return Err(Error::Mismatch(format!(
                "a central network is made for one size: this one decides for {} agents, the world has {}",
                own.agents, found.agents
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Interface, NetworkKind};
    use crate::testing::worlds;

    #[test]
    fn what_does_not_fit_is_named() {
        let group = "C4".parse().unwrap();
        let interface = worlds::wildlife(3, 7, &group);
        let local = NetworkConfig::usual(interface.clone(), NetworkKind::Equivariant, &group);
        let central = NetworkConfig::usual(interface, NetworkKind::CentralEquivariant, &group);
        let (image, team_image) = (Some([1, 21, 21]), Some([3, 21, 21]));
        let right = WorldShape { world: "wildlife", agents: 3, image, team_image, actions: 5 };
        for config in [&local, &central] {
            config.check_world(&right).unwrap();
        }
        for (config, wrong, part) in [
            (
                &local,
                WorldShape { world: "lake", ..right },
                "made for the world `wildlife`, and this is `lake`",
            ),
            (
                &local,
                WorldShape { image: None, ..right },
                "images of [1, 21, 21] and has 5 actions; the world has [0, 0, 0]",
            ),
            (
                &local,
                WorldShape { actions: 4, ..right },
                "agents with 5 actions (or numbers of a vector), and here they have 4",
            ),
            (&central, WorldShape { team_image: None, ..right }, "a central network is made for one size"),
            (&central, WorldShape { agents: 4, ..right }, "decides for 3 agents, the world has 4"),
        ] {
            let error = config.check_world(&wrong).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        local.check_world(&WorldShape { agents: 9, team_image: None, ..right }).unwrap();
    }

    #[test]
    fn senses_that_differ_are_named() {
        use crate::config::SenderKind;
        let kind = |name: &str, features: &str| SenderKind { name: name.into(), features: features.into() };
        let mut interface = Interface {
            world: "harbour".into(),
            agents: 3,
            actions: "regular".into(),
            features: "2*trivial + rotation".into(),
            edge: "trivial + rotation".into(),
            senders: vec![kind("pier", "trivial"), kind("buoy", "")],
            ..Interface::default()
        };
        let group: Group = "C4".parse().unwrap();
        let config = NetworkConfig::usual(interface.clone(), NetworkKind::Equivariant, &group);
        let right = Senses { features: 4, edge: 3, senders: vec![("pier", 1), ("buoy", 0)] };
        config.check_senses(&right).unwrap();
        assert_eq!(config.senses().unwrap(), right);
        for (wrong, part) in [
            (
                Senses { features: 0, ..right.clone() },
                "and agents of this world see an image, with edges of 3",
            ),
            (
                Senses { edge: 2, ..right.clone() },
                "that see 4 numbers, with edges of 3, and 1 of each pier, and 0 of each buoy, and agents",
            ),
            (Senses { senders: vec![("buoy", 0), ("pier", 1)], ..right.clone() }, "0 of each buoy, and 1 of"),
            (Senses { senders: vec![("pier", 1)], ..right.clone() }, "see 4 numbers, with edges of 3"),
        ] {
            let error = config.check_senses(&wrong).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        // An empty edge is a vector of the plane, and images have edges as well.
        interface.edge = String::new();
        let flat = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group);
        assert_eq!(flat.senses().unwrap().edge, 2);
        let drones = NetworkConfig::usual(worlds::wildlife(3, 7, &group), NetworkKind::Equivariant, &group);
        drones.check_senses(&Senses { features: 0, edge: 2, senders: vec![] }).unwrap();
        assert!(drones.check_senses(&Senses { features: 0, edge: 2, senders: vec![("pier", 0)] }).is_err());
    }
}
