//! What a network needs to know of a world, from the world's declaration.

use crate::error::{Error, Result};
use equimarl_nn::{Interface, NetworkKind, SenderKind, Senses, WorldShape};
use equimarl_worlds::{GroupAction, Spec, permutation};

/// What networks of this kind need to know of a world.
///
/// # Errors
/// If the declaration contradicts itself.
pub fn interface(spec: &Spec, kind: NetworkKind) -> Result<Interface> {
    let acts = GroupAction::new(spec)?;
    let rep = spec.actions.rep();
    Ok(Interface {
        world: spec.world.clone(),
        agents: spec.agents,
        image: spec.image.unwrap_or_default(),
        actions: rep.into(),
        team_image: spec.team_image.unwrap_or_default(),
        team_heads: if kind.is_central() { heads(spec, &acts, rep) } else { vec![] },
        features: spec.features.clone(),
        legal: spec.legal.clone(),
        edge: spec.edge.clone(),
        senders: spec
            .senders
            .iter()
            .map(|s| SenderKind { name: s.kind.clone(), features: s.features.clone() })
            .collect(),
        // What differs between episodes must be known to everybody; whole teams see it in no image.
        cause: if spec.cause_varies && !kind.is_central() { spec.cause.clone() } else { String::new() },
    })
}

/// The same for networks that are told what breaks the symmetry.
///
/// # Errors
/// If the declaration contradicts itself, or nothing is known that does.
pub fn told_interface(spec: &Spec, kind: NetworkKind) -> Result<Interface> {
    if spec.cause.is_empty() {
        return Err(Error::BadConfig(format!(
            "the method `cause` tells networks what breaks the symmetry, and nothing does in this world; give {} a cause (wind, \
             tilt), or use `equivariant`",
            spec.world
        )));
    }
    Ok(Interface { cause: spec.cause.clone(), ..interface(spec, kind)? })
}

/// The heads of a network for the whole team. Where agents keep their places each has a head of its own; elsewhere the group
/// permutes all logits at once. A group that does not act on the whole world has none.
fn heads(spec: &Spec, acts: &GroupAction, rep: &str) -> Vec<String> {
    let (agents, actions) = (spec.agents, spec.actions.count());
    if !acts.is_global() {
        return vec![];
    }
    let still = acts.group.elements().all(|g| (0..agents).all(|i| acts.agent(g, i) == i));
    if still && spec.team_image.is_some_and(|[channels, ..]| channels == agents) {
        return vec![rep.to_string(); agents];
    }
    let to = |g, k| acts.agent(g, k / actions) * actions + acts.action(g, k % actions);
    vec![permutation(&acts.group, agents * actions, to)]
}

/// Refuses a world that a network was not made for.
///
/// # Errors
/// If what agents see or do differs, or a central network was made for another team.
pub fn check_fit(spec: &Spec, network: &equimarl_nn::NetworkConfig) -> Result<()> {
    network.check_world(&WorldShape {
        world: &spec.world,
        agents: spec.agents,
        image: spec.image,
        team_image: spec.team_image,
        actions: spec.actions.count(),
    })?;
    let acts = GroupAction::new(spec)?;
    if !network.interface.cause.is_empty() && spec.cause.is_empty() {
        return Err(Error::Mismatch(format!(
            "this network must be told what breaks the symmetry, and {} does not say: give it a wind or a tilt",
            spec.world
        )));
    }
    let senders = spec.senders.iter().enumerate().map(|(k, s)| (s.kind.as_str(), acts.sender_dim(k)));
    network.check_senses(&Senses {
        features: acts.features_dim(),
        edge: acts.edge_dim(),
        senders: senders.collect(),
    })?;
    Ok(())
}
