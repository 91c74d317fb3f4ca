//! How much arithmetic a step of training is, counted from the settings of a run:
//!
//! ```text
//! multiply-adds per environment step = F (1 + again + 3 epochs copies)
//!   F       one pass forward over a state of the whole team (`NetworkConfig::multiply_adds`)
//!   copies  of every state in an update: the order of the group with full augmentation, else 1
//!   again   copies - 1 if full augmentation compares them with their own old probabilities, and so looks at them; else 0
//!   3       forward and backward: a backward pass is two forward ones
//! ```
//!
//! Left out: the values at the ends of rollouts, the optimiser, evaluation, and that a first layer has no gradient to hand on.

use equimarl_learn::{AugmentRatio, Augmentation, TrainConfig};
use equimarl_worlds::Registry;

/// Multiply-adds of training per environment step; nothing where they cannot be counted: the world is not there, or messages are
/// made edge by edge, so that it depends on who hears whom.
///
/// ```
/// use equimarl_learn::{Method, TrainConfig};
/// let registry = equimarl_worlds::builtin();
/// let drones = registry.usual("wildlife")?;
/// let plain = TrainConfig::preset(&registry, "paper", drones, Method::Plain)?;
/// // Three drones, 267,904 each; four epochs.
/// assert_eq!(equimarl_lab::multiply_adds(&registry, &plain), Some(3.0 * 267_904.0 * 13.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn multiply_adds(registry: &Registry, config: &TrainConfig) -> Option<f64> {
    let forward = config.network(registry).ok()?.multiply_adds().ok()?? as f64;
    let copies = match config.method.augmentation() {
        Augmentation::Full => {
            let symmetry = config.symmetry().ok()?;
            if !symmetry.is_finite() {
                return None;
            }
            symmetry.finite().ok()?.order() as f64
        }
        _ => 1.0,
    };
    let compared = if config.augment_ratio == AugmentRatio::Copy { copies } else { 1.0 };
    Some(forward * (compared + 3.0 * config.epochs as f64 * copies))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::config;
    use equimarl_worlds::builtin;

    #[test]
    fn copies_and_epochs_by_hand() {
        let count = |change: &str| multiply_adds(&builtin(), &config(change)).unwrap();
        let plain = 3.0 * 267_904.0;
        assert_eq!(count("method = 'plain'"), 13.0 * plain);
        assert_eq!(count("method = 'plain'\nepochs = 2"), 7.0 * plain);
        assert_eq!(count("method = 'augment-random'"), 13.0 * plain);
        let full = "method = 'augment-full'\naugment_ratio";
        assert_eq!(count(&format!("{full} = 'rollout'")), 49.0 * plain);
        assert_eq!(count(&format!("{full} = 'copy'")), 52.0 * plain);
        assert_eq!(count("method = 'equivariant'"), 13.0 * 3.0 * 969_984.0);
        assert_eq!(count("method = 'plain-wide'"), 13.0 * 3.0 * 969_984.0);
        // A wind that nobody is told of changes nothing.
        assert_eq!(count("method = 'plain'\n[world]\nwind = 0.4"), 13.0 * plain);
    }

    #[test]
    fn what_cannot_be_counted_is_not_there() {
        let mut unknown = config("method = 'plain'");
        unknown.world.name = "pond".into();
        assert_eq!(multiply_adds(&builtin(), &unknown), None);
        let registry = builtin();
        let spread = registry.usual("spread").unwrap();
        let config =
            TrainConfig::preset(&registry, "default", spread, equimarl_learn::Method::Plain).unwrap();
        assert_eq!(multiply_adds(&registry, &config), None);
    }
}
