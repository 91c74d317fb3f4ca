//! The weights of a network, from its coefficients, in the orders that the kernels read.

use crate::batch::{Batch, Images};
use crate::built::{Input, Layers, Trunk};
use crate::error::Result;
use crate::features::FeatureWeights;
use crate::layers::{DictionaryWeights, EdgeRoundWeights};
use equimarl_kernels::encoder;
use equimarl_kernels::linear::Packed;

/// The weights of all layers in the orders that the kernels read. What is not asked for is not realised.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights {
    pixels: encoder::Packed,
    pixels_ready: bool,
    parts: DictionaryWeights,
    parts_ready: bool,
    features: FeatureWeights,
    trunk: Vec<Packed>,
    /// Those of rounds over feature vectors, by their place in the trunk.
    edges: Vec<EdgeRoundWeights>,
    head: Packed,
    ready: bool,
}

impl Weights {
    /// Coefficients have changed.
    pub fn outdate(&mut self) {
        (self.pixels_ready, self.parts_ready, self.ready) = (false, false, false);
    }

    pub fn has_dictionary(&self) -> bool {
        self.parts_ready
    }

    /// Realises what a pass over this batch reads, unless it is there already.
    pub fn realise(&mut self, layers: &Layers, values: &[f32], batch: &Batch) -> Result<()> {
        let part = |i: usize| &values[layers.ranges[i].clone()];
        match (&layers.input, &batch.images) {
            (Input::Images(encoder), Images::Pixels(_)) if !self.pixels_ready => {
                encoder.realise(part(0), &mut self.pixels)?;
                self.pixels_ready = true;
            }
            (Input::Images(_), Images::Book(_)) if !self.parts_ready => {
                self.realise_parts(layers, values)?;
            }
            (Input::Features(encoders), _) if !self.ready => {
                encoders.realise(part(0), &mut self.features)?;
            }
            _ => {}
        }
        if !self.ready {
            self.make_room(layers);
            for (i, layer) in layers.trunk.iter().enumerate() {
                match layer {
                    Trunk::Round(round) => round.realise(part(i + 1), &mut self.trunk[i])?,
                    Trunk::Edges(round) => round.realise(part(i + 1), &mut self.edges[i])?,
                    Trunk::Hidden(layer) => layer.realise(part(i + 1), &mut self.trunk[i])?,
                }
            }
            layers.head.realise(part(layers.trunk.len() + 1), &mut self.head)?;
            self.ready = true;
        }
        Ok(())
    }

    fn make_room(&mut self, layers: &Layers) {
        self.trunk.resize_with(layers.trunk.len(), Packed::default);
        self.edges.resize_with(layers.trunk.len(), EdgeRoundWeights::default);
    }

    fn realise_parts(&mut self, layers: &Layers, values: &[f32]) -> Result<()> {
        if let (Input::Images(encoder), Some(dictionary)) = (&layers.input, &layers.dictionary) {
            let both = encoder.split(&values[layers.ranges[0].clone()])?;
            dictionary.realise(both, &mut self.parts)?;
            self.parts_ready = true;
        }
        Ok(())
    }

    /// Realises everything.
    pub fn realise_all(&mut self, layers: &Layers, values: &[f32]) -> Result<()> {
        self.outdate();
        self.realise_parts(layers, values)?;
        self.realise(layers, values, &Batch::default())
    }

    pub fn parts(&self) -> &DictionaryWeights {
        &self.parts
    }

    pub fn pixels(&self) -> &encoder::Packed {
        &self.pixels
    }

    pub fn trunk(&self, layer: usize) -> &Packed {
        &self.trunk[layer]
    }

    pub fn edges(&self, layer: usize) -> &EdgeRoundWeights {
        &self.edges[layer]
    }

    pub fn features(&self) -> &FeatureWeights {
        &self.features
    }

    pub fn head(&self) -> &Packed {
        &self.head
    }
}
