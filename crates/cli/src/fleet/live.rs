//! What one sees of a running fleet, and what it says at the end.

use crate::output::{print, print_json, table};
use anyhow::Result;
use equimarl_fleet::{Drops, Host, Reason, Report};
use equimarl_worlds::{Spec, Summary};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Shows how a fleet is doing, on standard error: one line that changes in a terminal, one now and then elsewhere.
pub struct Live {
    terminal: bool,
    quiet: bool,
    /// Whether the fleet's own clock is simulated.
    simulated: bool,
    last: Instant,
    start: Instant,
    shown: bool,
}

impl Live {
    pub fn new(quiet: bool, simulated: bool) -> Live {
        let now = Instant::now();
        Live {
            terminal: std::io::stderr().is_terminal(),
            quiet,
            simulated,
            last: now,
            start: now,
            shown: false,
        }
    }

    /// Says something above the line.
    #[cfg(feature = "zenoh")]
    pub fn say(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            eprintln!("{text}");
        }
    }

    fn clear(&mut self) {
        if self.terminal && self.shown {
            eprint!("\r\x1b[K");
            self.shown = false;
        }
    }

    pub fn show(&mut self, host: &Host) {
        let often = Duration::from_millis(if self.terminal { 250 } else { 5000 });
        if self.quiet || self.last.elapsed() < often {
            return;
        }
        self.last = Instant::now();
        let text = match host.started() {
            true => line(host, if self.simulated { self.seconds() } else { host.report().seconds() }),
            false => format!("{} agents have joined", host.joined()),
        };
        if self.terminal {
            eprint!("\r\x1b[K{text}");
            let _ = std::io::stderr().flush();
            self.shown = true;
        } else {
            eprintln!("{text}");
        }
    }

    /// Ends the line.
    pub fn close(&mut self) {
        self.clear();
    }

    /// How long it took so far.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

fn line(host: &Host, seconds: f64) -> String {
    let report = host.report();
    let recent: Vec<f64> = host.episodes().iter().rev().take(20).map(|e| e.total).collect();
    let mean = recent.iter().sum::<f64>() / recent.len() as f64;
    let total = if recent.is_empty() { "-".into() } else { format!("{mean:.3}") };
    format!(
        "episode {}  step {}  {:.0} steps/s  round p50 {} p99 {}  {:.0} B/agent/step  {} missed  return {total}",
        host.place().episode,
        host.place().step,
        report.steps as f64 / seconds,
        time(report.latency(0.5)),
        time(report.latency(0.99)),
        report.bytes_per_agent_and_step(),
        report.missed,
    )
}

fn time(us: Option<u32>) -> String {
    us.map_or("-".into(), |us| format!("{:.2} ms", f64::from(us) / 1e3))
}

/// Prints how a run went.
pub fn finish(host: &Host, seconds: f64, simulated: bool, about: Value, json: bool) -> Result<()> {
    let summary = Summary::of(host.episodes(), host.spec());
    let report = host.report();
    if json {
        let mut value = serde_json::to_value(&summary)?;
        let mut fleet = report.json();
        fleet["seconds"] = json!(seconds);
        fleet["steps_per_second"] = json!(report.steps as f64 / seconds);
        value["fleet"] = fleet;
        if let (Value::Object(value), Value::Object(about)) = (&mut value, about) {
            value.extend(about);
        }
        return print_json(&value);
    }
    print(&text(&summary, host.spec(), report, seconds, simulated))
}

fn text(summary: &Summary, spec: &Spec, report: &Report, seconds: f64, simulated: bool) -> String {
    let number = |value: f64| if value.is_nan() { "-".into() } else { format!("{value:.4}") };
    let mut rows = vec![("return", summary.total), ("length", summary.length)];
    let names = spec.measures.iter().map(|m| m.name.as_str());
    rows.extend(names.filter_map(|name| Some((name, *summary.measures.get(name)?))));
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(name, s)| vec![name.into(), number(s.mean), number(s.stderr)]).collect();
    let mut out = table(&["per episode", "mean", "standard error"], &rows);
    let share = |part: u64, whole: u64| match whole {
        0 => String::new(),
        _ => format!(" ({:.2}%)", 100.0 * part as f64 / whole as f64),
    };
    let clock = if simulated { " of simulated time" } else { "" };
    let mut line = |name: &str, value: String| out += &format!("{name:<28}{value}\n");
    line("", String::new());
    line(
        "steps",
        format!("{} in {seconds:.1} s, {:.0} a second", report.steps, report.steps as f64 / seconds),
    );
    let [p50, p99] = [0.5, 0.99].map(|q| time(report.latency(q)));
    line("a round takes", format!("{p50} (median), {p99} (99th percentile){clock}"));
    line("between agents", format!("{:.0} bytes per agent and step", report.bytes_per_agent_and_step()));
    let sensors = report.per_agent_and_step(report.downlink + report.uplink);
    line("sensors and actions", format!("{sensors:.0} bytes per agent and step"));
    line(
        "messages missed",
        format!("{} of {}{}", report.missed, report.expected, share(report.missed, report.expected)),
    );
    if report.cut_off > 0 {
        line("cut-off steps", format!("{}, summed over agents", report.cut_off));
    }
    if report.absent > 0 {
        line("steps without an answer", format!("{}, summed over agents", report.absent));
    }
    if report.rejoined > 0 {
        line("agents came back", format!("{} times", report.rejoined));
    }
    if report.abandoned > 0 {
        line("episodes that a simulator lost", report.abandoned.to_string());
    }
    // Not what was lost on the way: that was missed.
    line("refused by receivers", drops(&report.dropped, "by agents"));
    let clipped = report.dropped.of(Reason::Clipped);
    if clipped > 0 {
        line("brought into range", format!("{clipped}, and used"));
    }
    if report.refused.total() > 0 {
        line("", drops(&report.refused, "by the world"));
    }
    out
}

fn drops(drops: &Drops, who: &str) -> String {
    // What was clipped was kept.
    let refused = |r: Reason| r != Reason::Clipped && drops.of(r) > 0;
    let reasons: Vec<String> = Reason::ALL
        .iter()
        .filter(|&&r| refused(r))
        .map(|&r| format!("{} {}", drops.of(r), r.name()))
        .collect();
    match reasons.is_empty() {
        true => "none".into(),
        false => {
            let all = drops.total() - drops.of(Reason::Clipped);
            format!("{all} {who}: {}", reasons.join(", "))
        }
    }
}
