//! vLLM's OpenAI server: its command line, and the verbs over its HTTP interface.

use std::process::Command;

use serde_json::{Value, json};

use super::http::Http;
use super::start::{Attempt, Start, with_port};
use super::together::together;
use super::variant::{Variant, Words};
use super::vocabulary::Vocabulary;
use super::{Client, LaunchError, MODEL, Server, answer as common, container, python};
use crate::registry::{Attach, Device, LaunchSpec, Provisioner};
use crate::verbs::{
    Cached, Completion, CompletionRequest, Message, PrefillRequest, Step, Together, VerbError,
};

mod answer;
mod readback;
mod said;

/// Starts the server, or finds the one that runs, and reads back who it is.
pub(super) fn start(start: &Start<'_>, launch: &LaunchSpec) -> Result<Server, LaunchError> {
    if let Some(Provisioner::Attach(attach)) = start.oracle.spec.declared.provisioner() {
        return attached(start, launch, attach);
    }
    start.expect_checkpoint("a folder with config.json", |path| {
        path.join("config.json").is_file()
    })?;
    let variant = Words::of(start, launch.protocol)?;
    with_port(start, |port| {
        let mut flags = arguments(port, start);
        flags.extend(launch.arguments.iter().chain(&start.settings.arguments).cloned());
        flags.extend(variant.arguments.clone());
        let (mut command, container, binary_sha256) = program(start, launch)?;
        command.args(&flags);
        let mut attempt = Attempt::spawn(start, port, command)?.in_container(container);
        let mut client = VllmClient::new(attempt.client()?, start, MODEL);
        attempt.wait_until_ready(&mut client)?;
        let log = attempt.log.clone();
        let question =
            readback::Question { start, launch, variant: &variant, flags: &flags, log: &log };
        let identity = question.ask(&client.http, binary_sha256.clone())?;
        Ok(attempt.into_server(Box::new(client), identity))
    })
}

/// The command up to the server's arguments; its container; the digest of what is executed.
fn program(
    start: &Start<'_>,
    launch: &LaunchSpec,
) -> Result<(Command, Option<container::Running>, String), LaunchError> {
    let mut environment = launch.environment.clone();
    let declared = &start.oracle.spec.declared;
    if declared.device == Device::Cpu {
        environment.insert("VLLM_CPU_OMP_THREADS_BIND".to_owned(), cores(start.settings.threads));
    }
    match declared.provisioner() {
        Some(Provisioner::Venv(venv)) => {
            let python::Program { mut command, python } =
                python::program(start, venv, &environment)?;
            command.args(["-m", &launch.executable]);
            Ok((command, None, python.sha256()?))
        }
        Some(Provisioner::Container(image)) => {
            let (mut command, running) = container::program(start, image, &environment)?;
            command.args(["-m", &launch.executable]);
            Ok((command, Some(running), declared.package.archive_sha256.clone()))
        }
        _ => Err(start.pairing()),
    }
}

/// The first `threads` cores, to which the threads of the computation are bound.
fn cores(threads: u32) -> String {
    if threads <= 1 { "0".to_owned() } else { format!("0-{}", threads - 1) }
}

/// The arguments that the settings decide.
fn arguments(port: u16, start: &Start<'_>) -> Vec<String> {
    let settings = start.settings;
    let pairs = [
        ("--model", start.checkpoint.path.display().to_string()),
        ("--served-model-name", MODEL.to_owned()),
        ("--host", super::start::HOST.to_string()),
        ("--port", port.to_string()),
        ("--dtype", settings.dtype.name().to_owned()),
        ("--max-model-len", settings.context.to_string()),
        ("--max-num-seqs", settings.sequences.to_string()),
    ];
    pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}

/// A server that somebody else runs.
fn attached(
    start: &Start<'_>,
    launch: &LaunchSpec,
    attach: &Attach,
) -> Result<Server, LaunchError> {
    let http = Http::new(start.name(), attach.url.clone(), start.settings.request_timeout)?;
    let client = VllmClient::new(http, start, &attach.model);
    let variant = Words::of(start, launch.protocol)?;
    let log = std::path::PathBuf::from(format!("(the log of {})", attach.url));
    let question = readback::Question { start, launch, variant: &variant, flags: &[], log: &log };
    let identity = question.ask_attached(&client.http, attach)?;
    Ok(Server { process: None, client: Box::new(client), address: None, log, identity })
}

/// A client of one server.
#[derive(Debug)]
struct VllmClient {
    http: Http,
    model: String,
    vocabulary: Vocabulary,
    /// Whether the server keeps prefixes of prompts, and says how much of each it had.
    keeps_prefixes: bool,
}

impl VllmClient {
    fn new(http: Http, start: &Start<'_>, model: &str) -> Self {
        let vocabulary = Vocabulary::read(&start.checkpoint.path);
        let keeps_prefixes = start.settings.variant == Variant::PrefixCache;
        Self { http, model: model.to_owned(), vocabulary, keeps_prefixes }
    }
}

impl VllmClient {
    /// The log-probabilities of every token behind each token of the prompt but the last.
    fn prompt_rows(&self, ids: &[u32]) -> Result<Vec<Vec<f32>>, VerbError> {
        let verb = "score";
        let body = json!({
            "model": self.model,
            "prompt": ids,
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": -1,
            "stream": false,
        });
        let found = self.http.post(verb, "/v1/completions", &body)?;
        answer::prompt_rows(&found, ids.len(), self.vocabulary.size)
            .map_err(|fault| self.http.malformed(verb, fault))
    }
}

impl Client for VllmClient {
    fn healthy(&self) -> Result<bool, VerbError> {
        self.http.healthy()
    }

    fn tokenize(&mut self, text: &str, add: bool, parse: bool) -> Result<Vec<u32>, VerbError> {
        let verb = "tokenize";
        // The server always reads special tokens, so without them it has an answer only where there are none.
        if !parse && self.vocabulary.has_added(text) {
            return Err(self.http.unanswerable(verb, format!("{text:?} without special tokens")));
        }
        let body = json!({"model": self.model, "prompt": text, "add_special_tokens": add});
        let found = self.http.post(verb, "/tokenize", &body)?;
        common::ids(&found, "tokens").map_err(|fault| self.http.malformed(verb, fault))
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        let verb = "detokenize";
        let body = json!({"model": self.model, "tokens": ids});
        let found = self.http.post(verb, "/detokenize", &body)?;
        common::text(&found, "prompt").map_err(|fault| self.http.malformed(verb, fault))
    }

    /// The server renders to ids alone: the text is theirs when it gives the same ids again.
    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        let verb = "render_chat";
        let body =
            json!({"model": self.model, "messages": messages, "add_generation_prompt": true});
        let found = self.http.post(verb, "/tokenize", &body)?;
        let ids =
            common::ids(&found, "tokens").map_err(|fault| self.http.malformed(verb, fault))?;
        let text = self.detokenize(&ids)?;
        if self.tokenize(&text, false, true)? == ids {
            return Ok(text);
        }
        Err(self
            .http
            .unanswerable(verb, "messages whose ids are not those of their text".to_owned()))
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        self.ask(request).map(|(completion, _)| completion)
    }

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Option<Result<Together, VerbError>> {
        let client = &*self;
        Some(together(requests, width, |request| client.ask(request).map(|(answer, _)| answer)))
    }

    fn rows(&mut self, ids: &[u32]) -> Option<Result<Vec<Vec<f32>>, VerbError>> {
        Some(self.prompt_rows(ids))
    }

    fn complete_cached(
        &mut self,
        request: &CompletionRequest,
    ) -> Option<Result<Cached, VerbError>> {
        self.keeps_prefixes.then(|| {
            let (completion, answer) = self.ask(request)?;
            let cached_tokens = answer::cached_tokens(&answer)
                .map_err(|fault| self.http.malformed("complete_cached", fault))?;
            Ok(Cached { completion, cached_tokens })
        })
    }

    fn prefill(&mut self, request: &PrefillRequest) -> Option<Result<Vec<Step>, VerbError>> {
        Some(self.one_pass(request))
    }
}

impl VllmClient {
    /// The log-probabilities of all tokens of a prompt, of which one more is generated and passed over.
    fn one_pass(&self, request: &PrefillRequest) -> Result<Vec<Step>, VerbError> {
        let verb = "prefill";
        let body = json!({
            "model": self.model,
            "prompt": request.whole(),
            "max_tokens": 1,
            "temperature": 0,
            "seed": 0,
            "prompt_logprobs": request.top_logprobs,
            "return_token_ids": true,
            "stream": false,
        });
        let found = self.http.post(verb, "/v1/completions", &body)?;
        answer::prefilled(&found, request)
            .and_then(|steps| common::prefilled(steps, request, self.vocabulary.size))
            .map_err(|fault| self.http.malformed(verb, fault))
    }

    /// A completion, and the whole answer that it stands in.
    fn ask(&self, request: &CompletionRequest) -> Result<(Completion, Value), VerbError> {
        let verb = "complete";
        let mut body = json!({
            "model": self.model,
            "prompt": request.prompt_ids,
            "max_tokens": request.max_tokens,
            "temperature": 0,
            "seed": 0,
            "ignore_eos": request.ignore_eos,
            // Ends that may not be chosen: a floor on the length masks them.
            "min_tokens": if request.ignore_eos { request.max_tokens } else { 0 },
            "return_token_ids": true,
            "return_tokens_as_token_ids": true,
            "skip_special_tokens": false,
            "spaces_between_special_tokens": false,
            "stream": false,
        });
        if request.top_logprobs > 0 {
            body["logprobs"] = request.top_logprobs.into();
        }
        let found = self.http.post(verb, "/v1/completions", &body)?;
        let completion = answer::completion(&found, request)
            .and_then(|completion| common::complete(completion, request, self.vocabulary.size))
            .map_err(|fault| self.http.malformed(verb, fault))?;
        Ok((completion, found))
    }
}
