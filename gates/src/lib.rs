//! Does it agree? The gate runner and its kinds.
//!
//! The path of one run, in order: [`spec`] reads the gate, [`workload`] its inputs; [`subject`] finds the shipped `plumb` and
//! drives it; [`supplies`] gives the checkpoint and the oracle or its golden; [`mod@bench`] holds all of it; [`run`] opens the
//! record, lets [`collect`] ask both sides, asks the rules of [`validity`], lets [`judge`] decide and appends the record.
//! [`capture`] takes goldens from a live oracle; [`prove`] plants the faults of [`fault`] and demands that each is caught.
//!
//! What it never does: link the engine, decide a verdict while it measures, or compare floats outside of [`compare`].

pub mod agreement;
pub mod bench;
pub mod capture;
pub mod chain;
pub mod collect;
pub mod command;
pub mod compare;
pub mod derived;
pub mod evidence;
pub mod facts;
pub mod fault;
pub mod interrupt;
pub mod journal;
pub mod judge;
pub mod kind;
pub mod portable;
pub mod precedents;
pub mod prove;
pub mod recheck;
pub mod recording;
pub mod regressions;
pub mod report;
pub mod review;
pub mod rule;
pub mod run;
pub mod samples;
pub mod spec;
pub mod subject;
pub mod supplies;
pub mod validity;
pub mod words;
pub mod workload;

/// [`records::harness_digest`] of the sources that this program was built from; `None` where there were none to read.
pub const HARNESS_SHA256: Option<&str> = option_env!("GATE_HARNESS_SHA256");
