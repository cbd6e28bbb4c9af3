//! Tokenizers against ids that llama.cpp gave (each fixture names its origin), and against bad input.

mod fixture;
mod gguf_file;
mod hugging_face;
mod mutated;
mod refused;
mod vocabularies;
