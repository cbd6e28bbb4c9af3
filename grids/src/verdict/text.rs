//! One line for each word: cell, axis, arms, word, and only then, where there is one, a ratio.

use std::fmt::Write;

use super::{Compared, Judged, Reason, Report, Verdict};
use crate::statistics::estimate::Insufficient;

/// The report as lines, the summary last.
pub fn report(report: &Report) -> String {
    let mut text: String = report.verdicts.iter().map(|verdict| line(verdict) + "\n").collect();
    let words = report.verdicts.len();
    let of_all =
        if words == report.tests { String::new() } else { format!(" of {}", report.tests) };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} {}: {} words{of_all}, plan {}",
        report.word(),
        report.grid,
        words,
        &report.plan_sha256[..12]
    );
    text
}

/// One word.
pub fn line(verdict: &Verdict) -> String {
    let Verdict { cell, metric, comparison, judged, next } = verdict;
    let head = format!(
        "{cell} {metric} {}/{}: {}",
        comparison.subject,
        comparison.reference,
        verdict.word()
    );
    let told = match judged {
        Judged::Void(broken) => {
            let ids: Vec<&str> = verdict.rules().iter().map(|rule| rule.id()).collect();
            let first = broken.first().map_or("", |found| found.reason.as_str());
            format!("({}) {first}", ids.join(", "))
        }
        Judged::Skipped(missing) => missing.join("; "),
        Judged::Unestimated(reason) => because(*reason),
        Judged::Compared(compared) => figures(compared),
    };
    let next =
        if verdict.word().is_established() { String::new() } else { format!("; next: {next}") };
    format!("{head} {told}{next}")
}

/// Ratio, interval, and what it rests on.
fn figures(compared: &Compared) -> String {
    let deciding = compared.deciding;
    let mut text = format!(
        "{:.4} [{:.4}, {:.4}] at {:.3} %, {} pairs",
        compared.ratio(),
        deciding.lower.exp(),
        deciding.upper.exp(),
        100.0 * (1.0 - compared.level),
        compared.pairs
    );
    let _ = match compared.sessions {
        1 => write!(text, " of one session"),
        several => write!(text, " of {several} sessions"),
    };
    if compared.cycles.is_none() {
        let _ = write!(text, ", time alone");
    }
    let _ = write!(text, ", floor {:.2} %", 100.0 * compared.bounds.floor.exp_m1());
    let reasons: Vec<String> = compared.reasons.iter().map(|reason| because(*reason)).collect();
    if !reasons.is_empty() {
        let _ = write!(text, " ({})", reasons.join(", "));
    }
    text
}

/// A reason in a word or two.
fn because(reason: Reason) -> String {
    let percent = |log: f64| format!("{:+.2} %", 100.0 * log.exp_m1());
    match reason {
        Reason::Wide => "the interval holds a bound".to_owned(),
        Reason::MethodDisagree => "method_disagree".to_owned(),
        Reason::ClockEffect => "clock_effect".to_owned(),
        Reason::Floor => "the null arm shows as much".to_owned(),
        Reason::Drift(by) => format!("drift {}", percent(by)),
        Reason::Step(by) => format!("step {}", percent(by)),
        Reason::Discarded(pairs) => format!("{pairs} pairs DISCARDED, clocks apart"),
        Reason::NotYet => "not all legs of the plan are run".to_owned(),
        Reason::Few(Insufficient::Pairs(least)) => format!("n/a (needs {least} pairs)"),
        Reason::Few(Insufficient::Sessions(least)) => format!("n/a (needs {least} sessions)"),
        Reason::Few(Insufficient::Unbalanced) => "the pairs are not in both orders".to_owned(),
    }
}
