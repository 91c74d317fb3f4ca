//! What the page draws of a state, and what a policy says of it.

use crate::error::{Answer, Refusal};
use equimarl_group::{Group, Rep, Symmetry};
use equimarl_learn::observe_with;
use equimarl_nn::{Features, Gaussian, Policy, PolicyOutput, Sharing};
use equimarl_worlds::scene::{ActionMark, Scene};
use equimarl_worlds::{Edges, End, Envs, Joint, Measure, Spec, Token};
use serde_json::{Map, Value, json};

/// What is seen by so many agents in one answer.
const MAX_PICTURES: usize = 24;
/// The most shapes in a picture of a world.
const MAX_ITEMS: usize = 20_000;

/// What the policy says of one state, each picture encoded by itself: sharing turned pictures would make every network
/// look equivariant.
pub(crate) fn forward(
    policy: &Policy,
    envs: &dyn Envs,
    tokens: &[Token],
) -> Answer<(PolicyOutput, Vec<Features>)> {
    Ok(policy.explain(&observe_with(envs, tokens, policy.config(), &Sharing::None)?)?)
}

/// The tokens of agents on the page, if the policy has some: always the same, since states are edited by hand and belong to no
/// episode.
pub(crate) fn tokens(policy: &Policy, envs: &dyn Envs) -> Vec<Token> {
    Token::team(0, 0, envs.spec().agents, policy.token_order())
}

/// Down and right: where the arrows point that show vectors.
pub(crate) const COMPASS: [[i32; 2]; 4] = [[1, 0], [0, 1], [-1, 0], [0, -1]];

/// What the page draws around an agent of which the policy says this row: the probabilities of its choices; or, where it acts by
/// vectors of the plane, how far the mean points along each arrow of the compass, after the squash.
pub(crate) fn wishes(policy: &Policy, row: &[f32]) -> Vec<f64> {
    if !policy.acts_by_vectors() {
        return row.iter().map(|&p| f64::from(p.exp())).collect();
    }
    let mut mean = [0.0; 2];
    policy.squash().apply(Gaussian::of(row).mean, &mut mean);
    let along = |way: [i32; 2]| mean[0] * f64::from(way[0]) + mean[1] * f64::from(way[1]);
    COMPASS.map(|way| along(way).max(0.0)).to_vec()
}

/// What the page needs of the declaration: what actions are called and look like, and what the numbers are that agents see.
pub(crate) fn world(spec: &Spec, group: &Group) -> Value {
    let mut world = match spec.actions.vectors() {
        None => json!({ "name": spec.world, "actions": spec.actions.names(), "marks": spec.actions.marks() }),
        Some(_) => {
            let marks = COMPASS.map(|[down, right]| ActionMark::Arrow([right as f32, down as f32]));
            json!({ "name": spec.world, "actions": ["down", "right", "up", "left"], "marks": marks })
        }
    };
    if spec.image.is_none() {
        world["sees"] = json!({ "representation": spec.features, "labels": labels(&spec.features, group) });
    }
    world
}

/// A name for every number of a vector in a representation: its part, and its place in it. None if they cannot be told.
fn labels(rep: &str, group: &Group) -> Vec<String> {
    let mut labels = vec![];
    for part in rep.split(" + ").map(str::trim) {
        let Ok(dim) = Rep::parse(group, part).map(|rep| rep.dim()) else { return vec![] };
        // What stands in brackets is long, and said beside.
        let name = part.split('[').next().unwrap_or(part);
        labels.extend((0..dim).map(|k| if dim == 1 { name.to_string() } else { format!("{name} {k}") }));
    }
    labels
}

/// What people look at first in this world, if that is not the return, as it is now.
pub(crate) fn measure(envs: &dyn Envs, end: End) -> Value {
    let Some((which, measure)) = envs.spec().first_measure() else { return Value::Null };
    let value = envs.world(0).measure(which, end);
    json!({ "name": measure.name, "title": measure.title, "unit": measure.unit, "value": value })
}

/// What hides failures if nobody looks, as it is now.
pub(crate) fn alarms(envs: &dyn Envs, end: End) -> Value {
    let spec = envs.spec();
    let all = spec.measures.iter().enumerate().filter(|(_, m)| spec.alarms.contains(&m.name) && !m.first);
    let one = |(which, measure): (usize, &Measure)| json!({ "name": measure.name, "title": measure.title, "unit": measure.unit, "value": envs.world(0).measure(which, end) });
    all.map(one).collect()
}

/// What the page draws of a state to which `actions` led, if any did.
pub(crate) fn view(
    policy: &Policy,
    envs: &dyn Envs,
    actions: &Joint,
    (said, layers): (&PolicyOutput, &[Features]),
    pictured: &[usize],
) -> Answer<Value> {
    let (world, agents) = (envs.world(0), envs.spec().agents);
    let scene = if *actions == Joint::default() { world.scene()? } else { actions.scene(world)? };
    let central = policy.config().kind.is_central();
    let (mut edges, mut heard) = (vec![], Edges::default());
    for agent in 0..agents {
        world.neighbours(agent, &mut heard);
        edges.extend(heard.iter().map(|(from, _)| [agent, from]));
    }
    // Messages are the features before each round; their strength is what a reader can see of them.
    let norm = |row: &[f32]| row.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
    let strengths = |layer: &Features| -> Vec<f64> {
        layer.rows.chunks(layer.width.max(1)).map(|row| rounded(norm(row))).collect()
    };
    let rounds: Vec<Vec<f64>> = match central {
        true => vec![],
        false => layers.iter().take(policy.rounds()).map(strengths).collect(),
    };
    let mut view = json!({
        "scene": drawn(&scene)?,
        "probabilities": shown(policy, &said.log_probabilities),
        "value": said.values[0],
        "edges": edges,
        "central": central,
        "rounds": rounds,
        "features": features(policy, layers, pictured.first().copied(), agents),
    });
    let shown: Vec<usize> = pictured.iter().copied().filter(|&a| a < agents).take(MAX_PICTURES).collect();
    let (what, seen) = observations(envs, &shown)?;
    view[what] = seen;
    Ok(view)
}

/// A picture of a world as JSON.
fn drawn(scene: &Scene) -> Answer<Value> {
    let items = scene.items().len();
    if items > MAX_ITEMS {
        return Err(Refusal::impossible(format!(
            "a picture of this world has {items} shapes, and the page shows at most {MAX_ITEMS}"
        )));
    }
    // By way of text, which has short numbers: 0.4 as a double would be 0.4000000059604645.
    let text = serde_json::to_string(scene).map_err(Refusal::impossible)?;
    serde_json::from_str(&text).map_err(Refusal::impossible)
}

/// What some agents see: `pictures`, with one hexadecimal digit per pixel, or `numbers`.
fn observations(envs: &dyn Envs, agents: &[usize]) -> Answer<(&'static str, Value)> {
    let (world, spec) = (envs.world(0), envs.spec());
    let mut of = Map::new();
    let Some(shape) = spec.image else {
        let dim = Rep::parse(&spec.group.parse()?, &spec.features)?.dim();
        let mut numbers = vec![0.0; dim];
        for &agent in agents {
            world.observe(agent, &mut numbers);
            let numbers: Vec<f64> = numbers.iter().map(|&v| rounded(f64::from(v))).collect();
            of.insert(agent.to_string(), json!(numbers));
        }
        return Ok(("numbers", of.into()));
    };
    let mut picture = vec![0.0; shape.iter().product()];
    let digit = |v: &f32| format!("{:x}", (v * 15.0).round().clamp(0.0, 15.0) as u8);
    for &agent in agents {
        world.observe(agent, &mut picture);
        of.insert(agent.to_string(), picture.iter().map(digit).collect::<String>().into());
    }
    Ok(("pictures", json!({ "shape": shape, "of": of })))
}

/// The last features of one agent: a row per channel, a column per group element.
fn features(policy: &Policy, layers: &[Features], agent: Option<usize>, agents: usize) -> Value {
    let (Some(agent), Some(last)) = (agent, layers.last()) else { return Value::Null };
    if policy.config().kind.is_central() || agent >= agents {
        return Value::Null;
    }
    let row = &last.rows[agent * last.width..(agent + 1) * last.width];
    let Ok(Symmetry::Finite(group)) = policy.config().symmetry() else { return Value::Null };
    let names: Vec<&str> = group.elements().map(|g| group.element_name(g)).collect();
    let values: Vec<f64> = row.iter().map(|&v| rounded(f64::from(v))).collect();
    json!({ "columns": names.len(), "names": names, "values": values })
}

/// The wishes of all agents, short.
fn shown(policy: &Policy, rows: &[f32]) -> Vec<Vec<f64>> {
    rows.chunks(policy.actions()).map(|row| short(wishes(policy, row))).collect()
}

/// Numbers as the page gets them.
pub(crate) fn short(row: Vec<f64>) -> Vec<f64> {
    row.into_iter().map(rounded).collect()
}

/// Seven decimals are as fine as single precision, and short.
fn rounded(x: f64) -> f64 {
    (x * 1e7).round() / 1e7
}
