//! Pre-tokenizers: how a text is cut into words before byte-pair merges, one table.
//!
//! A GGUF file names its pre-tokenizer in `tokenizer.ggml.pre`; the regular expressions behind a name are
//! the ones of the model's own tokenizer.json, brought to the Oniguruma syntax that the `tokenizers`
//! library uses too. Expressions are applied one after another, each within the pieces that the one before
//! left; what an expression does not match is a piece as well.
//!
//! Two differences from tokenizer.json are llama.cpp's, whose ids are the reference for GGUF files. Its
//! expressions know no cases of letters, so `\p{Lu}`, `\p{Ll}` and the like mean every letter (or, for
//! tekken and gpt-4o, all but the ASCII ones of the other case). And white space outside ASCII never
//! matches a literal range.

use onig::{MatchParam, Regex, Region, SearchOptions};

use super::error::TokenizerError;
use super::fault::TokenizerFault;

/// How the characters of a word are written in the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Every byte as one character, after GPT-2.
    ByteLevel,
    /// As they are, with "▁" for a space and byte tokens "<0x0A>" for what has no token.
    Escaped,
}

/// One pre-tokenizer.
#[derive(Debug)]
pub(super) struct PreTokenizer {
    /// The values of `tokenizer.ggml.pre` that mean it.
    names: &'static [&'static str],
    patterns: &'static [&'static str],
    pub(super) spelling: Spelling,
    /// A word that is a token is taken whole, whatever the merges would do.
    pub(super) ignore_merges: bool,
    /// Whether a text begins with BOS if the file does not say.
    pub(super) add_bos: bool,
}

const GPT2: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const JAIS2: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s";
const MINICPM5: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const BAILING: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
const SEED_CODER: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";
const EXAONE_MOE: &str = r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+";
const UFAKZEKA: &str =
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+(?:'[sdmtSDMT]|'[lL][lL]|'[vV][eE]|'[rR][eE])?|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*(?:'[sdmtSDMT]|'[lL][lL]|'[vV][eE]|'[rR][eE])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GRANITE_EMBED: &str = r"[^\r\n\p{L}\p{N}]?[[\p{L}\p{M}]&&[^a-z]]*[[\p{L}\p{M}]&&[^A-Z]]+(?:'[sdmtSDMT]|'[lL][lL]|'[vV][eE]|'[rR][eE])?|[^\r\n\p{L}\p{N}]?[[\p{L}\p{M}]&&[^a-z]]+[[\p{L}\p{M}]&&[^A-Z]]*(?:'[sdmtSDMT]|'[lL][lL]|'[vV][eE]|'[rR][eE])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TINY_AYA: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+(?:'[sdmtSDMT]|'[lL][lL]|'[vV][eE]|'[rR][eE])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const YOUTU: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+(?:'[sdmtSDMT]|'[lL][lL]|'[vV][eE]|'[rR][eE])?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK3: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;
const SPARK: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+"##;
/// The cased letters that DeepSeek's tokenizer.json lists: those of its time, without some blocks.
const DEEPSEEK_LETTERS: &str = r"\s?[[\p{Lu}\p{Ll}\p{Lt}]&&[^\x{0560}-\x{0588}\x{10C7}-\x{10CD}\x{10D0}-\x{10FF}\x{1C80}-\x{1C8F}\x{2D00}-\x{2D2D}\x{A790}-\x{A7FF}\x{AB30}-\x{AB68}\x{10500}-\x{10BFF}\x{10D00}-\x{117FF}\x{11900}-\x{1E8FF}]]+";
const DEEPSEEK_PUNCTUATION: &str = r"\s?[!-/:-~！-／：-～‘-‟、-。]+";
/// Everything from U+0800 to the end of the unified ideographs, and Hangul.
const DEEPSEEK_CJK: &str = r"[[\x{0800}-\x{9FA5}\x{AC00}-\x{D7FF}]&&[^\s]]+";
const IDEOGRAPHS_AND_KANA: &str = r"[\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+";
const BLOOM: &str = r" ?[^(\s|.,!?…。，、।۔،)]+";
/// Numbers in groups of three, counted from the right; llama.cpp leaves the text before a number with its
/// first group. Matches only begin where the one before has ended, so that text without numbers costs
/// one look.
const THREE_FROM_THE_RIGHT: &str = r"\G\P{N}*+\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))";
const AFMOE_SCRIPTS: &str = r"[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+";
const LINES: &str = r"[^\n]+|\n+";

/// A byte-level pre-tokenizer without peculiarities.
const fn plain(names: &'static [&'static str], patterns: &'static [&'static str]) -> PreTokenizer {
    PreTokenizer {
        names,
        patterns,
        spelling: Spelling::ByteLevel,
        ignore_merges: false,
        add_bos: false,
    }
}

/// A byte-level pre-tokenizer that takes words which are tokens whole.
const fn whole(
    names: &'static [&'static str],
    patterns: &'static [&'static str],
    add_bos: bool,
) -> PreTokenizer {
    PreTokenizer { ignore_merges: true, add_bos, ..plain(names, patterns) }
}

/// Merges over whole lines, with "▁" for spaces.
const fn escaped(names: &'static [&'static str], add_bos: bool) -> PreTokenizer {
    PreTokenizer { spelling: Spelling::Escaped, add_bos, ..plain(names, &[LINES]) }
}

/// Every pre-tokenizer: the names, then the expressions in the order of use.
const PRE_TOKENIZERS: &[PreTokenizer] = &[
    plain(&["default"], &[r"[\p{P}$+<=>^~|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]),
    plain(
        &[
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "exaone4",
            "jina-es",
            "jina-de",
            "jina-v1-en",
            "jina-v2-es",
            "jina-v2-de",
            "jina-v2-code",
            "roberta-bpe",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "modern-bert",
        ],
        &[GPT2],
    ),
    plain(
        &[
            "smollm",
            "starcoder",
            "refact",
            "command-r",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2",
        ],
        &[r"\p{N}", GPT2],
    ),
    whole(
        &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        &[LLAMA3],
        true,
    ),
    plain(&["dbrx", "smaug-bpe", "chatglm-bpe"], &[LLAMA3]),
    whole(&["glm4", "glm5"], &[LLAMA3], false),
    plain(
        &[
            "qwen2",
            "deepseek-r1-qwen",
            "kormo",
            "f2llmv2",
            "megrez",
            "stablelm2",
            "hunyuan",
            "solar-open",
            "grok-2",
        ],
        &[QWEN2],
    ),
    plain(&["qwen35"], &[QWEN35]),
    plain(&["falcon"], &[r"[\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"]),
    plain(
        &["deepseek-llm"],
        &[r"[\r\n]", DEEPSEEK_LETTERS, DEEPSEEK_PUNCTUATION, r"\s+\z", DEEPSEEK_CJK, r"\p{N}+"],
    ),
    plain(&["deepseek-coder"], &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", DEEPSEEK_CJK, r"\p{N}"]),
    plain(
        &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        &[r"\p{N}{1,3}", IDEOGRAPHS_AND_KANA, DEEPSEEK3],
    ),
    plain(&["spark2_5"], &[r"\p{N}{1,3}", IDEOGRAPHS_AND_KANA, SPARK, r"\p{N}"]),
    whole(
        &["youtu"],
        &[
            r"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+",
            YOUTU,
        ],
        false,
    ),
    whole(&["tekken"], &[TEKKEN], true),
    plain(&["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], &[GPT4O]),
    whole(&["granite-embed-multi-97m"], &[GRANITE_EMBED], false),
    plain(&["tiny_aya", "cohere2moe"], &[THREE_FROM_THE_RIGHT, TINY_AYA]),
    plain(&["jais-2"], &[JAIS2]),
    whole(&["minicpm5"], &[r"\p{N}{1,3}", MINICPM5], false),
    plain(&["bailingmoe", "bailingmoe2", "llada-moe"], &[BAILING]),
    plain(&["seed-coder"], &[SEED_CODER]),
    plain(&["exaone-moe"], &[EXAONE_MOE]),
    plain(&["ufakzeka"], &[UFAKZEKA]),
    plain(&["afmoe"], &[THREE_FROM_THE_RIGHT, AFMOE_SCRIPTS, DEEPSEEK3]),
    plain(&["laguna"], &[LINES, QWEN2]),
    plain(&["poro-chat", "bloom", "gpt3-finnish"], &[BLOOM]),
    plain(&["viking"], &[BLOOM, r"\p{N}"]),
    PreTokenizer {
        add_bos: true,
        ..plain(
            &["chameleon"],
            &[
                "<sentinel:[0-9]+>",
                "(?:IMGIMG)[A-I]{1,4}Z",
                r"[\t\n]|    |  ",
                r"\p{N}",
                r"[\p{P}!-/:-@\[-`{-~]",
                GPT2,
            ],
        )
    },
    escaped(&["gemma4", "granite-embed-multi-311m"], true),
    escaped(&["sarvam-moe"], false),
];

impl PreTokenizer {
    /// The pre-tokenizer that `tokenizer.ggml.pre` names.
    pub(super) fn named(name: &str) -> Result<&'static Self, TokenizerFault> {
        let found = PRE_TOKENIZERS.iter().find(|one| one.names.contains(&name));
        found.ok_or_else(|| TokenizerFault::Unsupported {
            key: "tokenizer.ggml.pre",
            found: name.to_owned(),
            supported: Self::names().collect::<Vec<_>>().join(", "),
        })
    }

    /// All supported names.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        PRE_TOKENIZERS.iter().flat_map(|one| one.names.iter().copied())
    }

    /// Compiles its expressions.
    pub(super) fn splitter(&self) -> Result<Splitter, TokenizerFault> {
        let compile = |&pattern: &&str| {
            Regex::new(pattern)
                .map_err(|source| TokenizerFault::Pattern { pattern: pattern.to_owned(), source })
        };
        Ok(Splitter { expressions: self.patterns.iter().map(compile).collect::<Result<_, _>>()? })
    }
}

/// Compiled expressions.
#[derive(Debug)]
pub(super) struct Splitter {
    expressions: Vec<Regex>,
}

impl Splitter {
    /// The words of a text; concatenated they are the text.
    pub(super) fn split<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, TokenizerError> {
        let mut pieces = vec![text];
        for expression in &self.expressions {
            let mut finer = Vec::with_capacity(pieces.len());
            for piece in pieces {
                split_piece(expression, piece, &mut finer)?;
            }
            pieces = finer;
        }
        Ok(pieces)
    }
}

/// Appends the matches of `expression` in `piece` and what lies between them.
fn split_piece<'t>(
    expression: &Regex,
    piece: &'t str,
    words: &mut Vec<&'t str>,
) -> Result<(), TokenizerError> {
    let mut region = Region::new();
    let mut start = 0;
    while start < piece.len() {
        let found = expression
            .search_with_param(
                piece,
                start,
                piece.len(),
                SearchOptions::SEARCH_OPTION_NONE,
                Some(&mut region),
                MatchParam::default(),
            )
            .map_err(|source| TokenizerError::Split { offset: start, source })?;
        let Some((from, to)) = found.and_then(|_| region.pos(0)).filter(|(from, to)| from < to)
        else {
            break;
        };
        if start < from {
            words.push(&piece[start..from]);
        }
        words.push(&piece[from..to]);
        start = to;
        region.clear();
    }
    if start < piece.len() {
        words.push(&piece[start..]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles_and_every_name_is_unique() {
        let mut names = std::collections::BTreeSet::new();
        let mut expressions = 0;
        for one in PRE_TOKENIZERS {
            expressions += one.splitter().unwrap().expressions.len();
            for name in one.names {
                assert!(names.insert(name), "{name} is listed twice");
            }
        }
        assert_eq!(expressions, PRE_TOKENIZERS.iter().map(|one| one.patterns.len()).sum::<usize>());
        assert!(names.len() > 60);
    }

    #[test]
    fn the_pieces_of_a_text_make_the_text() {
        let text = "I'll pay 12345€ for it,\n\n  won't I?  \t\u{3000}你好 नमस्ते\r\n ";
        for one in PRE_TOKENIZERS {
            assert_eq!(
                one.splitter().unwrap().split(text).unwrap().concat(),
                text,
                "{:?}",
                one.names
            );
        }
    }
}
