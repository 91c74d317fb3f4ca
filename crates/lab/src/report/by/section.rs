//! The part of a page about teams over a number.

use super::Over;
use super::tables::Cells;
use crate::figure::escape;
use crate::report::figures::title;
use crate::report::page::{gallery, paragraph};
use crate::report::tables::table;
use crate::words::thousands;

impl Over {
    pub(crate) fn section(&self) -> String {
        let mut body =
            format!("<section id=\"{}\">\n<h2>{}</h2>\n", escape(&self.slug), escape(&title(&self.name)));
        body += &paragraph(&format!(
            "{}: the interquartile mean over seeds with its 95% bootstrap interval; in brackets how many runs, of how many. {}",
            title(&self.unit()),
            self.said.join(" ")
        ));
        body += &gallery(self.figures().iter());
        body += &named("At the end, evaluated with the likeliest actions", self.end_table());
        let early = format!("After {} steps of training", thousands(self.after as f64));
        body += &named(&early, self.early_table());
        for threshold in self.thresholds() {
            let heading = format!("Steps to {threshold}: median, and how many of the runs passed");
            body += &named(&heading, self.steps_table(threshold));
        }
        if !self.crossings.is_empty() {
            body += &named(
                &format!("At which {} another team overtakes the first", self.option),
                self.crossings_table(),
            );
            body += &paragraph(
                "The first value at which the difference of the interquartile means comes down to nothing, on straight lines \
                 between values that were run, with a 95% bootstrap interval over the runs of both teams at every value. Before: \
                 the first team was not ahead at the least value. Beyond: it was still ahead at the largest.",
            );
        }
        body + "</section>\n"
    }
}

fn named(heading: &str, (head, rows): Cells) -> String {
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    format!("<h3>{}</h3>\n{}", escape(heading), table(&head, &rows))
}
