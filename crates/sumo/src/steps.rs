//! An episode in SUMO: how it starts, what is sent for a decision, and what comes of it.

use crate::city::{City, PHASES};
use crate::demand::{self, Trip};
use crate::folder::Folder;
use crate::lights::{Lights, between};
use crate::options::no_comma;
use crate::process::{Failure, PORT_TAKEN, Process};
use crate::programs;
use crate::state::State;
use crate::trips::{totals, trips};
use crate::wire::{Frame, News, id};
use crate::world::Sumo;
use equimarl_worlds::{End, Error, Outcome, Result};
use std::path::PathBuf;

/// The reward of a step, per junction and vehicle that does not move.
const REWARD: f64 = -0.02;
/// A green that nobody ends.
const LONG: f64 = 1e6;
/// So many deaths of SUMO in a row are no accident.
const MOST_DEATHS: usize = 3;

impl Sumo {
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
        self.start_process(Lights::Agents)
    }

    fn start_process(&mut self, lights: Lights) -> Result<()> {
        let (Some(built), Some(folder)) = (&self.built, &self.folder) else { return Ok(()) };
        let options = &self.shared.options;
        let routes = match options.routes.is_empty() {
            true => folder.write(
                "demand.rou.xml",
                &demand::routes(&built.city, &self.demand, options.begin, options.noise),
            )?,
            false => PathBuf::from(&options.routes),
        };
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        for path in [&built.net, &routes] {
            no_comma(&path.to_string_lossy())?;
        }
        let mut arguments = vec!["-n".to_string(), text(built.net.clone()), "-r".into(), text(routes)];
        if let Some(programs) = programs::file(&built.city, options, lights) {
            let path = folder.write("programs.add.xml", &programs)?;
            arguments.extend(["-a".into(), text(path)]);
        }
        arguments.extend(["--begin".into(), options.begin.to_string()]);
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
        if self.decisions == 0 && lights.program().is_some() {
            self.process = None;
            self.start_process(lights)?;
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
            self.watch(city, lights)?;
        }
        let mut frame = Frame::default();
        match lights {
            Lights::Agents => self.set_lights(city, actions, &mut frame),
            _ => {
                let program = lights.program().filter(|_| self.decisions == 0);
                program
                    .iter()
                    .for_each(|name| city.junctions.iter().for_each(|j| frame.program(&j.light, name)));
            }
        }
        self.set_by = lights;
        self.decisions += 1;
        let options = &self.shared.options;
        frame.step_to((options.begin + self.decisions * options.interval) as f64);
        match &mut self.process {
            Some(process) => process.send(frame),
            None => Err(Failure { why: "the episode is over".into(), refused: true }),
        }
    }

    /// Asks to be told of everything after every step. If somebody else took the port, starts again on another one.
    fn watch(&mut self, city: &City, lights: Lights) -> std::result::Result<(), Failure> {
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
                    self.start_process(lights).map_err(|e| Failure { why: e.to_string(), refused: true })?;
                }
            }
        }
        self.watched = true;
        Ok(())
    }

    /// Lights that change go through yellow and all red; the others stay. An action that a junction does not have, or not yet, keeps
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
            match between(now, state) {
                Some([yellow, red]) => {
                    let mut program = vec![(options.yellow as f64, yellow.as_str())];
                    // SUMO has no phases of no length.
                    program.extend((options.all_red > 0).then_some((options.all_red as f64, red.as_str())));
                    program.push((LONG, state));
                    frame.light(&junction.light, &program);
                    self.greens[agent] = options.interval - options.yellow - options.all_red;
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
        // It ended well and its files are cut off: another SUMO would fare no better.
        let unreadable = |e: Error| {
            let why =
                format!("SUMO's output is not whole: {e}; is the disk full? (TMPDIR names another folder)");
            Failure { why, refused: true }
        };
        let trips = trips(&read("trips.xml")?).map_err(unreadable)?;
        let totals = totals(&trips, &read("statistics.xml")?).map_err(unreadable)?;
        if !self.shared.options.routes.is_empty() && totals.inserted + totals.not_inserted == 0.0 {
            return Err(Failure { why: self.nobody(), refused: true });
        }
        self.finished = Some((totals, trips));
        Ok(End::Truncated)
    }

    /// What is wrong where routes bring nobody: lights that nobody meets look perfect.
    fn nobody(&self) -> String {
        let options = &self.shared.options;
        format!(
            "no vehicle came in, nor waited to, from second {} to {}: is it a file of routes, and do they depart then? (--begin, \
             --duration)",
            options.begin,
            options.begin + options.decisions() * options.interval
        )
    }

    /// The files that SUMO was given, where they are the user's own.
    fn files(&self) -> String {
        let options = &self.shared.options;
        match (options.net.as_str(), options.routes.as_str()) {
            ("", _) => String::new(),
            (net, "") => format!("{net}: "),
            (net, routes) => format!("{net} with {routes}: "),
        }
    }

    /// The episode is thrown away. It is counted, said, and the next one starts with another SUMO, unless that cannot help.
    fn died(&mut self, failure: Failure) -> Result<Outcome> {
        self.process = None;
        self.deaths += 1;
        self.deaths_in_a_row += 1;
        if failure.refused || self.deaths_in_a_row >= MOST_DEATHS {
            let often =
                if failure.refused { String::new() } else { format!(" ({MOST_DEATHS} times in a row)") };
            return Err(Error::BadWorld(format!("{}{}{often}", self.files(), failure.why)));
        }
        eprintln!("warning: {}; the episode is thrown away, and another SUMO started", failure.why);
        Ok(Outcome { reward: 0.0, end: End::Abandoned })
    }
}
