//! What the tests share: random numbers, images that turn, states and batches, and two ways to compare.
#![allow(dead_code)] // each test file uses its own part

pub mod features;
pub mod reference;
pub mod worlds;

use equimarl_group::{Element, Group, Plane};
use equimarl_nn::{Batch, BatchBuilder, Cache, Interface, Network, NetworkConfig, Output, Sharing};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The groups that turn pixels.
pub const PIXEL_GROUPS: [&str; 6] = ["C1", "C2", "C4", "D1", "D2", "D4"];

pub fn group(name: &str) -> Group {
    name.parse().unwrap()
}

/// The same random numbers for the same seed, everywhere.
pub struct Random {
    bits: ChaCha8Rng,
    spare: Option<f64>,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { bits: ChaCha8Rng::seed_from_u64(seed), spare: None }
    }

    /// In (0, 1), never one of the ends.
    pub fn uniform(&mut self) -> f64 {
        (f64::from(self.bits.next_u32()) + 0.5) / 4_294_967_296.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    pub fn normals(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.normal() as f32).collect()
    }
}

/// The largest difference, infinite if something is not a number.
pub fn distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let apart = |(x, y): (&f32, &f32)| f64::from(x - y).abs();
    let worst = a.iter().zip(b).map(apart).map(|d| if d.is_nan() { f64::INFINITY } else { d });
    worst.fold(0.0, f64::max)
}

/// |a - b| / |b| in the Euclidean norm.
pub fn relative(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |squares: f64| squares.sqrt();
    let off = norm(a.iter().zip(b).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum());
    let size = norm(b.iter().map(|y| f64::from(*y).powi(2)).sum());
    if off == 0.0 { 0.0 } else { off / size }
}

/// Square images made of cells of `scale` x `scale` pixels, turned cell by cell.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub channels: usize,
    pub cells: usize,
    pub scale: usize,
}

/// The grey levels of an image's cells: what tells images apart.
pub type Key = Vec<u8>;

impl Screen {
    /// The screen of a network's images, which have `scale` pixels per cell.
    pub fn of(network: &Network, scale: usize) -> Screen {
        let interface = &network.config().interface;
        let [channels, height, width] =
            if network.is_central() { interface.team_image } else { interface.image };
        assert!(height == width && height % scale == 0);
        Screen { channels, cells: height / scale, scale }
    }

    pub fn pixels(&self) -> usize {
        self.channels * (self.cells * self.scale).pow(2)
    }

    /// Each cell is lit with this probability, in one of a few levels; dark cells are zero as in the worlds.
    pub fn random(&self, density: f64, random: &mut Random) -> Key {
        let level =
            |random: &mut Random| if random.uniform() < density { 1 + random.below(4) as u8 } else { 0 };
        (0..self.channels * self.cells * self.cells).map(|_| level(random)).collect()
    }

    pub fn turn(&self, plane: &Plane, g: Element, key: &Key) -> Key {
        let gather = plane.gather(g, self.cells);
        let channels = key.chunks_exact(self.cells * self.cells);
        channels.flat_map(|cells| gather.iter().map(|&from| cells[from])).collect()
    }

    pub fn render(&self, key: &Key, image: &mut [f32]) {
        let side = self.cells * self.scale;
        for (p, pixel) in image.iter_mut().enumerate() {
            let (channel, row, col) = (p / side / side, p / side % side, p % side);
            let cell = (channel * self.cells + row / self.scale) * self.cells + col / self.scale;
            *pixel = f32::from(key[cell]) * 0.5;
        }
    }
}

/// A state of a made-up world: what agents see, and who hears whom across which vector.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// One key per agent, or a single one of the whole state for central networks.
    pub keys: Vec<Key>,
    pub edges: Vec<(usize, usize, [f32; 2])>,
    /// Agents that only a central network knows of.
    pub blind: usize,
    /// What breaks the symmetry, if the network is told.
    pub cause: Vec<f32>,
}

impl State {
    /// Agents with random images; any two hear each other with probability one half, across any vector.
    pub fn random(screen: Screen, agents: usize, density: f64, random: &mut Random) -> State {
        let keys = (0..agents).map(|_| screen.random(density, random)).collect();
        let mut edges = vec![];
        for i in 0..agents {
            for j in (0..agents).filter(|&j| j != i) {
                if random.uniform() < 0.5 {
                    edges.push((i, j, [random.normal() as f32, random.normal() as f32]));
                }
            }
        }
        State { keys, edges, blind: 0, cause: vec![] }
    }

    /// A state that is one image, for central networks.
    pub fn central(screen: Screen, agents: usize, density: f64, random: &mut Random) -> State {
        State { keys: vec![screen.random(density, random)], edges: vec![], blind: agents, cause: vec![] }
    }

    /// The state turned by g; agents keep their index.
    pub fn turned(&self, screen: Screen, plane: &Plane, g: Element) -> State {
        let [[a, b], [c, d]] = plane.matrix(g).map(|row| row.map(|v| v as f32));
        let edge = |&(i, j, [y, x]): &(usize, usize, [f32; 2])| (i, j, [a * y + b * x, c * y + d * x]);
        State {
            keys: self.keys.iter().map(|key| screen.turn(plane, g, key)).collect(),
            edges: self.edges.iter().map(edge).collect(),
            blind: self.blind,
            cause: self.cause.clone(),
        }
    }

    /// The same state with agent i renamed to `to[i]`.
    pub fn renamed(&self, to: &[usize]) -> State {
        let mut state = self.clone();
        for (i, key) in self.keys.iter().enumerate() {
            state.keys[to[i]] = key.clone();
        }
        state.edges = self.edges.iter().map(|&(i, j, vector)| (to[i], to[j], vector)).collect();
        state
    }
}

/// Few images, again and again, turned: nearly empty ones as in the worlds (some look the same from several sides),
/// full ones, and the empty one.
pub fn familiar(screen: Screen, central: bool, agents: usize, random: &mut Random) -> Vec<State> {
    let turns = Plane::new(&group("D4")).unwrap();
    let mut pool: Vec<Key> = [0.03, 0.03, 0.06, 0.5, 0.5].map(|d| screen.random(d, random)).to_vec();
    pool.push(vec![0; pool[0].len()]);
    let pick = |random: &mut Random| {
        let key = &pool[random.below(pool.len())];
        screen.turn(&turns, random.below(8), key)
    };
    (0..16)
        .map(|_| {
            let mut state = match central {
                true => State::central(screen, agents, 0.0, random),
                false => State::random(screen, 1 + random.below(5), 0.0, random),
            };
            state.keys.iter_mut().for_each(|key| *key = pick(random));
            state
        })
        .collect()
}

/// Builds a batch; `plane` is the action of the group that the sharing names, if it does.
pub fn batch(states: &[State], screen: Screen, sharing: &Sharing, plane: &Plane) -> Batch {
    let mut builder = BatchBuilder::new(sharing.clone());
    for state in states {
        for key in &state.keys {
            let turn = |g: Element, key: &Key| screen.turn(plane, g, key);
            if state.blind > 0 {
                builder.state(key.clone(), turn);
            } else {
                builder.agent(key.clone(), turn);
            }
        }
        builder.blind_agents(state.blind);
        for &(i, j, vector) in &state.edges {
            builder.edge(i, j, vector);
        }
        builder.end_state();
    }
    let mut batch = builder.finish(screen.pixels(), |key, image| screen.render(key, image)).unwrap();
    for state in states {
        state.keys.iter().for_each(|_| batch.told.extend_from_slice(&state.cause));
    }
    batch
}

/// Replaces the zero biases and the small policy weights by ones that matter, so that a mistake in either shows.
pub fn lively(network: &mut Network, random: &mut Random) {
    let values: Vec<Vec<f32>> = network
        .parameters()
        .into_iter()
        .map(|(name, values)| {
            let change = |v: f32, normal: f64| match name.as_str() {
                name if name.ends_with("bias") => (0.1 * normal) as f32,
                name if name.starts_with("policy") => 10.0 * v,
                _ => v,
            };
            values.into_iter().map(|v| change(v, random.normal())).collect()
        })
        .collect();
    network.set_parameters(values).unwrap();
}

/// A network with biases and a policy that matter.
pub fn network(config: &NetworkConfig, seed: u64) -> Network {
    let mut random = Random::new(seed);
    let mut network = Network::init(config, &mut || random.normal()).unwrap();
    lively(&mut network, &mut random);
    network
}

/// Wildlife with three drones on 7 x 7 cells, or a city of 2 x 2 junctions, and the pixels per cell of their images.
pub fn world(name: &str, group: &Group) -> (Interface, usize) {
    match name {
        "wildlife" => (worlds::wildlife(3, 7, group), 3),
        "traffic" => (worlds::traffic(2, 2, group), 5),
        "wind" => (Interface { cause: "rotation".into(), ..worlds::wildlife(3, 7, group) }, 3),
        // A quarter turn changes the sign of a tilt.
        "tilt" => (Interface { cause: "matrix[-1]".into(), ..worlds::traffic(2, 2, group) }, 5),
        other => panic!("no world is called {other}"),
    }
}

/// Logits and values.
pub fn outputs(network: &Network, batch: &Batch) -> Output {
    let mut cache = Cache::default();
    network.clone().forward(batch, &mut cache).unwrap();
    cache.output().clone()
}

/// How much each logit and value counts in the loss of [`pass`], which is the sum of all outputs times these.
pub fn pulls(network: &Network, batch: &Batch, seed: u64) -> Output {
    let mut random = Random::new(seed);
    let logits = random.normals(batch.agents() * network.actions());
    Output { logits, values: random.normals(batch.states()) }
}

/// A forward and a backward pass: outputs, and the gradients of a loss that depends on every one in its own way.
pub fn pass(network: &mut Network, batch: &Batch, cache: &mut Cache, seed: u64) -> (Output, Vec<f32>) {
    network.forward(batch, cache).unwrap();
    *cache.output_gradient().1 = pulls(network, batch, seed);
    // What stands there before does not matter.
    let mut gradients = vec![f32::NAN; network.values().len()];
    network.backward(batch, cache, &mut gradients).unwrap();
    (cache.output().clone(), gradients)
}

/// [`pass`] with memory of its own: logits, values, and the gradients of each named parameter.
pub fn everything(network: &Network, batch: &Batch, seed: u64) -> (Vec<f32>, Vec<f32>, Vec<Vec<f32>>) {
    let (output, gradients) = pass(&mut network.clone(), batch, &mut Cache::default(), seed);
    (output.logits, output.values, named(network, &gradients))
}

/// Numbers of all coefficients, parameter by parameter.
pub fn named(network: &Network, values: &[f32]) -> Vec<Vec<f32>> {
    network.named().into_iter().map(|(_, range)| values[range].to_vec()).collect()
}
