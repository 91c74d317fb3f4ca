//! What engineers count, from what SUMO writes about every trip and about all of them.

use crate::xml::tags;
use equimarl_worlds::{Error, Result};

/// One vehicle's trip, finished or not.
#[derive(Clone, Debug, PartialEq)]
pub struct TripInfo {
    /// The vehicle.
    pub id: String,
    /// When it came in, in seconds.
    pub depart: f64,
    /// Seconds that it had waited before that.
    pub depart_delay: f64,
    /// When it left; below zero if it has not.
    pub arrival: f64,
    /// Seconds on its way.
    pub duration: f64,
    /// Seconds that it lost by driving slower than it wished.
    pub time_loss: f64,
    /// Seconds in which it stood.
    pub waiting: f64,
    /// How often it stopped.
    pub stops: f64,
}

/// What an episode amounts to. Means are over all vehicles that came in, those that are still on their way included: who
/// leaves them out hides a jam.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Mean seconds lost.
    pub time_loss: f64,
    /// Mean seconds on the way.
    pub travel_time: f64,
    /// Mean seconds standing.
    pub waiting: f64,
    /// Mean number of stops.
    pub stops: f64,
    /// Mean seconds before they came in: no part of the others, so a jam outside is only seen here.
    pub depart_delay: f64,
    /// Vehicles that left.
    pub throughput: f64,
    /// Vehicles that came in.
    pub inserted: f64,
    /// Vehicles that could not come in.
    pub not_inserted: f64,
    /// Vehicles that SUMO took out of a jam by magic.
    pub teleports: f64,
}

/// Reads a file of `--tripinfo-output`.
///
/// # Errors
/// If it is none.
pub fn trips(text: &str) -> Result<Vec<TripInfo>> {
    let all = tags(text)?;
    if !all.iter().any(|t| t.name == "tripinfos" && t.ends) {
        return Err(cut("tripinfos"));
    }
    all.iter()
        .filter(|t| t.name == "tripinfo" && !t.ends)
        .map(|t| {
            Ok(TripInfo {
                id: t.need("id")?.into(),
                depart: t.number("depart")?,
                depart_delay: t.number("departDelay")?,
                arrival: t.number("arrival")?,
                duration: t.number("duration")?,
                time_loss: t.number("timeLoss")?,
                waiting: t.number("waitingTime")?,
                stops: t.number("waitingCount")?,
            })
        })
        .collect()
}

/// What is not there was cut off: fewer trips would look like better lights.
fn cut(what: &str) -> Error {
    Error::BadWorld(format!("it has no whole `{what}`"))
}

/// Sums up trips, with what `--statistic-output` says besides.
///
/// # Errors
/// If that is no such file.
pub fn totals(trips: &[TripInfo], statistics: &str) -> Result<Totals> {
    let all = tags(statistics)?;
    let find = |name: &str, key: &str| -> Result<f64> {
        all.iter().find(|t| t.name == name).ok_or_else(|| cut(name))?.number(key)
    };
    let n = trips.len().max(1) as f64;
    let mean = |of: &dyn Fn(&TripInfo) -> f64| trips.iter().map(of).sum::<f64>() / n;
    Ok(Totals {
        time_loss: mean(&|t| t.time_loss),
        travel_time: mean(&|t| t.duration),
        waiting: mean(&|t| t.waiting),
        stops: mean(&|t| t.stops),
        depart_delay: mean(&|t| t.depart_delay),
        throughput: trips.iter().filter(|t| t.arrival >= 0.0).count() as f64,
        inserted: trips.len() as f64,
        not_inserted: find("vehicles", "waiting")?,
        teleports: find("teleports", "total")?,
    })
}
