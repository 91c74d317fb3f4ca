//! Picture -> conv -> ReLU -> conv -> ReLU -> max over space, as one operation: enc(g x) = L_g enc(x).

use super::convolution::{EquivariantConvolution, EquivariantConvolutionConfig};
use super::pool::max_over_space;
use crate::error::Result;
use crate::ops::{Encode, apply4};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use equimarl_group::Rep;
use equimarl_kernels::encoder as kernel;
use std::sync::Arc;

/// Two equivariant convolutions and a global max pool.
#[derive(Module, Debug)]
pub struct Encoder {
    /// From pictures to group channels.
    pub conv1: EquivariantConvolution,
    /// Between group channels.
    pub conv2: EquivariantConvolution,
    #[module(skip)]
    plan: Arc<kernel::Encoder>,
}

/// What makes an [`Encoder`].
#[derive(Clone, Debug)]
pub struct EncoderConfig {
    /// Channels, height and width of a picture.
    pub picture: [usize; 3],
    /// The representation between the convolutions.
    pub hidden: Rep,
    /// The representation of the features.
    pub features: Rep,
    /// Filter sizes.
    pub kernels: [usize; 2],
    /// Strides.
    pub strides: [usize; 2],
}

impl EncoderConfig {
    /// Builds the encoder; `normal` gives standard normal numbers.
    ///
    /// # Errors
    /// As [`EquivariantConvolutionConfig::init`].
    pub fn init(&self, normal: &mut dyn FnMut() -> f64, device: &Device) -> Result<Encoder> {
        let [channels, height, width] = self.picture;
        let pictures = Rep::trivial(self.hidden.group()).copies(channels)?;
        let first = self.convolution(0, &pictures, &self.hidden);
        let second = self.convolution(1, &self.hidden, &self.features);
        let between = first.output_size([height, width])?;
        let convolution = |layer: usize, rep: &Rep| kernel::Convolution {
            channels: rep.dim(),
            kernel: self.kernels[layer],
            stride: self.strides[layer],
        };
        let plan = kernel::Encoder::new(kernel::Config {
            channels,
            height,
            width,
            first: convolution(0, &self.hidden),
            second: convolution(1, &self.features),
        })?;
        Ok(Encoder {
            conv1: first.init([height, width], normal, device)?,
            conv2: second.init(between, normal, device)?,
            plan: Arc::new(plan),
        })
    }

    fn convolution(&self, layer: usize, input: &Rep, output: &Rep) -> EquivariantConvolutionConfig {
        EquivariantConvolutionConfig {
            input: input.clone(),
            output: output.clone(),
            kernel: self.kernels[layer],
            stride: self.strides[layer],
            relu: true,
        }
    }
}

impl Encoder {
    /// The features of pictures, one row each, by the fused kernel. Pictures are channel-major, one after the other.
    ///
    /// # Panics
    /// If `pictures` is not a whole number of pictures.
    pub fn forward(&self, pictures: Arc<[f32]>) -> Tensor<2> {
        assert!(pictures.len().is_multiple_of(self.plan.picture_len()), "whole pictures");
        let (w1, b1) = self.conv1.weights.realise();
        let (w2, b2) = self.conv2.weights.realise();
        apply4(Encode { plan: self.plan.clone(), pictures }, [w1, b1, w2, b2])
    }

    /// The same with Burn's own operations: the oracle, and the way for other backends.
    pub fn forward_plain(&self, pictures: Tensor<4>) -> Tensor<2> {
        max_over_space(self.conv2.forward(self.conv1.forward(pictures)))
    }

    /// The kernel's plan.
    pub fn plan(&self) -> &Arc<kernel::Encoder> {
        &self.plan
    }
}
