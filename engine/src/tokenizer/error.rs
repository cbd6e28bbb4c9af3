//! What can be wrong with a tokenizer: the key or file, what was found, what is supported.

use std::path::PathBuf;

use crate::checkpoint;

/// A tokenizer that cannot be built, or an input that it cannot take.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// A metadata value is missing or of another type.
    #[error(transparent)]
    Metadata(#[from] checkpoint::Error),
    /// The kind of vocabulary is not one that this engine knows.
    #[error("{key} is {found:?}, which is not supported: {supported} are")]
    Unsupported {
        /// The key, or the field of tokenizer.json.
        key: &'static str,
        /// Its value.
        found: String,
        /// The supported values, joined by commas.
        supported: String,
    },
    /// The vocabulary has no tokens.
    #[error("{key} is empty: a vocabulary needs at least one token")]
    Empty {
        /// The key.
        key: &'static str,
    },
    /// Two arrays that go together have different lengths.
    #[error(
        "{key} has {found} elements, expected {expected}: one for each of tokenizer.ggml.tokens"
    )]
    Length {
        /// The key of the array with the wrong length.
        key: &'static str,
        /// Its length.
        found: usize,
        /// The number of tokens.
        expected: usize,
    },
    /// Two tokens have the same text, so that encoding cannot choose.
    #[error("{key}[{second}] is {text:?}, which token {first} already is")]
    DuplicateToken {
        /// The key.
        key: &'static str,
        /// The text.
        text: String,
        /// The first token with it.
        first: u32,
        /// The other one.
        second: u32,
    },
    /// A merge rule is not two parts separated by a space.
    #[error("{key}[{index}] is {merge:?}, expected two parts separated by one space")]
    MergeForm {
        /// The key.
        key: &'static str,
        /// Which rule.
        index: usize,
        /// The rule.
        merge: String,
    },
    /// A merge rule names a token that the vocabulary lacks.
    #[error("{key}[{index}] is {merge:?}, but the vocabulary has no token {missing:?}")]
    MergeToken {
        /// The key.
        key: &'static str,
        /// Which rule.
        index: usize,
        /// The rule.
        merge: String,
        /// The part, or the whole, that is no token.
        missing: String,
    },
    /// A score is not a number.
    #[error("{key}[{index}] is {found}: a finite score is needed")]
    Score {
        /// The key.
        key: &'static str,
        /// Which token.
        index: usize,
        /// The score.
        found: f32,
    },
    /// A key names a token id that the vocabulary does not have.
    #[error("{key} is {found}, but the vocabulary has {vocabulary} tokens")]
    SpecialToken {
        /// The key.
        key: &'static str,
        /// The id it names.
        found: u32,
        /// The number of tokens.
        vocabulary: usize,
    },
    /// A token has to be added around every text, and no key says which.
    #[error("{flag} asks for a token around every text, but {key} does not say which")]
    NoSpecialToken {
        /// The key that asks.
        flag: &'static str,
        /// The key that is missing.
        key: &'static str,
    },
    /// A byte of the text has no token of its own and no longer token covers it.
    #[error("byte 0x{byte:02X} cannot be encoded: the vocabulary has no token \"<0x{byte:02X}>\"")]
    NoByteToken {
        /// The byte.
        byte: u8,
    },
    /// A byte token is not written as "<0x0A>".
    #[error("{key}[{index}] is the byte token {text:?}, expected the form \"<0x0A>\"")]
    ByteToken {
        /// The key.
        key: &'static str,
        /// Which token.
        index: usize,
        /// Its text.
        text: String,
    },
    /// An id to decode that the vocabulary does not have.
    #[error("token id {id} does not exist: the vocabulary has {vocabulary} tokens")]
    TokenId {
        /// The id.
        id: u32,
        /// The number of tokens.
        vocabulary: usize,
    },
    /// A file of a Hugging Face folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A JSON file is not what it should be.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser says, with line and column.
        source: serde_json::Error,
    },
    /// tokenizer.json is JSON, but the `tokenizers` library refuses it.
    #[error("{}: not a tokenizer that the tokenizers library reads: {source}", path.display())]
    TokenizerJson {
        /// The file.
        path: PathBuf,
        /// The library's answer.
        source: tokenizers::Error,
    },
    /// A key of tokenizer_config.json names a token that tokenizer.json lacks.
    #[error("{}: {key} is {text:?}, which is no token of tokenizer.json", path.display())]
    UnknownToken {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// The token's text.
        text: String,
    },
    /// The library failed to build a model or to encode a text.
    #[error("the tokenizers library failed: {0}")]
    Library(#[source] tokenizers::Error),
    /// The regular expression engine gave up, on a text that makes it backtrack too much.
    #[error("cannot split the text into words at byte {offset}: {source}")]
    Split {
        /// Where in the text.
        offset: usize,
        /// What the engine says.
        source: onig::Error,
    },
    /// A pre-tokenizer's regular expression does not compile.
    #[error("the regular expression {pattern:?} does not compile: {source}")]
    Pattern {
        /// The expression.
        pattern: String,
        /// What the engine says.
        source: onig::Error,
    },
}
