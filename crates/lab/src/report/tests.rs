use super::*;
use crate::gather::{Found, Gathered};
use crate::record::{Curve, Record, State};
use crate::testing;
use equimarl_learn::Method;
use equimarl_worlds::builtin;

/// A run whose return is `value` from its first step on.
fn run(sweep: &str, method: Method, rate: f64, seed: u64, steps: u64, value: f64) -> Found {
    let change = format!("method = '{method}'\nlearning_rate = {rate}\nseed = {seed}\nsteps = {steps}");
    let curve = Curve {
        steps: (1..=20).map(|i| i * steps / 20).collect(),
        returns: vec![value; 20],
        ..Curve::default()
    };
    let mut summary = testing::summary(&testing::config(&change), 2.7785);
    summary.reached.insert("1.5".into(), 1000 * seed);
    let summary = Some(summary);
    let name = format!("{method}-{rate}-{seed}");
    let record = Record { name, summary, curve, ..testing::record(&change) };
    Found { sweep: sweep.into(), place: "here".into(), record }
}

fn study(runs: Vec<Found>) -> Study {
    Study::of(&builtin(), &Gathered { runs, ..Gathered::default() }, &Gathered::default(), &How::default())
}

#[test]
fn rates_chosen_on_other_seeds_are_said_to_be() {
    let mut runs = vec![];
    for seed in 101..=103 {
        runs.push(run("w-rates", Method::Equivariant, 1e-3, seed, 50_000, 2.0));
        runs.push(run("w-rates", Method::Equivariant, 3e-3, seed, 50_000, 1.0));
    }
    runs.extend((1..=5).map(|seed| run("w", Method::Equivariant, 1e-3, seed, 100_000, 2.5)));
    let study = study(runs);
    assert_eq!(study.chosen_on["wildlife, 3 drones"], ChosenOn::OtherSeeds);
    assert!(study.notes.is_empty(), "{:?}", study.notes);
    assert_eq!(study.choice[0].chosen, Some(1e-3));
    let team = &study.settings[0].teams[0];
    assert_eq!((team.finished, team.seeds.clone(), team.learning_rate), (5, vec![1, 2, 3, 4, 5], 1e-3));
}

#[test]
fn rates_chosen_on_the_reported_seeds_are_said_loudly() {
    let runs = (1..=3)
        .flat_map(|seed| {
            [(1e-3, 1.0), (3e-3, 2.0)].map(|(rate, value)| run("w", Method::Plain, rate, seed, 50_000, value))
        })
        .collect();
    let study = study(runs);
    assert_eq!(study.chosen_on["wildlife, 3 drones"], ChosenOn::ReportedSeeds);
    assert!(study.notes[0].contains("chosen on the seeds that are reported"), "{:?}", study.notes);
    assert_eq!(study.settings[0].teams[0].learning_rate, 3e-3);
    let html = page(&study, "equimarl report x", "0.1.0");
    assert!(html.contains("Before you read on") && html.contains("so these results flatter"));
}

#[test]
fn only_runs_for_choosing_are_shown_with_a_warning() {
    let study = study(vec![run("w-rates", Method::Plain, 1e-3, 101, 50_000, 1.0)]);
    assert!(study.notes[0].contains("only runs that were made to choose"), "{:?}", study.notes);
    assert_eq!(study.settings[0].teams.len(), 1);
}

#[test]
fn a_rate_that_would_not_have_been_chosen_is_noted() {
    let mut runs = vec![
        run("w-rates", Method::Plain, 1e-3, 101, 50_000, 1.0),
        run("w-rates", Method::Plain, 3e-3, 101, 50_000, 2.0),
    ];
    runs.push(run("w", Method::Plain, 1e-3, 1, 100_000, 1.0));
    let study = study(runs);
    assert!(study.notes[0].contains("0.003 would have been chosen"), "{:?}", study.notes);
}

/// A run that was made to choose and is also reported is both, in whatever order the two are named.
#[test]
fn runs_of_both_stages_are_in_both() {
    let rates: Vec<Found> = [(1e-3, 2.0), (3e-3, 1.0)]
        .into_iter()
        .flat_map(|(rate, value)| {
            (1..=2).map(move |seed| run("o-rates", Method::Plain, rate, seed, 50_000, value))
        })
        .map(|found| Found { place: format!("rates {}", found.record.name), ..found })
        .collect();
    let shown: Vec<Found> = (1..=2).map(|seed| run("a", Method::Plain, 1e-3, seed, 50_000, 2.0)).collect();
    let gathered = |runs: &[Found]| Gathered { runs: runs.to_vec(), ..Gathered::default() };
    let nothing = Gathered::default();
    for (main, extra) in [
        (gathered(&[shown.clone(), rates.clone()].concat()), &nothing),
        (gathered(&[rates.clone(), shown.clone()].concat()), &nothing),
        (gathered(&shown), &gathered(&rates)),
        (gathered(&[shown.clone(), rates.clone()].concat()), &gathered(&rates)),
    ] {
        let study = Study::of(&builtin(), &main, extra, &How::default());
        assert_eq!(study.choice[0].chosen, Some(1e-3));
        assert_eq!(study.choice[0].rates.iter().map(|r| r.seeds.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(study.settings[0].teams[0].seeds, [1, 2]);
        assert_eq!(study.chosen_on["wildlife, 3 drones"], ChosenOn::ReportedSeeds);
        assert_eq!(study.runs.iter().filter(|r| r.for_choosing).count(), 4);
    }
}

#[test]
fn a_seed_counts_once() {
    let mut runs: Vec<Found> =
        (1..=2).map(|seed| run("w", Method::Plain, 1e-3, seed, 100_000, 2.0)).collect();
    runs.push(run("w", Method::Plain, 1e-3, 2, 50_000, 1.0));
    let mut again = run("v", Method::Plain, 1e-3, 1, 100_000, 2.0);
    again.record.config.evaluate_every = 777;
    again.record.config_hash = again.record.config.hash(&builtin());
    runs.push(again);
    let study = study(runs);
    assert_eq!(study.settings[0].teams[0].seeds, [1, 2]);
    assert_eq!(study.settings[0].after[0].teams[0].scores, [2.0, 2.0]);
    assert!(study.notes.iter().any(|n| n.contains("(2 of 4)")), "{:?}", study.notes);
    assert_eq!(study.choice[0].rates[0].seeds, [1, 2]);
}

/// A demo of 60,000 steps and a sweep of 6,000: what one run of each team got to is not what five did.
#[test]
fn every_number_says_how_many_runs_it_stands_on() {
    let mut runs = vec![];
    for (method, value) in [(Method::Equivariant, 2.0), (Method::Plain, 1.0)] {
        runs.extend((2..=5).map(|seed| run("sweep", method, 1e-3, seed, 6_000, value + 0.01 * seed as f64)));
        runs.push(run("demo", method, 1e-3, 1, 60_000, value));
    }
    // Only the long ones got there, and late.
    for found in &mut runs {
        let long = found.record.config.steps == 60_000;
        let reached = &mut found.record.summary.as_mut().unwrap().reached;
        reached.remove("1.5");
        if long {
            reached.insert("1.5".into(), 20_000);
        }
    }
    let study = study(runs);
    let setting = &study.settings[0];
    let points: Vec<(u64, usize, usize)> =
        setting.after.iter().map(|a| (a.steps, a.teams[0].runs, a.teams[1].of)).collect();
    assert_eq!(points, [(6_000, 5, 5), (60_000, 1, 5)]);
    let alone = setting.after[1].teams[0].iqm;
    assert!(alone.estimate == 2.0 && alone.low.is_nan() && alone.high.is_nan(), "{alone:?}");
    let compared = &setting.comparisons[0];
    assert_eq!((compared.steps, compared.runs, compared.improvement.estimate), (6_000, [5, 5], 1.0));
    let passing = &setting.thresholds[0].teams[0];
    let found = (passing.passed, passing.runs, passing.known, passing.median.estimate);
    assert_eq!(found, (1, 5, 1, 20_000.0));
    assert!(passing.median.low.is_nan() && passing.median.high.is_nan(), "{passing:?}");
    let notes = study.notes.join("\n");
    for part in
        ["after 60,000 steps, equivariant (1 of 5), plain (1 of 5)", "steps to 1.5, equivariant (1 of 5)"]
    {
        assert!(notes.contains(part), "{notes}");
    }
    assert!(!notes.contains("after 6,000 steps"), "{notes}");
    let html = page(&study, "equimarl report x", "0.1.0");
    for part in [
        "equivariant (5 runs; thin: 1)",
        "equivariant: 5 runs up to 6,000 steps, 1 up to 60,000",
        ">1 of 5 runs</text>",
        ">5 and 5 runs</text>",
        ">1 of 5 runs passed; 1 known</text>",
        "equivariant (5 of 5)",
        "2.000 (no interval)",
        "20,000 (no interval)",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let json = serde_json::to_value(&study).unwrap();
    assert_eq!(json["settings"][0]["after"][1]["teams"][0]["runs"], 1);
    assert!(json["settings"][0]["after"][1]["teams"][0]["iqm"]["low"].is_null());
}

#[test]
fn runs_that_ended_are_not_said_to_need_more_than_others_had() {
    let mut runs: Vec<Found> = (1..=4).map(|seed| run("w", Method::Plain, 1e-3, seed, 6_000, 1.0)).collect();
    runs.push(run("w", Method::Plain, 1e-3, 5, 60_000, 1.0));
    for found in &mut runs[1..] {
        found.record.summary.as_mut().unwrap().reached.clear();
    }
    let study = study(runs);
    let passing = &study.settings[0].thresholds[0].teams[0];
    assert_eq!((passing.passed, passing.more_than, passing.known), (1, Some(6_000.0), 5));
    assert!(passing.median_text().starts_with("over 6,000"), "{}", passing.median_text());
}

#[test]
fn runs_that_are_in_no_number_are_listed_with_the_reason() {
    let mut runs: Vec<Found> = [1e-3, 3e-3].map(|r| run("w", Method::Plain, r, 1, 50_000, 1000.0 * r)).into();
    runs.push(run("w", Method::Plain, 3e-3, 1, 20_000, 3.0));
    let study = study(runs);
    let reasons: Vec<Option<&str>> = study.runs.iter().map(|r| r.left_out.as_deref()).collect();
    assert_eq!(
        reasons,
        [
            Some("its learning rate is 0.001, and 0.003 is reported"),
            None,
            Some("here has the same seed, and counts")
        ]
    );
    assert!(page(&study, "x", "y").contains("left out: its learning rate is 0.001"));
    assert!(
        page(&study, "x", "y").contains("3 runs: 3 finished, 0 unfinished, 0 failed; 2 of them left out.")
    );
}

#[test]
fn rates_of_other_lengths_are_not_compared() {
    let mut runs = vec![
        run("w-rates", Method::Plain, 1e-3, 101, 50_000, 1.0),
        run("w-rates", Method::Plain, 3e-3, 101, 6_000, 2.0),
    ];
    runs.extend((1..=5).map(|seed| run("w", Method::Plain, 3e-3, seed, 100_000, 1.0)));
    let notes = study(runs).notes;
    assert!(
        notes[0].contains("compared on runs of 50,000 steps; 1 run of other lengths did not choose"),
        "{notes:?}"
    );
}

#[test]
fn rates_that_lack_a_seed_are_noted() {
    let runs = [(1e-3, 101), (1e-3, 102), (3e-3, 101)];
    let runs = runs.map(|(rate, seed)| run("w-rates", Method::Plain, rate, seed, 50_000, 1.0));
    let notes = study(runs.to_vec()).notes;
    let part = "not all tried on the same seeds: 0.001 with 2 seeds, 0.003 with 1 seed.";
    assert!(notes.iter().any(|n| n.contains(part)), "{notes:?}");
}

#[test]
fn budgets_with_a_decaying_rate_are_not_mixed() {
    let mut runs: Vec<Found> =
        (1..=2).map(|seed| run("w", Method::Equivariant, 1e-3, seed, 200_000, 2.5)).collect();
    runs.extend((1..=2).map(|seed| run("w", Method::Plain, 1e-3, seed, 100_000, 2.0)));
    assert_eq!(study(runs.clone()).settings[0].comparisons.len(), 1);
    for run in &mut runs {
        run.record.config.decay = true;
        run.record.config_hash = run.record.config.hash(&builtin());
    }
    assert_eq!(study(runs).settings[0].comparisons.len(), 0);
}

#[test]
fn what_was_not_chosen_for_is_said() {
    let mut runs: Vec<Found> = [1e-3, 3e-3].map(|r| run("w-rates", Method::Plain, r, 101, 50_000, r)).into();
    runs.extend([1e-4, 3e-4].map(|r| run("w", Method::Plain, r, 1, 50_000, 1.0)));
    runs.push(run("w", Method::Equivariant, 1e-3, 1, 50_000, 1.0));
    let notes = study(runs).notes;
    let said = |part: &str| notes.iter().any(|n| n.contains(part));
    assert!(said("0.003, which was chosen, is not among them"), "{notes:?}");
    assert!(said("nothing says how the learning rate of equivariant was chosen"), "{notes:?}");
    assert!(said("after 50,000 steps, equivariant (1 of 1), plain (1 of 1)"), "{notes:?}");
}

#[test]
fn teams_are_compared_after_as_many_steps() {
    let mut runs: Vec<Found> =
        (1..=4).map(|seed| run("w", Method::Equivariant, 1e-3, seed, 200_000, 2.5)).collect();
    runs.extend((1..=4).map(|seed| run("w", Method::Plain, 1e-3, seed, 200_000, 2.0)));
    runs.extend((1..=2).map(|seed| run("w", Method::AugmentFull, 1e-3, seed, 100_000, 2.5)));
    let study = study(runs);
    let setting = &study.settings[0];
    assert_eq!(
        setting.after.iter().map(|a| (a.steps, a.teams.len())).collect::<Vec<_>>(),
        [(100_000, 3), (200_000, 2)]
    );
    let found: Vec<(u64, f64, f64)> =
        setting.comparisons.iter().map(|c| (c.steps, c.improvement.estimate, c.better_by.estimate)).collect();
    assert_eq!(found, [(200_000, 1.0, 0.5), (100_000, 0.5, 0.0)]);
    // Medians of 1000, ..., 4000 steps and of 1000, 2000.
    let times = setting.thresholds[0].teams[2].times.unwrap().estimate;
    assert_eq!((setting.thresholds[0].threshold, times), (1.5, 0.6));
}

#[test]
fn failed_runs_count_as_chance_and_unfinished_ones_do_not_count() {
    let mut runs: Vec<Found> =
        (1..=3).map(|seed| run("w", Method::Plain, 1e-3, seed, 100_000, 2.0)).collect();
    for run in &mut runs[1..] {
        run.record.summary = None;
        run.record.curve.steps.truncate(5);
        run.record.curve.returns.truncate(5);
    }
    runs[1].record.state = State::Failed("the loss is inf".into());
    runs[1].record.reached = Some([("1.5".to_string(), 700)].into());
    runs[2].record.state = State::Unfinished;
    let study = study(runs);
    let setting = &study.settings[0];
    let random = setting.references.random.unwrap();
    assert!((random + 2.485).abs() < 0.3, "{random}"); // docs/worlds.md
    assert_eq!(setting.after[0].teams[0].scores, [2.0, random]);
    let team = &setting.teams[0];
    assert_eq!((team.finished, team.failed, team.unfinished), (1, 1, 1));
    let passing = &setting.thresholds[0].teams[0];
    assert_eq!(
        (setting.thresholds[0].threshold, passing.runs, passing.passed, passing.low),
        (1.5, 2, 2, 700.0)
    );
    assert!(study.notes.iter().any(|n| n.starts_with("1 run is not finished")), "{:?}", study.notes);
    assert!(study.notes.iter().any(|n| n.starts_with("1 run failed")), "{:?}", study.notes);
}

#[test]
fn settings_with_an_optimum_are_put_on_one_scale() {
    let mut runs: Vec<Found> =
        (1..=4).map(|seed| run("w", Method::Equivariant, 1e-3, seed, 100_000, 2.7785)).collect();
    for seed in 1..=4 {
        let mut four = run("w4", Method::Equivariant, 1e-3, seed, 50_000, 3.76);
        let config = testing::config("[world]\ndrones = 4");
        four.record.config.world = config.world.clone();
        four.record.world = testing::of("four", config).world;
        four.record.config_hash = four.record.config.hash(&builtin());
        four.record.summary = Some(testing::summary(&four.record.config, 3.76));
        runs.push(four);
    }
    let both = study(runs.clone()).together.unwrap();
    assert_eq!(both.settings.len(), 2);
    assert!((both.teams[0].iqm.estimate - 1.0).abs() < 1e-9);
    // Other settings than the world are another experiment, and so are runs that chose learning rates.
    let mut other = runs.clone();
    for run in &mut other[4..] {
        run.record.config.clip = 0.3;
        run.record.config_hash = run.record.config.hash(&builtin());
    }
    assert!(study(other).together.is_none());
    runs[4..].iter_mut().for_each(|run| run.sweep = "w4-rates".into());
    assert!(study(runs).together.is_none());
}

#[test]
fn the_page_stands_alone() {
    let runs = (1..=4)
        .flat_map(|seed| {
            [(Method::Equivariant, 2.5), (Method::Plain, 2.0)]
                .map(|(method, value)| run("<b>", method, 1e-3, seed, 100_000, value))
        })
        .collect();
    let study = study(runs);
    let html = page(&study, "equimarl report <x>", "0.1.0 (abc)");
    let names: Vec<String> = study.figures().into_iter().map(|f| f.name).collect();
    assert_eq!(figures_of(&html), names);
    assert_eq!(figures_of("<meta name=\"figures\" content=\"../x a/b ok\">"), ["ok"]);
    for part in ["src=", "<script", "@import", "url(", "href=\"http", "<b>", "NaN"] {
        assert!(!html.contains(part), "{part}");
    }
    for part in ["</html>", "class=\"fig\"", "Interquartile mean", "wildlife-3-drones", "One rate per method"]
    {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(study.figures().len(), html.matches("<figure>").count());
    let json = serde_json::to_value(&study).unwrap();
    assert_eq!(json["settings"][0]["measure"], "return");
    assert_eq!(json["runs"].as_array().unwrap().len(), 8);
}
