//! From the states of worlds to the batches of networks.

use crate::error::{Error, Result};
use equimarl_group::Element;
use equimarl_nn::{Batch, BatchBuilder, NetworkConfig, Sharing};
use equimarl_worlds::{Edge, Symmetric, World};
use std::sync::Arc;

/// What a network gets to know of one state, kept for learning: small, and free of the state itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen<K> {
    /// What each agent sees.
    pub keys: Vec<K>,
    /// Who hears whom: (agent, neighbour, edge vector).
    pub edges: Vec<(u32, u32, [f32; 2])>,
    /// The picture of the whole state, for central networks only.
    pub team: Option<Arc<[f32]>>,
}

impl<K: Clone> Seen<K> {
    /// Looks at a state; `central` if a network for the whole team will look.
    pub fn of<W: World<Key = K>>(state: &W, central: bool) -> Seen<K> {
        let keys = (0..state.agents()).map(|agent| state.observation_key(agent)).collect();
        if central {
            let mut picture = vec![0.0; state.team_picture_shape().len()];
            state.render_team(&mut picture);
            return Seen { keys, edges: vec![], team: Some(picture.into()) };
        }
        let (mut edges, mut heard) = (vec![], Vec::<Edge>::new());
        for agent in 0..state.agents() {
            state.neighbours(agent, &mut heard);
            edges.extend(heard.iter().map(|e| (agent as u32, e.from as u32, e.vector)));
        }
        Seen { keys, edges, team: None }
    }

    /// The same seen in the turned world, by every agent under its old index. A distributed network does not know
    /// indices, so turning pictures and edge vectors is all there is to it.
    pub fn turned<W: Symmetric<Key = K>>(&self, g: Element, world: &W) -> Seen<K> {
        let [[a, b], [c, d]] = world.symmetry().plane.matrix(g).map(|row| row.map(|x| x as f32));
        let turn = |[y, x]: [f32; 2]| [a * y + b * x, c * y + d * x];
        Seen {
            keys: self.keys.iter().map(|key| world.turn_key(g, key)).collect(),
            edges: self.edges.iter().map(|&(i, j, v)| (i, j, turn(v))).collect(),
            team: self.team.clone(),
        }
    }
}

/// The batch of what was seen in some states. `world` is any state of that world: it knows how to turn and paint keys.
///
/// # Errors
/// If pictures are shared by a group that is not the world's, or a central network is made for another size.
pub fn batch_of<'a, W: Symmetric + 'a>(
    world: &W,
    seen: impl IntoIterator<Item = &'a Seen<W::Key>>,
    config: &NetworkConfig,
    sharing: &Sharing,
) -> Result<Batch>
where
    W::Key: 'a,
{
    if config.kind.is_central() {
        return batch_of_teams(world.agents(), seen, config);
    }
    let own = &world.symmetry().group;
    if let Sharing::Orbits(group) = sharing
        && own != group
    {
        return Err(Error::Mismatch(format!(
            "the network shares pictures by {group}, the world is under {own}; put it under {group}"
        )));
    }
    let mut builder = BatchBuilder::new(sharing.clone());
    for state in seen {
        for key in &state.keys {
            builder.agent(key.clone(), |g, key| world.turn_key(g, key));
        }
        for &(agent, from, vector) in &state.edges {
            builder.edge(agent as usize, from as usize, vector);
        }
        builder.end_state();
    }
    Ok(builder.finish(world.picture_shape().len(), |key, picture| world.render(key, picture))?)
}

fn batch_of_teams<'a, K: 'a>(
    agents: usize,
    seen: impl IntoIterator<Item = &'a Seen<K>>,
    config: &NetworkConfig,
) -> Result<Batch> {
    let pixels: usize = config.setting.central_picture.iter().product();
    let mut pictures: Vec<Arc<[f32]>> = vec![];
    let mut builder = BatchBuilder::new(Sharing::None);
    for state in seen {
        let Some(picture) = state.team.as_ref().filter(|p| p.len() == pixels) else {
            return Err(Error::Mismatch(format!(
                "a central network is made for one size: {} agents and {pixels} pixels",
                config.setting.agents
            )));
        };
        if agents != config.setting.agents {
            return Err(Error::Mismatch(format!(
                "a central network is made for one size: {} agents, not {agents}",
                config.setting.agents
            )));
        }
        builder.state(pictures.len(), |_, index| *index);
        builder.blind_agents(agents);
        builder.end_state();
        pictures.push(picture.clone());
    }
    Ok(builder.finish(pixels, |&index, picture| picture.copy_from_slice(&pictures[index]))?)
}

/// The batch that a network of this config wants for these states.
///
/// # Errors
/// As [`batch_of`].
pub fn observe<'a, W: Symmetric + 'a>(
    states: impl IntoIterator<Item = &'a W>,
    config: &NetworkConfig,
    sharing: &Sharing,
) -> Result<Batch> {
    let mut any = None;
    let mut seen = vec![];
    for state in states {
        seen.push(Seen::of(state, config.kind.is_central()));
        any = Some(state);
    }
    match any {
        Some(world) => batch_of(world, &seen, config, sharing),
        None => Err(Error::Mismatch("there are no states to look at".into())),
    }
}
