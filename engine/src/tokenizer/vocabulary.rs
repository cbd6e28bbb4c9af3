//! The vocabulary: the text and the kind of every token, both ways.

use std::collections::HashMap;

use super::error::TokenizerError;
use super::fault::TokenizerFault;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A piece of text.
    Normal,
    /// Stands for what cannot be encoded.
    Unknown,
    /// Steers the model: never the encoding of plain text, not shown unless asked for.
    Control,
    /// Added to the vocabulary: matched before anything else, shown as text.
    UserDefined,
    /// Kept free.
    Unused,
    /// One byte.
    Byte,
}

/// One token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) kind: TokenKind,
}

/// All tokens, by id and by text.
#[derive(Debug)]
pub(super) struct Vocabulary {
    tokens: Vec<Token>,
    ids: HashMap<String, u32>,
}

impl Vocabulary {
    /// A vocabulary of these tokens, numbered in order; no two may have the same text.
    /// `key` is where they come from, for the message.
    pub(super) fn new(tokens: Vec<Token>, key: &'static str) -> Result<Self, TokenizerFault> {
        if tokens.is_empty() {
            return Err(TokenizerFault::Empty { key });
        }
        let mut ids = HashMap::with_capacity(tokens.len());
        for (id, token) in (0..).zip(&tokens) {
            if let Some(first) = ids.insert(token.text.clone(), id) {
                let text = token.text.clone();
                return Err(TokenizerFault::DuplicateToken { key, text, first, second: id });
            }
        }
        Ok(Self { tokens, ids })
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The token with that id.
    pub(super) fn token(&self, id: u32) -> Result<&Token, TokenizerError> {
        let missing = || TokenizerError::TokenId { id, vocabulary: self.len() };
        self.tokens.get(id as usize).ok_or_else(missing)
    }

    /// All tokens with their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Token)> {
        (0..).zip(&self.tokens)
    }

    /// The id of the token with exactly that text.
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// The token of a byte: "<0x0A>", or the byte itself where the vocabulary spells it so.
    pub(super) fn byte_id(&self, byte: u8) -> Result<u32, TokenizerError> {
        let spelled =
            || byte.is_ascii().then(|| self.id(char::from(byte).encode_utf8(&mut [0; 4])));
        let found = self.id(&format!("<0x{byte:02X}>")).or_else(|| spelled().flatten());
        found.ok_or(TokenizerError::NoByteToken { byte })
    }

    /// Changes what a token is for.
    pub(super) fn set_kind(&mut self, id: u32, kind: TokenKind) {
        if let Some(token) = self.tokens.get_mut(id as usize) {
            token.kind = kind;
        }
    }
}

/// The byte of a byte token's text, "<0x0A>".
pub(super) fn byte_of_token(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let hexadecimal = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    hexadecimal.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}
