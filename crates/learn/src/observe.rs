//! From the states of worlds to the batches of networks.

use crate::error::{Error, Result};
use equimarl_group::Element;
use equimarl_kernels::dictionary;
use equimarl_nn::{Album, Batch, NetworkConfig, Seen, Sharing, TeamAlbum};
use equimarl_worlds::{Edge, End, Purpose, Stream, Symmetric};
use std::sync::Arc;

/// What a network gets to know of some states, kept for learning: small, and free of the states themselves.
#[derive(Clone, Debug, Default)]
pub struct States {
    count: usize,
    agents: usize,
    /// What each agent sees, states one after the other; nothing for central networks.
    seen: Vec<Seen>,
    /// Who hears whom, by agent: (agent, neighbour, edge vector).
    edges: Vec<(u32, u32, [f32; 2])>,
    /// Where the edges of each state end.
    ends: Vec<usize>,
    /// Pictures of whole states, for central networks only: pixels, or what they are made of.
    teams: Vec<f32>,
    codes: Vec<u32>,
}

impl States {
    /// How many states.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets all but its memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.seen.clear();
        self.edges.clear();
        self.ends.clear();
        self.teams.clear();
        self.codes.clear();
    }

    fn edges_of(&self, state: usize) -> &[(u32, u32, [f32; 2])] {
        let start = state.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.edges[start..self.ends[state]]
    }
}

/// Looks at states of one world on behalf of one network, and remembers what it has seen.
#[derive(Debug)]
pub struct Observer<W: Symmetric> {
    /// Any state of the world: it knows how to turn and paint keys.
    world: W,
    album: Album<W::Key>,
    /// For central networks: the agents, and how whole states are looked at.
    central: Option<(usize, TeamAlbum)>,
    heard: Vec<Edge>,
}

impl<W: Symmetric> Observer<W> {
    /// An observer for networks of this config.
    ///
    /// # Errors
    /// If pictures are shared by a group that is not the world's, or a central network is made for another size.
    pub fn new(world: &W, config: &NetworkConfig, sharing: &Sharing) -> Result<Observer<W>> {
        let (central, agents) = (config.kind.is_central(), world.agents());
        let shape = if central { world.team_picture_shape() } else { world.picture_shape() };
        let (found, wanted) = ([shape.channels, shape.height, shape.width], config.picture());
        if agents == 0 || found != wanted || (central && agents != config.setting.agents) {
            let size = if central { "a central network is made for one size: " } else { "" };
            return Err(Error::Mismatch(format!(
                "{size}this one is made for {} agents and pictures of {wanted:?}, the world has {agents} and {found:?}",
                config.setting.agents
            )));
        }
        check_group(world, sharing)?;
        Ok(Observer {
            album: Album::new(sharing.clone(), world.picture_shape().len()),
            world: world.clone(),
            central: central.then(|| (agents, TeamAlbum::new(shape.len()))),
            heard: vec![],
        })
    }

    /// Batches get the parts that pictures are made of instead of pixels, for networks with a dictionary: if pictures of this
    /// world are made of parts that repeat. That is found out by looking at some, the same ones every time.
    pub fn with_dictionary(mut self, plan: Option<&Arc<dictionary::Plan>>) -> Observer<W> {
        let Some(plan) = plan else { return self };
        // Pictures too large for a dictionary are an error there, and no error here.
        match rows_per_window(&self.world, plan, self.central.is_some()) {
            Ok(rows) if rows <= MOST_ROWS_PER_WINDOW => {}
            _ => return self,
        }
        match &mut self.central {
            Some((_, album)) => album.use_dictionary(plan),
            None => self.album = self.album.with_dictionary(plan),
        }
        self
    }

    /// Whether it has seen so much that it should forget.
    pub fn is_full(&self) -> bool {
        self.album.is_full() || self.central.as_ref().is_some_and(|(_, album)| album.is_full())
    }

    /// Forgets what it has seen. Nothing that was seen before may be used afterwards, nor batches that hold it.
    pub fn clear(&mut self) {
        self.album.clear();
        if let Some((_, album)) = &mut self.central {
            album.clear();
        }
    }

    /// Looks at a state.
    ///
    /// # Errors
    /// If it has another number of agents than the states before it.
    pub fn see(&mut self, state: &W, into: &mut States) -> Result<()> {
        if into.count > 0 && into.agents != state.agents() {
            return Err(Error::Mismatch(format!(
                "a state has {} agents, and those before it have {}",
                state.agents(),
                into.agents
            )));
        }
        into.agents = state.agents();
        into.count += 1;
        if let Some((_, album)) = &mut self.central {
            album.see(|picture| state.render_team(picture), &mut into.teams, &mut into.codes)?;
        } else {
            for agent in 0..state.agents() {
                let key = state.observation_key(agent);
                into.seen.push(self.album.look(&key, |g, key| self.world.turn_key(g, key)));
                state.neighbours(agent, &mut self.heard);
                into.edges.extend(self.heard.iter().map(|e| (agent as u32, e.from as u32, e.vector)));
            }
        }
        into.ends.push(into.edges.len());
        Ok(())
    }

    /// Adds some of the states, each turned by an element, to a batch. Agents keep their index: a distributed network does
    /// not know indices, so turning pictures and edge vectors is all there is to it.
    pub fn collate(
        &mut self,
        states: &States,
        chosen: impl IntoIterator<Item = (usize, Element)>,
        batch: &mut Batch,
    ) -> Result<()> {
        if let (Sharing::Orbits(group), None, None) = (self.album.sharing(), &batch.group, &self.central) {
            batch.group = Some(group.clone());
        }
        for (state, g) in chosen {
            match &self.central {
                Some(_) if g != 0 => {
                    return Err(Error::Mismatch("pictures of whole states cannot be turned here".into()));
                }
                Some((agents, album)) => {
                    album.add(state, (&states.teams, &states.codes), batch)?;
                    (0..*agents).for_each(|_| batch.graph.end_agent());
                }
                None => self.collate_agents(states, state, g, batch)?,
            }
            batch.end_state();
        }
        Ok(())
    }

    fn collate_agents(&mut self, states: &States, state: usize, g: Element, batch: &mut Batch) -> Result<()> {
        let world = &self.world;
        let [[a, b], [c, d]] = world.symmetry().plane.matrix(g).map(|row| row.map(|x| x as f32));
        let first = batch.graph.agents() as u32;
        let mut edges = states.edges_of(state).iter().peekable();
        for agent in 0..states.agents {
            let mut seen = states.seen[state * states.agents + agent];
            if g != 0 {
                seen = self.album.turned(seen, g, |g, key| world.turn_key(g, key));
            }
            self.album.add(seen, batch, |key, picture| world.render(key, picture))?;
            while let Some((_, from, [y, x])) = edges.next_if(|e| e.0 == agent as u32) {
                batch.graph.hear(first + from);
                let turned = if g == 0 { [*y, *x] } else { [a * y + b * x, c * y + d * x] };
                batch.edges.extend(turned);
            }
            batch.graph.end_agent();
        }
        Ok(())
    }
}

/// A dictionary multiplies once per row of its tables, the dense encoder once per window and tap, 25 times. Where nothing
/// repeats a dictionary has as many rows, in memory, and is three to six times slower; it is level at about this many.
const MOST_ROWS_PER_WINDOW: f64 = 6.0;
/// So many pictures are looked at to find out: about a minibatch.
const PROBED: usize = 64;

/// The rows that a dictionary would need for pictures of a short random episode, per window of these pictures.
fn rows_per_window<W: Symmetric>(
    world: &W,
    plan: &dictionary::Plan,
    central: bool,
) -> equimarl_kernels::Result<f64> {
    let mut stream = Stream::new(0, Purpose::Audit, 0);
    let (mut state, mut actions) = (world.clone(), vec![0; world.agents()]);
    let (mut atlas, mut book) = (dictionary::Atlas::new(plan), dictionary::Book::new(plan));
    let (mut picture, mut codes) = (vec![0.0; plan.picture_len()], vec![0; plan.positions()]);
    state.reset(&mut stream);
    while book.pictures() < PROBED {
        let each = if central { 1 } else { world.agents() };
        for agent in 0..each.min(PROBED - book.pictures()) {
            match central {
                true => state.render_team(&mut picture),
                false => state.render(&state.observation_key(agent), &mut picture),
            }
            atlas.look(&picture, &mut codes)?;
            book.add(&atlas, &codes)?;
        }
        for action in &mut actions {
            *action = stream.below(world.actions() as u32) as usize;
        }
        let chance = state.draw(&mut stream);
        if state.step(&actions, &chance).end != End::Running {
            state.reset(&mut stream);
        }
    }
    Ok(book.rows() as f64 / (PROBED * plan.positions()) as f64)
}

fn check_group<W: Symmetric>(world: &W, sharing: &Sharing) -> Result<()> {
    let own = &world.symmetry().group;
    match sharing {
        Sharing::Orbits(group) if own != group => Err(Error::Mismatch(format!(
            "the network shares pictures by {group}, the world is under {own}; put it under {group}"
        ))),
        _ => Ok(()),
    }
}

/// The batch that a network of this config wants for these states, every picture painted.
///
/// # Errors
/// If pictures are shared by a group that is not the world's, or a central network is made for another size.
pub fn observe<'a, W: Symmetric + 'a>(
    states: impl IntoIterator<Item = &'a W>,
    config: &NetworkConfig,
    sharing: &Sharing,
) -> Result<Batch> {
    let states: Vec<&W> = states.into_iter().collect();
    let Some(world) = states.first() else {
        return Err(Error::Mismatch("there are no states to look at".into()));
    };
    let mut observer = Observer::new(*world, config, sharing)?;
    let (mut seen, mut batch) = (States::default(), Batch::default());
    batch.clear();
    states.iter().try_for_each(|state| observer.see(state, &mut seen))?;
    observer.collate(&seen, (0..states.len()).map(|s| (s, 0)), &mut batch)?;
    Ok(batch)
}
