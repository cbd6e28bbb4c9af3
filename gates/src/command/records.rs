//! `gate records list`, `gate records show ID` and `gate records verify`

use oracles::golden;
use records::record::Record;
use records::store::Store;

use super::{CommandError, Context};
use crate::words::count;
use crate::{chain, validity};

pub(super) fn list(context: &Context) -> Result<u8, CommandError> {
    let records = read(context)?;
    if records.is_empty() {
        super::print("there is no record yet: `gate run NAME` appends one\n")?;
        return Ok(0);
    }
    let mut table = super::table(&["record", "word", "why"]);
    for record in &records {
        table.add_row([&record.id, record.verdict.word.as_str(), &record.verdict.reason]);
    }
    super::print_table(&table)?;
    Ok(0)
}

pub(super) fn show(context: &Context, id: &str) -> Result<u8, CommandError> {
    let records = read(context)?;
    let found = records.iter().find(|record| record.id == id);
    let record = found.ok_or_else(|| CommandError::NoRecord(id.to_owned()))?;
    let value = serde_json::to_value(record).unwrap_or_default();
    super::print(&format!("{value:#}\n"))?;
    Ok(0)
}

pub(super) fn verify(context: &Context) -> Result<u8, CommandError> {
    let records = verified(context)?;
    let edited: Vec<String> =
        records.iter().filter_map(|record| edited_golden(context, record)).collect();
    if !edited.is_empty() {
        return Err(CommandError::Damaged(edited.join("\n")));
    }
    let files: usize = records.iter().map(|record| record.evidence.len()).sum();
    super::print(&format!(
        "whole: {} with {}\n",
        count(records.len(), "record", "records"),
        count(files, "evidence file", "evidence files")
    ))?;
    Ok(0)
}

/// What is wrong with the golden that judged a record, when it was edited instead of captured again: a capture has its own time.
fn edited_golden(context: &Context, record: &Record) -> Option<String> {
    let oracle = record.oracle.as_ref()?;
    let (named, captured_at) = (oracle.golden_sha256.as_ref()?, oracle.captured_at?);
    let told = |what: &str| {
        let mend = validity::mend_golden(&record.gate);
        Some(format!("the golden of {} that judged {} {what}; {mend}", record.gate, record.id))
    };
    match golden::manifest(&context.home, &oracle.name, &record.gate) {
        Ok(Some((manifest, sha256))) => {
            let same_capture = manifest.captured_at.parse().ok() == Some(captured_at);
            let edited = same_capture && sha256 != *named;
            if edited { told("was edited since") } else { None }
        }
        Ok(None) => None,
        Err(error) => told(&format!("is damaged: {}", chain::of(&error))),
    }
}

/// All records, where every one of them and all of their evidence is as it was written.
pub(super) fn verified(context: &Context) -> Result<Vec<Record>, CommandError> {
    let store = Store::open(context.records_folder())?;
    let defects: Vec<String> = store.verify()?.iter().map(|defect| chain::of(defect)).collect();
    if !defects.is_empty() {
        return Err(CommandError::Damaged(defects.join("\n")));
    }
    Ok(store.read_all()?)
}

fn read(context: &Context) -> Result<Vec<Record>, CommandError> {
    Ok(Store::open(context.records_folder())?.read_all()?)
}
