//! Values that a spec can only hold within their bounds.

use serde::{Deserialize, Serialize};

/// The reason of a tolerance; a blank one is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Because(pub String);

impl TryFrom<String> for Because {
    type Error = &'static str;
    fn try_from(value: String) -> Result<Self, Self::Error> {
        if value.trim().is_empty() {
            Err("says where the bound comes from; it cannot be blank")
        } else {
            Ok(Self(value))
        }
    }
}

/// A share in percent, from 0 to below 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Percent(pub f64);

impl TryFrom<f64> for Percent {
    type Error = &'static str;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if (0.0..100.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err("a bound is from 0 to below 100 percent")
        }
    }
}

/// A bound of a ratio, with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bound {
    /// How far from the same, in percent: 2 is a ratio of 0.98.
    pub percent: Percent,
    /// Why so far.
    pub because: Because,
}

impl Bound {
    /// As a distance of log ratios: -ln(1 - percent / 100).
    pub fn log(&self) -> f64 {
        -(-self.percent.0 / 100.0).ln_1p()
    }
}

/// A level of significance, above 0 and at most 0.1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Alpha(pub f64);

impl TryFrom<f64> for Alpha {
    type Error = &'static str;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if value > 0.0 && value <= 0.1 {
            Ok(Self(value))
        } else {
            Err("a level of significance is above 0 and at most 0.1")
        }
    }
}

/// A count of at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct Positive(pub u32);

impl TryFrom<u32> for Positive {
    type Error = &'static str;
    fn try_from(value: u32) -> Result<Self, Self::Error> {
        if value == 0 { Err("must be at least 1") } else { Ok(Self(value)) }
    }
}

/// The name of an arm: it is part of file names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ArmName(pub String);

impl TryFrom<String> for ArmName {
    type Error = String;
    fn try_from(value: String) -> Result<Self, Self::Error> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if value.is_empty() || !value.chars().all(is_plain) {
            Err(format!("{value:?} is no name of an arm: lower-case letters, digits and `-`"))
        } else if value.ends_with(crate::series::NULL_ENDING) {
            Err(format!("{value:?}: the ending `{}` is the null arm's", crate::series::NULL_ENDING))
        } else {
            Ok(Self(value))
        }
    }
}
