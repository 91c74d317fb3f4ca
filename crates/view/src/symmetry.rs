//! A state beside its turned twin, the policy computed for each by itself:
//! pi(g s)\[g i\]\[g a\] - pi(s)\[i\]\[a\] for every agent i and action a, and V(g s) - V(s).

use crate::episode::{self, judge};
use crate::error::{Answer, Refusal};
use equimarl_group::{Element, Plane};
use equimarl_nn::{Judgement, Policy};
use equimarl_worlds::Symmetric;
use serde_json::{Value, json};

/// All turns of this world, how they move the plane, and which of them the network has built in.
pub(crate) fn elements<W: Symmetric>(policy: &Policy, world: &W) -> Answer<Value> {
    let symmetry = world.symmetry();
    let own = policy.config().group()?;
    let known = Plane::new(&own)?;
    let known: Vec<[[i32; 2]; 2]> = own.elements().map(|g| known.matrix(g)).collect();
    let list = symmetry.group.elements().map(|g| {
        let matrix = symmetry.plane.matrix(g);
        json!({
            "name": symmetry.group.element_name(g),
            "words": words(matrix),
            "matrix": matrix,
            "built_in": known.contains(&matrix),
        })
    });
    Ok(json!(list.collect::<Vec<Value>>()))
}

/// The twin of a state, what the policy says there, and how far that is from what it should say.
pub(crate) fn twin<W: Symmetric>(
    policy: &Policy,
    world: &W,
    said: &Judgement,
    name: &str,
    pictured: &[usize],
) -> Answer<Value> {
    let group = &world.symmetry().group;
    let g: Element = group
        .elements()
        .find(|&g| group.element_name(g) == name)
        .ok_or_else(|| Refusal::unknown(format!("{group} has no element of that name")))?;
    let turned = world.turned(g)?;
    let (there, there_layers) = judge(policy, &turned)?;
    let (agents, actions) = (world.agents(), policy.actions());
    let to_agent: Vec<usize> = (0..agents).map(|i| world.turn_agent(g, i)).collect();
    let to_action: Vec<usize> = (0..actions).map(|a| world.turn_action(g, a)).collect();
    let mut expected = vec![0.0f32; agents * actions];
    let mut differences = vec![vec![0.0f64; actions]; agents];
    for (i, &image) in to_agent.iter().enumerate() {
        for (a, &b) in to_action.iter().enumerate() {
            let (from, to) = (i * actions + a, image * actions + b);
            expected[to] = said.log_probabilities[from];
            let (here, there) = (said.log_probabilities[from].exp(), there.log_probabilities[to].exp());
            differences[i][a] = (f64::from(there) - f64::from(here)).abs();
        }
    }
    let largest = differences.iter().flatten().fold(0.0f64, |m, &d| m.max(d));
    // The page shows the pictures and features of the same agents, under the index that they have there.
    let images: Vec<usize> = pictured.iter().filter(|&&a| a < agents).map(|&a| to_agent[a]).collect();
    let mut seen = episode::view(policy, &turned, &there, &there_layers, &images)?;
    seen["state"] = turned.save();
    seen["element"] = json!(name);
    seen["agents"] = json!(to_agent);
    seen["actions"] = json!(to_action);
    seen["expected"] = json!(expected.chunks(actions).map(episode::probabilities).collect::<Vec<_>>());
    seen["differences"] = json!(differences);
    seen["difference"] = json!(largest);
    seen["value_difference"] = json!((f64::from(there.values[0]) - f64::from(said.values[0])).abs());
    seen["columns"] = columns(policy, world, g)?;
    Ok(seen)
}

/// Where g moves the columns of an agent's features: group channel h goes to gh. Null if the network does not know g.
fn columns<W: Symmetric>(policy: &Policy, world: &W, g: Element) -> Answer<Value> {
    let own = policy.config().group()?;
    let plane = Plane::new(&own)?;
    let matrix = world.symmetry().plane.matrix(g);
    let same = own.elements().find(|&h| plane.matrix(h) == matrix);
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
