//! `grid certify`

use std::fmt::Write as _;
use std::net::SocketAddr;

use clap::{ArgGroup, Args};

use super::CommandError;
use super::load::summary::milliseconds;
use super::mock::nanoseconds;
use crate::load::interrupt;
use crate::selftest::certificate::{Cell, Certificate, Load, certify};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("load").required(true).args(["streams", "requests_per_second"])))]
pub(super) struct CertifyArguments {
    /// Streams at any time, started one after the other
    #[arg(long, value_name = "N")]
    streams: Option<usize>,
    /// The streams all start at once and stay in step: every gap is a burst
    #[arg(long, requires = "streams")]
    lockstep: bool,
    /// Open loop: requests a second
    #[arg(long, value_name = "N")]
    requests_per_second: Option<f64>,
    /// Tokens a second of each stream
    #[arg(long, value_name = "TOKENS_PER_SECOND", default_value_t = 50.0)]
    rate: f64,
    /// Milliseconds from the request to the first token; by default one gap
    #[arg(long, value_name = "MS")]
    ttft: Option<f64>,
    /// Tokens of each prompt
    #[arg(long, value_name = "N", default_value_t = 128)]
    prompt_tokens: u32,
    /// Tokens of each answer
    #[arg(long, value_name = "N", default_value_t = 64)]
    tokens: u32,
    /// How long requests go out
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    seconds: f64,
    /// Threads of the client
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Cores of the client, one a thread
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Threads of the mock
    #[arg(long, default_value_t = 1)]
    mock_threads: usize,
    /// Cores of the mock, one a thread
    #[arg(long, value_delimiter = ',')]
    mock_cores: Vec<usize>,
    /// Client and mock run before everything else on their cores, as in a series
    #[arg(long)]
    first: bool,
    /// A `grid mock` in another process, of the same pace, instead of one here
    #[arg(long, value_name = "ADDRESS")]
    mock: Option<SocketAddr>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &CertifyArguments) -> Result<u8, CommandError> {
    let stop = interrupt::on_signal()?;
    let certificate = certify(&cell(arguments)?, stop)?;
    if arguments.json {
        super::print_json(&certificate)?;
    } else {
        super::print(&text(&certificate))?;
    }
    Ok(if certificate.invalid.is_empty() { 0 } else { super::VOID })
}

fn cell(arguments: &CertifyArguments) -> Result<Cell, CommandError> {
    let usage = |text: String| Err(CommandError::Usage(text));
    let load = match (arguments.streams, arguments.requests_per_second) {
        (Some(streams), _) if arguments.lockstep => Load::Lockstep(streams),
        (Some(streams), _) => Load::Streams(streams),
        (None, Some(rate)) if rate > 0.0 && rate <= 1e7 => Load::Rate(rate),
        (None, rate) => {
            return usage(format!("--requests-per-second {rate:?}: expected up to 1e7"));
        }
    };
    let rate = arguments.rate;
    if !(rate > 0.0 && rate <= 1e9) {
        return usage(format!("--rate {rate}: expected more than 0"));
    }
    if !(0.0..=3600.0).contains(&arguments.seconds) {
        return usage(format!("--seconds {}: expected up to 3600", arguments.seconds));
    }
    let gap_ms = 1000.0 / rate;
    Ok(Cell {
        load,
        ttft_ns: nanoseconds("ttft", arguments.ttft.unwrap_or(gap_ms))?,
        gap_ns: nanoseconds("rate", gap_ms)?,
        prompt_tokens: arguments.prompt_tokens,
        output_tokens: arguments.tokens,
        seconds: arguments.seconds,
        threads: arguments.threads,
        cores: arguments.cores.clone(),
        mock_threads: arguments.mock_threads,
        mock_cores: arguments.mock_cores.clone(),
        comes_first: arguments.first,
        mock: arguments.mock,
    })
}

fn text(certificate: &Certificate) -> String {
    let mut times = super::table(&["ms", "p50", "p99", "max"]);
    let client = &certificate.client;
    let mut add = |name: &str, span| {
        let [p50, p99, max] = milliseconds(span);
        times.add_row([name.to_owned(), p50, p99, max]);
    };
    add("first token off", &certificate.ttft_error);
    add("gap off", &certificate.gap_error);
    add("sent late", &client.schedule_lag);
    add("unread", &client.read_lag);
    if let Some(mock) = &certificate.mock {
        add("mock late", &mock.late);
    }
    let rate =
        |rate: Option<f64>| rate.map_or_else(|| "n/a".to_owned(), |rate| format!("{rate:.0}"));
    let mut text = super::table_text(&times);
    let _ = write!(
        text,
        "\n{} events/s, {} requests/s, {} requests sent, {} ok, {} in flight at most\nclient busy {:.2}, mock busy {:.2}\n",
        rate(certificate.events_per_second),
        rate(certificate.requests_per_second),
        certificate.sent,
        certificate.ends.ok,
        client.peak_in_flight,
        client.busy_share.unwrap_or(f64::NAN),
        certificate.mock.as_ref().map_or(f64::NAN, |mock| mock.busy_share),
    );
    for reason in &certificate.invalid {
        let _ = writeln!(text, "INVALID(client_limited): {reason}");
    }
    if certificate.invalid.is_empty() {
        text += "valid\n";
    }
    text
}
