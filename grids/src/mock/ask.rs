//! What a client asks the mock for.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::load::request::Dialect;

/// A request as far as the mock cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Which kind of stream.
    pub dialect: Dialect,
    /// Tokens of the prompt: ids, or words of a text.
    pub prompt_tokens: u32,
    /// The first token id; 0 for a text.
    pub first_id: u32,
    /// Tokens to answer with.
    pub output_tokens: u32,
    /// Events carry token ids.
    pub wants_ids: bool,
    /// A count of tokens comes at the end.
    pub wants_usage: bool,
}

/// What stood in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A completion.
    Completion(Ask),
    /// `GET /stats`.
    Statistics,
    /// What the mock does not know: the status and why.
    Refused(u16, String),
}

#[derive(Deserialize)]
struct Body {
    prompt: Prompt,
    #[serde(alias = "n_predict")]
    max_tokens: Option<u32>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: StreamOptions,
    #[serde(default)]
    return_token_ids: bool,
    #[serde(default)]
    return_tokens: bool,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// A prompt that is counted, not kept.
struct Prompt {
    tokens: u32,
    first_id: u32,
}

impl<'de> Deserialize<'de> for Prompt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PromptVisitor)
    }
}

struct PromptVisitor;

impl<'de> Visitor<'de> for PromptVisitor {
    type Value = Prompt;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of token ids")
    }

    fn visit_str<E>(self, text: &str) -> Result<Prompt, E> {
        Ok(Prompt { tokens: text.split_whitespace().count() as u32, first_id: 0 })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut ids: A) -> Result<Prompt, A::Error> {
        let first: Option<u32> = ids.next_element()?;
        let mut tokens = u32::from(first.is_some());
        while ids.next_element::<IgnoredAny>()?.is_some() {
            tokens += 1;
        }
        Ok(Prompt { tokens, first_id: first.unwrap_or(0) })
    }
}

/// How many bytes the request at the start of `bytes` takes, if its head is there; `Err` if that is no request.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, httparse::Error> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes)? else { return Ok(None) };
    let body = request
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse::<usize>().ok());
    Ok(Some(head + body.unwrap_or(0)))
}

/// Reads a whole request.
pub fn read(bytes: &[u8]) -> Asked {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else {
        return Asked::Refused(400, "no request".to_owned());
    };
    let dialect = match (request.method, request.path) {
        (Some("GET"), Some("/stats")) => return Asked::Statistics,
        (Some("POST"), Some("/v1/completions")) => Dialect::Completions,
        (Some("POST"), Some("/completion")) => Dialect::LlamaServer,
        (_, path) => return Asked::Refused(404, format!("no {}", path.unwrap_or("path"))),
    };
    let body: Body = match serde_json::from_slice(&bytes[head..]) {
        Ok(body) => body,
        Err(error) => return Asked::Refused(400, error.to_string()),
    };
    if !body.stream {
        return Asked::Refused(400, "only streams".to_owned());
    }
    let is_own = dialect == Dialect::LlamaServer;
    Asked::Completion(Ask {
        dialect,
        prompt_tokens: body.prompt.tokens,
        first_id: body.prompt.first_id,
        output_tokens: body.max_tokens.unwrap_or(16).max(1),
        wants_ids: if is_own { body.return_tokens } else { body.return_token_ids },
        wants_usage: is_own || body.stream_options.include_usage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::request::{Prompt, Request, Target};

    /// What the client asks for is what the mock understands.
    #[test]
    fn understands_our_own_requests() {
        for (dialect, wants_ids) in [(Dialect::Completions, false), (Dialect::LlamaServer, true)] {
            let target = Target::parse("http://127.0.0.1:1", dialect).unwrap();
            let bytes = Request::new(&target, &Prompt::Ids(vec![7, 8, 9]), 5).bytes;
            assert_eq!(length(&bytes), Ok(Some(bytes.len())));
            assert_eq!(length(&bytes[..20]), Ok(None));
            let ask = Ask {
                dialect,
                prompt_tokens: 3,
                first_id: 7,
                output_tokens: 5,
                wants_ids,
                wants_usage: true,
            };
            assert_eq!(read(&bytes), Asked::Completion(ask));
        }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert!(matches!(read(b"GET /x HTTP/1.1\r\n\r\n"), Asked::Refused(404, _)));
        let no_stream =
            b"POST /completion HTTP/1.1\r\ncontent-length: 14\r\n\r\n{\"prompt\":\"a\"}";
        assert!(matches!(read(no_stream), Asked::Refused(400, _)));
        assert_eq!(read(b"GET /stats HTTP/1.1\r\n\r\n"), Asked::Statistics);
    }
}
