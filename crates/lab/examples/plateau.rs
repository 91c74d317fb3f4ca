//! Looks closely at runs of traffic: how random their lights are, how sure they are by the number of vehicles, where greedy lights
//! get stuck, and how much policies swing. Writes figures and one JSON file.
//!
//! ```text
//! cargo run --release -p equimarl-lab --example plateau -- OUT NAME=RUN [NAME=RUN ...]
//! ```

use equimarl_lab::figure::{Chart, Colour, Series};
use equimarl_learn::{Inference, RunFolder};
use equimarl_nn::Network;
use equimarl_worlds::traffic::{Traffic, TrafficOptions};
use equimarl_worlds::{End, Exact, Purpose, Stream, World, builtin};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

type Found<T> = Result<T, Box<dyn Error>>;

/// Episodes that are looked into, and their seed: not those of evaluations.
const EPISODES: u64 = 100;
const SEED: u64 = 17;
/// Numbers of vehicles inside, from each to the next.
const BINS: [usize; 8] = [1, 2, 3, 4, 6, 9, 13, 20];

fn main() -> Found<()> {
    let mut words = std::env::args().skip(1);
    let out = PathBuf::from(words.next().ok_or("say where the figures go, and then NAME=RUN for every run")?);
    let runs: Vec<(String, PathBuf)> = words
        .map(|word| word.split_once('=').map(|(n, r)| (n.to_string(), PathBuf::from(r))).ok_or(word))
        .collect::<Result<_, String>>()
        .map_err(|word| format!("`{word}` is not NAME=RUN"))?;
    fs::create_dir_all(&out)?;
    let mut charts: [Chart; 5] = [
        chart("How random lights are", "entropy of a light (at most 0.693)"),
        chart("Waiting while training", "mean waiting time, steps"),
        chart("How policies swing, sampled", "waiting in evaluation, sampled"),
        chart("How policies swing, greedy", "waiting in evaluation, greedy"),
        Chart {
            x_label: "vehicles inside".into(),
            ..chart("How sure lights are", "larger minus smaller probability")
        },
    ];
    let mut all = vec![];
    for (index, (name, run)) in runs.iter().enumerate() {
        let colour = Colour::new(index);
        let lines = metrics(run)?;
        let curve = |of: &dyn Fn(&Value) -> Option<f64>| -> Vec<(f64, f64)> {
            lines.iter().filter_map(|line| Some((line["steps"].as_f64()?, of(line)?))).collect()
        };
        let evaluated =
            |how: &'static str| move |line: &Value| line["evaluation"][how]["waiting"]["mean"].as_f64();
        let looked = look(run)?;
        let curves = [
            curve(&|line| line["entropy"].as_f64()),
            curve(&|line| line["waiting"].as_f64()),
            curve(&evaluated("sampled")),
            curve(&evaluated("greedy")),
            looked.sure.iter().map(|(n, sure, _)| (*n as f64, *sure)).collect(),
        ];
        for (chart, points) in charts.iter_mut().zip(curves) {
            chart.series.push(Series::line(name, colour, points));
        }
        println!("{name}: {} of {EPISODES} greedy episodes never end", looked.stuck.len());
        for stuck in looked.stuck.iter().take(3) {
            println!("  {} vehicles left, probabilities of phase 0: {:?}", stuck.0, stuck.1);
        }
        all.push(json!({ "name": name, "sure": looked.sure, "stuck": looked.stuck }));
    }
    // A jam would hide everything else.
    charts[2].y_range = Some((0.0, 15.0));
    charts[3].y_range = Some((0.0, 15.0));
    for (chart, file) in charts.iter().zip(["entropy", "waiting", "swing-sampled", "swing-greedy", "sure"]) {
        fs::write(out.join(format!("{file}.svg")), chart.svg())?;
    }
    fs::write(out.join("plateau.json"), format!("{:#}\n", json!(all)))?;
    Ok(())
}

fn chart(title: &str, y_label: &str) -> Chart {
    Chart {
        title: title.into(),
        x_label: "environment steps".into(),
        y_label: y_label.into(),
        ..Chart::default()
    }
}

fn metrics(run: &Path) -> Found<Vec<Value>> {
    let text = fs::read_to_string(RunFolder::at(run).metrics())?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

struct Looked {
    /// From so many vehicles inside: the mean difference of the two probabilities, and of how many lights.
    sure: Vec<(usize, f64, usize)>,
    /// Greedy episodes that were cut off: the vehicles left at the end, and every junction's probability of phase 0 there.
    stuck: Vec<(usize, Vec<f32>)>,
}

fn look(run: &Path) -> Found<Looked> {
    let (network, _) = Network::load(RunFolder::at(run).model())?;
    let policy = network.policy()?;
    let registry = builtin();
    let envs = registry.make(&registry.usual("traffic")?, &"C4".parse()?, 1)?;
    let mut inference = Inference::new(&policy, &network.sharing(), &*envs)?;
    let mut sums = [(0.0, 0); BINS.len()];
    let mut stuck = vec![];
    for (episode, greedy) in (0..EPISODES).flat_map(|e| [(e, false), (e, true)]) {
        let mut world = Traffic::new(TrafficOptions::default())?;
        world.reset(&mut Stream::new(SEED, Purpose::World, episode))?;
        let mut choice = Stream::new(SEED, Purpose::Action, episode);
        loop {
            let said = inference.forward(&policy, [&world as &dyn World].into_iter())?;
            let first: Vec<f32> = said.log_probabilities.chunks(2).map(|row| row[0].exp()).collect();
            let bin = BINS.iter().rposition(|&from| from <= world.inside());
            if let Some(bin) = bin.filter(|_| !greedy) {
                for p in &first {
                    sums[bin].0 += f64::from((2.0 * p - 1.0).abs());
                    sums[bin].1 += 1;
                }
            }
            let mut act =
                |p: &f32| usize::from(if greedy { *p < 0.5 } else { choice.unit() >= f64::from(*p) });
            let actions: Vec<usize> = first.iter().map(&mut act).collect();
            match world.apply(&actions, &()).end {
                End::Running => {}
                End::Truncated if greedy => {
                    stuck.push((world.inside() + world.pending(), first));
                    break;
                }
                _ => break,
            }
        }
    }
    let bins = BINS.iter().zip(sums).filter(|(_, (_, n))| *n > 0);
    let sure = bins.map(|(&from, (sum, n))| (from, sum / n as f64, n)).collect();
    Ok(Looked { sure, stuck })
}
