//! A tokenizer from a Hugging Face folder: tokenizer.json, and tokenizer_config.json beside it.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use tokenizers::Tokenizer as Library;

use super::error::TokenizerError;
use super::fault::TokenizerFault;
use super::partition::Markers;
use super::pieces::{Pieces, Writing};
use super::special_tokens::SpecialTokens;
use super::vocabulary::{Token, TokenKind, Vocabulary, byte_of_token};
use super::{Encoder, Tokenizer};

/// The largest id that is believed: an absurd one must not take the memory for all ids below it.
const LARGEST_ID: u32 = 1 << 24;
/// Where the tokens come from, for messages.
const TOKENS: &str = "the vocabulary";

/// The encoder of the `tokenizers` library, with the pipeline that tokenizer.json describes.
#[derive(Debug)]
pub(super) struct Pipeline {
    library: Library,
    /// The same pipeline, for texts in which the spelling of a special token is plain text.
    literal: OnceLock<Library>,
    /// Whether decoding a whole text takes a space off its start.
    pub(super) strips_start: bool,
}

impl Pipeline {
    /// The ids of a text.
    pub(super) fn encode(
        &self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, TokenizerError> {
        let library = if parse_special {
            &self.library
        } else {
            self.literal.get_or_init(|| {
                let mut literal = self.library.clone();
                literal.set_encode_special_tokens(true);
                literal
            })
        };
        let encoding = library.encode_fast(text, add_special).map_err(TokenizerError::Library)?;
        Ok(encoding.get_ids().to_vec())
    }
}

/// Reads tokenizer.json at `path` and tokenizer_config.json beside it, if there is one.
pub(super) fn load(path: &Path) -> Result<Tokenizer, TokenizerError> {
    let refuse = |fault: TokenizerFault| fault.in_file(path);
    let bytes = read(path)?;
    let json = parse(path, &bytes)?;
    let mut library = Library::from_bytes(&bytes)
        .map_err(|source| TokenizerError::TokenizerJson { path: path.to_path_buf(), source })?;
    // Truncation and padding belong to whoever batches texts, not to the vocabulary.
    library.with_padding(None);
    let truncates = library.with_truncation(None).map(|_| ());
    truncates.map_err(|error| refuse(TokenizerFault::Library(error)))?;
    let (writing, strips_start) = read_decoder(&json["decoder"]).map_err(refuse)?;
    let vocabulary = read_vocabulary(&library, &json, writing).map_err(refuse)?;
    let mut special = read_special(&path.with_file_name("tokenizer_config.json"), &vocabulary)?;
    let unknown = json["model"]["unk_token"].as_str().and_then(|text| vocabulary.id(text));
    special.unknown = special.unknown.or(unknown);
    special.add_bos = special.bos.is_some_and(|bos| {
        library.encode_fast("", true).is_ok_and(|encoding| encoding.get_ids().first() == Some(&bos))
    });
    let pieces = Pieces::new(&vocabulary, writing, TOKENS).map_err(refuse)?;
    let pipeline = Pipeline { library, literal: OnceLock::new(), strips_start };
    let encoder = Encoder::Pipeline(Box::new(pipeline));
    Ok(Tokenizer { vocabulary, special, markers: Markers::default(), encoder, pieces })
}

/// Parses tokenizer_config.json, which must hold an object; none where there is no such file.
pub(crate) fn read_config(path: &Path) -> Result<Option<Value>, TokenizerError> {
    match read(path) {
        Ok(bytes) => parse(path, &bytes).map(Some),
        Err(TokenizerError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The object that a JSON file holds.
fn parse(path: &Path, bytes: &[u8]) -> Result<Value, TokenizerError> {
    let object: Result<Map<String, Value>, _> = serde_json::from_slice(bytes);
    object
        .map(Value::Object)
        .map_err(|source| TokenizerError::Json { path: path.to_path_buf(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, TokenizerError> {
    std::fs::read(path).map_err(|source| TokenizerError::Io { path: path.to_path_buf(), source })
}

/// How the decoder says that tokens are written, and whether it takes a space off the start.
fn read_decoder(decoder: &Value) -> Result<(Writing, bool), TokenizerFault> {
    let kind = |one: &Value| one["type"].as_str().unwrap_or("none").to_owned();
    let steps = match decoder["decoders"].as_array() {
        Some(steps) => steps.iter().map(kind).collect(),
        None => vec![kind(decoder)],
    };
    let has = |name: &str| steps.iter().any(|step| step == name);
    if has("ByteLevel") {
        Ok((Writing::ByteLevel, false))
    } else if has("WordPiece") && decoder["prefix"] == "##" {
        Ok((Writing::Continued, true))
    } else if has("Metaspace") {
        Ok((Writing::Escaped, decoder["prepend_scheme"] != "never"))
    } else if has("ByteFallback") || has("Replace") {
        Ok((Writing::Escaped, has("Strip")))
    } else {
        Err(TokenizerFault::Unsupported {
            key: "decoder",
            found: steps.join(", "),
            supported: "ByteLevel, Metaspace, WordPiece, a sequence with Replace and ByteFallback"
                .to_owned(),
        })
    }
}

/// All tokens, added ones included; ids without a token are unused.
fn read_vocabulary(
    library: &Library,
    json: &Value,
    writing: Writing,
) -> Result<Vocabulary, TokenizerFault> {
    let texts: HashMap<String, u32> = library.get_vocab(true);
    let Some(largest) = texts.values().copied().max() else {
        return Err(TokenizerFault::Empty { key: TOKENS });
    };
    if largest > LARGEST_ID {
        return Err(TokenizerFault::LargeId { key: TOKENS, found: largest, largest: LARGEST_ID });
    }
    let empty = |id| Token { text: format!("[EMPTY_{id}]"), kind: TokenKind::Unused };
    let mut tokens: Vec<Token> = (0..=largest).map(empty).collect();
    let unknown = json["model"]["unk_token"].as_str();
    let added = library.get_added_tokens_decoder();
    for (text, id) in texts {
        let kind = match added.get(&id) {
            _ if unknown == Some(&text) => TokenKind::Unknown,
            Some(added) if added.special => TokenKind::Control,
            Some(_) => TokenKind::UserDefined,
            None if writing == Writing::Escaped && byte_of_token(&text).is_some() => {
                TokenKind::Byte
            }
            None => TokenKind::Normal,
        };
        tokens[id as usize] = Token { text, kind };
    }
    Vocabulary::new(tokens, TOKENS)
}

/// The tokens with a role that tokenizer_config.json names.
fn read_special(path: &Path, vocabulary: &Vocabulary) -> Result<SpecialTokens, TokenizerError> {
    let mut special = SpecialTokens::default();
    let Some(config) = read_config(path)? else { return Ok(special) };
    let token = |key: &'static str| {
        let value = &config[key];
        if value.is_null() {
            return Ok(None);
        }
        let refuse = |fault: TokenizerFault| fault.in_file(path);
        // Written as text, or as an added token with its settings.
        let text = value.as_str().or_else(|| value["content"].as_str());
        let text = text.ok_or_else(|| {
            let expected = "a token's text, or an object with its \"content\",";
            refuse(TokenizerFault::Value { key, found: value.to_string(), expected })
        })?;
        let missing = || refuse(TokenizerFault::UnknownToken { key, text: text.to_owned() });
        vocabulary.id(text).ok_or_else(missing).map(Some)
    };
    special.bos = token("bos_token")?;
    special.eos = token("eos_token")?;
    special.unknown = token("unk_token")?;
    special.separator = token("sep_token")?;
    special.end_of_generation.extend(special.eos);
    Ok(special)
}
