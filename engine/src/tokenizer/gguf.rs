//! A tokenizer from the metadata of a GGUF file, `tokenizer.ggml.*`.

use super::byte_pair::BytePair;
use super::error::TokenizerError;
use super::fault::TokenizerFault;
use super::partition::Markers;
use super::pieces::{Pieces, Writing};
use super::pretokenizer::{PreTokenizer, Spelling};
use super::sentence_piece::SentencePiece;
use super::special_tokens::SpecialTokens;
use super::vocabulary::{Token, TokenKind, Vocabulary};
use super::word_piece::WordPiece;
use super::{Encoder, Tokenizer};
use crate::checkpoint::gguf::Metadata;

const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";
const TOKENS: &str = "tokenizer.ggml.tokens";
const TOKEN_TYPES: &str = "tokenizer.ggml.token_type";
const SCORES: &str = "tokenizer.ggml.scores";
const BOS: &str = "tokenizer.ggml.bos_token_id";
const EOS: &str = "tokenizer.ggml.eos_token_id";
const UNKNOWN: &str = "tokenizer.ggml.unknown_token_id";
/// Spelled so in the format.
const SEPARATOR: &str = "tokenizer.ggml.seperator_token_id";
const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";
const ADD_EOS: &str = "tokenizer.ggml.add_eos_token";

/// The values of `tokenizer.ggml.model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    /// "gpt2": byte-pair merges over words.
    BytePair,
    /// "gemma4": byte-pair merges over lines.
    Gemma4,
    /// "llama": SentencePiece merges by score.
    SentencePiece,
    /// "bert": WordPiece.
    WordPiece,
}

const MODELS: [(&str, Model); 4] = [
    ("gpt2", Model::BytePair),
    ("gemma4", Model::Gemma4),
    ("llama", Model::SentencePiece),
    ("bert", Model::WordPiece),
];

/// Builds the tokenizer that the metadata describe.
pub(super) fn load(metadata: &Metadata<'_>) -> Result<Tokenizer, TokenizerError> {
    let refuse = |fault: TokenizerFault| fault.in_file(metadata.path());
    let model = read_model(metadata)?;
    let mut vocabulary = read_vocabulary(metadata)?;
    let pre_tokenizer = read_pre_tokenizer(metadata, model)?;
    let mut special = read_special(metadata, model, pre_tokenizer, &vocabulary)?;
    special.detect(&mut vocabulary);
    let markers = read_markers(metadata, &vocabulary)?;
    let (encoder, writing) = match (model, pre_tokenizer) {
        (Model::SentencePiece, _) => {
            let add_space_prefix =
                metadata.find("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
            let scores = read_scores(metadata, &vocabulary)?;
            let encoder = SentencePiece::new(&scores, add_space_prefix).map_err(refuse)?;
            (Encoder::SentencePiece(encoder), Writing::Escaped)
        }
        (_, Some(pre_tokenizer)) => {
            let merges = metadata.str_array("tokenizer.ggml.merges")?;
            let encoder = BytePair::new(&vocabulary, &merges, pre_tokenizer).map_err(refuse)?;
            let writing = match pre_tokenizer.spelling {
                Spelling::ByteLevel => Writing::ByteLevel,
                Spelling::Escaped => Writing::Escaped,
            };
            (Encoder::BytePair(Box::new(encoder)), writing)
        }
        (_, None) => (
            Encoder::WordPiece(read_word_piece(metadata, &vocabulary, &special)?),
            Writing::Escaped,
        ),
    };
    let pieces = Pieces::new(&vocabulary, writing, TOKENS).map_err(refuse)?;
    Ok(Tokenizer { vocabulary, special, markers, encoder, pieces })
}

fn read_model(metadata: &Metadata<'_>) -> Result<Model, TokenizerError> {
    let name = metadata.str(MODEL)?;
    let found = MODELS.iter().find(|(known, _)| *known == name);
    found.map(|&(_, model)| model).ok_or_else(|| {
        let supported = MODELS.map(|(known, _)| known).join(", ");
        TokenizerFault::Unsupported { key: MODEL, found: name.to_owned(), supported }
            .in_file(metadata.path())
    })
}

fn read_vocabulary(metadata: &Metadata<'_>) -> Result<Vocabulary, TokenizerError> {
    let texts = metadata.str_array(TOKENS)?;
    let kinds = match metadata.find::<Vec<i32>>(TOKEN_TYPES)? {
        Some(types) => {
            same_length(metadata, TOKEN_TYPES, types.len(), texts.len())?;
            types.into_iter().map(kind_of).collect()
        }
        None => vec![TokenKind::Normal; texts.len()],
    };
    let token = |(index, (text, kind)): (usize, (&str, TokenKind))| {
        // An empty token can never be encoded; converters leave them where ids are reserved.
        let text = if text.is_empty() { format!("[EMPTY_{index}]") } else { text.to_owned() };
        Token { text, kind }
    };
    let tokens = texts.into_iter().zip(kinds).enumerate().map(token).collect();
    Vocabulary::new(tokens, TOKENS).map_err(|fault| fault.in_file(metadata.path()))
}

/// The kind behind a number of `tokenizer.ggml.token_type`; other numbers are undefined and never shown.
fn kind_of(token_type: i32) -> TokenKind {
    match token_type {
        1 => TokenKind::Normal,
        2 => TokenKind::Unknown,
        3 => TokenKind::Control,
        4 => TokenKind::UserDefined,
        6 => TokenKind::Byte,
        _ => TokenKind::Unused,
    }
}

fn same_length(
    metadata: &Metadata<'_>,
    key: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), TokenizerError> {
    if found == expected {
        return Ok(());
    }
    Err(TokenizerFault::Length { key, found, expected }.in_file(metadata.path()))
}

/// The pre-tokenizer of a byte-pair vocabulary: "default" if the file, from before the key existed, names
/// none. The other models have none.
fn read_pre_tokenizer(
    metadata: &Metadata<'_>,
    model: Model,
) -> Result<Option<&'static PreTokenizer>, TokenizerError> {
    let name = match model {
        Model::BytePair => metadata.find(PRE)?.unwrap_or("default"),
        Model::Gemma4 => "gemma4",
        Model::SentencePiece | Model::WordPiece => return Ok(None),
    };
    PreTokenizer::named(name).map(Some).map_err(|fault| fault.in_file(metadata.path()))
}

fn read_scores(
    metadata: &Metadata<'_>,
    vocabulary: &Vocabulary,
) -> Result<Vec<f32>, TokenizerError> {
    let scores = metadata.f32_array(SCORES)?;
    same_length(metadata, SCORES, scores.len(), vocabulary.len())?;
    Ok(scores)
}

fn read_special(
    metadata: &Metadata<'_>,
    model: Model,
    pre_tokenizer: Option<&PreTokenizer>,
    vocabulary: &Vocabulary,
) -> Result<SpecialTokens, TokenizerError> {
    let id = |key: &'static str| token_id(metadata, key, vocabulary);
    // The ids of the two families whose first files did not state them.
    let family = |key, sentence_piece: u32, bert: Option<u32>| {
        let fixed = match model {
            Model::SentencePiece => Some(sentence_piece),
            Model::WordPiece => bert,
            Model::BytePair | Model::Gemma4 => None,
        };
        let exists = |id: &u32| (*id as usize) < vocabulary.len();
        id(key).map(|stated| stated.or(fixed.filter(exists)))
    };
    let separator = match model {
        Model::WordPiece => family(SEPARATOR, 0, Some(102))?,
        _ => id(SEPARATOR)?,
    };
    // Gemma 4 was trained with BOS before everything; its first files say otherwise.
    let always_bos =
        pre_tokenizer.is_some_and(|one| one.add_bos && one.spelling == Spelling::Escaped);
    let default_bos = pre_tokenizer.is_none_or(|one| one.add_bos);
    let special = SpecialTokens {
        bos: family(BOS, 1, Some(101))?,
        eos: family(EOS, 2, None)?,
        eot: id("tokenizer.ggml.eot_token_id")?,
        eom: id("tokenizer.ggml.eom_token_id")?,
        unknown: family(UNKNOWN, 0, Some(100))?,
        separator,
        fill_in: [
            id("tokenizer.ggml.fim_pad_token_id")?,
            id("tokenizer.ggml.fim_rep_token_id")?,
            id("tokenizer.ggml.fim_sep_token_id")?,
        ],
        add_bos: metadata.find(ADD_BOS)?.unwrap_or(default_bos) || always_bos,
        add_eos: metadata.find(ADD_EOS)?.unwrap_or(false),
        ..SpecialTokens::default()
    };
    for (asked, token, flag, key) in [
        (special.add_bos, special.bos, ADD_BOS, BOS),
        (special.add_eos, special.eos, ADD_EOS, EOS),
        (model == Model::WordPiece, special.separator, MODEL, SEPARATOR),
    ] {
        if asked && token.is_none() {
            return Err(TokenizerFault::NoSpecialToken { flag, key }.in_file(metadata.path()));
        }
    }
    Ok(special)
}

/// The token that a key names, if the file has the key.
fn token_id(
    metadata: &Metadata<'_>,
    key: &'static str,
    vocabulary: &Vocabulary,
) -> Result<Option<u32>, TokenizerError> {
    let Some(id) = metadata.find::<u32>(key)? else { return Ok(None) };
    if id as usize >= vocabulary.len() {
        let fault = TokenizerFault::SpecialToken { key, found: id, vocabulary: vocabulary.len() };
        return Err(fault.in_file(metadata.path()));
    }
    Ok(Some(id))
}

/// The markers, with the white space that some models' markers swallow. GGUF has no key for that:
/// llama.cpp knows the models by name.
fn read_markers(
    metadata: &Metadata<'_>,
    vocabulary: &Vocabulary,
) -> Result<Markers, TokenizerError> {
    let name = metadata.find::<&str>("general.name")?.unwrap_or_default().to_lowercase();
    let pre = metadata.find::<&str>(PRE)?.unwrap_or_default();
    let mut markers = Markers::new(vocabulary);
    if ["jina-v2-de", "jina-v2-es", "jina-v2-code"].iter().any(|known| pre.contains(known)) {
        markers.strip_left("<mask>");
    } else if ["phi-3", "phi3"].iter().any(|known| name.contains(known)) {
        markers.strip_right_except(&["<unk>", "<s>", "<|endoftext|>"]);
    } else if name.contains("modern-bert") {
        markers.strip_left("[MASK]");
    }
    Ok(markers)
}

fn read_word_piece(
    metadata: &Metadata<'_>,
    vocabulary: &Vocabulary,
    special: &SpecialTokens,
) -> Result<WordPiece, TokenizerError> {
    let lowercase = metadata.find("tokenizer.ggml.normalizer.lowercase")?.unwrap_or(true);
    let strip_accents =
        metadata.find("tokenizer.ggml.normalizer.strip_accents")?.unwrap_or(lowercase);
    let longest = vocabulary.iter().map(|(_, token)| token.text.len()).max().unwrap_or(0);
    let missing = TokenizerFault::NoSpecialToken { flag: MODEL, key: UNKNOWN };
    let unknown = special.unknown.ok_or_else(|| missing.in_file(metadata.path()))?;
    Ok(WordPiece { unknown, lowercase, strip_accents, longest })
}
