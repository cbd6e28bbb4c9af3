//! `gate`: does the engine agree with its oracles?

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(gates::command::main())
}
