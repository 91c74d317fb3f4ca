//! Messages of one kind of sender: m_ij = relu(W \[f_i (+) e_ij (+) f_j\] + b), and their mean over the senders j that i
//! hears, zero if there are none. W (L_g (+) E_g (+) L_g) = L_g W, so that the mean turns when everything else turns.
//!
//! W \[f_i (+) e_ij (+) f_j\] = A f_i + B e_ij + C f_j: A f_i + b is computed once per receiver and C f_j once per sender, and an
//! edge costs B e_ij and two additions. A sender that has nothing to tell but where it is has no C. Where channels turn, every
//! edge has a gate in place of the ReLU.

use super::gate::{Gate, GateShape, GateWeights, GateWork};
use super::map::{Map, MapWeights, MapWork};
use super::stack::not_its_coefficients;
use super::{LinearWork, Space, check_relu};
use crate::error::Result;
use equimarl_group::Rep;
use equimarl_kernels::edges::{self, Columns, halves};
use equimarl_kernels::messages::Graph;

/// Equivariant messages, made edge by edge and averaged.
#[derive(Clone, Debug)]
pub struct Messages {
    space: Box<Space>,
    /// A and b.
    own: Map,
    /// B.
    edge: Map,
    /// C, if senders have features.
    sent: Option<Map>,
    gate: Option<Box<Gate>>,
}

/// Whom the agents hear of one kind, across which vectors, and the features of those: a row per sender that the graph
/// names, or none if senders have none.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// The senders that each agent hears.
    pub graph: &'a Graph,
    /// One edge vector per edge of the graph, in its order.
    pub edges: &'a [f32],
    /// The senders' features.
    pub senders: &'a [f32],
}

/// What one agent hears of one kind: an edge vector per sender, and a row of features each if senders have any.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent<'a> {
    /// One edge vector per sender, in the plane or in the edge representation of the world.
    pub edges: &'a [f32],
    /// One row of features per sender, in the same order.
    pub features: &'a [f32],
}

/// Weights in the orders that the passes read them.
#[derive(Clone, Debug, Default)]
pub struct MessagesWeights {
    own: MapWeights,
    edge: MapWeights,
    sent: MapWeights,
    gate: GateWeights,
}

/// What is kept for the backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct MessagesWork {
    own: Vec<f32>,
    sent: Vec<f32>,
    messages: Vec<f32>,
    down: Vec<f32>,
    dsent: Vec<f32>,
    dmessages: Vec<f32>,
    /// What goes into the gate of every edge, and its gradient.
    candidates: Vec<f32>,
    dcandidates: Vec<f32>,
    gate: GateWork,
    /// Of own features, edges and senders.
    maps: [MapWork; 3],
    dense: LinearWork,
    /// The gradient of the receivers' features by way of these messages.
    pub(super) dfeatures: Vec<f32>,
    /// The gradient of the senders' features.
    pub(super) dsenders: Vec<f32>,
}

/// Rows to rows.
fn run(map: &Map, weights: &MapWeights, x: &[f32], work: &mut MapWork, out: &mut Vec<f32>) -> Result<()> {
    out.resize(x.len() / map.inputs() * map.outputs(), 0.0);
    map.forward(weights, x, false, work, out)
}

impl Messages {
    /// From receivers' features, edge vectors and senders' features, if they have any, to messages in `output`.
    ///
    /// # Errors
    /// If a ReLU would break the symmetry of the messages.
    pub fn new(features: &Rep, edge: &Rep, senders: Option<&Rep>, output: &Rep) -> Result<Messages> {
        check_relu(output)?;
        Messages::by(features, edge, senders, output, None)
    }

    /// The same where channels turn: every edge has a gate of this shape.
    ///
    /// # Errors
    /// If only the zero map is equivariant.
    pub fn gated(features: &Rep, edge: &Rep, senders: Option<&Rep>, shape: &GateShape) -> Result<Messages> {
        Messages::by(features, edge, senders, &shape.candidates()?, Some(Box::new(Gate::new(shape)?)))
    }

    fn by(
        features: &Rep,
        edge: &Rep,
        senders: Option<&Rep>,
        output: &Rep,
        gate: Option<Box<Gate>>,
    ) -> Result<Messages> {
        let mut input = features.clone().plus(edge)?;
        let (first, second) = (features.dim(), input.dim());
        if let Some(senders) = senders {
            input = input.plus(senders)?;
        }
        let space = Box::new(Space::new(&input, output, None)?);
        Ok(Messages {
            own: Map::new(&space, 0..first, true)?,
            edge: Map::new(&space, first..second, false)?,
            sent: senders.map(|_| Map::new(&space, second..input.dim(), false)).transpose()?,
            space,
            gate,
        })
    }

    /// The space of W and b, and those of the gate.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        [&*self.space].into_iter().chain(self.gate.iter().flat_map(|gate| gate.spaces()))
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.space.parameters() + self.gate.as_ref().map_or(0, |gate| gate.parameters())
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], weights: &mut MessagesWeights) -> Result<()> {
        let linear = self.space.parameters();
        if parameters.len() != self.parameters() {
            return Err(not_its_coefficients(parameters.len()));
        }
        if let Some(gate) = &self.gate {
            gate.realise(&parameters[linear..], &mut weights.gate)?;
        }
        let (parameters, MessagesWeights { own, edge, sent, .. }) = (&parameters[..linear], weights);
        for (part, packed) in [(Some(&self.own), own), (Some(&self.edge), edge), (self.sent.as_ref(), sent)] {
            if let Some(part) = part {
                part.realise(parameters, packed)?;
            }
        }
        Ok(())
    }

    /// The mean message of every agent, in `columns` of the rows `means`.
    ///
    /// # Errors
    /// If features and edges do not fit the graph, or `weights` are another layer's.
    pub fn forward(
        &self,
        weights: &MessagesWeights,
        heard: Heard<'_>,
        features: &[f32],
        work: &mut MessagesWork,
        (means, columns): (&mut [f32], Columns),
    ) -> Result<()> {
        self.parts(weights, features, heard.edges, heard.senders, work)?;
        let sent = self.sent.as_ref().map(|_| &work.sent[..]);
        let Some(gate) = &self.gate else {
            return Ok(edges::forward(heard.graph, columns, &work.own, sent, &mut work.messages, means)?);
        };
        let width = self.edge.outputs();
        halves::sum(heard.graph, width, &work.own, sent, &mut work.candidates)?;
        work.messages.resize(heard.graph.edges() * gate.outputs(), 0.0);
        gate.forward(&weights.gate, &work.candidates, &mut work.gate, &mut work.messages)?;
        Ok(halves::mean(heard.graph, columns, &work.messages, means)?)
    }

    /// The mean message of one agent, from what it received: the same bits as in [`Messages::forward`].
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn one(
        &self,
        weights: &MessagesWeights,
        own: &[f32],
        heard: Sent<'_>,
        work: &mut MessagesWork,
        mean: &mut [f32],
    ) -> Result<()> {
        self.parts(weights, own, heard.edges, heard.features, work)?;
        let sent = self.sent.as_ref().map(|_| &work.sent[..]);
        let Some(gate) = &self.gate else {
            return Ok(edges::one(&work.own, sent, &mut work.messages, mean)?);
        };
        halves::sum_one(&work.own, sent, &mut work.candidates)?;
        work.messages.resize(work.candidates.len() / self.edge.outputs() * gate.outputs(), 0.0);
        gate.forward(&weights.gate, &work.candidates, &mut work.gate, &mut work.messages)?;
        Ok(halves::mean_one(&work.messages, mean)?)
    }

    /// A f_i + b, B e_ij, which goes to the messages or to their gates, and C f_j.
    fn parts(
        &self,
        weights: &MessagesWeights,
        own: &[f32],
        edges: &[f32],
        senders: &[f32],
        work: &mut MessagesWork,
    ) -> Result<()> {
        let [maps_own, maps_edge, maps_sent] = &mut work.maps;
        run(&self.own, &weights.own, own, maps_own, &mut work.own)?;
        let rows = if self.gate.is_some() { &mut work.candidates } else { &mut work.messages };
        run(&self.edge, &weights.edge, edges, maps_edge, rows)?;
        match &self.sent {
            Some(map) => run(map, &weights.sent, senders, maps_sent, &mut work.sent),
            None => Ok(()),
        }
    }

    /// Given what went into the last forward pass and the gradient of the means: writes those of receivers' and senders'
    /// features into `work`, and adds to those of the coefficients.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        weights: &MessagesWeights,
        heard: Heard<'_>,
        features: &[f32],
        work: &mut MessagesWork,
        (dmeans, columns): (&[f32], Columns),
        gradients: &mut [f32],
    ) -> Result<()> {
        if gradients.len() != self.parameters() {
            return Err(not_its_coefficients(gradients.len()));
        }
        let MessagesWork {
            own,
            sent,
            messages,
            down,
            dsent,
            dmessages,
            maps,
            dense,
            dfeatures,
            dsenders,
            ..
        } = work;
        down.resize(own.len(), 0.0);
        dmessages.resize(messages.len(), 0.0);
        dsent.resize(sent.len(), 0.0);
        let (gradients, last) = gradients.split_at_mut(self.space.parameters());
        let dsum = match &self.gate {
            None => {
                let sent = self.sent.as_ref().map(|_| &mut dsent[..]);
                let into = edges::Gradients { own: down, edges: dmessages, sent };
                edges::backward(heard.graph, columns, messages, dmeans, into)?;
                dmessages
            }
            Some(gate) => {
                let (y, dy) = (&work.candidates, &mut work.dcandidates);
                halves::mean_backward(heard.graph, columns, dmeans, dmessages)?;
                dy.resize(y.len(), 0.0);
                gate.backward(&weights.gate, y, &mut work.gate, dmessages, dy, last)?;
                let sent = self.sent.as_ref().map(|_| &mut dsent[..]);
                let into = edges::Gradients { own: down, edges: dy, sent };
                halves::sum_backward(heard.graph, self.edge.outputs(), into)?;
                dy
            }
        };
        let [maps_own, maps_edge, maps_sent] = maps;
        dfeatures.resize(features.len(), 0.0);
        let into = Some(&mut dfeatures[..]);
        self.own.backward(&weights.own, (features, down), (maps_own, dense), into, gradients)?;
        self.edge.backward(&weights.edge, (heard.edges, dsum), (maps_edge, dense), None, gradients)?;
        let Some(map) = &self.sent else { return Ok(()) };
        dsenders.resize(heard.senders.len(), 0.0);
        let into = Some(&mut dsenders[..]);
        map.backward(&weights.sent, (heard.senders, dsent), (maps_sent, dense), into, gradients)
    }
}
