//! The subject: the shipped `plumb` binary, driven through its verbs and nothing else.
//!
//! [`Transport`] carries lines to a process and back; [`Subject`] turns them into answers and calls every broken answer
//! by name. A test replaces the transport with files, a planted fault tampers with it; neither can reach past it.

mod answer;
mod build;
mod dump;
mod inside;
mod process;
mod watch;

pub use answer::{
    Defect, Generated, Info, Inspection, StoredTensor, StoredValue, TopEntry, is_whole,
};
pub use build::{FoundBy, PlumbBinary, SubjectBuildError, find};
pub use dump::Tapped;
pub use process::{ProcessTransport, stop_all};
pub use watch::{Resident, Watch};

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use oracles::verbs::Message;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A verb of `plumb` that a gate asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Version, source digest, effective configuration.
    Info,
    /// Token ids from prompts.
    Generate,
    /// Token ids from texts and back.
    Tokenize,
    /// Tensors, metadata and their offsets in a file.
    Inspect,
    /// Intermediate values of a forward pass.
    Dump,
    /// One operation of a numerics profile.
    Op,
}

impl Verb {
    /// The verb as it is typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Generate => "generate",
            Self::Tokenize => "tokenize",
            Self::Inspect => "inspect",
            Self::Dump => "dump",
            Self::Op => "op",
        }
    }
}

/// One question to the subject: a command line and the lines on its standard input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The verb.
    pub verb: Verb,
    /// Its arguments after the verb.
    pub arguments: Vec<String>,
    /// Requests, one JSON object a line.
    pub lines: Vec<String>,
    /// How often it was asked before: asked again it is another question, which nobody answers from memory.
    pub repeat: u32,
    /// Whether its process is watched: when its answers come, and how much memory it takes.
    pub watched: bool,
}

/// What came back, unread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawAnswer {
    /// Everything on standard output.
    pub stdout: String,
    /// Exit status; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// The end of standard error, for messages.
    pub stderr_tail: String,
    /// What was seen of the process; empty where it was not watched.
    #[serde(default)]
    pub watch: Watch,
    /// The file that it was asked to write; empty where it was asked for none. It is read, and not kept.
    #[serde(skip)]
    pub file: Vec<u8>,
}

/// Carries a question to the subject.
pub trait Transport {
    /// Asks and waits for the end of the process.
    fn ask(&self, question: &Question, budget: Duration) -> Result<RawAnswer, SubjectError>;
}

/// The subject gave no answer at all, or none that can be read.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The binary could not be started.
    #[error("cannot start {path}")]
    Start {
        /// The binary.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It did not end in time and was killed.
    #[error("`plumb {verb}` did not end within {seconds} s and was stopped")]
    Budget {
        /// The verb asked.
        verb: &'static str,
        /// The spec's budget.
        seconds: u64,
    },
    /// It ended with an error of its own.
    #[error("`plumb {verb}` ended with {status}: {stderr}")]
    Ended {
        /// The verb asked.
        verb: &'static str,
        /// Exit status or signal.
        status: String,
        /// The end of its standard error.
        stderr: String,
    },
    /// Its answer is not what the verb answers.
    #[error("`plumb {verb}` answered something else than its contract says: {reason}")]
    Unreadable {
        /// The verb asked.
        verb: &'static str,
        /// What was expected and found.
        reason: String,
    },
    /// The pipes to it broke.
    #[error("lost the pipes to `plumb {verb}`")]
    Pipe {
        /// The verb asked.
        verb: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// A generation request, one line of `plumb generate MODEL --json-lines`.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    /// Case id, echoed in the answer.
    pub id: String,
    /// What to continue.
    pub prompt: Prompt,
    /// Tokens to generate at most; an end-of-generation token stops them, and is the last id.
    pub max_tokens: u32,
    /// How many of the most probable tokens to report at each step.
    pub logprobs: usize,
    /// Teacher forcing: these ids are taken instead of the argmax.
    pub force_ids: Option<Vec<u32>>,
}

/// What a case gives to both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// A text; the tokenizer decides about BOS.
    Text(String),
    /// Token ids, as they are.
    Ids(Vec<u32>),
    /// A conversation, rendered by the checkpoint's template.
    Messages(Vec<Message>),
}

impl GenerateRequest {
    /// The request as it is sent.
    pub fn line(&self) -> String {
        let mut line = json!({
            "id": self.id,
            "max_tokens": self.max_tokens,
            "logprobs": self.logprobs,
        });
        match &self.prompt {
            Prompt::Text(text) => line["prompt"] = json!(text),
            Prompt::Ids(ids) => line["prompt_ids"] = json!(ids),
            Prompt::Messages(messages) => line["messages"] = json!(messages),
        }
        if let Some(ids) = &self.force_ids {
            line["force_ids"] = json!(ids);
        }
        line.to_string()
    }
}

/// A tokenizer question, one line of `plumb tokenize MODEL --json-lines`.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenizeRequest {
    /// Case id, echoed in the answer.
    pub id: String,
    /// What is asked.
    pub input: TokenizeInput,
}

/// What a tokenizer question gives.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenizeInput {
    /// Ids of a text.
    Text {
        /// The text.
        text: String,
        /// Let the tokenizer add its BOS.
        add_special: bool,
        /// Read special tokens in the text as such.
        parse_special: bool,
    },
    /// Text of some ids, special tokens shown.
    Ids(Vec<u32>),
    /// Rendered text and ids of a conversation.
    Messages(Vec<Message>),
}

impl TokenizeRequest {
    fn line(&self) -> String {
        let id = &self.id;
        match &self.input {
            TokenizeInput::Text { text, add_special, parse_special } => json!({
                "id": id, "text": text, "add_special": add_special, "parse_special": parse_special,
            }),
            TokenizeInput::Ids(ids) => json!({ "id": id, "ids": ids, "skip_special": false }),
            TokenizeInput::Messages(messages) => json!({ "id": id, "messages": messages }),
        }
        .to_string()
    }
}

/// A tokenizer answer: the fields that the question asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokenized {
    /// Ids, when a text or a conversation was given.
    pub ids: Option<Vec<u32>>,
    /// Text, when ids or a conversation were given.
    pub text: Option<String>,
}

/// The subject's answers by case id: each an answer or the defect that makes it none.
pub type Answers<T> = BTreeMap<String, Result<T, Defect>>;

/// The subject behind a transport.
pub struct Subject<'a> {
    /// Carries the lines.
    pub transport: &'a dyn Transport,
    /// How long one question may take.
    pub budget: Duration,
    /// Numerics profile, passed as `--profile`.
    pub profile: Option<&'a str>,
}

impl Subject<'_> {
    /// What the binary says about itself, with `model` loaded when given.
    pub fn info(&self, model: Option<&Path>) -> Result<Info, SubjectError> {
        let mut arguments = vec!["--json".to_owned()];
        arguments.extend(self.model_arguments(model));
        answer::parse_info(&self.single(Verb::Info, arguments)?)
    }

    /// Where the tensors and metadata of a file lie.
    pub fn inspect(&self, file: &Path) -> Result<Inspection, SubjectError> {
        let arguments = vec![file.display().to_string(), "--json".to_owned()];
        answer::parse_inspection(&self.single(Verb::Inspect, arguments)?)
    }

    /// Generates for every request, in one process.
    pub fn generate(
        &self,
        model: &Path,
        requests: &[GenerateRequest],
    ) -> Result<Answers<Generated>, SubjectError> {
        let lines: Vec<String> = requests.iter().map(GenerateRequest::line).collect();
        let mut arguments = self.model_arguments(Some(model));
        arguments.push("--json-lines".to_owned());
        let raw = self.ask(Verb::Generate, arguments, lines)?;
        let expected: Vec<(&str, u32)> =
            requests.iter().map(|request| (request.id.as_str(), request.max_tokens)).collect();
        answer::read_lines(Verb::Generate, &raw, expected, answer::read_generated)
    }

    /// Tokenizes or detokenizes every request, in one process.
    pub fn tokenize(
        &self,
        model: &Path,
        requests: &[TokenizeRequest],
    ) -> Result<Answers<Tokenized>, SubjectError> {
        let lines: Vec<String> = requests.iter().map(TokenizeRequest::line).collect();
        let arguments = vec![model.display().to_string(), "--json-lines".to_owned()];
        let raw = self.ask(Verb::Tokenize, arguments, lines)?;
        let expected: Vec<(&str, ())> =
            requests.iter().map(|request| (request.id.as_str(), ())).collect();
        answer::read_lines(Verb::Tokenize, &raw, expected, answer::read_tokenized)
    }

    /// The values named `taps` of a forward pass over `ids`, by their names; the defect where the file is none.
    pub fn dump(
        &self,
        model: &Path,
        ids: &[u32],
        taps: &[&str],
    ) -> Result<Result<BTreeMap<String, Tapped>, Defect>, SubjectError> {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        let mut arguments = self.model_arguments(Some(model));
        arguments.extend(["--ids".to_owned(), ids.join(","), "--taps".to_owned(), taps.join(",")]);
        let raw = self.ask(Verb::Dump, arguments, Vec::new())?;
        if raw.exit == Some(0) {
            Ok(dump::read(&raw.file))
        } else {
            Err(answer::ended(Verb::Dump, &raw))
        }
    }

    fn model_arguments(&self, model: Option<&Path>) -> Vec<String> {
        let mut arguments: Vec<String> =
            model.map(|path| path.display().to_string()).into_iter().collect();
        if let Some(profile) = self.profile {
            arguments.extend(["--profile".to_owned(), profile.to_owned()]);
        }
        arguments
    }

    fn ask(
        &self,
        verb: Verb,
        arguments: Vec<String>,
        lines: Vec<String>,
    ) -> Result<RawAnswer, SubjectError> {
        let question = Question { verb, arguments, lines, repeat: 0, watched: false };
        self.transport.ask(&question, self.budget)
    }

    /// Asks a verb that answers one object, and demands success.
    fn single(&self, verb: Verb, arguments: Vec<String>) -> Result<String, SubjectError> {
        let raw = self.ask(verb, arguments, Vec::new())?;
        if raw.exit == Some(0) { Ok(raw.stdout) } else { Err(answer::ended(verb, &raw)) }
    }
}

/// The generations in an answer, read as the verb's contract says and paired with the lines of its question.
pub fn read_generations(
    question: &Question,
    answer: &RawAnswer,
) -> Result<Answers<Generated>, SubjectError> {
    let asked: Vec<(String, u32)> = question.lines.iter().filter_map(|line| asked(line)).collect();
    let expected = asked.iter().map(|(id, max_tokens)| (id.as_str(), *max_tokens)).collect();
    answer::read_lines(Verb::Generate, answer, expected, answer::read_generated)
}

/// The id of a request line and how many tokens it asks for.
fn asked(line: &str) -> Option<(String, u32)> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let max_tokens = u32::try_from(value.get("max_tokens")?.as_u64()?).ok()?;
    Some((value.get("id")?.as_str()?.to_owned(), max_tokens))
}
