//! What can be wrong with a tokenizer: the file, what it says there, what is supported.

use std::path::PathBuf;

use super::fault::TokenizerFault;
use crate::checkpoint;

/// A tokenizer that cannot be built, or an input that it cannot take.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// A metadata value is missing or of another type.
    #[error(transparent)]
    Metadata(#[from] checkpoint::Error),
    /// A file says something that no tokenizer can be built from.
    #[error("{}: {fault}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: TokenizerFault,
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
    /// An id to decode that the vocabulary does not have.
    #[error("token id {id} does not exist: the vocabulary has {vocabulary} tokens")]
    TokenId {
        /// The id.
        id: u32,
        /// The number of tokens.
        vocabulary: usize,
    },
    /// A byte of the text has no token of its own and no longer token covers it.
    #[error("byte 0x{byte:02X} cannot be encoded: the vocabulary has no token \"<0x{byte:02X}>\"")]
    NoByteToken {
        /// The byte.
        byte: u8,
    },
    /// The library failed to encode a text.
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
}
