//! The space that a layer's weight and bias live in: free coefficients, realised into matrices that obey the symmetry.
//!
//! W rho_in(g) = rho_out(g) W and rho_out(g) b = b for every g.

use crate::error::Result;
use equimarl_group::{Basis, Rep};
use equimarl_kernels::realise::Realisation;

/// All weights and biases between two representations. Coefficients are those of the weight, then those of the bias.
#[derive(Clone, Debug)]
pub struct Space {
    input: Rep,
    output: Rep,
    kernel: Option<usize>,
    weight: Realisation,
    bias: Realisation,
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

impl Space {
    /// All W with W rho_in(g) = rho_out(g) W (k x k filters if a kernel is given), and all b with rho_out(g) b = b.
    ///
    /// # Errors
    /// If the representations are of different groups, the group does not turn pixels, or only the zero map is left.
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
            weight: realisation(&weight)?,
            bias: realisation(&bias)?,
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

    /// How the weight follows from its coefficients, row-major: \[out, in\], or \[out, in, k, k\].
    pub fn weight(&self) -> &Realisation {
        &self.weight
    }

    /// How the bias follows from its coefficients.
    pub fn bias(&self) -> &Realisation {
        &self.bias
    }

    /// Free coefficients of the weight and of the bias.
    pub fn ranks(&self) -> [usize; 2] {
        [self.weight.coefficients(), self.bias.coefficients()]
    }

    /// Free coefficients of both.
    pub fn parameters(&self) -> usize {
        self.ranks().iter().sum()
    }

    /// The realised weight and bias of some coefficients.
    ///
    /// # Errors
    /// If their number does not fit.
    pub fn realise(&self, coefficients: &[f32]) -> Result<[Vec<f32>; 2]> {
        let (weight, bias) = coefficients.split_at(self.ranks()[0].min(coefficients.len()));
        let (mut w, mut b) = (vec![0.0; self.weight.entries()], vec![0.0; self.bias.entries()]);
        self.weight.realise(weight, &mut w)?;
        self.bias.realise(bias, &mut b)?;
        Ok([w, b])
    }

    /// Draws coefficients from `normal`, a source of independent standard normal numbers; biases are zero.
    pub fn init(&self, initial: Initial, normal: &mut dyn FnMut() -> f64) -> Vec<f32> {
        let deviation = match initial {
            Initial::BeforeRelu => (2.0 / self.gain()).sqrt(),
            Initial::Linear => (1.0 / self.gain()).sqrt(),
            Initial::Deviation(d) => d,
        };
        let [weight, bias] = self.ranks();
        let mut drawn: Vec<f32> = (0..weight).map(|_| (deviation * normal()) as f32).collect();
        drawn.resize(weight + bias, 0.0);
        drawn
    }

    /// The mean over outputs of the sum of squared factors: what one unit of coefficient variance becomes in an output.
    fn gain(&self) -> f64 {
        let terms = (0..self.weight.entries()).flat_map(|e| self.weight.terms(e));
        terms.map(|(_, scale)| f64::from(scale).powi(2)).sum::<f64>() / self.output.dim() as f64
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
    Ok(Realisation::new(basis.rank(), terms.start, terms.coefficient, terms.scale)?)
}
