//! A series: the legs that a plan demands, in order, and what became of each, on disk.
//!
//! | module | what it holds |
//! |---|---|
//! | [`plan`] | cells, comparisons, bounds and legs; hashed before the first run |
//! | [`mod@build`] | from a spec to a plan |
//! | [`order`] | in which order the arms of a block run |
//! | [`outcome`] | what became of a leg |
//! | [`spare`] | blocks that make up for discarded pairs |
//! | [`state`] | outcomes on disk; a series that was killed goes on |
//! | [`known`] | who the arms are |
//! | [`machine`] | where a leg ran |
//! | [`harness`] | which program conducts it |
//! | [`client`] | what the load generator was good for |
//! | [`lock`] | one series at a time on a machine, and one sitting at a time at a cell |

pub mod build;
pub mod client;
pub mod harness;
pub mod known;
pub mod lock;
pub mod machine;
pub mod order;
pub mod outcome;
pub mod plan;
pub mod spare;
pub mod state;

pub use build::build;
pub use client::{Client, Clients};
pub use known::{Known, KnownArms, KnownError};
pub use lock::{Lock, LockError};
pub use machine::{Host, Hosts};
pub use outcome::{Clock, Ended, Outcome, Outcomes, Spoilt};
pub use plan::{Calibration, Cell, Comparison, Leg, NULL_ENDING, NullArm, Plan, Role};
pub use spare::is_called_for;
pub use state::{State, StateError};
