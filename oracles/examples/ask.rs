//! Asks an oracle, provisioned first if need be, for one greedy completion: `ask ORACLE CHECKPOINT IDS MAX TOP [ignore-eos] [production]`.
//!
//! Prints who answered, how long it took, and the answer: for a look at an oracle without a gate.

use std::error::Error;
use std::io::{self, Write};
use std::time::Instant;

use oracles::checkpoint::{self, CheckpointSpec};
use oracles::launch::{LaunchSettings, launch};
use oracles::registry::OracleSpec;
use oracles::verbs::{CompletionRequest, Oracle};
use oracles::{Home, Progress, provision};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [oracle, checkpoint, ids, max, top, options @ ..] = words.as_slice() else {
        return Err("expected ORACLE CHECKPOINT IDS MAX TOP [ignore-eos] [production]".into());
    };
    let given = |option: &str| options.iter().any(|word| word == option);
    let home = Home::find(None, None)?;
    let progress = Progress::stderr();
    let spec = OracleSpec::load(&home, oracle)?;
    let spec = provision::provision(&home, &spec, progress)?;
    let checkpoint = checkpoint::fetch(&home, &CheckpointSpec::load(&home, checkpoint)?, progress)?;
    let settings = LaunchSettings { production: given("production"), ..LaunchSettings::default() };
    let request = CompletionRequest {
        prompt_ids: ids.split(',').map(str::parse).collect::<Result<_, _>>()?,
        max_tokens: max.parse()?,
        top_logprobs: top.parse()?,
        ignore_eos: given("ignore-eos"),
    };
    let mut out = io::stdout();
    let started = Instant::now();
    let mut server = launch(&home, &spec, &checkpoint, &settings, progress)?;
    writeln!(out, "{}", serde_json::to_string_pretty(server.identity())?)?;
    writeln!(out, "ready after {:.1} s", started.elapsed().as_secs_f64())?;
    let started = Instant::now();
    let completion = server.complete(&request)?;
    writeln!(out, "answered after {:.3} s", started.elapsed().as_secs_f64())?;
    writeln!(out, "{}", serde_json::to_string(&completion)?)?;
    Ok(())
}
