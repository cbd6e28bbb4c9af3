//! Server-sent events: one `data:` line and an empty one for each.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_stream::Stream;

/// Events that wait for a client that reads slowly, before its own tokens pile up.
const AHEAD: usize = 16;

/// Where a stream's events go.
pub(super) struct Events(Sender<Bytes>);

/// The client has gone away.
#[derive(Debug)]
pub(super) struct Gone;

/// The other end of events.
struct EventBytes(Receiver<Bytes>);

/// Events and the response that they are.
pub(super) fn stream() -> (Events, Response) {
    let (sender, receiver) = channel(AHEAD);
    let mut response = Body::from_stream(EventBytes(receiver)).into_response();
    let headers = response.headers_mut();
    headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    (Events(sender), response)
}

impl Events {
    /// Sends an event, when the client has room for it.
    pub(super) async fn send(&self, event: &Value) -> Result<(), Gone> {
        self.send_text(&event.to_string()).await
    }

    /// Sends the event after which there are no more.
    pub(super) async fn done(&self) -> Result<(), Gone> {
        self.send_text("[DONE]").await
    }

    /// Waits until the client has gone away.
    pub(super) async fn gone(&self) {
        self.0.closed().await;
    }

    async fn send_text(&self, data: &str) -> Result<(), Gone> {
        let event = Bytes::from(format!("data: {data}\n\n"));
        self.0.send(event).await.map_err(|_| Gone)
    }
}

impl Stream for EventBytes {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}
