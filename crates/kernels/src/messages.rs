//! Message passing over a graph, one operation per round.
//!
//! m_i = a_i sum_j (e_ij (+) f_j), a_i = 1 / (1 + number of neighbours of i), j over the neighbours of i in their listed order
//!
//! f_i' = relu(W \[f_i (+) m_i\] + b)
//!
//! An input row is own features, edge vector, messages. An agent without neighbours gets a zero message. An
//! agent's output depends on nothing but its own row, its edges and its neighbours' rows, to the bit.

use crate::error::{Error, Result, length, positive, product, rows};
use crate::linear::{self, Linear, Packed};
use crate::simd::Level;

#[cfg(test)]
mod tests;

impl Default for Graph {
    /// Nobody.
    fn default() -> Self {
        Self { offsets: vec![0], neighbours: vec![] }
    }
}

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
        let graph = Self { offsets, neighbours };
        graph.check()?;
        Ok(graph)
    }

    /// Forgets all agents; the memory is kept.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.neighbours.clear();
    }

    /// The agent that is about to be added by [`Graph::end_agent`] hears agent `from`, which may come later.
    pub fn hear(&mut self, from: u32) {
        self.neighbours.push(from);
    }

    /// Adds the next agent, which hears what was named since the last one.
    pub fn end_agent(&mut self) {
        self.offsets.push(self.neighbours.len() as u32);
    }

    /// That every neighbour exists, after agents were added.
    fn check(&self) -> Result<()> {
        self.check_senders(self.agents())
    }

    /// That nobody but the first `senders` is heard. In a graph from agents to things of another kind these are not the
    /// agents.
    pub(crate) fn check_senders(&self, senders: usize) -> Result<()> {
        match self.neighbours.iter().position(|&j| j as usize >= senders) {
            None => Ok(()),
            Some(at) => {
                let index = self.neighbours[at] as usize;
                Err(Error::Index { name: "neighbours", at, index, limit: senders })
            }
        }
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
    pub(crate) fn neighbours(&self, i: usize) -> (usize, &[u32]) {
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
    plan: Option<Round>,
}

/// Working memory of [`Round::backward`]. Reuse to avoid allocation.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
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

    /// The dense layer inside: it packs and realises the weights.
    pub fn linear(&self) -> &Linear {
        &self.linear
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
        graph.check()?;
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

    /// Gradients of the weights and of the features, given that of the outputs before the ReLU (see
    /// [`linear::relu_backward`]). Edge vectors get none.
    ///
    /// # Errors
    /// A slice has the wrong length, or `saved` was filled by another plan or graph size.
    pub fn backward(
        &self,
        graph: &Graph,
        packed: &Packed,
        saved: &Activations,
        dout: &[f32],
        workspace: &mut Workspace,
        gradients: Gradients<'_>,
    ) -> Result<()> {
        let agents = graph.agents();
        if saved.plan != Some(*self) || saved.input.len() != agents * self.inputs() {
            return Err(Error::Foreign { name: "saved" });
        }
        length("dout", dout.len(), agents * self.outputs())?;
        let Gradients { features: dfeatures, w: dw, b: db } = gradients;
        length("gradients.features", dfeatures.len(), agents * self.features)?;
        let Workspace { dinput, linear } = workspace;
        dinput.resize(saved.input.len(), 0.0);
        let gradients = linear::Gradients { w: dw, b: db };
        self.linear.backward(packed, &saved.input, dout, linear, Some(dinput), gradients)?;
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
