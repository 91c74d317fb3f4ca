//! What an agent does that has neighbours and hears none of them.

use crate::error::{Error, Result};
use equimarl_worlds::Spec;

/// What an agent does that has neighbours and hears none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// It decides on its own observation: what the network says about an agent without neighbours.
    #[default]
    Alone,
    /// It takes its actions in turn, each for so many steps.
    Cycle(u32),
}

impl Fallback {
    /// The name of [`Fallback::Alone`], which every world has.
    pub const ALONE: &str = "alone";

    /// The fallback with this name: `alone`, or one that the world declares.
    ///
    /// # Errors
    /// If it declares no such one.
    pub fn named(name: &str, spec: &Spec) -> Result<Fallback> {
        if name == Fallback::ALONE {
            return Ok(Fallback::Alone);
        }
        match spec.fallbacks.iter().find(|fallback| fallback.name == name) {
            Some(fallback) => Ok(Fallback::Cycle(fallback.cycle)),
            None => Err(Error::BadFleet(format!(
                "{} has no fallback `{name}`; it has {}",
                spec.world,
                Fallback::names(spec).join(", ")
            ))),
        }
    }

    /// The names of all fallbacks of a world.
    pub fn names(spec: &Spec) -> Vec<&str> {
        let declared = spec.fallbacks.iter().map(|fallback| fallback.name.as_str());
        std::iter::once(Fallback::ALONE).chain(declared).collect()
    }

    /// The action in a step, unless the agent is to decide for itself.
    pub(crate) fn action(self, step: u32, actions: usize) -> Option<usize> {
        match self {
            Fallback::Alone => None,
            Fallback::Cycle(period) => Some((step / period.max(1)) as usize % actions.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_name_their_fallbacks() {
        let registry = equimarl_worlds::builtin();
        let envs = |name| registry.make(&registry.usual(name).unwrap(), &"C4".parse().unwrap(), 1).unwrap();
        let (drones, lights) = (envs("wildlife"), envs("traffic"));
        assert_eq!(Fallback::named("alone", drones.spec()).unwrap(), Fallback::Alone);
        assert_eq!(Fallback::named("fixed-cycle", lights.spec()).unwrap(), Fallback::Cycle(4));
        let error = Fallback::named("fixed-cycle", drones.spec()).unwrap_err().to_string();
        assert_eq!(error, "wildlife has no fallback `fixed-cycle`; it has alone");
        assert_eq!(Fallback::names(lights.spec()), ["alone", "fixed-cycle"]);
    }

    #[test]
    fn a_cycle_goes_through_all_actions() {
        let actions =
            |count| (0..12).map(|t| Fallback::Cycle(2).action(t, count).unwrap()).collect::<Vec<_>>();
        assert_eq!(actions(3), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
        assert_eq!(actions(2), [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(actions(1), [0; 12]);
        assert_eq!(Fallback::Cycle(0).action(5, 3), Some(2), "at least one step each");
        assert_eq!(Fallback::Alone.action(5, 3), None);
    }
}
