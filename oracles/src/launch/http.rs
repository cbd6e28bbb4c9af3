//! HTTP to a server on this machine. One request, one connection: a connection that was kept and closed meanwhile must
//! not look like an oracle that died.

use std::time::Duration;

use reqwest::blocking::{Client, Response};
use serde_json::Value;

use super::answer::Fault;
use super::error::LaunchError;
use crate::verbs::VerbError;

/// How long a look at the health may take.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// A client of one server.
#[derive(Debug)]
pub(super) struct Http {
    oracle: String,
    base: String,
    client: Client,
}

impl Http {
    /// A client of the server at `base`, `http://HOST:PORT`.
    pub(super) fn new(oracle: &str, base: String, timeout: Duration) -> Result<Self, LaunchError> {
        let client = Client::builder()
            .timeout(timeout)
            .no_proxy()
            .pool_max_idle_per_host(0)
            .build()
            .map_err(LaunchError::Client)?;
        Ok(Self { oracle: oracle.to_owned(), base, client })
    }

    /// Whether the server says that it is ready; an error while it cannot be reached.
    pub(super) fn healthy(&self) -> Result<bool, VerbError> {
        let sent = self.client.get(format!("{}/health", self.base)).timeout(HEALTH_TIMEOUT).send();
        let response = sent.map_err(|error| self.transport("health", error))?;
        Ok(response.status().as_u16() == 200)
    }

    /// A JSON answer to `GET path`.
    pub(super) fn get(&self, verb: &'static str, path: &str) -> Result<Value, VerbError> {
        let body = self.get_bytes(verb, path)?;
        self.json(verb, &body)
    }

    /// The bytes of an answer to `GET path`.
    pub(super) fn get_bytes(&self, verb: &'static str, path: &str) -> Result<Vec<u8>, VerbError> {
        self.read(verb, self.client.get(format!("{}{path}", self.base)).send())
    }

    /// A JSON answer to `POST path`.
    pub(super) fn post(
        &self,
        verb: &'static str,
        path: &str,
        body: &Value,
    ) -> Result<Value, VerbError> {
        let sent = self.client.post(format!("{}{path}", self.base)).json(body).send();
        let body = self.read(verb, sent)?;
        self.json(verb, &body)
    }

    fn read(
        &self,
        verb: &'static str,
        sent: reqwest::Result<Response>,
    ) -> Result<Vec<u8>, VerbError> {
        let response = sent.map_err(|error| self.transport(verb, error))?;
        let status = response.status().as_u16();
        let body = response.bytes().map_err(|error| self.transport(verb, error))?;
        if status == 200 {
            return Ok(body.to_vec());
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

    fn json(&self, verb: &'static str, body: &[u8]) -> Result<Value, VerbError> {
        serde_json::from_slice(body).map_err(|error| {
            let found = format!("{} bytes that are not ({error})", body.len());
            self.malformed(verb, Fault::new("body", "JSON", found))
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

    /// `fault` as the answer of this oracle.
    pub(super) fn malformed(&self, verb: &'static str, fault: Fault) -> VerbError {
        fault.of(&self.oracle, verb)
    }

    /// That this oracle has no answer to `verb`.
    pub(super) fn unanswerable(&self, verb: &'static str, request: String) -> VerbError {
        VerbError::Unanswerable { oracle: self.oracle.clone(), verb, request }
    }
}
