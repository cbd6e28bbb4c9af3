//! `gate records samples RUN --out FILE`: every request of a series as a row of a Parquet file.

use std::path::PathBuf;

use clap::Args;

use super::{CommandError, Context};

/// What `gate records samples` is given.
#[derive(Debug, Args)]
pub(in crate::command) struct SamplesArguments {
    /// The record: its id, or a beginning of the id or of its hash
    run: String,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Folder of large evidence; by default evidence/ in the cache
    #[arg(long, value_name = "DIR")]
    store: Option<String>,
}

/// Without polars there is nothing that writes Parquet: the command that builds it and asks again.
#[cfg(not(feature = "query"))]
pub(super) fn samples(_: &Context, arguments: &SamplesArguments) -> Result<u8, CommandError> {
    let SamplesArguments { run, out, store } = arguments;
    let store = store.as_deref().map(|folder| format!(" --store '{folder}'")).unwrap_or_default();
    Err(CommandError::NoParquet(format!("{run} --out '{}'{store}", out.display())))
}

/// Writes the file, and tells its rows and its hash: the same record gives the same bytes.
#[cfg(feature = "query")]
pub(super) fn samples(context: &Context, arguments: &SamplesArguments) -> Result<u8, CommandError> {
    use ::records::samples::{of_record, write_samples};

    use crate::rule::{Word, exit_status};

    let store = super::store(context, arguments.store.as_deref())?;
    let records = store.read_kept()?;
    let record = &super::named(&records, &arguments.run)?.record;
    let Some(rows) = of_record(&store, record)? else {
        context.progress.note(&format!("{} keeps no requests", record.id));
        return Ok(exit_status(Word::Skipped));
    };
    let bytes = write_samples(&rows)?;
    let failed = |source| CommandError::Out { path: arguments.out.clone(), source };
    std::fs::write(&arguments.out, &bytes).map_err(failed)?;
    let (rows, sha256) = (rows.len(), ::records::sha256_hex(&bytes));
    crate::command::print(&format!("{}: {rows} rows, sha256 {sha256}\n", arguments.out.display()))?;
    Ok(0)
}
