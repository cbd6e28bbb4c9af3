//! Listening to intermediate values of a forward pass, by name.

use std::collections::BTreeMap;

use crate::hidden::Hidden;

/// Which values are kept, and the values: rows of successive batches are joined.
///
/// Names: `embed`, `layer.N` (the residual stream after layer `N`), `norm`, `logits`, and inside a layer
/// `layer.N.attention_norm`, `query` and `key` (after rotation), `value`, `attended`, `attention`,
/// `middle` (the residual stream between), `mlp_norm`, `gate`, `up`, `gated`, `mlp`.
#[derive(Debug, Default)]
pub struct Taps {
    wanted: Vec<String>,
    kept: BTreeMap<String, Tapped>,
}

/// A value that was listened to: rows of `width` values.
#[derive(Clone, Debug, PartialEq)]
pub struct Tapped {
    /// Values in a row.
    pub width: usize,
    /// The values, row after row.
    pub values: Vec<f32>,
}

impl Taps {
    /// Nobody listens.
    pub fn none() -> Self {
        Self::default()
    }

    /// Keeps the values of these names. A name that ends in `*` stands for all that start so.
    pub fn on(wanted: Vec<String>) -> Self {
        Self { wanted, kept: BTreeMap::new() }
    }

    /// Keeps `hidden` if its name is wanted.
    pub fn record(&mut self, name: &str, hidden: &Hidden) {
        if self.wants(name) {
            let tapped = self.kept.entry(name.to_owned());
            let tapped =
                tapped.or_insert_with(|| Tapped { width: hidden.width(), values: Vec::new() });
            tapped.values.extend_from_slice(hidden.values());
        }
    }

    /// Keeps the residual stream after a layer.
    pub fn record_layer(&mut self, layer: usize, hidden: &Hidden) {
        if !self.wanted.is_empty() {
            self.record(&format!("layer.{layer}"), hidden);
        }
    }

    /// Keeps a value inside a layer.
    pub fn record_in_layer(&mut self, layer: usize, name: &str, hidden: &Hidden) {
        if !self.wanted.is_empty() {
            self.record(&format!("layer.{layer}.{name}"), hidden);
        }
    }

    /// What was kept, by name.
    pub fn into_kept(self) -> BTreeMap<String, Tapped> {
        self.kept
    }

    /// The wanted names for which no value came.
    pub fn unmet(&self) -> Vec<&str> {
        let met = |pattern: &str| self.kept.keys().any(|name| matches(pattern, name));
        self.wanted.iter().map(String::as_str).filter(|pattern| !met(pattern)).collect()
    }

    fn wants(&self, name: &str) -> bool {
        self.wanted.iter().any(|pattern| matches(pattern, name))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}
