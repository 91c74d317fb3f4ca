//! A world of your own: six tanks in a ring, rain on one of them, and pumps to the left and to the right.
//!
//! Its symmetry is D6. A turn of the ring moves the tanks and leaves alone what each of them sees; a mirror exchanges left
//! and right. So the network that all tanks share needs to know one mirror, D1, and the turns of the ring come for free.
//!
//! `cargo run --release --example custom_world`

use equimarl_group::{Element, Group};
use equimarl_learn::{
    Choice, Games, Inference, Method, TrainConfig, Trainer, WorldConfig, equivariance, evaluate,
};
use equimarl_nn::{Kind, Network, NetworkConfig, Setting, Sharing};
use equimarl_worlds::{
    Edge, End, Error, Outcome, PictureShape, Purpose, Stream, Symmetric, Symmetry, World, audit,
};
use serde_json::{Value, json};

const TANKS: usize = 6;
const FULL: u8 = 4;

// ---- The world, in less than 60 lines. Short functions stay on one line, so that it fits on a page.

#[derive(Clone)]
#[rustfmt::skip]
struct Ring { levels: [u8; TANKS], steps: usize, symmetry: Symmetry }

#[rustfmt::skip]
impl World for Ring {
    type Chance = usize; // where it rains
    type Key = [u8; 3]; // what a tank sees: the levels to its left, its own, and to its right

    fn agents(&self) -> usize { TANKS }
    fn actions(&self) -> usize { 3 } // keep, pump to the left, pump to the right
    fn picture_shape(&self) -> PictureShape { PictureShape { channels: 1, height: 15, width: 15 } }
    fn reset(&mut self, stream: &mut Stream) {
        (self.levels, self.steps) = (std::array::from_fn(|_| stream.below(4) as u8), 0);
    }
    fn draw(&self, stream: &mut Stream) -> usize { stream.below(TANKS as u32) as usize }
    fn step(&mut self, actions: &[usize], rain: &usize) -> Outcome {
        let mut next = self.levels;
        for tank in (0..TANKS).filter(|&tank| actions[tank] > 0 && self.levels[tank] > 0) {
            next[tank] -= 1;
            next[(tank + [0, 5, 1][actions[tank]]) % TANKS] += 1;
        }
        next[*rain] += 3;
        let spilled: u8 = next.iter().map(|level| level.saturating_sub(FULL)).sum();
        self.levels = next.map(|level| level.min(FULL).saturating_sub(1)); // and a little is used everywhere
        self.steps += 1;
        Outcome { reward: -0.1 * f64::from(spilled), end: if self.steps == 40 { End::Truncated } else { End::Running } }
    }
    fn observation_key(&self, tank: usize) -> [u8; 3] { [5, 0, 1].map(|k| self.levels[(tank + k) % TANKS]) }
    fn render(&self, key: &[u8; 3], picture: &mut [f32]) {
        for (p, pixel) in picture.iter_mut().enumerate() { // three bars, as high as the water
            let (height, col) = (14 - p / 15, p % 15);
            *pixel = f32::from(u8::from((1..4).contains(&(col % 5)) && height < 3 * usize::from(key[col / 5])));
        }
    }
    fn neighbours(&self, tank: usize, edges: &mut Vec<Edge>) {
        *edges = [(5, 1.0), (1, -1.0)].map(|(k, x)| Edge { from: (tank + k) % TANKS, vector: [0.0, x] }).into();
        edges.sort_by_key(|edge| edge.from);
    }
    fn save(&self) -> Value { json!([self.levels, self.steps]) }
    fn load(&mut self, state: &Value) -> equimarl_worlds::Result<()> {
        (self.levels, self.steps) = serde_json::from_value(state.clone()).map_err(|e| Error::BadState(e.to_string()))?;
        Ok(())
    }
}

#[rustfmt::skip]
impl Symmetric for Ring {
    fn symmetry(&self) -> &Symmetry { &self.symmetry }
    fn turned(&self, g: Element) -> equimarl_worlds::Result<Ring> {
        let mut ring = self.clone();
        (0..TANKS).for_each(|tank| ring.levels[self.turn_agent(g, tank)] = self.levels[tank]);
        Ok(ring)
    }
    fn turn_chance(&self, g: Element, rain: &usize) -> usize { self.turn_agent(g, *rain) }
    fn turn_action(&self, g: Element, a: usize) -> usize { if g < TANKS { a } else { [0, 2, 1][a] } }
    fn turn_agent(&self, g: Element, tank: usize) -> usize { // elements of D6: six turns, then six mirrors
        if g < TANKS { (tank + g) % TANKS } else { (g + TANKS - tank) % TANKS }
    }
    fn turn_key(&self, g: Element, &[l, o, r]: &[u8; 3]) -> [u8; 3] { if g < TANKS { [l, o, r] } else { [r, o, l] } }
}

// ---- Everything else comes with the library.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // How D6 acts on what a tank sees: the turn not at all, the mirror as a mirror.
    let symmetry = Symmetry::by(&"D6".parse()?, "matrix[1 0, 0 1; 1 0, 0 -1]")?;
    let ring = Ring { levels: [0; TANKS], steps: 0, symmetry };

    let report = audit(&ring, 5000, 0);
    let wrong = report.elements.iter().find_map(|e| e.counterexample.as_ref().map(|c| c.text.clone()));
    println!(
        "the world has the symmetry D6: {} ({} steps, {} elements)",
        report.holds,
        report.steps,
        report.elements.len()
    );
    if let Some(wrong) = wrong {
        return Err(wrong.into());
    }

    for method in [Method::Equivariant, Method::Plain] {
        let group: Group = if method == Method::Equivariant { "D1" } else { "C1" }.parse()?;
        let actions = if method == Method::Equivariant { "perm[0 1 2; 0 2 1]" } else { "3*trivial" };
        let setting = Setting {
            world: "ring".into(),
            agents: TANKS,
            picture: [1, 15, 15],
            actions: actions.into(),
            central_picture: [TANKS, 15, 15],
            central_heads: vec![],
        };
        let kind = if method == Method::Equivariant { Kind::Equivariant } else { Kind::Plain };
        // The preset's numbers are what is wanted here; its world is not used.
        let preset = TrainConfig::preset("default", WorldConfig::wildlife(), method)?;
        let config = TrainConfig { steps: 60_000, seed: 1, ..preset };
        let mut weights = Stream::new(config.seed, Purpose::Weights, 0);
        let network = NetworkConfig::paper(setting, kind, &group);
        let network = Network::init(&network, &mut || weights.normal())?;
        let mut trainer = Trainer::with_network(&config, &ring, |_| 0.0, network)?;
        let score = |trainer: &Trainer<Ring>| -> Result<f64, Box<dyn std::error::Error>> {
            let policy = trainer.network().policy()?;
            let games = Games { episodes: 200, seed: 7, choice: Choice::Sampled };
            let summary = evaluate(
                &policy,
                &mut Inference::new(&policy, &Sharing::Distinct, &ring)?,
                &ring,
                games,
                || (),
                &|| false,
            )?;
            Ok(summary.map_or(f64::NAN, |s| s.total.mean))
        };
        let before = score(&trainer)?;
        while !trainer.is_finished() {
            trainer.iterate()?;
        }
        let policy = trainer.network().policy()?;
        let turns = equivariance(&policy, &ring, 100, 0)?;
        println!(
            "{method}: return {before:.2} before and {:.2} after {} steps; turned by any of D6, probabilities change by {:.1e}",
            score(&trainer)?,
            config.steps,
            turns.policy_error
        );
    }
    Ok(())
}
