//! A series: the legs that a plan demands, in order, and what became of each, on disk.
//!
//! | module | what it holds |
//! |---|---|
//! | [`plan`] | cells, comparisons, bounds and legs; hashed before the first run |
//! | [`mod@build`] | from a spec to a plan |
//! | [`order`] | in which order the arms of a block run |
//! | [`outcome`] | what became of a leg |
//! | [`state`] | outcomes on disk; a series that was killed goes on |
//! | [`lock`] | one series at a time on a machine |

pub mod build;
pub mod lock;
pub mod order;
pub mod outcome;
pub mod plan;
pub mod state;

pub use build::build;
pub use lock::{Lock, LockError};
pub use outcome::{Clock, Ended, Outcome, Outcomes};
pub use plan::{Cell, Comparison, Leg, NULL_ENDING, NullArm, Plan, Role};
pub use state::{State, StateError};
