//! The report of a run for a person; its last line is the verdict.

use std::path::Path;

use oracles::golden::Noise;
use records::record::{OracleSource, Record};

use crate::bench::{Circumstances, ReferenceInfo};
use crate::judge::Judgement;
use crate::subject::FoundBy;
use crate::validity::short;
use crate::words::count;

/// All lines, the verdict last; `next` is the cheapest thing that would change it.
pub fn lines(
    record: &Record,
    path: &Path,
    judgement: &Judgement,
    circumstances: &Circumstances,
    next: Option<&str>,
) -> Vec<String> {
    let subject = &record.subject;
    let mut lines = vec![format!(
        "subject      {} {} (sources {}, profile {}, {})",
        subject.name,
        subject.version,
        short(&subject.source_sha256),
        subject.profile,
        count(subject.threads as usize, "thread", "threads")
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
    let noise = circumstances.reference.as_ref().and_then(|reference| reference.noise.as_ref());
    // Beside numbers of ours; a run without any has nothing to be compared with it.
    if let Some(noise) = noise.filter(|_| !judgement.report.is_empty()) {
        lines.push(format!("noise        {}", noise_words(noise)));
    }
    lines.push(format!("record       {}", path.display()));
    lines.extend(next.map(|next| format!("next         {next}")));
    lines.push(verdict_line(record, circumstances));
    lines
}

/// The oracle's own noise in a plain line, in the units of the lines above it.
pub fn noise_words(noise: &Noise) -> String {
    format!(
        "the oracle against itself: largest difference {:.3} milli-nats, {} of {} changed ({})",
        noise.logprob_difference_max_mnats,
        noise.ids_differ,
        count(noise.steps as usize, "choice", "choices"),
        noise.method
    )
}

/// The one line that says it all.
pub fn verdict_line(record: &Record, circumstances: &Circumstances) -> String {
    let against = circumstances
        .reference
        .as_ref()
        .map_or(String::new(), |reference| format!(", against {}", reference_words(reference)));
    let info = &record.subject.info;
    let by_hand = info.get("found_by").is_some_and(|by| by == FoundBy::Flag.as_str())
        || info.get("compared_with").is_some();
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
            let of = captured_at.get(..10).unwrap_or(captured_at);
            let manifest = reference.golden_sha256.as_deref().map_or("unknown", short);
            format!("golden of {of}, {who} (manifest {manifest})")
        }
        (OracleSource::Golden, None) => format!("the source of {who}"),
    }
}
