//! What many runs amount to: tables, statistics and figures, as JSON and as one page.

mod alarms;
mod by;
mod compare;
mod costs;
mod curves;
mod figures;
mod page;
mod rates;
mod references;
mod score;
mod setting;
mod stage;
mod study;
mod tables;
#[cfg(test)]
mod tests;
mod thresholds;
mod together;

pub use alarms::{Alarm, Alarms};
pub use by::{At, By, Crossing, Mark, Over, Scored, TeamOver};
pub use compare::Comparison;
pub use costs::{Costs, TeamCost};
pub use figures::Figure;
pub use page::{figures_of, page};
pub use references::References;
pub use score::{After, Quartiles, TeamScore};
pub use setting::{SettingReport, TeamReport};
pub use stage::ChosenOn;
pub use study::{How, RunLine, Study};
pub use thresholds::{TeamPassing, ThresholdReport};
pub use together::{TeamTogether, Together};
