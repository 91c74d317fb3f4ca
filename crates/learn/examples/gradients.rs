//! The gradient of the PPO loss of the four distributed networks, with everything that is needed to compute it again.
//!
//! `cargo run --release -p equimarl-learn --example gradients -- FILE` writes one JSON file; `bench/peers/gradients.py`
//! reads it and compares with PyTorch.

use equimarl_kernels::realise::Realisation;
use equimarl_kernels::softmax::log_softmax;
use equimarl_learn::{LossConfig, Method, Observer, Samples, States, TrainConfig};
use equimarl_learn::{Result, random_states};
use equimarl_nn::{Batch, Cache, Images, Network, Sharing, Space};
use equimarl_worlds::{Edges, Envs, Purpose, Registry, Stream, builtin};
use serde_json::{Value, json};

const STATES: usize = 6;
const LOSS: LossConfig = LossConfig { clip: 0.1, value: 1.0, entropy: 0.01 };

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("where to? Give a file")?;
    let mut networks = vec![];
    let registry = builtin();
    // The PyTorch version knows networks for images.
    let images = |name: &&str| {
        registry.usual(name).and_then(|world| registry.describe(&world)).is_ok_and(|d| d.spec.image.is_some())
    };
    for name in registry.names().into_iter().filter(images) {
        for method in [Method::Equivariant, Method::Plain] {
            let config = TrainConfig::preset(&registry, "paper", registry.usual(name)?, method)?;
            let mut network = describe(&registry, &config)?;
            network["name"] = json!(format!("{name}-{method}"));
            networks.push(network);
        }
    }
    let loss = json!({ "clip": LOSS.clip, "value": LOSS.value, "entropy": LOSS.entropy });
    std::fs::write(path, serde_json::to_vec(&json!({ "networks": networks, "loss": loss }))?)?;
    Ok(())
}

fn describe(registry: &Registry, config: &TrainConfig) -> Result<Value> {
    let mut network = lively(registry, config)?;
    let states = random_states(&*config.make(registry, 1)?, STATES, 1)?;
    let pixels = observe(&network, &*states, false)?;
    let parts = observe(&network, &*states, true)?;
    assert!(matches!(pixels.images, Images::Pixels(_)) && !pixels.is_turned(), "every image is there");
    assert!(matches!(parts.images, Images::Book(_)), "there is a dictionary");

    let mut cache = Cache::default();
    network.forward(&pixels, &mut cache)?;
    let samples = draw(&network, &pixels, &cache)?;
    let ways = [("dense", pixels), ("dictionary", parts)].map(|(way, batch)| {
        let mut gradient = vec![0.0; network.values().len()];
        network.forward(&batch, &mut cache)?;
        let (said, back) = cache.output_gradient();
        let (logits, values) = (said.logits.clone(), said.values.clone());
        let loss = LOSS.loss(said, &batch.starts, &samples, back)?.total;
        network.backward(&batch, &mut cache, &mut gradient)?;
        Ok(json!({ "way": way, "logits": logits, "values": values, "loss": loss, "gradient": gradient }))
    });
    let ways = ways.into_iter().collect::<Result<Vec<Value>>>()?;
    let named = network.named().into_iter().map(|(name, at)| json!([name, at.start, at.end]));
    Ok(json!({
        "layers": network.layers().map(layer).collect::<Vec<Value>>(),
        "coefficients": network.values(),
        "named": named.collect::<Vec<Value>>(),
        "batch": look(&*states),
        "samples": {
            "actions": samples.actions,
            "log_probabilities": samples.log_probabilities,
            "advantages": samples.advantages,
            "returns": samples.returns,
        },
        "ours": ways,
    }))
}

/// Fresh weights, but with biases, and with a policy that prefers some actions: nothing is zero or even by chance.
fn lively(registry: &Registry, config: &TrainConfig) -> Result<Network> {
    let mut numbers = Stream::new(config.seed, Purpose::Weights, 0);
    let mut network = Network::init(&config.network(registry)?, &mut || numbers.normal())?;
    for (name, range) in network.named() {
        for x in &mut network.values_mut()[range] {
            if name.ends_with(".bias") {
                *x += 0.1 * numbers.normal() as f32;
            } else if name == "policy.weight" {
                *x *= 10.0;
            }
        }
    }
    Ok(network)
}

/// The states as batches show them: every image in pixels, or what is different in parts.
fn observe(network: &Network, states: &dyn Envs, parts: bool) -> Result<Batch> {
    let sharing = if parts { network.sharing() } else { Sharing::None };
    let dictionary = network.dictionary().filter(|_| parts);
    let mut observer = Observer::new(states, network.config(), &sharing)?.with_dictionary(states, dictionary);
    let (mut seen, mut batch) = (States::default(), Batch::default());
    batch.clear();
    (0..states.len()).try_for_each(|e| observer.see(states.world(e), &mut seen))?;
    observer.collate(&seen, (0..states.len()).map(|s| (s, 0)), &mut batch)?;
    Ok(batch)
}

/// Random samples whose old policy is near the network's own. With this seed some ratios are clipped from below, some from
/// above, and some not at all.
fn draw(network: &Network, batch: &Batch, cache: &Cache) -> Result<Samples> {
    let (mut numbers, actions) = (Stream::new(4, Purpose::Action, 0), network.actions());
    let logits = &cache.output().logits;
    let mut log_policy = vec![0.0; logits.len()];
    log_softmax(logits, actions, &mut log_policy).map_err(equimarl_nn::Error::from)?;
    let mut samples = Samples::default();
    for team in batch.starts.windows(2) {
        let mut joint = 0.0;
        for agent in team[0]..team[1] {
            let action = numbers.below(actions as u32) as usize;
            joint += log_policy[agent as usize * actions + action];
            samples.actions.push(action);
        }
        samples.log_probabilities.push(joint + 0.3 * numbers.normal() as f32);
        samples.advantages.push(numbers.normal() as f32);
        samples.returns.push(numbers.normal() as f32);
    }
    Ok(samples)
}

/// What the agents see and hear, by the world's own word and not by the batches': images, edges (agent, neighbour,
/// vector) and where the agents of each state start.
fn look(states: &dyn Envs) -> Value {
    let [channels, height, width] = states.spec().image.unwrap_or_default();
    let (mut images, mut edges, mut starts, mut heard) = (vec![], vec![], vec![0], Edges::default());
    for e in 0..states.len() {
        let (state, first) = (states.world(e), starts[starts.len() - 1]);
        for agent in 0..state.agents() {
            let mut image = vec![0.0f32; channels * height * width];
            state.observe(agent, &mut image);
            images.extend(image);
            state.neighbours(agent, &mut heard);
            edges.extend(heard.iter().map(|(from, vector)| json!([first + agent, first + from, vector])));
        }
        starts.push(first + state.agents());
    }
    let shape = [starts[starts.len() - 1], channels, height, width];
    json!({ "shape": shape, "pictures": images, "edges": edges, "starts": starts })
}

/// How weight and bias follow from the coefficients of the layer.
fn layer((name, space): (&str, &Space)) -> Value {
    let mut shape = vec![space.output().dim(), space.input().dim()];
    shape.extend(space.kernel().iter().flat_map(|&k| [k, k]));
    json!({
        "name": name,
        "shape": shape,
        "weight": entries(space.weight(), 0),
        "bias": entries(space.bias(), space.ranks()[0]),
        "coefficients": space.parameters(),
    })
}

/// The coefficient and the scale of every entry; -1 if there is none.
fn entries(realisation: &Realisation, first: usize) -> Value {
    let entry = |e: usize| {
        let mut terms = realisation.terms(e);
        let found = terms.next().map_or((-1, 0.0), |(index, scale)| ((first + index) as i64, scale));
        assert!(terms.next().is_none(), "an entry has at most one term");
        found
    };
    let (index, scale): (Vec<i64>, Vec<f32>) = (0..realisation.entries()).map(entry).unzip();
    json!({ "index": index, "scale": scale })
}
