//! One forward and one backward pass through all layers, on buffers that are kept.
//!
//! ```text
//! images or feature vectors -> encoder -> rows (each agent its observation's features, turned)
//!     -> rounds or hidden layers -> heads
//! ```
//!
//! Weights go from coefficients straight into the order that the kernels read; after the first pass nothing allocates.

use crate::batch::{Batch, Images};
use crate::built::{Input, Layers, Trunk};
use crate::error::{Error, Result};
use crate::features::FeatureWork;
use crate::layers::{DictionaryWork, EdgeRoundWork, EncoderWork, LinearWork, RoundWork};
use crate::weights::Weights;
use equimarl_kernels::gather::{gather_rows, gather_rows_permuted, scatter_rows, scatter_rows_permuted};
use std::time::{Duration, Instant};

/// Logits and values of a batch, or their gradients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// One row of action logits per agent.
    pub logits: Vec<f32>,
    /// The team's value of each state.
    pub values: Vec<f32>,
}

/// How long the parts of all passes took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassTimes {
    /// From observations to features, and back.
    pub encoder: Duration,
    /// Everything after the encoder, and back; weights from coefficients.
    pub trunk: Duration,
}

/// Everything between observations and outputs of one batch, and working memory. Make it once and reuse it.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    encoded: Vec<f32>,
    encoder: EncoderWork,
    dictionary: DictionaryWork,
    senses: FeatureWork,
    /// Features of all rows: after the encoder, then after each layer of the trunk.
    features: Vec<Vec<f32>>,
    /// The same with what agents are told beside them, for networks that are told something.
    told: Vec<Vec<f32>>,
    rounds: Vec<RoundWork>,
    edges: Vec<EdgeRoundWork>,
    /// Rows of all heads side by side.
    head: Vec<f32>,
    output: Output,
    back: Back,
    /// Room for the gradients of a relaxed network's layers.
    gradients: Vec<f32>,
    times: PassTimes,
}

/// Gradients of the same things.
#[derive(Clone, Debug, Default)]
struct Back {
    encoded: Vec<f32>,
    features: Vec<Vec<f32>>,
    told: Vec<f32>,
    head: Vec<f32>,
    output: Output,
    work: LinearWork,
}

/// A logit that gives an action no probability. Its gradient is zero by itself: p is, and so is p log p.
const FORBIDDEN: f32 = -1e9;

/// Takes away the actions that an agent may not take by what it sees; `legal` names the features that say so. An agent that
/// may take none keeps all: then its world decides what happens.
pub(crate) fn mask(legal: &[usize], seen: &[f32], logits: &mut [f32]) {
    let may = |k: &usize| seen.get(*k).is_some_and(|x| *x > 0.5);
    if !legal.iter().any(may) {
        return;
    }
    for (logit, k) in logits.iter_mut().zip(legal) {
        if !may(k) {
            *logit = FORBIDDEN;
        }
    }
}

impl Cache {
    /// Room for so many gradients, to be given back.
    pub(crate) fn take_gradients(&mut self, count: usize) -> Vec<f32> {
        let mut room = std::mem::take(&mut self.gradients);
        room.resize(count, 0.0);
        room
    }

    pub(crate) fn keep_gradients(&mut self, room: Vec<f32>) {
        self.gradients = room;
    }

    /// What the last forward pass found.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// What the last forward pass found, and where its gradients are to be written before a backward pass.
    pub fn output_gradient(&mut self) -> (&Output, &mut Output) {
        (&self.output, &mut self.back.output)
    }

    /// How long all passes so far took.
    pub fn times(&self) -> PassTimes {
        self.times
    }

    /// Counts the time of something that belongs to the passes.
    pub(crate) fn timed<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.times.trunk += start.elapsed();
        done
    }

    /// `visit` sees the name, width and rows of the features after every layer that has some.
    pub(crate) fn forward(
        &mut self,
        layers: &Layers,
        weights: &Weights,
        batch: &Batch,
        visit: &mut dyn FnMut(&str, usize, &[f32]),
    ) -> Result<()> {
        let start = Instant::now();
        let width = layers.input.width();
        let encoded = match (&layers.input, &batch.images, &layers.dictionary) {
            (Input::Features(encoders), ..) => {
                encoders.forward(weights.features(), batch, &mut self.senses)?;
                self.senses.agents()
            }
            (Input::Images(encoder), Images::Pixels(pixels), _) => {
                self.encoded.resize(pixels.len() / encoder.picture_len() * width, 0.0);
                encoder.forward(weights.pixels(), pixels, &mut self.encoder, &mut self.encoded)?;
                &self.encoded[..]
            }
            (_, Images::Book(book), Some(dictionary)) => {
                dictionary.forward(weights.parts(), book, &mut self.dictionary)?
            }
            (_, Images::Book(_), None) => return Err(Error::BadBatch(NO_DICTIONARY.into())),
        };
        check_rows(layers, batch, encoded.len() / width)?;
        self.times.encoder += start.elapsed();
        let start = Instant::now();
        let rows = batch.ids.len();
        self.features.resize_with(layers.trunk.len() + 1, Vec::new);
        self.rounds.resize_with(layers.trunk.len(), RoundWork::default);
        self.edges.resize_with(layers.trunk.len(), EdgeRoundWork::default);
        let first = &mut self.features[0];
        first.resize(rows * width, 0.0);
        if batch.is_turned() {
            gather_rows_permuted(encoded, width, &layers.turns, &batch.ids, &batch.elements, first)?;
        } else {
            gather_rows(encoded, width, &batch.ids, first)?;
        }
        visit("encoder", width, first);
        self.told.resize_with(layers.trunk.len() + 1, Vec::new);
        for (i, layer) in layers.trunk.iter().enumerate() {
            let (before, after) = self.features.split_at_mut(i + 1);
            let x = told(layers.told, &batch.told, &before[i], &mut self.told[i]);
            let (out, graph) = (&mut after[0], (&batch.graph, &batch.edges[..]));
            out.resize(rows * layer.outputs(), 0.0);
            match layer {
                Trunk::Round(round) => {
                    round.forward(weights.trunk(i), graph, x, &mut self.rounds[i], out)?;
                }
                Trunk::Edges(round) => {
                    let others = self.senses.heard(batch);
                    round.forward(weights.edges(i), graph, others, x, &mut self.edges[i], out)?;
                }
                Trunk::Hidden(layer) => layer.forward(weights.trunk(i), x, out)?,
            }
            visit(&layers.names[i], layer.outputs(), out);
        }
        let width = layers.head.outputs();
        self.head.resize(rows * width, 0.0);
        let last = layers.trunk.len();
        let x = told(layers.told, &batch.told, &self.features[last], &mut self.told[last]);
        layers.head.forward(weights.head(), x, &mut self.head)?;
        // A row holds the logits of its agent, or of all agents of a state one after the other, and then the value.
        let Output { logits, values } = &mut self.output;
        logits.clear();
        values.clear();
        for row in self.head.chunks_exact(width) {
            logits.extend_from_slice(&row[..width - 1]);
        }
        let legal = &layers.config.interface.legal;
        if !legal.is_empty() && !layers.config.kind.is_central() {
            for (row, &id) in logits.chunks_exact_mut(width - 1).zip(&batch.ids) {
                mask(legal, batch.vectors.row(id), row);
            }
        }
        let value = |row: usize| self.head[row * width + width - 1];
        if layers.config.kind.is_central() {
            values.extend((0..rows).map(value));
        } else {
            let teams = batch.starts.windows(2).map(|team| team[0] as usize..team[1] as usize);
            values.extend(teams.map(|team| team.clone().map(value).sum::<f32>() / team.len().max(1) as f32));
        }
        self.times.trunk += start.elapsed();
        Ok(())
    }

    pub(crate) fn backward(
        &mut self,
        layers: &Layers,
        weights: &Weights,
        batch: &Batch,
        gradients: &mut [f32],
    ) -> Result<()> {
        let start = Instant::now();
        let Back { encoded, features, told: dtold, head, output, work } = &mut self.back;
        let observations = layers.input.distinct(batch);
        check_rows(layers, batch, observations)?;
        let (rows, width) = (batch.ids.len(), layers.head.outputs());
        if self.features.len() != layers.trunk.len() + 1
            || self.head.len() != rows * width
            || (output.logits.len(), output.values.len()) != (rows * (width - 1), batch.states())
            || layers.ranges.last().is_none_or(|r| r.end != gradients.len())
        {
            return Err(Error::BadBatch("the gradients do not belong to the last forward pass".into()));
        }
        gradients.fill(0.0);
        head.resize(self.head.len(), 0.0);
        for (row, logits) in head.chunks_exact_mut(width).zip(output.logits.chunks_exact(width - 1)) {
            row[..width - 1].copy_from_slice(logits);
        }
        let mut set_value = |row: usize, value: f32| head[row * width + width - 1] = value;
        if layers.config.kind.is_central() {
            output.values.iter().enumerate().for_each(|(row, &value)| set_value(row, value));
        } else {
            for (team, value) in batch.starts.windows(2).zip(&output.values) {
                let each = value / (team[1] - team[0]).max(1) as f32;
                (team[0]..team[1]).for_each(|row| set_value(row as usize, each));
            }
        }
        features.resize_with(self.features.len(), Vec::new);
        for (back, forward) in features.iter_mut().zip(&self.features) {
            back.resize(forward.len(), 0.0);
        }
        if let Input::Features(encoders) = &layers.input {
            encoders.begin_backward(&mut self.senses);
        }
        let last = layers.trunk.len();
        let part = |i: usize| layers.ranges[i].clone();
        let is_told = layers.told > 0;
        let inputs = if is_told { &self.told } else { &self.features };
        let both = (&inputs[last][..], &self.head[..]);
        dtold.resize(if is_told { inputs[last].len() } else { 0 }, 0.0);
        let dx = if is_told { &mut dtold[..] } else { &mut features[last][..] };
        layers.head.backward(weights.head(), both, head, work, dx, &mut gradients[part(last + 1)])?;
        untold(layers.told, dtold, &mut features[last]);
        for (i, layer) in layers.trunk.iter().enumerate().rev() {
            let (before, after) = features.split_at_mut(i + 1);
            dtold.resize(if is_told { inputs[i].len() } else { 0 }, 0.0);
            let dx = if is_told { &mut dtold[..] } else { &mut before[i][..] };
            let dout = &mut after[0][..];
            let (x, out) = (&inputs[i], &self.features[i + 1]);
            let gradients = &mut gradients[part(i + 1)];
            match layer {
                Trunk::Round(round) => {
                    let saved = &mut self.rounds[i];
                    round.backward(weights.trunk(i), &batch.graph, (out, dout), saved, dx, gradients)?;
                }
                Trunk::Edges(round) => {
                    let (others, dothers) = self.senses.heard_and_gradients(batch);
                    let (graph, saved) = ((&batch.graph, &batch.edges[..]), &mut self.edges[i]);
                    let (both, into) = ((&out[..], dout), (dx, dothers));
                    round.backward(weights.edges(i), graph, others, x, both, saved, into, gradients)?;
                }
                Trunk::Hidden(layer) => {
                    layer.backward(weights.trunk(i), (x, out), dout, work, dx, gradients)?;
                }
            }
            untold(layers.told, dtold, &mut features[i]);
        }
        let width = layers.input.width();
        encoded.resize(observations * width, 0.0);
        if batch.is_turned() {
            let (ids, elements) = (&batch.ids, &batch.elements);
            scatter_rows_permuted(&features[0], width, &layers.turns, ids, elements, encoded)?;
        } else {
            scatter_rows(&features[0], width, &batch.ids, encoded)?;
        }
        self.times.trunk += start.elapsed();
        let start = Instant::now();
        let gradients = &mut gradients[part(0)];
        match (&layers.input, &batch.images, &layers.dictionary) {
            (Input::Features(encoders), ..) => {
                encoders.backward(weights.features(), batch, encoded, &mut self.senses, gradients)?;
            }
            (Input::Images(encoder), Images::Pixels(pixels), _) => {
                encoder.backward(weights.pixels(), pixels, encoded, &mut self.encoder, gradients)?;
            }
            (Input::Images(encoder), Images::Book(book), Some(dictionary)) => {
                let both = encoder.split_mut(gradients)?;
                dictionary.backward(weights.parts(), book, encoded, &mut self.dictionary, both)?;
            }
            (_, Images::Book(_), None) => return Err(Error::BadBatch(NO_DICTIONARY.into())),
        }
        self.times.encoder += start.elapsed();
        Ok(())
    }
}

/// Features with what agents are told beside them, row by row; the features themselves if that is nothing.
fn told<'a>(width: usize, all: &[f32], features: &'a [f32], room: &'a mut Vec<f32>) -> &'a [f32] {
    if width == 0 {
        return features;
    }
    let rows = all.len() / width;
    room.clear();
    for (own, told) in
        features.chunks_exact((features.len() / rows.max(1)).max(1)).zip(all.chunks_exact(width))
    {
        room.extend_from_slice(own);
        room.extend_from_slice(told);
    }
    room
}

/// The gradient of the features, from that of both.
fn untold(told: usize, both: &[f32], features: &mut [f32]) {
    if told == 0 {
        return;
    }
    let rows = (both.len() - features.len()) / told;
    let width = features.len() / rows.max(1);
    for (own, both) in features.chunks_exact_mut(width.max(1)).zip(both.chunks_exact(width + told)) {
        own.copy_from_slice(&both[..width]);
    }
}

const NO_DICTIONARY: &str = "the batch holds parts of images, and this network looks at pixels";

/// That every row of the batch has an observation and a turn that this network knows, and every agent a state.
fn check_rows(layers: &Layers, batch: &Batch, observations: usize) -> Result<()> {
    let config = &layers.config;
    let rows = if config.kind.is_central() { batch.states() } else { batch.agents() };
    let agents = if config.kind.is_central() { rows * config.interface.agents } else { rows };
    let starts = &batch.starts;
    let whole = starts.is_sorted()
        && starts.first().is_none_or(|&first| first == 0)
        && starts.last().map_or(0, |&last| last as usize) == batch.agents();
    let known = |indices: &[u32], count: usize| indices.iter().all(|&i| (i as usize) < count);
    if whole
        && (batch.ids.len(), batch.agents()) == (rows, agents)
        && batch.elements.len() == rows
        && batch.told.len() == layers.told * rows
        && known(&batch.ids, observations)
        && known(&batch.elements, layers.turns.elements())
        && batch.group.as_ref().is_none_or(|g| *g == layers.group)
    {
        return Ok(());
    }
    Err(Error::BadBatch(format!(
        "the batch was not made for this {} network under {}: use its sharing and its world",
        config.kind, config.group
    )))
}
