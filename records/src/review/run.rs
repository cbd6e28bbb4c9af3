//! From a record and its evidence to a page.

mod cases;
mod contradicted;
mod evidence;
mod parties;

pub use cases::{Case, Cases, Distribution, Outcome};
pub use evidence::File;

use super::page::{Block, Cell, Fold, Headline, Page, RuleStep, Rung, Section, Table, Tone};
use super::series;
use crate::metric::Metric;
use crate::number::{digits, span, with_unit};
use crate::record::{Record, VerdictWord};

/// What the judge says when it is asked again with the evidence: it lies beside the record, and the page shows both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// What was asked of whom, in one sentence.
    pub asked: String,
    /// What would change the word, in one sentence.
    pub next: String,
    /// Every rule, with its inputs.
    pub rules: Vec<RuleStep>,
    /// The questions in their order.
    pub order: Vec<Rung>,
    /// What each kind compares, and what it found.
    pub checks: Option<Table>,
    /// The judge's own lines, as they were printed when it ran.
    pub report: Vec<String>,
    /// The cases of a gate of generations.
    pub cases: Option<Cases>,
    /// The positions of a gate of whole distributions.
    pub distribution: Option<Distribution>,
    /// Where the record says otherwise than its evidence gives, a sentence each; empty where both agree.
    pub differences: Vec<String>,
    /// Why there is no derivation: a record that is older than its evidence.
    pub underived: Option<String>,
}

/// The page of a run. `files` is its evidence, verified; `base` leads from the page to the store. Of a record that its evidence
/// contradicts it has no word and no number.
pub fn page(record: &Record, findings: &Findings, files: &[File], base: &str) -> Page {
    let mut differences = findings.differences.clone();
    differences.extend(series::contradictions(record, files));
    if !differences.is_empty() {
        return contradicted::page(record, &differences, files, base);
    }
    let mut sections = Vec::new();
    match &record.series {
        Some(found) => sections.extend(series::sections(record, found, files, base)),
        None => sections.push(derivation(record, findings)),
    }
    sections.extend(findings.cases.as_ref().map(cases::section));
    sections.extend(findings.distribution.as_ref().map(cases::distribution));
    if !record.measurements.is_empty() {
        sections.push(measurements(record));
    }
    sections.push(parties::section(record));
    sections.push(parties::machine(record));
    sections.push(evidence::section(record, files, base));
    Page {
        title: record.gate.clone(),
        kicker: kicker(record),
        headline: headline(record, findings),
        sections,
        footer: footer(record),
    }
}

fn kicker(record: &Record) -> String {
    let of = if record.series.is_some() { "a grid" } else { "a gate" };
    format!("Review of a run of {of}, {} UTC", record.opened())
}

fn footer(record: &Record) -> String {
    format!(
        "Made from record {} alone and the evidence that it names, each file verified by its SHA-256.",
        record.id
    )
}

fn headline(record: &Record, findings: &Findings) -> Headline {
    let word = record.verdict.word;
    let mut answers = Vec::new();
    let asked = record.series.as_ref().map_or_else(|| findings.asked.clone(), series::asked);
    if !asked.is_empty() {
        answers.push(("What was asked".to_owned(), asked));
    }
    answers.push(("Who was judged".to_owned(), parties::judged(record)));
    if let Some(why) = parties::compared(record) {
        answers.push(("By whom".to_owned(), why));
    }
    answers.push(("Why this word".to_owned(), why(record, findings)));
    if !findings.next.is_empty() {
        answers.push(("What would change it".to_owned(), findings.next.clone()));
    } else if let Some(found) = &record.series {
        answers.push(("What would change it".to_owned(), series::next(found)));
    }
    Headline {
        word: Some(word.as_str().to_owned()),
        tone: Tone::of(word.as_str()),
        reason: record.verdict.reason.clone(),
        answers,
        reproduce: Some(record.reproduce.clone()),
    }
}

/// The word in plain words, from counts that are on record.
fn why(record: &Record, findings: &Findings) -> String {
    if let Some(found) = &record.series {
        return series::why(found);
    }
    let asked =
        findings.rules.iter().filter(|rule| !matches!(rule.found, super::page::Found::NotAsked(_)));
    let asked = asked.count();
    let rules = match (record.verdict.rules.len(), asked) {
        (0, 0) => "No rule that voids a number was broken".to_owned(),
        (0, asked) => format!("All {asked} validity rules that were asked hold"),
        (broken, _) => format!(
            "{broken} rule{} broken: {}",
            if broken == 1 { " was" } else { "s were" },
            record.verdict.rules.join(", ")
        ),
    };
    let compared = format!("{} compared", counted(record.compared, "case was", "cases were"));
    let end = match record.verdict.word {
        VerdictWord::Pass => "none lies outside the bounds of the spec",
        VerdictWord::Fail => "at least one lies outside the bounds of the spec",
        VerdictWord::NotEstablished => "they do not suffice for a verdict",
        VerdictWord::Void => "so there is no number, whatever was compared",
        VerdictWord::Skipped => "so nothing is claimed",
    };
    format!("{rules}; {compared}{}, and {end}.", tokens(record))
}

/// How many tokens are equal, where tokens were compared.
fn tokens(record: &Record) -> String {
    let value = |metric| {
        record
            .measurements
            .iter()
            .find(|number| number.metric == metric)
            .and_then(|found| found.value)
    };
    match (value(Metric::ExactTokens), value(Metric::ComparedTokens)) {
        (Some(exact), Some(compared)) => {
            format!(
                " ({} of {} tokens equal before any divergence)",
                digits(exact),
                digits(compared)
            )
        }
        _ => String::new(),
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Rules, order, kinds.
fn derivation(record: &Record, findings: &Findings) -> Section {
    let mut blocks = Vec::new();
    if let Some(why) = &findings.underived {
        blocks.push(Block::Note(Tone::Open, why.clone()));
    } else {
        blocks.push(Block::Text(
            "The judge was asked again with the evidence alone, for this page, and said the same word, rules, reason and numbers."
                .to_owned(),
        ));
    }
    if !findings.order.is_empty() {
        blocks.push(Block::Ladder(findings.order.clone()));
    }
    if let Some(checks) = &findings.checks {
        blocks.push(Block::Table(checks.clone()));
    }
    if !findings.report.is_empty() {
        let report = findings.report.join("\n");
        blocks.push(Fold::closed("The judge's own lines", vec![Block::Code(report)]));
    }
    let is_asked = |rule: &&RuleStep| !matches!(rule.found, super::page::Found::NotAsked(_));
    let (asked, not): (Vec<RuleStep>, Vec<RuleStep>) =
        findings.rules.iter().cloned().partition(|rule| is_asked(&rule));
    if !asked.is_empty() {
        blocks.push(Block::Rules(asked));
    }
    if !not.is_empty() {
        let summary = format!("{} rules that have nothing to ask of such a run", not.len());
        blocks.push(Fold::closed(summary, vec![Block::Rules(not)]));
    }
    if findings.rules.is_empty() && !record.verdict.rules.is_empty() {
        blocks.push(Block::Text(format!(
            "Rules on record as broken: {}.",
            record.verdict.rules.join(", ")
        )));
    }
    let lead = "The questions are asked in this order, and the first that is answered with yes gives the word. Then every rule, with what it was asked of.";
    Section::new("derivation", "How the word was derived", Some(lead), blocks)
}

fn measurements(record: &Record) -> Section {
    let mut table = Table::new(
        "Every number of the record",
        &["metric", "statistic", "value#", "samples#", "what it is"],
    );
    for number in &record.measurements {
        let value = number
            .value
            .map_or_else(|| "not measured".to_owned(), |value| with_unit(value, &number.unit));
        let statistic = serde_json::to_value(number.statistic).ok();
        let statistic = statistic.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
        table.rows.push(vec![
            Cell::code(number.metric.name()),
            Cell::new(statistic),
            Cell::new(value),
            Cell::new(digits(number.n as f64)),
            Cell::new(number.metric.definition()),
        ]);
    }
    let lead = "What was not measured has no value; it is never shown as 0.";
    Section::new("numbers", "The numbers", Some(lead), vec![Block::Table(table)])
}

/// How long the run took, for the machine's section.
fn duration(record: &Record) -> String {
    span(record.duration_ms)
}
