//! `/tokenize` and `/detokenize`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::app::App;
use super::body::Body;
use super::chat;
use super::error::ApiError;

#[derive(Debug, Deserialize)]
struct TokenizeFields {
    prompt: Option<String>,
    add_special_tokens: Option<bool>,
    return_token_strs: Option<bool>,
}

pub(super) async fn tokenize(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let mut body = Body::read(request, app.settings.max_body_bytes).await?;
    let fields: TokenizeFields = body.fields()?;
    body.take("model");
    let ids = match &fields.prompt {
        Some(text) => {
            let ids =
                app.tokenizer()?.encode(text, fields.add_special_tokens.unwrap_or(true), true);
            ids.map_err(|error| ApiError::field("prompt", error.to_string()))?
        }
        None if body.map().contains_key("messages") => chat::render(&app, &mut body)?,
        None => return Err(ApiError::field("prompt", "give a prompt or messages")),
    };
    app.warn_unread(body.unread());
    let strings = fields.return_token_strs.unwrap_or(false).then(|| {
        let text = |&id| app.tokenizer().ok()?.token_text(id).ok().map(str::to_owned);
        ids.iter().map(text).collect::<Vec<Option<String>>>()
    });
    Ok(Json(json!({
        "count": ids.len(),
        "max_model_len": app.settings.max_model_len,
        "tokens": ids,
        "token_strs": strings,
    })))
}

pub(super) async fn detokenize(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let mut body = Body::read(request, app.settings.max_body_bytes).await?;
    body.take("model");
    let ids = match body.take("tokens") {
        Some(Value::Array(ids)) => {
            ids.iter().map(|id| app.token_id("tokens", id)).collect::<Result<Vec<u32>, _>>()?
        }
        _ => return Err(ApiError::field("tokens", "tokens must be a list of token ids")),
    };
    app.warn_unread(body.unread());
    Ok(Json(json!({"prompt": app.decode(&ids)?})))
}
