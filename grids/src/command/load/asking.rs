//! Whom to ask what, and when: the arguments that every verb which puts load on a server shares, and the plan they make.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::super::CommandError;
use crate::load::monotonic::SECOND_NS;
use crate::load::plan::{Arrival, Conversations, Plan};
use crate::load::prompts::distinct;
use crate::load::request::{Dialect, Prompt, Request, Target};
use crate::metric::goodput::Objectives;
use crate::workload::arrival::{Process, Rate, intended_ns};
use crate::workload::file::{Asked, Workload};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectName {
    /// OpenAI's /v1/completions
    Completions,
    /// llama-server's own /completion
    LlamaServer,
}

/// The server.
#[derive(Debug, Args)]
pub(in crate::command) struct ServerArguments {
    /// The server, as http://HOST:PORT
    server: String,
    /// How it wants to be asked
    #[arg(long, value_enum, default_value = "completions")]
    dialect: DialectName,
    /// The model's name as the server knows it
    #[arg(long)]
    model: Option<String>,
    /// Further keys of each request, as a JSON object, such as {"return_token_ids": true}
    #[arg(long, value_name = "JSON")]
    extra: Option<String>,
}

/// What is asked.
#[derive(Debug, Args)]
pub(in crate::command) struct WorkArguments {
    /// What to ask: a workload in TOML (unique, mixed, shared-prefix, conversation, text, recorded), or JSON lines {"prompt": {"ids": [...]} or
    /// {"text": ["...", TOKENS]}, "output_tokens": N, "at_ns": N}; with times an open loop
    #[arg(long, value_name = "FILE", conflicts_with_all = ["requests", "prompt_tokens", "output_tokens"])]
    workload: Option<PathBuf>,
    /// Requests, where no workload is given
    #[arg(long, value_name = "N", default_value_t = 100)]
    requests: u32,
    /// Tokens of each prompt, where no workload is given
    #[arg(long, value_name = "N", default_value_t = 128)]
    prompt_tokens: u32,
    /// Tokens of each answer, where no workload is given
    #[arg(long, value_name = "N", default_value_t = 64)]
    output_tokens: u32,
    /// Seed of prompts and times [default: the workload's, or 1]
    #[arg(long)]
    seed: Option<u64>,
    /// How requests of an open loop follow each other: constant, poisson, or gamma:SHAPE (below 1 in bursts)
    #[arg(long, value_name = "PROCESS", default_value = "constant", value_parser = process)]
    process: Process,
}

/// The client.
#[derive(Debug, Args)]
pub(in crate::command) struct ClientArguments {
    /// Send nothing new after so many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Give up on a request after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    deadline: f64,
    /// Threads
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Cores, one a thread
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Connections to open before the start of an open loop
    #[arg(long, value_name = "N", default_value_t = 0)]
    connections: usize,
}

/// Objectives, each as `NAME=MILLISECONDS`.
#[derive(Debug, Args)]
pub(in crate::command) struct ObjectiveArguments {
    /// What an answer has to meet, as ttft=200 (from when it was intended), tpot=50, stall=500, e2e=2000, in milliseconds; may be repeated
    #[arg(long = "objective", value_name = "NAME=MS")]
    objectives: Vec<Objective>,
}

#[derive(Clone, Copy, Debug)]
enum Objective {
    Ttft(f64),
    Tpot(f64),
    Stall(f64),
    E2e(f64),
}

/// How many requests at once, or how many a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::command) enum Pace {
    /// So many in flight.
    Concurrency(usize),
    /// So many a second, and at most so many in flight.
    Rate(f64, Option<usize>),
    /// As the workload has it, with at most so many in flight.
    AsGiven(Option<usize>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    prompt: Prompt,
    output_tokens: u32,
    at_ns: Option<u64>,
}

/// What is to be sent.
struct Work {
    requests: Vec<Request>,
    intended_ns: Option<Vec<u64>>,
    conversations: Option<Conversations>,
}

impl Work {
    fn of(requests: Vec<Request>) -> Self {
        Self { requests, intended_ns: None, conversations: None }
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("{text:?}: expected ttft=MS, tpot=MS, stall=MS or e2e=MS");
        let (name, value) = text.split_once('=').ok_or_else(expected)?;
        let value: f64 = value.parse().map_err(|_| expected())?;
        if !(value > 0.0 && value.is_finite()) {
            return Err(expected());
        }
        match name {
            "ttft" => Ok(Self::Ttft(value)),
            "tpot" => Ok(Self::Tpot(value)),
            "stall" => Ok(Self::Stall(value)),
            "e2e" => Ok(Self::E2e(value)),
            _ => Err(expected()),
        }
    }
}

fn process(text: &str) -> Result<Process, String> {
    match (text, text.strip_prefix("gamma:").map(str::parse)) {
        ("constant", _) => Ok(Process::Constant),
        ("poisson", _) => Ok(Process::Poisson),
        (_, Some(Ok(shape))) => Ok(Process::Gamma(shape)),
        _ => Err("expected constant, poisson or gamma:SHAPE".to_owned()),
    }
}

impl ObjectiveArguments {
    /// All of them; the last of a name counts.
    pub(in crate::command) fn objectives(&self) -> Objectives {
        let mut all = Objectives::default();
        for objective in &self.objectives {
            match *objective {
                Objective::Ttft(ms) => all.ttft_ms = Some(ms),
                Objective::Tpot(ms) => all.tpot_ms = Some(ms),
                Objective::Stall(ms) => all.stall_ms = Some(ms),
                Objective::E2e(ms) => all.e2e_ms = Some(ms),
            }
        }
        all
    }
}

fn usage(text: String) -> CommandError {
    CommandError::Usage(text)
}

impl ServerArguments {
    /// Where it listens and how it is asked.
    pub(in crate::command) fn target(&self) -> Result<Target, CommandError> {
        let dialect = match self.dialect {
            DialectName::Completions => Dialect::Completions,
            DialectName::LlamaServer => Dialect::LlamaServer,
        };
        let mut target = Target::parse(&self.server, dialect)?;
        target.model.clone_from(&self.model);
        if let Some(extra) = &self.extra {
            target.extra = serde_json::from_str(extra)
                .map_err(|error| usage(format!("--extra: {error}, expected a JSON object")))?;
        }
        Ok(target)
    }
}

impl WorkArguments {
    /// A workload is given, which may have times of its own.
    pub(in crate::command) fn is_given(&self) -> bool {
        self.workload.is_some()
    }

    /// The work, `again` times after the first: other prompts and times of the same kind, as far as they are drawn.
    fn work(&self, target: &Target, again: u64) -> Result<Work, CommandError> {
        let Some(path) = &self.workload else {
            let seed = self.seed.unwrap_or(1) + again;
            let request = |index| {
                let prompt = distinct(seed, index, self.prompt_tokens);
                Request::new(target, &prompt, self.output_tokens)
            };
            return Ok(Work::of((0..self.requests).map(request).collect()));
        };
        if path.extension().is_none_or(|extension| extension != "toml") {
            return lines(path, target);
        }
        let mut workload = Workload::read(path)?;
        workload.seed = self.seed.unwrap_or(workload.seed) + again;
        let made = workload.make(path.parent().unwrap_or(Path::new("")))?;
        let mut work = match made.asked {
            Asked::Ids(items) => {
                let ids = |item: crate::workload::Item| {
                    Request::new(target, &Prompt::Ids(item.ids), item.output_tokens)
                };
                Work::of(items.into_iter().map(ids).collect())
            }
            Asked::Texts(texts) => {
                let text = |item: crate::workload::text::TextItem| {
                    let prompt = Prompt::Text(item.text, item.prompt_tokens);
                    Request::new(target, &prompt, item.output_tokens)
                };
                Work::of(texts.into_iter().map(text).collect())
            }
            Asked::Conversations(turns) => {
                let conversations = Conversations { target: target.clone(), turns };
                let requests = conversations.first();
                Work { conversations: Some(conversations), ..Work::of(requests) }
            }
        };
        work.intended_ns = made.intended_ns;
        Ok(work)
    }

    /// What `client` is to send to `target` at that pace.
    pub(in crate::command) fn plan(
        &self,
        target: &Target,
        client: &ClientArguments,
        pace: Pace,
        again: u64,
    ) -> Result<Plan, CommandError> {
        let Work { requests, intended_ns: own, conversations } = self.work(target, again)?;
        let arrival = match (pace, own) {
            (Pace::Concurrency(_) | Pace::Rate(..), Some(_)) => {
                return Err(usage("the workload has times of its own".to_owned()));
            }
            (Pace::Concurrency(concurrency) | Pace::AsGiven(Some(concurrency)), None) => {
                Arrival::Closed { concurrency }
            }
            (Pace::Rate(rate, cap), None) => {
                let (seed, count) = (self.seed.unwrap_or(1) + again, requests.len() as u32);
                let rate = Rate::Steady(rate);
                let intended_ns = intended_ns(self.process, rate, seed, "load", count)?;
                Arrival::Open { intended_ns, cap }
            }
            (Pace::AsGiven(cap), Some(intended_ns)) => Arrival::Open { intended_ns, cap },
            (Pace::AsGiven(None), None) => {
                let why = "a workload without times needs --concurrency or --rate";
                return Err(usage(why.to_owned()));
            }
        };
        let mut plan = Plan::new(target.address, requests, arrival);
        plan.keeps_output = conversations.is_some();
        plan.conversations = conversations;
        client.apply(&mut plan)?;
        Ok(plan)
    }
}

impl ClientArguments {
    fn apply(&self, plan: &mut Plan) -> Result<(), CommandError> {
        let nanoseconds = |name: &str, seconds: f64| {
            let fits = (0.0..1e9).contains(&seconds);
            fits.then_some((seconds * SECOND_NS as f64) as u64)
                .ok_or_else(|| usage(format!("--{name} {seconds}: expected 0 to 1e9 seconds")))
        };
        plan.deadline_ns = nanoseconds("deadline", self.deadline)?;
        plan.issue_ns = self.seconds.map(|limit| nanoseconds("seconds", limit)).transpose()?;
        plan.threads = self.threads;
        plan.cores.clone_from(&self.cores);
        plan.connections = self.connections;
        Ok(())
    }
}

/// Requests from JSON lines and, if every line has one, their times.
fn lines(path: &Path, target: &Target) -> Result<Work, CommandError> {
    let file = |source| CommandError::File { path: path.to_owned(), source };
    let (mut requests, mut times) = (Vec::new(), Vec::new());
    for (index, line) in BufReader::new(File::open(path).map_err(file)?).lines().enumerate() {
        let line: Line = serde_json::from_str(&line.map_err(file)?).map_err(|source| {
            CommandError::Line { path: path.to_owned(), line: index + 1, source }
        })?;
        requests.push(Request::new(target, &line.prompt, line.output_tokens));
        times.extend(line.at_ns);
    }
    if !times.is_empty() && times.len() != requests.len() {
        let (some, all) = (times.len(), requests.len());
        let path = path.display();
        return Err(usage(format!(
            "{path}: {some} of {all} lines have a time, expected all or none"
        )));
    }
    let intended_ns = (!times.is_empty()).then_some(times);
    Ok(Work { intended_ns, ..Work::of(requests) })
}
