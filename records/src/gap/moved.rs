//! Whether what a record names is still what is declared.

use super::Present;
use crate::record::Record;

/// Whether the oracle of a record is no longer the one that is pinned. An oracle that does not say what it was built from, or
/// is not registered, is not the pinned one.
pub fn pin_moved(record: &Record, present: &Present) -> bool {
    record.oracle.as_ref().is_some_and(|oracle| {
        let built_from = oracle.identity.get("source_sha256").and_then(serde_json::Value::as_str);
        built_from.is_none() || built_from != present.pins.get(&oracle.name).map(String::as_str)
    })
}

/// Whether the oracle of a record is built or launched otherwise now than it was then.
pub fn definition_moved(record: &Record, present: &Present) -> bool {
    record.oracle.as_ref().is_some_and(|oracle| {
        let now = present.definitions.get(&oracle.name);
        now.is_none() || now != oracle.definition_sha256.as_ref()
    })
}
