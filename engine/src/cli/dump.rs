//! `plumb dump`: intermediate values of a forward pass, as a safetensors file.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use safetensors::tensor::{Dtype, TensorView};

use super::options::ModelOptions;
use super::session::Session;
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
    /// The file to write: one f32 tensor [tokens, width] a tap
    #[arg(long)]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let checkpoint = Checkpoint::open(&arguments.model.model)?;
    let session = Session::open(&checkpoint, &arguments.model.run)?;
    let mut taps = Taps::on(arguments.taps.clone());
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
    write(&arguments.out, taps)?;
    let message = writeln!(streams.progress, "wrote {}", arguments.out.display());
    message.map_err(|source| CliError::Stream { action: "report progress", source })
}

fn write(path: &std::path::Path, taps: Taps) -> Result<(), CliError> {
    let failed = |source| CliError::Write { path: path.to_path_buf(), source };
    let tensors: Vec<(String, usize, usize, Vec<u8>)> = taps
        .into_kept()
        .into_iter()
        .map(|(name, Tapped { width, values })| {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            (name, values.len() / width.max(1), width, bytes)
        })
        .collect();
    let views: Result<HashMap<&str, TensorView<'_>>, _> = tensors
        .iter()
        .map(|(name, rows, width, bytes)| {
            Ok((name.as_str(), TensorView::new(Dtype::F32, vec![*rows, *width], bytes)?))
        })
        .collect();
    let bytes = views
        .and_then(|views: HashMap<_, _>| safetensors::serialize(views, None))
        .map_err(|error: safetensors::SafeTensorError| failed(std::io::Error::other(error)))?;
    std::fs::write(path, bytes).map_err(failed)
}
