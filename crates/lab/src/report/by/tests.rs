use super::*;
use crate::gather::{Found, Gathered};
use crate::record::{Curve, Record, State};
use crate::report::{How, Study, page};
use crate::testing;
use equimarl_worlds::{Summary as Played, builtin};
use serde_json::json;

/// A run in a wind whose greedy return at the end is `end`, and whose training curve is `early` until 20,000 steps.
fn run(method: Method, world: &str, seed: u64, early: f64, end: f64, optimum: f64) -> Found {
    let change = format!("method = '{method}'\nseed = {seed}\nsteps = 100000\n[world]\n{world}");
    let config = testing::config(&change);
    let mut summary = testing::summary(&config, optimum);
    let played: Played = serde_json::from_value(json!({
        "episodes": 100, "return": { "mean": end, "stderr": 0.1 }, "length": { "mean": 5.0, "stderr": 0.1 },
    }))
    .unwrap();
    summary.evaluation.as_mut().unwrap().greedy = played;
    summary.reached.insert("1.5".into(), 1000 * seed);
    let steps: Vec<u64> = (1..=20).map(|i| i * 5_000).collect();
    let returns = steps.iter().map(|s| if *s <= 20_000 { early } else { end }).collect();
    let curve = Curve { steps, returns, ..Curve::default() };
    let record = Record { summary: Some(summary), curve, ..testing::of(&change, config) };
    Found { sweep: "w".into(), place: change, record }
}

fn study(runs: Vec<Found>, option: &str) -> Study {
    let by = Some(By { option: option.into(), after: 20_000 });
    let how = How { by, ..How::default() };
    Study::of(&builtin(), &Gathered { runs, ..Gathered::default() }, &Gathered::default(), &how)
}

/// Equivariant is ahead by 0.4 in a calm and loses 0.2 of the optimum per 0.2 of wind; plain stays. The optimum falls with the wind.
fn winds() -> Vec<Found> {
    let mut runs = vec![];
    for (wind, optimum) in [(0.0, 2.0), (0.2, 3.0), (0.4, 4.0), (0.8, 5.0)] {
        let world = format!("wind = {wind}");
        for seed in 1..=4 {
            let noise = 1e-3 * (seed as f64 - 2.5);
            let mut add = |method, early: f64, end: f64| {
                runs.push(run(
                    method,
                    &world,
                    seed,
                    (early + noise) * optimum,
                    (end + noise) * optimum,
                    optimum,
                ));
            };
            add(Method::Equivariant, 0.9 - 0.5 * wind, 0.9 - wind);
            add(Method::Plain, 0.3, 0.6);
            if wind > 0.0 {
                add(Method::Cause, 0.8, 0.95);
            }
        }
    }
    runs
}

#[test]
fn a_known_crossing_is_found_at_both_budgets() {
    let study = study(winds(), "wind");
    let [over] = &study.by[..] else { panic!("{:?}", study.by) };
    assert_eq!((over.name.as_str(), over.values.as_slice()), ("wildlife by wind", &[0.0, 0.2, 0.4, 0.8][..]));
    assert!(over.relative);
    let plain: Vec<&Crossing> = over.crossings.iter().filter(|c| c.method == "plain").collect();
    // At the end 0.9 - w meets 0.6 at 0.3. After 20,000 steps 0.9 - w/2 meets 0.3 beyond 0.8, where it is 0.5.
    let [early, end] = plain[..] else { panic!("{plain:?}") };
    assert_eq!((early.after, end.after), (Some(20_000), None));
    assert!((end.at.estimate - 0.3).abs() < 1e-6, "{end:?}");
    assert!(end.at.low < 0.3 && end.at.low > 0.29 && end.at.high > 0.3 && end.at.high < 0.31, "{end:?}");
    assert_eq!(early.at.estimate, f64::INFINITY);
    assert_eq!(early.says, "beyond 0.8 [beyond 0.8, beyond 0.8]");
    assert_eq!(end.says.get(..4), Some("0.30"));
    assert!(end.ahead.iter().zip([0.3, 0.1, -0.1, -0.5]).all(|(a, b)| (a - b).abs() < 1e-9), "{end:?}");
    let json = serde_json::to_value(&study).unwrap();
    assert!(json["by"][0]["crossings"][0]["at"]["estimate"].is_null());
}

#[test]
fn in_a_calm_the_equivariant_runs_stand_for_those_told_of_the_wind() {
    let study = study(winds(), "wind");
    let over = &study.by[0];
    let cause = over.teams.iter().find(|t| t.method == "cause").unwrap();
    assert_eq!(cause.points[0].stands_in.as_deref(), Some("equivariant"));
    assert!((cause.points[0].end.as_ref().unwrap().iqm.estimate - 0.9).abs() < 1e-9);
    assert!((cause.points[3].early.as_ref().unwrap().iqm.estimate - 0.8).abs() < 1e-9);
    assert!(over.said[0].contains("At wind 0 cause is equivariant"), "{:?}", over.said);
    // Where it is itself nobody is overtaken: it is ahead at every value at which it was run.
    let crossing = over.crossings.iter().find(|c| c.method == "cause" && c.after.is_none()).unwrap();
    assert_eq!(
        (crossing.values.as_slice(), crossing.says.get(..10)),
        (&[0.2, 0.4, 0.8][..], Some("before 0.2"))
    );
    let mark = &cause.points[1].marks[0];
    assert_eq!((mark.threshold, mark.passed, mark.median.estimate), (1.5, 4, 2_500.0));
    let html = page(&study, "x", "y");
    for part in
        ["Wildlife by wind", "wildlife-by-wind-end.svg", "wildlife-by-wind-after-20000.pdf", "Steps to 1.5"]
    {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn winds_that_are_drawn_are_another_figure_with_the_same_calm() {
    let mut runs = winds();
    for wind in [0.2, 0.8] {
        for seed in 1..=2 {
            let world = format!("wind = {wind}\nwind_from = 'any'");
            runs.push(run(Method::Equivariant, &world, seed, 1.0, 1.0, 2.0));
        }
    }
    let study = study(runs, "wind");
    let names: Vec<&str> = study.by.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names.len(), 2);
    let drawn = study.by.iter().find(|o| o.name.ends_with("wind_from any")).unwrap();
    assert_eq!(drawn.values, [0.0, 0.2, 0.8]);
    assert_eq!(drawn.teams[0].points.iter().map(|p| p.runs[0]).collect::<Vec<_>>(), [4, 2, 2]);
}

#[test]
fn runs_that_failed_count_and_one_value_is_no_figure() {
    let mut runs = winds();
    for found in runs.iter_mut().filter(|f| f.record.team().name() == "plain" && f.place.contains("0.8")) {
        found.record.state = State::Failed("the loss is inf".into());
        found.record.summary = None;
        found.record.curve.steps.truncate(2);
        found.record.curve.returns.truncate(2);
    }
    let all = study(runs.clone(), "wind");
    let plain = all.by[0].teams.iter().find(|t| t.method == "plain").unwrap();
    // Random drones lose.
    assert!(plain.points[3].end.as_ref().unwrap().iqm.estimate < 0.0);
    assert_eq!(plain.points[3].runs, [4, 4]);
    runs.retain(|f| f.place.contains("wind = 0.2"));
    let one = study(runs, "wind");
    assert!(
        one.by.is_empty() && one.notes.iter().any(|n| n.contains("no figure over wind")),
        "{:?}",
        one.notes
    );
}
