//! Recorded traffic in the form of Mooncake's traces: one JSON object a line with the time of arrival in milliseconds, both lengths,
//! and a hash for each block of 512 tokens of the prompt, equal where prefixes are equal.
//!
//! Format: kvcache-ai/Mooncake, `FAST25-release/traces/*.jsonl` and its README; R. Qin et al., "Mooncake: Trading More Storage for Less
//! Computation", FAST 2025.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::workload::counter::Counter;
use crate::workload::vocabulary::Vocabulary;
use crate::workload::{Item, WorkloadError, positive, text};

/// Tokens that one hash stands for.
pub const BLOCK_TOKENS: u32 = 512;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// Milliseconds since the start of the trace.
    pub timestamp: u64,
    /// Tokens of the prompt.
    pub input_length: u32,
    /// Tokens of the answer.
    pub output_length: u32,
    /// One for each block of the prompt; the last block may be cut off.
    pub hash_ids: Vec<u64>,
}

/// Reads a trace; its times have to ascend and its blocks to cover its prompts.
pub fn read(path: &Path) -> Result<Vec<Arrival>, WorkloadError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|source| WorkloadError::Read { path: name.clone(), source })?;
    parse(&name, &text)
}

fn parse(path: &str, text: &str) -> Result<Vec<Arrival>, WorkloadError> {
    let all: Vec<Arrival> = text::lines(path, text)?;
    let mut before = 0;
    for (index, arrival) in all.iter().enumerate() {
        let broken = |reason: String| {
            Err(WorkloadError::Line { path: path.to_owned(), line: index + 1, reason })
        };
        let blocks = arrival.input_length.div_ceil(BLOCK_TOKENS) as usize;
        if arrival.timestamp < before {
            return broken(format!(
                "arrived at {} ms, the line before at {before} ms",
                arrival.timestamp
            ));
        }
        if arrival.input_length == 0 || arrival.output_length == 0 {
            return broken("a prompt or an answer of no tokens".to_owned());
        }
        if arrival.hash_ids.len() != blocks {
            let (tokens, found) = (arrival.input_length, arrival.hash_ids.len());
            return broken(format!("{tokens} tokens are {blocks} blocks, found {found} hashes"));
        }
        before = arrival.timestamp;
    }
    Ok(all)
}

/// When each is sent: `speed` times as fast as recorded, from the first arrival on, in nanoseconds.
pub fn intended_ns(trace: &[Arrival], speed: f64) -> Result<Vec<u64>, WorkloadError> {
    let speed = positive("the speed", speed)?;
    let start = trace.first().map_or(0, |first| first.timestamp);
    let at = |arrival: &Arrival| ((arrival.timestamp - start) as f64 * 1e6 / speed).round() as u64;
    Ok(trace.iter().map(at).collect())
}

/// Prompts that share exactly the blocks that the recorded ones shared: a block's ids follow from its hash.
pub fn items(trace: &[Arrival], vocabulary: &Vocabulary, seed: u64) -> Vec<Item> {
    let blocks = Counter::new(seed, "mooncake");
    let item = |arrival: &Arrival| {
        let mut ids: Vec<u32> = arrival
            .hash_ids
            .iter()
            .flat_map(|&hash| vocabulary.draw(BLOCK_TOKENS, &mut blocks.at(hash)))
            .collect();
        ids.truncate(arrival.input_length as usize);
        Item { ids, output_tokens: arrival.output_length }
    };
    trace.iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TRACE: &str = r#"{"timestamp": 100, "input_length": 600, "output_length": 52, "hash_ids": [46, 47]}
{"timestamp": 100, "input_length": 1024, "output_length": 1, "hash_ids": [46, 48]}
{"timestamp": 3100, "input_length": 512, "output_length": 7, "hash_ids": [9]}"#;

    #[test]
    fn replays_times_lengths_and_shared_blocks() {
        let trace = parse("t.jsonl", TRACE).unwrap();
        assert_eq!(intended_ns(&trace, 1.0).unwrap(), [0, 0, 3_000_000_000]);
        assert_eq!(intended_ns(&trace, 2.0).unwrap(), [0, 0, 1_500_000_000]);
        assert!(intended_ns(&trace, 0.0).is_err() && intended_ns(&trace, f64::NAN).is_err());
        let vocabulary = Vocabulary::new(10_000, &BTreeSet::new()).unwrap();
        let items = items(&trace, &vocabulary, 1);
        let lengths: Vec<usize> = items.iter().map(|item| item.ids.len()).collect();
        assert_eq!(lengths, [600, 1_024, 512]);
        assert_eq!(items[0].ids[..512], items[1].ids[..512]);
        assert_ne!(items[0].ids[512..600], items[1].ids[512..600]);
        assert_ne!(items[0].ids[..512], items[2].ids);
    }

    #[test]
    fn points_at_what_is_wrong() {
        for (from, to, expected) in [
            ("3100", "99", "t.jsonl:3: arrived at 99 ms"),
            ("[46, 48]", "[46]", "t.jsonl:2: 1024 tokens are 2 blocks, found 1"),
            ("\"output_length\": 7", "\"output_length\": 0", "t.jsonl:3: a prompt or an answer"),
            ("hash_ids\": [9]", "hashes\": [9]", "t.jsonl:3: unknown field"),
        ] {
            let error = parse("t.jsonl", &TRACE.replace(from, to)).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
