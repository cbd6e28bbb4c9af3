//! Kind `tokenizer`: ids equal on a corpus, and decoding gives the text back.
//!
//! Ids are compared as ids: two tokenizations with the same text are still two tokenizations.

use crate::samples::{TextCorpus, TextSample};
use crate::spec::{Corpus, Decoding, TokenizerCheck};
use crate::subject::Defect;

use super::token_exact::{PromptDifference, ids_difference, rendering_difference};

/// The kind's name in specs and records.
pub const NAME: &str = "tokenizer";

/// What it compares, in words.
pub fn explain(check: &TokenizerCheck) -> String {
    let corpus = match check.corpus {
        Corpus::Inputs => "the inputs, as the oracle or its golden tokenises them",
        Corpus::OracleVocabularies => {
            "every vocabulary with tests that the oracle's pinned source carries"
        }
    };
    let spaced =
        check.spaced.iter().map(|exception| (exception, "decodes to a space and the text"));
    let lossy = check.lossy.iter().map(|exception| (exception, "is not decoded"));
    let exceptions: Vec<String> = spaced
        .chain(lossy)
        .map(|(exception, how)| {
            format!("\n{} {how}, because: {}", exception.vocabulary, exception.because.0)
        })
        .collect();
    let exceptions = exceptions.concat();
    format!(
        "ids equal, text by text, and the oracle's ids decode to the text. Corpus: {corpus}.{exceptions}"
    )
}

/// How one text came out, when it does not agree.
#[derive(Debug, Clone, PartialEq)]
pub enum TextFailure {
    /// Other ids, or another rendering of the conversation.
    Encoded(PromptDifference),
    /// The ids decode to another text.
    Decoded(PromptDifference),
    /// The subject's answer is none.
    Broken(Defect),
}

/// One corpus, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct CorpusOutcome {
    /// Name of the vocabulary.
    pub name: String,
    /// Texts compared.
    pub texts: usize,
    /// Ids compared.
    pub ids: usize,
    /// Texts that do not agree, by id.
    pub failures: Vec<(String, TextFailure)>,
}

/// Judges one corpus.
pub fn judge(corpus: &TextCorpus) -> CorpusOutcome {
    let failures = corpus.texts.iter().filter_map(|sample| {
        judge_text(sample, corpus.decoding).err().map(|failure| (sample.id.clone(), failure))
    });
    CorpusOutcome {
        name: corpus.name.clone(),
        texts: corpus.texts.len(),
        ids: corpus.texts.iter().map(|sample| sample.expected.len()).sum(),
        failures: failures.collect(),
    }
}

fn judge_text(sample: &TextSample, decoding: Decoding) -> Result<(), TextFailure> {
    let broken = |defect: &Defect| TextFailure::Broken(defect.clone());
    let missing =
        |field: &str| TextFailure::Broken(Defect::Unreadable(format!("`{field}` is missing")));
    let encoded = sample.encoded.as_ref().map_err(broken)?;
    if sample.conversation {
        let found = encoded.text.as_deref().ok_or_else(|| missing("text"))?;
        if let Some(difference) = rendering_difference(&sample.text, found) {
            return Err(TextFailure::Encoded(difference));
        }
    }
    let ids = encoded.ids.as_deref().ok_or_else(|| missing("ids"))?;
    if let Some(difference) = ids_difference(&sample.expected, ids) {
        return Err(TextFailure::Encoded(difference));
    }
    let decoded = sample.decoded.as_ref().map_err(broken)?;
    let text = decoded.text.as_deref().ok_or_else(|| missing("text"))?;
    let difference = match decoding {
        Decoding::Lossy => None,
        // No ids, no space.
        Decoding::Spaced if !sample.expected.is_empty() => {
            rendering_difference(&format!(" {}", sample.text), text)
        }
        Decoding::Exact | Decoding::Spaced => rendering_difference(&sample.text, text),
    };
    difference.map_or(Ok(()), |difference| Err(TextFailure::Decoded(difference)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Tokenized;

    fn sample(ids: Option<Vec<u32>>, decoded: &str) -> TextSample {
        TextSample {
            id: "t".into(),
            text: "ab".into(),
            expected: vec![1, 2],
            encoded: Ok(Tokenized { ids, text: None }),
            decoded: Ok(Tokenized { ids: None, text: Some(decoded.into()) }),
            conversation: false,
        }
    }

    fn failures(sample: TextSample, decoding: Decoding) -> usize {
        let corpus = TextCorpus { name: "v".into(), decoding, texts: vec![sample] };
        let outcome = judge(&corpus);
        assert_eq!((outcome.texts, outcome.ids), (1, 2));
        outcome.failures.len()
    }

    #[test]
    fn ids_and_decoding_both_count() {
        assert_eq!(failures(sample(Some(vec![1, 2]), "ab"), Decoding::Exact), 0);
        assert_eq!(failures(sample(Some(vec![1]), "ab"), Decoding::Exact), 1);
        assert_eq!(failures(sample(Some(vec![1, 2]), "a b"), Decoding::Exact), 1);
        assert_eq!(failures(sample(Some(vec![1, 2]), "a b"), Decoding::Lossy), 0);
        assert_eq!(failures(sample(Some(vec![1, 2]), "ab"), Decoding::Spaced), 1);
        assert_eq!(failures(sample(Some(vec![1, 2]), " ab"), Decoding::Spaced), 0);
        assert_eq!(failures(sample(None, "ab"), Decoding::Exact), 1);
    }

    #[test]
    fn a_broken_answer_is_a_failure() {
        let broken = TextSample { encoded: Err(Defect::Missing), ..sample(None, "ab") };
        assert_eq!(failures(broken, Decoding::Exact), 1);
        let undecoded =
            TextSample { decoded: Err(Defect::Missing), ..sample(Some(vec![1, 2]), "") };
        assert_eq!(failures(undecoded, Decoding::Exact), 1);
    }
}
