//! The command line: parsing, dispatch, exit statuses. Standard output carries data, standard error progress.

mod agreement;
mod aligned;
mod capture;
mod ci;
mod error;
mod gaps;
mod list;
mod prepare;
mod prove;
mod recheck;
mod records;
mod review;
mod run;
mod supply;

pub use error::CommandError;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use comfy_table::{ContentArrangement, Table};
use oracles::{Home, Progress};

use crate::rule::{EXIT_ERROR, EXIT_INTERRUPTED};
use crate::{chain, interrupt};

/// Does the engine agree with its oracles?
#[derive(Debug, Parser)]
#[command(name = "gate", version, max_term_width = 100)]
struct Cli {
    /// Workspace root; by default found at or above the current folder
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Folder of fetched checkpoints and provisioned oracles; by default in the user's cache
    #[arg(long, global = true, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Name every gate
    List {
        /// One JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Say what a gate compares, its pins and bounds, its faults, and what each exit status means
    Explain {
        /// The gate
        name: String,
    },
    /// Compare the engine with the oracle, or with the oracle's golden where it is not provisioned; append a record
    Run(RunArguments),
    /// Capture a gate's golden from the live oracle
    Capture {
        /// The gate
        name: String,
    },
    /// Plant a gate's faults and demand that each turns it red
    Prove(ProveArguments),
    /// Fetch a checkpoint, resuming where an earlier fetch stopped
    Fetch {
        /// The checkpoint
        name: String,
    },
    /// List or provision oracles
    #[command(subcommand)]
    Oracle(OracleCommand),
    /// Write docs/open-gaps.md, docs/benchmark-record.md and docs/tracks/ from the tracks and the records
    Gaps(gaps::GapsArguments),
    /// Lay the records of several oracles side by side: tokens, near ties, divergence and ranks on the same weights
    Agreement {
        /// The checkpoints
        #[arg(required = true, value_name = "CHECKPOINT")]
        checkpoints: Vec<String>,
        /// Folder of the record store; by default records/ of the workspace
        #[arg(long, value_name = "DIR")]
        records: Option<PathBuf>,
        /// One JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Look at the records
    #[command(subcommand)]
    Records(records::RecordsCommand),
    /// Show why a run has its word, or how a track came to its own, as one HTML file
    Review(ReviewArguments),
    /// Derive verdicts again from their evidence alone, and say where a record says otherwise
    Recheck {
        /// Ids of the records
        #[arg(required_unless_present = "all", value_name = "RUN")]
        runs: Vec<String>,
        /// Every record that keeps what its judge was given
        #[arg(long, conflicts_with = "runs")]
        all: bool,
    },
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct RunArguments {
    /// The gates
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Insist on the live oracle, and provision it if need be
    #[arg(long, conflicts_with = "golden")]
    live: bool,
    /// Use the golden even where the oracle is provisioned
    #[arg(long)]
    golden: bool,
    /// Judge this binary instead of the one built from this tree; such a run decides no track
    #[arg(long, value_name = "PATH")]
    plumb: Option<PathBuf>,
    /// Compare with this oracle instead of the spec's; such a run decides no track
    #[arg(long, value_name = "ORACLE")]
    oracle: Option<String>,
    /// Folder of the record store; by default records/ of the workspace
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Also keep both sides' whole rankings in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// One JSON object instead of the report
    #[arg(long)]
    json: bool,
    /// Id of the record that this run corrects
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Go on with the answers that an interrupted run of the same gate has left
    #[arg(long)]
    resume: bool,
}

#[derive(Debug, Args)]
struct ProveArguments {
    /// The gates
    #[arg(required_unless_present_any = ["all", "cheap"], value_name = "NAME")]
    names: Vec<String>,
    /// Every gate that lists faults
    #[arg(long, conflicts_with_all = ["names", "cheap"])]
    all: bool,
    /// Every gate that is marked cheap
    #[arg(long, conflicts_with = "names")]
    cheap: bool,
    /// Judge this binary instead of the one built from this tree
    #[arg(long, value_name = "PATH")]
    plumb: Option<PathBuf>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ReviewArguments {
    /// Id of a record or its beginning, `latest:GATE`, or the id of a track
    #[arg(required_unless_present = "regressions", value_name = "RUN|TRACK")]
    target: Option<String>,
    /// Every number of every gate against its own history instead
    #[arg(long, conflicts_with = "target")]
    regressions: bool,
    /// The file to write; by default below the cache
    #[arg(long, value_name = "FILE", conflicts_with_all = ["serve", "text"])]
    out: Option<PathBuf>,
    /// Serve the page on loopback until Ctrl-C instead of writing it
    #[arg(long)]
    serve: bool,
    /// Print it condensed instead
    #[arg(long, conflicts_with = "serve")]
    text: bool,
    /// Folder of the record store; by default records/ of the workspace
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum OracleCommand {
    /// Name every oracle and say whether it is provisioned
    List {
        /// One JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Bring an oracle onto this machine: build its pinned source, install its locked wheels, or pull its image
    Provision {
        /// The oracle
        name: String,
    },
    /// Pack a provisioned oracle for a machine without a network
    Pack {
        /// The oracle
        name: String,
        /// The folder to write, which must not exist or be empty
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
        /// The most bytes of one file, such as 60MB
        #[arg(long, value_name = "SIZE", default_value = "60MB", value_parser = supply::size)]
        split: u64,
    },
    /// Verify a packed oracle and install it
    Unpack {
        /// The folder with its parts
        dir: PathBuf,
    },
}

/// Parses the command line, does what it says, and gives the exit status.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed stream cannot be told anything.
            let _ = error.print();
            return if error.use_stderr() { EXIT_ERROR } else { 0 };
        }
    };
    match dispatch(cli) {
        Ok(status) => status,
        Err(error) if error.is_interrupt() || interrupt::check().is_err() => {
            complain("interrupted: nothing was recorded");
            EXIT_INTERRUPTED
        }
        Err(error) => {
            complain(&format!("error: {}", chain::of(&error)));
            error.exit_status()
        }
    }
}

fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn dispatch(cli: Cli) -> Result<u8, CommandError> {
    interrupt::install()?;
    let home =
        Home::find(cli.root.as_deref(), cli.cache.as_deref()).map_err(oracles::Error::from)?;
    let context = Context { home, progress: Progress::stderr() };
    match cli.command {
        Command::List { json } => list::list(&context, json),
        Command::Explain { name } => list::explain(&context, &name),
        Command::Run(arguments) => run::run(&context, &arguments),
        Command::Capture { name } => capture::capture(&context, &name),
        Command::Prove(arguments) => prove::prove(&context, &arguments),
        Command::Fetch { name } => supply::fetch(&context, &name),
        Command::Oracle(OracleCommand::List { json }) => supply::list(&context, json),
        Command::Oracle(OracleCommand::Provision { name }) => supply::provision(&context, &name),
        Command::Oracle(OracleCommand::Pack { name, into, split }) => {
            supply::pack(&context, &name, &into, split)
        }
        Command::Oracle(OracleCommand::Unpack { dir }) => supply::unpack(&context, &dir),
        Command::Gaps(arguments) => gaps::gaps(&context, &arguments),
        Command::Agreement { checkpoints, records, json } => {
            agreement::agreement(&context, &checkpoints, records, json)
        }
        Command::Records(command) => records::run(&context, command),
        Command::Review(arguments) => review::review(&context, &arguments),
        Command::Recheck { runs, all } => recheck::recheck(&context, &runs, all),
    }
}

/// What every command works with.
struct Context {
    home: Home,
    progress: Progress,
}

impl Context {
    fn records_folder(&self) -> PathBuf {
        self.home.root.join("records")
    }
}

/// Writes data to standard output.
fn print(text: &str) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CommandError::Stdout)
}

/// Columns of the terminal that standard output is, if it is one.
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// Columns of a table: what a terminal shows at least, and a person reads at most.
const TABLE_WIDTH: u16 = 120;

/// A table without lines; long cells wrap inside their column.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(TABLE_WIDTH);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    table
}

/// Writes a table without the blanks that fill its last column.
fn print_table(table: &Table) -> Result<(), CommandError> {
    print(&(table_text(table, "") + "\n"))
}

/// A table's lines, indented, without the blanks at their ends. Each cell begins with one that is its padding.
fn table_text(table: &Table, indent: &str) -> String {
    let text = |line: String| {
        let cells = line.strip_prefix(' ').unwrap_or(&line);
        format!("{indent}{}", cells.trim_end())
    };
    table.lines().map(text).collect::<Vec<_>>().join("\n")
}
