//! Message passing over a graph, one operation per round.
//!
//! m_i = a_i sum_j (e_ij (+) f_j), a_i = 1 / (1 + number of neighbours of i), j over the neighbours of i in their listed order
//!
//! f_i' = relu(W \[f_i (+) m_i\] + b)
//!
//! W is row-major; an input row is own features, edge vector, messages. An agent without neighbours gets a zero message. An
//! agent's output depends on nothing but its own row, its edges and its neighbours' rows, to the bit.

use crate::error::{Error, Result, length, positive, product, rows};
use crate::linear::{self, Linear, Packed};
use crate::simd::Level;

#[cfg(test)]
mod tests;

/// Who listens to whom: the neighbours of agent i are `neighbours[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// Checks that offsets rise from zero to the number of edges and that every neighbour exists.
    ///
    /// ```
    /// use equimarl_kernels::messages::Graph;
    /// let pair_and_loner = Graph::new(vec![0, 1, 2, 2], vec![1, 0])?;
    /// assert_eq!((pair_and_loner.agents(), pair_and_loner.edges()), (3, 2));
    /// assert!(Graph::new(vec![0, 1], vec![7]).is_err());
    /// # Ok::<(), equimarl_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    /// Offsets are missing or do not rise, or a neighbour is out of range.
    pub fn new(offsets: Vec<u32>, neighbours: Vec<u32>) -> Result<Self> {
        let Some(agents) = offsets.len().checked_sub(1) else {
            return Err(Error::Offsets { at: 0 });
        };
        if offsets[0] != 0 {
            return Err(Error::Offsets { at: 0 });
        }
        if let Some(at) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Error::Offsets { at: at + 1 });
        }
        if offsets[agents] as usize != neighbours.len() {
            return Err(Error::Offsets { at: agents });
        }
        if let Some(at) = neighbours.iter().position(|&j| j as usize >= agents) {
            return Err(Error::Index {
                name: "neighbours",
                at,
                index: neighbours[at] as usize,
                limit: agents,
            });
        }
        Ok(Self { offsets, neighbours })
    }

    /// Number of agents.
    pub fn agents(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of (agent, neighbour) pairs.
    pub fn edges(&self) -> usize {
        self.neighbours.len()
    }

    /// Position of agent i's first edge, and its neighbours.
    fn neighbours(&self, i: usize) -> (usize, &[u32]) {
        let (from, to) = (self.offsets[i] as usize, self.offsets[i + 1] as usize);
        (from, &self.neighbours[from..to])
    }
}

/// sum = a sum_j rows_j with a = 1 / (1 + number of rows), in the order given.
fn weighted_sum<'a>(rows: impl ExactSizeIterator<Item = &'a [f32]>, sum: &mut [f32]) {
    let weight = 1.0 / (1.0 + rows.len() as f32);
    sum.fill(0.0);
    for row in rows {
        for (sum, x) in sum.iter_mut().zip(row) {
            *sum += x;
        }
    }
    for sum in sum {
        *sum *= weight;
    }
}

/// Adds a_i times the gradient of agent i's message to the gradient of every neighbour.
fn spread(graph: &Graph, i: usize, dmessage: &[f32], dfeatures: &mut [f32]) {
    let (_, neighbours) = graph.neighbours(i);
    let weight = 1.0 / (1.0 + neighbours.len() as f32);
    for &j in neighbours {
        let to = &mut dfeatures[j as usize * dmessage.len()..][..dmessage.len()];
        for (to, from) in to.iter_mut().zip(dmessage) {
            *to += weight * from;
        }
    }
}

/// A plan of one message round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    features: usize,
    edge: usize,
    linear: Linear,
}

/// What the backward pass needs from the forward pass. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Activations {
    /// Input rows: own features, edge vector, messages.
    input: Vec<f32>,
    out: Vec<f32>,
    plan: Option<Round>,
}

/// Working memory of [`Round::backward`]. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    dz: Vec<f32>,
    dinput: Vec<f32>,
    linear: linear::Workspace,
}

/// Where the gradients of a round go; overwritten.
#[derive(Debug)]
pub struct Gradients<'a> {
    /// Gradient of the features.
    pub features: &'a mut [f32],
    /// Gradient of the weight.
    pub w: &'a mut [f32],
    /// Gradient of the bias.
    pub b: &'a mut [f32],
}

impl Round {
    /// Rows of `features` floats in, edge vectors of `edge` floats (2 in the plane; 0 is allowed), `outputs` floats out.
    ///
    /// # Errors
    /// A size is zero or too large.
    pub fn new(features: usize, edge: usize, outputs: usize) -> Result<Self> {
        Self::with_level(features, edge, outputs, Level::best())
    }

    /// As [`Round::new`], with a chosen instruction set.
    ///
    /// # Errors
    /// As [`Round::new`].
    pub fn with_level(features: usize, edge: usize, outputs: usize, level: Level) -> Result<Self> {
        positive("the number of features", features)?;
        product("a row of features", &[features])?;
        product("an edge vector", &[edge])?;
        let linear = Linear::with_level(2 * features + edge, outputs, level)?;
        Ok(Self { features, edge, linear })
    }

    /// Elements of an input row: own features, edge vector, messages.
    pub fn inputs(&self) -> usize {
        self.linear.inputs()
    }

    /// Elements of an output row.
    pub fn outputs(&self) -> usize {
        self.linear.outputs()
    }

    /// Puts weights in the order the forward pass reads them.
    ///
    /// # Errors
    /// A slice has the wrong length.
    pub fn pack(&self, w: &[f32], b: &[f32], packed: &mut Packed) -> Result<()> {
        self.linear.pack(w, b, packed)
    }

    /// One round for all agents; `edges` has one vector per neighbour in the graph's order.
    ///
    /// # Errors
    /// A slice does not fit the graph and the plan, or `packed` belongs to another plan.
    pub fn forward(
        &self,
        graph: &Graph,
        edges: &[f32],
        features: &[f32],
        packed: &Packed,
        saved: &mut Activations,
        out: &mut [f32],
    ) -> Result<()> {
        let agents = graph.agents();
        length("edges", edges.len(), graph.edges() * self.edge)?;
        length("features", features.len(), agents * self.features)?;
        length("out", out.len(), agents * self.outputs())?;
        saved.plan = None;
        saved.input.resize(agents * self.inputs(), 0.0);
        let row = |j: &u32| &features[*j as usize * self.features..][..self.features];
        for (i, input) in saved.input.chunks_exact_mut(self.inputs()).enumerate() {
            let (first, neighbours) = graph.neighbours(i);
            let (own, message) = input.split_at_mut(self.features);
            let (edge, mail) = message.split_at_mut(self.edge);
            own.copy_from_slice(&features[i * self.features..][..self.features]);
            let vector = |e: usize| &edges[e * self.edge..][..self.edge];
            weighted_sum((first..first + neighbours.len()).map(vector), edge);
            weighted_sum(neighbours.iter().map(row), mail);
        }
        self.linear.forward(packed, &saved.input, true, out)?;
        saved.out.clear();
        saved.out.extend_from_slice(out);
        saved.plan = Some(*self);
        Ok(())
    }

    /// One round of a single agent from what it received: one edge vector and one feature row per neighbour. The same bits
    /// as [`Round::forward`] for the same order of neighbours. `input` is working memory.
    ///
    /// # Errors
    /// A slice has the wrong length, or `packed` belongs to another plan.
    pub fn one(
        &self,
        own: &[f32],
        edges: &[f32],
        received: &[f32],
        packed: &Packed,
        input: &mut Vec<f32>,
        out: &mut [f32],
    ) -> Result<()> {
        length("own", own.len(), self.features)?;
        let neighbours = rows("received", received.len(), self.features)?;
        length("edges", edges.len(), neighbours * self.edge)?;
        input.resize(self.inputs(), 0.0);
        let (first, message) = input.split_at_mut(self.features);
        let (edge, mail) = message.split_at_mut(self.edge);
        first.copy_from_slice(own);
        let vector = |e: usize| &edges[e * self.edge..][..self.edge];
        weighted_sum((0..neighbours).map(vector), edge);
        weighted_sum(received.chunks_exact(self.features), mail);
        self.linear.forward(packed, input, true, out)
    }

    /// Gradients of the weights and of the features, given that of the outputs. Edge vectors get none.
    ///
    /// # Errors
    /// A slice has the wrong length, or `saved` was filled by another plan or graph size.
    pub fn backward(
        &self,
        graph: &Graph,
        saved: &Activations,
        w: &[f32],
        dout: &[f32],
        workspace: &mut Workspace,
        gradients: Gradients<'_>,
    ) -> Result<()> {
        let agents = graph.agents();
        if saved.plan != Some(*self) || saved.out.len() != agents * self.outputs() {
            return Err(Error::Foreign { name: "saved" });
        }
        length("dout", dout.len(), saved.out.len())?;
        let Gradients { features: dfeatures, w: dw, b: db } = gradients;
        length("gradients.features", dfeatures.len(), agents * self.features)?;
        let Workspace { dz, dinput, linear } = workspace;
        dz.resize(dout.len(), 0.0);
        linear::relu_backward(&saved.out, dout, dz)?;
        dinput.resize(saved.input.len(), 0.0);
        self.linear.backward(
            &saved.input,
            w,
            dz,
            linear,
            Some(dinput),
            linear::Gradients { w: dw, b: db },
        )?;
        let inputs = dinput.chunks_exact(self.inputs());
        for (own, row) in dfeatures.chunks_exact_mut(self.features).zip(inputs) {
            own.copy_from_slice(&row[..self.features]);
        }
        for (i, row) in dinput.chunks_exact(self.inputs()).enumerate() {
            spread(graph, i, &row[self.features + self.edge..], dfeatures);
        }
        Ok(())
    }
}

/// m_i = a_i sum_j rows_j of rows of `width` floats, the aggregation alone.
///
/// # Errors
/// A slice does not fit the graph.
pub fn aggregate(graph: &Graph, width: usize, features: &[f32], out: &mut [f32]) -> Result<()> {
    positive("the width of a row", width)?;
    length("features", features.len(), graph.agents() * width)?;
    length("out", out.len(), graph.agents() * width)?;
    for (i, out) in out.chunks_exact_mut(width).enumerate() {
        let (_, neighbours) = graph.neighbours(i);
        let row = |j: &u32| &features[*j as usize * width..][..width];
        weighted_sum(neighbours.iter().map(row), out);
    }
    Ok(())
}

/// The adjoint of [`aggregate`]: df_j = sum of a_i dm_i over the agents i that have j as neighbour, in rising order.
///
/// # Errors
/// A slice does not fit the graph.
pub fn aggregate_adjoint(graph: &Graph, width: usize, dout: &[f32], dfeatures: &mut [f32]) -> Result<()> {
    positive("the width of a row", width)?;
    length("dout", dout.len(), graph.agents() * width)?;
    length("dfeatures", dfeatures.len(), graph.agents() * width)?;
    dfeatures.fill(0.0);
    for (i, from) in dout.chunks_exact(width).enumerate() {
        spread(graph, i, from, dfeatures);
    }
    Ok(())
}
