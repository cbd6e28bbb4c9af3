//! What a series adds to the page of a run.

use super::page::Section;
use super::run::File;
use crate::record::{Record, Series};

/// Its sections.
pub fn sections(_record: &Record, _series: &Series, _files: &[File]) -> Vec<Section> {
    Vec::new()
}

/// What would change its word.
pub fn next(_series: &Series) -> String {
    String::new()
}
