//! How many greedy teams get away from 200 starts that a mirror leaves as they are, with and without tokens.
//!
//! Two agents stand left and right of an axis, and both landmarks lie on it. The mirror along the axis exchanges the agents and
//! leaves all that is seen as it is, so a greedy equivariant team does mirrored things forever: both go to the same landmark.
//!
//! ```text
//! cargo run --release -p equimarl-learn --example ties -- STEPS SEEDS
//! ```

use equimarl_learn::{Choice, Learned, Method, TrainConfig, Trainer};
use equimarl_nn::Network;
use equimarl_worlds::{Controller, End, Envs, Joint, Purpose, Stream, builtin};
use serde_json::{Value, json};

const STARTS: u64 = 200;
/// A team got away if it is farther than this from being mirrored.
const APART: f64 = 0.05;
/// A landmark has an agent if one is this near.
const NEAR: f64 = 0.2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let steps = numbers.next().transpose()?.unwrap_or(200_000);
    let seeds = numbers.next().transpose()?.unwrap_or(3);
    println!("| method | tokens | seed | got away | both landmarks | symmetric | other stuck | return |");
    println!("|---|---|---|---|---|---|---|---|");
    for (method, tokens) in [
        (Method::Equivariant, false),
        (Method::Equivariant, true),
        (Method::Plain, false),
        (Method::Plain, true),
    ] {
        for seed in 0..seeds {
            let (network, mut envs, total) = train(method, tokens, seed, steps)?;
            let found = play(&network, &mut *envs)?;
            println!("| {method} | {tokens} | {seed} | {found} | {total:.2} |");
        }
    }
    Ok(())
}

/// A trained team, its world, and the mean return of its last episodes.
fn train(
    method: Method,
    tokens: bool,
    seed: u64,
    steps: u64,
) -> Result<(Network, Box<dyn Envs>, f64), Box<dyn std::error::Error>> {
    let registry = builtin();
    let world = registry.usual("spread")?.with("agents", 2usize);
    let usual = TrainConfig::preset(&registry, "default", world, method)?;
    let changes = format!("seed = {seed}\nsteps = {steps}\ntokens = {tokens}");
    let config = TrainConfig::overlay(&registry, &usual, &changes)?;
    let mut trainer = Trainer::new(&registry, &config)?;
    while !trainer.is_finished() {
        trainer.iterate()?;
    }
    let network = trainer.network().clone();
    let envs = registry.make(&config.world, network.group(), 1)?;
    Ok((network, envs, trainer.episodes().statistic(|f| f.total).mean))
}

/// Start number `index`.
fn start(index: u64) -> Value {
    let mut stream = Stream::new(7, Purpose::Audit, index);
    let mut between = |lo: f64, hi: f64| lo + (hi - lo) * stream.unit();
    let (x, y) = (between(0.2, 0.9), between(-0.9, 0.9));
    let (above, below) = (between(0.3, 0.9), between(-0.9, -0.3));
    json!({
        "agents": [[-x, y, 0.0, 0.0], [x, y, 0.0, 0.0]],
        "landmarks": [[0.0, above], [0.0, below]],
        "steps": 0,
    })
}

/// The middle columns of the table.
fn play(network: &Network, envs: &mut dyn Envs) -> Result<String, Box<dyn std::error::Error>> {
    let mut team = Learned::new(network.policy()?, &network.sharing(), Choice::Greedy, envs)?;
    let (mut away, mut both) = (0, 0);
    for index in 0..STARTS {
        envs.start(0, Stream::new(0, Purpose::Evaluation, index))?;
        envs.exact_mut().ok_or("spread is exact")?.set_state(0, &start(index))?;
        team.begin(0, index);
        let (mut joint, mut choice) =
            (Joint::of(envs.spec()), Stream::new(0, Purpose::EvaluationAction, index));
        loop {
            joint.take(&mut team, envs.world(0), &mut choice)?;
            let outcome = joint.step(envs, 0)?;
            if outcome.end != End::Running {
                team.end(outcome.end);
                break;
            }
        }
        let state = envs.exact().ok_or("spread is exact")?.state(0);
        let at = |what: &str, i: usize| [0, 1].map(|k| state[what][i][k].as_f64().unwrap_or(f64::NAN));
        let [a, b] = [0, 1].map(|i| at("agents", i));
        away += usize::from((a[0] + b[0]).abs().max((a[1] - b[1]).abs()) > APART);
        let near = |i: usize| {
            let l = at("landmarks", i);
            [a, b].iter().any(|p| (p[0] - l[0]).hypot(p[1] - l[1]) < NEAR)
        };
        both += usize::from(near(0) && near(1));
    }
    let stuck = team.take_stuck();
    Ok(format!("{away} | {both} | {} | {}", stuck.symmetric, stuck.indifferent + stuck.settled))
}
