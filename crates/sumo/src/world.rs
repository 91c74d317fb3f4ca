//! Lights of a city in SUMO, as a world.

use crate::city::{City, Junction, LANES, PHASES};
use crate::demand::{self, Trip};
use crate::folder::Folder;
use crate::install::Install;
use crate::options::Options;
use crate::process::{Failure, PORT_TAKEN, Process};
use crate::spec::Declared;
use crate::state::State;
use crate::trips::{Totals, TripInfo, totals, trips};
use crate::wire::{Frame, News, id};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{Edges, End, Error, Outcome, Result, Spec, Stream, World};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The reward of a step, per junction and vehicle that does not move.
const REWARD: f64 = -0.02;
/// A green that nobody ends.
const LONG: f64 = 1e6;
/// So many deaths of SUMO in a row are no accident.
const MOST_DEATHS: usize = 3;
/// Metres that are one unit of edge vectors.
const UNIT: f64 = 200.0;

/// Who sets the lights in the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lights {
    /// The agents.
    Agents,
    /// The net's own programs.
    Program,
    /// SUMO's programs with detectors.
    Actuated,
}

/// What all environments of one city share.
#[derive(Debug)]
pub struct Shared {
    /// The settings.
    pub options: Options,
    /// The declaration, and how the group acts.
    pub declared: Declared,
    /// The net, once it was needed.
    built: Mutex<Option<Arc<Built>>>,
}

/// A net that is there.
#[derive(Debug)]
pub struct Built {
    /// SUMO.
    pub install: Install,
    /// The net's file.
    pub net: PathBuf,
    /// The net.
    pub city: City,
    /// Holds the file of a grid.
    _folder: Folder,
}

impl Shared {
    /// For these settings.
    pub fn new(options: Options, declared: Declared) -> Shared {
        Shared { options, declared, built: Mutex::new(None) }
    }

    /// The net, made when it is first asked for.
    ///
    /// # Errors
    /// If SUMO is not there, or the net is not as it was declared.
    pub fn built(&self) -> Result<Arc<Built>> {
        let mut built = self.built.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(built) = &*built {
            return Ok(built.clone());
        }
        let folder = Folder::new()?;
        let install = Install::find()?;
        let (net, city) = self.options.build(|| Ok(install.clone()), folder.path())?;
        self.declared.check(&city)?;
        let made = Arc::new(Built { install, net, city, _folder: folder });
        *built = Some(made.clone());
        Ok(made)
    }
}

/// The lights of a city, in one SUMO.
pub struct Sumo {
    shared: Arc<Shared>,
    built: Option<Arc<Built>>,
    /// A SUMO, and its files.
    process: Option<Process>,
    folder: Option<Folder>,
    /// Who sets the lights next; controllers say so.
    pub(crate) lights: Cell<Lights>,
    /// Who has set them so far in this episode.
    set_by: Lights,
    watched: bool,
    demand: Vec<Trip>,
    seed: u32,
    decisions: usize,
    /// Each junction's phase, and for how many seconds it has been green.
    phases: Vec<Option<usize>>,
    greens: Vec<usize>,
    state: Option<State>,
    finished: Option<(Totals, Vec<TripInfo>)>,
    /// A step that could not be sent.
    broken: Option<Failure>,
    deaths: usize,
    deaths_in_a_row: usize,
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

    /// Starts an episode with this demand, which the trips of a file replace if there is one, and this seed of SUMO.
    ///
    /// # Errors
    /// If SUMO is not there or cannot be started.
    pub fn begin_with(&mut self, demand: Vec<Trip>, seed: u32) -> Result<()> {
        let built = match &self.built {
            Some(built) => built.clone(),
            None => self.shared.built()?,
        };
        self.process = None;
        (self.demand, self.seed, self.decisions) = (demand, seed, 0);
        self.phases.fill(None);
        self.greens.fill(0);
        self.lights.set(Lights::Agents);
        (self.set_by, self.watched, self.finished, self.broken) = (Lights::Agents, false, None, None);
        self.state = Some(State::empty(&built.city));
        self.built = Some(built);
        if self.folder.is_none() {
            self.folder = Some(Folder::new()?);
        }
        self.start_process(false)
    }

    fn start_process(&mut self, actuated: bool) -> Result<()> {
        let (Some(built), Some(folder)) = (&self.built, &self.folder) else { return Ok(()) };
        let options = &self.shared.options;
        let routes = match options.routes.is_empty() {
            true => {
                folder.write("demand.rou.xml", &demand::routes(&built.city, &self.demand, options.noise))?
            }
            false => PathBuf::from(&options.routes),
        };
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut arguments = vec!["-n".to_string(), text(built.net.clone()), "-r".into(), text(routes)];
        if actuated {
            let path = folder.write("actuated.add.xml", &demand::actuated(&built.city))?;
            arguments.extend(["-a".into(), text(path)]);
        }
        arguments.extend(["--seed".into(), (self.seed >> 1).to_string()]);
        arguments.extend(["--tripinfo-output".into(), text(folder.path().join("trips.xml"))]);
        arguments.extend(["--statistic-output".into(), text(folder.path().join("statistics.xml"))]);
        let rest = "--tripinfo-output.write-unfinished true --no-step-log true --duration-log.disable true --no-warnings true \
                    --xml-validation never --xml-validation.net never --xml-validation.routes never";
        arguments.extend(rest.split_whitespace().map(String::from));
        let started = Process::start(&built.install, &arguments, folder.path());
        self.process = Some(started.map_err(|failure| Error::BadWorld(failure.why))?);
        Ok(())
    }

    /// Sends the first half of a step.
    ///
    /// # Errors
    /// If SUMO refuses its input.
    pub(crate) fn begin_step(&mut self, actions: &[usize]) -> Result<()> {
        let lights = self.lights.replace(Lights::Agents);
        if self.decisions == 0 && lights == Lights::Actuated {
            self.process = None;
            self.start_process(true)?;
        }
        if let Err(failure) = self.try_begin(lights, actions) {
            self.broken = Some(failure);
        }
        Ok(())
    }

    fn try_begin(&mut self, lights: Lights, actions: &[usize]) -> std::result::Result<(), Failure> {
        let Some(built) = self.built.clone() else {
            return Err(Failure { why: "the episode was not started".into(), refused: true });
        };
        let city = &built.city;
        if !self.watched {
            self.watch(city, lights == Lights::Actuated)?;
        }
        let mut frame = Frame::default();
        match lights {
            Lights::Agents => self.set_lights(city, actions, &mut frame),
            Lights::Actuated if self.decisions == 0 => {
                city.junctions.iter().for_each(|j| frame.program(&j.light, "actuated"));
            }
            _ => {}
        }
        self.set_by = lights;
        self.decisions += 1;
        frame.step_to((self.decisions * self.shared.options.interval) as f64);
        match &mut self.process {
            Some(process) => process.send(frame),
            None => Err(Failure { why: "the episode is over".into(), refused: true }),
        }
    }

    /// Asks to be told of everything after every step. If somebody else took the port, starts again on another one.
    fn watch(&mut self, city: &City, actuated: bool) -> std::result::Result<(), Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let Some(process) = &mut self.process else { break };
            let mut frame = Frame::default();
            city.junctions.iter().for_each(|j| frame.watch(id::WATCH_LIGHT, &j.light, &[id::STATE]));
            frame.watch(id::WATCH_SIMULATION, "", &[id::PENDING]);
            let vehicles = [id::LANE, id::LANE_POSITION, id::SPEED, id::WAITING, id::POSITION];
            frame.watch_vehicles(&city.net.nodes[city.junctions[0].node].id, 1e7, &vehicles);
            let attempt = || -> std::result::Result<(), Failure> {
                process.send(frame)?;
                let mut answer = process.receive()?;
                for _ in &city.junctions {
                    answer.watched(id::WATCH_LIGHT)?;
                }
                answer.watched(id::WATCH_SIMULATION)?;
                Ok(answer.watched(id::WATCH_AROUND_JUNCTION)?)
            };
            match attempt() {
                Ok(()) => break,
                Err(failure) if failure.why != PORT_TAKEN || tries >= 5 => return Err(failure),
                Err(_) => {
                    self.process = None;
                    self.start_process(actuated)
                        .map_err(|e| Failure { why: e.to_string(), refused: true })?;
                }
            }
        }
        self.watched = true;
        Ok(())
    }

    /// Lights that change go through yellow; the others stay. An action that a junction does not have, or not yet, keeps
    /// its light as it is.
    fn set_lights(&mut self, city: &City, actions: &[usize], frame: &mut Frame) {
        let options = &self.shared.options;
        for (agent, (junction, &action)) in city.junctions.iter().zip(actions).enumerate() {
            let wanted = action.min(PHASES - 1);
            let next = if self.legal(agent, wanted) { Some(wanted) } else { self.phases[agent] };
            // Nothing was chosen yet, and what is wanted is not there: the first phase that is.
            let next = next.or_else(|| (0..PHASES).find(|&p| junction.phases[p].is_some()));
            let Some(state) = next.and_then(|p| junction.phases[p].as_ref()) else { continue };
            let now = self.state.as_ref().map_or("", |s| s.lights[agent].as_str());
            if next == self.phases[agent] && self.set_by == Lights::Agents {
                self.greens[agent] += options.interval;
                continue;
            }
            match yellow(now, state) {
                Some(between) => {
                    frame.light(&junction.light, &[(options.yellow as f64, &between), (LONG, state)]);
                    self.greens[agent] = options.interval - options.yellow;
                }
                None => {
                    frame.light(&junction.light, &[(LONG, state)]);
                    self.greens[agent] = options.interval;
                }
            }
            self.phases[agent] = next;
        }
    }

    /// The second half of a step: what came of it.
    ///
    /// # Errors
    /// If SUMO refuses its input, or died too often.
    pub(crate) fn finish_step(&mut self) -> Result<Outcome> {
        let end = match self.try_finish() {
            Ok(end) => end,
            Err(failure) => return self.died(failure),
        };
        // A SUMO that dies in the middle of every episode dies in a row, too.
        if end != End::Running {
            self.deaths_in_a_row = 0;
        }
        let stopped = self.state.as_ref().map_or(0.0, |s| s.lost + s.pending);
        Ok(Outcome { reward: REWARD * stopped / self.phases.len() as f64, end })
    }

    fn try_finish(&mut self) -> std::result::Result<End, Failure> {
        if let Some(failure) = self.broken.take() {
            return Err(failure);
        }
        let (Some(process), Some(built), Some(state)) = (&mut self.process, &self.built, &mut self.state)
        else {
            return Err(Failure { why: "the episode was not started".into(), refused: true });
        };
        let news: News = process.receive()?.news()?;
        state.update(&built.city, &news)?;
        // SUMO says nothing about commands before a step in a frame, so look whether they were done.
        if self.set_by == Lights::Agents {
            for (agent, junction) in built.city.junctions.iter().enumerate() {
                let wanted = self.phases[agent].and_then(|p| junction.phases[p].as_deref());
                if wanted.is_some_and(|wanted| wanted != state.lights[agent]) {
                    let why = format!(
                        "light {} shows {} and not {}",
                        junction.light,
                        state.lights[agent],
                        wanted.unwrap_or("")
                    );
                    return Err(Failure { why, refused: true });
                }
            }
        }
        if self.decisions < self.shared.options.decisions() {
            return Ok(End::Running);
        }
        if let Some(process) = self.process.take() {
            process.close()?;
        }
        let read = |name: &str| {
            let path = self.folder.as_ref().map(|f| f.path().join(name)).unwrap_or_default();
            std::fs::read_to_string(&path)
                .map_err(|e| Failure { why: format!("{}: {e}", path.display()), refused: false })
        };
        let unreadable =
            |e: Error| Failure { why: format!("SUMO's output is not whole: {e}"), refused: false };
        let trips = trips(&read("trips.xml")?).map_err(unreadable)?;
        let totals = totals(&trips, &read("statistics.xml")?).map_err(unreadable)?;
        self.finished = Some((totals, trips));
        Ok(End::Truncated)
    }

    /// The episode is thrown away. It is counted, said, and the next one starts with another SUMO, unless that cannot help.
    fn died(&mut self, failure: Failure) -> Result<Outcome> {
        self.process = None;
        self.deaths += 1;
        self.deaths_in_a_row += 1;
        if failure.refused || self.deaths_in_a_row >= MOST_DEATHS {
            let often =
                if failure.refused { String::new() } else { format!(" ({MOST_DEATHS} times in a row)") };
            return Err(Error::BadWorld(format!("{}{often}", failure.why)));
        }
        eprintln!("warning: {}; the episode is thrown away, and another SUMO started", failure.why);
        Ok(Outcome { reward: 0.0, end: End::Abandoned })
    }
}

/// What stands between two states of a light: who loses the green sees yellow. Nothing if nobody does, or before the first.
fn yellow(now: &str, next: &str) -> Option<String> {
    let green = |c: char| c == 'G' || c == 'g';
    if now.len() != next.len() {
        return None;
    }
    let between = |(now, next): (char, char)| match (green(now), green(next)) {
        (true, false) => 'y',
        (true, true) => now,
        (false, _) => 'r',
    };
    let state: String = now.chars().zip(next.chars()).map(between).collect();
    state.contains('y').then_some(state)
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
        look(city, state, &city.junctions[who], numbers);
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

/// What a junction sees of its approaches: per lane and approach, then per approach. Numbers of one kind stand together, from
/// the east, north, west and south.
fn look(city: &City, state: &State, junction: &Junction, out: &mut [f32]) {
    for (side, approach) in junction.approaches.iter().enumerate() {
        let Some(approach) = approach else { continue };
        let mut put = |kind: usize, x: f64| out[kind * 4 + side] += x as f32;
        let lanes = &city.net.edges[approach.edge].lanes;
        for (k, (lane, on)) in lanes.iter().zip(&state.lanes[approach.edge]).enumerate() {
            let at = k.min(LANES - 1) * 9;
            // As parts of what fits on the lane: a vehicle and its gap take 7.5 m.
            let room = (lane.length / 7.5).max(1.0);
            // Lanes beyond the last count with it.
            if k < LANES {
                put(at, 1.0);
                (0..3).for_each(|way| put(at + 1 + way, f64::from(u8::from(approach.ways[k][way]))));
                put(at + 7, if on.vehicles > 0.0 { on.speed / on.vehicles } else { 1.0 });
                put(at + 8, if on.first.is_finite() { 1.0 - on.first / lane.length } else { 0.0 });
            }
            put(at + 4, on.vehicles / room);
            put(at + 5, on.halting / room);
            put(at + 6, (on.waiting / 100.0).min(3.0));
        }
        let at = LANES * 9;
        put(at, 1.0);
        for &edge in &approach.tail {
            let room: f64 = city.net.edges[edge].lanes.iter().map(|l| l.length / 7.5).sum();
            let on = state.on_road(edge);
            put(at + 1, on.vehicles / room.max(1.0));
            put(at + 2, on.halting / room.max(1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::yellow;

    #[test]
    fn who_loses_the_green_sees_yellow_and_nobody_else() {
        assert_eq!(yellow("GGgrrr", "rrrGGg").as_deref(), Some("yyyrrr"));
        assert_eq!(yellow("GGgrrr", "GrGrrr").as_deref(), Some("Gygrrr"));
        assert_eq!(yellow("rrrGrr", "rrrGGg"), None);
        assert_eq!(yellow("", "rrrGGg"), None);
        // Whatever the two are, nobody goes from green to red at once, and nobody gets green before the others have red.
        for code in 0..6usize.pow(4) {
            let letter = |k: usize| ['G', 'g', 'r', 'y', 'G', 'r'][code / 6usize.pow(k as u32) % 6];
            let (now, next): (String, String) = ((0..2).map(letter).collect(), (2..4).map(letter).collect());
            let Some(between) = yellow(&now, &next) else { continue };
            for ((a, b), c) in now.chars().zip(between.chars()).zip(next.chars()) {
                let green = |c: char| c == 'G' || c == 'g';
                assert!(!green(a) || green(b) || b == 'y', "{now} {between} {next}");
                assert!(!green(b) || green(a) && green(c), "{now} {between} {next}");
            }
        }
    }
}
