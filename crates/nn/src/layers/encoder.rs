//! Picture -> conv -> ReLU -> conv -> ReLU -> max over space: enc(g x) = L_g enc(x).
//!
//! Lifting: out\[h\] = x * (rot_h psi). Group convolution: out\[h\] = sum_k in\[k\] * rot_h psi\[h^-1 k\]. Turning the input by g
//! turns every map by g and moves channel h to gh; the maximum over space does not see where in its map a pixel is.

use super::linear::stacked;
use super::{Initial, Space, check_relu};
use crate::error::{Error, Result};
use equimarl_group::{Rep, strided_size};
use equimarl_kernels::encoder as kernel;
use equimarl_kernels::realise::Realisation;
use std::slice::from_ref;

/// Two equivariant convolutions and a global max pool.
#[derive(Clone, Debug)]
pub struct Encoder {
    spaces: [Space; 2],
    /// Weight and bias of each convolution, over the coefficients of that convolution.
    first: [Realisation; 2],
    second: [Realisation; 2],
    kernel: kernel::Encoder,
    realiser: kernel::Realiser,
}

/// What makes an [`Encoder`].
#[derive(Clone, Debug)]
pub struct EncoderConfig {
    /// Channels, height and width of an image.
    pub image: [usize; 3],
    /// The representation between the convolutions.
    pub hidden: Rep,
    /// The representation of the features.
    pub features: Rep,
    /// Filter sizes.
    pub kernels: [usize; 2],
    /// Strides.
    pub strides: [usize; 2],
}

/// What an encoder keeps for its backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct EncoderWork {
    saved: kernel::Activations,
    workspace: kernel::Workspace,
    dense: [Vec<f32>; 4],
}

impl Encoder {
    /// Solves the bases of both convolutions.
    ///
    /// # Errors
    /// If the group does not turn pixels, a stride breaks the symmetry for this size (saying which sizes work), or a ReLU
    /// would break it.
    pub fn new(config: &EncoderConfig) -> Result<Encoder> {
        let EncoderConfig { image: [channels, height, width], hidden, features, kernels, strides } = config;
        for side in [*height, *width] {
            strided_size(strided_size(side, kernels[0], strides[0])?, kernels[1], strides[1])?;
        }
        check_relu(hidden)?;
        check_relu(features)?;
        let image = Rep::trivial(hidden.group()).copies(*channels)?;
        let spaces =
            [Space::new(&image, hidden, Some(kernels[0]))?, Space::new(hidden, features, Some(kernels[1]))?];
        let [first, second] = [stacked(from_ref(&spaces[0]))?, stacked(from_ref(&spaces[1]))?];
        let convolution = |layer: usize| kernel::Convolution {
            channels: spaces[layer].output().dim(),
            kernel: kernels[layer],
            stride: strides[layer],
        };
        let kernel = kernel::Encoder::new(kernel::Config {
            channels: *channels,
            height: *height,
            width: *width,
            first: convolution(0),
            second: convolution(1),
        })?;
        let realiser = kernel.realiser(first.each_ref(), second.each_ref())?;
        Ok(Encoder { spaces, first, second, kernel, realiser })
    }

    /// The spaces of both convolutions.
    pub fn spaces(&self) -> &[Space; 2] {
        &self.spaces
    }

    /// The sizes of both convolutions.
    pub fn config(&self) -> kernel::Config {
        self.kernel.config()
    }

    /// Numbers per image.
    pub fn picture_len(&self) -> usize {
        self.kernel.picture_len()
    }

    /// Features per image.
    pub fn features(&self) -> usize {
        self.kernel.features()
    }

    /// The number of coefficients of both convolutions.
    pub fn parameters(&self) -> usize {
        self.spaces.iter().map(Space::parameters).sum()
    }

    /// Variance-preserving coefficients from a source of standard normal numbers.
    pub fn init(&self, normal: &mut dyn FnMut() -> f64) -> Vec<f32> {
        self.spaces.iter().flat_map(|space| space.init(Initial::BeforeRelu, normal)).collect()
    }

    pub(crate) fn split<'a>(&self, parameters: &'a [f32]) -> Result<[&'a [f32]; 2]> {
        match parameters.split_at_checked(self.spaces[0].parameters()) {
            Some((first, second)) if second.len() == self.spaces[1].parameters() => Ok([first, second]),
            _ => Err(Error::BadNetwork(format!("{} numbers are not its coefficients", parameters.len()))),
        }
    }

    pub(crate) fn split_mut<'a>(&self, gradients: &'a mut [f32]) -> Result<[&'a mut [f32]; 2]> {
        self.split(gradients)?;
        let (first, second) = gradients.split_at_mut(self.spaces[0].parameters());
        Ok([first, second])
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], packed: &mut kernel::Packed) -> Result<()> {
        Ok(self.kernel.realise(&self.realiser, self.split(parameters)?, packed)?)
    }

    /// The features of images, one row each. Images are channel-major, one after the other.
    ///
    /// # Errors
    /// If `images` is not a whole number of images, or `packed` is another layer's.
    pub fn forward(
        &self,
        packed: &kernel::Packed,
        images: &[f32],
        work: &mut EncoderWork,
        features: &mut [f32],
    ) -> Result<()> {
        Ok(self.kernel.forward(packed, images, &mut work.saved, features)?)
    }

    /// The features of one image, on the calling thread: the same bits as in [`Encoder::forward`].
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn encode(
        &self,
        packed: &kernel::Packed,
        image: &[f32],
        scratch: &mut kernel::Scratch,
        features: &mut [f32],
    ) -> Result<()> {
        Ok(self.kernel.encode(packed, image, scratch, features)?)
    }

    /// Adds to the gradients of the coefficients, given those of the features of the last forward pass.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        packed: &kernel::Packed,
        images: &[f32],
        dfeatures: &[f32],
        work: &mut EncoderWork,
        gradients: &mut [f32],
    ) -> Result<()> {
        let EncoderWork { saved, workspace, dense } = work;
        for (dense, len) in dense.iter_mut().zip(self.kernel.weight_lens()) {
            dense.resize(len, 0.0);
        }
        let [w1, b1, w2, b2] = dense;
        let into = kernel::Gradients { w1, b1, w2, b2 };
        self.kernel.backward(packed, images, saved, dfeatures, workspace, into)?;
        let [first, second] = self.split_mut(gradients)?;
        for (realisation, dense) in self.first.iter().zip(&dense[..2]) {
            realisation.add_adjoint(dense, first)?;
        }
        for (realisation, dense) in self.second.iter().zip(&dense[2..]) {
            realisation.add_adjoint(dense, second)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::{Dictionary, DictionaryWeights, DictionaryWork};
    use crate::testing::{Noise, check_equivariance, check_gradients};
    use equimarl_group::Group;
    use equimarl_kernels::dictionary::{Atlas, Book};

    fn encoder(group: &str, side: usize) -> Encoder {
        let group: Group = group.parse().unwrap();
        let regular = |copies| Rep::regular(&group).unwrap().copies(copies).unwrap();
        Encoder::new(&EncoderConfig {
            image: [2, side, side],
            hidden: regular(2),
            features: regular(3),
            kernels: [3, 3],
            strides: [2, 1],
        })
        .unwrap()
    }

    /// Cross-correlation and ReLU in f64.
    fn convolution(space: &Space, parameters: &[f64], stride: usize, side: usize, x: &[f64]) -> Vec<f64> {
        let (inputs, k) = (space.input().dim(), space.kernel().unwrap());
        let size = (side - k) / stride + 1;
        let mut out = vec![];
        for o in 0..space.output().dim() {
            let bias: f64 =
                space.bias().terms(o).map(|(c, s)| parameters[space.ranks()[0] + c] * f64::from(s)).sum();
            for (row, column) in (0..size * size).map(|p| (p / size, p % size)) {
                let mut y = bias;
                for (i, u, v) in (0..inputs * k * k).map(|t| (t / k / k, t / k % k, t % k)) {
                    let terms = space.weight().terms(((o * inputs + i) * k + u) * k + v);
                    let w: f64 = terms.map(|(c, s)| parameters[c] * f64::from(s)).sum();
                    y += w * x[(i * side + row * stride + u) * side + column * stride + v];
                }
                out.push(y.max(0.0));
            }
        }
        out
    }

    fn oracle(encoder: &Encoder, parameters: &[f64], side: usize, image: &[f64]) -> Vec<f64> {
        let (first, second) = parameters.split_at(encoder.spaces[0].parameters());
        let hidden = convolution(&encoder.spaces[0], first, 2, side, image);
        let between = (side - 3) / 2 + 1;
        let maps = convolution(&encoder.spaces[1], second, 1, between, &hidden);
        let area = (between - 2) * (between - 2);
        maps.chunks(area).map(|map| map.iter().copied().fold(0.0, f64::max)).collect()
    }

    fn run(encoder: &Encoder, parameters: &[f32], images: &[f32]) -> Vec<f32> {
        let mut packed = kernel::Packed::default();
        encoder.realise(parameters, &mut packed).unwrap();
        let mut out = vec![0.0; images.len() / encoder.picture_len() * encoder.features()];
        encoder.forward(&packed, images, &mut EncoderWork::default(), &mut out).unwrap();
        out
    }

    /// Outputs and gradients of sum(weights * outputs) for some images of 9 x 9 pixels, against the equation.
    fn compare(
        encoder: &Encoder,
        [parameters, gradients]: [&[f32]; 2],
        images: &[f32],
        found: (&[f32], &[f32]),
    ) {
        let wide: Vec<f64> = images.iter().map(|&x| f64::from(x)).collect();
        let equation = |[parameters]: [&[f64]; 1]| {
            let images = wide.chunks(encoder.picture_len());
            images.flat_map(|image| oracle(encoder, parameters, 9, image)).collect()
        };
        check_gradients(&[parameters], &[gradients], equation, found);
    }

    #[test]
    fn gradients_are_those_of_the_equation() {
        for group in ["C1", "C2", "C4", "D4"] {
            let (encoder, mut noise) = (encoder(group, 9), Noise::new(5));
            let parameters = noise.normals(encoder.parameters());
            let images = noise.normals(2 * encoder.picture_len());
            let weights = noise.normals(2 * encoder.features());
            let (mut packed, mut work) = (kernel::Packed::default(), EncoderWork::default());
            encoder.realise(&parameters, &mut packed).unwrap();
            let mut out = vec![0.0; weights.len()];
            encoder.forward(&packed, &images, &mut work, &mut out).unwrap();
            let mut gradients = vec![0.0; parameters.len()];
            encoder.backward(&packed, &images, &weights, &mut work, &mut gradients).unwrap();
            compare(&encoder, [&parameters, &gradients], &images, (&out, &weights));
        }
    }

    /// The same function by another way: what images are made of, each part once.
    #[test]
    fn the_dictionary_has_the_gradients_of_the_equation() {
        for name in ["C1", "C2", "C4", "D4"] {
            let (encoder, mut noise) = (encoder(name, 9), Noise::new(5));
            let dictionary = Dictionary::new(&encoder, &name.parse().unwrap()).unwrap();
            let parameters = noise.normals(encoder.parameters());
            // Few levels, so that parts repeat; the second image is the first one with another corner.
            let level = |noise: &mut Noise| if noise.uniform() < 0.7 { 0.0 } else { 0.75 };
            let mut images: Vec<f32> = (0..encoder.picture_len()).map(|_| level(&mut noise)).collect();
            images.extend_from_within(..);
            images[encoder.picture_len()] = 1.5;
            let weights = noise.normals(2 * encoder.features());
            let (mut atlas, mut book) = (Atlas::new(dictionary.plan()), Book::new(dictionary.plan()));
            let mut codes = vec![0; dictionary.plan().positions()];
            for image in images.chunks(encoder.picture_len()) {
                atlas.look(image, &mut codes).unwrap();
                book.add(&atlas, &codes).unwrap();
            }
            let (mut packed, mut work) = (DictionaryWeights::default(), DictionaryWork::default());
            dictionary.realise(encoder.split(&parameters).unwrap(), &mut packed).unwrap();
            let out = dictionary.forward(&packed, &book, &mut work).unwrap().to_vec();
            let mut gradients = vec![0.0; parameters.len()];
            let both = encoder.split_mut(&mut gradients).unwrap();
            dictionary.backward(&packed, &book, &weights, &mut work, both).unwrap();
            compare(&encoder, [&parameters, &gradients], &images, (&out, &weights));
        }
    }

    #[test]
    fn features_turn_with_pictures() {
        for group in ["C2", "C4", "D1", "D2", "D4"] {
            let encoder = encoder(group, 9);
            let parameters = Noise::new(6).normals(encoder.parameters());
            let group: Group = group.parse().unwrap();
            let images = Rep::pixels(&group, 9).unwrap().copies(2).unwrap();
            let features = Rep::regular(&group).unwrap().copies(3).unwrap();
            check_equivariance(&images, &features, |x| run(&encoder, &parameters, x));
        }
    }

    #[test]
    fn strides_that_break_the_symmetry_are_refused_with_sizes_that_work() {
        let group: Group = "C4".parse().unwrap();
        let regular = Rep::regular(&group).unwrap();
        let config = EncoderConfig {
            image: [1, 20, 20],
            hidden: regular.clone(),
            features: regular,
            kernels: [7, 5],
            strides: [2, 1],
        };
        let error = Encoder::new(&config).unwrap_err().to_string();
        assert!(error.contains("19") && error.contains("21"), "{error}");
    }
}
