//! A state beside its turned twin, the policy computed for each by itself:
//! pi(g s)\[g i\]\[g a\] - pi(s)\[i\]\[a\] for every agent i and action a, and V(g s) - V(s).

use crate::error::{Answer, Refusal};
use crate::look::{self, forward};
use equimarl_group::{Element, Group, Plane, Symmetry};
use equimarl_nn::{Policy, PolicyOutput};
use equimarl_worlds::{Envs, GroupAction, Joint, Token};
use serde_json::{Value, json};

/// All turns of this world, how they move the plane, and which of them the network has built in.
pub(crate) fn elements(policy: &Policy, acts: &GroupAction) -> Answer<Value> {
    let (own, group) = (policy.config().group()?, &acts.group);
    // Where the group acts on what one agent sees and not on the whole world, nothing can be turned.
    let all = group.elements().filter(|&g| acts.is_global() || g == group.identity());
    let list = all.map(|g| {
        let matrix = acts.plane().map(|plane| plane.matrix(g));
        let name = group.element_name(g);
        let moves = g == group.identity() || matrix != Some([[1, 0], [0, 1]]);
        json!({
            "name": name,
            "words": matrix.filter(|_| moves).map_or(name, |matrix| words(matrix)),
            "matrix": matrix,
            "identity": g == group.identity(),
            "built_in": in_network(&own, acts, g).is_some(),
        })
    });
    Ok(json!(list.collect::<Vec<Value>>()))
}

/// The element of the network's group that acts as g does, if there is one.
fn in_network(own: &Group, acts: &GroupAction, g: Element) -> Option<Element> {
    if *own == acts.group {
        return Some(g);
    }
    if g == acts.group.identity() {
        return Some(own.identity());
    }
    // Of different groups, only what they do to the plane can be compared; if that tells all elements apart.
    let (plane, known) = (acts.plane()?, Plane::new(own).ok()?);
    let alike = acts.group.elements().filter(|&h| plane.matrix(h) == plane.matrix(g)).count();
    own.elements().find(|&h| alike == 1 && known.matrix(h) == plane.matrix(g))
}

/// The twin of a state, what the policy says there, and how far that is from what it should say. What breaks the symmetry is
/// turned along, or held fixed.
pub(crate) fn twin(
    (policy, acts): (&Policy, &GroupAction),
    envs: &dyn Envs,
    taken: &Joint,
    said: &PolicyOutput,
    (name, along): (&str, bool),
    pictured: &[usize],
) -> Answer<Value> {
    let group = &acts.group;
    let g = group
        .element(name)
        .ok_or_else(|| Refusal::unknown(format!("{group} has no element of that name")))?;
    if !acts.is_global() && g != group.identity() {
        return Err(Refusal::impossible("this world cannot be turned as a whole"));
    }
    let exact = envs.exact().ok_or_else(|| Refusal::impossible("this world cannot be turned"))?;
    let turned = if along { exact.transformed_along(g)? } else { exact.transformed(g)? };
    let tokens = Token::transformed(&look::tokens(policy, envs), acts, g);
    let (there, there_layers) = forward(policy, &*turned, &tokens)?;
    let (agents, actions) = (envs.spec().agents, policy.actions());
    let to_agent: Vec<usize> = (0..agents).map(|i| acts.agent(g, i)).collect();
    let to_action = moved_wishes(policy, acts, g)?;
    let row = |said: &PolicyOutput, i: usize| {
        look::wishes(policy, &said.log_probabilities[i * actions..][..actions])
    };
    let mut expected = vec![vec![0.0f64; to_action.len()]; agents];
    let mut differences = vec![vec![0.0f64; to_action.len()]; agents];
    for (i, &image) in to_agent.iter().enumerate() {
        let (here, there) = (row(said, i), row(&there, image));
        for (a, &b) in to_action.iter().enumerate() {
            expected[image][b] = here[a];
            differences[i][a] = (there[b] - here[a]).abs();
        }
    }
    let largest = differences.iter().flatten().fold(0.0f64, |m, &d| m.max(d));
    let mut turned_taken = taken.clone();
    for (&image, &action) in to_agent.iter().zip(&taken.choices) {
        turned_taken.choices[image] = to_action[action];
    }
    let dim = acts.vector_dim().max(1);
    for (&image, vector) in to_agent.iter().zip(taken.vectors.chunks_exact(dim)) {
        acts.vector(g, vector, &mut turned_taken.vectors[image * dim..][..dim]);
    }
    // The page shows what the same agents see and feel, under the index that they have there.
    let images: Vec<usize> = pictured.iter().filter(|&&a| a < agents).map(|&a| to_agent[a]).collect();
    let mut seen = look::view(policy, &*turned, &turned_taken, (&there, &there_layers), &images)?;
    seen["element"] = json!(name);
    seen["agents"] = json!(to_agent);
    seen["actions"] = json!(to_action);
    seen["expected"] = json!(expected.into_iter().map(look::short).collect::<Vec<_>>());
    seen["differences"] = json!(differences);
    seen["difference"] = json!(largest);
    seen["value_difference"] = json!((f64::from(there.values[0]) - f64::from(said.values[0])).abs());
    seen["columns"] = columns(policy, acts, g)?;
    if let Some(exact) = turned.exact() {
        seen["state"] = exact.state(0);
    }
    Ok(seen)
}

/// Where g moves what is drawn around an agent: its choices, or the arrows of the compass.
fn moved_wishes(policy: &Policy, acts: &GroupAction, g: Element) -> Answer<Vec<usize>> {
    if !policy.acts_by_vectors() {
        return Ok((0..policy.actions()).map(|a| acts.action(g, a)).collect());
    }
    let plane =
        acts.plane().ok_or_else(|| Refusal::impossible("the page shows quarter turns and mirrors"))?;
    let find = |way: [i32; 2]| look::COMPASS.iter().position(|w| *w == way).unwrap_or(0);
    Ok(look::COMPASS.iter().map(|&way| find(plane.vector(g, way))).collect())
}

/// Where g moves the columns of an agent's features: group channel h goes to gh. Null if the network does not know g.
fn columns(policy: &Policy, acts: &GroupAction, g: Element) -> Answer<Value> {
    // Channels of SO2 and O2 do not stand for elements.
    let Symmetry::Finite(own) = policy.config().symmetry()? else { return Ok(Value::Null) };
    let same = in_network(&own, acts, g);
    Ok(same.map_or(Value::Null, |k| json!(own.elements().map(|h| own.mul(k, h)).collect::<Vec<_>>())))
}

/// What a turn does, in words.
fn words(matrix: [[i32; 2]; 2]) -> &'static str {
    match matrix {
        [[1, 0], [0, 1]] => "nothing",
        [[0, -1], [1, 0]] => "a quarter turn to the left",
        [[-1, 0], [0, -1]] => "a half turn",
        [[0, 1], [-1, 0]] => "a quarter turn to the right",
        [[1, 0], [0, -1]] => "left and right exchanged",
        [[-1, 0], [0, 1]] => "up and down exchanged",
        [[0, 1], [1, 0]] => "mirrored in the falling diagonal",
        _ => "mirrored in the rising diagonal",
    }
}
