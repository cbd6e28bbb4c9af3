//! `plumb dump`: intermediate values of a forward pass, as a safetensors file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::options::ModelOptions;
use super::session::Session;
use super::tensors::{self, NewTensor, TensorFile};
use super::{CliError, Streams};
use crate::batch::Outputs;
use crate::checkpoint::Checkpoint;
use crate::taps::{Tapped, Taps};

/// Write intermediate values.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
    /// The token ids to run
    #[arg(long, value_delimiter = ',', required = true)]
    ids: Vec<u32>,
    /// The values to keep: embed, layer.N, norm, logits, or layer.N.NAME for a value inside a layer; a name
    /// that ends in * stands for all that start so
    #[arg(long, value_delimiter = ',', default_value = "logits")]
    taps: Vec<String>,
    /// Run the last N ids one by one, as decoding does
    #[arg(long, value_name = "N", default_value_t = 0)]
    decode: usize,
    /// A safetensors file of values by these names: each takes the place of the computed one once that is kept, so
    /// that what follows is computed from it
    #[arg(long, value_name = "FILE")]
    given: Option<PathBuf>,
    /// The file to write: one f32 tensor [tokens, width] a tap
    #[arg(long)]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let given = arguments.given.as_deref().map_or(Ok(BTreeMap::new()), given)?;
    let checkpoint = Checkpoint::open(&arguments.model.model)?;
    let session = Session::open(&checkpoint, &arguments.model.run)?;
    let mut taps = Taps::on(arguments.taps.clone()).giving(given);
    let mut runner = session.runner()?;
    let Some(prompt) = arguments.ids.len().checked_sub(arguments.decode).filter(|&len| len > 0)
    else {
        let fault = "it leaves no prompt before the tokens to decode".to_owned();
        return Err(CliError::Argument { name: "--decode", fault });
    };
    let (prompt, decoded) = arguments.ids.split_at(prompt);
    let mut sequence = runner.sequence();
    runner.run_tapped(&mut sequence, prompt, Outputs::All, &mut taps)?;
    for id in decoded {
        runner.run_tapped(&mut sequence, &[*id], Outputs::All, &mut taps)?;
    }
    if let Some(name) = taps.unmet().first() {
        let fault = format!("the model has no value named {name:?}");
        return Err(CliError::Argument { name: "--taps", fault });
    }
    if let Some(fault) = taps.given_fault() {
        return Err(CliError::Argument { name: "--given", fault: fault.to_string() });
    }
    let kept = taps.into_kept().into_iter();
    let tensors = kept.map(|(name, tapped)| (name, tensor(&tapped))).collect();
    tensors::write(&arguments.out, &tensors)?;
    let message = writeln!(streams.progress, "wrote {}", arguments.out.display());
    message.map_err(|source| CliError::Stream { action: "report progress", source })
}

fn given(path: &Path) -> Result<BTreeMap<String, Tapped>, CliError> {
    let file = TensorFile::read(path)?;
    let tapped = |name: &str| {
        let (width, values) = file.rows(name)?;
        Ok((name.to_owned(), Tapped { width, values }))
    };
    file.names().map(tapped).collect()
}

fn tensor(tapped: &Tapped) -> NewTensor {
    let rows = tapped.values.len() / tapped.width.max(1);
    NewTensor::floats(vec![rows, tapped.width], &tapped.values)
}
