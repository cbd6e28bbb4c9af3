//! The keys of a `config.json`, with a note of which were asked for.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::lines::line_of;
use super::{ConfigError, MAX_SIZE, SIZE, ValuePlace};

/// A JSON object whose keys must all be asked for.
pub(super) struct Keys {
    path: PathBuf,
    text: Rc<str>,
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
        let (prefix, used) = (String::new(), RefCell::default());
        Ok(Self { path, text: text.into(), prefix, object, used })
    }

    /// As [`Keys::read`]; none where there is no such file.
    pub(super) fn find_file(path: PathBuf) -> Result<Option<Self>, ConfigError> {
        match Self::read(path) {
            Err(ConfigError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The value of `key`, noted as used; none when it is absent or `null`.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        self.used.borrow_mut().insert(key.to_owned());
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// The number of something that there must be at least one of.
    pub(super) fn size(&self, key: &str) -> Result<Option<usize>, ConfigError> {
        let size = |value: &Value| value.as_u64().filter(|size| (1..=MAX_SIZE).contains(size));
        Ok(self.typed(key, SIZE, size)?.map(|size| size as usize))
    }

    /// A number that `accepts` takes.
    pub(super) fn number(
        &self,
        key: &str,
        expected: &str,
        accepts: impl Fn(f32) -> bool,
    ) -> Result<Option<f32>, ConfigError> {
        self.typed(key, expected, |value| {
            value.as_f64().map(|number| number as f32).filter(|&number| accepts(number))
        })
    }

    pub(super) fn bool(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<String>, ConfigError> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// One id or a list of ids of a vocabulary; none where the key is absent.
    pub(super) fn ids(
        &self,
        key: &str,
        vocabulary: usize,
    ) -> Result<Option<Vec<u32>>, ConfigError> {
        let id = |value: &Value| {
            let id = u32::try_from(value.as_u64()?).ok()?;
            ((id as usize) < vocabulary).then_some(id)
        };
        let expected =
            format!("a token id below the vocabulary's {vocabulary}, or a list of them,");
        self.typed(key, &expected, |value| match value {
            Value::Array(list) => list.iter().map(id).collect(),
            one => id(one).map(|id| vec![id]),
        })
    }

    /// The object under `key`, whose keys are then watched on their own.
    pub(super) fn object(&self, key: &str) -> Result<Option<Self>, ConfigError> {
        let object = self.typed(key, "an object", |value| value.as_object().cloned())?;
        Ok(object.map(|object| Self {
            path: self.path.clone(),
            text: Rc::clone(&self.text),
            prefix: format!("{}{key}.", self.prefix),
            object,
            used: RefCell::default(),
        }))
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
        let found = self.object.get(key).map_or_else(|| "absent".to_owned(), Value::to_string);
        self.refuse_found(key, found, expected.into())
    }

    /// The error that the value of `key`, worked out from other keys where this one is absent, is not supported.
    pub(super) fn refuse_value(
        &self,
        key: &str,
        value: usize,
        expected: impl Into<String>,
    ) -> ConfigError {
        match self.find(key) {
            Some(_) => self.refuse(key, expected),
            None => {
                self.refuse_found(key, format!("absent, which makes it {value}"), expected.into())
            }
        }
    }

    fn refuse_found(&self, key: &str, found: String, expected: String) -> ConfigError {
        let within = self.prefix.split_terminator('.').chain([key]).collect::<Vec<_>>();
        ConfigError::Value {
            path: self.path.clone(),
            key: format!("{}{key}", self.prefix),
            place: line_of(&self.text, &within).map_or(ValuePlace::Nowhere, ValuePlace::Line),
            found,
            expected,
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
