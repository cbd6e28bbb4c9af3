//! The ways in which a file can describe a vocabulary that is none: the key, what it says, what is supported.

use std::path::Path;

use super::error::TokenizerError;

/// What is wrong with a key of a file.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerFault {
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
    /// A key of tokenizer_config.json names a token that tokenizer.json lacks.
    #[error("{key} is {text:?}, which is no token of tokenizer.json")]
    UnknownToken {
        /// The key.
        key: &'static str,
        /// The token's text.
        text: String,
    },
    /// A pre-tokenizer's regular expression does not compile.
    #[error("the regular expression {pattern:?} does not compile: {source}")]
    Pattern {
        /// The expression.
        pattern: String,
        /// What the engine says.
        source: onig::Error,
    },
    /// A key has a value of another type.
    #[error("{key} is {found}; {expected} is needed")]
    Value {
        /// The key.
        key: &'static str,
        /// The value in the file.
        found: String,
        /// What is supported.
        expected: &'static str,
    },
    /// An id so large that it is not believed.
    #[error("{key} has the id {found}: at most {largest} is supported")]
    LargeId {
        /// Where the tokens come from.
        key: &'static str,
        /// The id.
        found: u32,
        /// The largest that is supported.
        largest: u32,
    },
    /// The library refuses the vocabulary.
    #[error("the tokenizers library refuses the vocabulary: {0}")]
    Library(#[source] tokenizers::Error),
}

impl TokenizerFault {
    /// The error for this fault of the file at `path`.
    pub(super) fn in_file(self, path: &Path) -> TokenizerError {
        TokenizerError::File { path: path.to_path_buf(), fault: self }
    }
}
