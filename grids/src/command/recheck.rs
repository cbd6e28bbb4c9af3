//! `grid recheck RUN...` and `grid recheck --all`

use std::path::PathBuf;

use clap::Args;
use oracles::Home;
use records::record::Record;
use records::{External, Store};

use super::{CommandError, EMPTY, complain, print};
use crate::recheck;

/// The exit status where a record is not what its evidence gives.
const DIFFERS: u8 = 1;

#[derive(Debug, Args)]
pub(super) struct RecheckArguments {
    /// Ids of records, or beginnings of them
    #[arg(required_unless_present = "all")]
    runs: Vec<String>,
    /// Every record of a grid
    #[arg(long, conflicts_with = "runs")]
    all: bool,
    /// Folder of the record store [default: records/ of the workspace]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// The workspace [default: at or above the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Derives each again and tells what differs.
pub(super) fn run(arguments: &RecheckArguments) -> Result<u8, CommandError> {
    let store = if let Some(folder) = &arguments.records {
        Store::open(folder)?
    } else {
        let home = Home::find(arguments.root.as_deref(), None)?;
        Store::open(home.root.join("records"))?.with_external(External::folder(home.evidence_dir()))
    };
    let records = store.read_all()?;
    let chosen: Vec<&Record> = if arguments.all {
        records.iter().filter(|record| record.series.is_some()).collect()
    } else {
        let named = arguments.runs.iter().map(|run| records::find(records.iter(), run));
        named.collect::<Result<_, _>>().map_err(|error| CommandError::Usage(error.to_string()))?
    };
    if chosen.is_empty() {
        complain("no grid is on record");
        return Ok(EMPTY);
    }
    let mut status = 0;
    for record in chosen {
        let again = match recheck::recheck(&store, record) {
            Ok(again) => again,
            // One that is damaged does not hide the others.
            Err(error) => {
                complain(&format!("{}: {}", record.id, super::chain(&error)));
                status = DIFFERS;
                continue;
            }
        };
        print(&format!("{} {}\n", record.id, again.derived))?;
        for difference in again.differences {
            complain(&format!("{}: {difference}", record.id));
            status = DIFFERS;
        }
    }
    Ok(status)
}
