//! A request's body: one JSON object, of which every key is read by somebody.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::{Request, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::ApiError;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_mins(1);

/// A JSON object, and the keys that nobody has read yet.
#[derive(Debug)]
pub(super) struct Body {
    object: Map<String, Value>,
    unread: BTreeSet<String>,
}

impl Body {
    /// Reads the object of a request of at most `limit` bytes.
    pub(super) async fn read(
        request: Request<axum::body::Body>,
        limit: usize,
    ) -> Result<Self, ApiError> {
        let bytes =
            tokio::time::timeout(PATIENCE, axum::body::to_bytes(request.into_body(), limit));
        let bytes = match bytes.await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) if is_too_long(&error) => {
                let message = format!("the body is longer than {limit} bytes");
                return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message));
            }
            Ok(Err(error)) => {
                return Err(ApiError::bad(format!("the body cannot be read: {error}")));
            }
            Err(_) => {
                let message = "the body did not arrive in time";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message));
            }
        };
        Self::parse(&bytes)
    }

    /// Reads the object in some bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        let object: Value = serde_json::from_slice(bytes)
            .map_err(|error| ApiError::bad(format!("the body is not JSON: {error}")))?;
        let Value::Object(object) = object else {
            return Err(ApiError::bad("the body is not a JSON object"));
        };
        let unread = object.keys().cloned().collect();
        Ok(Self { object, unread })
    }

    /// The keys and values.
    pub(super) fn map(&self) -> &Map<String, Value> {
        &self.object
    }

    /// The fields of `T`; an error names the field that makes no sense.
    pub(super) fn fields<T: DeserializeOwned>(&mut self) -> Result<T, ApiError> {
        let mut ignored = BTreeSet::new();
        let mut on_ignored = |path: serde_ignored::Path<'_>| {
            ignored.insert(path.to_string());
        };
        let object = serde_ignored::Deserializer::new(&self.object, &mut on_ignored);
        let fields = serde_path_to_error::deserialize(object).map_err(|error| {
            let path = error.path().to_string();
            let message = format!("{path}: {}", error.inner());
            ApiError::field(&path, message)
        })?;
        self.unread.retain(|key| ignored.contains(key));
        Ok(fields)
    }

    /// A value that is taken as it is.
    pub(super) fn take(&mut self, key: &str) -> Option<&Value> {
        self.unread.remove(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Refuses a field that asks for what is not there; one that asks for nothing passes.
    pub(super) fn refuse(&mut self, key: &str, neutral: &[Value]) -> Result<(), ApiError> {
        let Some(value) = self.take(key) else { return Ok(()) };
        let empty = match value {
            Value::Bool(value) => !value,
            Value::Array(values) => values.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        if empty || neutral.contains(value) {
            return Ok(());
        }
        Err(ApiError::field(key, format!("{key} is not supported by this server")))
    }

    /// The keys that nobody has read: they are told, and change nothing.
    pub(super) fn unread(self) -> BTreeSet<String> {
        self.unread
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::Body;

    #[derive(Debug, Deserialize)]
    struct First {
        #[allow(dead_code, reason = "only its being read matters")]
        a: Option<u32>,
    }

    #[derive(Debug, Deserialize)]
    struct Second {
        b: Option<bool>,
    }

    #[test]
    fn a_key_is_read_by_somebody_or_told() {
        let mut body = Body::parse(br#"{"a": 1, "b": true, "c": [], "d": 2}"#).unwrap();
        body.fields::<First>().unwrap();
        assert_eq!(body.fields::<Second>().unwrap().b, Some(true));
        body.refuse("c", &[]).unwrap();
        assert_eq!(body.refuse("d", &[json!(1)]).unwrap_err().param.as_deref(), Some("d"));
        assert!(body.unread().is_empty());
        let mut body = Body::parse(br#"{"a": "x", "z": 1}"#).unwrap();
        let error = body.fields::<First>().unwrap_err();
        assert_eq!((error.status.as_u16(), error.param.as_deref()), (400, Some("a")));
        assert_eq!(body.unread().into_iter().collect::<Vec<_>>(), ["a", "z"]);
        for text in ["[]", "{", "\"\"", ""] {
            assert_eq!(Body::parse(text.as_bytes()).unwrap_err().status.as_u16(), 400);
        }
    }
}
