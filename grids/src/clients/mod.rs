//! Load generators beside each other, ours among them: each against a mock of known truth, one core a client and one the mock.
//!
//! Two questions, one declaration (`grids/clients/NAME.toml`, [`spec`]):
//! - **How far is each from the truth, and from which load on?** [`series`] says which legs there are and in which order, [`leg`]
//!   runs one (a fresh mock, one [`process`]), [`said`] reads what the client printed, [`judge`] holds it against the truth.
//! - **Do our aliases give that tool's own number?** [`alias`] runs the real tool once a mode of the mock through a [`relay`] that
//!   records the stream, computes the alias from the record, and compares.
//!
//! A client that is not installed is skipped by name. One that failed, or finished fewer requests than it was asked for, has no number.

pub mod alias;
pub mod error;
pub mod judge;
pub mod leg;
pub mod process;
pub mod relay;
pub mod said;
pub mod series;
pub mod spec;
pub mod tokenizer;

pub use error::ClientsError;

/// The two cores of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// Of the mock, and of the relay.
    pub mock: usize,
    /// Of the client, with all its processes.
    pub client: usize,
}
