//! A request as the bytes that go to the socket, made before the clock runs.

use std::fmt::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a server wants to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// OpenAI's `/v1/completions`.
    Completions,
    /// llama-server's own `/completion`.
    LlamaServer,
}

impl Dialect {
    /// Whether the server sends nothing for a token whose text ends inside a character. llama-server does not, nor does it send the
    /// id later: what arrives is fewer than what was made, and only its own count says how many that is.
    pub fn holds_back(self) -> bool {
        self == Self::LlamaServer
    }

    /// Where the server takes it.
    pub fn path(self) -> &'static str {
        match self {
            Self::Completions => "/v1/completions",
            Self::LlamaServer => "/completion",
        }
    }
}

/// Which server, and how to ask it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// What the `Host` header says.
    pub host: String,
    /// How it wants to be asked.
    pub dialect: Dialect,
    /// The model's name as the server knows it; not sent where there is none.
    pub model: Option<String>,
    /// Further keys of the body, such as `return_token_ids` for vLLM. They go last and win over ours.
    pub extra: serde_json::Map<String, Value>,
}

/// A server's address that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Another form than expected.
    #[error("the server is given as {0:?}, expected http://HOST:PORT")]
    Form(String),
    /// The name has no address.
    #[error("the server's name {host:?} has no address")]
    Address {
        /// The name and port.
        host: String,
        /// What the system said.
        source: Option<std::io::Error>,
    },
}

impl Target {
    /// A target from `http://HOST:PORT`, with the dialect's own path.
    pub fn parse(url: &str, dialect: Dialect) -> Result<Self, TargetError> {
        let form = || TargetError::Form(url.to_owned());
        let host = url.strip_prefix("http://").ok_or_else(form)?.trim_end_matches('/');
        if host.is_empty() || host.contains('/') || !host.contains(':') {
            return Err(form());
        }
        let address = |source| TargetError::Address { host: host.to_owned(), source };
        let mut addresses = host.to_socket_addrs().map_err(|error| address(Some(error)))?;
        Ok(Self {
            address: addresses.next().ok_or_else(|| address(None))?,
            host: host.to_owned(),
            dialect,
            model: None,
            extra: serde_json::Map::new(),
        })
    }
}

/// What is to be continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prompt {
    /// Token ids: as many as they are.
    Ids(Vec<u32>),
    /// A text, and how many tokens it is meant to be, for servers that take no ids.
    Text(String, u32),
}

impl Prompt {
    /// Tokens, as planned.
    pub fn tokens(&self) -> u32 {
        match self {
            Self::Ids(ids) => ids.len() as u32,
            Self::Text(_, tokens) => *tokens,
        }
    }
}

/// A request that only has to be written.
#[derive(Clone, Debug)]
pub struct Request {
    /// Head and body.
    pub bytes: Arc<[u8]>,
    /// Tokens of the prompt, as planned.
    pub prompt_tokens: u32,
    /// The prompt is ids, so that the server's count of it must be ours.
    pub is_exact: bool,
    /// As [`Dialect::holds_back`].
    pub holds_back: bool,
    /// Output tokens asked for.
    pub output_tokens: u32,
    /// Give up this long after sending.
    pub cancel_after_ns: Option<u64>,
}

impl Request {
    /// Greedy, streamed, with exactly `output_tokens` tokens as far as the server obeys.
    pub fn new(target: &Target, prompt: &Prompt, output_tokens: u32) -> Self {
        let body = body(target, prompt, output_tokens);
        let mut bytes = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: {}\r\n\r\n",
            target.dialect.path(),
            target.host,
            body.len()
        );
        bytes += &body;
        Self {
            bytes: bytes.into_bytes().into(),
            prompt_tokens: prompt.tokens(),
            is_exact: matches!(prompt, Prompt::Ids(_)),
            holds_back: target.dialect.holds_back(),
            output_tokens,
            cancel_after_ns: None,
        }
    }
}

fn body(target: &Target, prompt: &Prompt, output_tokens: u32) -> String {
    let mut keys = match target.dialect {
        Dialect::Completions => json!({
            "max_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": true,
            "stream": true,
            "stream_options": {"include_usage": true},
        }),
        Dialect::LlamaServer => json!({
            "n_predict": output_tokens,
            "temperature": 0,
            "ignore_eos": true,
            "stream": true,
            "return_tokens": true,
        }),
    };
    if let Value::Object(keys) = &mut keys {
        if let Some(model) = &target.model {
            keys.insert("model".to_owned(), json!(model));
        }
        keys.extend(target.extra.clone());
    }
    // The prompt is written by hand: as a document, long lists of ids would take many times their bytes.
    let keys = keys.to_string();
    let mut body = String::with_capacity(keys.len() + prompt.tokens() as usize * 7 + 32);
    body += "{\"prompt\":";
    match prompt {
        Prompt::Text(text, _) => body += &Value::from(text.as_str()).to_string(),
        Prompt::Ids(ids) => {
            for (index, id) in ids.iter().enumerate() {
                let _ = write!(body, "{}{id}", if index == 0 { '[' } else { ',' });
            }
            body += if ids.is_empty() { "[]" } else { "]" };
        }
    }
    body.push(',');
    body += &keys[1..];
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(request: &Request) -> (String, Value) {
        let text = String::from_utf8(request.bytes.to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        (head.to_owned(), serde_json::from_str(body).unwrap())
    }

    #[test]
    fn asks_completions_with_ids_and_llama_server_with_text() {
        let mut target = Target::parse("http://127.0.0.1:81/", Dialect::Completions).unwrap();
        target.model = Some("m".to_owned());
        target.extra.insert("return_token_ids".to_owned(), json!(true));
        let request = Request::new(&target, &Prompt::Ids(vec![5, 70]), 3);
        let (head, body) = parts(&request);
        assert!(head.starts_with("POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:81\r\n"));
        assert_eq!(
            body,
            json!({"prompt": [5, 70], "max_tokens": 3, "temperature": 0, "ignore_eos": true, "stream": true,
                "stream_options": {"include_usage": true}, "model": "m", "return_token_ids": true})
        );
        assert!(request.is_exact);
        let target = Target::parse("http://127.0.0.1:81", Dialect::LlamaServer).unwrap();
        let request = Request::new(&target, &Prompt::Text("a \"b\"".to_owned(), 4), 3);
        let (head, body) = parts(&request);
        assert!(head.starts_with("POST /completion "));
        assert_eq!((&body["prompt"], &body["n_predict"]), (&json!("a \"b\""), &json!(3)));
        assert_eq!((request.prompt_tokens, request.is_exact), (4, false));
        assert_eq!(parts(&Request::new(&target, &Prompt::Ids(vec![]), 1)).1["prompt"], json!([]));
    }

    #[test]
    fn refuses_other_addresses() {
        for url in ["127.0.0.1:80", "https://a:1", "http://127.0.0.1", "http://127.0.0.1:80/x"] {
            assert!(matches!(Target::parse(url, Dialect::Completions), Err(TargetError::Form(_))));
        }
    }
}
