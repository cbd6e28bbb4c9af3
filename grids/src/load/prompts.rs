//! Prompts for where no workload is given: no two share their first token ids.

use super::request::Prompt;

/// Lowest id that is used: below it many vocabularies keep their special tokens.
const FIRST: u64 = 1000;
/// How many ids are used; every vocabulary of today has them.
const COUNT: u64 = 20_000;

/// The prompt at a place in the plan: the same for the same seed, whoever asks.
pub fn distinct(seed: u64, index: u32, tokens: u32) -> Prompt {
    let mut state = seed ^ (u64::from(index) << 32);
    // The place itself, in three digits, makes the beginnings differ whatever the generator gives.
    let place = u64::from(index);
    let digits = [place % COUNT, place / COUNT % COUNT, place / (COUNT * COUNT)];
    let rest = std::iter::repeat_with(|| split_mix(&mut state) % COUNT);
    let ids = digits.into_iter().chain(rest).map(|id| (FIRST + id) as u32);
    Prompt::Ids(ids.take(tokens as usize).collect())
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The first three outputs for the seed 1234567, as the algorithm's reference implementation gives them.
    #[test]
    fn generates_the_reference_sequence() {
        let mut state = 1_234_567;
        let found = [(); 3].map(|()| split_mix(&mut state));
        assert_eq!(
            found,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn beginnings_differ_and_lengths_are_exact() {
        let prompts: BTreeSet<Vec<u32>> = (0..50_000)
            .map(|index| match distinct(7, index, 2) {
                Prompt::Ids(ids) => ids,
                Prompt::Text(..) => panic!("ids were expected"),
            })
            .collect();
        assert_eq!(prompts.len(), 50_000);
        assert_eq!(distinct(7, 3, 100).tokens(), 100);
        assert_eq!(distinct(7, 3, 100), distinct(7, 3, 100));
        assert_ne!(distinct(7, 3, 100), distinct(8, 3, 100));
    }
}
