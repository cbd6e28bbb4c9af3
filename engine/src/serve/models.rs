//! `/v1/models`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::app::App;
use super::error::ApiError;

fn card(app: &App, name: &str) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": app.started,
        "owned_by": "plumbline",
        "root": app.settings.path,
        "parent": null,
        "max_model_len": app.settings.max_model_len,
        "permission": [],
    })
}

pub(super) async fn list(State(app): State<Arc<App>>) -> Json<Value> {
    let cards: Vec<Value> = app.settings.names.iter().map(|name| card(&app, name)).collect();
    Json(json!({"object": "list", "data": cards}))
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    if app.settings.names.contains(&name) {
        return Ok(Json(card(&app, &name)));
    }
    let message = format!("The model `{name}` does not exist.");
    let error = ApiError::new(StatusCode::NOT_FOUND, message);
    Err(ApiError { param: Some("model".to_owned()), ..error })
}
