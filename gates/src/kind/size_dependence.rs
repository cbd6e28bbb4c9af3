//! Kind `size-dependence`: what must hold for a prompt of any length holds at each of several lengths.
//!
//! A prompt is run in one piece and continued greedily. Then its end is run one token at a time, and the same continuation behind
//! it: the first choice at each step must be the token that was generated. An engine that computes other things from a certain
//! number of rows on, or from a second batch on, chooses otherwise on one of the two ways.

use records::metric::{Measurement, Metric, Statistic};
use serde::{Deserialize, Serialize};

use super::alone::{Exchange, Failure, Findings, broken};
use crate::compare;
use crate::spec::SizeDependenceCheck;
use crate::subject::{Answers, Generated, TopEntry, read_generations};
use crate::words::count;

/// The kind's name in specs and records.
pub const NAME: &str = "size-dependence";

/// Both runs of every length.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeSample {
    /// Lengths by request id, in their order, with the tokens of the tail that are forced in the second run.
    pub lengths: Vec<(String, u32, u32)>,
    /// Prompts in one piece.
    pub whole: Exchange,
    /// Prompts without their tails, which are forced with the continuation behind them.
    pub forced: Exchange,
}

/// What it judges, in words.
pub fn explain(check: &SizeDependenceCheck) -> String {
    let lengths: Vec<String> = check.lengths.iter().map(|length| length.0.to_string()).collect();
    format!(
        "prompts of {} tokens, each continued greedily; then up to {} tokens of the prompt's end and the continuation are run one \
         at a time, and every first choice must be the token that was generated. Below {} tokens the log-probabilities are \
         equal to the last bit; from there on a gap of up to {} milli-nats is a tie, because: {}",
        lengths.join(", "),
        check.tail.0,
        check.exact_below,
        check.band_mnats.0,
        check.because.0
    )
}

/// Every length, both ways.
pub fn judge(check: &SizeDependenceCheck, sample: &SizeSample) -> Findings {
    let mut failures: Vec<Failure> =
        [&sample.whole, &sample.forced].into_iter().flat_map(broken).collect();
    let asked: Vec<u32> = sample.lengths.iter().map(|(_, length, _)| *length).collect();
    if asked != check.lengths.iter().map(|length| length.0).collect::<Vec<_>>() {
        failures.push(Failure::new("the lengths", "are not those of the spec"));
    }
    let read = |exchange: &Exchange| read_generations(&exchange.question, &exchange.answer);
    let mut outcomes = Vec::new();
    if let (true, Ok(whole), Ok(forced)) =
        (failures.is_empty(), read(&sample.whole), read(&sample.forced))
    {
        for (id, length, tail) in &sample.lengths {
            let pair = of(&whole, id).zip(of(&forced, id));
            let outcome =
                pair.map(|(whole, forced)| Outcome::of(check, whole, forced, (*length, *tail)));
            outcomes.push(outcome.unwrap_or_default());
        }
    }
    failures.extend(outcomes.iter().zip(&asked).filter_map(|(outcome, length)| {
        Some(Failure::new(format!("{length} tokens"), outcome.failure.clone()?))
    }));
    let ties: usize = outcomes.iter().map(|outcome| outcome.ties).sum();
    let differences: Vec<f64> =
        outcomes.into_iter().flat_map(|outcome| outcome.differences).collect();
    let largest = compare::largest(differences.iter().copied()).filter(|value| value.is_finite());
    let told = largest.map_or("not measured".to_owned(), |value| format!("{value:.3} milli-nats"));
    let summary = format!(
        "{} of prompts in one piece and token by token, {}, largest difference {told}",
        count(sample.lengths.len(), "length", "lengths"),
        count(ties, "tie", "ties")
    );
    let mut findings = Findings::of(sample.lengths.len(), failures, summary);
    let n = if largest.is_some() { differences.len() as u64 } else { 0 };
    findings.measurements = vec![
        Measurement::new(Metric::SizeDifferenceMnats, Statistic::Max, n, largest),
        Measurement::count(Metric::NearTies, ties as u64),
    ];
    findings
}

fn of<'a>(answers: &'a Answers<Generated>, id: &str) -> Option<&'a Generated> {
    answers.get(id)?.as_ref().ok()
}

/// How one length came out.
#[derive(Default)]
struct Outcome {
    failure: Option<String>,
    ties: usize,
    /// Of the generated token's log-probability on both ways, in milli-nats.
    differences: Vec<f64>,
}

impl Outcome {
    fn of(
        check: &SizeDependenceCheck,
        whole: &Generated,
        forced: &Generated,
        (length, tail): (u32, u32),
    ) -> Self {
        let tail = tail as usize;
        let mut outcome = Self::default();
        if forced.ids.len() != tail + whole.ids.len() {
            let (asked, found) = (tail + whole.ids.len(), forced.ids.len());
            outcome.failure = Some(format!("{asked} tokens were forced, {found} answered"));
            return outcome;
        }
        let band = if length < check.exact_below { 0.0 } else { check.band_mnats.0 };
        let pairs = whole.steps.iter().zip(forced.steps.iter().skip(tail));
        for (index, (id, (ours, again))) in whole.ids.iter().zip(pairs).enumerate() {
            let logprob =
                |top: &[TopEntry]| top.iter().find(|entry| entry.0 == *id).map(|entry| entry.1);
            let (Some(first), Some(then), Some(choice)) =
                (logprob(ours), logprob(again), again.first())
            else {
                outcome.fail(format!(
                    "generates {id} at token {index}, which is not ranked token by token"
                ));
                continue;
            };
            let difference = compare::difference_mnats(first, then);
            outcome.differences.push(difference);
            if !compare::all_finite([difference]) {
                outcome.fail(format!("has a log-probability at token {index} that is no number"));
            }
            let gap = compare::difference_mnats(choice.1, then);
            if length < check.exact_below && !compare::within(difference, 0.0) {
                outcome.fail(format!("differs by {difference:.3} milli-nats at token {index}, where nothing may differ"));
            } else if choice.0 != *id && compare::within(gap, band) {
                outcome.ties += 1;
            } else if choice.0 != *id {
                outcome.fail(format!(
                    "generates {id} at token {index} and chooses {} token by token, {gap:.1} milli-nats apart",
                    choice.0
                ));
            }
        }
        outcome
    }

    /// The first failure is told.
    fn fail(&mut self, what: String) {
        self.failure.get_or_insert(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{BandMnats, Because, Positive};

    fn generated(ids: &[u32], steps: &[&[TopEntry]]) -> Generated {
        let steps = steps.iter().map(|top| top.to_vec()).collect();
        Generated { prompt_ids: vec![1], ids: ids.to_vec(), text: String::new(), steps }
    }

    /// A prompt of this length that is continued with 6, and one token by token with this ranking behind one token of tail.
    fn judged(length: u32, again: &[TopEntry]) -> Outcome {
        let check = SizeDependenceCheck {
            lengths: vec![Positive(length)],
            tail: Positive(1),
            exact_below: 64,
            band_mnats: BandMnats(125.0),
            because: Because("a test".to_owned()),
        };
        let whole = generated(&[6], &[&[(6, -0.5), (7, -1.0)]]);
        let forced = generated(&[5, 6], &[&[(5, -0.5)], again]);
        Outcome::of(&check, &whole, &forced, (length, 1))
    }

    #[test]
    fn short_prompts_are_exact_and_long_ones_may_tie() {
        assert_eq!(judged(63, &[(6, -0.5), (7, -1.0)]).failure, None);
        assert!(judged(63, &[(6, -0.501), (7, -1.0)]).failure.is_some());
        assert_eq!(judged(64, &[(6, -0.75), (7, -1.0)]).failure, None);
        let tie = judged(64, &[(7, -0.5), (6, -0.625)]);
        assert_eq!((tie.failure, tie.ties), (None, 1));
        assert!(judged(64, &[(7, -0.5), (6, -0.626)]).failure.is_some());
        assert!(judged(64, &[(7, -0.5), (8, -0.6)]).failure.is_some());
        assert!(judged(64, &[(6, f64::NAN)]).failure.is_some());
        assert!(judged(63, &[(6, f64::NAN)]).failure.is_some());
    }
}
