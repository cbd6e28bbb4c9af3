//! The verbs over llama-server's HTTP interface. One request, one connection: a connection that
//! was kept and closed meanwhile must not look like an oracle that died.

use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::blocking::{Client as Http, Response};
use serde_json::{Value, json};

use super::answer::{self, Fault};
use super::error::LaunchError;
use crate::verbs::{Completion, CompletionRequest, Message, VerbError};

/// How long a look at the health may take.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// A client of one server.
#[derive(Debug)]
pub(super) struct Client {
    oracle: String,
    base: String,
    http: Http,
    /// Tokens of the vocabulary, once the server has told.
    vocabulary: Option<usize>,
}

impl Client {
    pub(super) fn new(oracle: &str, port: u16, timeout: Duration) -> Result<Self, LaunchError> {
        let http = Http::builder()
            .timeout(timeout)
            .no_proxy()
            .pool_max_idle_per_host(0)
            .build()
            .map_err(LaunchError::Client)?;
        let base = format!("http://{}:{port}", Ipv4Addr::LOCALHOST);
        Ok(Self { oracle: oracle.to_owned(), base, http, vocabulary: None })
    }

    pub(super) fn with_vocabulary(self, tokens: usize) -> Self {
        Self { vocabulary: Some(tokens), ..self }
    }

    /// Whether the server says that it is ready; an error while it cannot be reached.
    pub(super) fn healthy(&self) -> Result<bool, VerbError> {
        let sent = self.http.get(format!("{}/health", self.base)).timeout(HEALTH_TIMEOUT).send();
        let response = sent.map_err(|error| self.transport("health", error))?;
        Ok(response.status().as_u16() == 200)
    }

    /// A JSON answer to `GET path`.
    pub(super) fn get(&self, verb: &'static str, path: &str) -> Result<Value, VerbError> {
        let sent = self.http.get(format!("{}{path}", self.base)).send();
        self.read(verb, sent)
    }

    pub(super) fn tokenize(
        &self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, VerbError> {
        let verb = "tokenize";
        let body =
            json!({"content": text, "add_special": add_special, "parse_special": parse_special});
        let found = self.post(verb, "/tokenize", &body)?;
        answer::ids(&found, "tokens").map_err(|fault| self.malformed(verb, fault))
    }

    pub(super) fn detokenize(&self, ids: &[u32]) -> Result<String, VerbError> {
        let verb = "detokenize";
        let found = self.post(verb, "/detokenize", &json!({"tokens": ids}))?;
        answer::text(&found, "content").map_err(|fault| self.malformed(verb, fault))
    }

    pub(super) fn render_chat(&self, messages: &[Message]) -> Result<String, VerbError> {
        let verb = "render_chat";
        let found = self.post(verb, "/apply-template", &json!({"messages": messages}))?;
        answer::text(&found, "prompt").map_err(|fault| self.malformed(verb, fault))
    }

    pub(super) fn complete(&self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        let verb = "complete";
        // Only the temperature sampler: at 0 it takes the greatest logit, and nothing else touches
        // the logits. Nothing is reused from an earlier request.
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
            "cache_prompt": false,
            "stream": false,
            "seed": 0,
        });
        let found = self.post(verb, "/completion", &body)?;
        answer::completion(&found, request, self.vocabulary)
            .map_err(|fault| self.malformed(verb, fault))
    }

    fn post(&self, verb: &'static str, path: &str, body: &Value) -> Result<Value, VerbError> {
        let sent = self.http.post(format!("{}{path}", self.base)).json(body).send();
        self.read(verb, sent)
    }

    fn read(
        &self,
        verb: &'static str,
        sent: reqwest::Result<Response>,
    ) -> Result<Value, VerbError> {
        let response = sent.map_err(|error| self.transport(verb, error))?;
        let status = response.status().as_u16();
        let body = response.bytes().map_err(|error| self.transport(verb, error))?;
        if status == 200 {
            return serde_json::from_slice(&body).map_err(|error| {
                let found = format!("{} bytes that are not ({error})", body.len());
                self.malformed(verb, Fault::new("body", "JSON", found))
            });
        }
        let text = String::from_utf8_lossy(&body);
        let said: Option<Value> = serde_json::from_slice(&body).ok();
        let message = said.as_ref().and_then(|said| said.pointer("/error/message")?.as_str());
        Err(VerbError::Refused {
            oracle: self.oracle.clone(),
            verb,
            status,
            message: message.unwrap_or(&text).chars().take(500).collect(),
        })
    }

    fn transport(&self, verb: &'static str, error: reqwest::Error) -> VerbError {
        let reason = if error.is_timeout() {
            "it took too long"
        } else if error.is_connect() {
            "it cannot be connected to"
        } else {
            "the connection broke"
        };
        VerbError::Transport {
            oracle: self.oracle.clone(),
            verb,
            reason: reason.to_owned(),
            source: error.into(),
        }
    }

    fn malformed(&self, verb: &'static str, fault: Fault) -> VerbError {
        VerbError::Malformed {
            oracle: self.oracle.clone(),
            verb,
            key: fault.key,
            expected: fault.expected,
            found: fault.found,
        }
    }
}
