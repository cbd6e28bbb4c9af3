//! `gate records verify`

use oracles::golden;
use records::record::Record;
use records::store::{Audit, StoreError};

use super::{CommandError, Context};
use crate::command::print;
use crate::words::count;
use crate::{chain, validity};

/// What to do with torn files.
const SET_ASIDE: &str =
    "`gate records verify --set-aside` moves what was left half done to records/torn/";

pub(super) fn verify(
    context: &Context,
    set_aside: bool,
    place: Option<&str>,
) -> Result<u8, CommandError> {
    let store = super::store(context, place)?;
    if set_aside {
        for moved in store.set_aside()? {
            print(&format!("set aside: {} is now {}\n", moved.from.display(), moved.to.display()))?;
        }
    }
    let Audit { records, defects, absent, leftovers } = store.audit()?;
    let mut damage: Vec<String> = defects.iter().map(|defect| chain::of(defect)).collect();
    damage.extend(records.iter().filter_map(|kept| edited_golden(context, &kept.record)));
    let torn = defects.iter().any(|defect| matches!(defect, StoreError::Json { .. }));
    if torn {
        damage.push(SET_ASIDE.to_owned());
    }
    // A run that was killed recorded nothing, and what it left damages no record: it is told, and no more.
    if !leftovers.is_empty() {
        for leftover in &leftovers {
            print(&format!("{leftover}\n"))?;
        }
        print(&format!("{SET_ASIDE}\n"))?;
    }
    let absent: Vec<String> =
        absent.iter().map(|evidence| format!("absent: {}", chain::of(evidence))).collect();
    if !damage.is_empty() {
        damage.extend(absent);
        return Err(CommandError::Damaged(damage.join("\n")));
    }
    if !absent.is_empty() {
        return Err(CommandError::Absent(absent.join("\n")));
    }
    let unknown = records.iter().filter(|kept| !kept.unknown.is_empty()).count();
    let files: usize = records.iter().map(|kept| kept.record.evidence.len()).sum();
    print(&format!(
        "whole: {} with {}\n",
        count(records.len(), "record", "records"),
        count(files, "evidence file", "evidence files")
    ))?;
    if unknown > 0 {
        let records = count(unknown, "record", "records");
        print(&format!(
            "{records} with fields of a later program: `gate records show` has them\n"
        ))?;
    }
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

/// All records, where every one of them and all of their evidence on this machine is as it was written. Evidence that is absent
/// and drafts that were left are told beside it: neither makes another record worth less.
pub(in crate::command) fn verified(context: &Context) -> Result<Vec<Record>, CommandError> {
    let Audit { records, defects, absent, leftovers } = super::store(context, None)?.audit()?;
    if !defects.is_empty() {
        let defects: Vec<String> = defects.iter().map(|defect| chain::of(defect)).collect();
        return Err(CommandError::Damaged(defects.join("\n")));
    }
    for line in absent.iter().map(|evidence| chain::of(evidence)) {
        context.progress.note(&format!("absent: {line}"));
    }
    for leftover in leftovers {
        context.progress.note(&leftover.to_string());
    }
    Ok(records.into_iter().map(|kept| kept.record).collect())
}
