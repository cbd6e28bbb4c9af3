//! What every request sees, and which path leads where.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::error::ApiError;
use super::fields::random;
use super::handle::Handle;
use super::limits::{Keys, guard};
use super::metrics::Metrics;
use super::{chat, completions, health, models, tokenize};
use crate::chat_template::ChatTemplate;
use crate::generation::EndIds;
use crate::scheduler::Policy;
use crate::tokenizer::Tokenizer;

/// What a server keeps to, as it was resolved.
#[derive(Debug)]
pub struct Settings {
    /// The names under which the model is asked for; at least one, the first of which is told.
    pub names: Vec<String>,
    /// Where the model lies.
    pub path: String,
    /// The engine's version.
    pub version: String,
    /// The longest sequence, in tokens.
    pub max_model_len: usize,
    /// Token ids of the model.
    pub vocabulary: usize,
    /// Tokens that end an answer.
    pub ends: EndIds,
    /// Whether priorities count.
    pub policy: Policy,
    /// The most log probabilities of a token.
    pub max_logprobs: usize,
    /// Bytes of a request's body.
    pub max_body_bytes: usize,
    /// Requests at once, those that wait included.
    pub max_concurrent_requests: usize,
    /// Who may ask.
    pub keys: Keys,
    /// What `/server_info` tells.
    pub info: Value,
}

/// The state of a server.
#[derive(Debug)]
pub struct App {
    pub(super) settings: Settings,
    pub(super) handle: Handle,
    pub(super) metrics: Arc<Metrics>,
    pub(super) permits: Semaphore,
    /// Seconds of the epoch at which it began.
    pub(super) started: u64,
    tokenizer: Option<Arc<Tokenizer>>,
    template: Option<ChatTemplate>,
    draining: AtomicBool,
    /// Fields that were told to be unknown: once each.
    told: Mutex<BTreeSet<String>>,
}

/// What names an answer.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub(super) id: String,
    pub(super) created: u64,
}

impl Stamp {
    /// The name that a caller gives its request in a header.
    pub(super) fn asked(request: &Request) -> Option<String> {
        let id = request.headers().get("x-request-id")?.to_str().ok()?;
        (!id.is_empty() && id.len() <= 256).then(|| id.to_owned())
    }

    /// A name with that beginning, and the caller's own end where it has one.
    pub(super) fn new(prefix: &str, own: Option<String>) -> Self {
        let own = own.unwrap_or_else(|| format!("{:016x}{:016x}", random(), random()));
        Self { id: format!("{prefix}-{own}"), created: seconds() }
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl App {
    /// The state before the first request.
    pub fn new(
        settings: Settings,
        handle: Handle,
        metrics: Arc<Metrics>,
        tokenizer: Option<Arc<Tokenizer>>,
        template: Option<ChatTemplate>,
    ) -> Arc<Self> {
        let permits = Semaphore::new(settings.max_concurrent_requests);
        let (draining, told) = (AtomicBool::new(false), Mutex::default());
        let started = seconds();
        let app = Self {
            settings,
            handle,
            metrics,
            permits,
            started,
            tokenizer,
            template,
            draining,
            told,
        };
        Arc::new(app)
    }

    /// Every path.
    pub fn router(self: &Arc<Self>) -> Router {
        let guard = axum::middleware::from_fn_with_state(Arc::clone(self), guard);
        Router::new()
            .route("/v1/completions", post(completions::answer))
            .route("/v1/chat/completions", post(chat::answer))
            .route("/v1/models", get(models::list))
            .route("/v1/models/{*name}", get(models::one))
            .route("/tokenize", post(tokenize::tokenize))
            .route("/detokenize", post(tokenize::detokenize))
            .route("/reset_prefix_cache", post(health::reset_prefix_cache))
            .route("/health", get(health::health))
            .route("/live", get(health::live))
            .route("/version", get(health::version))
            .route("/server_info", get(health::server_info))
            .route("/metrics", get(health::metrics))
            .fallback(not_found)
            .method_not_allowed_fallback(not_allowed)
            .layer(guard)
            .with_state(Arc::clone(self))
    }

    /// Takes no more requests.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    pub(super) fn find_tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_deref()
    }

    pub(super) fn share_tokenizer(&self) -> Option<Arc<Tokenizer>> {
        self.tokenizer.clone()
    }

    pub(super) fn tokenizer(&self) -> Result<&Tokenizer, ApiError> {
        let missing = || ApiError::bad("the model has no tokenizer; give token ids");
        self.find_tokenizer().ok_or_else(missing)
    }

    pub(super) fn template(&self) -> Result<&ChatTemplate, ApiError> {
        let missing = || ApiError::bad("the model has no chat template; use /v1/completions");
        self.template.as_ref().ok_or_else(missing)
    }

    /// The text of ids, special tokens included.
    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, ApiError> {
        let text = self.tokenizer()?.decode_generated(ids, false);
        text.map_err(|error| ApiError::bad(error.to_string()))
    }

    /// A token id of a field.
    pub(super) fn token_id(&self, field: &str, value: &Value) -> Result<u32, ApiError> {
        let vocabulary = self.settings.vocabulary;
        let id = value.as_u64().filter(|&id| id < vocabulary as u64);
        id.map(|id| id as u32).ok_or_else(|| {
            let message =
                format!("{field} holds {value}, which is none of the {vocabulary} token ids");
            ApiError::field(field, message)
        })
    }

    /// Tells once of each field that nobody reads.
    pub(super) fn warn_unread(&self, fields: BTreeSet<String>) {
        /// Names that are kept; a caller may invent any number.
        const MOST: usize = 1000;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for field in fields {
            if told.len() < MOST && told.insert(field.clone()) {
                let line =
                    format!("plumb: a request has the unknown field {field:?}, which is ignored");
                // Nobody is left to tell when stderr is closed.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }
}

async fn not_found(request: Request) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("there is no {}", request.uri().path()))
}

async fn not_allowed(request: Request) -> ApiError {
    let message = format!("{} does not take {}", request.uri().path(), request.method());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}
