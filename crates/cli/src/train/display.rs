//! What one sees while a team learns: a bar in a terminal, plain lines elsewhere, JSON lines for programs.

use crate::output::print;
use crate::registry;
use crate::waiting::{duration, grouped};
use equimarl_learn::run::Event;
use equimarl_learn::{Method, Pulse, Stage, TrainConfig};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// Plain lines come at most this often.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// JSON lines come at most this often.
const BETWEEN_JSON: Duration = Duration::from_millis(200);
/// Points of the sparkline.
const POINTS: usize = 24;

enum Output {
    Bar(ProgressBar),
    Lines,
    Json,
    Nothing,
}

pub struct Display {
    output: Output,
    steps: u64,
    /// Where this process began, after a resume.
    begun: u64,
    /// Steps so far, and whether an iteration is over that tells how fast it is.
    now: u64,
    paced: bool,
    start: Instant,
    last: Instant,
    /// What is shown besides the return.
    measure: Option<String>,
    history: Vec<f64>,
}

/// What a network of [`Method::Subgroup`] has, and whether an audit finds the same.
fn what_is_left(config: &TrainConfig) -> String {
    let group = config.group.as_str();
    let words = equimarl_learn::in_words(group);
    match (group, equimarl_learn::left(registry(), &config.world)) {
        ("C1", Ok(left)) if left == "C1" => "nothing is left of the symmetry, so the network is plain".into(),
        (_, Ok(left)) if left == group => format!("{group}{words} is left of the symmetry"),
        (_, Ok(left)) => format!(
            "{group}{words} as it was asked for; an audit leaves {left}{}",
            equimarl_learn::in_words(&left)
        ),
        (_, Err(_)) => format!("{group}{words} as it was asked for; this world cannot be audited"),
    }
}

impl Display {
    pub fn new(config: &TrainConfig, folder: &Path, quiet: bool, json: bool) -> Display {
        let output = match (json, quiet, std::io::stderr().is_terminal()) {
            (true, ..) => Output::Json,
            (_, true, _) => Output::Nothing,
            (_, _, true) => {
                let bar = ProgressBar::new(config.steps);
                // The template is ours; if it were wrong, the usual bar would do.
                if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}%  {msg}") {
                    bar.set_style(style);
                }
                bar.set_message("starting");
                bar.enable_steady_tick(Duration::from_millis(200));
                Output::Bar(bar)
            }
            _ => Output::Lines,
        };
        if !quiet && !json {
            let left = match config.method {
                Method::Subgroup => format!(" ({})", what_is_left(config)),
                _ => String::new(),
            };
            eprintln!(
                "training {}{left} in {} for {} steps, seed {}, into {}",
                config.method,
                config.world.name,
                config.steps,
                config.seed,
                folder.display()
            );
        }
        let now = Instant::now();
        Display {
            output,
            steps: config.steps,
            begun: 0,
            now: 0,
            paced: false,
            start: now,
            last: now,
            measure: first_measure(config),
            history: vec![],
        }
    }

    pub fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Resumed { steps } => {
                (self.begun, self.now) = (steps, steps);
                if steps > 0 {
                    self.say(&format!("continuing after {steps} steps"));
                }
            }
            // Standard output is for JSON; standard error is free.
            Event::Warning(text) if matches!(self.output, Output::Json) => eprintln!("warning: {text}"),
            Event::Warning(text) => self.say(&format!("warning: {text}")),
            Event::Evaluation { steps, found } => {
                if let Output::Json = self.output {
                    print_line(&json!({ "steps": steps, "evaluation": found }));
                } else {
                    let gap = found.gap.map_or(String::new(), |g| format!(", {g:.3} below the optimum"));
                    self.say(&format!(
                        "evaluated after {steps} steps: {:.3} (greedy actions), {:.3} (sampled){gap}",
                        found.greedy.total.mean, found.sampled.total.mean
                    ));
                    // Said whole at the end of the run.
                    if let Some(stuck) = &found.stuck {
                        self.say(stuck.to_string().lines().next().unwrap_or_default());
                    }
                }
            }
            Event::Evaluating { steps, episodes } => match &self.output {
                Output::Bar(bar) => {
                    bar.set_message(format!("evaluating in {} episodes", grouped(episodes as u64)))
                }
                // Usual ones take a second or two.
                Output::Lines if episodes >= 1000 => {
                    eprintln!(
                        "{}/{} steps  evaluating in {} episodes",
                        grouped(steps),
                        grouped(self.steps),
                        grouped(episodes as u64)
                    );
                }
                _ => {}
            },
            Event::Working(pulse) => self.work(pulse),
            Event::Stopping => self.say("stopping, and writing down where it is"),
            Event::Iteration { steps, episodes, mean_return, measure, progress } => {
                (self.now, self.paced) = (steps, true);
                let due = match self.output {
                    Output::Json => self.last.elapsed() >= BETWEEN_JSON || steps >= self.steps,
                    Output::Lines => self.last.elapsed() >= BETWEEN_LINES,
                    Output::Bar(_) => self.last.elapsed() >= Duration::from_millis(80),
                    Output::Nothing => false,
                };
                if let Output::Bar(bar) = &self.output {
                    bar.set_position(steps);
                }
                if !due {
                    return;
                }
                self.last = Instant::now();
                let rate = (steps - self.begun) as f64 / self.start.elapsed().as_secs_f64();
                if let Output::Json = self.output {
                    let mut line = json!({
                        "steps": steps, "episodes": episodes, "return": mean_return, "entropy": progress.loss.entropy,
                        "approx_kl": progress.loss.approx_kl, "steps_per_second": rate,
                    });
                    if let Some(name) = &self.measure {
                        line[name] = json!(measure);
                    }
                    for alarm in &progress.alarms {
                        line[&alarm.name] = json!(alarm.value);
                    }
                    if progress.abandoned > 0 {
                        line["abandoned"] = json!(progress.abandoned);
                    }
                    print_line(&line);
                    return;
                }
                self.history.push(mean_return);
                let mut extra =
                    self.measure.as_ref().map_or(String::new(), |name| format!("{name} {measure:.2}  "));
                for (name, value) in progress.alarms.iter().filter_map(|a| Some((&a.name, a.value?))) {
                    extra += &format!("{name} {value:.0}  ");
                }
                if progress.abandoned > 0 {
                    extra += &format!("abandoned {}  ", progress.abandoned);
                }
                let left = duration((self.steps - steps.min(self.steps)) as f64 / rate);
                let pace = format!("{}/s  {left} left", grouped(rate.round() as u64));
                let text = format!(
                    "{pace}  return {mean_return:.3}  {extra}entropy {:.3}  KL {:.4}  {}",
                    progress.loss.entropy,
                    progress.loss.approx_kl,
                    sparkline(&self.history, POINTS)
                );
                match &self.output {
                    Output::Bar(bar) => bar.set_message(text),
                    _ => eprintln!("{}/{} steps  {text}", grouped(steps), grouped(self.steps)),
                }
            }
        }
    }

    /// What a long iteration is at. Short ones are seen as a whole.
    fn work(&mut self, pulse: Pulse) {
        let quiet = match self.output {
            Output::Bar(_) => Duration::from_secs(1),
            Output::Lines => BETWEEN_LINES,
            Output::Json => Duration::from_secs(2),
            Output::Nothing => return,
        };
        // The first seconds tell whether anything happens at all.
        let quiet = if self.paced { quiet } else { quiet.min(Duration::from_secs(1)) };
        if self.last.elapsed() < quiet {
            return;
        }
        self.last = Instant::now();
        let (stage, parts) = match pulse.stage {
            Stage::Acting => ("acting", "steps"),
            Stage::Learning => ("learning", "updates"),
        };
        let Pulse { done, of, .. } = pulse;
        match &self.output {
            Output::Bar(bar) => bar.set_message(format!("{stage}: {done} of {of} {parts} of an iteration")),
            Output::Lines => eprintln!(
                "{}/{} steps  {stage}: {done} of {of} {parts} of an iteration",
                grouped(self.now),
                grouped(self.steps)
            ),
            Output::Json => print_line(&json!({ "steps": self.now, "stage": stage, "done": done, "of": of })),
            Output::Nothing => {}
        }
    }

    fn say(&self, text: &str) {
        match &self.output {
            Output::Bar(bar) => bar.println(text),
            Output::Lines => eprintln!("{text}"),
            Output::Json | Output::Nothing => {}
        }
    }

    pub fn close(&self) {
        if let Output::Bar(bar) = &self.output {
            bar.finish_and_clear();
        }
    }
}

/// What people look at first in the world of a run, if it is not the return.
pub fn first_measure(config: &TrainConfig) -> Option<String> {
    let spec = registry().describe(&config.world).ok()?.spec;
    spec.first_measure().map(|(_, measure)| measure.name.clone())
}

/// Training goes on for the sake of its files, even if nobody listens any more.
fn print_line(line: &Value) {
    let _ = print(&format!("{line}\n"));
}

/// A curve in one line of text, averaged down to so many points.
pub fn sparkline(values: &[f64], points: usize) -> String {
    let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    if values.is_empty() {
        return String::new();
    }
    let size = values.len().div_ceil(points);
    let means: Vec<f64> = values.chunks(size).map(|c| c.iter().sum::<f64>() / c.len() as f64).collect();
    let (low, high) = means.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |v: f64| BARS[(((v - low) / (high - low).max(1e-9)) * 7.0).round() as usize];
    means.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_rising_curve_rises() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 8), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[1.0; 5], 8), "▁▁▁▁▁");
        assert_eq!(sparkline(&[f64::NAN], 8), "");
        assert_eq!(sparkline(&(0..100).map(f64::from).collect::<Vec<_>>(), 10).chars().count(), 10);
    }
}
