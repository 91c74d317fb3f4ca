//! How much arithmetic a network is, counted from its layers.
//!
//! ```text
//! multiply-adds of one state = sum over layers of  out x in              (once for every agent, or once for a whole team)
//!                                                  out x in x k x k x h x w   of a filter with an output of h x w pixels
//! ```
//!
//! This is the dense arithmetic that the layers define: every picture by itself and pixel by pixel, though programs may know a
//! picture already or share its parts. Sums of messages, ReLUs, pools, the softmax, and making weights from coefficients are
//! left out: none of them multiplies weights with what is seen.

use super::{KERNELS, Role, STRIDES};
use crate::config::NetworkConfig;
use crate::error::Result;
use equimarl_group::strided_size;

impl NetworkConfig {
    /// The multiply-adds of one pass forward over one state of the whole team. Nothing for networks that make their messages edge
    /// by edge: there it depends on who hears whom.
    ///
    /// ```
    /// use equimarl_nn::{Interface, NetworkConfig, NetworkKind};
    /// let interface = Interface {
    ///     world: "pond".into(),
    ///     agents: 3,
    ///     image: [1, 21, 21],
    ///     actions: "perm[0 4 1 2 3]".into(),
    ///     ..Interface::default()
    /// };
    /// let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &"C4".parse()?);
    /// assert_eq!(config.multiply_adds()?, Some(3 * 969_984));
    /// # Ok::<(), equimarl_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the config does not make a network.
    pub fn multiply_adds(&self) -> Result<Option<u64>> {
        let plan = self.plan()?;
        if plan.layers.iter().any(|layer| layer.role == Role::Message) {
            return Ok(None);
        }
        let [_, height, width] = self.image();
        let (mut sides, mut filters) = ([height, width], KERNELS.into_iter().zip(STRIDES));
        let mut sum = 0u64;
        for layer in &plan.layers {
            let mut places = 1;
            if layer.role == Role::Convolution
                && let Some((kernel, stride)) = filters.next()
            {
                for side in &mut sides {
                    *side = strided_size(*side, kernel, stride)?;
                }
                places = sides.iter().product();
            }
            // A plan's sizes are small enough: it has at most 2^22 weights, and images as many numbers.
            sum += (layer.shape().iter().product::<usize>() * places) as u64;
        }
        let times = if self.kind.is_central() { 1 } else { self.interface.agents as u64 };
        Ok(Some(sum.saturating_mul(times)))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Interface, NetworkConfig, NetworkKind, Widths};

    fn pond() -> Interface {
        Interface {
            world: "pond".into(),
            agents: 3,
            image: [1, 21, 21],
            actions: "perm[0 4 1 2 3]".into(),
            ..Interface::default()
        }
    }

    fn under(kind: NetworkKind, group: &str) -> NetworkConfig {
        let actions = if group == "C1" { "5*trivial".into() } else { pond().actions };
        NetworkConfig::usual(Interface { actions, ..pond() }, kind, &group.parse().unwrap())
    }

    /// Worked out by hand from the paper's sizes: 21 pixels become 8 and then 4.
    #[test]
    fn the_papers_networks_by_hand() {
        let plain = 8 * 8 * 16 * 49 // conv1
            + 4 * 4 * 32 * 16 * 25 // conv2
            + 64 * (32 + 2 + 32) // round1: own, edge, message
            + 64 * (64 + 2 + 64) // round2
            + 5 * 64 // policy
            + 64; // value
        assert_eq!(plain, 267_904);
        assert_eq!(under(NetworkKind::Plain, "C1").multiply_adds().unwrap(), Some(3 * plain));
        // 8, 16, 32 and 32 channels of four numbers.
        let equivariant = 8 * 8 * 32 * 49
            + 4 * 4 * 64 * 32 * 25
            + 128 * (64 + 2 + 64)
            + 128 * (128 + 2 + 128)
            + 5 * 128
            + 128;
        let exact = under(NetworkKind::Equivariant, "C4");
        assert_eq!(exact.multiply_adds().unwrap(), Some(3 * equivariant));
        // What is as wide takes as much, with a symmetry or without.
        assert_eq!(under(NetworkKind::Relaxed, "C4").multiply_adds().unwrap(), Some(3 * equivariant));
        assert_eq!(exact.as_wide().unwrap().multiply_adds().unwrap(), Some(3 * equivariant));
        // A wind that is told enters every round and the heads: two numbers more of one's own, and in the message.
        let mut told = exact;
        told.interface.cause = "rotation".into();
        let more = 2 * 128 * 4 + 2 * (5 + 1);
        assert_eq!(told.multiply_adds().unwrap(), Some(3 * (equivariant + more)));
    }

    #[test]
    fn a_whole_team_is_looked_at_once() {
        let interface = Interface {
            team_image: [2, 15, 15],
            team_heads: vec!["5*trivial".into(), "5*trivial".into(), "5*trivial".into()],
            actions: "5*trivial".into(),
            ..pond()
        };
        let widths = Widths { convolutions: [3, 4], rounds: vec![], hidden: vec![6] };
        let config = NetworkConfig {
            widths,
            ..NetworkConfig::usual(interface, NetworkKind::CentralPlain, &"C1".parse().unwrap())
        };
        // 15 pixels become 5 and then 1.
        let all = 5 * 5 * 3 * 2 * 49 + 4 * 3 * 25 + 6 * 4 + 3 * 5 * 6 + 6;
        assert_eq!(config.multiply_adds().unwrap(), Some(all));
    }

    #[test]
    fn messages_along_edges_have_no_fixed_number() {
        let actions = "5*trivial".into();
        let interface = Interface { image: [0; 3], features: "2*trivial".into(), actions, ..pond() };
        let config = NetworkConfig::usual(interface, NetworkKind::Plain, &"C1".parse().unwrap());
        assert_eq!(config.multiply_adds().unwrap(), None);
    }
}
