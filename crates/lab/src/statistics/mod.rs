//! Statistics of a few runs that reviewers accept: quantiles, interquartile means, stratified bootstrap intervals,
//! probabilities of improvement, performance profiles, steps to a threshold of runs that may end before it.
//!
//! All of them are checked against hand-worked numbers and against SciPy and rliable (`tests/fixtures`).

mod bootstrap;
mod crossing;
mod improvement;
mod passing;
mod profile;
mod quantile;

pub use bootstrap::{Interval, RESAMPLES, bootstrap, interquartile_mean_interval};
pub use crossing::{crossing, crossing_interval};
pub use improvement::{improvement, improvement_interval, median_difference, median_difference_interval};
pub use passing::Passing;
pub use profile::{above, profile};
pub use quantile::{interquartile_mean, median, quantile};
