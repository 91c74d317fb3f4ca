//! What is known of a city after a step: lanes, lights, and who stands where.

use crate::city::City;
use crate::net::Edge;
use crate::wire::{Garbled, News, id};

/// Slower than this is standing, as SUMO counts it.
const STANDING: f64 = 0.1;

/// What is on a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnLane {
    /// Vehicles.
    pub vehicles: f64,
    /// Those of them that stand.
    pub halting: f64,
    /// Seconds for which they have stood, summed.
    pub waiting: f64,
    /// The sum of their speeds as parts of what is allowed.
    pub speed: f64,
    /// Metres from the first of them to the end of the lane; not finite if there is none.
    pub first: f64,
}

const EMPTY: OnLane = OnLane { vehicles: 0.0, halting: 0.0, waiting: 0.0, speed: 0.0, first: f64::INFINITY };

/// A city after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// By road and lane.
    pub lanes: Vec<Vec<OnLane>>,
    /// The letters of each junction's light; empty before the first step.
    pub lights: Vec<String>,
    /// Where vehicles are, and whether they stand.
    pub vehicles: Vec<([f64; 2], bool)>,
    /// How many vehicles' worth of progress is lost right now: the sum of 1 - speed / allowed speed.
    pub lost: f64,
    /// Vehicles that stand.
    pub queue: f64,
    /// Vehicles that wait to come in.
    pub pending: f64,
}

impl State {
    /// A city without vehicles.
    pub fn empty(city: &City) -> State {
        State {
            lanes: city.net.edges.iter().map(|e| vec![EMPTY; e.lanes.len()]).collect(),
            lights: vec![String::new(); city.junctions.len()],
            vehicles: vec![],
            lost: 0.0,
            queue: 0.0,
            pending: 0.0,
        }
    }

    /// Takes in what SUMO tells.
    ///
    /// # Errors
    /// If something is missing.
    pub fn update(&mut self, city: &City, news: &News) -> Result<(), Garbled> {
        self.lanes.iter_mut().for_each(|lanes| lanes.fill(EMPTY));
        self.vehicles.clear();
        (self.lost, self.queue) = (0.0, 0.0);
        for vehicle in &news.vehicles {
            let speed = vehicle.get(id::SPEED)?.number()?;
            let stands = speed < STANDING;
            let crate::wire::Value::Point(at) = vehicle.get(id::POSITION)? else {
                return Err(Garbled("a vehicle is at no point".into()));
            };
            self.vehicles.push((*at, stands));
            self.queue += f64::from(u8::from(stands));
            // On its way across a junction it is on no lane of a road.
            let place = city.lanes.get(vehicle.get(id::LANE)?.text()?);
            let allowed = place.map_or(13.89, |&(e, k)| city.net.edges[e].lanes[k].speed);
            let share = (speed / allowed).clamp(0.0, 1.0);
            self.lost += 1.0 - share;
            if let Some(&(e, k)) = place {
                let lane = &mut self.lanes[e][k];
                lane.vehicles += 1.0;
                lane.halting += f64::from(u8::from(stands));
                lane.waiting += vehicle.get(id::WAITING)?.number()?;
                lane.speed += share;
                let left = city.net.edges[e].lanes[k].length - vehicle.get(id::LANE_POSITION)?.number()?;
                lane.first = lane.first.min(left.max(0.0));
            }
        }
        for light in &news.lights {
            if let Some(j) = city.junctions.iter().position(|j| j.light == light.what) {
                self.lights[j] = light.get(id::STATE)?.text()?.into();
            }
        }
        if let Some(simulation) = &news.simulation {
            self.pending = match simulation.get(id::PENDING)? {
                crate::wire::Value::Texts(names) => names.len() as f64,
                _ => 0.0,
            };
        }
        Ok(())
    }

    /// All that is on a road's lanes for cars.
    pub fn on_road(&self, road: &Edge, edge: usize) -> OnLane {
        road.for_cars().map(|k| self.lanes[edge][k]).fold(EMPTY, |sum, lane| OnLane {
            vehicles: sum.vehicles + lane.vehicles,
            halting: sum.halting + lane.halting,
            waiting: sum.waiting + lane.waiting,
            speed: sum.speed + lane.speed,
            first: sum.first.min(lane.first),
        })
    }
}
