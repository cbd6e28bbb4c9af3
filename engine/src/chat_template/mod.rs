//! Chat templates: a conversation as the text that the model was trained to continue.
//!
//! Templates are Jinja2 programs that come with the model. They are rendered the way the transformers
//! library renders them (`utils/chat_template_utils.py`): blocks trimmed on both sides, loop controls,
//! Python's string and dictionary methods, `tojson` without HTML escapes, `raise_exception`,
//! `strftime_now`, and `{% generation %}` as a block without effect.

mod environment;
mod error;
mod generation_block;
mod message;
mod python_json;
mod python_methods;

use std::io::ErrorKind;
use std::path::Path;

use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde_json::Map;

use crate::checkpoint::Checkpoint;
use crate::checkpoint::gguf::Metadata;
use crate::tokenizer::{Tokenizer, folder_of, read_config};

pub use error::ChatTemplateError;
pub use message::Message;

/// The name under which the template is compiled, seen in messages.
const NAME: &str = "chat_template";
/// The key of a template in tokenizer_config.json.
const KEY: &str = "chat_template";
/// The key of a template in the metadata of a GGUF file.
const GGUF_KEY: &str = "tokenizer.chat_template";

/// A compiled template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    /// What messages call it: the file and the key that it comes from.
    origin: String,
    /// Variables that every rendering has: `bos_token` and the like.
    special_tokens: Map<String, serde_json::Value>,
}

impl ChatTemplate {
    /// Compiles a template. `special_tokens` are variables for it: the texts of the tokens with a role,
    /// under the names that templates use (`bos_token`, `eos_token`).
    pub fn new<'n, 't>(
        source: &str,
        special_tokens: impl IntoIterator<Item = (&'n str, &'t str)>,
    ) -> Result<Self, ChatTemplateError> {
        Self::compile(source, special_tokens, "the chat template".to_owned())
    }

    fn compile<'n, 't>(
        source: &str,
        special_tokens: impl IntoIterator<Item = (&'n str, &'t str)>,
        origin: String,
    ) -> Result<Self, ChatTemplateError> {
        let compile = || {
            let mut environment = environment::python_like()?;
            environment.add_template_owned(NAME, generation_block::without_effect(source))?;
            Ok(environment)
        };
        let environment = compile().map_err(|error| ChatTemplateError::syntax(&origin, &error))?;
        let special_tokens =
            special_tokens.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
        Ok(Self { environment, source: source.to_owned(), origin, special_tokens })
    }

    /// The template in the metadata of a GGUF file, `tokenizer.chat_template`; None if there is none.
    pub fn from_gguf(
        metadata: &Metadata<'_>,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>, ChatTemplateError> {
        let Some(source) = metadata.find::<&str>(GGUF_KEY)? else { return Ok(None) };
        let origin = origin(metadata.path(), Some(GGUF_KEY));
        Self::compile(source, tokenizer.special_token_texts(), origin).map(Some)
    }

    /// The template of a Hugging Face folder: chat_template.jinja, or `chat_template` in
    /// tokenizer_config.json, where a list of templates means the one named "default". None if there is
    /// none.
    pub fn from_folder(
        folder: &Path,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>, ChatTemplateError> {
        let file = folder.join("chat_template.jinja");
        let config = folder.join("tokenizer_config.json");
        let (source, origin) = match std::fs::read_to_string(&file) {
            Ok(source) => (source, origin(&file, None)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let Some(values) = read_config(&config)? else { return Ok(None) };
                let Some(source) = configured(&config, &values[KEY])? else { return Ok(None) };
                (source.to_owned(), origin(&config, Some(KEY)))
            }
            Err(source) => return Err(ChatTemplateError::Io { path: file, source }),
        };
        Self::compile(&source, tokenizer.special_token_texts(), origin).map(Some)
    }

    /// The template that belongs to a checkpoint; None if there is none.
    pub fn of_checkpoint(
        checkpoint: &Checkpoint,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>, ChatTemplateError> {
        match checkpoint {
            Checkpoint::Gguf(file) => Self::from_gguf(&file.metadata(), tokenizer),
            Checkpoint::Safetensors(_) => Self::from_folder(folder_of(checkpoint), tokenizer),
        }
    }

    /// The template's own text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of a conversation. With `add_generation_prompt` it ends where the answer begins. `extra`
    /// are further variables (`tools`, `enable_thinking`), which win over the special tokens.
    pub fn render(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
        extra: &Map<String, serde_json::Value>,
    ) -> Result<String, ChatTemplateError> {
        // transformers always defines these two; templates ask whether they are none.
        let absent = ["tools", "documents"].map(|name| (name, Value::from(())));
        let given = [
            ("messages", Value::from(Serde(messages))),
            ("add_generation_prompt", Value::from(add_generation_prompt)),
        ];
        let values = self.special_tokens.iter().chain(extra);
        let further = values.map(|(name, value)| (name.as_str(), Value::from(Serde(value))));
        let variables = Value::from_pairs(absent.into_iter().chain(given).chain(further));
        let template = self
            .environment
            .get_template(NAME)
            .map_err(|error| ChatTemplateError::syntax(&self.origin, &error))?;
        let rendered = template.render(variables);
        rendered.map_err(|error| ChatTemplateError::rendering(&self.origin, error))
    }
}

/// What messages call the template of a file.
fn origin(path: &Path, key: Option<&str>) -> String {
    let key = key.map(|key| format!(" in key {key:?}")).unwrap_or_default();
    format!("{}: the chat template{key}", path.display())
}

/// The template in `chat_template` of tokenizer_config.json at `path`: a text, or the one named "default" of a list.
fn configured<'v>(
    path: &Path,
    value: &'v serde_json::Value,
) -> Result<Option<&'v str>, ChatTemplateError> {
    use serde_json::Value::{Array, Null, String};
    let found = match value {
        Null => return Ok(None),
        String(text) => return Ok(Some(text)),
        Array(list) => list
            .iter()
            .find(|one| one["name"] == "default")
            .and_then(|default| default["template"].as_str()),
        _ => None,
    };
    let refused =
        || ChatTemplateError::Value { path: path.to_path_buf(), found: value.to_string() };
    found.ok_or_else(refused).map(Some)
}
