//! An estimate with its bounds, on the scale of the natural logarithm: 0 is "the same".

use serde::{Deserialize, Serialize};

/// An estimated log ratio with its confidence bounds. A bound is infinite where so few samples exclude nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    #[serde(deserialize_with = "open::none")]
    pub estimate: f64,
    /// The lower bound.
    #[serde(deserialize_with = "open::below")]
    pub lower: f64,
    /// The upper bound.
    #[serde(deserialize_with = "open::above")]
    pub upper: f64,
}

/// JSON has no infinity and writes `null` for it; here it is read back.
pub(crate) mod open {
    use serde::{Deserialize, Deserializer};

    fn or<'de, D: Deserializer<'de>>(from: D, open: f64) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(open))
    }

    pub(crate) fn none<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        or(from, f64::NAN)
    }

    pub(crate) fn below<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        or(from, f64::NEG_INFINITY)
    }

    pub(crate) fn above<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        or(from, f64::INFINITY)
    }
}

impl Interval {
    /// `estimate` with `half` on either side.
    pub fn around(estimate: f64, half: f64) -> Self {
        Self { estimate, lower: estimate - half, upper: estimate + half }
    }

    /// The smallest interval that holds both, with the estimate of the first: what it excludes, both exclude.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        // `f64::min` would drop a NaN; a bound that is none excludes nothing.
        let nothing = [self.lower, self.upper, other.lower, other.upper].iter().any(|b| b.is_nan());
        let (lower, upper) = if nothing {
            (f64::NEG_INFINITY, f64::INFINITY)
        } else {
            (self.lower.min(other.lower), self.upper.max(other.upper))
        };
        Self { estimate: self.estimate, lower, upper }
    }

    /// Half its width.
    pub fn half_width(self) -> f64 {
        (self.upper - self.lower) / 2.0
    }

    /// Whether it lies within `bound` of 0.
    pub fn is_within(self, bound: f64) -> bool {
        self.lower > -bound && self.upper < bound
    }

    /// Whether estimate and bounds are finite numbers.
    pub fn is_bounded(self) -> bool {
        self.estimate.is_finite() && self.lower.is_finite() && self.upper.is_finite()
    }

    /// With the arms swapped.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self { estimate: -self.estimate, lower: -self.upper, upper: -self.lower }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hull_excludes_both_exclude() {
        let (a, b) = (Interval::around(1.0, 0.5), Interval::around(2.0, 0.25));
        assert_eq!(a.hull(b), Interval { estimate: 1.0, lower: 0.5, upper: 2.25 });
        let none = Interval { estimate: 0.0, lower: f64::NAN, upper: f64::NAN };
        assert!(!none.is_within(1e9) && !a.hull(none).is_within(1e9) && !none.hull(a).is_bounded());
    }

    #[test]
    fn an_open_bound_reads_back() {
        let open = Interval { estimate: 0.1, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        let json = serde_json::to_string(&open).unwrap();
        assert_eq!(json, r#"{"estimate":0.1,"lower":null,"upper":null}"#);
        assert_eq!(serde_json::from_str::<Interval>(&json).unwrap(), open);
    }

    #[test]
    fn swapping_twice_is_nothing() {
        let a = Interval { estimate: 0.1, lower: -0.2, upper: 0.5 };
        assert_eq!(a.swapped(), Interval { estimate: -0.1, lower: -0.5, upper: 0.2 });
        assert_eq!(a.swapped().swapped(), a);
    }
}
