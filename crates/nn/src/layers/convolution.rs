//! Lifting: out\[h\] = x * (rot_h psi). Group convolution: out\[h\] = sum_k in\[k\] * rot_h psi\[h^-1 k\]. Turning the input by g
//! turns every output map by g and moves channel h to gh. Both are the same layer, between different representations.

use super::linear::check_relu;
use super::weights::{Initial, Space, Weights};
use crate::error::Result;
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor};
use equimarl_group::{Rep, strided_size};

/// An equivariant convolution without padding: lifting if the input is trivial, a group convolution if it is regular.
#[derive(Module, Debug)]
pub struct EquivariantConvolution {
    /// The trainable coefficients.
    pub weights: Weights,
    stride: usize,
    relu: bool,
}

/// What makes an [`EquivariantConvolution`].
#[derive(Clone, Debug)]
pub struct EquivariantConvolutionConfig {
    /// The representation of the input's channels.
    pub input: Rep,
    /// The representation of the output's channels.
    pub output: Rep,
    /// Filter pixels per side.
    pub kernel: usize,
    /// Pixels per step.
    pub stride: usize,
    /// Whether a ReLU follows.
    pub relu: bool,
}

impl EquivariantConvolutionConfig {
    /// Builds the layer for pictures of `height` x `width` pixels; `normal` gives standard normal numbers.
    ///
    /// # Errors
    /// If the group does not turn pixels, the stride breaks the symmetry for this size (saying which sizes work), or
    /// a ReLU would break it.
    pub fn init(
        &self,
        [height, width]: [usize; 2],
        normal: &mut dyn FnMut() -> f64,
        device: &Device,
    ) -> Result<EquivariantConvolution> {
        self.output_size([height, width])?;
        if self.relu {
            check_relu(&self.output)?;
        }
        let space = Space::new(&self.input, &self.output, Some(self.kernel))?;
        let initial = if self.relu { Initial::BeforeRelu } else { Initial::Linear };
        let weights = Weights::init(space, initial, normal, device);
        Ok(EquivariantConvolution { weights, stride: self.stride, relu: self.relu })
    }

    /// The size of the output maps.
    ///
    /// # Errors
    /// As [`EquivariantConvolutionConfig::init`].
    pub fn output_size(&self, [height, width]: [usize; 2]) -> Result<[usize; 2]> {
        let size = |n| strided_size(n, self.kernel, self.stride);
        Ok([size(height)?, size(width)?])
    }
}

impl EquivariantConvolution {
    /// Applies the layer to pictures \[n, channels, height, width\], with Burn's own convolution.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let (w, b) = self.weights.realise();
        let space = self.weights.space();
        let k = space.kernel().unwrap_or(1);
        let (outputs, inputs) = (space.output().dim(), space.input().dim());
        let options = ConvOptions::new([self.stride; 2], [0, 0], [1, 1], 1);
        let y = conv2d(x, w.reshape([outputs, inputs, k, k]), Some(b.reshape([outputs])), options);
        if self.relu { relu(y) } else { y }
    }

    /// Pixels per step.
    pub fn stride(&self) -> usize {
        self.stride
    }
}
