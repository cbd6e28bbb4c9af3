//! Prompts of exact length that share no prefix.

use crate::workload::Item;
use crate::workload::counter::Counter;
use crate::workload::vocabulary::Vocabulary;

/// Items of a partition (`warm-up`, `c8/rep1`, …) with the given lengths, prompt first. Partitions are disjoint: each draws from
/// streams of its own. Whoever puts partitions together proves it with [`crate::workload::prefix::check_unique`].
pub fn items(
    vocabulary: &Vocabulary,
    seed: u64,
    partition: &str,
    lengths: impl IntoIterator<Item = (u32, u32)>,
) -> Vec<Item> {
    let counter = Counter::new(seed, &format!("prompt/{partition}"));
    let draw = |(index, (prompt_tokens, output_tokens)): (usize, (u32, u32))| Item {
        ids: vocabulary.draw(prompt_tokens, &mut counter.at(index as u64)),
        output_tokens,
    };
    lengths.into_iter().enumerate().map(draw).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workload::prefix::{check_unique, longest_common};

    #[test]
    fn partitions_are_exact_disjoint_and_the_same_for_every_arm() {
        let vocabulary = Vocabulary::new(32_000, &BTreeSet::from([0, 1, 2])).unwrap();
        let of = |partition| items(&vocabulary, 11, partition, vec![(64, 16); 20]);
        let (first, second) = (of("c8/rep1"), of("c8/rep2"));
        assert_eq!(first, of("c8/rep1"));
        assert!(first.iter().all(|item| item.ids.len() == 64 && item.output_tokens == 16));
        let all: Vec<&[u32]> = first.iter().chain(&second).map(|item| &item.ids[..]).collect();
        check_unique(&all).unwrap();
        assert!(longest_common(&all).unwrap().tokens <= 2, "by chance, of 32,000 ids");
        // A longer leg begins with the shorter one.
        assert_eq!(items(&vocabulary, 11, "c8/rep1", vec![(64, 16); 5])[..], first[..5]);
    }
}
