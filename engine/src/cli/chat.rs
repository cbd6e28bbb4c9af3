//! `plumb chat`: a conversation in the terminal.

use clap::Args;

use super::{CliError, Streams};
use super::options::ModelOptions;

/// Talk with a model.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
}

pub(super) fn run(_arguments: &Arguments, _streams: &mut Streams<'_>) -> Result<(), CliError> {
    Ok(())
}
