//! How a run ended: the content of `summary.json`, and of `summary` in records.

use crate::config::Method;
use crate::stuck::StuckReport;
use equimarl_worlds::{Statistic, Summary as Played, null_is_nan};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// How a run ended. As text it is JSON with its keys in order, on one line or (`{:#}`) on many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The world's name.
    pub world: String,
    /// How the team learned.
    pub method: Method,
    /// The preset that the settings started from.
    pub preset: String,
    /// The symmetry that was built in or augmented with.
    pub group: String,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// The seed of everything random.
    pub seed: u64,
    /// Environment steps.
    pub steps: u64,
    /// Training episodes that ended.
    pub episodes: u64,
    /// The return of the last training episodes.
    #[serde(rename = "return")]
    pub total: Statistic,
    /// Their length in steps.
    pub length: Statistic,
    /// Steps at which thresholds were passed, by threshold.
    pub reached: BTreeMap<String, u64>,
    /// The last evaluation.
    pub evaluation: Option<Evaluation>,
    /// Free coefficients of the network.
    pub parameters: usize,
    /// Environment steps per second.
    #[serde(deserialize_with = "null_is_nan")]
    pub steps_per_second: f64,
    /// Seconds of work.
    #[serde(deserialize_with = "null_is_nan")]
    pub wall_seconds: f64,
    /// The most memory that the process had, where the system says it.
    pub peak_memory_mb: Option<f64>,
    /// A short name of the settings.
    pub config_hash: String,
    /// The version of the software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit that it was built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// The instructions that the kernels used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simd: Option<String>,
    /// What the world measures first, by its name ([`Summary::measure`]), and keys of other versions.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What a team achieved on the episodes of the evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// With the greedy actions.
    pub greedy: Played,
    /// With sampled actions.
    pub sampled: Played,
    /// The best possible mean return, where it is known.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub optimum: Option<f64>,
    /// How far the better of both ways is from it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// The episodes in which the greedy team could not decide, if there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckReport>,
    /// Keys of other versions.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Summary {
    /// What the world measures, over the last training episodes.
    pub fn measure(&self, name: &str) -> Option<Statistic> {
        Statistic::deserialize(self.more.get(name)?).ok()
    }

    /// The best possible mean return, where it is known.
    pub fn optimum(&self) -> Option<f64> {
        self.evaluation.as_ref()?.optimum.filter(|best| !best.is_nan())
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        serde_json::to_value(self).map_err(|_| fmt::Error)?.fmt(f)
    }
}

/// A number that is there, but was none when it was written.
fn present<'de, D: Deserializer<'de>>(source: D) -> Result<Option<f64>, D::Error> {
    null_is_nan(source).map(Some)
}
