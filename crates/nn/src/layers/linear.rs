//! y = W x + b with W rho_in(g) = rho_out(g) W and rho_out(g) b = b, so that y turns when x turns.

use super::{Initial, Space, check_relu};
use crate::error::Result;
use equimarl_group::Rep;
use equimarl_kernels::blocks;
use equimarl_kernels::linear::{self as kernel, Packed};
use equimarl_kernels::realise::Realisation;

/// An equivariant linear layer between any two representations. Several outputs of one input (heads) are stacked, and
/// run as one matrix.
///
/// ```
/// use equimarl_group::{Group, Rep};
/// use equimarl_nn::{Linear, Packed};
/// let d4: Group = "D4".parse()?;
/// let layer = Linear::new(&Rep::parse(&d4, "2*regular")?, &[Rep::parse(&d4, "regular")?], true)?;
/// let (mut packed, mut y) = (Packed::default(), [0.0; 3 * 8]);
/// layer.realise(&vec![0.5; layer.parameters()], &mut packed)?;
/// layer.forward(&packed, &[1.0; 3 * 16], &mut y)?;
/// assert_eq!(y, [8.5; 3 * 8]);
///
/// // A ReLU on vectors would break the symmetry, so it does not build.
/// assert!(Linear::new(&Rep::regular(&d4)?, &[Rep::rotation(&d4, 1)?], true).is_err());
/// # Ok::<(), equimarl_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Linear {
    parts: Vec<Space>,
    /// Of the stacked matrix, over the coefficients of all parts: weight and bias of the first, of the second, ...
    weight: Realisation,
    bias: Realisation,
    kernel: kernel::Linear,
    realiser: kernel::Realiser,
    relu: bool,
}

/// Working memory of a backward pass; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct LinearWork {
    pub(super) w: Vec<f32>,
    pub(super) b: Vec<f32>,
    pub(super) kernel: kernel::Workspace,
    pub(super) blocks: blocks::Workspace,
}

impl Linear {
    /// A layer with one or more outputs, and a ReLU after it or not.
    ///
    /// # Errors
    /// If only the zero map is equivariant, or a ReLU would break the symmetry of an output.
    pub fn new(input: &Rep, outputs: &[Rep], relu: bool) -> Result<Linear> {
        if relu {
            outputs.iter().try_for_each(check_relu)?;
        }
        let parts: Result<Vec<Space>> = outputs.iter().map(|o| Space::new(input, o, None)).collect();
        Linear::stack(parts?, input.dim(), relu)
    }

    fn stack(parts: Vec<Space>, inputs: usize, relu: bool) -> Result<Linear> {
        let [weight, bias] = stacked(&parts)?;
        let kernel = kernel::Linear::new(inputs, bias.entries())?;
        let realiser = kernel.realiser(&weight, &bias)?;
        Ok(Linear { parts, weight, bias, kernel, realiser, relu })
    }

    /// The spaces of its outputs.
    pub fn parts(&self) -> &[Space] {
        &self.parts
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.kernel.outputs()
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.weight.coefficients()
    }

    /// Variance-preserving coefficients from a source of standard normal numbers.
    pub fn init(&self, normal: &mut dyn FnMut() -> f64) -> Vec<f32> {
        let initial = if self.relu { Initial::BeforeRelu } else { Initial::Linear };
        self.parts.iter().flat_map(|space| space.init(initial, normal)).collect()
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], packed: &mut Packed) -> Result<()> {
        Ok(self.kernel.realise(&self.realiser, parameters, packed)?)
    }

    /// Applies the layer to rows.
    ///
    /// # Errors
    /// If the rows do not have the dimension of the input representation, or `packed` is another layer's.
    pub fn forward(&self, packed: &Packed, x: &[f32], out: &mut [f32]) -> Result<()> {
        Ok(self.kernel.forward(packed, x, self.relu, out)?)
    }

    /// Given the input, the output and its gradient: writes the gradient of the input, and adds to those of the
    /// coefficients. `dout` becomes the gradient before the ReLU.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        packed: &Packed,
        (x, out): (&[f32], &[f32]),
        dout: &mut [f32],
        work: &mut LinearWork,
        dx: &mut [f32],
        gradients: &mut [f32],
    ) -> Result<()> {
        if self.relu {
            kernel::relu_backward(out, dout)?;
        }
        work.w.resize(self.weight.entries(), 0.0);
        work.b.resize(self.bias.entries(), 0.0);
        let dense = kernel::Gradients { w: &mut work.w, b: &mut work.b };
        self.kernel.backward(packed, x, dout, &mut work.kernel, Some(dx), dense)?;
        self.weight.add_adjoint(&work.w, gradients)?;
        Ok(self.bias.add_adjoint(&work.b, gradients)?)
    }
}

/// Weight and bias of stacked spaces over one list of coefficients.
pub(super) fn stacked(parts: &[Space]) -> Result<[Realisation; 2]> {
    let (mut weights, mut biases, mut at) = (vec![], vec![], 0);
    for space in parts {
        weights.push((at, space.weight()));
        biases.push((at + space.ranks()[0], space.bias()));
        at += space.parameters();
    }
    Ok([Realisation::stacked(at, weights)?, Realisation::stacked(at, biases)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Noise, check_equivariance, check_gradients};
    use equimarl_group::Group;

    fn run(layer: &Linear, parameters: &[f32], x: &[f32]) -> Vec<f32> {
        let mut packed = Packed::default();
        layer.realise(parameters, &mut packed).unwrap();
        let mut out = vec![0.0; x.len() / layer.parts[0].input().dim() * layer.outputs()];
        layer.forward(&packed, x, &mut out).unwrap();
        out
    }

    /// y = W x + b in f64, one output after the other.
    fn oracle(layer: &Linear, parameters: &[f64], x: &[f64]) -> Vec<f64> {
        let (mut out, inputs) = (vec![], layer.parts[0].input().dim());
        for row in x.chunks(inputs) {
            let mut at = 0;
            for space in &layer.parts {
                let [weights, biases] = space.ranks();
                for o in 0..space.output().dim() {
                    let bias = space.bias().terms(o);
                    let mut y: f64 = bias.map(|(c, s)| parameters[at + weights + c] * f64::from(s)).sum();
                    for (i, x) in row.iter().enumerate() {
                        let terms = space.weight().terms(o * inputs + i);
                        y += terms.map(|(c, s)| parameters[at + c] * f64::from(s)).sum::<f64>() * x;
                    }
                    out.push(if layer.relu { y.max(0.0) } else { y });
                }
                at += weights + biases;
            }
        }
        out
    }

    #[test]
    fn gradients_are_those_of_the_equation() {
        for (group, input, outputs, relu) in [
            ("C4", "3*regular + rotation", &["2*regular"][..], true),
            ("D4", "2*regular", &["perm[0 4 1 2 3; 0 1 4 3 2]", "trivial"], false),
            ("C8", "regular + 2*rotation", &["regular", "rotation"], false),
            ("C1", "7*regular", &["5*regular"], true),
        ] {
            let group: Group = group.parse().unwrap();
            let rep = |text: &str| Rep::parse(&group, text).unwrap();
            let outputs: Vec<Rep> = outputs.iter().map(|o| rep(o)).collect();
            let layer = Linear::new(&rep(input), &outputs, relu).unwrap();
            let mut noise = Noise::new(7);
            let (rows, inputs) = (5, rep(input).dim());
            let (parameters, x) = (noise.normals(layer.parameters()), noise.normals(rows * inputs));
            let weights = noise.normals(rows * layer.outputs());
            let mut packed = Packed::default();
            layer.realise(&parameters, &mut packed).unwrap();
            let mut out = vec![0.0; weights.len()];
            layer.forward(&packed, &x, &mut out).unwrap();
            let (mut dx, mut gradients) = (vec![0.0; x.len()], vec![0.0; parameters.len()]);
            let mut work = LinearWork::default();
            let mut dout = weights.clone();
            layer.backward(&packed, (&x, &out), &mut dout, &mut work, &mut dx, &mut gradients).unwrap();
            check_gradients(
                &[&parameters, &x],
                &[&gradients, &dx],
                |[parameters, x]| oracle(&layer, parameters, x),
                (&out, &weights),
            );
        }
    }

    #[test]
    fn outputs_turn_with_inputs() {
        for (group, input, output, relu) in [
            ("C4", "3*regular + rotation", "2*regular", true),
            ("D4", "2*regular + rotation", "rotation + sign", false),
            ("S4", "natural + trivial", "2*natural", false),
        ] {
            let group: Group = group.parse().unwrap();
            let [input, output] = [input, output].map(|text| Rep::parse(&group, text).unwrap());
            let layer = Linear::new(&input, std::slice::from_ref(&output), relu).unwrap();
            let parameters = Noise::new(8).normals(layer.parameters());
            check_equivariance(&input, &output, |x| run(&layer, &parameters, x));
        }
    }
}
