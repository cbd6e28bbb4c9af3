//! llama.cpp's server: its command line, and the verbs over its HTTP interface.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::start::{Attempt, Start, with_port};
use super::together::together;
use super::variant::{Variant, Words};
use super::{Client, LaunchError, Server, answer as common, http::Http, score};
use crate::logs;
use crate::perplexity::{EXECUTABLE, Perplexity};
use crate::registry::LaunchSpec;
use crate::verbs::{
    Cached, Completion, CompletionRequest, Message, ScoredChunk, Together, VerbError,
};

mod answer;
mod readback;

/// Starts the server and reads back who it is.
pub(super) fn start(start: &Start<'_>, launch: &LaunchSpec) -> Result<Server, LaunchError> {
    start.expect_checkpoint("a .gguf file", is_gguf)?;
    let executable = start.oracle.executable(&launch.executable);
    let variant = Words::of(start, launch.protocol)?;
    with_port(start, |port| {
        let mut flags = vec!["--model".to_owned(), start.checkpoint.path.display().to_string()];
        flags.extend(arguments(port, start));
        flags.extend(launch.arguments.iter().chain(&start.settings.arguments).cloned());
        // Of a flag that is given twice the last one counts.
        flags.extend(slots(start.settings.sequences).into_iter().chain(variant.arguments.clone()));
        let mut command = Command::new(&executable);
        command.args(&flags).env_clear().envs(&launch.environment);
        let mut attempt = Attempt::spawn(start, port, command)?;
        let mut client = LlamaClient {
            http: attempt.client()?,
            vocabulary: None,
            perplexity: perplexity(start, launch)?,
            keeps_prefixes: start.settings.variant == Variant::PrefixCache,
        };
        attempt.wait_until_ready(&mut client)?;
        let log = attempt.log.clone();
        let question =
            readback::Question { start, launch, executable: &executable, flags: &flags, log: &log };
        let (identity, vocabulary) = question.ask(&client.http)?;
        client.vocabulary = Some(vocabulary);
        Ok(attempt.into_server(Box::new(client), identity))
    })
}

/// The tool of the same build that writes whole distributions, which the server does not answer.
fn perplexity(start: &Start<'_>, launch: &LaunchSpec) -> Result<Perplexity, LaunchError> {
    let environment = launch.environment.iter();
    Ok(Perplexity {
        oracle: start.name().to_owned(),
        executable: start.oracle.executable(EXECUTABLE),
        model: start.checkpoint.path.clone(),
        threads: start.settings.threads,
        environment: environment.map(|(key, value)| (key.clone(), value.clone())).collect(),
        log: logs::create(start.home, &format!("oracle-{}-score", start.name()))?,
    })
}

fn is_gguf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gguf")
}

/// The arguments that the settings decide.
fn arguments(port: u16, start: &Start<'_>) -> Vec<String> {
    let settings = start.settings;
    let mut arguments = vec!["--host".to_owned(), super::start::HOST.to_string()];
    for (flag, value) in [
        ("--port", u32::from(port)),
        ("--threads", settings.threads),
        ("--threads-batch", settings.threads),
        ("--ctx-size", settings.context * settings.sequences),
        ("--batch-size", settings.batch),
        ("--ubatch-size", settings.ubatch),
    ] {
        arguments.extend([flag.to_owned(), value.to_string()]);
    }
    arguments
}

/// More than the one slot that the registry file asks for; the server divides its context among them.
fn slots(sequences: u32) -> Vec<String> {
    if sequences <= 1 {
        return Vec::new();
    }
    vec!["--parallel".to_owned(), sequences.to_string()]
}

/// A client of one server.
#[derive(Debug)]
struct LlamaClient {
    http: Http,
    /// Whether a request may use what its slot holds of an earlier one.
    keeps_prefixes: bool,
    /// Tokens of the vocabulary, once the server has told.
    vocabulary: Option<usize>,
    perplexity: Perplexity,
}

impl Client for LlamaClient {
    fn healthy(&self) -> Result<bool, VerbError> {
        self.http.healthy()
    }

    fn tokenize(
        &mut self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, VerbError> {
        let verb = "tokenize";
        let body =
            json!({"content": text, "add_special": add_special, "parse_special": parse_special});
        let found = self.http.post(verb, "/tokenize", &body)?;
        common::ids(&found, "tokens").map_err(|fault| self.http.malformed(verb, fault))
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        let verb = "detokenize";
        let found = self.http.post(verb, "/detokenize", &json!({"tokens": ids}))?;
        common::text(&found, "content").map_err(|fault| self.http.malformed(verb, fault))
    }

    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        let verb = "render_chat";
        let found = self.http.post(verb, "/apply-template", &json!({"messages": messages}))?;
        common::text(&found, "prompt").map_err(|fault| self.http.malformed(verb, fault))
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        self.ask(request, false).map(|answer| answer.completion)
    }

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Option<Result<Together, VerbError>> {
        let client = &*self;
        Some(together(requests, width, |request| {
            client.ask(request, false).map(|answer| answer.completion)
        }))
    }

    fn complete_cached(
        &mut self,
        request: &CompletionRequest,
    ) -> Option<Result<Cached, VerbError>> {
        self.keeps_prefixes.then(|| self.ask(request, true))
    }

    fn score(&mut self, text: &str, context: usize) -> Option<Result<Vec<ScoredChunk>, VerbError>> {
        Some(score::bos(self).and_then(|bos| self.perplexity.score(text, context, bos)))
    }
}

impl LlamaClient {
    fn ask(&self, request: &CompletionRequest, cached: bool) -> Result<Cached, VerbError> {
        let verb = "complete";
        // Only the temperature sampler: at 0 it takes the greatest logit, and nothing else touches
        // the logits. Nothing is reused from an earlier request, unless that is asked for.
        let body = json!({
            "prompt": request.prompt_ids,
            "n_predict": request.max_tokens,
            "temperature": 0,
            "samplers": ["temperature"],
            "repeat_penalty": 1.0,
            "n_probs": request.top_logprobs,
            "post_sampling_probs": false,
            "ignore_eos": request.ignore_eos,
            "return_tokens": true,
            "cache_prompt": cached,
            "stream": false,
            "seed": 0,
        });
        let found = self.http.post(verb, "/completion", &body)?;
        let read = || {
            let cached_tokens = answer::cached_tokens(&found, cached)?;
            let completion = answer::completion(&found, request, self.vocabulary)?;
            Ok(Cached { completion, cached_tokens })
        };
        read().map_err(|fault| self.http.malformed(verb, fault))
    }
}
