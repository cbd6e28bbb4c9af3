//! The load generator: requests sent as planned, and what came back, with the time of every read.

pub mod trace;
