//! Feature vectors to group channels: y = relu(W_n ... relu(W_1 x + b_1) ... + b_n), every W_k and b_k equivariant; or with a gate
//! in place of every ReLU.

use super::{Dense, DenseWeights, DenseWork, LinearWork, Space};
use crate::error::{Error, Result};
use equimarl_group::Rep;

/// Equivariant layers one after the other.
#[derive(Clone, Debug)]
pub struct Stack {
    layers: Vec<Dense>,
    inputs: usize,
}

/// What a stack keeps for its backward pass, and working memory; reuse it to avoid allocation.
#[derive(Clone, Debug, Default)]
pub struct StackWork {
    /// What each layer found.
    outputs: Vec<Vec<f32>>,
    gradients: Vec<Vec<f32>>,
    /// That of the input, which nobody asks for.
    dx: Vec<f32>,
    dense: LinearWork,
    works: Vec<DenseWork>,
}

impl StackWork {
    /// Where the gradient of the last forward pass's output is to be written before a backward pass: as long as that.
    pub fn output_gradient(&mut self) -> &mut [f32] {
        self.gradients.resize_with(self.outputs.len(), Vec::new);
        match (self.outputs.last(), self.gradients.last_mut()) {
            (Some(y), Some(dy)) => {
                dy.resize(y.len(), 0.0);
                dy
            }
            _ => &mut [],
        }
    }

    /// The output of the last forward pass.
    pub fn output(&self) -> &[f32] {
        self.outputs.last().map_or(&[], Vec::as_slice)
    }
}

impl Stack {
    /// From `input` through each of `outputs`, of which there is at least one, with a ReLU after each.
    ///
    /// # Errors
    /// If only the zero map is equivariant, or a ReLU would break the symmetry of an output.
    pub fn new(input: &Rep, outputs: &[Rep]) -> Result<Stack> {
        let inputs = [input].into_iter().chain(outputs);
        let layers = inputs.zip(outputs).map(|(i, o)| Dense::relu(i, o));
        Stack::of(layers.collect::<Result<_>>()?)
    }

    /// These layers, of which there is at least one, each taking what the one before gives.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(layers: Vec<Dense>) -> Result<Stack> {
        let first = layers.first().and_then(|layer| layer.spaces().next());
        let Some(inputs) = first.map(|space| space.input().dim()) else {
            return Err(Error::BadNetwork("an encoder of feature vectors has at least one layer".into()));
        };
        Ok(Stack { layers, inputs })
    }

    /// The spaces of its layers.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.layers.iter().flat_map(Dense::spaces)
    }

    /// Numbers of an input row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Numbers of an output row.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, Dense::outputs)
    }

    /// The number of coefficients.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(Dense::parameters).sum()
    }

    /// Puts the weights in the orders that the passes read them.
    ///
    /// # Errors
    /// If the number of coefficients does not fit.
    pub fn realise(&self, parameters: &[f32], weights: &mut Vec<DenseWeights>) -> Result<()> {
        weights.resize_with(self.layers.len(), DenseWeights::default);
        let mut rest = parameters;
        for (layer, packed) in self.layers.iter().zip(weights) {
            let (part, after) = rest.split_at(layer.parameters().min(rest.len()));
            layer.realise(part, packed)?;
            rest = after;
        }
        if rest.is_empty() { Ok(()) } else { Err(not_its_coefficients(parameters.len())) }
    }

    /// Applies all layers to rows. A row's result does not depend on the other rows.
    ///
    /// # Errors
    /// If the rows do not have the dimension of the input representation, or `weights` are another layer's.
    pub fn forward<'a>(
        &self,
        weights: &[DenseWeights],
        x: &[f32],
        work: &'a mut StackWork,
    ) -> Result<&'a [f32]> {
        check_weights(weights.len(), self.layers.len())?;
        work.outputs.resize_with(self.layers.len(), Vec::new);
        work.works.resize_with(self.layers.len(), DenseWork::default);
        let rows = x.len() / self.inputs;
        for (i, (layer, packed)) in self.layers.iter().zip(weights).enumerate() {
            let (before, after) = work.outputs.split_at_mut(i);
            let out = &mut after[0];
            out.resize(rows * layer.outputs(), 0.0);
            layer.forward(packed, before.last().map_or(x, Vec::as_slice), &mut work.works[i], out)?;
        }
        Ok(work.output())
    }

    /// Adds to the gradients of the coefficients, given the input of the last forward pass; the gradient of its output
    /// stands in [`StackWork::output_gradient`].
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn backward(
        &self,
        weights: &[DenseWeights],
        x: &[f32],
        work: &mut StackWork,
        gradients: &mut [f32],
    ) -> Result<()> {
        check_weights(weights.len(), self.layers.len())?;
        if gradients.len() != self.parameters() {
            return Err(not_its_coefficients(gradients.len()));
        }
        let StackWork { outputs, gradients: back, dx, dense, works } = work;
        if [outputs.len(), back.len(), works.len()] != [self.layers.len(); 3] {
            return Err(Error::BadBatch("the gradients do not belong to the last forward pass".into()));
        }
        let mut rest = gradients;
        for (i, (layer, packed)) in self.layers.iter().zip(weights).enumerate().rev() {
            let (before, after) = back.split_at_mut(i);
            let (x, dx) = match i.checked_sub(1) {
                Some(below) => (&outputs[below][..], &mut before[below]),
                None => (x, &mut *dx),
            };
            dx.resize(x.len(), 0.0);
            let (others, own) = rest.split_at_mut(rest.len() - layer.parameters());
            layer.backward(packed, (x, &outputs[i]), &mut after[0], &mut works[i], dense, dx, own)?;
            rest = others;
        }
        Ok(())
    }
}

pub(super) fn check_weights(found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::BadNetwork(format!("weights of {found} layers were given to {wanted}")))
}

pub(super) fn not_its_coefficients(found: usize) -> Error {
    Error::BadNetwork(format!("{found} numbers are not its coefficients"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Noise, check_equivariance, check_gradients};
    use equimarl_group::Group;

    const CASES: [(&str, &str, &[&str]); 4] = [
        ("C4", "2*trivial + rotation", &["2*regular", "3*regular"]),
        ("D4", "rotation + sign", &["2*regular"]),
        ("C5", "trivial + rotation + rotation(2)", &["regular", "2*regular", "regular"]),
        ("C1", "5*trivial", &["4*regular", "3*regular"]),
    ];

    fn made((group, input, outputs): (&str, &str, &[&str])) -> (Stack, Rep, Rep) {
        let group: Group = group.parse().unwrap();
        let rep = |text: &str| Rep::parse(&group, text).unwrap();
        let outputs: Vec<Rep> = outputs.iter().map(|o| rep(o)).collect();
        (Stack::new(&rep(input), &outputs).unwrap(), rep(input), outputs.last().unwrap().clone())
    }

    /// The equation in f64.
    fn oracle(stack: &Stack, parameters: &[f64], x: &[f64]) -> Vec<f64> {
        let mut out = vec![];
        for row in x.chunks(stack.inputs) {
            let (mut row, mut at) = (row.to_vec(), 0);
            for space in stack.spaces() {
                let coefficient = |terms: &mut dyn Iterator<Item = (usize, f32)>, at: usize| -> f64 {
                    terms.map(|(c, s)| parameters[at + c] * f64::from(s)).sum()
                };
                let y = |o: usize| {
                    let bias = coefficient(&mut space.bias().terms(o), at + space.ranks()[0]);
                    let weight = |i: usize| coefficient(&mut space.weight().terms(o * row.len() + i), at);
                    (bias + row.iter().enumerate().map(|(i, x)| weight(i) * x).sum::<f64>()).max(0.0)
                };
                let next: Vec<f64> = (0..space.output().dim()).map(y).collect();
                row = next;
                at += space.parameters();
            }
            out.extend(row);
        }
        out
    }

    #[test]
    fn gradients_are_those_of_the_equation() {
        for case in CASES {
            let ((stack, input, _), mut noise) = (made(case), Noise::new(21));
            let (parameters, x) = (noise.normals(stack.parameters()), noise.normals(3 * input.dim()));
            let (mut weights, mut work) = (vec![], StackWork::default());
            stack.realise(&parameters, &mut weights).unwrap();
            let out = stack.forward(&weights, &x, &mut work).unwrap().to_vec();
            let pulls = noise.normals(out.len());
            work.output_gradient().copy_from_slice(&pulls);
            let mut gradients = vec![0.0; parameters.len()];
            stack.backward(&weights, &x, &mut work, &mut gradients).unwrap();
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let equation = |[parameters]: [&[f64]; 1]| oracle(&stack, parameters, &wide);
            check_gradients(&[&parameters], &[&gradients], equation, (&out, &pulls));
        }
    }

    #[test]
    fn outputs_turn_with_inputs() {
        for case in CASES {
            let (stack, input, output) = made(case);
            let mut weights = vec![];
            stack.realise(&Noise::new(22).normals(stack.parameters()), &mut weights).unwrap();
            check_equivariance(&input, &output, |x| {
                stack.forward(&weights, x, &mut StackWork::default()).unwrap().to_vec()
            });
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (stack, _, output) = made(CASES[0]);
        let (mut weights, mut work) = (vec![], StackWork::default());
        let parameters = vec![0.1; stack.parameters() + 1];
        assert!(stack.realise(&parameters, &mut weights).is_err());
        assert!(stack.realise(&parameters[2..], &mut weights).is_err());
        stack.realise(&parameters[1..], &mut weights).unwrap();
        assert!(stack.forward(&weights[1..], &[0.0; 4], &mut work).is_err());
        assert!(stack.forward(&weights, &[0.0; 5], &mut work).is_err());
        assert!(
            stack
                .backward(&weights, &[0.0; 4], &mut StackWork::default(), &mut parameters[1..].to_vec())
                .is_err()
        );
        assert!(Stack::new(&output, &[]).is_err());
    }
}
