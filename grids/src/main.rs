//! `grid`: how fast is it?

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(grids::command::main())
}
