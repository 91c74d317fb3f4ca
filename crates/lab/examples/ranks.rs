//! Chooses a learning rate (and penalty) per method over several strengths of what breaks a symmetry, by the rule of
//! `experiments/imperfect-plan.md`: the best mean of the ranks. Prints a table in Markdown, or JSON.
//!
//! ```text
//! cargo run --release -p equimarl-lab --example ranks -- [--json] OPTION DIR_OR_JSONL...
//! cargo run --release -p equimarl-lab --example ranks -- wind docs/results/imperfect/imperfect-rates.jsonl
//! ```

use equimarl_lab::{RankChoice, check_option, choose_by_ranks, gather};
use equimarl_worlds::builtin;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let json = words.iter().any(|w| w == "--json");
    words.retain(|w| w != "--json");
    let Some((option, places)) = words.split_first().filter(|(_, places)| !places.is_empty()) else {
        return Err("say a number of the world (wind, tilt) and where the runs are".into());
    };
    let registry = builtin();
    let places: Vec<PathBuf> = places.iter().map(PathBuf::from).collect();
    let found = gather(&registry, &places)?;
    let records = || found.runs.iter().map(|f| &f.record);
    check_option(records(), option)?;
    let choices = choose_by_ranks(&registry, records(), option);
    if json {
        println!("{}", serde_json::to_string_pretty(&choices)?);
        return Ok(());
    }
    println!("| runs | method | choice of | rate | penalty | medians (each seed) | ranks | mean rank | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    choices.iter().for_each(|choice| print!("{}", rows(choice, option)));
    for choice in choices.iter().filter(|c| c.incomplete > 0) {
        let RankChoice { family, method, incomplete, .. } = choice;
        println!("\n{family}, {method}: {incomplete} not ranked, because runs at some {option} are missing");
    }
    for (place, why) in &found.unreadable {
        eprintln!("not readable: {place}: {why}");
    }
    Ok(())
}

fn rows(choice: &RankChoice, option: &str) -> String {
    let mut text = String::new();
    for own in &choice.tries {
        let number = |v: &Option<f64>| v.map_or("failed".into(), |v| format!("{v:.3}"));
        let places = own.places.iter().map(|p| {
            let seeds: Vec<String> = p.measured.iter().map(number).collect();
            format!("{option} {}: {} ({})", p.value, number(&p.median), seeds.join(", "))
        });
        let ranks: Vec<String> = own.places.iter().map(|p| p.rank.to_string()).collect();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {:.2} | {} |\n",
            choice.family,
            choice.method,
            choice.of,
            own.learning_rate,
            own.penalty.map_or("-".into(), |p| p.to_string()),
            places.collect::<Vec<_>>().join("; "),
            ranks.join(", "),
            own.mean_rank,
            if own.chosen { "chosen" } else { "" }
        );
    }
    text
}
