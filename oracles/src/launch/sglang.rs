//! SGLang's server: its command line, and the verbs over its own HTTP interface.

use serde_json::{Value, json};

use super::http::Http;
use super::start::{Attempt, Start, with_port};
use super::together::together;
use super::variant::{Variant, Words};
use super::vocabulary::Vocabulary;
use super::{Client, LaunchError, MODEL, Server, answer as common, python};
use crate::registry::{LaunchSpec, Provisioner};
use crate::verbs::{
    Cached, Completion, CompletionRequest, Message, PrefillRequest, Step, Together, VerbError,
};

mod answer;
mod readback;

/// Starts the server and reads back who it is.
pub(super) fn start(start: &Start<'_>, launch: &LaunchSpec) -> Result<Server, LaunchError> {
    let Some(Provisioner::Venv(venv)) = start.oracle.spec.declared.provisioner() else {
        return Err(start.pairing());
    };
    start.expect_checkpoint("a folder with config.json", |path| {
        path.join("config.json").is_file()
    })?;
    let variant = Words::of(start, launch.protocol)?;
    with_port(start, |port| {
        let mut flags = arguments(port, start);
        flags.extend(launch.arguments.iter().chain(&start.settings.arguments).cloned());
        flags.extend(variant.arguments.clone());
        let python::Program { mut command, python } =
            python::program(start, venv, &launch.environment)?;
        command.args(["-m", &launch.executable]).args(&flags);
        let mut attempt = Attempt::spawn(start, port, command)?;
        let mut client = SglangClient::new(attempt.client()?, start);
        attempt.wait_until_ready(&mut client)?;
        let log = attempt.log.clone();
        let question =
            readback::Question { start, launch, variant: &variant, flags: &flags, log: &log };
        let identity = question.ask(&client.http, python.sha256()?)?;
        Ok(attempt.into_server(Box::new(client), identity))
    })
}

/// The arguments that the settings decide.
fn arguments(port: u16, start: &Start<'_>) -> Vec<String> {
    let settings = start.settings;
    let pairs = [
        ("--model-path", start.checkpoint.path.display().to_string()),
        ("--served-model-name", MODEL.to_owned()),
        ("--host", super::start::HOST.to_string()),
        ("--port", port.to_string()),
        ("--dtype", settings.dtype.name().to_owned()),
        ("--context-length", settings.context.to_string()),
        ("--max-running-requests", settings.sequences.to_string()),
    ];
    pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}

/// A client of one server.
#[derive(Debug)]
struct SglangClient {
    http: Http,
    vocabulary: Vocabulary,
    /// Whether the server keeps prefixes of prompts.
    keeps_prefixes: bool,
}

impl SglangClient {
    fn new(http: Http, start: &Start<'_>) -> Self {
        let vocabulary = Vocabulary::read(&start.checkpoint.path);
        let keeps_prefixes = start.settings.variant == Variant::PrefixCache;
        Self { http, vocabulary, keeps_prefixes }
    }

    /// As many as there are tokens at most: of more the server's own ranking fails, and the server with it.
    fn window(&self, wanted: u32) -> usize {
        (wanted as usize).min(self.vocabulary.size)
    }

    /// A completion, and the whole answer that it stands in.
    ///
    /// The server forbids ends by changing the logits that its log-probabilities are of. So where rankings are asked for
    /// ends are not forbidden, and an answer in which one was chosen is none.
    fn ask(&self, request: &CompletionRequest) -> Result<(Completion, Value), VerbError> {
        let verb = "complete";
        let ranked = request.top_logprobs > 0;
        let floor = if request.ignore_eos && !ranked { request.max_tokens } else { 0 };
        let body = json!({
            "input_ids": request.prompt_ids,
            "sampling_params": {
                "temperature": 0,
                "max_new_tokens": request.max_tokens,
                "min_new_tokens": floor,
                "ignore_eos": request.ignore_eos,
                "skip_special_tokens": false,
                "spaces_between_special_tokens": false,
            },
            "return_logprob": ranked,
            "top_logprobs_num": self.window(request.top_logprobs),
            "return_prompt_token_ids": true,
            "stream": false,
        });
        let found = self.http.post(verb, "/generate", &body)?;
        let completion = answer::completion(&found, request)
            .and_then(|completion| common::complete(completion, request, self.vocabulary.size))
            .map_err(|fault| self.http.malformed(verb, fault))?;
        let ended = completion.ids.iter().any(|id| self.vocabulary.ends.contains(id));
        if request.ignore_eos && ended {
            let asked = "rankings where the model chooses an end that is forbidden";
            return Err(self.http.unanswerable(verb, asked.to_owned()));
        }
        Ok((completion, found))
    }

    /// The rankings inside a prompt from its token `first` on, `window` tokens each: row `n` is behind `ids[..=first + n]`.
    /// One more token is generated and passed over.
    fn prompt_rankings(
        &self,
        verb: &'static str,
        ids: &[u32],
        first: usize,
        window: usize,
    ) -> Result<Vec<Vec<(u32, f32)>>, VerbError> {
        let body = json!({
            "input_ids": ids,
            "sampling_params": {"temperature": 0, "max_new_tokens": 1},
            "return_logprob": true,
            "logprob_start_len": first,
            "top_logprobs_num": window,
            "return_flat_raw_top_logprobs": true,
            "return_prompt_token_ids": true,
            "stream": false,
        });
        let found = self.http.post(verb, "/generate", &body)?;
        answer::prompt_rankings(&found, ids, first, window)
            .map_err(|fault| self.http.malformed(verb, fault))
    }

    /// The ranking at each position that is asked about, all from one pass over the prompt.
    fn one_pass(&self, request: &PrefillRequest) -> Result<Vec<Step>, VerbError> {
        let verb = "prefill";
        let Some(first) = request.prompt_ids.len().checked_sub(1) else {
            return Err(self.http.unanswerable(verb, "a text without a prompt".to_owned()));
        };
        let window = self.window(request.top_logprobs.max(1));
        let rows = self.prompt_rankings(verb, &request.whole(), first, window)?;
        answer::prefilled(&rows, request)
            .and_then(|steps| common::prefilled(steps, request, self.vocabulary.size))
            .map_err(|fault| self.http.malformed(verb, fault))
    }

    /// The log-probabilities of every token behind each token of the prompt but the last.
    fn prompt_rows(&self, ids: &[u32]) -> Result<Vec<Vec<f32>>, VerbError> {
        let (verb, size) = ("score", self.vocabulary.size);
        if size == usize::MAX {
            let asked = "whole rankings of a checkpoint that does not say how many tokens it has";
            return Err(self.http.unanswerable(verb, asked.to_owned()));
        }
        let rows = self.prompt_rankings(verb, ids, 0, size)?;
        answer::by_id(&rows, size).map_err(|fault| self.http.malformed(verb, fault))
    }
}

impl Client for SglangClient {
    fn healthy(&self) -> Result<bool, VerbError> {
        self.http.healthy()
    }

    fn tokenize(&mut self, text: &str, add: bool, parse: bool) -> Result<Vec<u32>, VerbError> {
        let verb = "tokenize";
        // The server always reads special tokens, so without them it has an answer only where there are none.
        if !parse && self.vocabulary.has_added(text) {
            return Err(self.http.unanswerable(verb, format!("{text:?} without special tokens")));
        }
        let body = json!({"model": MODEL, "prompt": text, "add_special_tokens": add});
        let found = self.http.post(verb, "/tokenize", &body)?;
        common::ids(&found, "tokens").map_err(|fault| self.http.malformed(verb, fault))
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        let verb = "detokenize";
        let body = json!({"model": MODEL, "tokens": ids, "skip_special_tokens": false});
        let found = self.http.post(verb, "/detokenize", &body)?;
        common::text(&found, "text").map_err(|fault| self.http.malformed(verb, fault))
    }

    /// The server renders to ids alone: the text is theirs when it gives the same ids again.
    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        let verb = "render_chat";
        let body = json!({"model": MODEL, "messages": messages});
        let found = self.http.post(verb, "/tokenize", &body)?;
        let ids =
            common::ids(&found, "tokens").map_err(|fault| self.http.malformed(verb, fault))?;
        let text = self.detokenize(&ids)?;
        if self.tokenize(&text, false, true)? == ids {
            return Ok(text);
        }
        let asked = "messages whose ids are not those of their text";
        Err(self.http.unanswerable(verb, asked.to_owned()))
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

    fn rows(&mut self, ids: &[u32]) -> Option<Result<Vec<Vec<f32>>, VerbError>> {
        Some(self.prompt_rows(ids))
    }
}
