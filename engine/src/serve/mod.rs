//! `plumb serve`: the OpenAI interface, as vLLM speaks it, over one engine.
//!
//! One thread owns the engine (`worker`); it hears commands between two steps and sends tokens to whoever asked. HTTP runs on
//! threads of its own: a request becomes tokens, waits for its turn, and its tokens become text and events. Neither side waits for
//! the other: commands and tokens go through queues, and a client that reads slowly only lets its own tokens pile up.

mod answers;
mod app;
mod body;
mod chat;
mod choice;
mod completions;
mod error;
mod fields;
mod handle;
mod health;
mod histogram;
mod limits;
mod logprobs;
mod metrics;
mod models;
mod prompt;
mod server;
mod sse;
mod text;
mod tokenize;
mod usage;
mod worker;

pub use app::{App, Settings};
pub use error::ApiError;
pub use handle::{Commands, Handle, engine_handle};
pub use limits::Keys;
pub use metrics::Metrics;
pub use server::{Ender, Running, ServeError, Server};
pub use worker::Worker;
