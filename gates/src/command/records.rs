//! `gate records list`, `gate records show ID` and `gate records verify`

use records::record::Record;
use records::store::Store;

use super::{CommandError, Context};

pub(super) fn list(context: &Context) -> Result<u8, CommandError> {
    let line = |record: &Record| {
        format!("{} {} {}\n", record.id, record.verdict.word.as_str(), record.verdict.reason)
    };
    let lines: String = read(context)?.iter().map(line).collect();
    super::print(&lines)?;
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
    let files: usize = records.iter().map(|record| record.evidence.len()).sum();
    super::print(&format!(
        "{} records and their {files} evidence files are whole\n",
        records.len()
    ))?;
    Ok(0)
}

/// All records, where every one of them and all of their evidence is as it was written.
pub(super) fn verified(context: &Context) -> Result<Vec<Record>, CommandError> {
    let store = Store::open(context.records_folder())?;
    let defects: Vec<String> =
        store.verify()?.iter().map(|defect| crate::chain::of(defect)).collect();
    if !defects.is_empty() {
        return Err(CommandError::Damaged(defects.join("\n")));
    }
    Ok(store.read_all()?)
}

fn read(context: &Context) -> Result<Vec<Record>, CommandError> {
    Ok(Store::open(context.records_folder())?.read_all()?)
}
