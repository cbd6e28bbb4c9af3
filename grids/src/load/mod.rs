//! The load generator: requests sent as planned, and what came back, with the time of every read.
//!
//! Each thread of [`run`] has its own epoll, connections and requests; nothing is shared on the way of an event. A read is stamped
//! as soon as it returns; then [`answer`] takes it apart: [`http`] strips the framing, [`sse`] splits the stream, [`scan`] finds
//! the few keys that count. All of that is free of sockets and clocks, so that it can be tested at every split of the bytes.

pub mod account;
pub mod answer;
mod dialogue;
pub mod http;
pub mod interrupt;
pub mod monotonic;
pub mod piece;
pub mod plan;
pub mod prompts;
pub mod request;
pub mod run;
pub mod scan;
pub mod sse;
pub mod trace;

pub(crate) mod connection;
pub mod stream;
pub(crate) mod timers;
mod worker;
