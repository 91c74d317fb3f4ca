//! What agents and other senders know of themselves, encoded: each distinct vector once.
//!
//! f_i = enc(x_i) for agents, and f_j = enc_k(x_j) for the senders j of each kind k that has features, which keep theirs in
//! all rounds.

use crate::batch::Batch;
use crate::config::NetworkConfig;
use crate::error::{Error, Result};
use crate::layers::{Dense, DenseWeights, Heard, Space, Stack, StackWork};
use crate::plan::{Plan, Role};
use equimarl_group::Rep;

/// The encoders of agents and of all kinds of senders.
#[derive(Clone, Debug)]
pub(crate) struct FeatureEncoders {
    agents: Stack,
    senders: Vec<Option<Stack>>,
}

/// Their weights in the orders that the kernels read.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeatureWeights {
    agents: Vec<DenseWeights>,
    senders: Vec<Vec<DenseWeights>>,
}

/// What they keep for the backward pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeatureWork {
    agents: StackWork,
    senders: Vec<StackWork>,
    /// The gradients of senders' features, which all rounds add to.
    pub dsenders: Vec<Vec<f32>>,
}

impl FeatureEncoders {
    /// The encoders of this plan, and what they give for each kind of sender.
    pub fn new(config: &NetworkConfig, plan: &Plan) -> Result<(FeatureEncoders, Rep, Vec<Option<Rep>>)> {
        let mut layers = plan.layers.iter().filter(|l| l.role == Role::Features);
        let mut encoder = || -> Result<(Stack, Rep)> {
            let layers: Vec<_> = layers.by_ref().take(config.widths.hidden.len()).collect();
            let Some(last) = layers.last() else {
                return Err(Error::BadNetwork("an encoder of feature vectors has at least one layer".into()));
            };
            let dense: Result<Vec<Dense>> = layers.iter().map(|layer| layer.dense()).collect();
            Ok((Stack::of(dense?)?, last.result()?))
        };
        let (agents, features) = encoder()?;
        let (mut senders, mut reps) = (vec![], vec![]);
        for kind in &config.interface.senders {
            let (stack, rep) = if kind.features.is_empty() { None } else { Some(encoder()?) }.unzip();
            senders.push(stack);
            reps.push(rep);
        }
        Ok((FeatureEncoders { agents, senders }, features, reps))
    }

    fn stacks(&self) -> impl Iterator<Item = &Stack> {
        [&self.agents].into_iter().chain(self.senders.iter().flatten())
    }

    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.stacks().flat_map(Stack::spaces)
    }

    pub fn parameters(&self) -> usize {
        self.stacks().map(Stack::parameters).sum()
    }

    /// The encoder of agents.
    pub fn agents(&self) -> &Stack {
        &self.agents
    }

    /// The encoder of a kind of senders, if there is such a kind and it has features.
    pub fn sender(&self, kind: usize) -> Option<&Stack> {
        self.senders.get(kind)?.as_ref()
    }

    pub fn realise(&self, parameters: &[f32], weights: &mut FeatureWeights) -> Result<()> {
        weights.senders.resize_with(self.senders.len(), Vec::new);
        let (part, mut rest) = parameters.split_at(self.agents.parameters());
        self.agents.realise(part, &mut weights.agents)?;
        for (stack, weights) in self.senders.iter().zip(&mut weights.senders) {
            if let Some(stack) = stack {
                let (part, after) = rest.split_at(stack.parameters());
                stack.realise(part, weights)?;
                rest = after;
            }
        }
        Ok(())
    }

    /// Encodes every distinct vector of the batch.
    pub fn forward(&self, weights: &FeatureWeights, batch: &Batch, work: &mut FeatureWork) -> Result<()> {
        self.check(batch)?;
        self.agents.forward(&weights.agents, batch.vectors.values(), &mut work.agents)?;
        work.senders.resize_with(self.senders.len(), StackWork::default);
        for (kind, stack) in self.senders.iter().enumerate() {
            if let Some(stack) = stack {
                let x = batch.senders[kind].vectors.values();
                stack.forward(&weights.senders[kind], x, &mut work.senders[kind])?;
            }
        }
        Ok(())
    }

    /// That the batch has the kinds and the sizes of this network.
    fn check(&self, batch: &Batch) -> Result<()> {
        batch.vectors.check("agents", self.agents.inputs())?;
        if batch.senders.len() != self.senders.len() {
            return Err(Error::BadBatch(format!(
                "the batch has {} kinds of senders, and the network was made for {}",
                batch.senders.len(),
                self.senders.len()
            )));
        }
        for (senders, stack) in batch.senders.iter().zip(&self.senders) {
            match stack {
                Some(stack) => senders.vectors.check("senders", stack.inputs())?,
                None if !senders.vectors.is_empty() => {
                    return Err(Error::BadBatch("senders without features have some in this batch".into()));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Makes room for the gradients of senders' features, which are zero at first.
    pub fn begin_backward(&self, work: &mut FeatureWork) {
        work.dsenders.resize_with(self.senders.len(), Vec::new);
        for ((stack, to), work) in self.senders.iter().zip(&mut work.dsenders).zip(&work.senders) {
            to.clear();
            to.resize(if stack.is_some() { work.output().len() } else { 0 }, 0.0);
        }
    }

    /// Adds to the gradients of the coefficients, given those of agents' features (one row per distinct vector) and what
    /// the rounds added to those of senders.
    pub fn backward(
        &self,
        weights: &FeatureWeights,
        batch: &Batch,
        dagents: &[f32],
        work: &mut FeatureWork,
        gradients: &mut [f32],
    ) -> Result<()> {
        self.check(batch)?;
        let FeatureWork { agents, senders, dsenders } = work;
        let (part, mut rest) = gradients.split_at_mut(self.agents.parameters());
        fill(agents, dagents)?;
        self.agents.backward(&weights.agents, batch.vectors.values(), agents, part)?;
        for (kind, stack) in self.senders.iter().enumerate() {
            if let Some(stack) = stack {
                let (part, after) = rest.split_at_mut(stack.parameters());
                rest = after;
                fill(&mut senders[kind], &dsenders[kind])?;
                let x = batch.senders[kind].vectors.values();
                stack.backward(&weights.senders[kind], x, &mut senders[kind], part)?;
            }
        }
        Ok(())
    }
}

/// Hands a stack the gradient of its output.
fn fill(work: &mut StackWork, gradient: &[f32]) -> Result<()> {
    let to = work.output_gradient();
    if to.len() != gradient.len() {
        return Err(Error::BadBatch("the gradients do not belong to the last forward pass".into()));
    }
    to.copy_from_slice(gradient);
    Ok(())
}

impl FeatureWork {
    /// Features of agents' distinct vectors.
    pub fn agents(&self) -> &[f32] {
        self.agents.output()
    }

    /// Features, graphs and edges of all kinds of senders. Those of a kind without features are not read.
    pub fn heard<'a>(&'a self, batch: &'a Batch) -> impl Iterator<Item = Heard<'a>> {
        heard(&self.senders, batch)
    }

    /// The same, and the gradients of their features.
    pub fn heard_and_gradients<'a>(
        &'a mut self,
        batch: &'a Batch,
    ) -> (impl Iterator<Item = Heard<'a>>, &'a mut [Vec<f32>]) {
        (heard(&self.senders, batch), &mut self.dsenders)
    }
}

fn heard<'a>(works: &'a [StackWork], batch: &'a Batch) -> impl Iterator<Item = Heard<'a>> {
    batch.senders.iter().zip(works).map(|(senders, work)| Heard {
        graph: &senders.graph,
        edges: &senders.edges,
        senders: work.output(),
    })
}

impl FeatureWeights {
    pub fn agents(&self) -> &[DenseWeights] {
        &self.agents
    }

    pub fn sender(&self, kind: usize) -> &[DenseWeights] {
        &self.senders[kind]
    }
}
