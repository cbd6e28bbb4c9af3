//! Cases and first divergences, as the judge's own kinds find them.

use records::review::page::{Cell, Parting, Side, Tone};
use records::review::run::{Case, Cases, Distribution, Outcome};

use crate::kind::logits::LogitChunk;
use crate::kind::near_tie::{self, Adjudication, Reading};
use crate::kind::token_exact::{self, CaseOutcome, Divergence};
use crate::samples::{GenerationSample, top_of};
use crate::spec::NearTieCheck;
use crate::subject::TopEntry;

/// Characters of a prompt, and of a text after a parting.
const CUT: usize = 220;
/// Characters of a text before a parting, and of a cell.
const SHORT: usize = 90;
/// Most probable tokens that are shown.
const TOP: usize = 5;

/// Every case of a gate of generations.
pub(super) fn generations(samples: &[GenerationSample], check: Option<&NearTieCheck>) -> Cases {
    let mut cases = Cases::default();
    for sample in samples {
        let judged = token_exact::judge(sample);
        let mut shared = 0;
        let outcome = match &judged {
            CaseOutcome::Exact => {
                shared = sample.reference.ids.len();
                Outcome::Exact
            }
            CaseOutcome::Diverged(divergence) => {
                shared = divergence.index;
                let adjudication =
                    check.map(|check| near_tie::adjudicate(sample, *divergence, check));
                cases.partings.push(parting(sample, *divergence, adjudication, check));
                if adjudication.is_some_and(|found| found.tie) {
                    Outcome::Tie
                } else {
                    Outcome::Diverged
                }
            }
            CaseOutcome::Prompt(_) => Outcome::Broken("another prompt".to_owned()),
            CaseOutcome::Broken(defect) => Outcome::Broken(defect.to_string()),
        };
        cases.all.push(Case {
            id: sample.reference.id.clone(),
            outcome,
            prompt_tokens: sample.reference.prompt_ids.len(),
            shared_tokens: shared,
            answered_tokens: sample.reference.ids.len(),
            prompt: cut(&sample.reference.prompt_text, SHORT),
            answer: cut(&sample.reference.text, SHORT),
        });
    }
    cases
}

fn parting(
    sample: &GenerationSample,
    divergence: Divergence,
    adjudication: Option<Adjudication>,
    check: Option<&NearTieCheck>,
) -> Parting {
    let ours = sample.subject.as_ref().ok();
    let text = ours.map_or("", |subject| subject.text.as_str());
    let theirs = sample.reference.text.as_str();
    let at = text
        .char_indices()
        .zip(theirs.chars())
        .find(|((_, a), b)| a != b)
        .map_or(text.len().min(theirs.len()), |((at, _), _)| at);
    let after = |text: &str| cut(text.get(at..).unwrap_or_default(), CUT);
    let tie = adjudication.is_some_and(|found| found.tie);
    let (word, tone) = if tie { ("near tie", Tone::Open) } else { ("no tie", Tone::Bad) };
    let top = |entries: Vec<TopEntry>| entries.into_iter().take(TOP).collect();
    let step =
        |steps: &Vec<Vec<TopEntry>>| steps.get(divergence.index).cloned().unwrap_or_default();
    Parting {
        case: sample.reference.id.clone(),
        index: divergence.index as u64,
        prompt: cut(&sample.reference.prompt_text, CUT),
        shared: tail(text.get(..at).unwrap_or_default(), SHORT),
        ours: Side {
            token: divergence.found,
            text: after(text),
            top: top(ours.map(|subject| step(&subject.steps)).unwrap_or_default()),
        },
        oracle: Side {
            token: divergence.expected,
            text: after(theirs),
            top: top(sample.reference.steps.get(divergence.index).map(top_of).unwrap_or_default()),
        },
        verdict: Cell { text: word.to_owned(), tone: Some(tone), ..Cell::default() },
        reading: reading(adjudication, check),
    }
}

/// Rank and gap as the oracle has them, and the band that they are held against.
fn reading(
    adjudication: Option<Adjudication>,
    check: Option<&NearTieCheck>,
) -> Vec<(String, String)> {
    let (Some(found), Some(check)) = (adjudication, check) else {
        return vec![("bound".to_owned(), "every id must be equal".to_owned())];
    };
    let told = |reading: &Reading| match (reading.rank, reading.gap_mnats) {
        (Some(rank), Some(gap)) => format!("rank {rank}, gap {gap:.1} milli-nats"),
        _ => "outside the oracle's window".to_owned(),
    };
    let mut lines = vec![("our token with the oracle".to_owned(), told(&found.decoded))];
    lines.extend(
        found.reread.iter().map(|reread| ("read again in one batch".to_owned(), told(reread))),
    );
    let bound =
        format!("rank at most {}, gap at most {} milli-nats", check.top.0, check.band_mnats.0);
    lines.push(("a tie is".to_owned(), bound));
    lines
}

/// The start of a text.
fn cut(text: &str, most: usize) -> String {
    let mut head: String = text.chars().take(most).collect();
    if head.len() < text.len() {
        head.push('…');
    }
    head
}

/// Its end.
fn tail(text: &str, most: usize) -> String {
    let skipped = text.chars().count().saturating_sub(most);
    let tail: String = text.chars().skip(skipped).collect();
    if skipped > 0 { format!("…{tail}") } else { tail }
}

/// Every position of a gate of whole distributions.
pub(super) fn positions(chunks: &[LogitChunk]) -> Distribution {
    let all = chunks.iter().filter_map(|chunk| chunk.positions.as_ref().ok()).flatten();
    let positions = all.map(|position| (position.compared.divergence, position.compared.rank));
    Distribution { positions: positions.collect() }
}
