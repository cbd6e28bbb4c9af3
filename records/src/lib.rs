//! What was measured, and what may be said of it.
//!
//! A run of a gate becomes one [`Record`], kept for ever in a [`store::Store`]. The tracks of `open-gaps.toml` and the records
//! together give the open-gaps page: [`gap`] reads the tracks and derives each word; no person writes one.
//!
//! Nothing here runs anything or decides a verdict: this crate has no notion of a process.

pub mod canonical;
mod cut;
pub mod diff;
pub mod digest;
mod find;
pub mod gap;
mod harness_digest;
pub mod machine;
pub mod metric;
pub mod number;
pub mod packed;
pub mod pages;
#[cfg(feature = "query")]
pub mod query;
pub mod record;
#[cfg(feature = "review")]
pub mod review;
pub mod sampled;
#[cfg(feature = "query")]
pub mod samples;
mod source_digest;
pub mod store;

pub use cut::{cut, short};
pub use digest::{sha256_file, sha256_hex};
pub use find::{FindError, find};
pub use harness_digest::harness_digest;
pub use jiff::Timestamp;
pub use machine::Machine;
pub use metric::{Measurement, Metric, Statistic};
pub use record::{
    CellVerdict, CheckpointRef, Evidence, Medians, OracleRef, OracleSource, RatioInterval, Record,
    Series, Subject, Verdict, VerdictWord,
};
pub use source_digest::{SourceDigestError, source_digest, source_files};
pub use store::{Draft, External, Kept, Store, StoreError};
