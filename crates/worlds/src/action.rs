//! How a group acts on a world, worked out from its declaration for every element.

use equimarl_group::{Element, Group, Plane, Rep, Turn, Types};

/// The action of every group element on agents, actions, pixels, vectors and edges; or that of some turns by any angle, which
/// stand in place of elements ([`GroupAction::of_turns`]).
#[derive(Clone, Debug)]
pub struct GroupAction {
    /// The group of the declaration.
    pub group: Group,
    /// The turns, if they stand in place of the group's elements.
    turns: Vec<Turn>,
    plane: Option<Plane>,
    agents: Option<Vec<Vec<usize>>>,
    /// Where each element sends choices; empty where agents act by vectors.
    actions: Vec<Vec<usize>>,
    /// The matrix of each element on vectors that agents act by, row by row.
    vectors: Vec<Vec<f64>>,
    edge: Vec<Matrix>,
    features: Vec<Matrix>,
    senders: Vec<Vec<Matrix>>,
    /// On what breaks the symmetry; empty if nothing is known to.
    cause: Vec<Matrix>,
}

/// A small square matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
struct Matrix {
    dim: usize,
    entries: Vec<f32>,
}

impl Matrix {
    fn of(rep: &Rep, g: Element) -> Matrix {
        Matrix { dim: rep.dim(), entries: exactly(rep, g).into_iter().map(|x| x as f32).collect() }
    }

    fn turned(types: &Types, turn: Turn) -> Matrix {
        Matrix { dim: types.dim(), entries: types.matrix(turn).into_iter().map(|x| x as f32).collect() }
    }

    /// Whether it only permutes and negates numbers, which rounds nothing.
    fn is_exact(&self) -> bool {
        self.entries.chunks_exact(self.dim.max(1)).all(|row| {
            row.iter().filter(|x| x.abs() == 1.0).count() == 1
                && row.iter().filter(|x| **x != 0.0).count() == 1
        })
    }

    fn apply(&self, v: &[f32], out: &mut [f32]) {
        for (row, out) in self.entries.chunks_exact(self.dim.max(1)).zip(out) {
            // From the first product on, so that -0 stays what it is.
            let mut products = row.iter().zip(v).map(|(a, b)| a * b);
            let first = products.next().unwrap_or(0.0);
            *out = products.fold(first, |sum, x| sum + x);
        }
    }
}

impl GroupAction {
    /// How many elements or turns there are.
    pub fn count(&self) -> usize {
        if self.turns.is_empty() { self.group.order() } else { self.turns.len() }
    }

    /// What an element or a turn is called.
    pub fn name(&self, g: Element) -> String {
        self.turn(g).map_or_else(|| self.group.element_name(g).into(), |turn| turn.to_string())
    }

    /// The turn, if turns stand in place of elements.
    pub fn turn(&self, g: Element) -> Option<Turn> {
        self.turns.get(g).copied()
    }

    /// Whether the group acts on the whole world, and not only on what one agent sees.
    pub fn is_global(&self) -> bool {
        self.agents.is_some()
    }

    /// Where g sends an agent; itself where the group does not act on the whole world.
    pub fn agent(&self, g: Element, agent: usize) -> usize {
        self.agents.as_ref().map_or(agent, |all| all[g][agent])
    }

    /// How many actions an agent chooses from; 0 if it acts by vectors.
    pub fn choices(&self) -> usize {
        self.actions.first().map_or(0, Vec::len)
    }

    /// The action that the agent takes in the transformed world when it takes `action` here.
    #[inline]
    pub fn action(&self, g: Element, action: usize) -> usize {
        self.actions[g][action]
    }

    /// The vector by which the agent acts in the transformed world when it acts by `v` here.
    ///
    /// # Panics
    /// If agents choose: the caller is a program, and it is wrong.
    pub fn vector(&self, g: Element, v: &[f64], out: &mut [f64]) {
        for (row, out) in self.vectors[g].chunks_exact(v.len().max(1)).zip(out) {
            *out = row.iter().zip(v).map(|(a, b)| a * b).sum();
        }
    }

    /// The vector by which the agent acts here when it acts by `v` in the transformed world: matrices are orthogonal.
    ///
    /// # Panics
    /// If agents choose: the caller is a program, and it is wrong.
    pub fn vector_back(&self, g: Element, v: &[f64], out: &mut [f64]) {
        let (matrix, dim) = (&self.vectors[g], v.len());
        for (k, out) in out.iter_mut().enumerate() {
            *out = (0..dim).map(|row| matrix[row * dim + k] * v[row]).sum();
        }
    }

    /// How many numbers a vector has that agents act by; 0 if they choose.
    pub fn vector_dim(&self) -> usize {
        self.vectors.first().map_or(0, |m| (m.len() as f64).sqrt().round() as usize)
    }

    /// Whether g only permutes and negates the numbers of vectors that agents act by, and so maps a box to itself.
    pub fn vector_is_exact(&self, g: Element) -> bool {
        self.vectors.get(g).is_none_or(|m| m.iter().all(|x| *x == 0.0 || x.abs() == 1.0))
    }

    /// How the group turns pixels, where it does.
    pub fn plane(&self) -> Option<&Plane> {
        self.plane.as_ref()
    }

    /// The dimension of edge vectors.
    pub fn edge_dim(&self) -> usize {
        self.edge.first().map_or(0, |m| m.dim)
    }

    /// The dimension of what breaks the symmetry; 0 if nothing is known to.
    pub fn cause_dim(&self) -> usize {
        self.cause.first().map_or(0, |m| m.dim)
    }

    /// What breaks the symmetry, transformed.
    pub fn cause(&self, g: Element, v: &[f32], out: &mut [f32]) {
        if let Some(matrix) = self.cause.get(g) {
            matrix.apply(v, out);
        }
    }

    /// An edge vector, transformed.
    #[inline]
    pub fn edge(&self, g: Element, v: &[f32], out: &mut [f32]) {
        self.edge[g].apply(v, out);
    }

    /// Whether g only permutes and negates the numbers of edge vectors: then transforming them rounds nothing.
    pub fn edge_is_exact(&self, g: Element) -> bool {
        self.edge[g].is_exact()
    }

    /// The same for the feature vectors of agents, or of a kind of senders.
    pub fn features_are_exact(&self, g: Element, kind: Option<usize>) -> bool {
        let matrices = kind.map_or(&self.features, |kind| &self.senders[kind]);
        matrices.get(g).is_none_or(Matrix::is_exact)
    }

    /// The dimension of an agent's feature vector; 0 if it sees an image.
    pub fn features_dim(&self) -> usize {
        self.features.first().map_or(0, |m| m.dim)
    }

    /// The dimension of what is heard of senders of a kind.
    pub fn sender_dim(&self, kind: usize) -> usize {
        self.senders[kind].first().map_or(0, |m| m.dim)
    }

    /// A feature vector, transformed: an agent's, or that of a kind of senders.
    pub fn features(&self, g: Element, kind: Option<usize>, v: &[f32], out: &mut [f32]) {
        let matrices = kind.map_or(&self.features, |kind| &self.senders[kind]);
        if let Some(matrix) = matrices.get(g) {
            matrix.apply(v, out);
        }
    }
}

/// The matrix of an element, row by row. Nearly whole numbers are whole: then turning by quarters is exact.
fn exactly(rep: &Rep, g: Element) -> Vec<f64> {
    let matrix = rep.matrix(g);
    let tidy = |x: f64| if (x - x.round()).abs() < 1e-9 { x.round() } else { x };
    let dim = matrix.nrows();
    (0..dim * dim).map(|k| tidy(matrix[(k / dim, k % dim)])).collect()
}

mod declared;
#[cfg(test)]
mod tests;
