//! The layers that models are wired from. A layer holds parameters and says which operations follow which;
//! the numerics profile of the pass says how each is computed.

mod attention;
mod block;
mod decoder;
mod embedding;
mod linear;
mod mlp;
mod norm;
mod pass;

pub use attention::Attention;
pub use block::Block;
pub use decoder::Decoder;
pub use embedding::{Embedding, Head};
pub use linear::Linear;
pub use mlp::GatedMlp;
pub use norm::RmsNorm;
pub use pass::Pass;
