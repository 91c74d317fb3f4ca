//! y = W x + b with W rho_in(g) = rho_out(g) W and rho_out(g) b = b, so that y turns when x turns.

use super::weights::{Initial, Space, Weights};
use crate::error::{Error, Result};
use crate::ops::{Dense, apply3};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use equimarl_group::Rep;
use equimarl_kernels::linear::Linear;

/// An equivariant linear layer between any two representations.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use equimarl_group::{Group, Rep};
/// use equimarl_nn::EquivariantLinearConfig;
/// let d4: Group = "D4".parse()?;
/// let config = EquivariantLinearConfig::new(Rep::parse(&d4, "2*regular")?, Rep::parse(&d4, "regular")?).with_relu();
/// let layer = config.init(&mut || 0.5, &Device::flex())?;
/// assert_eq!(layer.forward(Tensor::ones([3, 16], &Device::flex())).dims(), [3, 8]);
///
/// // A ReLU on vectors would break the symmetry, so it does not build.
/// let vectors = EquivariantLinearConfig::new(Rep::regular(&d4)?, Rep::rotation(&d4, 1)?).with_relu();
/// assert!(vectors.init(&mut || 0.5, &Device::flex()).is_err());
/// # Ok::<(), equimarl_nn::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct EquivariantLinear {
    /// The trainable coefficients.
    pub weights: Weights,
    relu: bool,
    #[module(skip)]
    plan: Linear,
}

/// What makes an [`EquivariantLinear`].
#[derive(Clone, Debug)]
pub struct EquivariantLinearConfig {
    /// The input representation.
    pub input: Rep,
    /// The output representation.
    pub output: Rep,
    /// Whether a ReLU follows.
    pub relu: bool,
    /// How wide the initial weights are; by default variance-preserving.
    pub initial: Option<Initial>,
}

impl EquivariantLinearConfig {
    /// A layer without a nonlinearity.
    pub fn new(input: Rep, output: Rep) -> Self {
        EquivariantLinearConfig { input, output, relu: false, initial: None }
    }

    /// A ReLU follows the layer.
    pub fn with_relu(mut self) -> Self {
        self.relu = true;
        self
    }

    /// Sets how wide the initial weights are.
    pub fn with_initial(mut self, initial: Initial) -> Self {
        self.initial = Some(initial);
        self
    }

    /// Builds the layer; `normal` gives independent standard normal numbers.
    ///
    /// # Errors
    /// If only the zero map is equivariant, or a ReLU would break the symmetry of the output.
    pub fn init(&self, normal: &mut dyn FnMut() -> f64, device: &Device) -> Result<EquivariantLinear> {
        if self.relu {
            check_relu(&self.output)?;
        }
        let space = Space::new(&self.input, &self.output, None)?;
        let usual = if self.relu { Initial::BeforeRelu } else { Initial::Linear };
        Ok(EquivariantLinear {
            plan: Linear::new(self.input.dim(), self.output.dim())?,
            weights: Weights::init(space, self.initial.unwrap_or(usual), normal, device),
            relu: self.relu,
        })
    }
}

impl EquivariantLinear {
    /// Applies the layer to rows of features.
    ///
    /// # Panics
    /// If the rows do not have the dimension of the input representation.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let [rows, width] = x.dims();
        assert_eq!(width, self.plan.inputs(), "rows of `{}`", self.weights.space().input());
        let (w, b) = self.weights.realise();
        apply3(Dense { plan: self.plan, rows, relu: self.relu }, x, w, b)
    }
}

/// A pointwise function commutes with permutations of coordinates, and with nothing else that we have.
pub(crate) fn check_relu(rep: &Rep) -> Result<()> {
    match rep.terms().iter().find(|t| !t.atom.is_permutation()) {
        None => Ok(()),
        Some(term) => Err(Error::BadNetwork(format!(
            "a ReLU on `{}` of {} breaks equivariance, because its elements do not permute coordinates; put it on \
             regular, quotient or trivial representations",
            term.atom.name(),
            rep.group()
        ))),
    }
}
