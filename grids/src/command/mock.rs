//! `grid mock`

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;

use super::CommandError;
use crate::load::interrupt;
use crate::load::monotonic::MILLISECOND_NS;
use crate::mock::script::Pace;
use crate::mock::{Mock, Mode, Options};

#[derive(Debug, Args)]
pub(super) struct MockArguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// How to answer
    #[arg(long, value_enum, default_value_t = Mode::Constant)]
    mode: Mode,
    /// Milliseconds from the request to the first token
    #[arg(long, value_name = "MS", default_value_t = 20.0)]
    ttft: f64,
    /// Milliseconds from token to token
    #[arg(long, value_name = "MS", default_value_t = 20.0)]
    gap: f64,
    /// Threads
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Cores, one a thread
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// End by itself after so many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
}

/// Milliseconds as nanoseconds.
pub(super) fn nanoseconds(name: &str, milliseconds: f64) -> Result<u64, CommandError> {
    if !(0.0..=1e9).contains(&milliseconds) {
        return Err(CommandError::Usage(format!("--{name} {milliseconds}: expected 0 to 1e9 ms")));
    }
    Ok((milliseconds * MILLISECOND_NS as f64) as u64)
}

pub(super) fn mock(arguments: &MockArguments) -> Result<u8, CommandError> {
    let stop = interrupt::on_signal()?;
    let pace = Pace {
        ttft_ns: nanoseconds("ttft", arguments.ttft)?,
        gap_ns: nanoseconds("gap", arguments.gap)?,
    };
    let mock = Mock::start(&Options {
        comes_first: false,
        address: arguments.listen,
        mode: arguments.mode,
        pace,
        threads: arguments.threads,
        cores: arguments.cores.clone(),
    })?;
    super::print(&format!("http://{}\n", mock.address()))?;
    let start = Instant::now();
    let is_over = || arguments.seconds.is_some_and(|limit| start.elapsed().as_secs_f64() >= limit);
    while !stop.load(Ordering::SeqCst) && !is_over() {
        std::thread::sleep(Duration::from_millis(50));
    }
    super::print_json(&mock.stop())?;
    Ok(0)
}
