//! The proof that prompts share no more than they should at their start: a prefix cache would answer the rest.

use crate::workload::WorkloadError;

/// Tokens that two prompts may share at their start: two cache blocks of 16, which is what common prefix caches work with.
pub const COMMON_PREFIX_LIMIT: usize = 32;

/// The two prompts that share most at their start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// Place of the one.
    pub first: usize,
    /// Place of the other, later.
    pub second: usize,
    /// Tokens that they share.
    pub tokens: usize,
    /// Whether that is the whole of one of them.
    pub whole: bool,
}

/// The longest common prefix of any two prompts: in lexicographic order it is between neighbours. `None` of fewer than two.
pub fn longest_common(prompts: &[&[u32]]) -> Option<Longest> {
    let mut order: Vec<usize> = (0..prompts.len()).collect();
    order.sort_by_key(|&place| prompts[place]);
    let pairs = order.windows(2).map(|pair| {
        let (one, other) = (prompts[pair[0]], prompts[pair[1]]);
        let tokens = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        let whole = tokens == one.len().min(other.len());
        Longest { first: pair[0].min(pair[1]), second: pair[0].max(pair[1]), tokens, whole }
    });
    // A whole prompt inside another is worse than any length.
    pairs.max_by_key(|pair| (pair.whole, pair.tokens))
}

/// Refuses prompts of which two share more than [`COMMON_PREFIX_LIMIT`] tokens at their start, or one is the start of another.
pub fn check_unique(prompts: &[&[u32]]) -> Result<(), WorkloadError> {
    match longest_common(prompts) {
        Some(Longest { first, second, tokens, whole }) if whole || tokens > COMMON_PREFIX_LIMIT => {
            Err(WorkloadError::Prefix { first, second, tokens, limit: COMMON_PREFIX_LIMIT })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_any_two() {
        let prompts: [&[u32]; 4] = [&[5, 1, 2, 3], &[4, 9], &[5, 1, 7], &[5, 2]];
        let found = longest_common(&prompts).unwrap();
        assert_eq!(found, Longest { first: 0, second: 2, tokens: 2, whole: false });
        assert_eq!(longest_common(&prompts[..1]), None);
    }

    #[test]
    fn refuses_at_the_bound() {
        let with = |shared: usize, own: u32| [vec![1; shared], vec![own; 4]].concat();
        let check = |shared| check_unique(&[&with(shared, 2), &with(shared, 3)]);
        assert!(check(COMMON_PREFIX_LIMIT).is_ok());
        assert!(matches!(
            check(33),
            Err(WorkloadError::Prefix { first: 0, second: 1, tokens: 33, .. })
        ));
        assert!(check_unique(&[&[1, 2], &[1, 2, 3]]).is_err(), "one is the start of the other");
        assert!(check_unique(&[&[1, 2], &[1, 2]]).is_err());
    }
}
