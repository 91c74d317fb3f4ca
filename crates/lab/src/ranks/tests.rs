use super::*;
use crate::record::Curve;
use crate::testing;
use equimarl_worlds::builtin;

fn run(method: &str, wind: f64, rate: f64, more: &str, value: f64) -> Vec<Record> {
    let one = |seed: u64| {
        let change = format!(
            "method = '{method}'\nlearning_rate = {rate}\nseed = {seed}\nsteps = 1000\n{more}\n[world]\nwind = {wind}"
        );
        // One bad seed does not move a median.
        let value = if seed == 103 { -9.0 } else { value + 0.01 * (seed - 101) as f64 };
        let curve = Curve { steps: vec![500, 1000], returns: vec![0.0, value], ..Curve::default() };
        Record { curve, ..testing::record(&change) }
    };
    (101..=103).map(one).collect()
}

fn choices(records: &[Record]) -> Vec<RankChoice> {
    choose_by_ranks(&builtin(), records, "wind")
}

fn chosen(choice: &RankChoice) -> (f64, Option<f64>, f64) {
    let best = choice.tries.iter().find(|t| t.chosen).unwrap();
    (best.learning_rate, best.penalty, best.mean_rank)
}

#[test]
fn the_best_mean_of_ranks_wins() {
    let mut records = vec![];
    // Ranks: 5e-4 is 1st and 3rd, 1e-3 2nd and 2nd, 2e-3 3rd and 1st: all 2, so the smallest.
    for (rate, calm, windy) in [(5e-4, 2.0, 1.0), (1e-3, 1.9, 1.1), (2e-3, 1.0, 1.2)] {
        records.extend(run("plain", 0.0, rate, "", calm));
        records.extend(run("plain", 0.4, rate, "", windy));
    }
    let found = choices(&records);
    assert_eq!((found.len(), found[0].method.as_str(), found[0].of), (1, "plain", "learning_rate"));
    assert_eq!(chosen(&found[0]), (5e-4, None, 2.0));
    assert_eq!(found[0].tries[0].places[1].rank, 3.0);
    assert_eq!(found[0].tries[1].places[0].median, Some(1.9));
    assert_eq!(found[0].tries[1].places[0].measured[2], Some(-9.0));
    // The middle one better in a calm: ranks 1 and 2.
    records.iter_mut().filter(|r| r.config.learning_rate == 1e-3).for_each(|r| r.curve.returns[1] += 0.15);
    assert_eq!(chosen(&choices(&records)[0]), (1e-3, None, 1.0));
}

#[test]
fn failures_are_the_worst_and_missing_tries_are_not_ranked() {
    let mut records = vec![];
    for (rate, value) in [(5e-4, 1.0), (1e-3, 2.0)] {
        records.extend(run("equivariant", 0.0, rate, "", value));
        records.extend(run("equivariant", 0.4, rate, "", value));
    }
    // Two of three fail at one value: the median is the worst there, and the means are equal.
    let broken = |r: &&mut Record| r.config.learning_rate == 1e-3 && r.config.seed < 103;
    for r in records.iter_mut().filter(|r| r.world.title.contains("wind")).filter(broken) {
        r.state = State::Failed("the loss is inf".into());
    }
    records.extend(run("equivariant", 0.4, 2e-3, "", 9.0));
    let found = choices(&records);
    assert_eq!(chosen(&found[0]), (5e-4, None, 1.5));
    assert_eq!((found[0].tries.len(), found[0].incomplete), (2, 1));
    assert_eq!(found[0].tries[1].places[1].median, None);
}

#[test]
fn what_holds_at_one_value_only_is_ranked_there() {
    let mut records = run("equivariant", 0.0, 1e-3, "", 1.0);
    for (rate, value) in [(5e-4, 1.0), (1e-3, 2.0)] {
        records.extend(run("cause", 0.4, rate, "", value));
    }
    let found = choices(&records);
    let cause = found.iter().find(|c| c.method == "cause").unwrap();
    assert_eq!(chosen(cause), (1e-3, None, 1.0));
}

#[test]
fn the_penalty_is_chosen_before_the_rate() {
    let mut records = vec![];
    for (penalty, value) in [(1, 1.0), (10, 2.0), (100, 1.5)] {
        records.extend(run("relaxed", 0.0, 1e-3, &format!("penalty = {penalty}"), value));
        records.extend(run("relaxed", 0.4, 1e-3, &format!("penalty = {penalty}"), value));
    }
    let found = choices(&records);
    // The rates at the chosen penalty have not been run yet.
    assert_eq!((found.len(), found[0].of), (1, "penalty"));
    assert_eq!(chosen(&found[0]), (1e-3, Some(10.0), 1.0));
    for (rate, value) in [(5e-4, 2.5), (2e-3, 1.0)] {
        records.extend(run("relaxed", 0.0, rate, "penalty = 10", value));
        records.extend(run("relaxed", 0.4, rate, "penalty = 10", value));
    }
    let found = choices(&records);
    assert_eq!(
        found.iter().map(|c| (c.of, c.tries.len())).collect::<Vec<_>>(),
        [("penalty", 3), ("learning_rate", 3)]
    );
    assert_eq!(chosen(&found[1]), (5e-4, Some(10.0), 1.0));
}

#[test]
fn less_waiting_is_better() {
    let registry = builtin();
    let city = registry.usual("traffic").unwrap();
    let base = equimarl_learn::TrainConfig::preset(&registry, "default", city, Method::Plain).unwrap();
    let run = |rate: f64, tilt: f64, waiting: f64| {
        let change = format!("learning_rate = {rate}\nsteps = 1024\n[world]\ntilt = {tilt}");
        let config = equimarl_learn::TrainConfig::overlay(&registry, &base, &change).unwrap();
        let mut record = testing::of("x", config);
        record.curve = Curve { steps: vec![1024], returns: vec![0.0], ..Curve::default() };
        record.curve.measures.insert("waiting".into(), vec![waiting]);
        record
    };
    let records = [run(1e-3, 0.0, 3.0), run(1e-3, 0.4, 3.0), run(2e-3, 0.0, 2.0), run(2e-3, 0.4, 2.5)];
    let found = choose_by_ranks(&registry, &records, "tilt");
    assert_eq!((found[0].measure.as_str(), chosen(&found[0]).0), ("waiting", 2e-3));
    assert_eq!(found[0].tries[1].places[1].median, Some(2.5));
}
