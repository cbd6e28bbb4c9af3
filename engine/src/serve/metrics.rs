//! What the server counts, under vLLM's names where they mean the same.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::histogram::Histogram;
use crate::generation::Generation;
use crate::scheduler::Load;

/// vLLM's bounds of times to the first token, in seconds.
const FIRST_TOKEN_SECONDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// Its bounds of times between tokens, in seconds.
const BETWEEN_SECONDS: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
];
/// Its bounds of the times of whole requests, in seconds.
const REQUEST_SECONDS: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];
/// Bounds of numbers of tokens.
const TOKENS: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0, 20000.0,
    50000.0, 100_000.0,
];

/// The reasons for which a request ends.
const REASONS: [&str; 4] = ["stop", "length", "abort", "error"];

/// When things happened to a choice.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) arrived: Instant,
    last_token: Option<Instant>,
    prompt_tokens: usize,
}

/// All counts of a server.
#[derive(Debug)]
pub struct Metrics {
    model: String,
    inner: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    load: Load,
    prompt_tokens: u64,
    generation_tokens: u64,
    steps: u64,
    ended: [u64; REASONS.len()],
    first_token: Histogram,
    between: Histogram,
    queue: Histogram,
    whole: Histogram,
    prompts: Histogram,
    answers: Histogram,
}

impl Span {
    /// A choice that has just arrived.
    pub(super) fn begin(generation: &Generation) -> Self {
        let prompt_tokens = generation.prompt_ids.len();
        Self { arrived: Instant::now(), last_token: None, prompt_tokens }
    }
}

impl Metrics {
    /// Nothing counted yet, of the model with that name.
    pub fn new(model: impl Into<String>) -> Self {
        let counts = Counts {
            load: Load::default(),
            prompt_tokens: 0,
            generation_tokens: 0,
            steps: 0,
            ended: [0; REASONS.len()],
            first_token: Histogram::new(FIRST_TOKEN_SECONDS),
            between: Histogram::new(BETWEEN_SECONDS),
            queue: Histogram::new(REQUEST_SECONDS),
            whole: Histogram::new(REQUEST_SECONDS),
            prompts: Histogram::new(TOKENS),
            answers: Histogram::new(TOKENS),
        };
        Self { model: model.into(), inner: Mutex::new(counts) }
    }

    /// How the engine stands.
    pub fn load(&self) -> Load {
        self.count(|counts| counts.load)
    }

    pub(super) fn set_load(&self, load: &Load) {
        self.count(|counts| counts.load = *load);
    }

    /// A choice has left the queue.
    pub(super) fn started(&self, span: &Span, now: Instant) {
        let waited = now.duration_since(span.arrived).as_secs_f64();
        self.count(|counts| {
            counts.queue.observe(waited);
            counts.prompt_tokens += span.prompt_tokens as u64;
            counts.prompts.observe(span.prompt_tokens as f64);
        });
    }

    /// A choice has one more token.
    pub(super) fn token(&self, span: &mut Span, now: Instant) {
        let since = span.last_token.replace(now);
        let seconds = now.duration_since(since.unwrap_or(span.arrived)).as_secs_f64();
        self.count(|counts| match since {
            None => counts.first_token.observe(seconds),
            Some(_) => counts.between.observe(seconds),
        });
    }

    /// A choice has all its tokens.
    pub(super) fn ended(&self, span: &Span, tokens: usize, now: Instant) {
        let seconds = now.duration_since(span.arrived).as_secs_f64();
        self.count(|counts| {
            counts.whole.observe(seconds);
            counts.answers.observe(tokens as f64);
        });
    }

    /// A step has generated so many tokens.
    pub(super) fn stepped(&self, tokens: usize) {
        self.count(|counts| {
            counts.steps += 1;
            counts.generation_tokens += tokens as u64;
        });
    }

    /// A choice was told why it ended: `stop`, `length`, `abort` or `error`.
    pub(super) fn told(&self, reason: &str) {
        let index = REASONS.iter().position(|&other| other == reason);
        self.count(|counts| counts.ended[index.unwrap_or(REASONS.len() - 1)] += 1);
    }

    /// Everything in Prometheus' text format.
    pub fn text(&self) -> String {
        let model = self.model.replace('\\', "\\\\").replace('"', "\\\"");
        let labels = format!("engine=\"0\",model_name=\"{model}\"");
        let mut out = String::new();
        self.count(|counts| counts.write(&labels, &mut out));
        out
    }

    fn count<T>(&self, action: impl FnOnce(&mut Counts) -> T) -> T {
        // Counts stay whole where a thread has panicked.
        action(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Counts {
    fn write(&self, labels: &str, out: &mut String) {
        let Load { running, waiting, used_blocks, total_blocks, preemptions, cache } = self.load;
        let usage = used_blocks as f64 / total_blocks.max(1) as f64;
        let gauges: [(&str, &str, f64); 3] = [
            ("num_requests_running", "Requests at work.", running as f64),
            ("num_requests_waiting", "Requests that wait.", waiting as f64),
            ("kv_cache_usage_perc", "Blocks in use. 1 means all.", usage),
        ];
        for (name, help, value) in gauges {
            heading(out, &format!("vllm:{name}"), help, "gauge");
            let _ = writeln!(out, "vllm:{name}{{{labels}}} {value:?}");
        }
        let counters = [
            (
                "vllm:prefix_cache_queries",
                "Prompt tokens looked up in the prefix cache.",
                cache.queries,
            ),
            ("vllm:prefix_cache_hits", "Prompt tokens found in the prefix cache.", cache.hits),
            ("vllm:num_preemptions", "Requests set back for want of blocks.", preemptions),
            ("vllm:prompt_tokens", "Prompt tokens of requests that started.", self.prompt_tokens),
            ("vllm:generation_tokens", "Tokens generated.", self.generation_tokens),
            (
                "plumb:kv_cache_evictions",
                "Remembered blocks given to something else.",
                cache.evictions,
            ),
            ("plumb:engine_steps", "Steps of the engine.", self.steps),
        ];
        for (name, help, value) in counters {
            heading(out, &format!("{name}_total"), help, "counter");
            let _ = writeln!(out, "{name}_total{{{labels}}} {value}");
        }
        let name = "vllm:request_success_total";
        heading(out, name, "Choices by what ended them.", "counter");
        for (reason, count) in REASONS.iter().zip(self.ended) {
            let _ = writeln!(out, "{name}{{{labels},finished_reason=\"{reason}\"}} {count}");
        }
        let histograms = [
            ("time_to_first_token_seconds", "From arrival to the first token.", &self.first_token),
            ("inter_token_latency_seconds", "From a token to the next.", &self.between),
            ("request_queue_time_seconds", "From arrival to the first step.", &self.queue),
            ("e2e_request_latency_seconds", "From arrival to the last token.", &self.whole),
            ("request_prompt_tokens", "Tokens of prompts.", &self.prompts),
            ("request_generation_tokens", "Tokens of answers.", &self.answers),
        ];
        for (name, help, histogram) in histograms {
            let name = format!("vllm:{name}");
            heading(out, &name, help, "histogram");
            histogram.write(&name, labels, out);
        }
    }
}

fn heading(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
