//! `gate records list|show|diff|query|samples|verify`: looking at the store.

mod diff;
mod filter;
mod list;
mod query;
mod samples;
mod show;
mod verify;

use clap::{Args, Subcommand};
use records::{External, Kept, Record, Store, find};

use super::{CommandError, Context};
pub(super) use verify::verified;

/// `gate records …`
#[derive(Debug, Subcommand)]
pub(super) enum RecordsCommand {
    /// One line a record, newest last
    List {
        #[command(flatten)]
        filter: filter::Filter,
        /// One JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// One record, condensed for people
    Show {
        /// Its id, or a beginning of the id or of its hash
        run: String,
        /// The record as it is kept
        #[arg(long)]
        json: bool,
    },
    /// What differs between two records; exit status 1 when something does
    Diff {
        /// The first, as for `show`
        a: String,
        /// The second
        b: String,
        /// One JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// SQL over the tables runs, measurements, cells and samples
    Query(QueryArguments),
    /// Every request of a grid as a row of a Parquet file
    Samples(samples::SamplesArguments),
    /// Check every record and its evidence against their hashes, and name what writers left half done
    Verify {
        /// Move torn files to records/torn/ instead of only naming them
        #[arg(long)]
        set_aside: bool,
        /// Folder of large evidence; by default evidence/ in the cache
        #[arg(long, value_name = "DIR")]
        store: Option<String>,
    },
}

/// What `gate records query` is given.
#[derive(Debug, Args)]
pub(super) struct QueryArguments {
    /// The query, such as "SELECT gate, count(*) AS runs FROM runs GROUP BY gate"
    sql: String,
    /// One JSON object a row instead of a table
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Comma-separated values instead of a table
    #[arg(long)]
    csv: bool,
    /// Folder of large evidence; by default evidence/ in the cache
    #[arg(long, value_name = "DIR")]
    store: Option<String>,
}

pub(super) fn run(context: &Context, command: RecordsCommand) -> Result<u8, CommandError> {
    match command {
        RecordsCommand::List { filter, json } => list::list(context, &filter, json),
        RecordsCommand::Show { run, json } => show::show(context, &run, json),
        RecordsCommand::Diff { a, b, json } => diff::diff(context, &a, &b, json),
        RecordsCommand::Query(arguments) => query::query(context, &arguments),
        RecordsCommand::Samples(arguments) => samples::samples(context, &arguments),
        RecordsCommand::Verify { set_aside, store } => {
            verify::verify(context, set_aside, store.as_deref())
        }
    }
}

/// The record that a person named, with what a later program wrote into it.
fn named<'a>(records: &'a [Kept], text: &str) -> Result<&'a Kept, CommandError> {
    let found = find(records.iter().map(|kept| &kept.record), text)?;
    let kept = records.iter().find(|kept| kept.record.id == found.id);
    kept.ok_or_else(|| CommandError::NoRecord(text.to_owned()))
}

/// The hash at the end of an id: short, and enough to name the record.
fn hash(record: &Record) -> &str {
    record.id.rsplit_once('-').map_or(&record.id, |(_, hash)| hash)
}

/// The commit of the subject where it knows one.
fn commit(record: &Record) -> String {
    record.subject.commit.as_deref().map_or("-", ::records::short).to_owned()
}

/// The store, with the folder of large evidence.
pub(super) fn store(context: &Context, place: Option<&str>) -> Result<Store, CommandError> {
    let external = match place {
        Some(place) => External::at(place)?,
        None => External::folder(context.home.evidence_dir()),
    };
    Ok(Store::open(context.records_folder())?.with_external(external))
}
