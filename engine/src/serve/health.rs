//! How the server is: `/health`, `/live`, `/version`, `/server_info`, `/metrics`, `/reset_prefix_cache`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::app::App;
use super::error::ApiError;

/// 200 once requests are answered, and until the server ends.
pub(super) async fn health(State(app): State<Arc<App>>) -> Result<StatusCode, ApiError> {
    if app.handle.is_ready() && !app.is_draining() {
        return Ok(StatusCode::OK);
    }
    let message =
        if app.is_draining() { "the server is shutting down" } else { "the model is not warm yet" };
    Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message))
}

/// 200 as long as the process lives.
pub(super) async fn live() -> StatusCode {
    StatusCode::OK
}

pub(super) async fn version(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({"version": app.settings.version}))
}

/// The configuration as it was resolved.
pub(super) async fn server_info(State(app): State<Arc<App>>) -> Json<Value> {
    Json(app.settings.info.clone())
}

pub(super) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.metrics.text())
}

pub(super) async fn reset_prefix_cache(State(app): State<Arc<App>>) -> StatusCode {
    app.handle.forget_prefixes();
    StatusCode::OK
}
