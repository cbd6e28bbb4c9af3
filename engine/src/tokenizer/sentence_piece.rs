//! SentencePiece's byte-pair variant: merges by the score of the token that they make.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::error::TokenizerError;
use super::fault::TokenizerFault;
use super::vocabulary::Vocabulary;

/// The space of SentencePiece vocabularies.
const ESCAPED_SPACE: &str = "▁";

/// The encoder of one vocabulary.
#[derive(Debug)]
pub(super) struct SentencePiece {
    /// The score of every token.
    scores: Vec<f32>,
    /// Whether a space goes before the text, and before each text behind a special token.
    pub(super) add_space_prefix: bool,
}

/// A stretch of the text that is, for now, one symbol. Merged-away symbols have length 0.
struct Symbol {
    start: usize,
    length: usize,
    previous: Option<usize>,
    next: Option<usize>,
}

/// A possible merge of two neighbouring symbols.
struct Merge {
    score: f32,
    left: usize,
    right: usize,
    /// The length of both when it was found, in bytes: another length now means that one has changed.
    length: usize,
}

impl Ord for Merge {
    /// The highest score first, among equals the leftmost.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Merge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Merge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Merge {}

impl SentencePiece {
    /// An encoder with one finite score a token.
    pub(super) fn new(scores: &[f32], add_space_prefix: bool) -> Result<Self, TokenizerFault> {
        if let Some(index) = scores.iter().position(|score| !score.is_finite()) {
            let found = scores[index];
            return Err(TokenizerFault::Score { key: "tokenizer.ggml.scores", index, found });
        }
        // Adding zero turns -0.0 into 0.0, which the order of merges must not tell apart.
        Ok(Self { scores: scores.iter().map(|score| score + 0.0).collect(), add_space_prefix })
    }

    /// Appends the ids of a text without special tokens; `at_start` says that nothing, or a special
    /// token, stands before it.
    pub(super) fn encode(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        at_start: bool,
        ids: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        let prefix = if self.add_space_prefix && at_start { ESCAPED_SPACE } else { "" };
        let text = format!("{prefix}{}", text.replace(' ', ESCAPED_SPACE));
        for symbol in self.merge(vocabulary, &text) {
            match vocabulary.id(symbol) {
                Some(id) => ids.push(id),
                None => {
                    for byte in symbol.bytes() {
                        ids.push(vocabulary.byte_id(byte)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// The symbols that are left when no two neighbours make a token any more.
    fn merge<'t>(&self, vocabulary: &Vocabulary, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut symbols = characters(text);
        let mut queue = BinaryHeap::new();
        let find = |symbols: &[Symbol], left: Option<usize>, right: Option<usize>| {
            let (left, right) = (left?, right?);
            let start = symbols[left].start;
            let length = symbols[left].length + symbols[right].length;
            let id = vocabulary.id(&text[start..start + length])?;
            Some(Merge { score: self.scores[id as usize], left, right, length })
        };
        for right in 1..symbols.len() {
            queue.extend(find(&symbols, Some(right - 1), Some(right)));
        }
        while let Some(Merge { left, right, length, .. }) = queue.pop() {
            let (kept, gone) = (symbols[left].length, symbols[right].length);
            if kept == 0 || gone == 0 || kept + gone != length {
                continue;
            }
            symbols[left].length = length;
            symbols[right].length = 0;
            let next = symbols[right].next;
            symbols[left].next = next;
            if let Some(next) = next {
                symbols[next].previous = Some(left);
            }
            queue.extend(find(&symbols, symbols[left].previous, Some(left)));
            queue.extend(find(&symbols, Some(left), next));
        }
        let left_over = symbols.into_iter().filter(|symbol| symbol.length > 0);
        left_over.map(|symbol| &text[symbol.start..symbol.start + symbol.length])
    }
}

/// One symbol a character.
fn characters(text: &str) -> Vec<Symbol> {
    let count = text.chars().count();
    let symbol = |(index, (start, character)): (usize, (usize, char))| Symbol {
        start,
        length: character.len_utf8(),
        previous: index.checked_sub(1),
        next: (index + 1 < count).then_some(index + 1),
    };
    text.char_indices().enumerate().map(symbol).collect()
}
