//! Kind `noise-rate`: we do not leave the oracle more often than it leaves itself.
//!
//! A single flip inside the oracle's own spread proves nothing; that there are more of ours than of its own does. The rate at
//! which our prompts leave the oracle is compared with the rate at which its own do, under the condition that changes most of
//! them, by Fisher's exact test (R. A. Fisher, The logic of inductive inference, 1935), one-sided: the probability, with the
//! number of flips given, of at least as many among ours if both rates were the same.
//!
//! A test of too few prompts finds nothing whatever is there. It counts only where it would have told a rate of ours that lies
//! half of our prompts above the oracle's own ([`can_tell`]); the number of prompts that this takes follows from alpha.

use crate::compare;
use crate::spec::NoiseRateCheck;

/// More prompts than this are not asked for.
const MOST_CASES: u64 = 512;

/// The kind's name in specs and records.
pub const NAME: &str = "noise-rate";

/// What it compares, in words.
pub fn explain(check: &NoiseRateCheck) -> String {
    format!(
        "the share of prompts that leave the oracle's ids must not be significantly above the share that the oracle itself \
         changes (the latest record of its oracle-consistency gate): Fisher's exact test, one-sided, alpha {}; beside an oracle \
         that never does, it takes {} to tell\nbecause: {}",
        check.alpha.0,
        needed_cases(Share { flipped: 0, of: 1 }, check.alpha.0)
            .map_or("too many prompts".to_owned(), |cases| format!(
                "{cases} prompts on both sides"
            )),
        check.because.0
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

/// Whether the test at `alpha` would tell, among `of` prompts of ours, a rate that lies half of them above `theirs`. The
/// probability falls as our flips rise, so the largest number within that rate is asked.
pub fn can_tell(of: u64, theirs: Share, alpha: f64) -> bool {
    if of == 0 || theirs.of == 0 {
        return false;
    }
    let flipped = (of * (2 * theirs.flipped + theirs.of) / (2 * theirs.of)).min(of);
    fisher_exact(Share { flipped, of }, theirs).is_some_and(|p| compare::within(p - alpha, 0.0))
}

/// The least number of prompts on both sides with which the test can tell, where the oracle goes on to leave itself as often as
/// in `theirs`; `None` above `MOST_CASES`.
pub fn needed_cases(theirs: Share, alpha: f64) -> Option<u64> {
    let as_often = |of| Share { flipped: of * theirs.flipped / theirs.of.max(1), of };
    (1..=MOST_CASES).find(|of| can_tell(*of, as_often(*of), alpha))
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

    fn tells(of: u64, theirs: (u64, u64), alpha: f64) -> bool {
        can_tell(of, Share { flipped: theirs.0, of: theirs.1 }, alpha)
    }

    /// By hand: half of 8 beside none of 8 is C(8,4) of C(16,4), 70/1820; 3 of 7 beside none of 7 is 35/364.
    #[test]
    fn eight_prompts_on_each_side_are_the_least_at_one_in_twenty() {
        assert!(tells(8, (0, 8), 0.05));
        assert!(!tells(7, (0, 7), 0.05));
        assert_eq!(needed_cases(Share { flipped: 0, of: 1 }, 0.05), Some(8));
        // 3 of 6 beside none of 6 is 20/220; 2 of 5 beside none of 5 is 10/45.
        assert_eq!(needed_cases(Share { flipped: 0, of: 3 }, 0.1), Some(6));
        // What smollm2-greedy has on record, and its proof.
        assert!(tells(30, (1, 30), 0.05));
        assert!(tells(4, (0, 32), 0.05));
    }

    /// 29 of 30 beside none of one is p = 2/31 and would pass; nothing but all 30 would be told.
    #[test]
    fn one_prompt_of_the_oracle_tells_nothing() {
        assert!(!tells(30, (0, 1), 0.05));
        assert!(!tells(1, (0, 1000), 0.0005));
        assert!(!tells(0, (0, 30), 0.05));
        assert!(!tells(30, (0, 0), 0.05));
        // An oracle that always leaves itself: nobody can leave it more often, and no number of prompts helps.
        assert!(!tells(30, (30, 30), 0.05));
        assert_eq!(needed_cases(Share { flipped: 30, of: 30 }, 0.05), None);
    }

    proptest::proptest! {
        #[test]
        fn where_it_can_tell_all_of_ours_beside_none_of_theirs_is_told(n in 1u64..40, m in 1u64..40) {
            if tells(n, (0, m), 0.05) {
                proptest::prop_assert!(p((n, n), (0, m)) <= 0.05);
            }
        }

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
