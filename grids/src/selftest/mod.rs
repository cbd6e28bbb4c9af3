//! Does the client tell the truth? Every way of answering that the [mock](crate::mock) knows is measured and held against what is
//! known of it, and lies planted into the client's traces have to be found.
//!
//! [`collect`] runs a [`case`]; [`judge`] is a pure function of what came, so that a [`fault`] can be planted between the two and a
//! test needs no clock. [`certificate`] holds the client against the mock at one planned load.

pub mod case;
pub mod certificate;
pub mod collect;
pub mod expected;
pub mod fault;
pub mod judge;

#[cfg(test)]
mod tests;
