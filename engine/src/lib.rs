//! The inference engine: checkpoints, tokenizers, models, and the verbs of the binary `plumb`.

pub mod batch;
pub mod chat_template;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod engine;
pub mod generation;
pub mod hidden;
pub mod inspect;
pub mod kv;
pub mod layers;
pub mod model;
pub mod models;
pub mod numerics;
pub mod runner;
pub mod sampler;
pub mod scheduler;
pub mod serve;
pub mod taps;
pub mod tokenizer;
pub mod weights;
