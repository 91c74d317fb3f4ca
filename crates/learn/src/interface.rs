//! What a network needs to know of a world, from the world's declaration.

use crate::error::{Error, Result};
use equimarl_group::Symmetry;
use equimarl_nn::{Interface, NetworkKind, SenderKind, Senses, Squash, WorldShape};
use equimarl_worlds::{GroupAction, Region, Spec, permutation};

/// What networks of this kind need to know of a world, with the symmetry that the world is put under or none.
///
/// # Errors
/// If the declaration contradicts itself.
pub fn interface(spec: &Spec, kind: NetworkKind) -> Result<Interface> {
    interface_under(spec, kind, &spec.group.parse()?)
}

/// The same for networks with this symmetry.
///
/// # Errors
/// If the declaration contradicts itself.
pub fn interface_under(spec: &Spec, kind: NetworkKind, symmetry: &Symmetry) -> Result<Interface> {
    let acts = GroupAction::new(spec)?;
    let rep = spec.actions.rep();
    Ok(Interface {
        world: spec.world.clone(),
        agents: spec.agents,
        image: spec.image.unwrap_or_default(),
        actions: rep.into(),
        vectors: spec.actions.vectors().map(|(_, region)| squash(region, &acts, symmetry)),
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
        tokens: String::new(),
    })
}

/// Into what vectors are squashed: all that agents may do, if the symmetry leaves that as it is. A network that turns by other
/// angles than quarters keeps to the ball within the box, and gives up what is in the corners.
fn squash(region: Region, acts: &GroupAction, symmetry: &Symmetry) -> Squash {
    let quarters = symmetry.is_finite() && acts.group.elements().all(|g| acts.vector_is_exact(g));
    if region == Region::Box && quarters { Squash::Box } else { Squash::Ball }
}

/// The same for networks that are told what breaks the symmetry.
///
/// # Errors
/// If the declaration contradicts itself, or nothing is known that does.
pub fn told_interface(spec: &Spec, kind: NetworkKind, symmetry: &Symmetry) -> Result<Interface> {
    if spec.cause.is_empty() {
        return Err(Error::BadConfig(format!(
            "the method `cause` tells networks what breaks the symmetry, and {} declares nothing that does with these settings; use \
             `equivariant`, or `subgroup` for what is left",
            spec.world
        )));
    }
    Ok(Interface { cause: spec.cause.clone(), ..interface_under(spec, kind, symmetry)? })
}

/// The heads of a network for the whole team. Where agents keep their places each has a head of its own; elsewhere the group
/// permutes all logits at once. A group that does not act on the whole world has none.
fn heads(spec: &Spec, acts: &GroupAction, rep: &str) -> Vec<String> {
    let (agents, actions) = (spec.agents, spec.actions.count());
    if !acts.is_global() || spec.actions.vectors().is_some() {
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
    let by_vectors = network.interface.vectors.is_some();
    if by_vectors != spec.actions.vectors().is_some() {
        let does = |vectors: bool| if vectors { "act by vectors" } else { "choose" };
        return Err(crate::error::Error::Mismatch(format!(
            "this model was made for agents that {}, and agents of this world {}",
            does(by_vectors),
            does(!by_vectors)
        )));
    }
    if let (Some(Squash::Box), Some((_, Region::Ball))) = (network.interface.vectors, spec.actions.vectors())
    {
        return Err(crate::error::Error::Mismatch(
            "this model acts by vectors in a box, and agents of this world by vectors in a ball".into(),
        ));
    }
    let acts = GroupAction::new(spec)?;
    // A world that declares none has none that could be told: zeros are, whatever else may break it (a main road).
    let (told, there) = (network.cause_dim()?, acts.cause_dim());
    if told > 0 && there > 0 && told != there {
        return Err(Error::Mismatch(format!(
            "this network is told what breaks the symmetry in {told} numbers, and {} as it is here has {there} of them",
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
