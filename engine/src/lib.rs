//! The inference engine: checkpoints, tokenizers, models, and the verbs of the binary `plumb`.

pub mod checkpoint;
pub mod inspect;
pub mod tokenizer;
