//! Decoding token by token, as they are generated.

use std::ops::Deref;

use super::Tokenizer;
use super::error::TokenizerError;

/// Turns a growing sequence of tokens into text: never half a character, and the pieces put together are
/// [`Tokenizer::decode_generated`] of the whole sequence.
#[derive(Debug)]
pub struct Detokenizer<T> {
    tokenizer: T,
    skip_special: bool,
    /// The start of a character whose other bytes are still to come.
    pending: Vec<u8>,
}

impl<T: Deref<Target = Tokenizer>> Detokenizer<T> {
    /// Starts a text. With `skip_special`, control and unknown tokens are not shown.
    pub fn new(tokenizer: T, skip_special: bool) -> Self {
        Self { tokenizer, skip_special, pending: Vec::new() }
    }

    /// Takes one more token; returns the text that is complete by now, often the token's own, empty while
    /// a character waits for the rest of its bytes. Bytes that are not UTF-8 become U+FFFD.
    pub fn push(&mut self, id: u32) -> Result<String, TokenizerError> {
        if self.tokenizer.has_token(id) {
            self.pending.extend_from_slice(self.tokenizer.piece(id, self.skip_special)?);
        }
        let kept = self.pending.split_off(complete(&self.pending));
        let done = std::mem::replace(&mut self.pending, kept);
        Ok(String::from_utf8_lossy(&done).into_owned())
    }

    /// Ends the text: what was left of an incomplete character, as U+FFFD.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// How many bytes come before a character that more bytes might still complete: all, or all but the last
/// one to three.
fn complete(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return bytes.len(),
            Err(error) => {
                at += error.valid_up_to();
                match error.error_len() {
                    Some(invalid) => at += invalid,
                    None => return at,
                }
            }
        }
    }
}
