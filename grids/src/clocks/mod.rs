//! The state of the machine while something was measured. An arm opens a window around its own work and closes it; the judges read
//! what was recorded and never ask the machine.
//!
//! | module | what it is |
//! |---|---|
//! | [`spin`] | the stand-in for a core clock that a virtual machine does not show |
//! | [`gpu`] | samples of GPUs over NVML, ten a second |
//! | [`energy`] | energy of a window, where it is long enough |
//! | [`cpu`] | stolen time, pressure, load, context switches |
//! | [`process`] | who else keeps the machine busy |
//! | [`memory`] | what is available, and the page cache of files |
//! | [`rest`] | a server that winds down, waited for |
//! | [`window`] | all of it around one leg |
//! | [`bound`] | every bound, with its source |
//! | [`judge`] | the rules, pure |

pub mod bound;
pub mod cpu;
pub mod energy;
pub mod gpu;
pub mod judge;
pub mod memory;
pub mod process;
pub mod rest;
pub mod spin;
pub mod window;
