//! What can be wrong with the arguments of a kernel. Lengths are checked once, at the edge; the inner loops rely on them.

use crate::{Format, Tier};

/// A refused argument. Every variant names what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A row does not divide into whole blocks of its format.
    #[error(
        "a row of {cols} values does not divide into {format} blocks of {block_len}; use another format for this tensor"
    )]
    RaggedRow {
        /// The format of the row.
        format: Format,
        /// Values in the row.
        cols: usize,
        /// Values in one block of the format.
        block_len: usize,
    },
    /// A buffer has another length than its shape says.
    #[error("{what} holds {found} {unit}, its shape needs {expected}")]
    WrongLength {
        /// Which argument.
        what: &'static str,
        /// The unit of the two lengths: `bytes` or `values`.
        unit: &'static str,
        /// The length that the shape asks for.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A shape whose size does not fit in memory addresses.
    #[error("a matrix of {rows} x {cols} values does not fit in this machine's address space")]
    TooLarge {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
    /// A ggml type id for which there is no format.
    #[error("ggml type {id} has no kernel here; known: {known}")]
    UnknownType {
        /// The id in the file.
        id: u32,
        /// The names of the formats that exist.
        known: String,
    },
    /// A tier was asked for by name that this processor does not have.
    #[error("the {tier} kernels need {needs}, which this processor lacks; choose the scalar tier")]
    TierUnavailable {
        /// The tier that was asked for.
        tier: Tier,
        /// The processor features it needs.
        needs: String,
    },
    /// A pool of no threads.
    #[error("a pool needs at least one thread")]
    NoThreads,
    /// The operating system refused a thread.
    #[error("thread {index} of the pool did not start: {reason}")]
    ThreadStart {
        /// Which worker.
        index: usize,
        /// What the operating system said.
        reason: String,
    },
}

/// The result of a kernel call.
pub type Result<T> = std::result::Result<T, Error>;

/// `found == expected`, or the error that says so.
pub(crate) fn expect_len(
    what: &'static str,
    unit: &'static str,
    expected: usize,
    found: usize,
) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::WrongLength { what, unit, expected, found }) }
}
