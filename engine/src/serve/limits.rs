//! Who may ask, and how many at once.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::app::App;
use super::error::ApiError;

/// The digests of the keys that open the server: what is compared has one length, and tells nothing of a key.
#[derive(Debug, Default)]
pub struct Keys(Vec<[u8; 32]>);

impl Keys {
    /// These keys; without any, everybody may ask.
    pub fn new(keys: &[String]) -> Self {
        Self(keys.iter().map(|key| Sha256::digest(key).into()).collect())
    }

    fn admit(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.split_once(' '));
        let Some((scheme, key)) = given else { return self.0.is_empty() };
        let digest: [u8; 32] = Sha256::digest(key).into();
        let opens = self.0.iter().fold(false, |opens, own| opens | equal(own, &digest));
        self.0.is_empty() || (scheme.eq_ignore_ascii_case("bearer") && opens)
    }
}

/// Equality in a time that does not depend on the bytes.
fn equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// Lets a request through that has a key, while there are not too many.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let guarded = request.uri().path().starts_with("/v1") && request.method() != Method::OPTIONS;
    if guarded && !app.settings.keys.admit(request.headers()) {
        return ApiError::new(StatusCode::UNAUTHORIZED, "Unauthorized").into_response();
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    if app.is_draining() {
        let message = "the server is shutting down";
        return ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    }
    let Ok(_permit) = app.permits.try_acquire() else {
        let most = app.settings.max_concurrent_requests;
        let message = format!("{most} requests are being answered already, as many as may");
        return ApiError::new(StatusCode::TOO_MANY_REQUESTS, message).into_response();
    };
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::Keys;

    #[test]
    fn a_key_opens_and_nothing_else_does() {
        let keys = Keys::new(&["secret".to_owned(), "other".to_owned()]);
        let admits = |keys: &Keys, value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            keys.admit(&HeaderMap::from_iter([(header::AUTHORIZATION, value)]))
        };
        assert!(admits(&keys, "Bearer secret") && admits(&keys, "bearer other"));
        assert!(
            !["Bearer secre", "Basic secret", "secret", "Bearer "]
                .map(|v| admits(&keys, v))
                .contains(&true)
        );
        assert!(!keys.admit(&HeaderMap::new()));
        assert!(Keys::default().admit(&HeaderMap::new()) && admits(&Keys::default(), "Bearer x"));
    }
}
