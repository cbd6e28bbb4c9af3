//! Byte-pair encoding: words, then merges by rank (the `tokenizers` library's model).

use tokenizers::Model;
use tokenizers::models::bpe::{BPE, Vocab};

use super::byte_level;
use super::error::TokenizerError;
use super::fault::TokenizerFault;
use super::pretokenizer::{PreTokenizer, Spelling, Splitter};
use super::vocabulary::Vocabulary;

/// The key of the merge rules.
const MERGES: &str = "tokenizer.ggml.merges";

/// The encoder of one vocabulary.
#[derive(Debug)]
pub(super) struct BytePair {
    splitter: Splitter,
    spelling: Spelling,
    model: BPE,
}

impl BytePair {
    /// An encoder of `vocabulary` with these merge rules, "left right", the first to be applied first.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        merges: &[&str],
        pre_tokenizer: &PreTokenizer,
    ) -> Result<Self, TokenizerFault> {
        let ids: Vocab = vocabulary.iter().map(|(id, token)| (token.text.clone(), id)).collect();
        let model = BPE::builder()
            .vocab_and_merges(ids, parse_merges(vocabulary, merges)?)
            .ignore_merges(pre_tokenizer.ignore_merges)
            .byte_fallback(pre_tokenizer.spelling == Spelling::Escaped)
            .build()
            .map_err(TokenizerFault::Library)?;
        Ok(Self { splitter: pre_tokenizer.splitter()?, spelling: pre_tokenizer.spelling, model })
    }

    /// Appends the ids of a text without special tokens.
    pub(super) fn encode(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizerError> {
        match self.spelling {
            Spelling::ByteLevel => {
                for word in self.splitter.split(text)? {
                    self.encode_word(&byte_level::spell(word), ids)?;
                }
            }
            Spelling::Escaped => {
                for line in self.splitter.split(&text.replace(' ', "▁"))? {
                    // A run of line feeds that is a token is taken whole: no merge makes one.
                    let newlines = line.bytes().all(|byte| byte == b'\n');
                    match self.model.token_to_id(line).filter(|_| newlines) {
                        Some(id) => ids.push(id),
                        None => self.encode_word(line, ids)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn encode_word(&self, word: &str, ids: &mut Vec<u32>) -> Result<(), TokenizerError> {
        let tokens = self.model.tokenize(word).map_err(TokenizerError::Library)?;
        ids.extend(tokens.iter().map(|token| token.id));
        Ok(())
    }
}

/// The merge rules as pairs of tokens, each rule once: a repeated one keeps its first rank.
fn parse_merges(
    vocabulary: &Vocabulary,
    merges: &[&str],
) -> Result<Vec<(String, String)>, TokenizerFault> {
    let mut seen = std::collections::HashSet::with_capacity(merges.len());
    let mut rules = Vec::with_capacity(merges.len());
    for (index, &merge) in merges.iter().enumerate() {
        let (left, right) = halves(merge).ok_or_else(|| TokenizerFault::MergeForm {
            key: MERGES,
            index,
            merge: merge.to_owned(),
        })?;
        let whole = format!("{left}{right}");
        if let Some(missing) =
            [left, right, &whole].into_iter().find(|part| vocabulary.id(part).is_none())
        {
            return Err(TokenizerFault::MergeToken {
                key: MERGES,
                index,
                merge: merge.to_owned(),
                missing: missing.to_owned(),
            });
        }
        if seen.insert(merge) {
            rules.push((left.to_owned(), right.to_owned()));
        }
    }
    Ok(rules)
}

/// The two parts of a rule. The first character may itself be a space.
fn halves(merge: &str) -> Option<(&str, &str)> {
    let first = merge.chars().next()?.len_utf8();
    let at = first + merge[first..].find(' ')?;
    let (left, right) = (&merge[..at], &merge[at + 1..]);
    (!right.is_empty()).then_some((left, right))
}
