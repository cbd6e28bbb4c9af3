//! Tokenizers: text to token ids and back.
//!
//! A [`Tokenizer`] is built from the metadata of a GGUF file ([`Tokenizer::from_gguf`]) or from a Hugging
//! Face folder ([`Tokenizer::from_tokenizer_json`]); from then on nobody need know which. For a GGUF file
//! the ids are those of llama.cpp, for tokenizer.json those of the `tokenizers` library.
//!
//! # How the vocabularies of the llama.cpp sources are checked
//!
//! `models/ggml-vocab-NAME.gguf` has its test cases beside it. `NAME.gguf.inp` holds texts separated by
//! exactly `"\n__ggml_vocab_test__\n"`: split on that string and strip nothing, white space at the ends of
//! a text is part of the case; a file that ends with the separator has no empty case behind it.
//! `NAME.gguf.out` holds one line a case with decimal ids separated by spaces; strip the line first (an
//! empty line is a case with no ids). Both must have the same number of cases. Texts are encoded with
//! `add_special` false and `parse_special` false.

mod byte_level;
mod byte_pair;
mod detokenizer;
mod error;
mod fault;
mod gguf;
mod huggingface;
mod partition;
mod pieces;
mod pretokenizer;
mod sentence_piece;
mod special_tokens;
mod vocabulary;
mod word_piece;

pub use detokenizer::Detokenizer;
pub use error::TokenizerError;
pub use fault::TokenizerFault;
pub use vocabulary::TokenKind;

pub(crate) use huggingface::read_config;

use std::path::Path;

use crate::checkpoint::Checkpoint;
use crate::checkpoint::gguf::Metadata;

use byte_pair::BytePair;
use huggingface::Pipeline;
use partition::{Fragment, Markers};
use pieces::Pieces;
use sentence_piece::SentencePiece;
use special_tokens::SpecialTokens;
use vocabulary::Vocabulary;
use word_piece::WordPiece;

/// A vocabulary and the way to encode text with it.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    special: SpecialTokens,
    markers: Markers,
    encoder: Encoder,
    pieces: Pieces,
}

/// How text between special tokens is encoded.
#[derive(Debug)]
enum Encoder {
    BytePair(Box<BytePair>),
    SentencePiece(SentencePiece),
    WordPiece(WordPiece),
    /// Special tokens included: the library finds them itself.
    Pipeline(Box<Pipeline>),
}

impl Tokenizer {
    /// The tokenizer in the metadata of a GGUF file, `tokenizer.ggml.*`.
    pub fn from_gguf(metadata: &Metadata<'_>) -> Result<Self, TokenizerError> {
        gguf::load(metadata)
    }

    /// The tokenizer of a file tokenizer.json, with the tokens that tokenizer_config.json beside it names.
    pub fn from_tokenizer_json(path: &Path) -> Result<Self, TokenizerError> {
        huggingface::load(path)
    }

    /// The tokenizer that belongs to a checkpoint: in its metadata, or in the folder beside its weights.
    /// None if there is none.
    pub fn of_checkpoint(checkpoint: &Checkpoint) -> Result<Option<Self>, TokenizerError> {
        match checkpoint {
            Checkpoint::Gguf(file) => {
                let metadata = file.metadata();
                // Any key promises a tokenizer: without that of its kind it is broken, not absent.
                let found = metadata.keys().any(|key| key.starts_with("tokenizer.ggml."));
                found.then(|| Self::from_gguf(&metadata)).transpose()
            }
            Checkpoint::Safetensors(_) => {
                let path = folder_of(checkpoint).join("tokenizer.json");
                path.exists().then(|| Self::from_tokenizer_json(&path)).transpose()
            }
        }
    }

    /// The ids of a text.
    ///
    /// With `add_special` the tokens that the vocabulary puts around every text (BOS, EOS) are added. With
    /// `parse_special` the text may spell control tokens, such as "<|im_start|>"; otherwise that spelling
    /// is encoded as plain text. Tokens that were added by a user are always recognised.
    pub fn encode(
        &self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, TokenizerError> {
        if let Encoder::Pipeline(pipeline) = &self.encoder {
            return pipeline.encode(text, add_special, parse_special);
        }
        let mut ids = Vec::new();
        if add_special {
            ids.extend(self.first_token());
        }
        let mut at_start = true;
        for fragment in self.markers.partition(text, parse_special) {
            match fragment {
                Fragment::Token(id) => ids.push(id),
                Fragment::Text(text) => self.encode_text(text, at_start, &mut ids)?,
            }
            at_start = matches!(fragment, Fragment::Token(_));
        }
        if add_special {
            ids.extend(self.last_token());
        }
        Ok(ids)
    }

    /// The ids of a conversation that a chat template has rendered: special tokens are parsed, and the text
    /// begins with exactly one BOS if the vocabulary begins texts with it, whether or not the template
    /// wrote it. For tokenizer.json the template alone decides, as in transformers.
    pub fn encode_rendered(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = self.encode(text, false, true)?;
        let bos = match self.encoder {
            Encoder::Pipeline(_) => None,
            _ => self.first_token(),
        };
        if let Some(bos) = bos.filter(|bos| ids.first() != Some(bos)) {
            ids.insert(0, bos);
        }
        Ok(ids)
    }

    fn encode_text(
        &self,
        text: &str,
        at_start: bool,
        ids: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        match &self.encoder {
            Encoder::BytePair(encoder) => encoder.encode(text, ids),
            Encoder::SentencePiece(encoder) => {
                encoder.encode(&self.vocabulary, text, at_start, ids)
            }
            Encoder::WordPiece(encoder) => {
                encoder.encode(&self.vocabulary, text, ids);
                Ok(())
            }
            Encoder::Pipeline(pipeline) => {
                ids.extend(pipeline.encode(text, false, false)?);
                Ok(())
            }
        }
    }

    /// The token before every text.
    fn first_token(&self) -> Option<u32> {
        let adds = self.special.add_bos || matches!(self.encoder, Encoder::WordPiece(_));
        self.special.bos.filter(|_| adds)
    }

    /// The token behind every text.
    fn last_token(&self) -> Option<u32> {
        match self.encoder {
            Encoder::WordPiece(_) => self.special.separator,
            _ => self.special.eos.filter(|_| self.special.add_eos),
        }
    }

    /// The text of a sequence of tokens: the pieces of the tokens, one after another, so that the text of a
    /// sequence is the text of its parts. Bytes that are not UTF-8 become U+FFFD. With `skip_special`,
    /// control and unknown tokens are not shown.
    ///
    /// A vocabulary that encodes a space before the first word decodes it too: [`Tokenizer::decode_whole`]
    /// takes it off.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, TokenizerError> {
        let bytes = self.decode_bytes(ids, skip_special)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Like [`Tokenizer::decode`], for a sequence that stands at the start of a text: without the space
    /// that encoding put before the first word.
    pub fn decode_whole(&self, ids: &[u32], skip_special: bool) -> Result<String, TokenizerError> {
        let text = self.decode(ids, skip_special)?;
        let prefixed = match &self.encoder {
            Encoder::SentencePiece(encoder) => encoder.add_space_prefix,
            Encoder::WordPiece(_) => true,
            Encoder::BytePair(_) => false,
            Encoder::Pipeline(pipeline) => pipeline.strips_start,
        };
        Ok(match text.strip_prefix(' ').filter(|_| prefixed) {
            Some(rest) => rest.to_owned(),
            None => text,
        })
    }

    /// Like [`Tokenizer::decode`], for ids that a model has generated: one of its rows without a token has no text.
    pub fn decode_generated(
        &self,
        ids: &[u32],
        skip_special: bool,
    ) -> Result<String, TokenizerError> {
        let known: Vec<u32> = ids.iter().copied().filter(|&id| self.has_token(id)).collect();
        self.decode(&known, skip_special)
    }

    /// Whether there is a token of that id. A model may have more rows than its tokenizer has tokens.
    pub fn has_token(&self, id: u32) -> bool {
        (id as usize) < self.vocabulary_size()
    }

    /// The bytes of a sequence of tokens.
    pub fn decode_bytes(&self, ids: &[u32], skip_special: bool) -> Result<Vec<u8>, TokenizerError> {
        let mut bytes = Vec::new();
        for &id in ids {
            bytes.extend_from_slice(self.piece(id, skip_special)?);
        }
        Ok(bytes)
    }

    /// The bytes of one token.
    fn piece(&self, id: u32, skip_special: bool) -> Result<&[u8], TokenizerError> {
        let kind = self.vocabulary.token(id)?.kind;
        if skip_special && matches!(kind, TokenKind::Control | TokenKind::Unknown) {
            return Ok(&[]);
        }
        let missing = || TokenizerError::TokenId { id, vocabulary: self.vocabulary_size() };
        self.pieces.of(id).ok_or_else(missing)
    }

    /// The number of tokens.
    pub fn vocabulary_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// What a token is for.
    pub fn token_kind(&self, id: u32) -> Result<TokenKind, TokenizerError> {
        Ok(self.vocabulary.token(id)?.kind)
    }

    /// A token as the vocabulary spells it ("Ġworld", "▁world"). For what it stands for, decode it.
    pub fn token_text(&self, id: u32) -> Result<&str, TokenizerError> {
        Ok(&self.vocabulary.token(id)?.text)
    }

    /// The token that is spelled so.
    pub fn token_id(&self, text: &str) -> Option<u32> {
        self.vocabulary.id(text)
    }

    /// Begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.special.bos
    }

    /// Ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.special.eos
    }

    /// Ends a turn of a conversation.
    pub fn eot(&self) -> Option<u32> {
        self.special.eot
    }

    /// Stands for what cannot be encoded.
    pub fn unknown(&self) -> Option<u32> {
        self.special.unknown
    }

    /// The texts of the tokens with a role, under the names that chat templates know them by.
    pub fn special_token_texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let roles = [
            ("bos_token", self.special.bos),
            ("eos_token", self.special.eos),
            ("unk_token", self.special.unknown),
            ("sep_token", self.special.separator),
        ];
        let text = |id| self.vocabulary.token(id).ok().map(|token| token.text.as_str());
        roles.into_iter().filter_map(move |(name, id)| Some((name, text(id?)?)))
    }

    /// Whether a model that emits this token has finished its answer.
    pub fn is_end_of_generation(&self, id: u32) -> bool {
        self.special.end_of_generation.contains(&id)
    }

    /// Every token that ends a generation, in order.
    pub fn end_of_generation(&self) -> impl Iterator<Item = u32> + '_ {
        self.special.end_of_generation.iter().copied()
    }

    /// Whether [`Tokenizer::encode`] with `add_special` puts a token before the text.
    pub fn adds_bos(&self) -> bool {
        self.first_token().is_some()
    }
}

/// The folder that a checkpoint's other files lie in.
pub(crate) fn folder_of(checkpoint: &Checkpoint) -> &Path {
    let path = checkpoint.path();
    if path.is_dir() { path } else { path.parent().unwrap_or(path) }
}
