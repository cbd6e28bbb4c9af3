//! WordPiece, the tokenizer of the BERT families: words, then the longest tokens from the left.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::char::decompose_canonical;

use super::vocabulary::Vocabulary;

/// Stands before the first piece of a word in GGUF vocabularies, where tokenizer.json has "##" before the
/// others.
const WORD_START: &str = "▁";

/// The encoder of one vocabulary.
#[derive(Debug)]
pub(super) struct WordPiece {
    /// The id for a word that cannot be encoded.
    pub(super) unknown: u32,
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    /// The length of the longest token, in bytes.
    pub(super) longest: usize,
}

impl WordPiece {
    /// Appends the ids of a text without special tokens.
    pub(super) fn encode(&self, vocabulary: &Vocabulary, text: &str, ids: &mut Vec<u32>) {
        for word in self.words(text) {
            let start = ids.len();
            if self.encode_word(vocabulary, &format!("{WORD_START}{word}"), ids).is_none() {
                ids.truncate(start);
                ids.push(self.unknown);
            }
        }
    }

    /// Appends the longest token at each place; None if there is no token at some place.
    fn encode_word(&self, vocabulary: &Vocabulary, word: &str, ids: &mut Vec<u32>) -> Option<()> {
        let mut rest = word;
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8());
            let candidates: Vec<usize> = ends.take_while(|&end| end <= self.longest).collect();
            let (end, id) = candidates
                .into_iter()
                .rev()
                .find_map(|end| Some((end, vocabulary.id(&rest[..end])?)))?;
            ids.push(id);
            rest = &rest[end..];
        }
        Some(())
    }

    /// The words of a text: separated by white space; punctuation and ideographs are words of their own.
    fn words(&self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = String::new();
        for character in text.chars() {
            let character = if self.strip_accents { base(character) } else { character };
            if character.is_whitespace() {
                finish(&mut word, &mut words);
                continue;
            }
            let class = Class::of(character);
            let dropped = matches!(character, '\0' | '\u{FFFD}') || class == Class::Control;
            if dropped || (self.strip_accents && class == Class::Mark) {
                continue;
            }
            let alone = class == Class::Punctuation
                || (class == Class::Symbol && character.is_ascii())
                || is_ideograph(character);
            let character = if self.lowercase { lowercase(character) } else { character };
            if alone {
                finish(&mut word, &mut words);
                words.push(character.to_string());
            } else {
                word.push(character);
            }
        }
        finish(&mut word, &mut words);
        words
    }
}

fn finish(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// The first character of the canonical decomposition. That is all that llama.cpp keeps: of a Hangul
/// syllable only the leading consonant.
fn base(character: char) -> char {
    let mut first = None;
    decompose_canonical(character, |part| first = first.or(Some(part)));
    first.unwrap_or(character)
}

/// The simple lower case: one character for one, as in UnicodeData.txt.
fn lowercase(character: char) -> char {
    // The only character whose full lower case is longer: "İ" to "i" and a combining dot.
    character.to_lowercase().next().unwrap_or(character)
}

/// What of the general category matters here.
#[derive(Debug, PartialEq, Eq)]
enum Class {
    Control,
    Mark,
    Punctuation,
    Symbol,
    Other,
}

impl Class {
    fn of(character: char) -> Self {
        use GeneralCategory as Category;
        match get_general_category(character) {
            Category::Control | Category::Format | Category::PrivateUse | Category::Surrogate => {
                Self::Control
            }
            Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => {
                Self::Mark
            }
            Category::ConnectorPunctuation
            | Category::DashPunctuation
            | Category::OpenPunctuation
            | Category::ClosePunctuation
            | Category::InitialPunctuation
            | Category::FinalPunctuation
            | Category::OtherPunctuation => Self::Punctuation,
            Category::CurrencySymbol
            | Category::ModifierSymbol
            | Category::MathSymbol
            | Category::OtherSymbol => Self::Symbol,
            _ => Self::Other,
        }
    }
}

/// The blocks that BERT's tokenizer cuts into single characters. Extension E begins where the library of
/// Hugging Face lets it begin, at U+2B920 instead of U+2B820.
fn is_ideograph(character: char) -> bool {
    matches!(
        u32::from(character),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0xF900..=0xFAFF
            | 0x2_F800..=0x2_FA1F
    )
}
