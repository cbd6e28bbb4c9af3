//! From intervals to a word: a pure rule. Every condition has the form `bound < interval`, so that what is no number says nothing.

use serde::{Deserialize, Serialize};

use super::word::Word;
use crate::spec::Claim;
use crate::statistics::interval::{Interval, open};

/// The bounds of one axis, as log ratios turned so that above 0 is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// What is to be shown.
    pub claim: Claim,
    /// m: how much worse is not yet worse.
    pub margin: f64,
    /// e: how different is still the same.
    pub equivalence: Option<f64>,
    /// F: what the set-up shows between equals; infinite where it shows nothing.
    #[serde(deserialize_with = "open::above")]
    pub floor: f64,
}

/// The word of an interval at level alpha, and of the one at level 2 alpha for the two one-sided tests of equivalence.
///
/// Whatever is better by less than F, or worse by less than F, is not told from what equals show: a margin or a band below F
/// cannot be established. Equivalence demands non-inferiority as well, so that a better subject never has a worse word.
///
/// Two one-sided tests: D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680.
pub fn word(interval: Interval, two_one_sided: Interval, bounds: &Bounds) -> Word {
    let Bounds { claim, margin, equivalence, floor } = *bounds;
    let is_equivalent =
        equivalence.is_some_and(|band| floor <= band && two_one_sided.is_within(band));
    match claim {
        _ if interval.lower > floor.max(0.0) => Word::Improved,
        Claim::Parity if interval.upper < -margin.max(floor) => Word::Fail,
        Claim::Parity if interval.lower > -margin && floor <= margin => {
            if is_equivalent {
                Word::Equivalent
            } else {
                Word::Pass
            }
        }
        Claim::Change if interval.upper < -floor => Word::Regressed,
        Claim::Change if is_equivalent => Word::Equivalent,
        _ => Word::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARITY: Bounds =
        Bounds { claim: Claim::Parity, margin: 0.02, equivalence: Some(0.015), floor: 0.005 };
    const CHANGE: Bounds =
        Bounds { claim: Claim::Change, margin: 0.0, equivalence: Some(0.015), floor: 0.005 };

    fn of(lower: f64, upper: f64, bounds: &Bounds) -> Word {
        let interval = Interval { estimate: f64::midpoint(lower, upper), lower, upper };
        word(interval, interval, bounds)
    }

    #[test]
    fn each_word_by_its_rule() {
        assert_eq!(of(0.006, 0.03, &PARITY), Word::Improved);
        assert_eq!(of(0.004, 0.03, &PARITY), Word::Pass);
        assert_eq!(of(-0.014, 0.014, &PARITY), Word::Equivalent);
        assert_eq!(of(-0.019, 0.01, &PARITY), Word::Pass);
        assert_eq!(of(-0.021, 0.01, &PARITY), Word::Inconclusive);
        assert_eq!(of(-0.04, -0.019, &PARITY), Word::Inconclusive);
        assert_eq!(of(-0.04, -0.021, &PARITY), Word::Fail);
        assert_eq!(of(-0.04, -0.006, &CHANGE), Word::Regressed);
        assert_eq!(of(-0.014, 0.014, &CHANGE), Word::Equivalent);
        assert_eq!(of(-0.016, 0.014, &CHANGE), Word::Inconclusive);
        assert_eq!(of(0.006, 0.016, &CHANGE), Word::Improved);
    }

    /// A set-up that shows 3 % between equals establishes no margin of 2 %, and calls nothing below 3 % a failure.
    #[test]
    fn nothing_is_said_below_the_floor() {
        let coarse = Bounds { floor: 0.03, ..PARITY };
        assert_eq!(of(-0.001, 0.001, &coarse), Word::Inconclusive);
        assert_eq!(of(-0.029, -0.021, &coarse), Word::Inconclusive);
        assert_eq!(of(-0.05, -0.031, &coarse), Word::Fail);
        let blind = Bounds { floor: f64::INFINITY, ..PARITY };
        assert_eq!(of(1.0, 2.0, &blind), Word::Inconclusive);
    }

    #[test]
    fn no_number_says_nothing() {
        for bounds in [PARITY, CHANGE] {
            assert_eq!(of(f64::NAN, f64::NAN, &bounds), Word::Inconclusive);
            assert_eq!(of(f64::NEG_INFINITY, f64::INFINITY, &bounds), Word::Inconclusive);
            let broken = Bounds { margin: f64::NAN, floor: f64::NAN, ..bounds };
            assert_ne!(of(-0.01, 0.01, &broken), Word::Pass);
        }
    }

    proptest::proptest! {
        /// Shifting the interval upwards never lowers the word of parity, and never takes IMPROVED or gives REGRESSED of a change.
        #[test]
        fn words_are_monotone(lower in -0.1_f64..0.1, width in 0.0_f64..0.1, up in 0.0_f64..0.1, floor in 0.0_f64..0.04) {
            let value = |word: Word| match word { Word::Fail | Word::Regressed => 0, Word::Inconclusive => 1, Word::Improved => 3, _ => 2 };
            let shifted = |bounds: &Bounds, by: f64| {
                let wide = Interval { estimate: lower + by, lower: lower + by, upper: lower + by + width };
                let inner = Interval { lower: wide.lower + 0.1 * width, upper: wide.upper - 0.1 * width, ..wide };
                value(word(wide, inner, bounds))
            };
            let parity = Bounds { floor, ..PARITY };
            proptest::prop_assert!(shifted(&parity, up) >= shifted(&parity, 0.0));
            let change = Bounds { floor, ..CHANGE };
            let (before, after) = (shifted(&change, 0.0), shifted(&change, up));
            proptest::prop_assert!(before != 3 || after == 3);
            proptest::prop_assert!(after != 0 || before == 0);
        }
    }
}
