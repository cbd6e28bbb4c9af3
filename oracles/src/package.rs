//! Archives of a package index, fetched by the index's ordinary client.

use serde::{Deserialize, Serialize};

/// A pinned archive of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Package {
    /// Which index; `pypi` is the one there is.
    pub index: Index,
    /// The distribution's name.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// The archive's file name.
    pub file: String,
    /// sha256 of the archive.
    pub sha256: String,
}

/// A package index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Index {
    /// The Python package index, as the user's pip is configured to reach it.
    Pypi,
}
