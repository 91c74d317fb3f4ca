//! Several settings as one: scores on a common scale.
//!
//! ```text
//! normalised = (score - random) / (best possible - random): 0 is chance, 1 is the best possible
//! ```
//!
//! Every setting is a stratum of the bootstrap, so all weigh the same as in the data, and runs are never mixed between them.

use super::score::After;
use super::setting::SettingReport;
use crate::statistics::{Interval, improvement_interval, interquartile_mean_interval, profile};
use serde::Serialize;

/// Places along a performance profile.
const PLACES: usize = 41;

/// A team over all settings.
#[derive(Clone, Debug, Serialize)]
pub struct TeamTogether {
    /// The team.
    pub method: String,
    /// How many runs it has in each setting.
    pub runs: Vec<usize>,
    /// The interquartile mean of its normalised scores.
    pub iqm: Interval,
    /// The probability that a run of the first team is better, as the mean over settings; none for the first itself.
    pub improvement_of_first: Option<Interval>,
    /// The part of its runs above each of the scores in `taus`.
    pub profile: Vec<Interval>,
}

/// Teams over all settings whose best possible score is known.
#[derive(Clone, Debug, Serialize)]
pub struct Together {
    /// The settings and after how many steps each is looked at.
    pub settings: Vec<(String, u64)>,
    /// Normalised scores of the profiles.
    pub taus: Vec<f64>,
    /// The teams that are in all of them.
    pub teams: Vec<TeamTogether>,
}

impl Together {
    /// Puts settings together that differ in their world alone; nothing unless there are two with known ends of the scale and a
    /// team in both. Runs that chose learning rates are not mixed with others.
    pub(super) fn of(settings: &[SettingReport]) -> Option<Together> {
        let scaled: Vec<(&SettingReport, f64, f64)> = settings
            .iter()
            .filter_map(|s| Some((s, s.references.random?, s.references.optimum?)))
            .filter(|(_, random, best)| best > random)
            .collect();
        let kind = |s: &SettingReport| (s.held_out, s.rules.clone());
        let like = |of: &SettingReport| scaled.iter().filter(|(s, ..)| kind(s) == kind(of)).count();
        let most = scaled.iter().map(|(s, ..)| *s).max_by_key(|s| (s.held_out, like(s)))?;
        let scaled: Vec<_> = scaled.iter().filter(|(s, ..)| kind(s) == kind(most)).copied().collect();
        if scaled.len() < 2 {
            return None;
        }
        let in_all =
            |name: &String| scaled.iter().all(|(s, ..)| s.after.iter().any(|a| a.team(name).is_some()));
        let names: Vec<String> = scaled[0].0.teams.iter().map(|t| t.method.clone()).filter(in_all).collect();
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut looked = vec![];
        let mut scores: Vec<Vec<Vec<f64>>> = vec![vec![]; names.len()];
        for (setting, random, best) in &scaled {
            let after = After::telling(&setting.after, &wanted)?;
            looked.push((setting.setting.clone(), after.steps));
            for (name, own) in names.iter().zip(&mut scores) {
                let team = after.team(name)?;
                own.push(team.scores.iter().map(|s| (s - random) / (best - random)).collect());
            }
        }
        let taus: Vec<f64> = (0..PLACES).map(|i| i as f64 / (PLACES - 1) as f64).collect();
        let team = |(i, method): (usize, String)| {
            let strata: Vec<&[f64]> = scores[i].iter().map(Vec::as_slice).collect();
            let tasks: Vec<(&[f64], &[f64])> =
                scores[0].iter().zip(&scores[i]).map(|(x, y)| (x.as_slice(), y.as_slice())).collect();
            TeamTogether {
                method,
                runs: scores[i].iter().map(Vec::len).collect(),
                iqm: interquartile_mean_interval(&strata),
                improvement_of_first: (i > 0).then(|| improvement_interval(&tasks)),
                profile: profile(&strata, &taus),
            }
        };
        let teams = names.into_iter().enumerate().map(team).collect::<Vec<_>>();
        (!teams.is_empty()).then_some(Together { settings: looked, taus, teams })
    }
}
