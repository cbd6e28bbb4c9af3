//! `gate records list`

use serde_json::json;

use super::filter::Filter;
use super::{CommandError, Context};
use crate::command::aligned::Aligned;
use crate::command::{print, terminal_width};

pub(super) fn list(context: &Context, filter: &Filter, as_json: bool) -> Result<u8, CommandError> {
    let mut records = super::store(context, None)?.read_all()?;
    // Files are in the order of seconds; within one, of their hashes.
    records.sort_by_key(|record| record.started_at);
    if records.is_empty() && !as_json {
        print("there is no record yet: `gate run NAME` appends one\n")?;
        return Ok(0);
    }
    let chosen: Vec<_> = records.iter().filter(|record| filter.admits(record)).collect();
    if as_json {
        let object = |record: &&records::Record| {
            json!({
                "id": record.id,
                "started_at": record.started_at,
                "gate": record.gate,
                "word": record.verdict.word,
                "rules": record.verdict.rules,
                "oracle": record.oracle.as_ref().map(|oracle| &oracle.name),
                "commit": record.subject.commit,
                "supersedes": record.supersedes,
                "reason": record.verdict.reason,
            })
        };
        let records: Vec<_> = chosen.iter().map(object).collect();
        print(&format!("{:#}\n", json!({ "records": records })))?;
        return Ok(0);
    }
    if chosen.is_empty() {
        print(&format!("none of {} records is of that kind\n", records.len()))?;
        return Ok(0);
    }
    let head = ["date (UTC)", "record", "gate", "word", "oracle", "commit", "reason"];
    let mut table = Aligned::new(&head);
    for record in chosen {
        table.row([
            record.opened(),
            super::hash(record).to_owned(),
            record.gate.clone(),
            record.verdict.word.as_str().to_owned(),
            record.oracle.as_ref().map_or("-", |oracle| &oracle.name).to_owned(),
            super::commit(record),
            record.verdict.reason.clone(),
        ]);
    }
    print(&table.text("", terminal_width()))?;
    Ok(0)
}
