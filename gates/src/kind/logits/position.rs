//! From two rows as wide as the vocabulary to what is kept of a position.

use oracles::verbs::ScoredChunk;
use serde::{Deserialize, Serialize};

use super::statistics::Position;
use crate::compare::ranking_nan_of_null;
use crate::subject::{Defect, Tapped, TopEntry};

/// How many of each side's most probable tokens are kept.
pub const TOP: usize = 20;

/// One chunk of the text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogitChunk {
    /// Its ids, as the oracle evaluated them and as they were given to the subject.
    pub ids: Vec<u32>,
    /// Each scored position, or why the subject's answer is none.
    pub positions: Result<Vec<LogitPosition>, Defect>,
}

/// One scored position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogitPosition {
    /// Its place in the chunk.
    pub at: usize,
    /// What it contributes.
    pub compared: Position,
    /// The oracle's most probable tokens, best first, the lower id first among equals.
    #[serde(deserialize_with = "ranking_nan_of_null")]
    pub oracle: Vec<TopEntry>,
    /// The subject's.
    #[serde(deserialize_with = "ranking_nan_of_null")]
    pub subject: Vec<TopEntry>,
}

/// Compares the subject's `logits`, a row a token, with what the oracle says of a chunk. An oracle's row that has no
/// numbers is for its own rule to refuse, before this.
pub fn chunk(scored: &ScoredChunk, logits: Result<Tapped, Defect>) -> LogitChunk {
    let ids = scored.ids.clone();
    let positions = logits.and_then(|logits| positions(scored, &logits));
    LogitChunk { ids, positions }
}

fn positions(scored: &ScoredChunk, logits: &Tapped) -> Result<Vec<LogitPosition>, Defect> {
    let width = scored.rows.first().map_or(0, Vec::len);
    let found = (logits.rows(), logits.width);
    if found != (scored.ids.len(), width) {
        return Err(Defect::Unreadable(format!(
            "logits of {} tokens by {}, expected {} by {width}",
            found.0,
            found.1,
            scored.ids.len()
        )));
    }
    let first = scored.first_scored();
    let pairs = scored.rows.iter().zip(scored.ids[first..].iter().skip(1)).enumerate();
    pairs
        .map(|(index, (base, next))| {
            let at = first + index;
            let row = logits.row(at);
            let compared = Position::compare(row, base, *next);
            let compared = compared.ok_or(Defect::NotANumber { step: at })?;
            let logprobs = log_softmax(row);
            Ok(LogitPosition { at, compared, oracle: top(base), subject: top(&logprobs) })
        })
        .collect()
}

/// The log-softmax of a row, computed in f64.
pub fn log_softmax(row: &[f32]) -> Vec<f32> {
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|logit| f64::from(logit - highest).exp()).sum();
    let normaliser = f64::from(highest) + sum.ln();
    row.iter().map(|logit| (f64::from(*logit) - normaliser) as f32).collect()
}

/// The most probable ones, best first, the lower id first among equals.
fn top(logprobs: &[f32]) -> Vec<TopEntry> {
    let mut entries: Vec<(u32, f32)> = (0..).zip(logprobs.iter().copied()).collect();
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if entries.len() > TOP {
        entries.select_nth_unstable_by(TOP, order);
        entries.truncate(TOP);
    }
    entries.sort_unstable_by(order);
    // A microunit of probability is more than anybody reads here.
    let rounded = |logprob: f32| (f64::from(logprob) * 1e6).round() / 1e6;
    entries.into_iter().map(|(id, logprob)| (id, rounded(logprob))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tokens; of the four ids the third position alone is scored, by the fourth.
    fn scored() -> ScoredChunk {
        let row = vec![0.75_f32.ln(), 0.25_f32.ln()];
        ScoredChunk { ids: vec![0, 1, 1, 0], rows: vec![row] }
    }

    fn logits(values: [f32; 8]) -> Tapped {
        Tapped { width: 2, values: values.to_vec() }
    }

    /// Logits so far apart that their difference is beyond f32: the evidence reads back, to the same bytes.
    #[test]
    fn a_divergence_beyond_every_number_survives_the_evidence() {
        let apart = [9.0, 1.0, 9.0, 1.0, f32::MAX, f32::MIN, 9.0, 1.0];
        let found = chunk(&scored(), Ok(logits(apart)));
        let kept = serde_json::to_string(&found).unwrap();
        let read: LogitChunk = serde_json::from_str(&kept).unwrap();
        assert!(found.positions.as_ref().unwrap()[0].compared.divergence.is_nan());
        assert!(read.positions.as_ref().unwrap()[0].compared.divergence.is_nan());
        assert_eq!(serde_json::to_string(&read).unwrap(), kept);
    }

    /// By hand: 0.75 ln(0.75 / 0.5) + 0.25 ln(0.25 / 0.5) = 0.130812 nats against equal logits.
    #[test]
    fn a_position_is_compared_by_its_own_row() {
        let equal = [9.0, 1.0, 9.0, 1.0, 3.0, 3.0, 9.0, 1.0];
        let found = chunk(&scored(), Ok(logits(equal))).positions.unwrap();
        assert_eq!((found.len(), found[0].at, found[0].compared.rank), (1, 2, 1));
        assert!((found[0].compared.divergence - 0.130_812).abs() <= 1e-6);
        assert!((found[0].compared.nll - 2.0_f64.ln()).abs() <= 1e-6);
        assert_eq!(found[0].subject.iter().map(|entry| entry.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(found[0].oracle[0], (0, -0.287_682));
    }

    #[test]
    fn what_has_no_numbers_or_another_shape_is_no_answer() {
        let mut broken = [0.0; 8];
        broken[4] = f32::NAN;
        let defect = |found: LogitChunk| found.positions.unwrap_err().to_string();
        assert!(defect(chunk(&scored(), Ok(logits(broken)))).contains("token 2"));
        let short = Tapped { width: 2, values: vec![0.0; 6] };
        assert!(defect(chunk(&scored(), Ok(short))).contains("3 tokens by 2, expected 4 by 2"));
        assert!(defect(chunk(&scored(), Err(Defect::Missing))).contains("not answered"));
    }
}
