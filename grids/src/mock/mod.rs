//! A server whose truth is known: when each token leaves, how many there are, and every way in which a stream can go wrong.
//!
//! What a [`Mode`] sends is a [`script`]: steps with their times, from the moment at which the request was whole. The
//! [`server`] plays scripts; how late it was itself is kept, so that an error of the client is not blamed on it, nor the reverse.

pub mod ask;
pub mod mode;
pub mod rate;
pub mod render;
pub mod script;
pub mod server;

mod session;
mod worker;

pub use mode::Mode;
pub use server::{Mock, MockError, Options, Served};
