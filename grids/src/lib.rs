//! How fast is it, and may one say so?
//!
//! A spec becomes a plan ([`spec`], [`series`]), which is fixed before the first run; the plan is conducted on arms ([`arm`],
//! [`conduct`]) by a load generator of our own ([`load`], [`workload`]) between windows of the clock ([`clocks`]); what came is
//! measured ([`metric`]) and judged ([`verdict`], [`statistics`], [`correct`]); the words go on record
//! ([`recording`]) and can be derived from it again ([`recheck`]). The client is
//! held against a server of known truth before it is believed ([`mock`], [`selftest`]).

pub mod arm;
pub mod clients;
pub mod clocks;
pub mod command;
pub mod conduct;
pub mod correct;
pub mod host;
pub mod load;
pub mod metric;
pub mod mock;
pub mod pinning;
pub mod recheck;
pub mod recording;
pub mod rule;
pub mod selftest;
pub mod series;
pub mod slurm;
pub mod spec;
pub mod statistics;
pub mod verdict;
pub mod workload;
