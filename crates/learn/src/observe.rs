//! From the states of worlds to the batches of networks.

use crate::error::{Error, Result};
use crate::interface::check_fit;
use equimarl_group::Element;
use equimarl_kernels::dictionary;
use equimarl_nn::{Album, Batch, Images, NetworkConfig, Observation, Sharing, TeamAlbum};
use equimarl_worlds::{Edges, End, Envs, GroupAction, Painter, Purpose, Spec, Stream, Token, World, uniform};
use std::sync::Arc;

/// What a network gets to know of some states, kept for learning: small, and free of the states themselves.
#[derive(Clone, Debug, Default)]
pub struct States {
    count: usize,
    agents: usize,
    /// What each agent sees, states one after the other, where observations have ids.
    seen: Vec<Observation>,
    /// Who hears whom, by agent: (agent, sender), and all edge vectors one after the other.
    edges: Vec<(u32, u32)>,
    vectors: Vec<f32>,
    /// Where the edges of each state end.
    ends: Vec<usize>,
    /// Observations without ids, agent by agent; for central networks the images of whole states.
    raw: Vec<f32>,
    /// What is seen of senders, state by state and in the order of their index.
    senders: Vec<f32>,
    /// Images of whole states by what they are made of.
    codes: Vec<u32>,
    /// What breaks the symmetry, state by state, if the network is told.
    causes: Vec<f32>,
    /// Agents' tokens, states one after the other, if they have some.
    tokens: Vec<Token>,
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
        self.vectors.clear();
        self.ends.clear();
        self.raw.clear();
        self.senders.clear();
        self.codes.clear();
        self.causes.clear();
        self.tokens.clear();
    }

    /// The range of a state's edges.
    fn edges_of(&self, state: usize) -> std::ops::Range<usize> {
        let start = state.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[state]
    }
}

/// How agents' observations are looked at.
enum Way {
    /// By ids: each is painted once.
    Ids { painter: Box<dyn Painter>, album: Album<u64> },
    /// As images, every one by itself.
    Raw,
    /// As feature vectors, and those of senders: equal ones are encoded once per batch.
    Features,
    /// The whole state at once, for central networks.
    Team(TeamAlbum),
}

/// Looks at states of one world on behalf of one network, and remembers what it has seen.
pub struct Observer {
    acts: GroupAction,
    spec: Arc<Spec>,
    /// Where what is seen of each sender begins, and its kind; and how many numbers are seen of all.
    senders: Vec<(usize, usize)>,
    sender_numbers: usize,
    /// Numbers per observation of an agent.
    numbers: usize,
    shape: [usize; 3],
    way: Way,
    heard: Edges,
    turned: Vec<f32>,
    /// Numbers of what breaks the symmetry, if the network is told.
    cause: usize,
    /// The order of the group of agents' tokens; 0 if they have none.
    tokens: usize,
}

impl Observer {
    /// An observer for networks of this config.
    ///
    /// # Errors
    /// If observations are shared by a group that is not the world's, or the network is made for another world.
    pub fn new(envs: &dyn Envs, config: &NetworkConfig, sharing: &Sharing) -> Result<Observer> {
        let spec = envs.spec();
        check_fit(spec, config)?;
        let acts = GroupAction::new(spec)?;
        if let Sharing::Orbits(group) = sharing
            && acts.group != *group
        {
            return Err(Error::Mismatch(format!(
                "the network shares observations by {group}, the world is under {}; put it under {group}",
                acts.group
            )));
        }
        let shape = spec.image.unwrap_or_default();
        let features = !spec.features.is_empty();
        let numbers = if features { acts.features_dim() } else { shape.iter().product() };
        let (mut senders, mut sender_numbers) = (vec![], 0);
        for who in 0..spec.sender_count() {
            let kind = spec.sender_kind(spec.agents + who).unwrap_or_default();
            senders.push((sender_numbers, kind));
            sender_numbers += acts.sender_dim(kind);
        }
        let way = match (config.kind.is_central(), envs.exact()) {
            (false, _) if features => Way::Features,
            (true, _) => Way::Team(TeamAlbum::new(spec.team_image.unwrap_or_default().iter().product())),
            (false, Some(exact)) if envs.world(0).id(0).is_some() => {
                Way::Ids { painter: exact.painter(), album: Album::new(sharing.clone(), numbers) }
            }
            _ => Way::Raw,
        };
        let (spec, heard, turned) = (spec.clone(), Edges::default(), vec![]);
        let cause = config.cause_dim()?;
        let tokens = config.token_order()?;
        Ok(Observer {
            acts,
            spec,
            senders,
            sender_numbers,
            numbers,
            shape,
            way,
            heard,
            turned,
            cause,
            tokens,
        })
    }

    /// Transforms states by these elements instead of those of the world's group: turns by any angle.
    pub(crate) fn with_action(self, acts: GroupAction) -> Observer {
        Observer { acts, ..self }
    }

    /// A batch for what it sees.
    pub fn batch(&self) -> Batch {
        Batch::with_senders(self.spec.senders.len())
    }

    /// Batches get the parts that images are made of instead of pixels, for networks with a dictionary: if images of this
    /// world are made of parts that repeat. That is found out by looking at some, the same ones every time.
    pub fn with_dictionary(mut self, envs: &dyn Envs, plan: Option<&Arc<dictionary::Plan>>) -> Observer {
        let (Some(plan), Some(exact)) = (plan, envs.exact()) else { return self };
        let central = matches!(self.way, Way::Team(_));
        // Images too large for a dictionary are an error there, and no error here.
        match rows_per_window(exact.fork(1), plan, central) {
            Ok(rows) if rows <= MOST_ROWS_PER_WINDOW => {}
            _ => return self,
        }
        self.way = match self.way {
            Way::Team(mut album) => {
                album.use_dictionary(plan);
                Way::Team(album)
            }
            Way::Ids { painter, album } => Way::Ids { painter, album: album.with_dictionary(plan) },
            way => way,
        };
        self
    }

    /// Whether it has seen so much that it should forget.
    pub fn is_full(&self) -> bool {
        match &self.way {
            Way::Ids { album, .. } => album.is_full(),
            Way::Team(album) => album.is_full(),
            Way::Raw | Way::Features => false,
        }
    }

    /// Forgets what it has seen. Nothing that was seen before may be used afterwards, nor batches that hold it.
    pub fn clear(&mut self) {
        match &mut self.way {
            Way::Ids { album, .. } => album.clear(),
            Way::Team(album) => album.clear(),
            Way::Raw | Way::Features => {}
        }
    }

    /// Looks at a state on behalf of a network without tokens.
    ///
    /// # Errors
    /// If it has another number of agents than the states before it, or the network has tokens.
    pub fn see(&mut self, state: &dyn World, into: &mut States) -> Result<()> {
        self.see_with(state, &[], into)
    }

    /// Looks at a state in which agents have these tokens, if the network has tokens.
    ///
    /// # Errors
    /// If it has another number of agents than the states before it, or not one token per agent.
    pub fn see_with(&mut self, state: &dyn World, tokens: &[Token], into: &mut States) -> Result<()> {
        let agents = state.agents();
        if self.tokens > 0 {
            if tokens.len() != agents || tokens.iter().any(|token| token.element >= self.tokens) {
                return Err(Error::Mismatch(format!(
                    "this network wants a token for each of {agents} agents, with an element of a group of {}, and got {}",
                    self.tokens,
                    tokens.len()
                )));
            }
            into.tokens.extend_from_slice(tokens);
        }
        if into.count > 0 && into.agents != agents {
            return Err(Error::Mismatch(format!(
                "a state has {agents} agents, and those before it have {}",
                into.agents
            )));
        }
        into.agents = agents;
        into.count += 1;
        if let Way::Team(album) = &mut self.way {
            album.see(|image| state.team_image(image), &mut into.raw, &mut into.codes)?;
        } else {
            for agent in 0..agents {
                self.see_agent(state, agent, into)?;
                state.neighbours(agent, &mut self.heard);
                into.edges.extend(self.heard.from.iter().map(|&from| (agent as u32, from)));
                into.vectors.extend_from_slice(&self.heard.vectors);
            }
            let start = into.senders.len();
            into.senders.resize(start + self.sender_numbers, 0.0);
            for (who, &(at, kind)) in self.senders.iter().enumerate() {
                let (at, dim) = (start + at, self.acts.sender_dim(kind));
                state.observe(agents + who, &mut into.senders[at..at + dim]);
            }
        }
        if self.cause > 0 {
            let start = into.causes.len();
            into.causes.resize(start + self.cause, 0.0);
            state.cause(&mut into.causes[start..]);
        }
        into.ends.push(into.edges.len());
        Ok(())
    }

    fn see_agent(&mut self, state: &dyn World, agent: usize, into: &mut States) -> Result<()> {
        match &mut self.way {
            Way::Ids { painter, album } => {
                let id = state.id(agent).ok_or_else(|| {
                    Error::Mismatch(format!("agent {agent} sees something without an id, and others had one"))
                })?;
                into.seen.push(album.look(&id, |g, id| painter.transform_id(g, *id)));
            }
            _ => {
                let start = into.raw.len();
                into.raw.resize(start + self.numbers, 0.0);
                state.observe(agent, &mut into.raw[start..]);
            }
        }
        Ok(())
    }

    /// Adds some of the states, each transformed by an element, to a batch. Agents keep their index: a distributed network
    /// does not know indices, so transforming observations and edge vectors is all there is to it.
    ///
    /// # Errors
    /// If the batch holds something else, or whole states are to be transformed.
    pub fn collate(
        &mut self,
        states: &States,
        chosen: impl IntoIterator<Item = (usize, Element)>,
        batch: &mut Batch,
    ) -> Result<()> {
        if let (Way::Ids { album, .. }, None) = (&self.way, &batch.group)
            && let Sharing::Orbits(group) = album.sharing()
        {
            batch.group = Some(group.clone());
        }
        for (state, g) in chosen {
            match &self.way {
                Way::Team(_) if g != 0 => {
                    return Err(Error::Mismatch("images of whole states cannot be transformed here".into()));
                }
                Way::Team(album) => {
                    album.add(state, (&states.raw, &states.codes), batch)?;
                    (0..states.agents).for_each(|_| batch.graph.end_agent());
                }
                Way::Features => self.collate_features(states, state, g, batch)?,
                _ => self.collate_agents(states, state, g, batch)?,
            }
            if self.cause + self.tokens > 0 {
                self.tell(states, state, g, batch);
            }
            batch.end_state();
        }
        Ok(())
    }

    /// Adds what agents are told: what breaks the symmetry is the same for all of them, and tokens are not.
    fn tell(&mut self, states: &States, state: usize, g: Element, batch: &mut Batch) {
        let cause = &states.causes[state * self.cause..][..self.cause];
        self.turned.resize(self.cause, 0.0);
        if self.cause > 0 {
            self.acts.cause(g, cause, &mut self.turned);
        }
        for agent in 0..states.agents {
            batch.told.extend_from_slice(&self.turned);
            if self.tokens > 0 {
                let start = batch.told.len();
                batch.told.resize(start + 1 + self.tokens, 0.0);
                let token = states.tokens[state * states.agents + agent];
                token.times(&self.acts, g).write(&mut batch.told[start..]);
            }
        }
    }

    fn collate_agents(&mut self, states: &States, state: usize, g: Element, batch: &mut Batch) -> Result<()> {
        let first = batch.graph.agents() as u32;
        let (range, dim) = (states.edges_of(state), self.acts.edge_dim());
        let mut edges = states.edges[range.clone()].iter().zip(range).peekable();
        for agent in 0..states.agents {
            let row = state * states.agents + agent;
            match &mut self.way {
                Way::Ids { painter, album } => {
                    let mut seen = states.seen[row];
                    if g != 0 {
                        seen = album.turned(seen, g, |g, id| painter.transform_id(g, *id));
                    }
                    album.add(seen, batch, |id, image| painter.paint(*id, image))?;
                }
                _ => self.add_raw(&states.raw[row * self.numbers..][..self.numbers], g, batch)?,
            }
            while let Some(((_, from), at)) = edges.next_if(|((owner, _), _)| *owner == agent as u32) {
                batch.graph.hear(first + from);
                let vector = &states.vectors[at * dim..][..dim];
                let start = batch.edges.len();
                batch.edges.extend_from_slice(vector);
                if g != 0 {
                    self.acts.edge(g, vector, &mut batch.edges[start..]);
                }
            }
            batch.graph.end_agent();
        }
        Ok(())
    }

    fn collate_features(
        &mut self,
        states: &States,
        state: usize,
        g: Element,
        batch: &mut Batch,
    ) -> Result<()> {
        let (range, dim, agents) = (states.edges_of(state), self.acts.edge_dim(), states.agents);
        let mut edges = states.edges[range.clone()].iter().zip(range).peekable();
        let seen = &states.senders[state * self.sender_numbers..][..self.sender_numbers];
        for agent in 0..agents {
            let row = &states.raw[(state * agents + agent) * self.numbers..][..self.numbers];
            batch.see(transformed(&self.acts, g, None, row, &mut self.turned))?;
            while let Some(((_, from), at)) = edges.next_if(|((owner, _), _)| *owner == agent as u32) {
                let vector = &states.vectors[at * dim..][..dim];
                let sender = (*from as usize).checked_sub(agents);
                let Some(&(start, kind)) = sender.and_then(|who| self.senders.get(who)) else {
                    batch.hear(*from, edge(&self.acts, g, vector, &mut self.turned));
                    continue;
                };
                let count = self.acts.sender_dim(kind);
                let id = match count {
                    0 => 0,
                    _ => {
                        let features = &seen[start..start + count];
                        let features = transformed(&self.acts, g, Some(kind), features, &mut self.turned);
                        batch.senders[kind].vectors.id(features)?
                    }
                };
                batch.senders[kind].hear(id, edge(&self.acts, g, vector, &mut self.turned));
            }
            batch.end_agent();
        }
        Ok(())
    }

    /// Adds an image that has no id.
    fn add_raw(&mut self, image: &[f32], g: Element, batch: &mut Batch) -> Result<()> {
        let Images::Pixels(pixels) = &mut batch.images else {
            return Err(Error::Mismatch("the batch holds parts of images, not pixels".into()));
        };
        let place = pixels.len() / self.numbers.max(1);
        let start = pixels.len();
        pixels.extend_from_slice(image);
        transform_image(&self.acts, self.shape, g, image, &mut pixels[start..]);
        batch.ids.push(place as u32);
        batch.elements.push(0);
        Ok(())
    }
}

/// Writes an image as the element g shows it; as it is where the group does not turn images.
pub(crate) fn transform_image(
    acts: &GroupAction,
    [_, height, width]: [usize; 3],
    g: Element,
    image: &[f32],
    out: &mut [f32],
) {
    let (Some(plane), true) = (acts.plane(), g != 0) else { return out.copy_from_slice(image) };
    let (from, pixels) = (plane.gather(g, width), (height * width).max(1));
    for (out, channel) in out.chunks_exact_mut(pixels).zip(image.chunks_exact(pixels)) {
        out.iter_mut().zip(&from).for_each(|(out, &p)| *out = channel[p]);
    }
}

/// A feature vector as the element g shows it.
fn transformed<'a>(
    acts: &GroupAction,
    g: Element,
    kind: Option<usize>,
    features: &'a [f32],
    room: &'a mut Vec<f32>,
) -> &'a [f32] {
    if g == 0 {
        return features;
    }
    room.resize(features.len(), 0.0);
    acts.features(g, kind, features, room);
    room
}

/// An edge vector as the element g shows it.
fn edge<'a>(acts: &GroupAction, g: Element, vector: &'a [f32], room: &'a mut Vec<f32>) -> &'a [f32] {
    if g == 0 {
        return vector;
    }
    room.resize(vector.len(), 0.0);
    acts.edge(g, vector, room);
    room
}

/// A dictionary multiplies once per row of its tables, the dense encoder once per window and tap, 25 times. Where nothing
/// repeats a dictionary has as many rows, in memory, and is three to six times slower; it is level at about this many.
const MOST_ROWS_PER_WINDOW: f64 = 6.0;
/// So many images are looked at to find out: about a minibatch.
const PROBED: usize = 64;

/// The rows that a dictionary would need for images of a short random episode, per window of these images.
fn rows_per_window(mut envs: Box<dyn Envs>, plan: &dictionary::Plan, central: bool) -> Result<f64> {
    let mut stream = Stream::new(0, Purpose::Audit, 0);
    let spec = envs.spec().clone();
    let (mut atlas, mut book) = (dictionary::Atlas::new(plan), dictionary::Book::new(plan));
    let (mut image, mut codes) = (vec![0.0; plan.picture_len()], vec![0; plan.positions()]);
    let mut actions = vec![0; spec.agents];
    let failed = |e: equimarl_kernels::Error| Error::from(equimarl_nn::Error::from(e));
    envs.start(0, stream.clone())?;
    while book.images() < PROBED {
        let each = if central { 1 } else { spec.agents };
        for agent in 0..each.min(PROBED - book.images()) {
            match central {
                true => envs.world(0).team_image(&mut image),
                false => envs.world(0).observe(agent, &mut image),
            }
            atlas.look(&image, &mut codes).map_err(failed)?;
            book.add(&atlas, &codes).map_err(failed)?;
        }
        uniform(envs.world(0), &mut stream, &mut actions);
        if envs.step_one(0, &actions)?.end != End::Running {
            envs.restart(0)?;
        }
    }
    Ok(book.rows() as f64 / (PROBED * plan.positions()) as f64)
}

/// The batch that a network of this config wants for these environments, every observation painted.
///
/// # Errors
/// If observations are shared by a group that is not the world's, or the network is made for another world.
pub fn observe(envs: &dyn Envs, config: &NetworkConfig, sharing: &Sharing) -> Result<Batch> {
    observe_with(envs, &[], config, sharing)
}

/// As [`observe`], with the tokens of all agents, environments one after the other, if the network has tokens.
///
/// # Errors
/// As [`observe`], or if there is not one token per agent.
pub fn observe_with(
    envs: &dyn Envs,
    tokens: &[Token],
    config: &NetworkConfig,
    sharing: &Sharing,
) -> Result<Batch> {
    let each = tokens.len() / envs.len().max(1);
    let mut observer = Observer::new(envs, config, sharing)?;
    let (mut seen, mut batch) = (States::default(), observer.batch());
    batch.clear();
    let of = |e: usize| &tokens[e * each..(e + 1) * each];
    (0..envs.len()).try_for_each(|e| observer.see_with(envs.world(e), of(e), &mut seen))?;
    observer.collate(&seen, (0..envs.len()).map(|s| (s, 0)), &mut batch)?;
    Ok(batch)
}
