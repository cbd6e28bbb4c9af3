//! Pairs of runs: ln(subject) - ln(reference), with the effect of who went first taken out.
//!
//! One run is one whole load at one cell, never a request or a token. In a block that runs the arms one after the other the later
//! run may be warmer, or hotter: with d = mu + gamma * order, gamma is half the difference between the two orders' means. In
//! balanced blocks it does not touch the mean of d, only its spread.

use serde::{Deserialize, Serialize};

use super::mean;

/// Which of the pair ran first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The reference, then the subject.
    ReferenceFirst,
    /// The subject, then the reference.
    SubjectFirst,
}

impl Order {
    /// +1 where the reference went first, -1 otherwise.
    pub fn sign(self) -> f64 {
        match self {
            Self::ReferenceFirst => 1.0,
            Self::SubjectFirst => -1.0,
        }
    }
}

/// One pair of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// ln(subject) - ln(reference).
    pub log_ratio: f64,
    /// Which ran first.
    pub order: Order,
    /// In which session: between two of them every server was started anew.
    pub session: u32,
}

impl Pair {
    /// Of two measured values; `None` unless both are positive finite numbers.
    pub fn of(reference: f64, subject: f64, order: Order, session: u32) -> Option<Self> {
        let is_number = |value: f64| value.is_finite() && value > 0.0;
        if !is_number(reference) || !is_number(subject) {
            return None;
        }
        Some(Self { log_ratio: subject.ln() - reference.ln(), order, session })
    }
}

/// gamma: what it does to ln(subject / reference) that the subject came second. `None` unless both orders occur.
pub fn slot_effect(pairs: &[Pair]) -> Option<f64> {
    let (first, second) = means(pairs)?;
    Some((first - second) / 2.0)
}

/// The log ratios without gamma; `None` unless both orders occur and all are finite.
pub fn adjusted(pairs: &[Pair]) -> Option<Vec<f64>> {
    let gamma = slot_effect(pairs).filter(|gamma| gamma.is_finite())?;
    Some(pairs.iter().map(|pair| pair.log_ratio - gamma * pair.order.sign()).collect())
}

/// The mean log ratio of each order.
fn means(pairs: &[Pair]) -> Option<(f64, f64)> {
    let of = |order| {
        let ratios = pairs.iter().filter(|pair| pair.order == order).map(|pair| pair.log_ratio);
        mean(&ratios.collect::<Vec<_>>())
    };
    Some((of(Order::ReferenceFirst)?, of(Order::SubjectFirst)?))
}

/// The sessions in ascending order.
pub fn sessions(pairs: &[Pair]) -> Vec<u32> {
    let mut sessions: Vec<u32> = pairs.iter().map(|pair| pair.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    fn pair(log_ratio: f64, order: Order) -> Pair {
        Pair { log_ratio, order, session: 1 }
    }

    /// By hand: means 4 and 1, gamma 1.5; without it 3, 2, 2, 3.
    #[test]
    fn the_slot_by_hand() {
        use Order::{ReferenceFirst, SubjectFirst};
        let pairs = [
            pair(4.5, ReferenceFirst),
            pair(0.5, SubjectFirst),
            pair(1.5, SubjectFirst),
            pair(3.5, ReferenceFirst),
        ];
        close(slot_effect(&pairs).unwrap(), 1.5, 1e-15);
        assert_eq!(adjusted(&pairs).unwrap(), [3.0, 2.0, 3.0, 2.0]);
        assert_eq!(adjusted(&pairs[..1]), None);
        assert_eq!(adjusted(&[]), None);
    }

    #[test]
    fn what_is_no_number_makes_no_pair() {
        for broken in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Pair::of(broken, 1.0, Order::SubjectFirst, 1), None);
            assert_eq!(Pair::of(1.0, broken, Order::SubjectFirst, 1), None);
        }
        let pair = Pair::of(2.0, 3.0, Order::SubjectFirst, 1).unwrap();
        close(pair.log_ratio, 1.5_f64.ln(), 1e-15);
    }
}
