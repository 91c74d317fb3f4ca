use super::*;
use crate::layers::gate::tests::oracle as gate_oracle;
use crate::layers::{Channels, GateShape};
use crate::testing::{Noise, check_equivariance, check_gradients};
use equimarl_group::{Group, Symmetry, Types};

/// Who hears whom: three agents each other, two things with features and two without.
const HEARD: [[&[usize]; 3]; 3] = [[&[1, 2], &[2], &[]], [&[0], &[], &[1, 0, 0]], [&[0, 0], &[0], &[]]];
/// Features of agents and of the second kind in all, in rows; edges of all kinds.
const ROWS: [usize; 3] = [3, 2, 10];
const GROUPS: [(&str, &str); 4] =
    [("C4", "rotation"), ("D4", "rotation"), ("C5", "rotation + trivial"), ("C1", "3*trivial")];

struct Case {
    round: EdgeRound,
    weights: EdgeRoundWeights,
    parameters: Vec<f32>,
    graphs: [Graph; 3],
    /// The representations of the features of agents and senders, and of edges.
    reps: [Rep; 3],
    output: Rep,
    /// The gates of the messages and of the update; none where there are ReLUs.
    gates: Vec<GateShape>,
}

/// The same where channels turn by any angle.
fn gated(symmetry: Symmetry) -> Case {
    let row = |text: &str| {
        let types = Types::parse(&symmetry, text).unwrap();
        (Channels::of(&types), types.rep(&symmetry.carrier().unwrap()).unwrap())
    };
    let texts = ["2*freq0 + 2*freq1 + freq2", "freq0 + freq1", "freq1"];
    let [own, sender, edge] = texts.map(row);
    let to = row("2*freq0 + 2*freq1 + 2*freq2").0;
    let plus = |a: Channels, b: &(Channels, Rep)| a.plus(b.0);
    let heard = plus(own.0, &edge);
    let means = to.plus(to).plus(to);
    let inputs = [plus(heard, &own), plus(heard, &sender), heard, own.0.plus(means)];
    let gates = inputs.map(|input| GateShape::new(&symmetry, input, to, 4).unwrap());
    let messages = gates.iter().zip([Some(&own.1), Some(&sender.1), None]);
    let messages = messages.map(|(shape, sent)| Messages::gated(&own.1, &edge.1, sent, shape).unwrap());
    let output = gates[3].output().unwrap();
    let input = own.1.clone().plus(&output.copies(3).unwrap()).unwrap();
    let round = EdgeRound::of(messages.collect(), Dense::gated(&input, &gates[3]).unwrap(), &own.1);
    let plain = case(GROUPS[0]);
    let parameters = Noise::new(41).normals(round.parameters());
    let mut weights = EdgeRoundWeights::default();
    round.realise(&parameters, &mut weights).unwrap();
    let reps = [own.1, sender.1, edge.1];
    Case { round, weights, parameters, reps, output, gates: gates.to_vec(), ..plain }
}

fn case((group, edge): (&str, &str)) -> Case {
    let group: Group = group.parse().unwrap();
    let rep = |text: &str| Rep::parse(&group, text).unwrap();
    let (reps, output) = ([rep("2*regular"), rep("regular"), rep(edge)], rep("2*regular"));
    let senders = [Some(reps[1].clone()), None];
    let round = EdgeRound::new(&reps[0], &reps[2], &senders, &output).unwrap();
    let parameters = Noise::new(41).normals(round.parameters());
    let mut weights = EdgeRoundWeights::default();
    round.realise(&parameters, &mut weights).unwrap();
    let graphs = HEARD.map(|lists| {
        let mut graph = Graph::default();
        for list in lists {
            list.iter().for_each(|&j| graph.hear(j as u32));
            graph.end_agent();
        }
        graph
    });
    Case { round, weights, parameters, graphs, reps, output, gates: vec![] }
}

impl Case {
    /// The edges of each kind.
    fn edges<'a, T>(&self, edges: &'a [T]) -> [&'a [T]; 3] {
        let [first, second] = [0, 1].map(|k| self.graphs[k].edges() * self.reps[2].dim());
        let (a, rest) = edges.split_at(first);
        let (b, c) = rest.split_at(second);
        [a, b, c]
    }

    fn others<'a>(&'a self, senders: &'a [f32], edges: [&'a [f32]; 3]) -> impl Iterator<Item = Heard<'a>> {
        let second = Heard { graph: &self.graphs[1], edges: edges[1], senders };
        [second, Heard { graph: &self.graphs[2], edges: edges[2], senders: &[] }].into_iter()
    }

    fn forward(&self, [x, senders, edges]: [&[f32]; 3], work: &mut EdgeRoundWork) -> Vec<f32> {
        let (edges, mut out) = (self.edges(edges), vec![0.0; 3 * self.round.outputs()]);
        let agents = (&self.graphs[0], edges[0]);
        self.round.forward(&self.weights, agents, self.others(senders, edges), x, work, &mut out).unwrap();
        out
    }

    /// The equation in f64.
    fn oracle(&self, parameters: &[f64], [x, senders, edges]: [&[f64]; 3]) -> Vec<f64> {
        let (edges, dims) = (self.edges(edges), self.reps.each_ref().map(Rep::dim));
        let mut starts = vec![0];
        self.round.spaces().for_each(|space| starts.push(starts[starts.len() - 1] + space.parameters()));
        let gated = !self.gates.is_empty();
        let affine = |layer: usize, input: &[f64]| -> Vec<f64> {
            // A gate has two spaces of its own.
            let first = if gated { 3 * layer } else { layer };
            let (space, start) = (self.round.spaces().nth(first).unwrap(), starts[first]);
            assert_eq!(space.input().dim(), input.len());
            let rows = (0..space.output().dim()).map(|o| {
                let bias = space.bias().terms(o);
                let mut y: f64 =
                    bias.map(|(c, s)| parameters[start + space.ranks()[0] + c] * f64::from(s)).sum();
                for (k, x) in input.iter().enumerate() {
                    let terms = space.weight().terms(o * input.len() + k);
                    y += terms.map(|(c, s)| parameters[start + c] * f64::from(s)).sum::<f64>() * x;
                }
                if gated { y } else { y.max(0.0) }
            });
            let rows: Vec<f64> = rows.collect();
            if gated {
                gate_oracle(&self.gates[layer], &parameters[starts[first + 1]..], &rows)
            } else {
                rows
            }
        };
        let (mut out, mut next) = (vec![], [0; 3]);
        for i in 0..3 {
            let own = &x[i * dims[0]..][..dims[0]];
            let mut input = own.to_vec();
            for kind in 0..3 {
                let mut mean = vec![0.0; self.round.outputs()];
                for &j in HEARD[kind][i] {
                    let edge = &edges[kind][next[kind] * dims[2]..][..dims[2]];
                    next[kind] += 1;
                    let sent = match kind {
                        0 => &x[j * dims[0]..][..dims[0]],
                        1 => &senders[j * dims[1]..][..dims[1]],
                        _ => &[],
                    };
                    let message = affine(kind, &[own, edge, sent].concat());
                    mean.iter_mut().zip(message).for_each(|(a, m)| *a += m / HEARD[kind][i].len() as f64);
                }
                input.extend(mean);
            }
            out.extend(affine(3, &input));
        }
        out
    }
}

#[test]
fn gradients_are_those_of_the_equation() {
    let turning = [Symmetry::So2, Symmetry::O2].map(gated);
    for case in GROUPS.map(case).into_iter().chain(turning) {
        let mut noise = Noise::new(42);
        let [x, senders, edges] = [0, 1, 2].map(|k| noise.normals(ROWS[k] * case.reps[k].dim()));
        let mut work = EdgeRoundWork::default();
        let out = case.forward([&x, &senders, &edges], &mut work);
        let pulls = noise.normals(out.len());
        let (mut dx, mut gradients) = (vec![f32::NAN; x.len()], vec![0.0; case.parameters.len()]);
        let (mut dothers, mut dout) = ([vec![0.0; senders.len()], vec![]], pulls.clone());
        let parts = case.edges(&edges);
        case.round
            .backward(
                &case.weights,
                (&case.graphs[0], parts[0]),
                case.others(&senders, parts),
                &x,
                (&out, &mut dout),
                &mut work,
                (&mut dx, &mut dothers),
                &mut gradients,
            )
            .unwrap();
        let wide: Vec<f64> = edges.iter().map(|&e| f64::from(e)).collect();
        check_gradients(
            &[&case.parameters, &x, &senders],
            &[&gradients, &dx, &dothers[0]],
            |[parameters, x, senders]| case.oracle(parameters, [x, senders, &wide]),
            (&out, &pulls),
        );
    }
}

#[test]
fn features_turn_with_features_and_edges() {
    let turning = [Symmetry::So2, Symmetry::O2].map(gated);
    for case in GROUPS.map(case).into_iter().chain(turning) {
        let copies = |k: usize| case.reps[k].copies(ROWS[k]).unwrap();
        let input = copies(0).plus(&copies(1)).unwrap().plus(&copies(2)).unwrap();
        check_equivariance(&input, &case.output.copies(3).unwrap(), |all| {
            let (x, rest) = all.split_at(copies(0).dim());
            let (senders, edges) = rest.split_at(copies(1).dim());
            case.forward([x, senders, edges], &mut EdgeRoundWork::default())
        });
    }
}

/// Where the paper's messages would tell the mean, these tell two things from one: opposite edges do not cancel.
#[test]
fn opposite_edges_do_not_cancel() {
    let (case, mut noise) = (case(GROUPS[0]), Noise::new(43));
    let [x, senders, mut edges] = [0, 1, 2].map(|k| noise.normals(ROWS[k] * case.reps[k].dim()));
    let mut means = |edge: [f32; 4]| {
        edges[..4].copy_from_slice(&edge); // agent 0 hears agents 1 and 2
        let mut same = x.clone();
        same.copy_within(8..16, 16); // which have the same features
        case.forward([&same, &senders, &edges], &mut EdgeRoundWork::default())
    };
    assert_ne!(means([1.0, 0.5, -1.0, -0.5])[..8], means([0.25, 2.0, -0.25, -2.0])[..8]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (case, mut work) = (case(GROUPS[0]), EdgeRoundWork::default());
    let [x, senders, edges] = [0, 1, 2].map(|k| vec![0.1; ROWS[k] * case.reps[k].dim()]);
    let parts = case.edges(&edges);
    let mut forward = |x: &[f32], senders: &[f32], parts: [&[f32]; 3], kinds: usize| {
        let mut out = vec![0.0; 3 * case.round.outputs()];
        let (agents, others) = ((&case.graphs[0], parts[0]), case.others(senders, parts).take(kinds));
        case.round.forward(&case.weights, agents, others, x, &mut work, &mut out).is_ok()
    };
    assert!(forward(&x, &senders, parts, 2));
    assert!(!forward(&x[8..], &senders, parts, 2), "an agent without features");
    assert!(!forward(&x, &senders[4..], parts, 2), "a sender that is not there");
    assert!(!forward(&x, &senders, [&parts[0][2..], parts[1], parts[2]], 2), "an edge without a vector");
    assert!(!forward(&x, &senders, [parts[0], parts[1], &parts[2][1..]], 2), "half a vector");
    assert!(!forward(&x, &senders, parts, 1), "a kind too few");
    let mut weights = EdgeRoundWeights::default();
    assert!(case.round.realise(&case.parameters[1..], &mut weights).is_err());
    let own = (Sent::default(), &[Sent::default(); 2][..]);
    let mut one = |own: &[f32], heard: (Sent<'_>, &[Sent<'_>])| {
        case.round.one(&case.weights, own, heard, &mut work, &mut [0.0; 8])
    };
    assert!(one(&x[..8], own).is_ok());
    assert!(one(&x[..7], own).is_err());
    assert!(one(&x[..8], (own.0, &own.1[1..])).is_err());
    assert!(one(&x[..8], (Sent { edges: &[0.0; 2], features: &[] }, own.1)).is_err());
}
