//! The networks once more, as slow loops in f64 over the realised weights: spec equations and nothing else.

use super::{Screen, State};
use equimarl_nn::{DenseModel, Network};
use std::collections::BTreeMap;

/// A realised network in f64: tensors by name, with their shapes.
#[derive(Clone)]
pub struct Reference {
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
    central: bool,
    actions: usize,
}

impl Reference {
    pub fn new(network: &Network) -> Reference {
        let DenseModel { tensors, .. } = network.dense().unwrap();
        let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect();
        let tensors = tensors.into_iter().map(|(name, t)| (name, (t.shape, wide(t.values)))).collect();
        Reference { tensors, central: network.is_central(), actions: network.actions() }
    }

    /// Adds `amount` times a direction of coefficients, given in the order of [`Network::values`].
    pub fn moved(&self, network: &Network, direction: &[f32], amount: f64) -> Reference {
        // Realised weights are linear in all coefficients.
        let (mut moved, mut along) = (self.clone(), network.clone());
        along.values_mut().copy_from_slice(direction);
        for (name, tensor) in along.dense().unwrap().tensors {
            add(moved.tensors.get_mut(&name).unwrap(), &tensor.values, amount);
        }
        moved
    }

    pub fn affine(&self, layer: &str, x: &[f64]) -> Vec<f64> {
        let (weight, bias) =
            (&self.tensors[&format!("{layer}.weight")], &self.tensors[&format!("{layer}.bias")]);
        assert_eq!(weight.0, [bias.1.len(), x.len()]);
        let rows = weight.1.chunks_exact(x.len());
        rows.zip(&bias.1).map(|(row, b)| b + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect()
    }

    /// Cross-correlation without padding, then ReLU; images are (channels, side, values).
    fn convolution(&self, layer: &str, stride: usize, side: usize, x: &[f64]) -> (usize, Vec<f64>) {
        let (shape, weight) = &self.tensors[&format!("{layer}.weight")];
        let bias = &self.tensors[&format!("{layer}.bias")].1;
        let &[_, inputs, k, _] = shape.as_slice() else { panic!("a filter has four sizes") };
        assert_eq!(x.len(), inputs * side * side);
        let size = (side - k) / stride + 1;
        let mut out: Vec<f64> = bias.iter().flat_map(|b| vec![*b; size * size]).collect();
        for (t, w) in weight.iter().enumerate() {
            let (o, i, u, v) = (t / k / k / inputs, t / k / k % inputs, t / k % k, t % k);
            for row in 0..size {
                let to = &mut out[(o * size + row) * size..][..size];
                let from = &x[(i * side + row * stride + u) * side + v..];
                to.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, from)| *to += w * from);
            }
        }
        out.iter_mut().for_each(|v| *v = v.max(0.0));
        (size, out)
    }

    fn encode(&self, screen: Screen, key: &super::Key) -> Vec<f64> {
        let mut image = vec![0.0; screen.pixels()];
        screen.render(key, &mut image);
        let image: Vec<f64> = image.into_iter().map(f64::from).collect();
        let (side, hidden) = self.convolution("conv1", 2, screen.cells * screen.scale, &image);
        let (side, maps) = self.convolution("conv2", 1, side, &hidden);
        maps.chunks_exact(side * side).map(|map| map.iter().copied().fold(0.0, f64::max)).collect()
    }

    /// f_i' = relu(W [f_i (+) sum_j a_ij (e_ij (+) f_j)] + b), a_ij = 1 / (1 + number of neighbours of i).
    fn round(&self, layer: &str, state: &State, features: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let next = |(i, own): (usize, &Vec<f64>)| {
            let heard: Vec<_> = state.edges.iter().filter(|e| e.0 == i).collect();
            let mut message = vec![0.0; 2 + own.len()];
            for (_, j, vector) in &heard {
                let sent = vector.iter().map(|v| f64::from(*v)).chain(features[*j].iter().copied());
                message.iter_mut().zip(sent).for_each(|(m, s)| *m += s / (1.0 + heard.len() as f64));
            }
            let input: Vec<f64> = own.iter().copied().chain(message).collect();
            self.affine(layer, &input).into_iter().map(|v| v.max(0.0)).collect()
        };
        features.iter().enumerate().map(next).collect()
    }

    fn count(&self, kind: &str) -> usize {
        self.tensors.keys().filter(|name| name.starts_with(kind) && name.ends_with(".weight")).count()
    }

    /// One row of logits per agent, and the team's value.
    pub fn forward(&self, screen: Screen, state: &State) -> (Vec<f64>, f64) {
        let mut features: Vec<Vec<f64>> = state.keys.iter().map(|key| self.encode(screen, key)).collect();
        let tell = |features: &mut Vec<Vec<f64>>| {
            features.iter_mut().for_each(|f| f.extend(state.cause.iter().map(|c| f64::from(*c))));
        };
        tell(&mut features);
        for l in 1..=self.count("round") {
            features = self.round(&format!("round{l}"), state, &features);
            tell(&mut features);
        }
        for l in 1..=self.count("hidden") {
            let layer = |f: &Vec<f64>| self.affine(&format!("hidden{l}"), f);
            features =
                features.iter().map(|f| layer(f).into_iter().map(|v: f64| v.max(0.0)).collect()).collect();
        }
        let heads = self.count("policy");
        let names: Vec<String> = match heads {
            1 => vec!["policy".into()],
            _ => (1..=heads).map(|i| format!("policy{i}")).collect(),
        };
        let logits: Vec<f64> =
            features.iter().flat_map(|f| names.iter().flat_map(|name| self.affine(name, f))).collect();
        let agents = if self.central { state.blind } else { state.keys.len() };
        assert_eq!(logits.len(), agents * self.actions);
        let values: Vec<f64> = features.iter().map(|f| self.affine("value", f)[0]).collect();
        (logits, values.iter().sum::<f64>() / values.len().max(1) as f64)
    }
}

fn add((_, to): &mut (Vec<usize>, Vec<f64>), direction: &[f32], amount: f64) {
    assert_eq!(to.len(), direction.len());
    to.iter_mut().zip(direction).for_each(|(to, d)| *to += amount * f64::from(*d));
}
