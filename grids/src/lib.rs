//! How fast is it? So far: on what machine, and is that machine quiet enough to ask.
//!
//! The load generator and the grids come later; `grid list` says that there are none. What is here is what they will stand on:
//! [`clocks`], with the stand-in for a core clock that a virtual machine does not show, and [`statistics`] over samples.

pub mod arm;
pub mod clocks;
pub mod command;
pub mod conduct;
pub mod host;
pub mod load;
pub mod metric;
pub mod mock;
pub mod pinning;
pub mod rule;
pub mod selftest;
pub mod series;
pub mod spec;
pub mod statistics;
pub mod verdict;
pub mod workload;
