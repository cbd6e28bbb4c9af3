//! The command line: parsing, dispatch, exit statuses. Standard output carries data, standard error progress. One module a verb.
//!
//! Exit status: 0 done or within bounds, 1 out of bounds, 2 usage or program error, 3 not decided, 4 void: the client was at its limit,
//! 5 empty.

mod certify;
mod ci;
mod clients;
mod error;
mod host;
mod knee;
mod list;
mod load;
mod mock;
mod recheck;
mod scheduled;
mod search;
mod selftest;
mod series;

pub use error::CommandError;

use std::io::Write;

use clap::{Parser, Subcommand};
use comfy_table::{ContentArrangement, Table};

/// Usage or program error.
const ERROR: u8 = 2;
/// What was asked cannot be said from what was measured.
const UNDECIDED: u8 = 3;
/// The client was at its limit, so nothing was measured.
const VOID: u8 = 4;
/// Nothing was there to do.
const EMPTY: u8 = 5;

/// How fast is it?
#[derive(Debug, Parser)]
#[command(name = "grid", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Describe this machine and how steady it is
    Host {
        /// One JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// List the grids. Exit status 5: there are none
    List {
        /// One JSON object instead of text
        #[arg(long)]
        json: bool,
        /// The workspace [default: at or above the current folder]
        #[arg(long, value_name = "DIR")]
        root: Option<std::path::PathBuf>,
    },
    /// Put load on a server and write down what came back, read by read
    Load(Box<load::LoadArguments>),
    /// Where a server stops gaining: one load after the other, ascending, and the bend of what came of them
    Knee(Box<knee::KneeArguments>),
    /// The highest load at which a share of requests meets its objectives. Exit status 1: not even the first does, 3: not decided
    Search(Box<search::SearchArguments>),
    /// One subject beside several references, over a sweep of concurrencies: interleaved, with clocks, a null arm and words
    Sweep(Box<series::SeriesArguments>),
    /// One change beside what was, likewise
    Ab(Box<series::SeriesArguments>),
    /// Derive the words of a record again from its evidence alone. Exit status 1: it says another thing, 5: no grid is on record
    Recheck(recheck::RecheckArguments),
    /// Serve completions of known timing, or known faults, until Ctrl-C
    Mock(mock::MockArguments),
    /// Hold the client against every mode of the mock. Exit status 1: one is out of bounds
    Selftest(selftest::SelftestArguments),
    /// Hold the client against the mock at one load. Exit status 4: it is at its limit there
    Certify(certify::CertifyArguments),
    /// Load generators beside each other, one core each, against the mock. Exit status 1: one failed, 5: none is installed
    Clients(clients::ClientsArguments),
}

/// Parses the command line, does what it says, and gives the exit status.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed stream cannot be told anything.
            let _ = error.print();
            return if error.use_stderr() { ERROR } else { 0 };
        }
    };
    let status = match cli.command {
        Command::Host { json } => host::host(json),
        Command::List { json, root } => list::list(root.as_deref(), json),
        Command::Sweep(arguments) => series::run(&arguments, true),
        Command::Ab(arguments) => series::run(&arguments, false),
        Command::Recheck(arguments) => recheck::run(&arguments),
        Command::Load(arguments) => load::load(&arguments),
        Command::Knee(arguments) => knee::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
        Command::Mock(arguments) => mock::mock(&arguments),
        Command::Selftest(arguments) => selftest::selftest(&arguments),
        Command::Certify(arguments) => certify::run(&arguments),
        Command::Clients(arguments) => clients::run(&arguments),
    };
    status.unwrap_or_else(|error| {
        complain(&format!("error: {}", chain(&error)));
        ERROR
    })
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Writes data to standard output.
fn print(text: &str) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CommandError::Stdout)
}

/// Writes progress to standard error.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes one JSON object.
fn print_json(value: &impl serde::Serialize) -> Result<(), CommandError> {
    print(&(serde_json::to_string_pretty(value).map_err(CommandError::Json)? + "\n"))
}

/// A table without lines, its cells to the right of the first column.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    table
}

/// A table's lines without the blanks at their ends; each cell begins with one that is its padding.
fn table_text(table: &Table) -> String {
    let text = |line: String| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned() + "\n";
    table.lines().map(text).collect()
}
