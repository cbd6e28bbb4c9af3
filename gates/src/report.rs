//! The report of a run for a person; its last line is the verdict.

use std::path::Path;

use records::record::{OracleSource, Record};

use crate::bench::{Circumstances, ReferenceInfo};
use crate::judge::Judgement;
use crate::subject::FoundBy;
use crate::validity::short;

/// All lines, the verdict last.
pub fn lines(
    record: &Record,
    path: &Path,
    judgement: &Judgement,
    circumstances: &Circumstances,
) -> Vec<String> {
    let subject = &record.subject;
    let mut lines = vec![format!(
        "subject      {} {} (sources {}, profile {}, {} threads)",
        subject.name,
        subject.version,
        short(&subject.source_sha256),
        subject.profile,
        subject.threads
    )];
    if let Some(reference) = &circumstances.reference {
        lines.push(format!("oracle       {}", reference_words(reference)));
        if !reference.identity.cpu_features.is_empty() {
            lines.push(format!("             {}", reference.identity.cpu_features.join(" ")));
        }
    }
    if let Some(checkpoint) = &circumstances.checkpoint {
        lines.push(format!(
            "checkpoint   {} (sha256 {}, {:.1} MB)",
            checkpoint.name,
            short(&checkpoint.sha256),
            checkpoint.bytes as f64 / 1e6
        ));
    }
    lines.extend(judgement.report.iter().cloned());
    lines.push(format!("record       {}", path.display()));
    lines.push(verdict_line(record, circumstances));
    lines
}

/// The one line that says it all.
pub fn verdict_line(record: &Record, circumstances: &Circumstances) -> String {
    let against = circumstances
        .reference
        .as_ref()
        .map_or(String::new(), |reference| format!(", against {}", reference_words(reference)));
    let by_hand =
        record.subject.info.get("found_by").is_some_and(|by| by == FoundBy::Flag.as_str());
    let standing = if by_hand { ", decides no track" } else { "" };
    format!(
        "{} {}: {}{against}{standing} ({:.1} s)",
        record.verdict.word.as_str(),
        record.gate,
        record.verdict.reason,
        record.duration_ms as f64 / 1000.0
    )
}

fn reference_words(reference: &ReferenceInfo) -> String {
    let identity = &reference.identity;
    let who = format!("{} {}", identity.name, identity.version);
    match (&reference.source, &reference.captured_at) {
        (OracleSource::Live, _) => {
            format!("live {who} (binary {})", short(&identity.binary_sha256))
        }
        (OracleSource::Golden, Some(captured_at)) => {
            format!("golden of {}, {who}", captured_at.get(..10).unwrap_or(captured_at))
        }
        (OracleSource::Golden, None) => format!("the source of {who}"),
    }
}
