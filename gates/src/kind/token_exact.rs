//! Kind `token-exact`: the same prompt ids on both sides, then every generated id equal.

use crate::samples::GenerationSample;
use crate::subject::{Defect, Generated};

/// The kind's name in specs and records.
pub const NAME: &str = "token-exact";

/// What it compares, in words.
pub const EXPLANATION: &str = "both sides must tokenise each prompt (and render each conversation) to the same ids; \
    then every generated id must be equal. Only the first divergence of a case is counted: what follows it has \
    another prefix.";

/// How one case came out.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseOutcome {
    /// All ids equal.
    Exact,
    /// The sides do not continue the same prompt, so nothing after it can be compared.
    Prompt(PromptDifference),
    /// The subject's answer is none.
    Broken(Defect),
    /// The ids part at an index.
    Diverged(Divergence),
}

/// Where two prompts part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptDifference {
    /// The rendered conversations differ; the byte at which they part.
    Rendering {
        /// Byte offset of the first difference.
        at: usize,
        /// The oracle's text from there.
        expected: String,
        /// The subject's text from there.
        found: String,
    },
    /// The prompt ids differ.
    Ids {
        /// Index of the first difference.
        at: usize,
        /// The oracle's id there, `None` when its prompt ends.
        expected: Option<u32>,
        /// The subject's id there, `None` when its prompt ends.
        found: Option<u32>,
    },
}

/// The first index at which two generations part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the generated token; so many ids are shared before it.
    pub index: usize,
    /// The subject's id.
    pub found: u32,
    /// The oracle's id.
    pub expected: u32,
}

/// Judges one case.
pub fn judge(sample: &GenerationSample) -> CaseOutcome {
    let subject = match &sample.subject {
        Ok(subject) => subject,
        Err(defect) => return CaseOutcome::Broken(defect.clone()),
    };
    match prompt_difference(sample, subject) {
        Ok(None) => {}
        Ok(Some(difference)) => return CaseOutcome::Prompt(difference),
        Err(defect) => return CaseOutcome::Broken(defect),
    }
    match first_divergence(&sample.reference.ids, &subject.ids) {
        Parting::Nowhere => CaseOutcome::Exact,
        Parting::At(divergence) => CaseOutcome::Diverged(divergence),
        Parting::Length { expected, found } => {
            CaseOutcome::Broken(Defect::Length { expected, found })
        }
    }
}

/// How two sequences of ids relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// They are equal.
    Nowhere,
    /// They part at an index that both have.
    At(Divergence),
    /// One is the beginning of the other.
    Length {
        /// Length of the oracle's.
        expected: usize,
        /// Length of the subject's.
        found: usize,
    },
}

/// The first index at which `found` leaves `expected`.
pub fn first_divergence(expected: &[u32], found: &[u32]) -> Parting {
    let pairs = expected.iter().zip(found).enumerate();
    for (index, (expected, found)) in pairs {
        if expected != found {
            return Parting::At(Divergence { index, found: *found, expected: *expected });
        }
    }
    if expected.len() == found.len() {
        Parting::Nowhere
    } else {
        Parting::Length { expected: expected.len(), found: found.len() }
    }
}

fn prompt_difference(
    sample: &GenerationSample,
    subject: &Generated,
) -> Result<Option<PromptDifference>, Defect> {
    if let Some(rendered) = &sample.rendered {
        let rendered = rendered.as_ref().map_err(Clone::clone)?;
        let found = rendered.text.as_deref().ok_or_else(|| missing("text"))?;
        if let Some(difference) = rendering_difference(&sample.reference.prompt_text, found) {
            return Ok(Some(difference));
        }
    }
    Ok(ids_difference(&sample.reference.prompt_ids, &subject.prompt_ids))
}

fn missing(field: &str) -> Defect {
    Defect::Unreadable(format!("`{field}` is missing"))
}

/// Where two renderings of a conversation part.
pub fn rendering_difference(expected: &str, found: &str) -> Option<PromptDifference> {
    if expected == found {
        return None;
    }
    let at = expected
        .char_indices()
        .zip(found.chars())
        .find(|((_, expected), found)| expected != found)
        .map_or(expected.len().min(found.len()), |((at, _), _)| at);
    let from = |text: &str| text.get(at..).unwrap_or_default().chars().take(40).collect();
    Some(PromptDifference::Rendering { at, expected: from(expected), found: from(found) })
}

/// Where two lists of ids part, the end of one included.
pub fn ids_difference(expected: &[u32], found: &[u32]) -> Option<PromptDifference> {
    let longest = expected.len().max(found.len());
    let at = (0..longest).find(|index| expected.get(*index) != found.get(*index))?;
    Some(PromptDifference::Ids {
        at,
        expected: expected.get(at).copied(),
        found: found.get(at).copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_short_and_diverging_answers_are_told_apart() {
        assert_eq!(first_divergence(&[1, 2, 3], &[1, 2, 3]), Parting::Nowhere);
        assert_eq!(
            first_divergence(&[1, 2, 3], &[1, 9, 3]),
            Parting::At(Divergence { index: 1, found: 9, expected: 2 })
        );
        assert_eq!(
            first_divergence(&[1, 2, 3], &[1, 2]),
            Parting::Length { expected: 3, found: 2 }
        );
        assert_eq!(first_divergence(&[1, 2], &[]), Parting::Length { expected: 2, found: 0 });
    }

    #[test]
    fn a_dropped_first_id_is_found_at_index_zero() {
        assert_eq!(
            ids_difference(&[1, 2, 3], &[2, 3]),
            Some(PromptDifference::Ids { at: 0, expected: Some(1), found: Some(2) })
        );
        assert_eq!(
            ids_difference(&[1, 2], &[1, 2, 3]),
            Some(PromptDifference::Ids { at: 2, expected: None, found: Some(3) })
        );
        assert_eq!(ids_difference(&[], &[]), None);
    }

    #[test]
    fn renderings_part_at_a_byte() {
        assert_eq!(rendering_difference("a\u{e9}x", "a\u{e9}x"), None);
        assert_eq!(
            rendering_difference("a\u{e9}x", "a\u{e9}y"),
            Some(PromptDifference::Rendering { at: 3, expected: "x".into(), found: "y".into() })
        );
        assert_eq!(
            rendering_difference("ab", "a"),
            Some(PromptDifference::Rendering { at: 1, expected: "b".into(), found: String::new() })
        );
    }

    proptest::proptest! {
        #[test]
        fn the_prefix_before_a_divergence_is_shared(
            expected in proptest::collection::vec(0_u32..4, 0..12),
            found in proptest::collection::vec(0_u32..4, 0..12),
        ) {
            match first_divergence(&expected, &found) {
                Parting::Nowhere => proptest::prop_assert_eq!(expected, found),
                Parting::At(divergence) => {
                    proptest::prop_assert_eq!(&expected[..divergence.index], &found[..divergence.index]);
                    proptest::prop_assert_ne!(expected[divergence.index], found[divergence.index]);
                }
                Parting::Length { expected: a, found: b } => {
                    let shared = a.min(b);
                    proptest::prop_assert_eq!(&expected[..shared], &found[..shared]);
                    proptest::prop_assert_ne!(a, b);
                }
            }
        }
    }
}
