//! `gate records list` and `gate records show ID`

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

fn read(context: &Context) -> Result<Vec<Record>, CommandError> {
    Ok(Store::open(context.records_folder())?.read_all()?)
}
