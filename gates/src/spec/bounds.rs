//! Values that a spec can only hold within their bounds.

use serde::Deserialize;

use crate::rule::{BAND_CEILING_MNATS, TOP_CEILING};

/// A count of at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Positive(pub u32);

impl TryFrom<u32> for Positive {
    type Error = &'static str;
    fn try_from(value: u32) -> Result<Self, Self::Error> {
        if value == 0 { Err("must be at least 1") } else { Ok(Self(value)) }
    }
}

/// A window of the oracle's ranking, 1 to [`TOP_CEILING`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "usize")]
pub struct Top(pub usize);

impl TryFrom<usize> for Top {
    type Error = String;
    fn try_from(value: usize) -> Result<Self, Self::Error> {
        if (1..=TOP_CEILING).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("must be 1 to {TOP_CEILING}, the window the oracle answers"))
        }
    }
}

/// A near-tie band in milli-nats, above 0 and at most [`BAND_CEILING_MNATS`].
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub struct BandMnats(pub f64);

impl TryFrom<f64> for BandMnats {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if value > 0.0 && value <= BAND_CEILING_MNATS {
            Ok(Self(value))
        } else {
            Err(format!(
                "a band is above 0 and at most {BAND_CEILING_MNATS} milli-nats, two ulp of a bf16 logit"
            ))
        }
    }
}

/// The reason of a tolerance; a blank one is none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Because(pub String);

impl TryFrom<String> for Because {
    type Error = &'static str;
    fn try_from(value: String) -> Result<Self, Self::Error> {
        if value.trim().is_empty() {
            Err("says where the tolerance comes from; it cannot be blank")
        } else {
            Ok(Self(value))
        }
    }
}

/// The name of a planted fault, checked against the registry in [`crate::fault`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FaultName(pub String);

impl TryFrom<String> for FaultName {
    type Error = String;
    fn try_from(value: String) -> Result<Self, Self::Error> {
        if crate::fault::by_name(&value).is_some() {
            return Ok(Self(value));
        }
        let known: Vec<&str> = crate::fault::ALL.iter().map(|fault| fault.name).collect();
        Err(format!("unknown fault `{value}`; known are {}", known.join(", ")))
    }
}
