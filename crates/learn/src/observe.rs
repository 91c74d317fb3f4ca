//! From the states of worlds to the batches of networks.

use crate::error::{Error, Result};
use equimarl_nn::{Batch, BatchBuilder, NetworkConfig, Sharing};
use equimarl_worlds::{Edge, Symmetric};

/// What all agents of all states see and whom they hear, for a distributed network.
///
/// With [`Sharing::Orbits`] the worlds must act by the same group, because the batch says which of its elements turns
/// which picture.
///
/// # Errors
/// If the groups differ.
pub fn observe<'a, W: Symmetric + 'a>(
    states: impl IntoIterator<Item = &'a W>,
    sharing: &Sharing,
) -> Result<Batch> {
    let mut builder = BatchBuilder::new(sharing.clone());
    let mut heard: Vec<Edge> = Vec::new();
    let mut any: Option<&W> = None;
    for state in states {
        if let (Sharing::Orbits(group), None) = (sharing, any) {
            let own = &state.symmetry().group;
            if own != group {
                return Err(Error::Mismatch(format!(
                    "the network shares pictures by {group}, the world is under {own}; put it under {group}"
                )));
            }
        }
        any = Some(state);
        for agent in 0..state.agents() {
            builder.agent(state.observation_key(agent), |g, key| state.turn_key(g, key));
            state.neighbours(agent, &mut heard);
            for edge in &heard {
                builder.edge(agent, edge.from, edge.vector);
            }
        }
        builder.end_state();
    }
    let pixels = any.map_or(0, |w| w.picture_shape().len());
    let batch = builder.finish(pixels, |key, picture| {
        if let Some(world) = any {
            world.render(key, picture);
        }
    });
    Ok(batch?)
}

/// Whole states, for a central network. Every state has its own picture.
///
/// # Errors
/// If a state's picture has another size than the network's.
pub fn observe_team<'a, W: Symmetric + 'a>(
    states: impl IntoIterator<Item = &'a W>,
    config: &NetworkConfig,
) -> Result<Batch> {
    let states: Vec<&W> = states.into_iter().collect();
    let pixels: usize = config.setting.central_picture.iter().product();
    let mut builder = BatchBuilder::new(Sharing::None);
    for (index, state) in states.iter().enumerate() {
        let found = state.team_picture_shape().len();
        if found != pixels || state.agents() != config.setting.agents {
            return Err(Error::Mismatch(format!(
                "a central network is made for one size: {} agents and {pixels} pixels, not {} and {found}",
                config.setting.agents,
                state.agents()
            )));
        }
        builder.state(index, |_, index| *index);
        builder.blind_agents(state.agents());
        builder.end_state();
    }
    Ok(builder.finish(pixels, |&index, picture| states[index].render_team(picture))?)
}

/// The batch that a network of this config wants.
///
/// # Errors
/// As [`observe`] and [`observe_team`].
pub fn observe_for<'a, W: Symmetric + 'a>(
    config: &NetworkConfig,
    sharing: &Sharing,
    states: impl IntoIterator<Item = &'a W>,
) -> Result<Batch> {
    if config.kind.is_central() { observe_team(states, config) } else { observe(states, sharing) }
}
