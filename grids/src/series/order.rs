//! In which order the arms of a block run: each arm once a block, and over every two blocks each two arms in both orders.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::spec::BlockOrder;

/// The order of `arms` in each of `blocks` blocks (an even number), by index.
///
/// Forwards and backwards in turn, a linear drift cancels in the mean of two blocks. A seeded permutation before its reverse, or
/// behind it, does the same and gives no arm the same neighbours throughout.
pub fn orders(order: BlockOrder, arms: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut all = Vec::with_capacity(blocks);
    for twin in 0..blocks.div_ceil(2) {
        let mut forwards: Vec<usize> = (0..arms).collect();
        let mut is_turned = twin % 2 == 1;
        if order == BlockOrder::Balanced {
            forwards.shuffle(&mut random);
            is_turned = random.random_bool(0.5);
        }
        let backwards: Vec<usize> = forwards.iter().rev().copied().collect();
        let twins = if is_turned { [backwards, forwards] } else { [forwards, backwards] };
        all.extend(twins);
    }
    all.truncate(blocks);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_and_backwards_in_turn() {
        let found = orders(BlockOrder::Abba, 2, 4, 1);
        assert_eq!(found, [[0, 1], [1, 0], [1, 0], [0, 1]]);
    }

    proptest::proptest! {
        /// Every two arms come in both orders equally often, and at the same distance: what drifts linearly cancels.
        #[test]
        fn balanced_in_every_pair(arms in 2_usize..6, half in 1_usize..9, seed: u64, is_balanced: bool) {
            let order = if is_balanced { BlockOrder::Balanced } else { BlockOrder::Abba };
            let all = orders(order, arms, 2 * half, seed);
            proptest::prop_assert_eq!(&all, &orders(order, arms, 2 * half, seed));
            for (a, b) in (0..arms).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let place = |block: &Vec<usize>, arm| block.iter().position(|x| *x == arm).unwrap() as i64;
                let apart: i64 = all.iter().map(|block| place(block, a) - place(block, b)).sum();
                proptest::prop_assert_eq!(apart, 0);
            }
        }
    }
}
