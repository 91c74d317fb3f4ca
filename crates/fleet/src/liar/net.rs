//! The rounds of a network in f64, from its realised weights: with a liar, with its gradient, and with intervals.
//!
//! ```text
//! f_i' = relu(W [f_i, sum_j a e_ij, n a agg_j(c(m_ji))] + b)      a = 1 / (1 + n), n the neighbours of i
//! m_ji = f_j, or what the liar likes;   c clips, or does nothing;   agg is the mean, or the trimmed mean where n >= 3
//! ```

use crate::error::{Error, Result};
use equimarl_nn::{DenseModel, DenseTensor, Network};

/// A matrix and a bias.
#[derive(Clone, Debug)]
struct Layer {
    weight: Vec<f64>,
    bias: Vec<f64>,
    inputs: usize,
}

/// The rounds and the policy head of a network that sees images.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    rounds: Vec<Layer>,
    head: Layer,
    edge: usize,
}

/// Who hears whom in a state, across which vectors, and what everybody's encoder says.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub heard: Vec<Vec<(usize, Vec<f64>)>>,
    pub encoded: Vec<Vec<f64>>,
}

/// What receivers do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// Per round, the least and the largest of each number, if messages are clipped.
    pub clip: Option<Vec<Vec<[f64; 2]>>>,
    pub trimmed: bool,
}

/// What the liar says: per round and receiver.
pub(crate) type Lies = Vec<Vec<Vec<f64>>>;

/// What went through a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// Features before each round and after the last, per agent.
    pub features: Vec<Vec<Vec<f64>>>,
    /// Log-probabilities of actions, per agent.
    pub log_probabilities: Vec<Vec<f64>>,
}

fn tensor<'a>(dense: &'a DenseModel, name: &str) -> Result<&'a DenseTensor> {
    let missing =
        || Error::Mismatch(format!("the network has no `{name}`: only rounds over images are studied"));
    dense.tensors.get(name).ok_or_else(missing)
}

impl Layer {
    fn new(dense: &DenseModel, name: &str) -> Result<Layer> {
        let wide = |tensor: &DenseTensor| tensor.values.iter().map(|&x| x.into()).collect();
        let weight = tensor(dense, &format!("{name}.weight"))?;
        let bias = tensor(dense, &format!("{name}.bias"))?;
        let inputs = weight.shape.get(1).copied().unwrap_or(0);
        Ok(Layer { weight: wide(weight), bias: wide(bias), inputs })
    }

    fn forward(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.weight.chunks_exact(self.inputs).zip(&self.bias);
        rows.map(|(row, b)| b + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect()
    }

    /// The gradient of what went in.
    fn backward(&self, dout: &[f64]) -> Vec<f64> {
        let mut dx = vec![0.0; self.inputs];
        for (row, d) in self.weight.chunks_exact(self.inputs).zip(dout).filter(|(_, d)| **d != 0.0) {
            dx.iter_mut().zip(row).for_each(|(dx, w)| *dx += w * d);
        }
        dx
    }

    /// The least and the largest that can come out.
    fn interval(&self, lo: &[f64], hi: &[f64]) -> [Vec<f64>; 2] {
        let (mut least, mut most) = (self.bias.clone(), self.bias.clone());
        for (o, row) in self.weight.chunks_exact(self.inputs).enumerate() {
            for ((w, lo), hi) in row.iter().zip(lo).zip(hi) {
                let (a, b) = (w * lo, w * hi);
                least[o] += a.min(b);
                most[o] += a.max(b);
            }
        }
        [least, most]
    }
}

/// The mean of a column, or without its least and largest.
fn aggregate(column: &mut [f64], trimmed: bool) -> f64 {
    if !trimmed || column.len() < 3 {
        return column.iter().sum::<f64>() / column.len().max(1) as f64;
    }
    column.sort_unstable_by(f64::total_cmp);
    let middle = &column[1..column.len() - 1];
    middle.iter().sum::<f64>() / middle.len() as f64
}

impl Net {
    pub fn new(network: &Network, rounds: usize, edge: usize) -> Result<Net> {
        if network.policy()?.told_len() > 0 {
            let why =
                "agents of this network are told more than they see, and only rounds over images are studied";
            return Err(Error::Mismatch(why.into()));
        }
        let dense = network.dense()?;
        let layers: Result<Vec<Layer>> =
            (1..=rounds).map(|l| Layer::new(&dense, &format!("round{l}"))).collect();
        Ok(Net { rounds: layers?, head: Layer::new(&dense, "policy")?, edge })
    }

    /// Layers of these weights and biases, the last of which decides, for edges of no numbers.
    #[cfg(test)]
    pub fn of(layers: Vec<(Vec<f64>, Vec<f64>)>) -> Net {
        let layer = |(weight, bias): (Vec<f64>, Vec<f64>)| {
            let inputs = weight.len() / bias.len();
            Layer { weight, bias, inputs }
        };
        let mut rounds: Vec<Layer> = layers.into_iter().map(layer).collect();
        let head = rounds.pop().unwrap();
        Net { rounds, head, edge: 0 }
    }

    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Numbers of a message of round `l`.
    pub fn width(&self, l: usize) -> usize {
        (self.rounds[l].inputs - self.edge) / 2
    }

    /// What an agent hears in a round, as its neighbours' messages after clipping.
    fn messages(
        &self,
        state: &State,
        (l, i): (usize, usize),
        features: &[Vec<f64>],
        lies: Option<(usize, &Lies)>,
        rules: &Rules,
    ) -> Vec<Vec<f64>> {
        let said = state.heard[i].iter().map(|(j, _)| match lies {
            Some((liar, lies)) if *j == liar => lies[l][i].clone(),
            _ => features[*j].clone(),
        });
        let clip = rules.clip.as_ref().map(|clip| &clip[l]);
        said.map(|mut message| {
            if let Some(clip) = clip {
                message.iter_mut().zip(clip).for_each(|(x, [lo, hi])| *x = x.clamp(*lo, *hi));
            }
            message
        })
        .collect()
    }

    /// What goes into a round: own features, edges, messages.
    fn input(
        &self,
        state: &State,
        (l, i): (usize, usize),
        own: &[f64],
        heard: &[Vec<f64>],
        rules: &Rules,
    ) -> Vec<f64> {
        let (n, width) = (heard.len(), self.width(l));
        let a = 1.0 / (1.0 + n as f64);
        let mut input = own.to_vec();
        input.resize(self.rounds[l].inputs, 0.0);
        for (_, edge) in &state.heard[i] {
            (0..self.edge).for_each(|k| input[width + k] += a * edge[k]);
        }
        let mut column = vec![0.0; n];
        for k in 0..if n > 0 { width } else { 0 } {
            column.iter_mut().zip(heard).for_each(|(x, row)| *x = row[k]);
            input[width + self.edge + k] = a * n as f64 * aggregate(&mut column, rules.trimmed);
        }
        input
    }

    /// What everybody decides; `lies` are what one of them says instead of its features.
    pub fn forward(&self, state: &State, lies: Option<(usize, &Lies)>, rules: &Rules) -> Trace {
        let mut features = vec![state.encoded.clone()];
        for l in 0..self.rounds() {
            let before = &features[l];
            let after = (0..before.len())
                .map(|i| {
                    let heard = self.messages(state, (l, i), before, lies, rules);
                    let mut out =
                        self.rounds[l].forward(&self.input(state, (l, i), &before[i], &heard, rules));
                    out.iter_mut().for_each(|x| *x = x.max(0.0));
                    out
                })
                .collect();
            features.push(after);
        }
        let log_probabilities =
            features[self.rounds()].iter().map(|f| log_softmax(&self.head.forward(f))).collect();
        Trace { features, log_probabilities }
    }

    /// The gradient of the lies of sum_i cross-entropy(honest_i, p_i) over all but the liar, through clipping and trimming. What
    /// the liar says counts here as in a plain mean even where it is trimmed: its true gradient is zero there, although saying
    /// less instead of more moves the trimmed mean from one side of what is left to the other.
    pub fn gradient(
        &self,
        state: &State,
        (liar, lies): (usize, &Lies),
        rules: &Rules,
        trace: &Trace,
        honest: &[Vec<f64>],
    ) -> Lies {
        let agents = state.encoded.len();
        let mut gradient: Lies = (0..self.rounds()).map(|l| vec![vec![0.0; self.width(l)]; agents]).collect();
        let mut dfeatures: Vec<Vec<f64>> = (0..agents)
            .map(|i| {
                let pairs = trace.log_probabilities[i].iter().zip(&honest[i]);
                let dlogits: Vec<f64> =
                    pairs.map(|(p, q)| if i == liar { 0.0 } else { p.exp() - q.exp() }).collect();
                self.head.backward(&dlogits)
            })
            .collect();
        for l in (0..self.rounds()).rev() {
            let width = self.width(l);
            let mut dbefore = vec![vec![0.0; width]; agents];
            for i in 0..agents {
                let out = &trace.features[l + 1][i];
                let dout: Vec<f64> =
                    dfeatures[i].iter().zip(out).map(|(d, f)| if *f > 0.0 { *d } else { 0.0 }).collect();
                let dinput = self.rounds[l].backward(&dout);
                dbefore[i].iter_mut().zip(&dinput).for_each(|(a, b)| *a += b);
                let raw: Vec<&Vec<f64>> = state.heard[i]
                    .iter()
                    .map(|(j, _)| if *j == liar { &lies[l][i] } else { &trace.features[l][*j] })
                    .collect();
                let (n, clip) = (raw.len(), rules.clip.as_ref().map(|clip| &clip[l]));
                for k in 0..if n > 0 { width } else { 0 } {
                    let inside = |x: f64| match clip {
                        Some(clip) => x.clamp(clip[k][0], clip[k][1]),
                        None => x,
                    };
                    let heard: Vec<f64> = raw.iter().map(|row| inside(row[k])).collect();
                    let shares = shares(&heard, rules.trimmed);
                    let d = dinput[width + self.edge + k] / (1.0 + n as f64) * n as f64;
                    for (at, (j, _)) in state.heard[i].iter().enumerate() {
                        // The liar stays inside by itself.
                        if *j == liar {
                            gradient[l][i][k] += d / n as f64;
                        } else if heard[at] == raw[at][k] {
                            dbefore[*j][k] += d * shares[at];
                        }
                    }
                }
            }
            dfeatures = dbefore;
        }
        gradient
    }

    /// The least and the largest probability of each action of each agent, whatever the liar says within `bounds`: every
    /// step is monotone in each message (a mean, a trimmed mean, clipping, a ReLU) or linear, so intervals go through it.
    pub fn bound(
        &self,
        state: &State,
        liar: usize,
        rules: &Rules,
        bounds: &[Vec<[f64; 2]>],
    ) -> Vec<Vec<[f64; 2]>> {
        let mut lo = state.encoded.clone();
        let mut hi = lo.clone();
        for l in 0..self.rounds() {
            let side = |at: usize| -> Lies {
                let lie: Vec<f64> = bounds[l].iter().map(|range| range[at]).collect();
                let mut lies: Lies = vec![vec![]; self.rounds()];
                lies[l] = vec![lie; state.encoded.len()];
                lies
            };
            let (least, most) = (side(0), side(1));
            let (mut low, mut high) = (vec![], vec![]);
            for i in 0..lo.len() {
                let below = self.messages(state, (l, i), &lo, Some((liar, &least)), rules);
                let above = self.messages(state, (l, i), &hi, Some((liar, &most)), rules);
                let from = self.input(state, (l, i), &lo[i], &below, rules);
                let to = self.input(state, (l, i), &hi[i], &above, rules);
                let [a, b] = self.rounds[l].interval(&from, &to);
                low.push(a.into_iter().map(|x| x.max(0.0)).collect::<Vec<f64>>());
                high.push(b.into_iter().map(|x| x.max(0.0)).collect::<Vec<f64>>());
            }
            // Its own features are its own, and it does not lie to itself.
            (lo, hi) = (low, high);
        }
        (0..lo.len())
            .map(|i| {
                let [least, most] = self.head.interval(&lo[i], &hi[i]);
                let probability = |of: usize, mine: &[f64], others: &[f64]| {
                    let sum: f64 = others
                        .iter()
                        .enumerate()
                        .map(|(b, z)| if b == of { 1.0 } else { (z - mine[of]).exp() })
                        .sum();
                    1.0 / sum
                };
                (0..least.len())
                    .map(|a| [probability(a, &least, &most), probability(a, &most, &least)])
                    .collect()
            })
            .collect()
    }
}

/// How much of each number of a column goes into its aggregate.
fn shares(column: &[f64], trimmed: bool) -> Vec<f64> {
    let n = column.len();
    if !trimmed || n < 3 {
        return vec![1.0 / n.max(1) as f64; n];
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| column[a].total_cmp(&column[b]));
    let mut shares = vec![1.0 / (n - 2) as f64; n];
    (shares[order[0]], shares[order[n - 1]]) = (0.0, 0.0);
    shares
}

fn log_softmax(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let sum = logits.iter().map(|z| (z - most).exp()).sum::<f64>().ln() + most;
    logits.iter().map(|z| z - sum).collect()
}
