//! The functions that our networks are made of, each with the backward pass that its kernel brings.
//!
//! A kernel's errors are about sizes, and sizes are checked when the layer and the batch are built; here they cannot
//! happen, and [`sized`] says so.

use super::glue::{Function, Saved};
use equimarl_group::Expansion;
use equimarl_kernels::encoder::{self, Encoder};
use equimarl_kernels::gather::{
    Orbits, Permutations, gather_rows, gather_rows_permuted, scatter_rows, scatter_rows_permuted,
};
use equimarl_kernels::linear::{self, Linear};
use equimarl_kernels::messages::{self, Graph, Round};
use std::sync::Arc;

/// Unwraps what can only fail by sizes that were checked before.
fn sized<T>(result: equimarl_kernels::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("sizes were checked before: {error}"))
}

fn saved<T: Send + Sync + 'static>(value: T) -> Saved {
    Arc::new(value)
}

fn restored<T: 'static>(saved: &Saved) -> &T {
    saved.downcast_ref().unwrap_or_else(|| panic!("saved by the same function"))
}

/// How coefficients become the entries of a weight.
#[derive(Clone, Debug, PartialEq)]
pub enum Realisation {
    /// One coefficient per entry: a gather.
    Orbits(Orbits),
    /// Several: a sparse matrix.
    Sparse {
        /// Terms of each entry.
        terms: Expansion,
        /// The number of coefficients.
        rank: usize,
    },
}

impl Realisation {
    /// W from its coefficients.
    pub fn realise(&self, coefficients: &[f32]) -> Vec<f32> {
        match self {
            Realisation::Orbits(orbits) => {
                let mut weight = vec![0.0; orbits.entries()];
                sized(orbits.gather(coefficients, &mut weight));
                weight
            }
            Realisation::Sparse { terms, .. } => (terms.start.windows(2))
                .map(|range| {
                    let range = range[0] as usize..range[1] as usize;
                    range.map(|t| coefficients[terms.coefficient[t] as usize] * terms.scale[t]).sum()
                })
                .collect(),
        }
    }

    /// The gradient of the coefficients from the gradient of W.
    pub fn adjoint(&self, weight: &[f32]) -> Vec<f32> {
        match self {
            Realisation::Orbits(orbits) => {
                let mut coefficients = vec![0.0; orbits.coefficients()];
                sized(orbits.scatter(weight, &mut coefficients));
                coefficients
            }
            Realisation::Sparse { terms, rank } => {
                let mut coefficients = vec![0.0; *rank];
                for (range, w) in terms.start.windows(2).zip(weight) {
                    for t in range[0] as usize..range[1] as usize {
                        coefficients[terms.coefficient[t] as usize] += w * terms.scale[t];
                    }
                }
                coefficients
            }
        }
    }
}

/// W = sum_c coefficient\[c\] B_c.
#[derive(Debug)]
pub struct Realise {
    pub realisation: Arc<Realisation>,
    pub shape: [usize; 2],
}

impl Function<1> for Realise {
    fn shape(&self) -> [usize; 2] {
        self.shape
    }

    fn forward(&self, [coefficients]: [&[f32]; 1]) -> (Vec<f32>, Saved) {
        (self.realisation.realise(coefficients), saved(()))
    }

    fn backward(&self, _: [&[f32]; 1], _: &Saved, output: &[f32]) -> [Vec<f32>; 1] {
        [self.realisation.adjoint(output)]
    }
}

/// y = W x + b for every row x, with or without ReLU.
#[derive(Debug)]
pub struct Dense {
    pub plan: Linear,
    pub rows: usize,
    pub relu: bool,
}

impl Function<3> for Dense {
    fn shape(&self) -> [usize; 2] {
        [self.rows, self.plan.outputs()]
    }

    fn forward(&self, [x, w, b]: [&[f32]; 3]) -> (Vec<f32>, Saved) {
        let (mut packed, mut out) = (linear::Packed::default(), vec![0.0; self.rows * self.plan.outputs()]);
        sized(self.plan.pack(w, b, &mut packed));
        sized(self.plan.forward(&packed, x, self.relu, &mut out));
        let keep = if self.relu { out.clone() } else { vec![] };
        (out, saved(keep))
    }

    fn backward(&self, [x, w, b]: [&[f32]; 3], kept: &Saved, output: &[f32]) -> [Vec<f32>; 3] {
        let mut before_relu = output.to_vec();
        if self.relu {
            sized(linear::relu_backward(restored::<Vec<f32>>(kept), output, &mut before_relu));
        }
        let (mut dx, mut dw, mut db) = (vec![0.0; x.len()], vec![0.0; w.len()], vec![0.0; b.len()]);
        let gradients = linear::Gradients { w: &mut dw, b: &mut db };
        let mut workspace = linear::Workspace::default();
        sized(self.plan.backward(x, w, &before_relu, &mut workspace, Some(&mut dx), gradients));
        [dx, dw, db]
    }
}

/// One message round: f_i' = relu(W \[f_i (+) sum_j a_ij (e_ij (+) f_j)\] + b).
#[derive(Debug)]
pub struct Messages {
    pub plan: Round,
    pub graph: Arc<Graph>,
    pub edges: Arc<[f32]>,
}

impl Function<3> for Messages {
    fn shape(&self) -> [usize; 2] {
        [self.graph.agents(), self.plan.outputs()]
    }

    fn forward(&self, [x, w, b]: [&[f32]; 3]) -> (Vec<f32>, Saved) {
        let mut out = vec![0.0; self.graph.agents() * self.plan.outputs()];
        let (mut packed, mut keep) = (linear::Packed::default(), messages::Activations::default());
        sized(self.plan.pack(w, b, &mut packed));
        sized(self.plan.forward(&self.graph, &self.edges, x, &packed, &mut keep, &mut out));
        (out, saved(keep))
    }

    fn backward(&self, [x, w, b]: [&[f32]; 3], kept: &Saved, output: &[f32]) -> [Vec<f32>; 3] {
        let (mut dx, mut dw, mut db) = (vec![0.0; x.len()], vec![0.0; w.len()], vec![0.0; b.len()]);
        let gradients = messages::Gradients { features: &mut dx, w: &mut dw, b: &mut db };
        let mut workspace = messages::Workspace::default();
        sized(self.plan.backward(&self.graph, restored(kept), w, output, &mut workspace, gradients));
        [dx, dw, db]
    }
}

/// Convolution, ReLU, convolution, ReLU, global max pool of fixed pictures.
#[derive(Debug)]
pub struct Encode {
    pub plan: Arc<Encoder>,
    pub pictures: Arc<[f32]>,
}

impl Function<4> for Encode {
    fn shape(&self) -> [usize; 2] {
        [self.pictures.len() / self.plan.picture_len(), self.plan.features()]
    }

    fn forward(&self, [w1, b1, w2, b2]: [&[f32]; 4]) -> (Vec<f32>, Saved) {
        let [images, features] = self.shape();
        let (mut packed, mut keep) = (encoder::Packed::default(), encoder::Activations::default());
        let mut out = vec![0.0; images * features];
        sized(self.plan.pack(encoder::Weights { w1, b1, w2, b2 }, &mut packed));
        sized(self.plan.forward(&packed, &self.pictures, &mut keep, &mut out));
        (out, saved(keep))
    }

    fn backward(&self, [w1, b1, w2, b2]: [&[f32]; 4], kept: &Saved, output: &[f32]) -> [Vec<f32>; 4] {
        let mut found = [w1, b1, w2, b2].map(|w| vec![0.0; w.len()]);
        let [d1, e1, d2, e2] = &mut found;
        let gradients = encoder::Gradients { w1: d1, b1: e1, w2: d2, b2: e2 };
        let mut workspace = encoder::Workspace::default();
        sized(self.plan.backward(&self.pictures, w2, restored(kept), output, &mut workspace, gradients));
        found
    }
}

/// Rows copied from distinct ones, their group channels moved: out\[r\] = L_g features\[id\[r\]\] with g = elements\[r\].
#[derive(Debug)]
pub struct Spread {
    pub width: usize,
    pub ids: Arc<[u32]>,
    /// The elements and how they move group channels; nothing if no row is turned.
    pub turns: Option<(Arc<[u32]>, Arc<Permutations>)>,
}

impl Spread {
    pub fn gather(&self, features: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; self.ids.len() * self.width];
        sized(match &self.turns {
            Some((elements, by)) => {
                gather_rows_permuted(features, self.width, by, &self.ids, elements, &mut out)
            }
            None => gather_rows(features, self.width, &self.ids, &mut out),
        });
        out
    }
}

impl Function<1> for Spread {
    fn shape(&self) -> [usize; 2] {
        [self.ids.len(), self.width]
    }

    fn forward(&self, [features]: [&[f32]; 1]) -> (Vec<f32>, Saved) {
        (self.gather(features), saved(()))
    }

    fn backward(&self, [features]: [&[f32]; 1], _: &Saved, output: &[f32]) -> [Vec<f32>; 1] {
        let mut found = vec![0.0; features.len()];
        sized(match &self.turns {
            Some((elements, by)) => {
                scatter_rows_permuted(output, self.width, by, &self.ids, elements, &mut found)
            }
            None => scatter_rows(output, self.width, &self.ids, &mut found),
        });
        [found]
    }
}

/// The sum or the mean over the agents of each state: agents `starts[s]..starts[s + 1]` are those of state s.
#[derive(Debug)]
pub struct OverTeam {
    pub starts: Arc<[u32]>,
    pub mean: bool,
}

impl OverTeam {
    pub fn gather(&self, values: &[f32]) -> Vec<f32> {
        let team = |range: &[u32]| {
            let team = &values[range[0] as usize..range[1] as usize];
            team.iter().sum::<f32>() * self.weight(team.len())
        };
        self.starts.windows(2).map(team).collect()
    }

    fn weight(&self, agents: usize) -> f32 {
        if self.mean { 1.0 / agents.max(1) as f32 } else { 1.0 }
    }
}

impl Function<1> for OverTeam {
    fn shape(&self) -> [usize; 2] {
        [self.starts.len() - 1, 1]
    }

    fn forward(&self, [values]: [&[f32]; 1]) -> (Vec<f32>, Saved) {
        (self.gather(values), saved(()))
    }

    fn backward(&self, [values]: [&[f32]; 1], _: &Saved, output: &[f32]) -> [Vec<f32>; 1] {
        let mut found = vec![0.0; values.len()];
        for (range, d) in self.starts.windows(2).zip(output) {
            let team = &mut found[range[0] as usize..range[1] as usize];
            let each = d * self.weight(team.len());
            team.fill(each);
        }
        [found]
    }
}
