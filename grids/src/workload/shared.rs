//! Groups of prompts that share one prefix: a workload class of its own, never blended with prompts that share none.

use serde::{Deserialize, Serialize};

use crate::workload::counter::Counter;
use crate::workload::vocabulary::Vocabulary;
use crate::workload::{Item, WorkloadError};

/// The shape of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shape {
    /// Groups.
    pub groups: u32,
    /// Prompts of a group.
    pub prompts: u32,
    /// Tokens that the prompts of a group share at their start.
    pub prefix_tokens: u32,
    /// Tokens that a prompt has for itself.
    pub suffix_tokens: u32,
    /// Tokens of an answer.
    pub output_tokens: u32,
}

impl Shape {
    /// Share of all prompt tokens that a cache without bounds answers when every prefix is computed once.
    pub fn share_cached(&self) -> f64 {
        let (prompts, prefix) = (f64::from(self.prompts), f64::from(self.prefix_tokens));
        (prompts - 1.0) * prefix / (prompts * (prefix + f64::from(self.suffix_tokens)))
    }
}

/// The items, one of each group in turn, so that a cache has to hold all prefixes at once.
pub fn items(
    vocabulary: &Vocabulary,
    seed: u64,
    partition: &str,
    shape: Shape,
) -> Result<Vec<Item>, WorkloadError> {
    if shape.groups == 0 || shape.prompts == 0 {
        let found = format!("{} groups of {} prompts", shape.groups, shape.prompts);
        return Err(WorkloadError::range("the shape", &found, "at least one of each"));
    }
    let counter = |what: &str| Counter::new(seed, &format!("{what}/{partition}"));
    let (prefixes, suffixes) = (counter("shared-prefix"), counter("shared-suffix"));
    let item = |place: u32| {
        let group = u64::from(place % shape.groups);
        let mut ids = vocabulary.draw(shape.prefix_tokens, &mut prefixes.at(group));
        ids.extend(vocabulary.draw(shape.suffix_tokens, &mut suffixes.at(u64::from(place))));
        Item { ids, output_tokens: shape.output_tokens }
    };
    Ok((0..shape.groups * shape.prompts).map(item).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workload::prefix::longest_common;

    #[test]
    fn groups_share_their_prefix_and_nothing_else() {
        let vocabulary = Vocabulary::new(50_000, &BTreeSet::new()).unwrap();
        let shape = Shape {
            groups: 3,
            prompts: 4,
            prefix_tokens: 100,
            suffix_tokens: 20,
            output_tokens: 8,
        };
        let all = items(&vocabulary, 5, "c4/rep1", shape).unwrap();
        assert_eq!(all.len(), 12);
        assert!(all.iter().all(|item| item.ids.len() == 120));
        assert_eq!(all[0].ids[..100], all[3].ids[..100], "the same group");
        let group: Vec<&[u32]> = all.iter().step_by(3).map(|item| &item.ids[..]).collect();
        let longest = longest_common(&group).unwrap();
        assert!((100..=102).contains(&longest.tokens));
        let heads: Vec<&[u32]> = all[..3].iter().map(|item| &item.ids[..]).collect();
        assert!(longest_common(&heads).unwrap().tokens <= 2, "other groups");
        assert!((shape.share_cached() - 300.0 / 480.0).abs() < 1e-12);
        assert!(items(&vocabulary, 5, "x", Shape { groups: 0, ..shape }).is_err());
    }
}
