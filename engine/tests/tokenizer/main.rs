//! Tokenizers against ids that llama.cpp gave (each fixture names its origin), and against bad input.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

mod fixture;
mod gguf_file;
mod hugging_face;
mod mutated;
mod refused;
mod vocabularies;
