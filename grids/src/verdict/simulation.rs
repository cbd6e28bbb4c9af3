//! Proof by simulation: to come.
