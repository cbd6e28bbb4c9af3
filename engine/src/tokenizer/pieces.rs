//! Decoding: the bytes that each token stands for.

use super::byte_level;
use super::fault::TokenizerFault;
use super::vocabulary::{Token, TokenKind, Vocabulary, byte_of_token};

/// How a vocabulary writes text into its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// Every byte as one character, after GPT-2.
    ByteLevel,
    /// As it is, with "▁" for a space.
    Escaped,
    /// As it is, with "##" before every piece of a word but the first.
    Continued,
}

/// The bytes of every token, one after another.
#[derive(Debug)]
pub(super) struct Pieces {
    bytes: Vec<u8>,
    /// Where the bytes of each token end.
    ends: Vec<usize>,
}

impl Pieces {
    /// The bytes of all tokens of a vocabulary. `key` is where the tokens come from, for the message.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        writing: Writing,
        key: &'static str,
    ) -> Result<Self, TokenizerFault> {
        let mut pieces = Self { bytes: Vec::new(), ends: Vec::with_capacity(vocabulary.len()) };
        for (id, token) in vocabulary.iter() {
            let bytes = piece(token, writing).ok_or_else(|| TokenizerFault::ByteToken {
                key,
                index: id as usize,
                text: token.text.clone(),
            })?;
            pieces.bytes.extend(bytes);
            pieces.ends.push(pieces.bytes.len());
        }
        Ok(pieces)
    }

    /// The bytes of a token; None if there is no such token.
    pub(super) fn of(&self, id: u32) -> Option<&[u8]> {
        let id = id as usize;
        let start = id.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(start..*self.ends.get(id)?)
    }
}

/// The bytes of a token; None for a byte token that is not written as one.
fn piece(token: &Token, writing: Writing) -> Option<Vec<u8>> {
    let text = &token.text;
    Some(match token.kind {
        TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined => {
            text.clone().into_bytes()
        }
        TokenKind::Unused => Vec::new(),
        TokenKind::Byte => vec![byte_of_token(text)?],
        TokenKind::Normal => match writing {
            Writing::ByteLevel => byte_level::read(text),
            Writing::Escaped => text.replace('▁', " ").into_bytes(),
            Writing::Continued => match text.strip_prefix("##") {
                Some(rest) => rest.to_owned().into_bytes(),
                None => format!(" {text}").into_bytes(),
            },
        },
    })
}
