//! The rule about an oracle's whole distributions.

use oracles::verbs::ScoredChunk;

use super::{Rule, Violation, violation};
use crate::compare;

/// V-COUNT: every chunk has all its tokens, a row for each position that is scored, and rows of numbers, all of one width.
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
        let whole = |row: &Vec<f32>| {
            row.len() == width && width > 0 && compare::all_finite(row.iter().map(|&p| p.into()))
        };
        let broken = chunk.rows.iter().position(|row| !whole(row))?;
        Some(format!("has no usable row {broken}: expected {width} finite log-probabilities"))
    };
    let mut found = chunks.iter().enumerate();
    let (index, reason) = found.find_map(|(index, chunk)| Some((index, wrong(chunk)?)))?;
    violation(Rule::Count, format!("the oracle's answer to chunk {index} {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(rows: usize, value: f32) -> ScoredChunk {
        ScoredChunk { ids: vec![0; 8], rows: vec![vec![value; 2]; rows] }
    }

    #[test]
    fn a_row_too_few_and_a_number_that_is_none_are_named() {
        assert_eq!(scores(&[chunk(3, -0.5)], 8), None);
        assert_eq!(scores(&[], 8), None);
        let reason = |chunks: &[ScoredChunk], context| scores(chunks, context).unwrap().reason;
        let mut narrow = chunk(3, -0.5);
        narrow.rows[2].pop();
        let cases = [
            reason(&[chunk(3, -0.5), chunk(2, -0.5)], 8),
            reason(&[chunk(3, -0.5)], 6),
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
}
