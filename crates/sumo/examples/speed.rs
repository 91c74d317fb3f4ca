//! How many seconds SUMO simulates per second through our client, with random phases, in one city or several side by side:
//! `cargo run --release -p equimarl-sumo --example speed -- ENVIRONMENTS [FOLDER]`. Given a folder, it writes the net and a
//! demand into it first, for other clients to run the same (bench/sumo).

use equimarl_sumo::{City, Net, Options, SumoDefinition, demand};
use equimarl_worlds::{Definition, End, Envs, Outcome, Purpose, Settings, Stream, uniform};
use std::path::Path;
use std::time::Instant;

fn main() -> equimarl_worlds::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count: usize = arguments.first().and_then(|n| n.parse().ok()).unwrap_or(1).max(1);
    let mut settings = Settings::usual(&SumoDefinition.options());
    if let Some(folder) = arguments.get(1).map(Path::new) {
        let options = Options::of(&settings)?;
        let [net, routes] = ["bench.net.xml", "bench.rou.xml"].map(|name| folder.join(name));
        if !routes.is_file() {
            options.generate(&equimarl_sumo::Install::find()?, &net)?;
            let city = City::new(Net::read(&net)?)?;
            let trips = demand::draw(&city, &options.flow, &mut Stream::new(1, Purpose::World, 0));
            let text = demand::routes(&city, &trips, 0, options.noise);
            std::fs::write(&routes, text).map_err(|e| equimarl_worlds::Error::BadWorld(e.to_string()))?;
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        settings = settings.with("net", text(&net).as_str()).with("routes", text(&routes).as_str());
    }
    let options = Options::of(&settings)?;
    let mut envs: Box<dyn Envs> = SumoDefinition.make(&settings, &"C4".parse()?, count)?;
    let agents = envs.spec().agents;
    let mut choice = Stream::new(1, Purpose::Action, 0);
    let (mut actions, mut outcomes) =
        (vec![0; count * agents], vec![Outcome { reward: 0.0, end: End::Running }; count]);
    let (start, mut steps) = (Instant::now(), 0);
    envs.start_all(1, Purpose::World)?;
    while outcomes[0].end == End::Running {
        for (e, actions) in actions.chunks_exact_mut(agents).enumerate() {
            uniform(envs.world(e), &mut choice, actions);
        }
        envs.step(&actions, &mut outcomes)?;
        steps += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    let simulated = (steps * count * options.interval) as f64;
    println!(
        "{{\"environments\": {count}, \"simulated_per_second\": {:.1}, \"decisions_per_second\": {:.1}}}",
        simulated / seconds,
        (steps * count) as f64 / seconds
    );
    Ok(())
}
