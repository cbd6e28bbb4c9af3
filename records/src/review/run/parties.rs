//! Who was judged by whom, on which machine.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::number::{bytes, digits};
use crate::record::{OracleRef, OracleSource, Record};
use crate::review::identity::{self, Line, flat};
use crate::review::page::{Block, Cell, Fold, Section, Table};
use crate::short;

/// The subject in one sentence.
pub(super) fn judged(record: &Record) -> String {
    let subject = &record.subject;
    let commit = subject
        .commit
        .as_deref()
        .map_or_else(String::new, |commit| format!(" at commit {}", short(commit)));
    let threads = if subject.threads == 1 {
        "1 thread".to_owned()
    } else {
        format!("{} threads", subject.threads)
    };
    format!("{} {}{commit}, profile {}, {threads}", subject.name, subject.version, subject.profile)
}

/// The oracle in one sentence; none where a gate judges alone.
pub(super) fn compared(record: &Record) -> Option<String> {
    let oracle = record.oracle.as_ref()?;
    let version =
        oracle.identity.get("version").and_then(Value::as_str).unwrap_or("of unknown version");
    let on = record
        .checkpoint
        .as_ref()
        .map_or_else(String::new, |given| format!(", both on {}", given.name));
    Some(format!("{} {version}, {}{on}", oracle.name, source(oracle)))
}

fn source(oracle: &OracleRef) -> String {
    match (oracle.source, oracle.captured_at) {
        (OracleSource::Live, _) => "a live process beside it".to_owned(),
        (OracleSource::Golden, Some(at)) => {
            format!("its golden captured on {}", at.strftime("%Y-%m-%d"))
        }
        (OracleSource::Golden, None) => "its golden".to_owned(),
    }
}

pub(super) fn section(record: &Record) -> Section {
    let lead = "As each process described itself, never as a command line wished. What differs is marked; not every difference matters.";
    let blocks = match (&record.series, &record.oracle) {
        (Some(series), _) => identity::arms(&series.arms),
        (None, Some(oracle)) => side_by_side(record, oracle),
        (None, None) => vec![said("What the subject says of itself", &record.subject.info)],
    };
    Section::new("identities", "Who was compared", Some(lead), blocks)
}

fn side_by_side(record: &Record, oracle: &OracleRef) -> Vec<Block> {
    let subject = &record.subject;
    let theirs = |path: &str| {
        let mut value = &oracle.identity;
        for key in path.split('.') {
            value = value.get(key)?;
        }
        value.as_str().map(str::to_owned)
    };
    let line = |label, left, right, is_comparable| Line { label, left, right, is_comparable };
    let mut lines = vec![
        line("program", Some(subject.name.clone()), Some(oracle.name.clone()), false),
        line("version", Some(subject.version.clone()), theirs("version"), false),
        line("commit", subject.commit.clone(), theirs("build.commit"), false),
        line(
            "sources, SHA-256",
            Some(subject.source_sha256.clone()),
            theirs("source_sha256"),
            false,
        ),
        line(
            "binary, SHA-256",
            Some(subject.binary_sha256.clone()),
            theirs("binary_sha256"),
            false,
        ),
        line("threads", Some(subject.threads.to_string()), theirs("settings.n_threads"), true),
        line("context", flat(&subject.info).remove("context"), theirs("settings.n_ctx"), true),
    ];
    lines.retain(|line| line.left.is_some() || line.right.is_some());
    let table = identity::beside("Both sides", ["subject", "oracle"], &lines);
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(features(&subject.info, &oracle.identity));
    blocks.push(said("All that the subject says of itself", &subject.info));
    blocks
        .push(said("All that the oracle says of itself: build, flags, settings", &oracle.identity));
    blocks
}

/// Instruction sets: what both use, and what one alone uses.
fn features(ours: &Value, theirs: &Value) -> Option<Block> {
    let set = |value: Option<&Value>| -> BTreeSet<String> {
        let list = value.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_lowercase).collect()
    };
    let (ours, theirs) = (set(ours.get("isa")), set(theirs.get("cpu_features")));
    if ours.is_empty() || theirs.is_empty() {
        return None;
    }
    let words = |set: Vec<&String>| {
        let words: Vec<&str> = set.into_iter().map(String::as_str).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(" ") }
    };
    let differing = |text: String| Cell { text, code: true, differs: true, ..Cell::default() };
    let mut table = Table::new("Instruction sets and back ends", &["said by", "features"]);
    table.rows = vec![
        vec![Cell::new("both"), Cell::code(words(ours.intersection(&theirs).collect()))],
        vec![Cell::new("the subject alone"), differing(words(ours.difference(&theirs).collect()))],
        vec![Cell::new("the oracle alone"), differing(words(theirs.difference(&ours).collect()))],
    ];
    Some(Block::Table(table))
}

fn said(summary: &str, value: &Value) -> Block {
    let facts = flat(value).into_iter().map(|(key, value)| (key, Cell::code(value))).collect();
    Fold::closed(summary, vec![Block::Facts(facts)])
}

/// Where and when.
pub(super) fn machine(record: &Record) -> Section {
    let machine = &record.machine;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not said".to_owned());
    let number = |value: Option<f64>, unit: &str| {
        value.map_or_else(|| "not measured".to_owned(), |value| format!("{}{unit}", digits(value)))
    };
    let cores =
        |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let memory =
        |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| bytes(value as f64));
    let load = machine.load.map_or_else(
        || "not measured".to_owned(),
        |load| load.map(|value| format!("{value:.2}")).join(", "),
    );
    let facts = [
        ("processor", text(&machine.cpu_model)),
        (
            "cores",
            format!(
                "{} physical, {} usable threads",
                cores(machine.physical_cores),
                cores(machine.logical_cores)
            ),
        ),
        (
            "memory",
            format!(
                "{}, {} available",
                memory(machine.memory_bytes),
                memory(machine.memory_available_bytes)
            ),
        ),
        ("kernel", text(&machine.kernel)),
        ("system", text(&machine.os)),
        ("boot", text(&machine.boot_id)),
        ("load over 1, 5, 15 min", load),
        ("waiting for a processor", number(machine.cpu_pressure_percent, " % of the last 10 s")),
        ("took", super::duration(record)),
    ];
    let facts = facts.into_iter().map(|(label, value)| (label.to_owned(), Cell::new(value)));
    let mut blocks = vec![Block::Facts(facts.collect())];
    if !machine.cpu_features.is_empty() {
        let all = Block::Code(machine.cpu_features.join(" "));
        blocks
            .push(Fold::closed(format!("{} CPU features", machine.cpu_features.len()), vec![all]));
    }
    Section::new("machine", "The machine", Some("As it was before anything was measured."), blocks)
}
