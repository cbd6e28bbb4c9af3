//! The words of a series for a build server: JUnit's XML, and GitHub's annotations.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::{CommandError, complain};
use crate::verdict::{Report, Verdict, Word, text};

/// What a build server is told besides.
#[derive(Debug, Args)]
pub(super) struct ForCi {
    /// Also write the words as JUnit's XML, for a build server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "share"])]
    junit: Option<PathBuf>,
    /// Also print, on stderr, a line for each word that is no pass, as GitHub's annotations are written
    #[arg(long, conflicts_with_all = ["plan", "share"])]
    annotate: bool,
}

impl ForCi {
    /// Tells it. In JUnit's XML a grid is a suite and a word a case. What is worse is a failure; a word that establishes nothing, or is
    /// void, is an error, so that no reader of such files takes it for a pass; what was not compared is skipped.
    pub(super) fn tell(&self, report: &Report) -> Result<(), CommandError> {
        if self.annotate {
            complain(annotations(report).trim_end());
        }
        let Some(path) = &self.junit else { return Ok(()) };
        std::fs::write(path, junit(report))
            .map_err(|source| CommandError::File { path: path.clone(), source })
    }
}

/// JUnit's element for a word that is no pass; `None` for one that is.
fn element(word: Word) -> Option<&'static str> {
    match word.exit_status() {
        0 => None,
        1 => Some("failure"),
        5 => Some("skipped"),
        _ => Some("error"),
    }
}

fn junit(report: &Report) -> String {
    let count = |name| {
        report.verdicts.iter().filter(|verdict| element(verdict.word()) == Some(name)).count()
    };
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
        escaped(&report.grid),
        report.verdicts.len(),
        count("failure"),
        count("error"),
        count("skipped"),
    );
    for verdict in &report.verdicts {
        let Verdict { cell, metric, comparison, .. } = verdict;
        // Writing to a string cannot fail.
        let _ = write!(
            xml,
            "  <testcase classname=\"{}.{}\" name=\"{} {}/{}\"",
            escaped(&report.grid),
            escaped(cell),
            escaped(metric),
            escaped(&comparison.subject),
            escaped(&comparison.reference),
        );
        let line = escaped(&text::line(verdict));
        let _ = match element(verdict.word()) {
            None => writeln!(xml, "><system-out>{line}</system-out></testcase>"),
            Some(name) => writeln!(xml, "><{name} message=\"{line}\"/></testcase>"),
        };
    }
    xml + "</testsuite>\n"
}

/// Text as XML has it in an attribute and between tags; characters that XML 1.0 has no way to write are left out.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' => xml.push_str("&#10;"),
            control if control.is_control() => {}
            other => xml.push(other),
        }
    }
    xml
}

/// A line for each word that is no pass, as GitHub reads them from a job's output ("workflow commands").
fn annotations(report: &Report) -> String {
    let told = |verdict: &Verdict| {
        let level = match element(verdict.word())? {
            "failure" => "error",
            _ => "warning",
        };
        // In a message, and more so in a title, these are written by their codes.
        let message = text::line(verdict).replace('%', "%25").replace('\n', "%0A");
        let title = report.grid.replace('%', "%25").replace(':', "%3A").replace(',', "%2C");
        Some(format!("::{level} title={title}::{message}\n"))
    };
    report.verdicts.iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Rule, Violation};
    use crate::verdict::fixture::{Model, PARITY, ab, simulate};
    use crate::verdict::{Judged, Next, judge};

    /// A word of each element, as two readers of such files have to see it.
    #[test]
    fn every_word_as_a_build_server_reads_it() {
        let plan = ab(&PARITY);
        let judged = |effect| {
            judge(&plan, &simulate(&plan, &Model { effect, noise: 0.001, ..Model::default() }, 2))
        };
        let mut report = judged(0.0);
        report.verdicts.extend(judged(-0.1).verdicts);
        let mut broken = report.verdicts[0].clone();
        let reason = "<\"9.7 %\" & \u{1}more>\nat once";
        broken.judged = Judged::Void(vec![Violation::new(Rule::ClockSpread, reason)]);
        broken.next = Next::Mend(vec![Rule::ClockSpread]);
        let mut missing = broken.clone();
        missing.judged = Judged::Skipped(vec!["b: not here".to_owned()]);
        report.verdicts.extend([broken, missing]);
        insta::assert_snapshot!(junit(&report) + "\n" + &annotations(&report));
    }
}
