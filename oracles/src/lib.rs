//! Pinned oracles and checkpoints: fetched, provisioned, launched, read back.
//!
//! An *oracle* is another inference engine whose answers decide whether ours is right. Everything
//! about it is pinned and checked before it is believed: the source package by its sha256, the
//! installed files by a manifest, the running process by what it says about itself. A *checkpoint*
//! is a model pinned in the same way. A *golden* is an oracle's answers, kept on disk with the
//! identity of who gave them.
//!
//! What this crate never does: compare anything, or take an answer from the engine under test.

pub mod checkpoint;
pub mod digest;
pub mod golden;
pub mod home;
pub mod launch;
pub mod mock;
pub mod package;
pub mod perplexity;
pub mod place;
pub mod present;
pub mod progress;
pub mod provision;
pub mod registry;
pub mod tensors;
pub mod verbs;

mod error;
pub mod logs;
pub mod process;
pub mod spec;

pub use error::{Error, Result};
pub use home::Home;
pub use progress::Progress;
