//! The set of failing gates equals the set that `open-gaps.toml` lists.

use super::state::{State, state};
use super::{OpenGaps, Present};
use crate::record::Record;

/// A gate on which the file and the records disagree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// It fails, and nobody said it would.
    #[error(
        "gate {gate} fails (record {record}) and is not listed: mend it, or list it under known-failing"
    )]
    Unlisted {
        /// The gate.
        gate: String,
        /// The record that says so.
        record: String,
    },
    /// It is listed, and passes.
    #[error(
        "gate {gate} is listed under known-failing and passes (record {record}): take it off the list"
    )]
    Stale {
        /// The gate.
        gate: String,
        /// The record that says so.
        record: String,
    },
    /// It is listed, and there is no such gate.
    #[error("gate {gate} is listed under known-failing and has no spec in gates/specs")]
    Unknown {
        /// The gate.
        gate: String,
    },
    /// A track relies on a gate that has no spec.
    #[error("track {track}: gate {gate} has no spec in gates/specs: list it under planned")]
    NotBuilt {
        /// The track.
        track: String,
        /// The gate.
        gate: String,
    },
    /// A track plans a gate that exists.
    #[error(
        "track {track}: gate {gate} is planned and has a spec in gates/specs: list it under gates"
    )]
    Built {
        /// The track.
        track: String,
        /// The gate.
        gate: String,
    },
}

/// All disagreements; empty when the file tells the truth.
pub fn mismatches(gaps: &OpenGaps, records: &[Record], present: &Present) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for gate in present.specs.keys() {
        let listed = gaps.known_failing.contains(gate);
        match state(gate, records, present) {
            State::Failed(record) | State::BelowFloor(record) if !listed => {
                found.push(Mismatch::Unlisted { gate: gate.clone(), record: record.id.clone() });
            }
            State::Passed(record) if listed => {
                found.push(Mismatch::Stale { gate: gate.clone(), record: record.id.clone() });
            }
            _ => {}
        }
    }
    let is_built = |gate: &String| present.specs.contains_key(gate);
    let unknown = gaps.known_failing.iter().filter(|gate| !is_built(gate));
    found.extend(unknown.map(|gate| Mismatch::Unknown { gate: gate.clone() }));
    for track in &gaps.tracks {
        let absent = track.gates.iter().filter(|gate| !is_built(gate));
        found.extend(
            absent.map(|gate| Mismatch::NotBuilt { track: track.id.clone(), gate: gate.clone() }),
        );
        let built = track.planned.iter().filter(|gate| is_built(gate));
        found.extend(
            built.map(|gate| Mismatch::Built { track: track.id.clone(), gate: gate.clone() }),
        );
    }
    found
}
