//! Lights of a city in SUMO, as a world.

use crate::city::{City, PHASES};
use crate::demand::{self, Trip};
use crate::folder::Folder;
use crate::lights::Lights;
use crate::options::Options;
use crate::process::{Failure, Process};
use crate::shared::{Built, Shared};
use crate::state::State;
use crate::trips::{Totals, TripInfo};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{Edges, End, Outcome, Result, Spec, Stream, World};
use std::cell::Cell;
use std::sync::Arc;

/// Metres that are one unit of edge vectors.
const UNIT: f64 = 200.0;

/// The lights of a city, in one SUMO.
pub struct Sumo {
    pub(crate) shared: Arc<Shared>,
    pub(crate) built: Option<Arc<Built>>,
    /// A SUMO, and its files.
    pub(crate) process: Option<Process>,
    pub(crate) folder: Option<Folder>,
    /// Who sets the lights next; controllers say so.
    pub(crate) lights: Cell<Lights>,
    /// Who has set them so far in this episode.
    pub(crate) set_by: Lights,
    pub(crate) watched: bool,
    pub(crate) demand: Vec<Trip>,
    pub(crate) seed: u32,
    pub(crate) decisions: usize,
    /// Each junction's phase, and for how many seconds it has been green.
    pub(crate) phases: Vec<Option<usize>>,
    pub(crate) greens: Vec<usize>,
    pub(crate) state: Option<State>,
    pub(crate) finished: Option<(Totals, Vec<TripInfo>)>,
    /// A step that could not be sent.
    pub(crate) broken: Option<Failure>,
    pub(crate) deaths: usize,
    pub(crate) deaths_in_a_row: usize,
}

impl Sumo {
    /// A city that was not started yet. SUMO is looked for when it is.
    pub fn new(shared: Arc<Shared>) -> Sumo {
        let agents = shared.declared.spec.agents;
        Sumo {
            shared,
            built: None,
            process: None,
            folder: None,
            lights: Cell::new(Lights::Agents),
            set_by: Lights::Agents,
            watched: false,
            demand: vec![],
            seed: 0,
            decisions: 0,
            phases: vec![None; agents],
            greens: vec![0; agents],
            state: None,
            finished: None,
            broken: None,
            deaths: 0,
            deaths_in_a_row: 0,
        }
    }

    /// The city, once an episode began.
    pub fn city(&self) -> Option<&City> {
        self.built.as_ref().map(|b| &b.city)
    }

    pub(crate) fn seen(&self) -> Option<(&City, &State)> {
        Some((&self.built.as_ref()?.city, self.state.as_ref()?))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Decisions so far.
    pub(crate) fn decisions(&self) -> usize {
        self.decisions
    }

    /// How often vehicles turn right, go straight on and turn left, where they may: as they are drawn, or equally often if they come
    /// from a file.
    pub(crate) fn turning(&self) -> [f64; 3] {
        let Options { flow, routes, .. } = &self.shared.options;
        let turn = if routes.is_empty() { flow.turning } else { 1.0 / 3.0 };
        [turn, 1.0 - 2.0 * turn, turn]
    }

    /// Each junction's phase.
    pub(crate) fn phase(&self, agent: usize) -> Option<usize> {
        self.phases[agent]
    }

    /// How often SUMO died so far.
    pub fn deaths(&self) -> usize {
        self.deaths
    }

    /// The trips of the episode that just ended.
    pub fn trips(&self) -> &[TripInfo] {
        self.finished.as_ref().map_or(&[], |(_, trips)| trips)
    }

    /// What the episode that just ended amounts to.
    pub fn totals(&self) -> Option<Totals> {
        self.finished.as_ref().map(|(totals, _)| *totals)
    }

    /// The id of the process that guards the running SUMO, for tests that kill it.
    pub fn guard(&self) -> Option<u32> {
        self.process.as_ref().map(Process::guard)
    }

    /// Whether a junction may have this phase next.
    pub fn legal(&self, agent: usize, phase: usize) -> bool {
        let Some(city) = self.city() else { return true };
        let has = city.junctions[agent].phases[phase].is_some();
        let may_change = self.phases[agent]
            .is_none_or(|now| now == phase || self.greens[agent] >= self.options().min_green);
        has && may_change
    }
}

impl World for Sumo {
    fn spec(&self) -> &Arc<Spec> {
        &self.shared.declared.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        let built = self.shared.built()?;
        let options = &self.shared.options;
        let demand = match options.routes.is_empty() {
            true => demand::draw(&built.city, &options.flow, stream),
            false => vec![],
        };
        let seed = stream.word();
        self.begin_with(demand, seed)
    }

    fn step(&mut self, actions: &[usize], _stream: &mut Stream) -> Result<Outcome> {
        self.begin_step(actions)?;
        self.finish_step()
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        out.fill(0.0);
        let Some((city, state)) = self.seen() else { return };
        let (numbers, rest) = out.split_at_mut(crate::spec::PER_APPROACH * 4);
        crate::look::look(city, state, &city.junctions[who], numbers);
        let (phase, rest) = rest.split_at_mut(PHASES);
        if let Some(now) = self.phases[who] {
            phase[now] = 1.0;
        }
        for (k, legal) in rest[..PHASES].iter_mut().enumerate() {
            *legal = f32::from(u8::from(self.legal(who, k)));
        }
        rest[PHASES] = (self.greens[who] as f32 / 60.0).min(2.0);
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let declared = &self.shared.declared;
        let places = self.city().map(|c| c.junctions.iter().map(|j| c.net.nodes[j.node].at).collect());
        let places: Vec<[f64; 2]> = places.unwrap_or_else(|| declared.places.clone());
        let here = places[agent];
        let heard = self.city().map_or(&declared.neighbours[agent], |c| &c.neighbours[agent]);
        for &other in heard {
            let there = places[other];
            // Down and right.
            let vector = [(there[1] - here[1]) / UNIT, (here[0] - there[0]) / UNIT];
            edges.hear(other, &vector.map(|x| x as f32));
        }
    }

    fn measure(&self, which: usize, end: End) -> Option<f64> {
        if crate::spec::MEASURES[which].0 == "queue" {
            return Some(self.state.as_ref()?.queue);
        }
        let totals = self.totals().filter(|_| end == End::Truncated)?;
        Some(match crate::spec::MEASURES[which].0 {
            "time_loss" => totals.time_loss,
            "travel_time" => totals.travel_time,
            "waiting" => totals.waiting,
            "stops" => totals.stops,
            "throughput" => totals.throughput,
            "depart_delay" => totals.depart_delay,
            "not_inserted" => totals.not_inserted,
            _ => totals.teleports,
        })
    }

    fn control(&self, controller: &str, _stream: &mut Stream, actions: &mut [usize]) -> Result<()> {
        crate::controllers::control(self, controller, actions)
    }

    fn hold(&self, agent: usize) -> usize {
        self.phases[agent].unwrap_or(0)
    }

    fn scene(&self) -> Result<Scene> {
        crate::scene::scene(self)
    }
}
