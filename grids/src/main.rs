//! `grid`: how fast is it? Exit status: 0 done, 2 usage or program error, 5 empty.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use grids::host::Host;
use grids::spin;
use records::Machine;

/// Nothing was there to do.
const EMPTY: u8 = 5;

/// Measures how fast engines are. No grid exists yet; what can be asked is what machine this is.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Describe this machine and how steady it is.
    Host {
        /// One JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// List the grids. Exit status 5: there are none.
    List,
}

fn main() -> ExitCode {
    let (text, status) = match Arguments::parse().verb {
        Verb::Host { json } => {
            let machine = Machine::capture();
            let host = Host { machine, spin: spin::measure(spin::SAMPLES, spin::STEPS) };
            let text =
                if json { records::canonical::canonical_json(&host) } else { Ok(host.text()) };
            (text, ExitCode::SUCCESS)
        }
        Verb::List => (Ok("empty: no grids yet\n".to_owned()), ExitCode::from(EMPTY)),
    };
    let printed = text
        .map_err(std::io::Error::from)
        .and_then(|text| std::io::stdout().write_all(text.as_bytes()));
    match printed {
        Ok(()) => status,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: stdout: {error}");
            ExitCode::from(2)
        }
    }
}
