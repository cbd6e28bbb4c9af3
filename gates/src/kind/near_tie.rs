//! Kind `near-tie`: a divergence passes when the oracle itself could not tell the two tokens apart.
//!
//! At the first divergence both sides have the same prefix, so the oracle's own log-probabilities there say how far our
//! token lies below its choice. Every later position is judged under teacher forcing: the subject is given the oracle's
//! ids, and wherever its first choice is another token, that token's gap is read in the same way.

use crate::compare;
use crate::samples::{GenerationSample, top_of};
use crate::spec::{BandSource, NearTieCheck};
use crate::subject::{Defect, Generated, TopEntry};

use super::token_exact::Divergence;

/// The kind's name in specs and records.
pub const NAME: &str = "near-tie";

/// What it compares, in words.
pub fn explain(check: &NearTieCheck) -> String {
    let source = match check.source {
        BandSource::OracleNoise => {
            "the oracle's own spread; a wider band than its golden has measured voids the run"
        }
        BandSource::Bf16Ulp => "one to two ulp of a bf16 logit",
    };
    format!(
        "where the ids part, our token must stand among the oracle's top {} and at most {} milli-nats below its \
         choice; the same at every position of a run that is forced along the oracle's ids.\n\
         band from: {source}\nbecause: {}",
        check.top.0, check.band_mnats.0, check.because.0
    )
}

/// One reading of our token in the oracle's ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Our token's place, 1 for the oracle's own choice; `None` outside the window that the oracle answered.
    pub rank: Option<usize>,
    /// How far below the oracle's choice it lies, in milli-nats; `None` outside the window.
    pub gap_mnats: Option<f64>,
}

impl Reading {
    /// Reads `token` in the oracle's top entries, best first.
    pub fn of(top: &[TopEntry], token: u32) -> Self {
        let Some(place) = top.iter().position(|(id, _)| *id == token) else {
            return Self { rank: None, gap_mnats: None };
        };
        Self { rank: Some(place + 1), gap_mnats: Some(compare::gap_mnats(top[0].1, top[place].1)) }
    }

    /// Whether it is a tie within the spec's bounds.
    pub fn is_tie(&self, check: &NearTieCheck) -> bool {
        match (self.rank, self.gap_mnats) {
            (Some(rank), Some(gap)) => {
                rank <= check.top.0 && compare::within(gap, check.band_mnats.0)
            }
            _ => false,
        }
    }
}

/// A first divergence, adjudicated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjudication {
    /// From the oracle's step as it decoded.
    pub decoded: Reading,
    /// From a second evaluation of the shared prefix; `None` without a live oracle.
    pub reread: Option<Reading>,
    /// Whether every reading there is calls it a tie.
    pub tie: bool,
}

/// Adjudicates a first divergence. Without the oracle's step there it is no tie.
pub fn adjudicate(
    sample: &GenerationSample,
    divergence: Divergence,
    check: &NearTieCheck,
) -> Adjudication {
    let top = sample.reference.steps.get(divergence.index).map(top_of).unwrap_or_default();
    let decoded = Reading::of(&top, divergence.found);
    let reread = sample
        .reread
        .as_ref()
        .filter(|reread| reread.position == divergence.index)
        .map(|reread| Reading::of(&reread.top, divergence.found));
    let tie = decoded.is_tie(check) && reread.is_none_or(|reading| reading.is_tie(check));
    Adjudication { decoded, reread, tie }
}

/// A position of the forced run at which our first choice is not the oracle's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flip {
    /// Where, and which ids.
    pub divergence: Divergence,
    /// Our choice in the oracle's ranking.
    pub reading: Reading,
}

/// The forced run of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct ForcedOutcome {
    /// Positions judged: all that the oracle answered.
    pub positions: usize,
    /// Positions at which our first choice differs.
    pub flips: Vec<Flip>,
}

/// Judges the forced run: the subject must have taken the oracle's ids, and reports its own ranking at each step.
pub fn judge_forced(
    sample: &GenerationSample,
    forced: &Generated,
) -> Result<ForcedOutcome, Defect> {
    let expected = &sample.reference.ids;
    if forced.ids != *expected || forced.prompt_ids != sample.reference.prompt_ids {
        return Err(Defect::Unreadable("the forced ids were not taken".to_owned()));
    }
    let mut flips = Vec::new();
    for (index, (ours, expected)) in forced.steps.iter().zip(expected).enumerate() {
        let Some((found, _)) = ours.first().copied() else {
            return Err(Defect::Unreadable(format!(
                "no ranking at token {index} of the forced run"
            )));
        };
        if found != *expected {
            let top = sample.reference.steps.get(index).map(top_of).unwrap_or_default();
            let divergence = Divergence { index, found, expected: *expected };
            flips.push(Flip { divergence, reading: Reading::of(&top, found) });
        }
    }
    Ok(ForcedOutcome { positions: forced.steps.len(), flips })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{BandMnats, Because, Top};

    fn check(band: f64, top: usize) -> NearTieCheck {
        NearTieCheck {
            band_mnats: BandMnats(band),
            top: Top(top),
            source: BandSource::Bf16Ulp,
            because: Because("test".into()),
        }
    }

    #[test]
    fn rank_and_gap_are_read_from_the_oracles_list() {
        let top = [(7, -0.25), (9, -0.5), (3, -4.0)];
        let reading = Reading::of(&top, 9);
        assert_eq!(reading.rank, Some(2));
        // -0.25 - (-0.5) = 0.25 nat = 250 milli-nats
        assert!(compare::within((reading.gap_mnats.unwrap() - 250.0).abs(), 1e-9));
        assert!(reading.is_tie(&check(250.0, 20)));
        assert!(!reading.is_tie(&check(249.0, 20)));
        assert!(!reading.is_tie(&check(250.0, 1)));
    }

    #[test]
    fn outside_the_window_and_not_a_number_are_never_ties() {
        assert!(!Reading::of(&[(7, -0.25)], 8).is_tie(&check(250.0, 20)));
        assert!(!Reading::of(&[], 8).is_tie(&check(250.0, 20)));
        assert!(!Reading::of(&[(7, f64::NAN), (8, -0.25)], 8).is_tie(&check(250.0, 20)));
        assert!(!Reading::of(&[(7, -0.25), (8, f64::NEG_INFINITY)], 8).is_tie(&check(250.0, 20)));
    }
}
