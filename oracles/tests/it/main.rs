//! Tests of the crate from outside, against servers on loopback and a stand-in for an oracle.

mod fixture;
mod golden;
mod hub;
mod installation;
mod launch;
mod specs;
