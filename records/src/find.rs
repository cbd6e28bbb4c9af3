//! A record by what a person types: its id, or a beginning of the id or of the hash at its end that no other record has.

use crate::record::Record;

/// No record, or several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// None.
    #[error(
        "no record has an id or a hash that begins with {0:?}: `gate records list` names them all"
    )]
    None(String),
    /// Several, of which the first few are named.
    #[error("{text:?} could be {count} records: {}", .first.join(", "))]
    Several {
        /// What was typed.
        text: String,
        /// How many it fits.
        count: usize,
        /// The first of them.
        first: Vec<String>,
    },
}

/// How many candidates an error names.
const NAMED: usize = 4;

/// The record that `text` names.
pub fn find<'a>(
    records: impl Iterator<Item = &'a Record>,
    text: &str,
) -> Result<&'a Record, FindError> {
    let mut fitting = Vec::new();
    for record in records {
        if record.id == text {
            return Ok(record);
        }
        let hash = record.id.rsplit_once('-').map_or("", |(_, hash)| hash);
        if !text.is_empty() && (record.id.starts_with(text) || hash.starts_with(text)) {
            fitting.push(record);
        }
    }
    match fitting[..] {
        [] => Err(FindError::None(text.to_owned())),
        [record] => Ok(record),
        _ => Err(FindError::Several {
            text: text.to_owned(),
            count: fitting.len(),
            first: fitting.iter().take(NAMED).map(|record| record.id.clone()).collect(),
        }),
    }
}
