//! The weight and bias of a layer: free coefficients, realised into matrices that obey the symmetry.

use crate::error::{Error, Result};
use crate::ops::{Realisation, Realise, apply1};
use burn::module::{Module, Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};
use equimarl_group::{Basis, Rep};
use equimarl_kernels::gather::{NONE, Orbits};
use std::sync::Arc;

/// The spaces that a layer's weight and bias live in, solved once.
#[derive(Clone, Debug)]
pub struct Space {
    input: Rep,
    output: Rep,
    kernel: Option<usize>,
    weight: Arc<Realisation>,
    weight_rank: usize,
    bias: Arc<Realisation>,
    bias_rank: usize,
}

impl Space {
    /// All W with W rho_in(g) = rho_out(g) W (k x k filters if a kernel is given), and all b with rho_out(g) b = b.
    pub fn new(input: &Rep, output: &Rep, kernel: Option<usize>) -> Result<Space> {
        let weight = match kernel {
            Some(k) => Basis::filter(input, output, k)?,
            None => Basis::linear(input, output)?,
        };
        let bias = Basis::invariant(output)?;
        Ok(Space {
            input: input.clone(),
            output: output.clone(),
            kernel,
            weight: Arc::new(realisation(&weight)?),
            weight_rank: weight.rank(),
            bias: Arc::new(realisation(&bias)?),
            bias_rank: bias.rank(),
        })
    }

    /// The input representation.
    pub fn input(&self) -> &Rep {
        &self.input
    }

    /// The output representation.
    pub fn output(&self) -> &Rep {
        &self.output
    }

    /// The filter size, if this is a convolution.
    pub fn kernel(&self) -> Option<usize> {
        self.kernel
    }

    /// Free coefficients of the weight and of the bias.
    pub fn ranks(&self) -> [usize; 2] {
        [self.weight_rank, self.bias_rank]
    }

    /// The shape of the realised weight: outputs, and inputs times filter pixels.
    pub fn shape(&self) -> [usize; 2] {
        let area = self.kernel.map_or(1, |k| k * k);
        [self.output.dim(), self.input.dim() * area]
    }

    /// The realised weight, row-major.
    pub fn realise(&self, coefficients: &[f32]) -> Vec<f32> {
        self.weight.realise(coefficients)
    }

    /// The realised bias.
    pub fn realise_bias(&self, coefficients: &[f32]) -> Vec<f32> {
        self.bias.realise(coefficients)
    }

    /// The mean over outputs of the sum of squared factors: what one unit of coefficient variance becomes in an output.
    fn gain(&self) -> f64 {
        let squares: f64 = match &*self.weight {
            Realisation::Orbits(_) => {
                let ones = self.weight.realise(&vec![1.0; self.weight_rank]);
                ones.iter().map(|v| f64::from(*v).powi(2)).sum()
            }
            Realisation::Sparse { terms, .. } => terms.scale.iter().map(|s| f64::from(*s).powi(2)).sum(),
        };
        squares / self.output.dim() as f64
    }
}

/// Coefficients are scaled so that the largest entry that one touches is the coefficient itself. With orbits every
/// entry is then plus or minus one coefficient, so an optimiser takes the same steps on weights as in a plain network,
/// and the trivial group gives exactly the plain network. (The orthonormal basis would shrink steps by sqrt|orbit|.)
fn realisation(basis: &Basis) -> Result<Realisation> {
    let mut terms = basis.expansion();
    let mut largest = vec![0.0f32; basis.rank()];
    for (&c, s) in terms.coefficient.iter().zip(&terms.scale) {
        largest[c as usize] = largest[c as usize].max(s.abs());
    }
    for (&c, s) in terms.coefficient.iter().zip(&mut terms.scale) {
        *s /= largest[c as usize];
    }
    if !basis.is_orbit() {
        return Ok(Realisation::Sparse { terms, rank: basis.rank() });
    }
    let (mut index, mut scale) = (vec![NONE; basis.size()], vec![0.0; basis.size()]);
    for e in 0..basis.size() {
        if terms.start[e] < terms.start[e + 1] {
            let t = terms.start[e] as usize;
            (index[e], scale[e]) = (terms.coefficient[t], terms.scale[t]);
        }
    }
    Ok(Realisation::Orbits(Orbits::new(basis.rank(), index, scale)?))
}

/// How wide the initial weights are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// He: E\[out^2\] = E\[in^2\] after a ReLU; realised weights have variance 2 / inputs.
    BeforeRelu,
    /// E\[out^2\] = E\[in^2\] without a ReLU: variance 1 / inputs.
    Linear,
    /// Realised weights have this standard deviation, whatever the size of the layer.
    Deviation(f64),
}

/// The trainable coefficients of a layer.
#[derive(Module, Debug)]
pub struct Weights {
    /// Coefficients of the weight.
    pub weight: Param<Tensor<1>>,
    /// Coefficients of the bias; nothing if the output has no invariant vector.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    space: Arc<Space>,
}

impl Weights {
    /// Draws coefficients from `normal`, a source of independent standard normal numbers; biases are zero.
    pub fn init(space: Space, initial: Initial, normal: &mut dyn FnMut() -> f64, device: &Device) -> Weights {
        let deviation = match initial {
            Initial::BeforeRelu => (2.0 / space.gain()).sqrt(),
            Initial::Linear => (1.0 / space.gain()).sqrt(),
            Initial::Deviation(d) => d,
        };
        let weight = (0..space.weight_rank).map(|_| (deviation * normal()) as f32).collect();
        let bias = (space.bias_rank > 0).then(|| vec![0.0; space.bias_rank]);
        Weights {
            weight: parameter(weight, device),
            bias: bias.map(|b| parameter(b, device)),
            space: Arc::new(space),
        }
    }

    /// The spaces of the weight and the bias.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The realised weight \[outputs, inputs\] and bias \[1, outputs\], differentiable in the coefficients.
    pub fn realise(&self) -> (Tensor<2>, Tensor<2>) {
        let space = &self.space;
        let weight = Realise { realisation: space.weight.clone(), shape: space.shape() };
        let bias = Realise { realisation: space.bias.clone(), shape: [1, space.output.dim()] };
        let realised = match &self.bias {
            Some(b) => apply1(bias, b.val()),
            None => Tensor::zeros([1, space.output.dim()], &self.weight.val().device()),
        };
        (apply1(weight, self.weight.val()), realised)
    }

    /// The coefficients of the weight and of the bias as plain numbers.
    pub fn coefficients(&self) -> [Vec<f32>; 2] {
        [numbers(&self.weight), self.bias.as_ref().map_or(vec![], numbers)]
    }

    /// Replaces the coefficients.
    ///
    /// # Errors
    /// If their numbers do not fit.
    pub fn set(&mut self, [weight, bias]: [Vec<f32>; 2]) -> Result<()> {
        if [weight.len(), bias.len()] != self.space.ranks() {
            return Err(Error::BadModel(format!(
                "a layer with {:?} coefficients was given {:?}",
                self.space.ranks(),
                [weight.len(), bias.len()]
            )));
        }
        let device = self.weight.val().device();
        self.weight = parameter(weight, &device);
        self.bias = (!bias.is_empty()).then(|| parameter(bias, &device));
        Ok(())
    }
}

fn parameter(values: Vec<f32>, device: &Device) -> Param<Tensor<1>> {
    let length = values.len();
    let tensor = Tensor::from_data(TensorData::new(values, [length]), device);
    let tensor = if device.is_autodiff() { tensor.require_grad() } else { tensor };
    Param::initialized(ParamId::new(), tensor)
}

fn numbers(parameter: &Param<Tensor<1>>) -> Vec<f32> {
    parameter.val().into_data().try_to_vec().unwrap_or_default()
}
