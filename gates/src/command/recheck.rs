//! `gate recheck RUN...` and `gate recheck --all`

use records::record::Record;

use super::{CommandError, Context};
use crate::evidence::EvidenceError;
use crate::recheck::{self, RecheckError};
use crate::rule::{Word, exit_status};
use crate::words::count;

pub(super) fn recheck(context: &Context, runs: &[String], all: bool) -> Result<u8, CommandError> {
    let store = super::records::store(context, None)?;
    let records = store.read_all()?;
    let chosen = if all { records.iter().collect() } else { named(&records, runs)? };
    let (mut lines, mut older, mut grids, mut defects) = (Vec::new(), 0, 0, Vec::new());
    for record in chosen {
        if record.series.is_some() {
            grids += 1;
            continue;
        }
        match recheck::recheck(&store, record) {
            Ok(recheck) => {
                lines.push(format!("{} {}", record.id, recheck.derived));
                let told = |difference| format!("{}: {difference}", record.id);
                defects.extend(recheck.differences.into_iter().map(told));
            }
            // Asked for by name, a record without evidence is a skip; among all of them it is only counted.
            Err(RecheckError::Evidence(EvidenceError::Missing { .. })) if all => older += 1,
            Err(error) => return Err(error.into()),
        }
    }
    if older > 0 {
        let records = count(older, "record is", "records are");
        lines.push(format!("{records} older than this evidence: not derived again"));
    }
    if grids > 0 {
        lines.push(format!("{}: `cargo grid recheck` derives them", count(grids, "grid", "grids")));
    }
    super::print(&lines.iter().fold(String::new(), |text, line| text + line + "\n"))?;
    match defects.is_empty() {
        false => Err(CommandError::Damaged(defects.join("\n"))),
        // A grid that was asked for by name was not looked at, which is no pass.
        true if grids > 0 && !all => Ok(exit_status(Word::Skipped)),
        true => Ok(0),
    }
}

fn named<'r>(records: &'r [Record], runs: &[String]) -> Result<Vec<&'r Record>, CommandError> {
    runs.iter().map(|run| Ok(records::find(records.iter(), run)?)).collect()
}
