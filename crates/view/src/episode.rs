//! An episode, one request at a time. The page holds the state and sends it along; the server keeps nothing.
//!
//! Without a state, an episode begins. With one, the policy looks at it; with `step`, it also acts. The random streams
//! travel as their seed and positions, so an episode is the one that `equimarl play` plays with the same seed.

use crate::error::{Answer, Refusal};
use crate::models::Model;
use crate::symmetry;
use equimarl_learn::{AnyWorld, WorldConfig, likeliest, observe};
use equimarl_nn::{Features, Judgement, Policy, Sharing};
use equimarl_worlds::{End, Purpose, Stream, StreamState, Symmetric};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Instant;

/// The largest worlds on the page.
const MAX_DRONES: usize = 40;
const MAX_GRID: usize = 41;
const MAX_JUNCTIONS: usize = 10;
/// JavaScript counts exactly up to here.
const MAX_SEED: u64 = 1 << 53;
/// Pictures of so many agents in one answer.
const MAX_PICTURES: usize = 24;

/// What the page asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// Who decides.
    pub model: String,
    /// Another size than the model's own.
    #[serde(default)]
    size: Size,
    /// Which episode.
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    episode: u64,
    /// The state; a new episode begins without one.
    #[serde(default)]
    state: Option<Value>,
    /// Where the streams of chance and of choice are.
    #[serde(default)]
    streams: Option<[String; 2]>,
    /// Whether the team takes a step.
    #[serde(default)]
    step: bool,
    /// Whether it takes its likeliest actions.
    #[serde(default)]
    greedy: bool,
    /// The turn of the twin, by name.
    #[serde(default)]
    element: Option<String>,
    /// Agents whose pictures are wanted, the first one with its features.
    #[serde(default)]
    pictures: Vec<usize>,
}

/// How large a world.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    #[serde(default)]
    drones: Option<usize>,
    #[serde(default)]
    rows: Option<usize>,
    #[serde(default)]
    cols: Option<usize>,
}

/// Answers for a model in its world.
pub(crate) fn answer(model: &Model, ask: &Ask) -> Answer<Value> {
    let world = sized(&model.world, &ask.size)?;
    // The page shows every symmetry that the world has, whatever the network knows of it.
    let group = match world {
        WorldConfig::Wildlife { .. } => "D4",
        WorldConfig::Traffic { .. } => world.usual_group(),
    };
    match world.build(&group.parse()?)? {
        AnyWorld::Wildlife(world) => play(&model.policy, world, ask),
        AnyWorld::Traffic(world) => play(&model.policy, world, ask),
    }
}

fn sized(world: &WorldConfig, size: &Size) -> Answer<WorldConfig> {
    let mut world = world.clone();
    let fits = match &mut world {
        WorldConfig::Wildlife { drones, grid } => {
            *drones = size.drones.unwrap_or(*drones);
            *drones <= MAX_DRONES && *grid <= MAX_GRID && size.rows.or(size.cols).is_none()
        }
        WorldConfig::Traffic { rows, cols, step_limit, arrival_steps, .. } => {
            *rows = size.rows.unwrap_or(*rows);
            *cols = size.cols.unwrap_or(*cols);
            let small =
                (*rows).max(*cols) <= MAX_JUNCTIONS && *arrival_steps <= 10_000 && *step_limit <= 100_000;
            small && size.drones.is_none()
        }
    };
    if !fits {
        return Err(Refusal::impossible(format!(
            "the page shows up to {MAX_DRONES} drones on {MAX_GRID} x {MAX_GRID} cells, or {MAX_JUNCTIONS} x \
             {MAX_JUNCTIONS} junctions"
        )));
    }
    Ok(world)
}

fn play<W: Symmetric>(policy: &Policy, mut world: W, ask: &Ask) -> Answer<Value> {
    if ask.seed > MAX_SEED || ask.episode > MAX_SEED {
        return Err(Refusal::bad(format!("seeds and episodes end at {MAX_SEED}")));
    }
    fits(policy, &world)?;
    let (mut chance, mut choice) = streams(ask)?;
    match &ask.state {
        Some(state) => world.load(state)?,
        None => world.reset(&mut chance),
    }
    let mut answer = json!({});
    if ask.step {
        let (said, _) = judge(policy, &world)?;
        let actions = choose(&said, policy.actions(), ask.greedy, &mut choice);
        let draw = world.draw(&mut chance);
        let outcome = world.step(&actions, &draw);
        let end = match outcome.end {
            End::Running => "running",
            End::Terminated => "terminated",
            End::Truncated => "truncated",
        };
        answer = json!({ "actions": actions, "reward": outcome.reward, "end": end });
    }
    let start = Instant::now();
    let (said, layers) = judge(policy, &world)?;
    answer["microseconds"] = json!(start.elapsed().as_micros() as u64);
    answer["streams"] = json!([position(&chance)?, position(&choice)?]);
    answer["state"] = world.save();
    answer["here"] = view(policy, &world, &said, &layers, &ask.pictures)?;
    answer["elements"] = symmetry::elements(policy, &world)?;
    if let Some(name) = &ask.element {
        answer["twin"] = symmetry::twin(policy, &world, &said, name, &ask.pictures)?;
    }
    Ok(answer)
}

/// What the policy says of one state, each picture encoded by itself: sharing turned pictures would make every network
/// look equivariant.
pub(crate) fn judge<W: Symmetric>(policy: &Policy, world: &W) -> Answer<(Judgement, Vec<Features>)> {
    Ok(policy.explain(&observe([world], policy.config(), &Sharing::None)?)?)
}

/// What the page draws of a state.
pub(crate) fn view<W: Symmetric>(
    policy: &Policy,
    world: &W,
    said: &Judgement,
    layers: &[Features],
    pictured: &[usize],
) -> Answer<Value> {
    let (agents, actions) = (world.agents(), policy.actions());
    let probabilities: Vec<Vec<f64>> = said.log_probabilities.chunks(actions).map(probabilities).collect();
    let (mut edges, mut heard) = (vec![], vec![]);
    let central = policy.config().kind.is_central();
    for agent in 0..agents {
        world.neighbours(agent, &mut heard);
        edges.extend(heard.iter().map(|e| [agent, e.from]));
    }
    // Messages are the features before each round; their strength is what a reader can see of them.
    let norm = |row: &[f32]| row.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
    let rounds: Vec<Vec<f64>> = match central {
        true => vec![],
        false => layers[..policy.rounds()]
            .iter()
            .map(|layer| layer.rows.chunks(layer.width).map(|row| rounded(norm(row))).collect())
            .collect(),
    };
    let shape = world.picture_shape();
    let mut pictures = serde_json::Map::new();
    let mut picture = vec![0.0; shape.len()];
    for &agent in pictured.iter().take(MAX_PICTURES).filter(|&&a| a < agents) {
        world.render(&world.observation_key(agent), &mut picture);
        let hex: String =
            picture.iter().map(|v| format!("{:x}", (v * 15.0).round().clamp(0.0, 15.0) as u8)).collect();
        pictures.insert(agent.to_string(), json!(hex));
    }
    Ok(json!({
        "probabilities": probabilities,
        "value": said.values[0],
        "edges": edges,
        "central": central,
        "rounds": rounds,
        "pictures": { "shape": [shape.channels, shape.height, shape.width], "of": pictures },
        "features": features(policy, layers, pictured.first().copied(), agents),
    }))
}

/// The last features of one agent: a row per channel, a column per group element.
fn features(policy: &Policy, layers: &[Features], agent: Option<usize>, agents: usize) -> Value {
    let (Some(agent), Some(last)) = (agent, layers.last()) else { return Value::Null };
    if policy.config().kind.is_central() || agent >= agents {
        return Value::Null;
    }
    let row = &last.rows[agent * last.width..(agent + 1) * last.width];
    let names: Vec<String> = match policy.config().group() {
        Ok(group) => group.elements().map(|g| group.element_name(g).to_string()).collect(),
        Err(_) => return Value::Null,
    };
    let values: Vec<f64> = row.iter().map(|&v| rounded(f64::from(v))).collect();
    json!({ "columns": names.len(), "names": names, "values": values })
}

pub(crate) fn probabilities(row: &[f32]) -> Vec<f64> {
    row.iter().map(|&p| rounded(f64::from(p.exp()))).collect()
}

/// Seven decimals are as fine as single precision, and short.
fn rounded(x: f64) -> f64 {
    (x * 1e7).round() / 1e7
}

/// Refuses a world with other pictures or actions than the network's. Of teams, only central networks care.
fn fits<W: Symmetric>(policy: &Policy, world: &W) -> Answer<()> {
    let (setting, shape) = (&policy.config().setting, world.picture_shape());
    if [shape.channels, shape.height, shape.width] != setting.picture || world.actions() != policy.actions() {
        return Err(Refusal::impossible("this model was made for another world"));
    }
    Ok(())
}

fn choose(said: &Judgement, actions: usize, greedy: bool, choice: &mut Stream) -> Vec<usize> {
    let one = |row: &[f32]| {
        if greedy { likeliest(row) } else { equimarl_learn::sample(actions, |a| row[a], choice) }
    };
    said.log_probabilities.chunks(actions).map(one).collect()
}

/// The streams of this episode, where the page says that they are.
fn streams(ask: &Ask) -> Answer<(Stream, Stream)> {
    let at = |purpose: Purpose, position: Option<&String>| -> Answer<Stream> {
        let Some(position) = position else { return Ok(Stream::new(ask.seed, purpose, ask.episode)) };
        let position: u64 =
            position.parse().map_err(|_| Refusal::bad("a position in a random stream is a whole number"))?;
        let state = json!({ "seed": ask.seed, "purpose": purpose, "index": ask.episode, "position": position.to_string() });
        let state: StreamState = serde_json::from_value(state).map_err(Refusal::impossible)?;
        Ok(Stream::load(&state)?)
    };
    let [chance, choice] = match &ask.streams {
        Some([chance, choice]) => [Some(chance), Some(choice)],
        None => [None, None],
    };
    Ok((at(Purpose::Evaluation, chance)?, at(Purpose::EvaluationAction, choice)?))
}

fn position(stream: &Stream) -> Answer<Value> {
    let state = serde_json::to_value(stream.save()).map_err(Refusal::impossible)?;
    Ok(state["position"].clone())
}
