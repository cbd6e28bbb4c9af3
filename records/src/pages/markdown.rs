//! What the pages share: a record as a link, its date and sources, and which records correct which.

use std::collections::HashMap;

use crate::gap::takes_back;
use crate::record::Record;
use crate::short;

/// The records that correct others.
pub(super) struct Corrections<'a> {
    by: HashMap<&'a str, Vec<&'a Record>>,
}

impl<'a> Corrections<'a> {
    /// From all records, in the order of time. A record corrects only records of its own gate.
    pub(super) fn of(records: &[&'a Record]) -> Self {
        let gates: HashMap<&str, &str> =
            records.iter().map(|record| (record.id.as_str(), record.gate.as_str())).collect();
        let mut by: HashMap<&str, Vec<&Record>> = HashMap::new();
        for record in records {
            if let Some(wrong) = &record.supersedes
                && gates.get(wrong.as_str()) == Some(&record.gate.as_str())
            {
                by.entry(wrong).or_default().push(record);
            }
        }
        Self { by }
    }

    /// The records that say they correct this one, oldest first.
    pub(super) fn of_record(&self, record: &Record) -> &[&'a Record] {
        self.by.get(record.id.as_str()).map_or(&[], Vec::as_slice)
    }

    /// Whether a record was taken back.
    pub(super) fn is_wrong(&self, record: &Record) -> bool {
        self.of_record(record).iter().any(|correction| takes_back(correction, record))
    }
}

/// A record's hash as a link to its file, from a page this many folders below the root.
pub(super) fn link(record: &Record, depth: usize) -> String {
    let hash = record.id.rsplit_once('-').map_or(record.id.as_str(), |(_, hash)| hash);
    format!("[{hash}]({}records/runs/{}.json)", "../".repeat(depth), record.id)
}

/// When a record was opened, to the second.
pub(super) fn date(record: &Record) -> String {
    record.started_at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The commit of the subject where it knows, else the digest of its sources.
pub(super) fn sources(record: &Record) -> String {
    match &record.subject.commit {
        Some(commit) => short(commit).to_owned(),
        None => format!("sources {}", short(&record.subject.source_sha256)),
    }
}
