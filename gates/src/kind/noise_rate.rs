//! Kind `noise-rate`: we do not leave the oracle more often than it leaves itself.
//!
//! A single flip inside the oracle's own spread proves nothing; that there are more of ours than of its own does. The rate at
//! which our prompts leave the oracle is compared with the rate at which its own do, under the condition that changes most of
//! them, by Fisher's exact test (R. A. Fisher, The logic of inductive inference, 1935), one-sided: the probability, with the
//! number of flips given, of at least as many among ours if both rates were the same.

use crate::spec::NoiseRateCheck;

/// The kind's name in specs and records.
pub const NAME: &str = "noise-rate";

/// What it compares, in words.
pub fn explain(check: &NoiseRateCheck) -> String {
    format!(
        "the share of prompts that leave the oracle's ids must not be significantly above the share that the oracle itself \
         changes (the latest record of its oracle-consistency gate): Fisher's exact test, one-sided, alpha {}\nbecause: {}",
        check.alpha.0, check.because.0
    )
}

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// How many.
    pub flipped: u64,
    /// Of how many; at least as many.
    pub of: u64,
}

/// The probability of at least `ours.flipped` flips among our prompts, if both rates were the same: the upper tail of the
/// hypergeometric distribution. `None` where a share is more than all, or of none.
pub fn fisher_exact(ours: Share, theirs: Share) -> Option<f64> {
    let is_share = |share: Share| share.of > 0 && share.flipped <= share.of;
    if !is_share(ours) || !is_share(theirs) {
        return None;
    }
    let flips = ours.flipped + theirs.flipped;
    let total = ours.of + theirs.of;
    let most = flips.min(ours.of);
    let all = ln_choose(total, flips);
    let terms = (ours.flipped..=most)
        .filter(|ours_of_them| flips - ours_of_them <= theirs.of)
        .map(|k| (ln_choose(ours.of, k) + ln_choose(theirs.of, flips - k) - all).exp());
    Some(terms.sum::<f64>().min(1.0))
}

/// The logarithm of a binomial coefficient: counts of prompts are small, so a sum of logarithms is exact enough.
fn ln_choose(n: u64, k: u64) -> f64 {
    let k = k.min(n - k);
    (0..k).map(|i| ((n - i) as f64).ln() - ((i + 1) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::within;

    fn p(ours: (u64, u64), theirs: (u64, u64)) -> f64 {
        let share = |(flipped, of)| Share { flipped, of };
        fisher_exact(share(ours), share(theirs)).unwrap()
    }

    /// Counted by hand as fractions of binomial coefficients.
    #[test]
    fn tails_are_those_of_the_tables() {
        let cases = [
            // Fisher's tea: C(4,3) C(4,1) + C(4,4) C(4,0) of C(8,4).
            ((3, 4), (1, 4), 17.0 / 70.0),
            ((4, 4), (0, 4), 1.0 / 70.0),
            // C(3,3) C(18,0) of C(21,3).
            ((3, 3), (0, 18), 1.0 / 1330.0),
            // Two of ours and none of theirs among 10 each: C(10,2) of C(20,2).
            ((2, 10), (0, 10), 45.0 / 190.0),
            // C(5,2) C(5,1) + C(5,3) of C(10,3).
            ((2, 5), (1, 5), 60.0 / 120.0),
            // None of ours is no evidence at all, nor are no flips.
            ((0, 5), (3, 5), 1.0),
            ((0, 30), (0, 30), 1.0),
            ((30, 30), (30, 30), 1.0),
            // 1 of 30 on both sides: 1 - C(30,0) C(30,2) / C(60,2) = 1 - 435/1770.
            ((1, 30), (1, 30), 1.0 - 435.0 / 1770.0),
            // 6 of 30 against 1 of 30: (C(30,6) C(30,1) + C(30,7)) / C(60,7) = (593775*30 + 2035800) / 386206920.
            ((6, 30), (1, 30), 19_849_050.0 / 386_206_920.0),
        ];
        for (ours, theirs, expected) in cases {
            let found = p(ours, theirs);
            assert!(within((found - expected).abs(), 1e-12), "{ours:?} {theirs:?}: {found}");
        }
    }

    #[test]
    fn what_is_no_share_has_no_probability() {
        let share = |flipped, of| Share { flipped, of };
        assert_eq!(fisher_exact(share(0, 0), share(0, 5)), None);
        assert_eq!(fisher_exact(share(0, 5), share(0, 0)), None);
        assert_eq!(fisher_exact(share(6, 5), share(0, 5)), None);
    }

    proptest::proptest! {
        #[test]
        fn more_flips_of_ours_are_never_likelier(n in 1u64..60, m in 1u64..60, k in 0u64..60, j in 0u64..60) {
            let (k, j) = (k.min(n), j.min(m));
            let here = p((k, n), (j, m));
            proptest::prop_assert!((0.0..=1.0).contains(&here));
            if k < n {
                proptest::prop_assert!(p((k + 1, n), (j, m)) <= here + 1e-9);
            }
        }
    }
}
