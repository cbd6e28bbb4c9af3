//! The keys of a `config.json`, with a note of which were asked for.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::ConfigError;

/// A JSON object whose keys must all be asked for.
pub(super) struct Keys {
    path: PathBuf,
    /// What the keys of a nested object are prefixed with in messages: `rope_parameters.`.
    prefix: String,
    object: Map<String, Value>,
    used: RefCell<BTreeSet<String>>,
}

impl Keys {
    pub(super) fn read(path: PathBuf) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        let object = serde_json::from_str(&text)
            .map_err(|source| ConfigError::Json { path: path.clone(), source })?;
        Ok(Self::new(path, String::new(), object))
    }

    fn new(path: PathBuf, prefix: String, object: Map<String, Value>) -> Self {
        Self { path, prefix, object, used: RefCell::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The value of `key`, noted as used; none when it is absent or `null`.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        self.used.borrow_mut().insert(key.to_owned());
        self.object.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn usize(&self, key: &str) -> Result<Option<usize>, ConfigError> {
        self.typed(key, "a whole number", |value| value.as_u64().map(|n| n as usize))
    }

    pub(super) fn f32(&self, key: &str) -> Result<Option<f32>, ConfigError> {
        self.typed(key, "a number", |value| value.as_f64().map(|n| n as f32))
    }

    pub(super) fn bool(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<String>, ConfigError> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// One id or a list of ids.
    pub(super) fn ids(&self, key: &str) -> Result<Vec<u32>, ConfigError> {
        let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        let ids = self.typed(key, "a token id or a list of them", |value| match value {
            Value::Array(list) => list.iter().map(id).collect(),
            one => id(one).map(|id| vec![id]),
        })?;
        Ok(ids.unwrap_or_default())
    }

    /// The object under `key`, whose keys are then watched on their own.
    pub(super) fn object(&self, key: &str) -> Result<Option<Self>, ConfigError> {
        let object = self.typed(key, "an object", |value| value.as_object().cloned())?;
        Ok(object
            .map(|object| Self::new(self.path.clone(), format!("{}{key}.", self.prefix), object)))
    }

    /// The value, or the error that it is missing.
    pub(super) fn required<T>(
        &self,
        key: &str,
        expected: &'static str,
        value: Option<T>,
    ) -> Result<T, ConfigError> {
        value.ok_or_else(|| ConfigError::Missing {
            path: self.path.clone(),
            key: format!("{}{key}", self.prefix),
            expected,
        })
    }

    /// The error that `key` has a value that is not supported.
    pub(super) fn refuse(&self, key: &str, expected: impl Into<String>) -> ConfigError {
        ConfigError::Value {
            path: self.path.clone(),
            key: format!("{}{key}", self.prefix),
            found: self.object.get(key).map_or_else(|| "absent".to_owned(), Value::to_string),
            expected: expected.into(),
        }
    }

    /// The keys that were never asked for, in the file's order, under their full names.
    pub(super) fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        let unused = self.object.keys().filter(|key| !used.contains(*key));
        unused.map(|key| format!("{}{key}", self.prefix)).collect()
    }

    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.find(key) else { return Ok(None) };
        convert(value).map(Some).ok_or_else(|| self.refuse(key, expected))
    }
}
