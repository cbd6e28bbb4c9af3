//! Tests of the crate from outside, against servers on loopback and a stand-in for an oracle.

#![expect(clippy::unwrap_used, reason = "what these unwrap is set up by the tests themselves")]

mod cache;
mod elsewhere;
mod fixture;
mod golden;
mod hub;
mod installation;
mod launch;
mod live;
mod sglang;
mod specs;
mod venv;
