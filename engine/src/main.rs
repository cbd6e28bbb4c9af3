//! The binary `plumb`: parses the command line, runs the verb, prints an error once.

use std::error::Error;
use std::io::{self, BufReader, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use engine::cli::{BuildInfo, Cli, Streams};

const BUILD: BuildInfo = BuildInfo {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("PLUMB_COMMIT"),
    source_sha256: option_env!("PLUMB_SOURCE_SHA256"),
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut streams = Streams {
        input: Box::new(BufReader::new(io::stdin())),
        output: &mut BufWriter::new(io::stdout()),
        progress: &mut io::stderr(),
    };
    let result = cli.run(&BUILD, &mut streams);
    let result = result.and_then(|()| streams.flush());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            print_chain(&error);
            ExitCode::from(error.exit_status())
        }
    }
}

/// The error and what caused it, each message once.
fn print_chain(error: &dyn Error) {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    // Nobody is left to tell when stderr is closed too.
    let _ = writeln!(io::stderr(), "plumb: {text}");
}
