//! `plumb serve` over real sockets, on a tiny model: what is answered, what is refused, and that it lives on.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

#[path = "serve/client.rs"]
mod client;
#[path = "serve/endurance.rs"]
mod endurance;
#[path = "serve/protocol.rs"]
mod protocol;
#[path = "serve/refusals.rs"]
mod refusals;
#[path = "serve/served.rs"]
mod served;
