//! The verdict of a tokenizer gate.

use records::metric::{Measurement, Metric};
use serde_json::{Value, json};

use super::Judgement;
use crate::kind::token_exact::PromptDifference;
use crate::kind::tokenizer::{self, CorpusOutcome, TextFailure};
use crate::rule::{Rule, Word};
use crate::samples::TextCorpus;
use crate::words::count;

/// Failed texts shown for each corpus; the record keeps all of them.
const SHOWN: usize = 5;

/// All corpora must agree in every text; nothing to compare is a skip.
pub(super) fn judge(corpora: &[TextCorpus]) -> Judgement {
    let outcomes: Vec<CorpusOutcome> = corpora.iter().map(tokenizer::judge).collect();
    let texts: usize = outcomes.iter().map(|outcome| outcome.texts).sum();
    let ids: usize = outcomes.iter().map(|outcome| outcome.ids).sum();
    let failed: usize = outcomes.iter().map(|outcome| outcome.failures.len()).sum();
    let red = outcomes.iter().filter(|outcome| !outcome.failures.is_empty()).count();
    if texts == 0 {
        let reason = "the corpus holds no text: nothing was compared".to_owned();
        return Judgement::bare(Word::Skipped, vec![Rule::Skip], reason, 0);
    }
    let vocabularies = count(outcomes.len(), "vocabulary", "vocabularies");
    let all = count(texts, "text", "texts");
    let reason = if failed == 0 {
        format!("{texts}/{all} exact ({}, {vocabularies})", count(ids, "id", "ids"))
    } else {
        let differ = if failed == 1 { "differs" } else { "differ" };
        format!("{}/{all} exact; {failed} {differ}, in {red} of {vocabularies}", texts - failed)
    };
    let word = if failed == 0 { Word::Pass } else { Word::Fail };
    let mut judgement = Judgement::bare(word, Vec::new(), reason, texts as u64);
    judgement.measurements = vec![
        Measurement::count(Metric::ExactCases, (texts - failed) as u64),
        Measurement::count(Metric::Divergences, failed as u64),
    ];
    judgement.divergences = outcomes.iter().flat_map(values).collect();
    let width = outcomes.iter().map(|outcome| outcome.name.len()).max().unwrap_or_default();
    judgement.report = outcomes.iter().flat_map(|outcome| lines(outcome, width)).collect();
    judgement
}

/// One line a corpus, its name padded to `width`, and some of its failures.
fn lines(outcome: &CorpusOutcome, width: usize) -> Vec<String> {
    let exact = outcome.texts - outcome.failures.len();
    let mut lines = vec![format!(
        "{:<width$}  {exact}/{} exact, {}",
        outcome.name,
        count(outcome.texts, "text", "texts"),
        count(outcome.ids, "id", "ids")
    )];
    lines.extend(
        outcome
            .failures
            .iter()
            .take(SHOWN)
            .map(|(id, failure)| format!("  {id} {}", words(failure))),
    );
    if outcome.failures.len() > SHOWN {
        lines.push(format!("  and {} more, all in the record", outcome.failures.len() - SHOWN));
    }
    lines
}

fn values(outcome: &CorpusOutcome) -> Vec<Value> {
    let value = |(id, failure): &(String, TextFailure)| json!({ "vocabulary": outcome.name, "case": id, "what": words(failure) });
    outcome.failures.iter().map(value).collect()
}

fn words(failure: &TextFailure) -> String {
    match failure {
        TextFailure::Encoded(difference) => {
            format!("encodes otherwise: {}", difference_words(difference))
        }
        TextFailure::Decoded(difference) => {
            format!("decodes otherwise: {}", difference_words(difference))
        }
        TextFailure::Broken(defect) => defect.to_string(),
    }
}

/// Where two prompts part, in words.
pub(super) fn difference_words(difference: &PromptDifference) -> String {
    match difference {
        PromptDifference::Rendering { at, expected, found } => {
            format!("text parts at byte {at}: ours {found:?}, oracle {expected:?}")
        }
        PromptDifference::Ids { at, expected, found } => {
            let id = |id: &Option<u32>| id.map_or("nothing".to_owned(), |id| id.to_string());
            format!("ids part at index {at}: ours {}, oracle {}", id(found), id(expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::TextSample;
    use crate::spec::Decoding;
    use crate::subject::{Defect, Tokenized};

    fn corpus(name: &str, encoded: &[Option<u32>]) -> TextCorpus {
        let text = |id: &Option<u32>| TextSample {
            id: "t".into(),
            text: "a".into(),
            expected: vec![1],
            encoded: id.map_or(Err(Defect::Missing), |id| {
                Ok(Tokenized { ids: Some(vec![id]), text: None })
            }),
            decoded: Ok(Tokenized { ids: None, text: Some("a".into()) }),
            conversation: false,
        };
        let texts = encoded.iter().map(text).collect();
        TextCorpus { name: name.into(), decoding: Decoding::Exact, texts }
    }

    #[test]
    fn counts_agree_with_their_words() {
        let reason = |corpora: &[TextCorpus]| judge(corpora).reason;
        assert_eq!(reason(&[corpus("v", &[Some(1)])]), "1/1 text exact (1 id, 1 vocabulary)");
        let two = [corpus("v", &[Some(1), Some(1)]), corpus("longer", &[Some(1)])];
        assert_eq!(reason(&two), "3/3 texts exact (3 ids, 2 vocabularies)");
        assert_eq!(
            judge(&two).report,
            ["v       2/2 texts exact, 2 ids", "longer  1/1 text exact, 1 id"]
        );
        assert_eq!(
            reason(&[corpus("v", &[Some(1), Some(2)])]),
            "1/2 texts exact; 1 differs, in 1 of 1 vocabulary"
        );
        assert_eq!(
            reason(&[corpus("v", &[None, Some(2)]), corpus("w", &[Some(1)])]),
            "1/3 texts exact; 2 differ, in 1 of 2 vocabularies"
        );
    }
}
