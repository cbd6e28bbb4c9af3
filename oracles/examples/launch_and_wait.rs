//! Launches an installed oracle and waits: `launch_and_wait ROOT CACHE INSTALLATION MODEL [FAULT]`.
//!
//! Tests kill it and look whether its server ends with it.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use oracles::checkpoint::Checkpoint;
use oracles::launch::{LaunchSettings, launch};
use oracles::provision::{Manifest, Provisioned};
use oracles::registry::OracleSpec;
use oracles::{Home, Progress};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().ok_or(format!("missing argument {what}"));
    let home = Home { root: next("ROOT")?.into(), cache: next("CACHE")?.into() };
    let dir = PathBuf::from(next("INSTALLATION")?);
    let path = PathBuf::from(next("MODEL")?);
    let spec = OracleSpec::load(&home, "llama-cpp")?;
    let oracle = Provisioned { spec, manifest: Manifest::read(&dir)?, dir };
    let checkpoint = Checkpoint { name: "model".into(), path, sha256: String::new(), bytes: 0 };
    let server = launch(&home, &oracle, &checkpoint, &LaunchSettings::default(), Progress::Silent)?;
    let id = server.process_id().ok_or("no process")?;
    writeln!(io::stdout(), "{id}")?;
    std::thread::sleep(Duration::from_mins(1));
    Ok(())
}
