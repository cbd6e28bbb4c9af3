//! `gate records show RUN`

use std::fmt::Write as _;

use records::number::{ratio_within, span, with_unit};
use records::{Kept, Record};

use super::{CommandError, Context};
use crate::command::aligned::Aligned;
use crate::command::print;
use crate::words::count;

pub(super) fn show(context: &Context, run: &str, as_json: bool) -> Result<u8, CommandError> {
    let store = super::store(context, None)?;
    let records = store.read_kept()?;
    let kept = super::named(&records, run)?;
    if as_json {
        print(&store.text(&kept.record.id)?)?;
    } else {
        print(&text(kept))?;
    }
    Ok(0)
}

/// Everything that is in the record, for people.
fn text(kept: &Kept) -> String {
    let record = &kept.record;
    let mut text = format!("{}: {}\n", record.gate, record.verdict.word.as_str());
    let _ = writeln!(text, "{}\n", record.verdict.reason);
    text.push_str(&identities(record).text("", None));
    let sections = [
        ("measurements", measurements(record)),
        ("series", cells(record)),
        ("first divergences", divergences(record)),
        ("evidence", evidence(record)),
        ("machine", values(&serde_json::to_value(&record.machine).unwrap_or_default())),
        ("the subject of itself", values(&record.subject.info)),
        ("the oracle of itself", oracle(record)),
        ("written by a later program, and unknown to this one", unknown(kept)),
    ];
    for (title, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = write!(text, "\n{title}\n{lines}");
    }
    text
}

fn identities(record: &Record) -> Aligned {
    let mut table = Aligned::new(&[]);
    let mut add = |key: &str, value: String| table.row([key.to_owned(), value]);
    let took = span(record.duration_ms);
    let subject = &record.subject;
    add("record", record.id.clone());
    add("when", format!("{}, took {took}", record.started_at));
    add("kinds", record.kinds.join(", "));
    add("compared", record.compared.to_string());
    if !record.verdict.rules.is_empty() {
        add("rules", record.verdict.rules.join(", "));
    }
    let threads = count(subject.threads as usize, "thread", "threads");
    add("subject", format!("{} {}, {}, {threads}", subject.name, subject.version, subject.profile));
    add("  commit", subject.commit.clone().unwrap_or_else(|| "not known".to_owned()));
    add("  sources", subject.source_sha256.clone());
    add("  binary", subject.binary_sha256.clone());
    if let Some(oracle) = &record.oracle {
        let source = match oracle.captured_at {
            Some(at) => format!("golden of {at}"),
            None => "live".to_owned(),
        };
        add("oracle", format!("{}, {source}", oracle.name));
        for (key, digest) in
            [("  golden", &oracle.golden_sha256), ("  definition", &oracle.definition_sha256)]
        {
            if let Some(digest) = digest {
                add(key, digest.clone());
            }
        }
    }
    if let Some(checkpoint) = &record.checkpoint {
        add("checkpoint", checkpoint.name.clone());
        add("  content", checkpoint.sha256.clone());
    }
    add("spec", record.spec_sha256.clone());
    for (key, digest) in [("inputs", &record.inputs_sha256), ("harness", &record.harness_sha256)] {
        if let Some(digest) = digest {
            add(key, digest.clone());
        }
    }
    if let Some(id) = &record.supersedes {
        add("supersedes", id.clone());
    }
    if let Some(answers) = record.resumed_answers {
        add("resumed", count(answers as usize, "answer", "answers"));
    }
    add("reproduce", record.reproduce.clone());
    table
}

fn measurements(record: &Record) -> String {
    if record.measurements.is_empty() {
        return String::new();
    }
    let mut table = Aligned::new(&["metric", "statistic", "value", "n"]).right([2, 3]);
    for measurement in &record.measurements {
        let value = measurement.value.map(|value| with_unit(value, &measurement.unit));
        table.row([
            measurement.metric.name().to_owned(),
            measurement.statistic.name().to_owned(),
            value.unwrap_or_else(|| "not measured".to_owned()),
            measurement.n.to_string(),
        ]);
    }
    table.text("  ", None)
}

fn cells(record: &Record) -> String {
    let Some(series) = &record.series else { return String::new() };
    let arms: Vec<&str> = series.arms.keys().map(String::as_str).collect();
    let mut text = format!(
        "  plan {}, {}, arms {}\n",
        series.plan_sha256,
        count(series.pairs as usize, "pair", "pairs"),
        arms.join(", ")
    );
    let head = ["cell", "c", "subject / reference", "metric", "word", "ratio", "rules", "why"];
    let mut table = Aligned::new(&head).right([1]);
    for cell in &series.cells {
        let ratio = cell.ratio.map(|r| ratio_within(r.estimate, r.low, r.high));
        table.row([
            cell.cell.clone(),
            cell.concurrency.to_string(),
            format!("{} / {}", cell.subject, cell.reference),
            cell.metric.clone(),
            cell.word.clone(),
            ratio.unwrap_or_else(|| "-".to_owned()),
            cell.rules.join(" "),
            cell.reason.clone(),
        ]);
    }
    text.push_str(&table.text("  ", None));
    for (name, arm) in &series.arms {
        let _ = write!(text, "  arm {name}\n{}", values(arm));
    }
    text
}

fn divergences(record: &Record) -> String {
    let line = |text: String, divergence| text + &format!("  {divergence}\n");
    record.divergences.iter().fold(String::new(), line)
}

fn evidence(record: &Record) -> String {
    let mut table = Aligned::new(&[]).right([1]);
    for entry in &record.evidence {
        let place = if entry.external { "outside git" } else { entry.path.as_str() };
        let bytes = format!("{} B", entry.bytes);
        table.row([entry.name.clone(), bytes, entry.sha256.clone(), place.to_owned()]);
    }
    table.text("  ", None)
}

fn oracle(record: &Record) -> String {
    record.oracle.as_ref().map_or_else(String::new, |oracle| values(&oracle.identity))
}

/// The fields of an object, one a line.
fn values(value: &serde_json::Value) -> String {
    let Some(fields) = value.as_object() else {
        return if value.is_null() { String::new() } else { format!("  {value}\n") };
    };
    let mut table = Aligned::new(&[]);
    for (key, value) in fields {
        let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        table.row([key.clone(), plain]);
    }
    table.text("  ", None)
}

fn unknown(kept: &Kept) -> String {
    let mut table = Aligned::new(&[]);
    for (path, value) in &kept.unknown {
        table.row([path.clone(), value.to_string()]);
    }
    table.text("  ", None)
}
