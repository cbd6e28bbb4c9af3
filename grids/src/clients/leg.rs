//! One leg: a fresh mock on its core, one client on the other, and what became of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::process::{Failure, Job, Values, missing, run};
use super::said::{Said, document, said};
use super::series::LegId;
use super::spec::{ClientSpec, LoadSpec, Spec};
use super::{ClientsError, Cores};
use crate::mock::{Mock, Mode, Options, Served};

/// Characters of a client's last words that a reason shows.
const SHOWN: usize = 240;

/// Where clients are, and where they run.
#[derive(Debug, Clone)]
pub struct Bench {
    /// This program.
    pub grid: PathBuf,
    /// The folder of the virtual environments, one a client.
    pub environments: PathBuf,
    /// A tokenizer in Hugging Face's format.
    pub tokenizer: PathBuf,
    /// The two cores.
    pub cores: Cores,
}

impl Bench {
    fn environment(&self, name: &str, client: &ClientSpec) -> PathBuf {
        self.environments.join(client.environment.as_ref().map_or(name, |own| own.0.as_str()))
    }

    /// Why a client cannot be run; `None` if it can.
    pub fn missing(&self, name: &str, client: &ClientSpec) -> Option<String> {
        missing(&self.environment(name, client), client.package.as_ref()?)
    }
}

/// A leg that was run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Leg {
    /// Which.
    pub id: LegId,
    /// Requests that were asked for.
    pub requests: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// The client said itself that it was at its limit.
    pub says_limited: bool,
    /// What the mock really did.
    pub served: Served,
    /// How long the client took, its start and its own evaluation included.
    pub seconds: Option<f64>,
}

/// What became of a leg.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The client's numbers.
    Measured(Said),
    /// Why it has none.
    Failed(String),
}

/// What a client is to do.
#[derive(Debug)]
pub struct Order<'a> {
    /// Its name.
    pub name: &'a str,
    /// As the spec has it.
    pub client: &'a ClientSpec,
    /// Where it is to go.
    pub address: SocketAddr,
    /// Streams at any time.
    pub streams: u32,
    /// Requests in all.
    pub requests: u32,
    /// What they ask for.
    pub load: &'a LoadSpec,
    /// Its folder.
    pub folder: &'a Path,
    /// The most it may take.
    pub deadline: Duration,
}

/// What a client printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// The document with its numbers.
    pub document: Value,
    /// It said that it was at its limit.
    pub says_limited: bool,
    /// How long it took.
    pub seconds: f64,
}

/// Runs a client in an empty folder of its own. The inner error is the client's: why there is nothing of it.
pub fn ask(
    bench: &Bench,
    order: &Order<'_>,
    stop: &AtomicBool,
) -> Result<Result<Printed, String>, ClientsError> {
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| ClientsError::File { path, source }
    };
    let out = order.folder.join("out");
    std::fs::create_dir_all(&out).map_err(file(&out))?;
    let environment = bench.environment(order.name, order.client);
    let url = format!("http://{}", order.address);
    let values = Values {
        url: &url,
        streams: order.streams,
        requests: order.requests,
        prompt_tokens: order.load.prompt_tokens.0,
        output_tokens: order.load.output_tokens.0,
        out: &out,
        environment: &environment,
        tokenizer: &bench.tokenizer,
        grid: &bench.grid,
    };
    let filled = |(name, value): (&String, &String)| (name.clone(), values.fill(value));
    let job = Job {
        command: order.client.command.iter().map(|word| values.fill(word)).collect(),
        variables: order.client.variables.iter().map(filled).collect(),
        bin: environment.join("bin"),
        folder: order.folder,
        core: bench.cores.client,
        deadline: order.deadline,
    };
    let Some(ended) = run(&job, stop)? else {
        return Ok(Err(format!("it cannot be started: {}", last_words(order.folder))));
    };
    let limited = order.client.limited_status.map(Failure::Status);
    let says_limited = ended.failure.is_some() && ended.failure == limited;
    if let Some(failure) = ended.failure.filter(|_| !says_limited) {
        return Ok(Err(format!("{failure}: {}", last_words(order.folder))));
    }
    let result = match order.client.result.as_str() {
        "stdout" => order.folder.join("stdout.txt"),
        path => out.join(path),
    };
    let Ok(text) = std::fs::read_to_string(&result) else {
        let shown = &order.client.result;
        return Ok(Err(format!("it wrote no {shown}: {}", last_words(order.folder))));
    };
    let printed = |document| Printed { document, says_limited, seconds: ended.seconds };
    Ok(document(&text).map(printed).map_err(|unsaid| unsaid.to_string()))
}

/// The last line that a client wrote to its standard error, or to its output.
fn last_words(folder: &Path) -> String {
    let last = |name: &str| {
        let text = std::fs::read(folder.join(name)).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?.trim().to_owned();
        Some(line.chars().take(SHOWN).collect())
    };
    last("stderr.txt")
        .or_else(|| last("stdout.txt"))
        .unwrap_or_else(|| "it said nothing".to_owned())
}

/// Starts a mock on its core.
pub fn mock(mode: Mode, load: &LoadSpec, cores: Cores) -> Result<Mock, ClientsError> {
    Ok(Mock::start(&Options {
        comes_first: true,
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        mode,
        pace: load.pace(),
        threads: 1,
        cores: vec![cores.mock],
    })?)
}

/// Runs a leg in a folder of its own.
pub fn measure(
    spec: &Spec,
    bench: &Bench,
    id: &LegId,
    client: &ClientSpec,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<Leg, ClientsError> {
    let mock = mock(Mode::Constant, &spec.load, bench.cores)?;
    let requests = spec.requests(id.streams);
    let order = Order {
        name: &id.client,
        client,
        address: mock.address(),
        streams: id.streams,
        requests,
        load: &spec.load,
        folder,
        deadline: Duration::from_secs(spec.deadline_s.0.into()),
    };
    let printed = ask(bench, &order, stop)?;
    let served = mock.stop();
    let seconds = printed.as_ref().ok().map(|printed| printed.seconds);
    let says_limited = printed.as_ref().is_ok_and(|printed| printed.says_limited);
    let outcome = outcome(client, requests, printed, &served);
    Ok(Leg { id: id.clone(), requests, outcome, says_limited, served, seconds })
}

/// A client's numbers, if both it and the mock say that every request was answered whole.
fn outcome(
    client: &ClientSpec,
    requests: u32,
    printed: Result<Printed, String>,
    served: &Served,
) -> Outcome {
    let printed = match printed {
        Ok(printed) => printed,
        Err(why) => return Outcome::Failed(why),
    };
    let said = match said(&printed.document, &client.said) {
        Ok(said) => said,
        Err(unsaid) => return Outcome::Failed(unsaid.to_string()),
    };
    let whole = said.completed >= f64::from(requests) && served.completed >= u64::from(requests);
    if whole {
        Outcome::Measured(said)
    } else {
        Outcome::Failed(format!(
            "it counts {} whole answers of {requests}; the mock played {} to their end, {} were not waited for",
            said.completed, served.completed, served.left
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clients::spec::parse;
    use crate::load::account::SpanSummary;

    fn served(completed: u64) -> Served {
        let late = SpanSummary { n: 0, p50_ns: None, p99_ns: None, max_ns: None };
        Served {
            requests: completed,
            completed,
            left: 0,
            refused: 0,
            open: 0,
            events: 0,
            events_per_second: None,
            late,
            busy_share: 0.0,
        }
    }

    /// Fewer answers than were asked for are no measurement, whoever counts fewer.
    #[test]
    fn a_request_short_is_no_number() {
        let spec = parse(include_str!("../../clients/per-core.toml")).unwrap();
        let (_, ours) = spec.chosen(&["plumbline".to_owned()]).unwrap()[0];
        let found = |completed: u32, played: u64| {
            let span = json!({"p50_ns": 20_000_000, "p99_ns": 21_000_000});
            let document = json!({"ends": {"ok": completed}, "tokens_a_second": 5.0, "ttft": span, "gap": span});
            outcome(
                ours,
                64,
                Ok(Printed { document, says_limited: false, seconds: 1.0 }),
                &served(played),
            )
        };
        let Outcome::Measured(said) = found(64, 65) else { panic!("expected a measurement") };
        assert!((said.ttft_ms_p99 - 21.0).abs() < 1e-9);
        assert!(
            matches!(found(63, 64), Outcome::Failed(why) if why.contains("63 whole answers of 64"))
        );
        assert!(matches!(found(64, 63), Outcome::Failed(_)));
        assert!(matches!(
            outcome(ours, 64, Ok(Printed { document: json!({}), says_limited: false, seconds: 1.0 }), &served(64)),
            Outcome::Failed(why) if why.contains("/ends/ok")
        ));
    }
}
