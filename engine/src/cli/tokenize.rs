//! `plumb tokenize --json-lines`: text to ids, ids to text, conversations to both.
//!
//! One request a line, one answer a line, in the same order. A request has an `id` and exactly one of
//! - `text`, with `add_special` and `parse_special` (both false by default): answered with `ids`;
//! - `ids`, with `skip_special` (false by default): answered with `text`;
//! - `messages`: answered with `text`, the conversation as the model's chat template renders it up to where
//!   the answer begins, and `ids`.
//!
//! The `id` is any string, and nobody here looks into it: the answer repeats it as it is, even if it is empty or another request
//! has the same. Answers come in the order of the requests, one for each, so that they can be told apart all the same; whoever
//! matches them by id has to give each request its own.
//!
//! A request that cannot be answered is answered with `error`, a code and a message.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CliError, Streams, lines};
use crate::chat_template::{ChatTemplate, ChatTemplateError, Message};
use crate::checkpoint::Checkpoint;
use crate::tokenizer::{Tokenizer, TokenizerError};

/// Turn text into token ids and back.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A .gguf file (a vocabulary without tensors is enough), or a folder with tokenizer.json
    model: PathBuf,
    /// Answer requests on stdin, one JSON object a line
    #[arg(long, required = true)]
    json_lines: bool,
}

/// One line of stdin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    id: String,
    text: Option<String>,
    ids: Option<Vec<u32>>,
    messages: Option<Vec<Message>>,
    add_special: Option<bool>,
    parse_special: Option<bool>,
    skip_special: Option<bool>,
}

/// One line of stdout.
#[derive(Debug, Default, Serialize)]
struct Answer {
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

#[derive(Debug, Serialize)]
struct ErrorBody {
    code: &'static str,
    message: String,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Unreadable(#[from] lines::Unreadable),
    #[error(transparent)]
    NotUtf8(#[from] lines::NotUtf8),
    #[error("give exactly one of text, ids and messages")]
    NotOne,
    #[error("{0} does not go with this request")]
    Misplaced(&'static str),
    #[error("the model has no chat template")]
    NoTemplate,
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error(transparent)]
    Template(ChatTemplateError),
    #[error("the chat template of this model is unusable: {0}")]
    BrokenTemplate(String),
}

impl Fault {
    fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) | Self::NotUtf8(_) | Self::NotOne | Self::Misplaced(_) => {
                "invalid_request"
            }
            Self::Tokenizer(TokenizerError::TokenId { .. }) => "unknown_token",
            Self::Tokenizer(_) => "tokenizer",
            Self::NoTemplate | Self::Template(_) | Self::BrokenTemplate(_) => "chat_template",
        }
    }
}

/// Opens the model's tokenizer and answers every line of the input.
pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Arguments { model, json_lines: _ } = arguments;
    let words = Words::open(model)?;
    answer_lines(&words, streams.input.as_mut(), streams.output)
}

/// What the verb needs of a model.
struct Words {
    tokenizer: Tokenizer,
    /// A template that does not compile fails the requests that need it, not the others.
    template: Result<Option<ChatTemplate>, ChatTemplateError>,
}

impl Words {
    fn open(model: &std::path::Path) -> Result<Self, CliError> {
        let no_tokenizer = || CliError::NoTokenizer { path: model.to_path_buf() };
        // A folder may have a tokenizer and no weights.
        let file = if model.is_dir() { model.join("tokenizer.json") } else { model.to_path_buf() };
        if file.extension().is_some_and(|extension| extension == "json") {
            if !file.exists() {
                return Err(no_tokenizer());
            }
            let tokenizer = Tokenizer::from_tokenizer_json(&file)?;
            let folder = file.parent().unwrap_or(&file);
            let template = ChatTemplate::from_folder(folder, &tokenizer);
            return Ok(Self { tokenizer, template });
        }
        let checkpoint = Checkpoint::open(model)?;
        let tokenizer = Tokenizer::of_checkpoint(&checkpoint)?.ok_or_else(no_tokenizer)?;
        let template = ChatTemplate::of_checkpoint(&checkpoint, &tokenizer);
        Ok(Self { tokenizer, template })
    }

    fn answer_line(&self, line: &str) -> Result<Answer, Fault> {
        self.answer(lines::request(line)?)
    }

    fn answer(&self, request: Request) -> Result<Answer, Fault> {
        let id = Value::String(request.id.clone());
        let Request { text, ids, messages, add_special, parse_special, skip_special, .. } = request;
        let refuse = |flags: &[(&'static str, Option<bool>)]| {
            let given = flags.iter().find(|(_, value)| value.is_some());
            given.map_or(Ok(()), |&(name, _)| Err(Fault::Misplaced(name)))
        };
        let encoding = [("add_special", add_special), ("parse_special", parse_special)];
        let decoding = [("skip_special", skip_special)];
        match (text, ids, messages) {
            (Some(text), None, None) => {
                refuse(&decoding)?;
                let [add_special, parse_special] = encoding.map(|(_, flag)| flag.unwrap_or(false));
                let ids = self.tokenizer.encode(&text, add_special, parse_special)?;
                Ok(Answer { id, ids: Some(ids), ..Answer::default() })
            }
            (None, Some(ids), None) => {
                refuse(&encoding)?;
                let text = self.tokenizer.decode(&ids, skip_special.unwrap_or(false))?;
                Ok(Answer { id, text: Some(text), ..Answer::default() })
            }
            (None, None, Some(messages)) => {
                refuse(&encoding)?;
                refuse(&decoding)?;
                let text = self.render(&messages)?;
                let ids = self.tokenizer.encode_rendered(&text)?;
                Ok(Answer { id, text: Some(text), ids: Some(ids), error: None })
            }
            _ => Err(Fault::NotOne),
        }
    }

    fn render(&self, messages: &[Message]) -> Result<String, Fault> {
        let template =
            self.template.as_ref().map_err(|error| Fault::BrokenTemplate(error.to_string()))?;
        let template = template.as_ref().ok_or(Fault::NoTemplate)?;
        template.render(messages, true, &Map::new()).map_err(Fault::Template)
    }
}

/// Answers every line; an error at the end if any was refused.
fn answer_lines(
    words: &Words,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<(), CliError> {
    let (mut failed, mut total) = (0, 0);
    while let Some(line) = lines::next(input).map_err(CliError::input)? {
        total += 1;
        let answered = match &line {
            Ok(line) => words.answer_line(line).map_err(|fault| (lines::id_of(line), fault)),
            Err(error) => Err((Value::Null, Fault::NotUtf8(error.clone()))),
        };
        let answer = answered.unwrap_or_else(|(id, fault)| {
            failed += 1;
            let error = ErrorBody { code: fault.code(), message: fault.to_string() };
            Answer { id, error: Some(error), ..Answer::default() }
        });
        write_line(&answer, output).map_err(CliError::output)?;
    }
    if failed == 0 { Ok(()) } else { Err(CliError::Requests { failed, total }) }
}

fn write_line(answer: &Answer, output: &mut dyn Write) -> std::io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}
