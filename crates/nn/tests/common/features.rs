//! Made-up worlds of feature vectors: states that transform, batches of them, and the network once more as slow loops.

use super::reference::Reference;
use super::{Random, group, network};
use equimarl_group::{Element, Group, Rep};
use equimarl_nn::{Batch, Interface, Network, NetworkConfig, NetworkKind, SenderKind};

/// A group, what an agent knows of itself, edge vectors, and what it does. The last two groups turn no images.
pub const WORLDS: [World; 5] = [
    World { group: "C1", features: "5*trivial", edge: "", actions: "5*trivial", lamp: "2*trivial" },
    World {
        group: "C4",
        features: "2*trivial + rotation",
        edge: "",
        actions: "perm[0 4 1 2 3]",
        lamp: "rotation",
    },
    World {
        group: "D4",
        features: "trivial + 2*rotation + sign",
        edge: "rotation",
        actions: "perm[0 4 1 2 3; 0 1 4 3 2]",
        lamp: "trivial",
    },
    World {
        group: "C5",
        features: "trivial + rotation + rotation(2)",
        edge: "rotation",
        actions: "trivial + regular",
        lamp: "rotation(2)",
    },
    World {
        group: "S3",
        features: "natural + sign",
        edge: "natural + trivial",
        actions: "natural",
        lamp: "natural",
    },
];

#[derive(Clone, Copy, Debug)]
pub struct World {
    pub group: &'static str,
    pub features: &'static str,
    pub edge: &'static str,
    pub actions: &'static str,
    pub lamp: &'static str,
}

impl World {
    pub fn group(&self) -> Group {
        group(self.group)
    }

    pub fn kind(&self) -> NetworkKind {
        if self.group == "C1" { NetworkKind::Plain } else { NetworkKind::Equivariant }
    }

    /// Lamps have features, walls only a place.
    pub fn interface(&self) -> Interface {
        let kind = |name: &str, features: &str| SenderKind { name: name.into(), features: features.into() };
        Interface {
            world: "made-up".into(),
            agents: 4,
            actions: self.actions.into(),
            features: self.features.into(),
            edge: self.edge.into(),
            senders: vec![kind("lamp", self.lamp), kind("wall", "")],
            ..Interface::default()
        }
    }

    pub fn config(&self) -> NetworkConfig {
        NetworkConfig::usual(self.interface(), self.kind(), &self.group())
    }

    pub fn network(&self, seed: u64) -> Network {
        network(&self.config(), seed)
    }

    /// Those of agents, edge vectors and lamps, under a group that need not be this world's.
    pub fn reps(&self, group: &Group) -> [Rep; 3] {
        let edge = if self.edge.is_empty() && self.group == "C1" { "2*trivial" } else { self.edge };
        let edge = if edge.is_empty() { "rotation" } else { edge };
        [self.features, edge, self.lamp].map(|text| Rep::parse(group, text).unwrap())
    }
}

/// An edge from a sender to an agent that hears it.
pub type Edge = (usize, usize, Vec<f32>);

/// A state: what agents see, and what they hear of agents, lamps and walls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    pub agents: Vec<Vec<f32>>,
    pub lamps: Vec<Vec<f32>>,
    pub walls: usize,
    /// By kind: agents, lamps, walls.
    pub edges: [Vec<Edge>; 3],
    /// What each agent is told, for networks that are told something.
    pub told: Vec<Vec<f32>>,
}

impl Scene {
    /// Everything at random; some agents hear nobody, and some kinds may be absent.
    pub fn random(world: &World, agents: usize, random: &mut Random) -> Scene {
        let [features, edge, lamp] = world.reps(&world.group()).map(|rep| rep.dim());
        let counts = [agents, random.below(4), random.below(4)];
        let mut scene = Scene {
            agents: (0..agents).map(|_| random.normals(features)).collect(),
            lamps: (0..counts[1]).map(|_| random.normals(lamp)).collect(),
            walls: counts[2],
            ..Scene::default()
        };
        for (kind, &count) in counts.iter().enumerate() {
            for (i, j) in (0..agents).flat_map(|i| (0..count).map(move |j| (i, j))) {
                if (kind > 0 || i != j) && random.uniform() < 0.5 {
                    scene.edges[kind].push((i, j, random.normals(edge)));
                }
            }
        }
        scene
    }

    /// The scene transformed by g.
    pub fn turned(&self, [features, edge, lamp]: &[Rep; 3], g: Element) -> Scene {
        let apply = |rep: &Rep, x: &Vec<f32>| -> Vec<f32> {
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            rep.apply(g, &wide).into_iter().map(|x| x as f32).collect()
        };
        let edges = |list: &Vec<Edge>| list.iter().map(|(i, j, v)| (*i, *j, apply(edge, v))).collect();
        Scene {
            agents: self.agents.iter().map(|x| apply(features, x)).collect(),
            lamps: self.lamps.iter().map(|x| apply(lamp, x)).collect(),
            walls: self.walls,
            edges: self.edges.each_ref().map(edges),
            told: self.told.clone(),
        }
    }

    /// What agent i hears of a kind.
    pub fn heard(&self, kind: usize, i: usize) -> impl Iterator<Item = &Edge> {
        self.edges[kind].iter().filter(move |e| e.0 == i)
    }

    fn add_to(&self, batch: &mut Batch) {
        for (i, features) in self.agents.iter().enumerate() {
            batch.see(features).unwrap();
            self.heard(0, i).for_each(|(_, j, edge)| batch.hear(*j as u32, edge));
            for (_, j, edge) in self.heard(1, i) {
                let id = batch.senders[0].vectors.id(&self.lamps[*j]).unwrap();
                batch.senders[0].hear(id, edge);
            }
            self.heard(2, i).for_each(|(_, _, edge)| batch.senders[1].hear(0, edge));
            batch.end_agent();
        }
        batch.told.extend(self.told.iter().flatten());
        batch.end_state();
    }
}

pub fn collate(scenes: &[Scene]) -> Batch {
    let mut batch = Batch::with_senders(2);
    refill(&mut batch, scenes);
    batch
}

/// The same in a batch that held others.
pub fn refill(batch: &mut Batch, scenes: &[Scene]) {
    batch.clear();
    scenes.iter().for_each(|scene| scene.add_to(batch));
}

pub fn scenes(world: &World, sizes: &[usize], seed: u64) -> Vec<Scene> {
    let mut random = Random::new(seed);
    sizes.iter().map(|&agents| Scene::random(world, agents, &mut random)).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

fn relu(x: Vec<f64>) -> Vec<f64> {
    x.into_iter().map(|x| x.max(0.0)).collect()
}

/// Layers `<prefix>features1`, `<prefix>features2`, ...
fn encode(reference: &Reference, prefix: &str, x: &[f32]) -> Vec<f64> {
    let (mut x, mut l) = (wide(x), 1);
    while reference.tensors.contains_key(&format!("{prefix}features{l}.weight")) {
        x = relu(reference.affine(&format!("{prefix}features{l}"), &x));
        l += 1;
    }
    x
}

/// Logits of all agents and the team's value, edge by edge from the equations.
pub fn reference_forward(reference: &Reference, scene: &Scene) -> (Vec<f64>, f64) {
    let mut features: Vec<Vec<f64>> = scene.agents.iter().map(|x| encode(reference, "", x)).collect();
    let lamps: Vec<Vec<f64>> = scene.lamps.iter().map(|x| encode(reference, "lamp.", x)).collect();
    let tell = |features: &mut Vec<Vec<f64>>| {
        features.iter_mut().zip(&scene.told).for_each(|(f, told)| f.extend(wide(told)));
    };
    tell(&mut features);
    let mut l = 1;
    while reference.tensors.contains_key(&format!("round{l}.update.weight")) {
        let layers = ["message", "lamp.message", "wall.message"].map(|layer| format!("round{l}.{layer}"));
        let width = reference.tensors[&format!("round{l}.message.bias")].1.len();
        let next = |(i, own): (usize, &Vec<f64>)| {
            let mut input = own.clone();
            for (kind, layer) in layers.iter().enumerate() {
                let (mut sum, mut count) = (vec![0.0; width], 0.0f64);
                for (_, j, edge) in scene.heard(kind, i) {
                    let sent = match kind {
                        0 => features[*j].clone(),
                        1 => lamps[*j].clone(),
                        _ => vec![],
                    };
                    let message = relu(reference.affine(layer, &[own.clone(), wide(edge), sent].concat()));
                    sum.iter_mut().zip(message).for_each(|(s, m)| *s += m);
                    count += 1.0;
                }
                input.extend(sum.into_iter().map(|s| s / count.max(1.0)));
            }
            relu(reference.affine(&format!("round{l}.update"), &input))
        };
        features = features.iter().enumerate().map(next).collect();
        tell(&mut features);
        l += 1;
    }
    let logits = features.iter().flat_map(|f| reference.affine("policy", f)).collect();
    let values: Vec<f64> = features.iter().map(|f| reference.affine("value", f)[0]).collect();
    (logits, values.iter().sum::<f64>() / values.len().max(1) as f64)
}
