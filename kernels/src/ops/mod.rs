//! The operations of a transformer layer other than matrix products, each beside its reference.
//!
//! An operation works on rows that the caller has checked to be of one width. Where ggml's order of
//! roundings matters (`llamacpp-cpu`), the function says which order it keeps.

pub mod attention;
mod exp;
mod half_lanes;
mod norm;
mod path;
mod rope;
mod silu;

pub use norm::rms_norm;
pub use path::Path;
pub use rope::{Frequencies, Pairs, cos_sin_iterated, rotate};
pub use silu::{silu, silu_mul};
