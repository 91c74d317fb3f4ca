//! Writes episodes of the Rust library as JSON, so that a test in Python can play the same ones: `tests/episodes.json`.

use equimarl_worlds::{End, Outcome, Purpose, WorldConfig, builtin};
use serde_json::{Value, json};

const SEED: u64 = 7;
const ENVIRONMENTS: usize = 2;
const STEPS: usize = 150;

type Any<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Any<()> {
    let registry = builtin();
    let wildlife = registry.usual("wildlife")?.with("drones", 2usize);
    // Short enough that episodes are cut off within the steps.
    let traffic = registry.usual("traffic")?.with("step_limit", 60usize);
    let played = [wildlife, traffic].iter().map(episodes).collect::<Any<Vec<_>>>()?;
    println!("{}", json!(played));
    Ok(())
}

fn episodes(world: &WorldConfig) -> Any<Value> {
    let registry = builtin();
    let group = registry.usual_group(world).unwrap_or_default().parse()?;
    let mut envs = registry.make(world, &group, ENVIRONMENTS)?;
    envs.start_all(SEED, Purpose::World)?;
    let (agents, count) = (envs.spec().agents, envs.spec().actions.count());
    let mut outcomes = [Outcome { reward: 0.0, end: End::Running }; ENVIRONMENTS];
    let mut steps = vec![];
    for t in 0..STEPS {
        // Anything that is easily said in both languages.
        let choose = |k: usize| (t * t / 3 + 7 * t + 3 * (k / agents) + 5 * (k % agents)) % count;
        let actions: Vec<usize> = (0..ENVIRONMENTS * agents).map(choose).collect();
        envs.step(&actions, &mut outcomes)?;
        let ended = |end: End| outcomes.iter().map(|o| o.end == end).collect::<Vec<_>>();
        for (e, _) in outcomes.iter().enumerate().filter(|(_, o)| o.end != End::Running) {
            envs.restart(e)?;
        }
        let ids = |e| (0..agents).map(|a| envs.world(e).id(a)).collect::<Vec<_>>();
        steps.push(json!({
            "ids": (0..ENVIRONMENTS).map(ids).collect::<Vec<_>>(),
            "rewards": outcomes.iter().map(|o| o.reward).collect::<Vec<_>>(),
            "terminals": ended(End::Terminated),
            "truncations": ended(End::Truncated),
        }));
    }
    Ok(json!({ "world": world, "seed": SEED, "steps": steps }))
}
