//! Tokens with a role: where a text begins and ends, and what ends a generation.

use std::collections::BTreeSet;

use super::vocabulary::{TokenKind, Vocabulary};

/// The tokens with a role; None where the vocabulary has none.
#[derive(Debug, Default, Clone)]
pub(super) struct SpecialTokens {
    /// Before every text if `add_bos`.
    pub(super) bos: Option<u32>,
    /// After every text if `add_eos`.
    pub(super) eos: Option<u32>,
    /// Ends a turn of a conversation.
    pub(super) eot: Option<u32>,
    /// Ends a message that another follows, such as a tool call.
    pub(super) eom: Option<u32>,
    /// Stands for what cannot be encoded.
    pub(super) unknown: Option<u32>,
    /// Between and after texts in the BERT families.
    pub(super) separator: Option<u32>,
    /// Fill-in-the-middle padding, repository and file separators: a model that emits one has gone past
    /// its answer.
    pub(super) fill_in: [Option<u32>; 3],
    /// Whether every text begins with `bos`.
    pub(super) add_bos: bool,
    /// Whether every text ends with `eos`.
    pub(super) add_eos: bool,
    /// Every token that ends a generation.
    pub(super) end_of_generation: BTreeSet<u32>,
}

/// Texts that end a turn, the likeliest first.
const END_OF_TURN: [&str; 11] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];
/// Texts that end a message.
const END_OF_MESSAGE: [&str; 1] = ["<|eom_id|>"];
/// Texts of the fill-in-the-middle tokens in `SpecialTokens::fill_in`, role by role.
const FILL_IN: [&[&str]; 3] = [
    &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"],
    &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"],
    &["<|file_sep|>"],
];
/// Fill-in-the-middle prefix, suffix and middle: control tokens, whatever the file says.
const FILL_IN_PARTS: [&[&str]; 3] = [
    &[
        "<|fim_prefix|>",
        "<fim-prefix>",
        "<fim_prefix>",
        "<｜fim▁begin｜>",
        "<PRE>",
        "▁<PRE>",
        "<|code_prefix|>",
        "<|prefix|>",
    ],
    &[
        "<|fim_suffix|>",
        "<fim-suffix>",
        "<fim_suffix>",
        "<｜fim▁hole｜>",
        "<SUF>",
        "▁<SUF>",
        "<|code_suffix|>",
        "<|suffix|>",
    ],
    &[
        "<|fim_middle|>",
        "<fim-middle>",
        "<fim_middle>",
        "<｜fim▁end｜>",
        "<MID>",
        "▁<MID>",
        "<|code_middle|>",
        "<|middle|>",
    ],
];
/// Further texts that end a generation.
const END_OF_GENERATION: [&str; 10] = [
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "</s>",
    "<|eom_id|>",
    "[EOS]",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
];
/// One more: MiniMax writes its end of sentence so.
const MINIMAX_END: &str = "[e~[";
/// Markers of gpt-oss that are always shown.
const ALWAYS_SHOWN: [&str; 4] = ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

impl SpecialTokens {
    /// Finds by text the roles that the file does not state, as llama.cpp does, and corrects the kinds of
    /// tokens that have such a role. Where several texts of a role are in the vocabulary, the order of the
    /// lists above decides.
    pub(super) fn detect(&mut self, vocabulary: &mut Vocabulary) {
        self.eot = self.eot.or_else(|| adopt(vocabulary, &END_OF_TURN));
        self.eom = self.eom.or_else(|| adopt(vocabulary, &END_OF_MESSAGE));
        for part in FILL_IN_PARTS {
            adopt(vocabulary, part);
        }
        for (role, texts) in self.fill_in.iter_mut().zip(FILL_IN) {
            *role = role.or_else(|| adopt(vocabulary, texts));
        }
        self.end_of_generation.extend(self.fill_in.iter().flatten());
        let texts = END_OF_TURN.iter().chain(&END_OF_GENERATION).chain([&MINIMAX_END]);
        let ends: Vec<u32> = texts.filter_map(|text| vocabulary.id(text)).collect();
        for id in ends {
            vocabulary.set_kind(id, TokenKind::Control);
            self.end_of_generation.insert(id);
        }
        for id in ALWAYS_SHOWN.iter().filter_map(|text| vocabulary.id(text)).collect::<Vec<_>>() {
            vocabulary.set_kind(id, TokenKind::UserDefined);
        }
        self.end_of_generation.extend([self.eos, self.eot, self.eom].iter().flatten());
        self.take_back(vocabulary);
    }

    /// Two families use a text of the lists in another sense.
    fn take_back(&mut self, vocabulary: &mut Vocabulary) {
        let has = |text| vocabulary.id(text).is_some_and(|id| self.end_of_generation.contains(&id));
        // gpt-oss and Solar Open: "<|end|>" only ends a message when these end the turn.
        let calls = has("<|call|>") || has("<|calls|>");
        let harmony = calls && (has("<|return|>") || has("<|flush|>"));
        // Gemma 4: "</s>" is a piece of HTML.
        let html = has("<|tool_response>") || has("<|plamo:eos|>");
        for (applies, text, kind) in
            [(harmony, "<|end|>", TokenKind::UserDefined), (html, "</s>", TokenKind::Normal)]
        {
            let Some(id) = vocabulary.id(text).filter(|_| applies) else { continue };
            if self.end_of_generation.remove(&id) {
                vocabulary.set_kind(id, kind);
            }
        }
    }
}

/// The first of these texts that is a token, made a control token.
fn adopt(vocabulary: &mut Vocabulary, texts: &[&str]) -> Option<u32> {
    let id = texts.iter().find_map(|text| vocabulary.id(text))?;
    vocabulary.set_kind(id, TokenKind::Control);
    Some(id)
}
