//! Checkpoint reading: against what the reference packages read, and on every kind of bad file.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod fixtures;
mod gguf_faults;
mod inspect;
mod metadata;
mod mutation;
mod safetensors_faults;
mod writer;
