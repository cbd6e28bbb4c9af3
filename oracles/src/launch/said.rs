//! What a log says of single layers.

use std::collections::BTreeMap;

/// What stands between values that differ from layer to layer.
const BETWEEN: &str = " + ";

/// Adds what one layer, or a group of them, says of `key`: a value that was said before changes nothing, another one is told beside
/// it, so that no layer stands for all.
pub(super) fn add_layer(settings: &mut BTreeMap<String, String>, key: &str, value: &str) {
    let value = value.trim();
    match settings.get_mut(key) {
        None => drop(settings.insert(key.to_owned(), value.to_owned())),
        Some(said) if said.split(BETWEEN).any(|one| one == value) => {}
        Some(said) => said.extend([BETWEEN, value]),
    }
}
