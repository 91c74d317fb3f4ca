//! What tests against the real SUMO share. Each of them uses a part.
#![allow(dead_code)]

use equimarl_sumo::{Declared, Install, Options, Shared, Sumo, SumoDefinition, demand};
use equimarl_worlds::{Definition, End, Envs, Outcome, Purpose, Settings, Stream, World};
use std::path::PathBuf;
use std::sync::Arc;

/// SUMO, if it is here; without one the tests pass, unless `EQUIMARL_SUMO=required`: `.ci/sumo` sets that.
pub fn sumo() -> Option<Install> {
    match Install::find() {
        Ok(install) => Some(install),
        Err(error) if std::env::var("EQUIMARL_SUMO").is_ok_and(|v| v == "required") => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

pub fn settings() -> Settings {
    Settings::usual(&SumoDefinition.options())
        .with("rows", 2usize)
        .with("cols", 2usize)
        .with("duration", 300usize)
}

pub fn world(settings: &Settings) -> Sumo {
    let options = Options::of(settings).unwrap();
    let declared = Declared::new(&options, &"C4".parse().unwrap()).unwrap();
    Sumo::new(Arc::new(Shared::new(options, declared)))
}

pub fn envs(settings: &Settings, count: usize) -> Box<dyn Envs> {
    SumoDefinition.make(settings, &"C4".parse().unwrap(), count).unwrap()
}

pub fn stream(seed: u64) -> Stream {
    Stream::new(seed, Purpose::World, 0)
}

pub struct Temp(pub PathBuf);

impl Temp {
    pub fn new(name: &str) -> Temp {
        let path = std::env::temp_dir().join(format!("equimarl-sumo-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Temp(path)
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Plays an episode with actions by `choose(step, agent)`.
pub fn run(world: &mut Sumo, choose: impl Fn(usize, usize) -> usize) -> Vec<Outcome> {
    let (mut outcomes, agents) = (vec![], world.spec().agents);
    loop {
        let actions: Vec<usize> = (0..agents).map(|agent| choose(outcomes.len(), agent)).collect();
        outcomes.push(world.step(&actions, &mut stream(0)).unwrap());
        if outcomes[outcomes.len() - 1].end != End::Running {
            return outcomes;
        }
    }
}

/// Files of a 2x2 grid and a drawn demand.
pub fn files(install: &Install, folder: &Temp, noise: f64) -> [PathBuf; 2] {
    let options = Options::of(&settings()).unwrap();
    let (net, routes) = (folder.0.join("a.net.xml"), folder.0.join("a.rou.xml"));
    options.generate(install, &net).unwrap();
    let city = equimarl_sumo::City::new(equimarl_sumo::Net::read(&net).unwrap()).unwrap();
    let trips = demand::draw(&city, &options.flow, &mut stream(3));
    std::fs::write(&routes, demand::routes(&city, &trips, 0, noise)).unwrap();
    [net, routes]
}

pub fn of_files([net, routes]: &[PathBuf; 2]) -> Settings {
    let text = |path: &PathBuf| path.to_str().unwrap().to_string();
    settings().with("net", text(net).as_str()).with("routes", text(routes).as_str())
}

/// A net where routes should be.
pub fn of_nobody([net, _]: &[PathBuf; 2]) -> Settings {
    of_files(&[net.clone(), net.clone()])
}
