//! The report as one page that needs nothing else: no script, no network.

use super::figures::{Figure, title};
use super::setting::SettingReport;
use super::stage::ChosenOn;
use super::study::Study;
use crate::choose::{RateRule, UP_TO};
use crate::figure::{dark_rules, escape};
use crate::record::State;
use crate::statistics::RESAMPLES;
use crate::words::{count, thousands};
use equimarl_files::MARK;

const STYLE: &str = include_str!("style.css");

const FIGURES: &str = "<meta name=\"figures\" content=\"";

/// The page. `command` is what made it, `made_by` which version.
pub fn page(study: &Study, command: &str, made_by: &str) -> String {
    let figures = study.figures();
    let mut body = String::from("<header>\n<h1>What the runs amount to</h1>\n");
    body += &lead(study);
    body += &notes(study);
    body += &contents(study);
    body += "</header>\n";
    if let Some(together) = &study.together {
        body += "<section id=\"all\">\n<h2>All settings together</h2>\n";
        body += &paragraph(&format!(
            "Scores are put on one scale, on which 0 is a team that acts at random and 1 the best that any team could do: \
             {}.",
            together
                .settings
                .iter()
                .map(|(name, steps)| format!("{name} after {} steps", thousands(*steps as f64)))
                .collect::<Vec<_>>()
                .join("; ")
        ));
        body += &gallery(figures.iter().filter(|f| f.name.starts_with("all-")));
        body += "</section>\n";
    }
    for over in &study.by {
        body += &over.section();
    }
    for setting in &study.settings {
        body += &section(setting);
    }
    body += &choice(study);
    body += &methods();
    body += &runs(study);
    body += &format!(
        "<footer><p>Made with <code>{}</code> by equimarl {}.</p></footer>\n",
        escape(command),
        escape(made_by)
    );
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"{MARK}\">\n{FIGURES}{}\">\n\
         <title>What the runs amount to</title>\n<style>\n{STYLE}@media (prefers-color-scheme: dark) {{\n{}}}\n</style>\n\
         </head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(&names.join(" ")),
        dark_rules("")
    )
}

/// The names of the figures that a page was written with, so that the next one in its place can take away those it has not.
pub fn figures_of(page: &str) -> Vec<String> {
    let Some((_, list)) = page.split_once(FIGURES) else { return vec![] };
    let names = list.split('"').next().unwrap_or_default().split(' ');
    // They become paths, so nothing but a figure's name may come through.
    let letters = |n: &&str| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    names.filter(|n| !n.is_empty()).filter(letters).map(String::from).collect()
}

pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

fn lead(study: &Study) -> String {
    let state = |wanted: fn(&State) -> bool| study.runs.iter().filter(|r| wanted(&r.state)).count();
    let mut text = format!(
        "{}: {} finished, {} unfinished, {} failed",
        count(study.runs.len(), "run"),
        state(|s| *s == State::Finished),
        state(|s| *s == State::Unfinished),
        state(|s| matches!(s, State::Failed(_)))
    );
    let left_out = study.left_out().count();
    if left_out > 0 {
        text += &format!("; {left_out} of them left out");
    }
    if !study.unreadable.is_empty() {
        text += &format!("; {} unreadable", count(study.unreadable.len(), "more place"));
    }
    text.push('.');
    if !study.made_by.is_empty() {
        text += &format!(" Made by equimarl {}", study.made_by.join(", "));
        if !study.made_on.is_empty() {
            text += &format!(" on {}", study.made_on.join(", "));
        }
        text.push('.');
    }
    format!("<p class=\"lead\">{}</p>\n", escape(&text))
}

fn notes(study: &Study) -> String {
    if study.notes.is_empty() {
        return String::new();
    }
    let items: String = study.notes.iter().map(|n| format!("<li>{}</li>\n", escape(n))).collect();
    format!(
        "<div class=\"loud\" role=\"note\"><strong>Before you read on</strong>\n<ul>\n{items}</ul></div>\n"
    )
}

fn contents(study: &Study) -> String {
    let mut links = String::new();
    if study.together.is_some() {
        links += "<a href=\"#all\">All settings together</a>\n";
    }
    for over in &study.by {
        links += &format!("<a href=\"#{}\">{}</a>\n", escape(&over.slug), escape(&title(&over.name)));
    }
    for s in &study.settings {
        links += &format!("<a href=\"#{}\">{}</a>\n", escape(&s.slug), escape(&title(&s.setting)));
    }
    links += "<a href=\"#rates\">Learning rates</a>\n<a href=\"#how\">How numbers are made</a>\n<a href=\"#runs\">All runs</a>\n";
    format!("<nav aria-label=\"Contents\">\n{links}</nav>\n")
}

pub(super) fn gallery<'a>(figures: impl Iterator<Item = &'a Figure>) -> String {
    let one = |f: &Figure| {
        let link =
            |ending: &str| format!(" <a href=\"{}.{ending}\">{}</a>", escape(&f.name), ending.to_uppercase());
        let files: String = Figure::ENDINGS.into_iter().map(link).collect();
        format!(
            "<figure>\n{}<figcaption>{}{files}</figcaption>\n</figure>\n",
            f.drawing.inline(),
            escape(&f.caption)
        )
    };
    format!("<div class=\"figures\">\n{}</div>\n", figures.map(one).collect::<String>())
}

fn section(setting: &SettingReport) -> String {
    let mut body = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n",
        escape(&setting.slug),
        escape(&title(&setting.setting))
    );
    body += &paragraph(&references(setting));
    body += &gallery(setting.figures().iter());
    if !setting.costs.said.is_empty() {
        body += &paragraph(&format!("What steps cost: {}", setting.costs.said.join(" ")));
    }
    body += "<h3>Where the teams ended</h3>\n";
    body += &setting.final_table();
    body += &setting.alarms_section();
    if !setting.comparisons.is_empty() {
        body += "<h3>Against each other</h3>\n";
        body += &setting.comparison_table();
    }
    if !setting.thresholds.is_empty() {
        body += "<h3>Steps to a threshold</h3>\n";
        body += &setting.thresholds_table();
    }
    body + "</section>\n"
}

fn references(setting: &SettingReport) -> String {
    let r = &setting.references;
    let episodes = thousands(r.episodes as f64);
    let mut parts = vec![];
    if let Some(v) = r.random {
        parts.push(format!(
            "random actions give a {} of {v:.3} ({episodes} episodes)",
            setting.measure.name()
        ));
    }
    if let Some(v) = r.optimum {
        parts.push(format!(
            "the best possible return, computed exactly for a team that knows everything, is {v:.4}"
        ));
    }
    if !r.controllers.is_empty() {
        let each = r.controllers.iter().map(|(name, v)| format!("{} {v:.2}", name.replace('_', " ")));
        let list = each.collect::<Vec<_>>().join(", ");
        parts.push(format!("controllers that come with the world: {list} ({episodes} episodes each)"));
    }
    let text = parts.join("; ");
    if text.is_empty() { text } else { format!("Without learning: {text}.") }
}

fn choice(study: &Study) -> String {
    let mut body = String::from("<section id=\"rates\">\n<h2>How learning rates were chosen</h2>\n");
    let worth = match study.rule {
        RateRule::Area => format!(
            "highest median over seeds of the area under the training curve, which is the mean of the return over the steps up \
             to {}",
            thousands(UP_TO as f64)
        ),
        RateRule::End => {
            "best median over seeds of the setting's measure over the last tenth of all steps".to_string()
        }
    };
    body += &paragraph(&format!(
        "The rule: per setting and method, the rate with the {worth}. A run that fails counts as the worst; among equals the rate with \
         fewer failed runs wins, then the smaller one. Only runs of one length are compared. Choosing on the \
         seeds that are reported flatters, because the best of several noisy results is better than its method; rates should \
         be chosen on seeds that are not reported."
    ));
    let settings = |wanted: ChosenOn| {
        let names = study.chosen_on.iter().filter(|(_, on)| **on == wanted).map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join("; ")
    };
    for (wanted, text) in [
        (ChosenOn::OtherSeeds, "Chosen on other seeds than those reported"),
        (ChosenOn::ReportedSeeds, "Chosen on the reported seeds, so these results flatter"),
        (ChosenOn::Unknown, "One rate per method, and no runs here that say how it was chosen"),
    ] {
        let names = settings(wanted);
        if !names.is_empty() {
            body += &format!("<p><strong>{}:</strong> {}.</p>\n", escape(text), escape(&names));
        }
    }
    body += &study.choice_table();
    body + "</section>\n"
}

fn methods() -> String {
    let mut body = String::from("<section id=\"how\">\n<h2>How numbers are made</h2>\n");
    body += &paragraph(
        "Score of a run after N steps: the mean of its training curve (sampled actions; the mean return of the last 100 \
         episodes, or the mean waiting time of the last 20) over the last tenth of the steps before N. A run that ended before \
         N does not count there, and every number says how many runs it stands on. Teams are compared after the most steps that \
         five runs of both made, or the most runs if there are fewer. Evaluated values are of episodes that are the same for \
         all, after the last step of runs that ended just there.",
    );
    body += &paragraph(&format!(
        "Interquartile mean (IQM): the mean without the lowest and the highest quarter of the runs. Intervals: 95%, by the \
         percentile bootstrap with {} resamples, runs resampled within each team and setting; one run has none. Probability of \
         improvement: \
         Mann-Whitney, ties count half. Better by: the median of the differences between all pairs of runs (Hodges and \
         Lehmann). Steps to a threshold: the median by Kaplan and Meier, in which a run that ended before it passed counts until \
         its own end, and one that failed until the end of its budget. Known by then are runs that had passed or went on for so \
         long; over N says that half of the runs are known to need more than N, and open that the runs ended before the end of \
         the interval.",
        thousands(RESAMPLES as f64)
    ));
    body += &paragraph(
        "Seconds: of different machines none are compared. A team's seconds per step are the median over its finished runs on one \
         machine, from the first step to the end of the last evaluation, whatever else the machine did; seconds to a threshold are \
         its steps times that. Multiply-adds: counted from the layers as the dense arithmetic that they define, a pass forward for \
         every state of a rollout and three (forward and backward) for every state and copy in every epoch. The program computes \
         equal pictures once, and so less.",
    );
    body + "</section>\n"
}

fn runs(study: &Study) -> String {
    format!(
        "<section id=\"runs\">\n<h2>All runs</h2>\n<details>\n<summary>{} and how they stand</summary>\n{}</details>\n\
         </section>\n",
        count(study.runs.len() + study.unreadable.len(), "place"),
        study.runs_table()
    )
}
