//! One message round of a network for feature vectors, over kinds k of senders; kind 0 are the other agents:
//!
//! m_ij = relu(W_k \[f_i (+) e_ij (+) f_j\] + b_k) for every sender j of kind k that i hears
//!
//! mean_k = (1 / n_k) sum_j m_ij, zero if i hears nobody of kind k
//!
//! f_i' = relu(W_u \[f_i (+) mean_0 (+) mean_1 ...\] + b_u)
//!
//! The paper's messages are linear in what is heard, so many things together would only tell the mean of where they are.
//! Here every edge has a ReLU of its own. Senders that do not act keep their features in every round. Where channels turn, gates
//! stand in place of ReLUs.

use super::messages::{Heard, Messages, MessagesWeights, MessagesWork, Sent};
use super::stack::{check_weights, not_its_coefficients};
use super::{Dense, DenseWeights, DenseWork, LinearWork, Space};
use crate::error::{Error, Result};
use crate::ranges::trimmed_mean;
use equimarl_group::Rep;
use equimarl_kernels::edges::Columns;
use equimarl_kernels::messages::Graph;

#[cfg(test)]
mod tests;

/// An equivariant round of messages that are made edge by edge. Messages are as wide as the features that it gives.
#[derive(Clone, Debug)]
pub struct EdgeRound {
    /// Those of other agents first.
    messages: Vec<Messages>,
    update: Dense,
    features: usize,
}

/// Weights in the orders that the passes read them.
#[derive(Clone, Debug, Default)]
pub struct EdgeRoundWeights {
    messages: Vec<MessagesWeights>,
    update: DenseWeights,
}

/// What a round keeps for its backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct EdgeRoundWork {
    messages: Vec<MessagesWork>,
    /// Rows of own features and the mean message of each kind.
    input: Vec<f32>,
    dinput: Vec<f32>,
    update: DenseWork,
    dense: LinearWork,
}

impl EdgeRound {
    /// From features in `features` and edge vectors in `edge` to features in `output`; `senders` are the kinds besides the
    /// agents, with their features if they have any.
    ///
    /// # Errors
    /// If a ReLU would break the symmetry of the output.
    pub fn new(features: &Rep, edge: &Rep, senders: &[Option<Rep>], output: &Rep) -> Result<EdgeRound> {
        let kinds = [Some(features)].into_iter().chain(senders.iter().map(Option::as_ref));
        let messages: Vec<Messages> =
            kinds.map(|sent| Messages::new(features, edge, sent, output)).collect::<Result<_>>()?;
        let mut input = features.clone();
        for _ in &messages {
            input = input.plus(output)?;
        }
        Ok(EdgeRound::of(messages, Dense::relu(&input, output)?, features))
    }

    /// From messages of each kind, those of agents first, and what makes features of them.
    pub(crate) fn of(messages: Vec<Messages>, update: Dense, features: &Rep) -> EdgeRound {
        EdgeRound { messages, update, features: features.dim() }
    }

    /// The spaces of the messages of each kind, then that of the update.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.messages.iter().flat_map(Messages::spaces).chain(self.update.spaces())
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.update.outputs()
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.messages.iter().map(Messages::parameters).sum::<usize>() + self.update.parameters()
    }

    /// How many kinds of senders there are, the agents among them.
    pub fn kinds(&self) -> usize {
        self.messages.len()
    }

    /// Where the mean messages of a kind stand in an input row of the update.
    fn columns(&self, kind: usize) -> Columns {
        let width = self.outputs();
        Columns { stride: self.features + self.kinds() * width, first: self.features + kind * width, width }
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], weights: &mut EdgeRoundWeights) -> Result<()> {
        if parameters.len() != self.parameters() {
            return Err(not_its_coefficients(parameters.len()));
        }
        weights.messages.resize_with(self.kinds(), MessagesWeights::default);
        let mut rest = parameters;
        for (messages, weights) in self.messages.iter().zip(&mut weights.messages) {
            let (part, after) = rest.split_at(messages.parameters());
            messages.realise(part, weights)?;
            rest = after;
        }
        self.update.realise(rest, &mut weights.update)
    }

    /// One round for all agents, which hear each other across `agents` (a graph, and a vector per edge) and all other kinds
    /// across `others`.
    ///
    /// # Errors
    /// If features, edges and kinds do not fit, or `weights` are another layer's.
    pub fn forward<'a>(
        &self,
        weights: &EdgeRoundWeights,
        agents: (&'a Graph, &'a [f32]),
        others: impl Iterator<Item = Heard<'a>>,
        features: &'a [f32],
        work: &mut EdgeRoundWork,
        out: &mut [f32],
    ) -> Result<()> {
        check_weights(weights.messages.len(), self.kinds())?;
        work.messages.resize_with(self.kinds(), MessagesWork::default);
        let (rows, stride) = (features.len() / self.features, self.columns(0).stride);
        work.input.resize(rows * stride, 0.0);
        for (row, own) in work.input.chunks_exact_mut(stride).zip(features.chunks_exact(self.features)) {
            row[..self.features].copy_from_slice(own);
        }
        let first = Heard { graph: agents.0, edges: agents.1, senders: features };
        let mut kinds = [first].into_iter().chain(others);
        for (kind, messages) in self.messages.iter().enumerate() {
            let heard = kinds.next().ok_or_else(|| self.other_kinds())?;
            let means = (&mut work.input[..], self.columns(kind));
            messages.forward(&weights.messages[kind], heard, features, &mut work.messages[kind], means)?;
        }
        if kinds.next().is_some() {
            return Err(self.other_kinds());
        }
        self.update.forward(&weights.update, &work.input, &mut work.update, out)
    }

    /// The round of one agent, from what it received of other agents and of all other kinds: the same bits as in
    /// [`EdgeRound::forward`].
    ///
    /// # Errors
    /// If a length or the number of kinds does not fit.
    pub fn one(
        &self,
        weights: &EdgeRoundWeights,
        own: &[f32],
        (agents, others): (Sent<'_>, &[Sent<'_>]),
        work: &mut EdgeRoundWork,
        out: &mut [f32],
    ) -> Result<()> {
        self.one_of(weights, own, (agents, others), work, out, false)
    }

    /// As [`EdgeRound::one`], with the mean over other agents' messages without the least and the largest of each number where
    /// there are three or more.
    ///
    /// # Errors
    /// As [`EdgeRound::one`].
    pub fn one_trimmed(
        &self,
        weights: &EdgeRoundWeights,
        own: &[f32],
        heard: (Sent<'_>, &[Sent<'_>]),
        work: &mut EdgeRoundWork,
        out: &mut [f32],
    ) -> Result<()> {
        self.one_of(weights, own, heard, work, out, true)
    }

    fn one_of(
        &self,
        weights: &EdgeRoundWeights,
        own: &[f32],
        (agents, others): (Sent<'_>, &[Sent<'_>]),
        work: &mut EdgeRoundWork,
        out: &mut [f32],
        trimmed: bool,
    ) -> Result<()> {
        check_weights(weights.messages.len(), self.kinds())?;
        if others.len() + 1 != self.kinds() {
            return Err(self.other_kinds());
        }
        if own.len() != self.features {
            let found = own.len();
            return Err(Error::BadBatch(format!(
                "a row of {found} features was given instead of {}",
                self.features
            )));
        }
        work.messages.resize_with(self.kinds(), MessagesWork::default);
        work.input.resize(self.columns(0).stride, 0.0);
        let (first, means) = work.input.split_at_mut(self.features);
        first.copy_from_slice(own);
        let heard = [&agents].into_iter().chain(others);
        let kinds = self.messages.iter().zip(&weights.messages).zip(&mut work.messages);
        for (((messages, weights), work), (heard, mean)) in
            kinds.zip(heard.zip(means.chunks_exact_mut(self.outputs())))
        {
            messages.one(weights, own, *heard, work, mean)?;
        }
        let senders = agents.features.len() / self.features.max(1);
        if trimmed && senders >= 3 {
            let (width, edge) = (self.outputs(), agents.edges.len() / senders);
            let mut rows = vec![0.0; senders * width];
            for (j, row) in rows.chunks_exact_mut(width).enumerate() {
                // The mean of one message is that message.
                let (edges, features) =
                    (&agents.edges[j * edge..][..edge], &agents.features[j * self.features..]);
                let one = Sent { edges, features: &features[..self.features] };
                self.messages[0].one(&weights.messages[0], own, one, &mut work.messages[0], row)?;
            }
            trimmed_mean(&rows, width, &mut work.input[self.features..][..width]);
        }
        self.update.forward(&weights.update, &work.input, &mut work.update, out)
    }

    /// Given what went into the last forward pass, its output and the gradient of that: writes the gradient of the features,
    /// and adds to those of the other kinds' features (`dothers`, one list per kind) and of the coefficients. `dout` becomes
    /// the gradient before the ReLU.
    ///
    /// # Errors
    /// If a length does not fit.
    #[allow(clippy::too_many_arguments)] // what goes in, what came out, and where three gradients go
    pub fn backward<'a>(
        &self,
        weights: &EdgeRoundWeights,
        agents: (&'a Graph, &'a [f32]),
        others: impl Iterator<Item = Heard<'a>>,
        features: &'a [f32],
        (out, dout): (&[f32], &mut [f32]),
        work: &mut EdgeRoundWork,
        (dfeatures, dothers): (&mut [f32], &mut [Vec<f32>]),
        gradients: &mut [f32],
    ) -> Result<()> {
        if gradients.len() != self.parameters() {
            return Err(not_its_coefficients(gradients.len()));
        }
        if work.messages.len() != self.kinds() || dothers.len() + 1 != self.kinds() {
            return Err(self.other_kinds());
        }
        let EdgeRoundWork { messages: works, input, dinput, update, dense } = work;
        dinput.resize(input.len(), 0.0);
        let (mut rest, last) = gradients.split_at_mut(gradients.len() - self.update.parameters());
        self.update.backward(&weights.update, (input, out), dout, update, dense, dinput, last)?;
        let stride = self.columns(0).stride;
        for (own, row) in dfeatures.chunks_exact_mut(self.features).zip(dinput.chunks_exact(stride)) {
            own.copy_from_slice(&row[..self.features]);
        }
        let first = Heard { graph: agents.0, edges: agents.1, senders: features };
        let mut kinds = [first].into_iter().chain(others);
        for (kind, (messages, work)) in self.messages.iter().zip(works).enumerate() {
            let (part, after) = rest.split_at_mut(messages.parameters());
            rest = after;
            let heard = kinds.next().ok_or_else(|| self.other_kinds())?;
            let dmeans = (&dinput[..], self.columns(kind));
            messages.backward(&weights.messages[kind], heard, features, work, dmeans, part)?;
            add(dfeatures, &work.dfeatures);
            match kind.checked_sub(1) {
                None => add(dfeatures, &work.dsenders),
                Some(other) => add(&mut dothers[other], &work.dsenders),
            }
        }
        Ok(())
    }

    fn other_kinds(&self) -> Error {
        Error::BadBatch(format!(
            "this network hears agents and {} other kinds of senders, each with its features; the batch is for another",
            self.kinds() - 1
        ))
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}
