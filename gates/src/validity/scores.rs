//! The rule about an oracle's whole distributions.

use oracles::verbs::ScoredChunk;

use super::{Rule, Violation, violation};
use crate::compare;

/// How far a row's probabilities may sum from one, whatever the vocabulary. llama-perplexity's file holds a log-probability in
/// steps of 16 / 65535: half a step, 2^-13, is as much of each probability and so of their sum. As much again is more than
/// single precision takes from a log-softmax.
const QUANTISED: f64 = 1.0 / 4096.0;
/// And for each token: that file lifts what is less than e^-16 of the most probable token to it.
const LIFTED: f64 = 1.125e-7;

/// V-COUNT: every chunk has all its tokens, a row for each position that is scored, and rows of log-probabilities, all of one
/// width: finite, and of probabilities that sum to one.
pub fn scores(chunks: &[ScoredChunk], context: usize) -> Option<Violation> {
    let width = chunks.first()?.rows.first().map_or(0, Vec::len);
    let expected = context.saturating_sub(1 + context / 2);
    let wrong = |chunk: &ScoredChunk| {
        if chunk.ids.len() != context {
            return Some(format!("has {} tokens where {context} make a chunk", chunk.ids.len()));
        }
        if chunk.rows.len() != expected {
            return Some(format!("has {} rows, expected {expected}", chunk.rows.len()));
        }
        let mut rows = chunk.rows.iter().enumerate();
        rows.find_map(|(index, row)| {
            Some(format!("has no usable row {index}: {}", fault(row, width)?))
        })
    };
    let mut found = chunks.iter().enumerate();
    let (index, reason) = found.find_map(|(index, chunk)| Some((index, wrong(chunk)?)))?;
    violation(Rule::Count, format!("the oracle's answer to chunk {index} {reason}"))
}

/// What is wrong with a row.
fn fault(row: &[f32], width: usize) -> Option<String> {
    let finite = compare::all_finite(row.iter().map(|&logprob| logprob.into()));
    if row.len() != width || width == 0 || !finite {
        return Some(format!("expected {width} finite log-probabilities"));
    }
    let sum: f64 = row.iter().map(|&logprob| f64::from(logprob).exp()).sum();
    let bound = QUANTISED + LIFTED * width as f64;
    (!compare::within((sum - 1.0).abs(), bound))
        .then(|| format!("its probabilities sum to {sum:.6}, expected 1 within {bound:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(rows: usize, value: f32) -> ScoredChunk {
        ScoredChunk { ids: vec![0; 8], rows: vec![vec![value; 2]; rows] }
    }

    /// The logarithm of a half: of two tokens each has as much.
    const HALF: f32 = -std::f32::consts::LN_2;

    #[test]
    fn a_row_too_few_and_a_number_that_is_none_are_named() {
        assert_eq!(scores(&[chunk(3, HALF)], 8), None);
        assert_eq!(scores(&[], 8), None);
        let reason = |chunks: &[ScoredChunk], context| scores(chunks, context).unwrap().reason;
        let mut narrow = chunk(3, HALF);
        narrow.rows[2].pop();
        let cases = [
            reason(&[chunk(3, HALF), chunk(2, HALF)], 8),
            reason(&[chunk(3, HALF)], 6),
            reason(&[chunk(3, f32::NAN)], 8),
            reason(&[chunk(3, f32::NEG_INFINITY)], 8),
            reason(&[narrow], 8),
        ];
        let expected = [
            "the oracle's answer to chunk 1 has 2 rows, expected 3",
            "the oracle's answer to chunk 0 has 8 tokens where 6 make a chunk",
            "the oracle's answer to chunk 0 has no usable row 0: expected 2 finite log-probabilities",
            "the oracle's answer to chunk 0 has no usable row 0: expected 2 finite log-probabilities",
            "the oracle's answer to chunk 0 has no usable row 2: expected 2 finite log-probabilities",
        ];
        assert_eq!(cases, expected);
    }

    /// Of two tokens, as by hand: 2 * 0.5 * e^x sums to e^x, and the bound is 2^-12 and little more.
    #[test]
    fn probabilities_sum_to_one() {
        let summing_to = |sum: f64| chunk(3, HALF + sum.ln() as f32);
        for sum in [1.0, 1.000_24, 0.999_76] {
            assert_eq!(scores(&[summing_to(sum)], 8), None, "{sum}");
        }
        for sum in [1.000_25, 0.999_75, 0.5, 2.0, 0.0] {
            let broken = scores(&[chunk(3, HALF), summing_to(sum)], 8).unwrap();
            assert_eq!(broken.rule, Rule::Count);
        }
        let halved = scores(&[summing_to(0.5)], 8).unwrap().reason;
        let expected = "the oracle's answer to chunk 0 has no usable row 0: its probabilities sum to 0.500000, expected 1 within \
                        0.000244";
        assert_eq!(halved, expected);
    }

    /// A row as llama-perplexity's file holds it: 65536 codes of 16 nats, the least likely tokens lifted to e^-16 of the most
    /// likely. Of 100 000 tokens one has nearly everything.
    #[test]
    fn what_a_file_of_codes_loses_is_allowed() {
        let width = 100_000;
        let step = 16.0 / 65535.0;
        let exact: Vec<f64> = (0..width).map(|id| if id == 0 { 0.0 } else { -40.0 }).collect();
        let coded = exact
            .iter()
            .map(|logit| (f64::round((logit.max(-16.0) + 16.0) / step) * step - 16.0) as f32);
        let rows = vec![coded.collect::<Vec<f32>>(); 3];
        assert_eq!(scores(&[ScoredChunk { ids: vec![0; 8], rows }], 8), None);
    }
}
